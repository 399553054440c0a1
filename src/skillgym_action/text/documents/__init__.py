"""JSON, YAML and TOML files of users, read as values whose line, column and key path are known."""
