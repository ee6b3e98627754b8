"""Events as lines of JSON in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from compact.model.event import Event


class JsonlExporter:
    """Appends each batch with one write, so that several processes can share a file and rotate it.

    Only its owner can read the file: summaries are redacted, but they still reveal the conversation.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lines: list[str] = []

    def export(self, event: Event) -> None:
        # ASCII only: lone surrogates, which some texts contain, survive as escapes.
        self._lines.append(json.dumps(event.as_dict(), separators=(",", ":"), default=str) + "\n")

    def flush(self) -> None:
        if not self._lines:
            return
        text, self._lines = "".join(self._lines), []
        self._path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            rest = memoryview(text.encode("ascii"))
            while rest:
                rest = rest[os.write(handle, rest) :]
        finally:
            os.close(handle)

    def after_fork(self) -> None:
        self._lines.clear()
