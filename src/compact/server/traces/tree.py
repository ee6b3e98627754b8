"""Spans in tree order: each below its parent, siblings by start time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compact.server.traces.event import TraceEvent


@dataclass(frozen=True, slots=True)
class Placed:
    span: TraceEvent
    depth: int
    children: int
    orphan: bool
    """Its parent is missing (so far) or is below it, so it is at the root."""


def in_order(spans: Mapping[str, TraceEvent]) -> Iterator[Placed]:
    """Depth first, without recursion: a hostile chain must not overflow the stack."""
    children: defaultdict[str | None, list[str]] = defaultdict(list)
    for span_id, span in spans.items():
        known = span.parent_id in spans and span.parent_id != span_id
        children[span.parent_id if known else None].append(span_id)
    arrival = {span_id: number for number, span_id in enumerate(spans)}

    def by_start(span_id: str) -> tuple[bool, int, int]:
        started = spans[span_id].started
        return started is None, started or 0, arrival[span_id]

    for siblings in children.values():
        siblings.sort(key=by_start)
    placed: set[str] = set()

    def below(roots: list[str]) -> Iterator[Placed]:
        waiting = [(root, 0) for root in reversed(roots)]
        while waiting:
            span_id, depth = waiting.pop()
            if span_id in placed:
                continue
            placed.add(span_id)
            span = spans[span_id]
            own = children.get(span_id, [])
            yield Placed(span, depth, len(own), depth == 0 and span.parent_id is not None)
            waiting += [(child, depth + 1) for child in reversed(own)]

    yield from below(children.get(None, []))
    # What is left are cycles of parents; each is entered where it began.
    for span_id in sorted(spans.keys() - placed, key=by_start):
        yield from below([span_id])
