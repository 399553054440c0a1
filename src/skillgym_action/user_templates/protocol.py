"""The protocol between the tool and the process that renders users' report templates, and its limits.

A message is one byte for its kind, four bytes for the length of its content, and the content.
"""

from __future__ import annotations

import struct

UNPRIVILEGED = 65534
"""The user and group ``nobody``, as whom the process runs where the tool is root."""
MEMORY = 512 * 1024**2
"""Bytes of address space."""
LARGEST_TEXT = 4 * 1024**2
"""Bytes of one rendered report."""
SECONDS = 4
"""For all that one process renders, with its start: what is wrong is reported within 5 s."""
CANCELLED_SECONDS = 1
"""For what is still to be rendered once the run is cancelled."""
READY, REQUEST, TEXT, ERROR = b"R", b"Q", b"T", b"E"
HEAD = struct.Struct("!cI")
TOO_LONG = f"rendering takes longer than {SECONDS} s, or {CANCELLED_SECONDS} s once the run is cancelled"
