"""``--help``, completion of values, and the messages about wrong command lines."""
