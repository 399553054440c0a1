"""What errors advise."""

from __future__ import annotations

import errno
import os

import pytest

from skillgym_action.model.errors import path_remedy


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "free space there, or name another path"),
        (errno.EDQUOT, "free space there, or name another path"),
        (errno.EACCES, "allow writing there, or name another path"),
        (errno.EPERM, "allow writing there, or name another path"),
        (errno.EFBIG, "raise the limit of file sizes (ulimit -f), or name another path"),
        (errno.ENOTDIR, "name another path"),
        (errno.EISDIR, "name another path"),
        (errno.ENOENT, "name another path"),
        (errno.EROFS, "name another path"),
    ],
    ids=lambda value: os.strerror(value) if isinstance(value, int) else "",
)
def test_the_remedy_for_a_path_that_cannot_be_written_fits_the_error(number, remedy):
    assert path_remedy(OSError(number, os.strerror(number))) == remedy


def test_the_remedy_names_what_else_can_be_done():
    full = OSError(errno.ENOSPC, "No space left on device")
    assert path_remedy(full, "set TMPDIR") == "free space there, or set TMPDIR"
