"""Events as spans: the parts of a compaction are its children, each with its duration."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from compact.model.event import Event, EventName

COMPACTION = "compact.compaction"
SUMMARIZE = "compact.summarize"


@dataclass(slots=True, eq=False)
class Span:
    """`ended` is None while it is running; when it ends, it is sent again with the same id."""

    session_id: str
    name: str
    started: float
    parent: Span | None = None
    ended: float | None = None
    data: dict[str, Any] = field(default_factory=dict)
    failed: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def problem(self) -> str:
        """What failed, as the event puts it."""
        return str(self.data.get("message") or self.data.get("error") or self.name)

    def end(self, event: Event, failed: bool = False) -> Span:
        self.ended = max(event.at, self.started)
        self.failed = failed
        self.data.update(data_of(event))
        return self


@dataclass(slots=True)
class _Open:
    """What is running in a session."""

    estimate: Span | None = None
    """Waits for the decision that follows, which shows where it belongs."""
    compaction: Span | None = None
    started: bool = False
    summary: Span | None = None


class Spans:
    """Turns a stream into spans, one event at a time.

    A preflight below the trigger produces two spans, estimate and decision. A decision to compact opens a
    span that contains these two and everything that follows, until the compaction ends.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, _Open] = {}

    def of(self, event: Event) -> list[Span]:
        now = self._sessions.pop(event.session_id, None) or _Open()
        spans = self._of(event, now)
        if now.estimate is not None or now.compaction is not None:
            self._sessions[event.session_id] = now
        return spans

    def clear(self) -> None:
        self._sessions.clear()

    def _of(self, event: Event, now: _Open) -> list[Span]:
        match event.name:
            case EventName.TOKEN_ESTIMATE:
                spans = _unplaced(now)
                if now.compaction is not None and not now.started:
                    # Decided but then not needed: another worker had already compacted.
                    spans += _closed(now, event, skipped="not needed any more")
                now.estimate = _point(event, None)
                return spans
            case EventName.TRIGGER_DECISION:
                return _decided(event, now)
            case EventName.START:
                span = now.compaction or Span(event.session_id, COMPACTION, event.at)
                span.data.update(data_of(event))
                now.compaction, now.started = span, True
                return [span]
            case EventName.SUMMARIZE:
                now.summary = Span(event.session_id, SUMMARIZE, event.at, now.compaction, data=data_of(event))
                return [now.summary]
            case EventName.PROGRESS if now.summary is not None:
                now.summary.data["pieces"] = dict(event.data)
                return []
            case EventName.TITLE:
                # The name of the trace, not a part of it.
                return []
            case EventName.CHECK:
                # A step for live viewers; the spans around it have its times and sizes.
                return []
            case EventName.SUMMARY_CREATED:
                span, now.summary = now.summary or _point(event, now.compaction), None
                span.name = event.name.value
                return [span.end(event)]
            case EventName.PRUNE if now.compaction is not None:
                now.compaction.data["prune"] = dict(event.data)
                return []
            case EventName.LEASE if now.compaction is not None:
                waited = round((event.duration or 0.0) * 1000, 3)
                now.compaction.data["lease"] = {"granted": event.data["granted"], "waited_ms": waited}
                return [] if event.data["granted"] else _closed(now, event, skipped="busy")
            case EventName.COMPLETE | EventName.FAILED:
                return _closed(now, event, failed=event.name is EventName.FAILED)
            case EventName.OVERFLOW if now.compaction is not None and not now.started:
                # Compacting everything possible would not make it fit.
                return [_point(event, now.compaction), *_closed(now, event, failed=True)]
            case _:
                return [*_unplaced(now), _point(event, now.compaction)]


def _decided(event: Event, now: _Open) -> list[Span]:
    estimate, now.estimate = now.estimate, None
    before = [estimate] if estimate is not None else []
    if not event.data["triggered"] or now.started:
        return [*before, _point(event, None)]
    began = estimate.started if estimate is not None else event.at
    now.compaction = Span(event.session_id, COMPACTION, began)
    for span in before:
        span.parent = now.compaction
    return [now.compaction, *before, _point(event, now.compaction)]


def _closed(now: _Open, event: Event, failed: bool = False, skipped: str = "") -> list[Span]:
    span, summary = now.compaction, now.summary
    now.compaction, now.summary, now.started = None, None, False
    if span is None:
        return [_point(event, None)]
    if skipped:
        span.data["skipped"] = skipped
        span.ended = max(event.at, span.started)
    else:
        span.end(event, failed)
    if summary is None:
        return [span]
    # It was requested, but none came.
    summary.ended, summary.failed = span.ended, True
    return [summary, span]


def _unplaced(now: _Open) -> list[Span]:
    estimate, now.estimate = now.estimate, None
    return [estimate] if estimate is not None else []


def _point(event: Event, parent: Span | None) -> Span:
    """A span for this event alone, as long as what it reports took."""
    failed = event.name in (EventName.ERROR, EventName.FAILED, EventName.OVERFLOW)
    began = event.at - (event.duration or 0.0)
    return Span(event.session_id, event.name.value, began, parent, event.at, data_of(event), failed)


def data_of(event: Event) -> dict[str, Any]:
    """An event's data with its position in the stream."""
    data: dict[str, Any] = {**event.data, "sequence": event.sequence}
    if event.step:
        data["step"] = event.step
    if event.duration is not None:
        data["duration_ms"] = round(event.duration * 1000, 3)
    return data


def trace_id_of(session_id: str, tenant: str = "default") -> str:
    """The same for a session in every process, so that all its compactions are in one trace."""
    return sha256(f"compact\0{tenant}\0{session_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def flattened(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted names, for systems that accept only plain values."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
