"""Digests of files that may be large."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.filesystem.file_contents import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO


def content_digest(file: BinaryIO, checked: Callable[[], None]) -> str:
    """SHA-256 of a file that is open for reading, in hexadecimal. Raises OSError.

    ``checked`` is called after each part of 1 MiB, and may raise, such as for a cancelled run.
    """
    digest = sha256()
    while part := file.read(CHUNK_BYTES):
        digest.update(part)
        checked()
    return digest.hexdigest()
