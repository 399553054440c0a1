"""The command line: options, help, a module for each command, and the inputs of the action."""
