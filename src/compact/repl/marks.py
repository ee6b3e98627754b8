"""Marks of open chats. A process that dies leaves its mark unlocked: the next start offers to resume."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

FOLDER = Path(".compact/chat")


@dataclass(frozen=True)
class Left:
    """A session whose chat ended without a proper exit."""

    session_id: str
    title: str


class Mark:
    """The mark of this process: locked while it runs, removed when it exits."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._path = folder / f"open-{os.getpid()}"
        self._file: IO[str] | None = None
        self._written: tuple[str, str] | None = None

    def set(self, session_id: str, title: str) -> None:
        """Record which session is open. If the mark cannot be created, only the next start misses it."""
        if self._written == (session_id, title):
            return
        with suppress(OSError):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch(mode=0o600)  # It contains the title.
                self._file = self._path.open("w", encoding="utf-8")
                _lock(self._file)
            self._file.seek(0)
            self._file.truncate()
            self._file.write(json.dumps({"session_id": session_id, "title": title}))
            self._file.flush()
            self._written = (session_id, title)

    def remove(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._file.close()
            self._file = None


def left_behind(folder: Path = FOLDER) -> Left | None:
    """The newest session whose process is gone; removes its mark and older ones."""
    found: list[tuple[float, Left]] = []
    with suppress(OSError):
        for path in folder.glob("open-*"):
            with path.open("r+", encoding="utf-8") as file:
                if not _lock(file):
                    continue
                with suppress(ValueError, KeyError, TypeError):
                    mark = json.loads(file.read())
                    left = Left(str(mark["session_id"]), str(mark["title"]))
                    found.append((path.stat().st_mtime, left))
                path.unlink(missing_ok=True)
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _lock(file: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:  # No such locks on this system, so no session is offered.
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
