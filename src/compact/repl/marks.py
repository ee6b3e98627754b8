"""Marks of open chats. One whose process died is left behind, unlocked: the next start offers to resume."""

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
    """A session whose chat ended without leaving."""

    session_id: str
    title: str


class Mark:
    """The mark of this process: locked while it lives, removed when it leaves."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._path = folder / f"open-{os.getpid()}"
        self._file: IO[str] | None = None
        self._written: tuple[str, str] | None = None

    def set(self, session_id: str, title: str) -> None:
        """Say which session is open. A mark that cannot be made is missed by nobody but the next start."""
        if self._written == (session_id, title):
            return
        with suppress(OSError):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch(mode=0o600)  # it holds the title
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
    """The newest session whose process is gone; its mark and older ones are taken away."""
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
    except ImportError:  # no such locks here: then no session is offered
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
