"""A database file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

_NEW = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC


def make_private(path: Path) -> None:
    """Create an empty file with mode 0600 if there is none; SQLite gives its other files the same mode.

    An existing file is never opened. Closing any descriptor of a file drops all locks that this process has
    on it, including those of another store; then the next process to close the database believes it is the
    last one and deletes the write-ahead log that this process still writes to. For the same reason a new file
    gets its name only after it is closed.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists():
        return
    made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(made, _NEW, 0o600))
    try:
        os.link(made, path)
    except FileExistsError:
        pass
    except OSError:
        # No hard links on this file system.
        with suppress(FileExistsError):
            os.close(os.open(path, _NEW, 0o600))
    finally:
        os.unlink(made)
