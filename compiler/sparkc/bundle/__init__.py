"""Plan → Files → out/<name>/: exact emission, the manifest, and writing that is whole or not at all."""
