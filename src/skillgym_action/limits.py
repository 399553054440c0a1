"""Limits of what is read, kept and waited for. One module, so that they can be compared and documented."""

# repository: the checkout
MAX_LINKS_IN_PATH = 20  # symbolic links followed on the way to a file; a loop would have no end

# workspaces: changed files of a session that are saved with the results, and the diff that checks and people see
MAX_SAVED_CHANGES_BYTES = 16 * 1024 * 1024  # bytes; with more, nothing is saved: half of the changes cannot be rejudged
MAX_SAVED_CHANGES_FILES = 2000  # files and links
MAX_DIFF_FILE_BYTES = 512 * 1024  # bytes of a file whose changes are shown; a larger one is named only
MAX_DIFF_CHARACTERS = 4 * 1024 * 1024  # characters of a diff, after which further files are only counted
MAX_DIFF_COMPARISONS = 4_000_000  # lines before times lines after, of a file; difflib takes seconds for more
