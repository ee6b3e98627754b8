"""The event stream: numbers events, hands them to exporters in order, never lets one fail a session."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from compact.model.event import Event, EventName
from compact.ports import Clock, Exporter

# Numbers and words of our own, unless a caller's note is among them; these come with every preflight.
_WITHOUT_TEXT = frozenset({EventName.TOKEN_ESTIMATE, EventName.TRIGGER_DECISION, EventName.LEASE})


class EventStream:
    """`recent` holds the newest events for whoever looks in from the same process."""

    def __init__(
        self,
        exporters: Sequence[Exporter | Callable[[Event], None]],
        clock: Clock,
        *,
        redact: Callable[[Any], Any] | None = None,
        keep: int = 1_000,
    ) -> None:
        self._redact = redact
        self._exports: list[Callable[[Event], None]] = [
            exporter if callable(exporter) else exporter.export for exporter in exporters
        ]
        self._clock = clock
        self._lock = Lock()
        self._sequence = 0
        self.recent: deque[Event] = deque(maxlen=keep)

    def emit(self, session_id: str, name: EventName, data: Mapping[str, Any]) -> None:
        with self._lock:
            self._sequence += 1
            event = Event(name, session_id, self._sequence, self._clock(), data)
            self.recent.append(event)
        if self._exports and self._redact is not None and (name not in _WITHOUT_TEXT or "note" in data):
            # Exporters get a redacted copy; what stays in the process stays as it is.
            event = replace(event, data=self._redact(data))
        for export in self._exports:
            try:
                export(event)
            except Exception as error:
                # Seen on stderr, never felt by the conversation.
                print(f"[compact] an exporter failed: {type(error).__name__}: {error}", file=sys.stderr)
