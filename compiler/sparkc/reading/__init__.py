"""bytes → Document: strict YAML 1.2 and TOML with a source span on every node."""
