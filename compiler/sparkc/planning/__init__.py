"""Recipe × Inventory → Plan: nodes, ranks, environment layers, mounts and mods."""
