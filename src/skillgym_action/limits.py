"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# repository: the checkout
MAX_LINKS_IN_PATH = 20  # symbolic links followed on the way to a file; a loop would have no end
