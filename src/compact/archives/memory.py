"""Keeps transcripts in memory, for tests and for sessions that need no archive on disk."""

from __future__ import annotations

from compact.model.record import Transcript


class MemoryArchive:
    def __init__(self) -> None:
        self.transcripts: dict[tuple[str, int], Transcript] = {}

    def write(self, transcript: Transcript) -> str:
        self.transcripts[transcript.session_id, transcript.step] = transcript
        return f"memory:{transcript.session_id}/{transcript.step:03d}"
