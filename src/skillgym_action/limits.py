"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""
