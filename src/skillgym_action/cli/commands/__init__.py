"""A module for each command: what it does with the settings, and what it prints."""
