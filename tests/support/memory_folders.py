"""Temporary folders in memory, where the machine has room for them.

Every commit of SQLite waits for the disk, and no test is about what a disk does.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
NEEDED = 3 << 30
"""Bytes; some tests write files of several hundred megabytes."""


def has_room(folder: Path) -> bool:
    """Whether programs can be written there and run; containers often have a small one that forbids it."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize >= NEEDED and not found.f_flag & os.ST_NOEXEC


if "TMPDIR" not in os.environ and hasattr(os, "ST_NOEXEC") and has_room(MEMORY):
    # Before anything asks for it; workers and the programs that tests start inherit it.
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None
