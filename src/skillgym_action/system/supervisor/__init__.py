"""The small process that starts all programs, and the processes it starts. Standard library only."""
