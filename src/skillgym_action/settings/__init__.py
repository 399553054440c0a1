"""What a user can set: options, the configuration file, runners, and the slice of it that each stage gets."""
