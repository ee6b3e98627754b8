"""A trace event as stored: one shape for all senders."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from compact.redaction import Redactor
from compact.server.http.sound_text import sound_text
from compact.server.traces.moments import iso

# Ids made by tracers hold no secret, and checking costs more than the rest of an event.
_PLAIN_ID = re.compile(r"(?:(?:trace|span|group|session|compact)[_-])?[0-9a-f][0-9a-f-]{7,63}")
MAX_NAME = 1_000
_LINE_ENDS = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085"))


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """`span_id` is None in an event about the trace itself; `data` is then its metadata."""

    trace_id: str
    span_id: str | None = None
    parent_id: str | None = None
    kind: str | None = None
    name: str | None = None
    group_id: str | None = None
    started: int | None = None
    ended: int | None = None
    status: str | None = None
    data: Mapping[str, Any] | None = None

    def wire(self) -> dict[str, Any]:
        """Ariadne's form, without absent fields."""
        trace = self.span_id is None
        form = {
            "type": "trace" if trace else "span",
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "parent_id": self.parent_id,
            "kind": self.kind,
            "name": self.name,
            "group_id": self.group_id,
            "started_at": iso(self.started),
            "ended_at": iso(self.ended),
            "status": self.status,
            "metadata" if trace else "data": self.data,
        }
        return {key: value for key, value in form.items() if value is not None}

    def redacted(self, redactor: Redactor) -> TraceEvent:
        """A copy without secrets. An id that is one becomes its hash, so that related events still match."""

        def identity(value: str | None) -> str | None:
            if value is None or _PLAIN_ID.fullmatch(value) or redactor.text(value) == value:
                return value
            return "redacted-" + hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:16]

        return replace(
            self,
            trace_id=identity(self.trace_id) or self.trace_id,
            span_id=identity(self.span_id),
            parent_id=identity(self.parent_id),
            group_id=identity(self.group_id),
            kind=_short(self.kind, redactor),
            name=_short(self.name, redactor),
            data=redactor.value(self.data) if self.data else self.data,
        )


def _short(text: str | None, redactor: Redactor) -> str | None:
    """Cut after redaction: half a secret no longer looks like one."""
    if text is None:
        return None
    text = redactor.text(text)
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"


@dataclass(frozen=True, slots=True)
class Row:
    """An event ready to be written."""

    event: TraceEvent
    body: str
    digest: bytes


def row_of(event: TraceEvent) -> Row:
    body = to_json(event.wire())
    return Row(event, body, hashlib.blake2b(body.encode(), digest_size=16).digest())


def to_json(value: Any) -> str:
    """JSON that every reader accepts: no NaN, no lone surrogates, no line separators."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except ValueError:
        text = json.dumps(_sound(value), ensure_ascii=False, separators=(",", ":"))
    for end, escape in _LINE_ENDS:
        text = text.replace(end, escape)
    return text


def _sound(value: Any) -> Any:
    if isinstance(value, str):
        return sound_text(value)
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, Mapping):
        return {sound_text(str(key)): _sound(item) for key, item in value.items()}
    return [_sound(item) for item in value] if isinstance(value, list | tuple) else value
