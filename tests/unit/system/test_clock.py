"""Time: waiting, with any descriptors."""

from __future__ import annotations

import fcntl
import os

from skillgym_action.system.clock import wait_readable


def test_descriptors_beyond_those_of_select_can_be_waited_for():
    read, write = os.pipe()
    high = fcntl.fcntl(read, fcntl.F_DUPFD, 2_000)
    try:
        assert not wait_readable([high], 0)
        os.close(write)
        assert wait_readable([high], 10)
    finally:
        os.close(high)
        os.close(read)
