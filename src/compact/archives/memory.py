"""Archives in memory, for tests and for sessions that need no archive on disk."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from hashlib import sha256

from compact.archives.base import FileArchive
from compact.archives.lines import TAIL_BYTES
from compact.archives.naming import EVENTS, aside_name
from compact.model.record import Transcript
from compact.ports import Redacts


class MemoryArchive:
    """Keeps the transcripts themselves: nothing is rendered, and nothing leaves the process."""

    def __init__(self) -> None:
        self.transcripts: dict[tuple[str, int], Transcript] = {}

    def write(self, transcript: Transcript) -> str:
        self.transcripts[transcript.session_id, transcript.step] = transcript
        return f"memory:{transcript.session_id}/{transcript.step:03d}"


class MemoryFileArchive(FileArchive):
    """Keeps the files that other archives would write, in `files` by "folder/name"."""

    name = "memory"

    def __init__(self, redactor: Redacts) -> None:
        super().__init__(redactor)
        self.files: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, folder: str, name: str, chunks: Iterable[bytes]) -> str:
        content = b"".join(chunks)
        path = f"{folder}/{name}"
        with self._lock:
            before = self.files.get(path)
            if before is not None and before != content:
                self.files[f"{folder}/{aside_name(name, sha256(before).hexdigest())}"] = before
            self.files[path] = content
        return f"memory:{path}"

    def tail(self, folder: str, name: str) -> bytes | None:
        content = self.files.get(f"{folder}/{name}")
        return None if content is None else content[-TAIL_BYTES:]

    def append(self, folder: str, line: bytes) -> None:
        path = f"{folder}/{EVENTS}"
        with self._lock:
            self.files[path] = self.files.get(path, b"") + line
