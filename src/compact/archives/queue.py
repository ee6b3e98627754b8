"""The "queue" policy for unreachable archives: spool to disk, send later, never skip silently."""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from compact.archives.base import FileArchive
from compact.archives.fs import FsArchive
from compact.archives.naming import EVENTS
from compact.errors import ArchiveError
from compact.model.event import Event
from compact.model.record import Transcript

DEFAULT_SPOOL = ".compact/spool"
_SENDING = "sending-"


class QueuedArchive:
    """Writes to `inner`, or else to a spool on disk that `flush` sends later, even after a restart.

    Each target has its own folder below `spool`, so that nothing is ever sent to the wrong archive. Spooled
    files are already redacted. A location that begins with "queued:" has not reached `inner` yet. A spool
    that is full or cannot be written raises ArchiveError, as `inner` would have done.
    """

    def __init__(
        self,
        inner: FileArchive,
        spool: str | os.PathLike[str] = DEFAULT_SPOOL,
        max_bytes: int = 1 << 30,
    ) -> None:
        self.inner = inner
        self.name = inner.name
        digest = sha256(inner.target.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._spool = FsArchive(
            Path(spool) / f"{inner.name}-{digest}", redactor=inner.redactor, chained=False
        )
        self._max_bytes = max_bytes
        self._flushing = threading.Lock()

    def write(self, transcript: Transcript) -> str:
        try:
            location = self.inner.write(transcript)
        except ArchiveError as unreachable:
            return self._queue(transcript, unreachable)
        self.flush()
        return location

    def append_event(self, session_id: str, event: Event | Mapping[str, Any]) -> None:
        try:
            self.inner.append_event(session_id, event)
        except ArchiveError:
            self._spool.append_event(session_id, event)

    def pending(self) -> list[str]:
        """The waiting files, as "folder/name"."""
        return [f"{path.parent.name}/{path.name}" for path in self._waiting()]

    def flush(self) -> int:
        """Send the waiting files, oldest first; stops at the first failure and returns how many were sent."""
        sent = 0
        with contextlib.suppress(ArchiveError, OSError):
            for _ in self.send():
                sent += 1
        return sent

    def send(self) -> Iterator[str]:
        """Send the waiting files, oldest first, and yield the name of each; raises the first failure."""
        if not self._flushing.acquire(blocking=False):
            return
        try:
            for path in self._waiting():
                self._send(path)
                yield f"{path.parent.name}/{path.name}"
        finally:
            self._flushing.release()

    def _queue(self, transcript: Transcript, unreachable: ArchiveError) -> str:
        used = sum(map(_size, self._waiting()))
        if used >= self._max_bytes:
            raise ArchiveError(
                f"The archive is unreachable and its queue at {self._spool.root} is full ({used} bytes). "
                "Nothing was compacted. Make the archive reachable and flush the queue, or raise its limit."
            ) from unreachable
        return f"queued:{self._spool.write(transcript)}"

    def _waiting(self) -> list[Path]:
        root = self._spool.root
        if not root.is_dir():
            return []
        found = [
            path
            for folder in root.iterdir()
            if folder.is_dir() and not folder.is_symlink()
            for path in _listed(folder)
            if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
        ]
        # By step, a transcript before its summary ("t" before "s"), events last: the order of writing.
        return sorted(
            found, key=lambda path: (path.name.endswith(EVENTS), _step(path), path.name[0] != "t", path)
        )

    def _send(self, path: Path) -> None:
        folder = path.parent.name
        if path.name.endswith(EVENTS):
            self._send_events(folder, path)
        else:
            self.inner.put(folder, path.name, _chunks(path))
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            path.parent.rmdir()

    def _send_events(self, folder: str, path: Path) -> None:
        """Line by line; unsent lines go back on failure, so an event may arrive twice but is never lost."""
        if path.name == EVENTS:
            # New events go to a new file in the meantime.
            taken = path.with_name(f"{_SENDING}{secrets.token_hex(4)}-{EVENTS}")
            path.rename(taken)
            path = taken
        lines = path.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines):
            try:
                self.inner.append(folder, line)
            except ArchiveError:
                rest = path.with_name(f".tmp-{secrets.token_hex(4)}")
                rest.write_bytes(b"".join(lines[number:]))
                rest.replace(path)
                raise
        path.unlink()


def _listed(folder: Path) -> list[Path]:
    # Another process may be sending the files and removing the folder at the same time.
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _step(path: Path) -> int:
    digits = "".join(char for char in path.name.partition(".")[0] if char.isdigit())
    return int(digits) if digits else 0


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            yield chunk
