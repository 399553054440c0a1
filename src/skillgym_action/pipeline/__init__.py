"""The stages of a run in their order, the checks before sessions start, and the adapters that a command needs."""
