"""Document → Recipe: one model, and one file per dialect that people write recipes in."""
