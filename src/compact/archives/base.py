"""What all archives share: render, name, put. The kinds differ in where `put` stores files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from compact.archives.lines import RenderedTranscript, event_line, summary_json, trailer_in
from compact.archives.naming import safe_name, summary_name, transcript_name
from compact.model.event import Event
from compact.model.record import Transcript
from compact.ports import Redacts


class FileArchive(ABC):
    """An archive of named files, with one folder per session."""

    name: str

    def __init__(self, redactor: Redacts) -> None:
        self.redactor = redactor

    def write(self, transcript: Transcript) -> str:
        """Write the transcript, then the summary; returns where the transcript is. Raises ArchiveError."""
        folder = self.folder(transcript.session_id)
        name = transcript_name(transcript.step)
        lines = RenderedTranscript(transcript, self.redactor, self._previous(folder, transcript))
        location = self.put(folder, name, lines)
        summary = summary_json(transcript, name, lines.digest, self.redactor)
        self.put(folder, summary_name(transcript.step), [summary])
        return location

    def _previous(self, folder: str, transcript: Transcript) -> dict[str, Any] | None:
        """The file that the transcript continues from, and its hash, if that file is accessible."""
        if transcript.follows is None:
            return None
        name = transcript_name(transcript.follows)
        trailer = trailer_in(self.tail(folder, name) or b"")
        return {
            "step": transcript.follows,
            "name": name,
            "sha256": trailer.get("sha256") if trailer is not None else None,
        }

    def append_event(self, session_id: str, event: Event | Mapping[str, Any]) -> None:
        """Add one redacted event to the session's log. Raises ArchiveError."""
        self.append(self.folder(session_id), event_line(event, self.redactor))

    def folder(self, session_id: str) -> str:
        return safe_name(session_id, hide=isinstance(session_id, str) and self.redactor.is_secret(session_id))

    @property
    def target(self) -> str:
        """Where files are stored; two archives with the same target are the same archive."""
        return self.name

    @abstractmethod
    def put(self, folder: str, name: str, chunks: Iterable[bytes]) -> str:
        """Store a whole file or nothing; if the name already has different content, both are kept."""

    @abstractmethod
    def tail(self, folder: str, name: str) -> bytes | None:
        """The last `TAIL_BYTES` of a file, or None if it does not exist."""

    @abstractmethod
    def append(self, folder: str, line: bytes) -> None:
        """Add a line to the events of a folder, as a whole or not at all."""
