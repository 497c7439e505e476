"""Bundle → nodes: what reaches machines over ssh. Nothing here reads recipes or inventories."""
