"""Document → Inventory: the nodes, their fabric, and what they have in common."""
