"""The command line and the action: options, inputs, and a module for each command."""
