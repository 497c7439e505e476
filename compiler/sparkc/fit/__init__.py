"""Does a recipe fit into the memory of its nodes? The sum, line by line, before anything is started."""
