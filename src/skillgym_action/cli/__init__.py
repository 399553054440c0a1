"""The command line and the action: options, inputs, and what each command does."""
