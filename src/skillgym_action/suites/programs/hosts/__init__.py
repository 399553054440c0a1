"""The tool's side of suite hosts, the child processes in which suite programs run."""
