"""Files that users write: read with caution, as values that know line, column and key path."""
