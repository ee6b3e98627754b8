"""Metrics for monitoring, in Prometheus text format. Each process counts separately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from compact.model.event import EventName

_BUCKETS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    def __init__(self) -> None:
        self.turns = 0
        self.turns_failed = 0
        self.turn_seconds = 0.0
        self.messages_stored = 0
        self._turn_buckets = [0] * len(_BUCKETS)
        self._engine: Counter[str] = Counter()
        self._requests: Counter[tuple[str, int]] = Counter()

    def request(self, method: str, status: int) -> None:
        self._requests[method, status] += 1

    def turn_ended(self, seconds: float) -> None:
        self.turns += 1
        self.turn_seconds += seconds
        for at, bound in enumerate(_BUCKETS):
            self._turn_buckets[at] += seconds <= bound

    def engine_event(self, name: EventName) -> None:
        self._engine[name.value] += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        lines = _family("compact_requests_total", "counter", "HTTP requests by method and status.")
        lines += [
            f'compact_requests_total{{method="{method}",status="{status}"}} {count}'
            for (method, status), count in sorted(self._requests.items())
        ]
        lines += _family("compact_compaction_events_total", "counter", "Compaction events by name.")
        lines += [
            f'compact_compaction_events_total{{event="{name}"}} {count}'
            for name, count in sorted(self._engine.items())
        ]
        for name, value, text in (
            ("compact_turns_failed_total", self.turns_failed, "Replies that ended with an error."),
            ("compact_messages_stored_total", self.messages_stored, "Messages stored by this process."),
        ):
            lines += [*_family(name, "counter", text), f"{name} {value}"]
        lines += _family("compact_turn_seconds", "histogram", "From message to stored reply.")
        lines += [
            f'compact_turn_seconds_bucket{{le="{bound:g}"}} {count}'
            for bound, count in zip(_BUCKETS, self._turn_buckets, strict=True)
        ]
        lines += [f'compact_turn_seconds_bucket{{le="+Inf"}} {self.turns}']
        lines += [
            f"compact_turn_seconds_sum {self.turn_seconds:.6f}",
            f"compact_turn_seconds_count {self.turns}",
        ]
        for name, amount in gauges.items():
            lines += [*_family(name, "gauge", name.replace("_", " ")), f"{name} {amount:g}"]
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
