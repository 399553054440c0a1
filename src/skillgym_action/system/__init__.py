"""The operating system: files that others change, processes, containers, connections, time."""
