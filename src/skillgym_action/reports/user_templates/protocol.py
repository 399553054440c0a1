"""The protocol between the tool and the process that renders report templates of users.

A message is one byte for its kind, four bytes for the length of its content, and the content.
"""

from __future__ import annotations

import struct

from skillgym_action.model.limits import CANCELLED_RENDERING_SECONDS, RENDERING_SECONDS

UNPRIVILEGED = 65534
"""The id of user and group ``nobody``; the process runs as them if the tool is root."""
READY, REQUEST, TEXT, ERROR = b"R", b"Q", b"T", b"E"
HEAD = struct.Struct("!cI")
TOO_LONG = (
    f"rendering takes longer than {RENDERING_SECONDS} s, or {CANCELLED_RENDERING_SECONDS} s once the run is cancelled"
)
