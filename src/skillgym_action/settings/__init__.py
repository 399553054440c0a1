"""What users can set: options and inputs, the configuration file, runners, and the slice that each stage gets."""
