"""Counts of the gateway, as Prometheus reads them."""

from __future__ import annotations

from compact.server.gateway.compacting import Ready

_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)


class Metrics:
    def __init__(self) -> None:
        self.requests = 0
        self.substituted = 0
        self.compactions = 0
        self.problems = 0
        self.saved = 0
        self.overflows = 0
        self.recalls = 0
        self.unreachable = 0
        self._seconds = 0.0
        self._at_most = dict.fromkeys(_BUCKETS, 0)

    def took(self, seconds: float, ready: Ready) -> None:
        self.requests += 1
        self._seconds += seconds
        for bound in _BUCKETS:
            self._at_most[bound] += seconds <= bound
        self.substituted += ready.prepared is not None and ready.prepared.record is not None
        self.compactions += ready.compacted
        self.problems += bool(ready.problem)
        self.saved += max(0, ready.before - ready.after)

    def text(self) -> str:
        counts = {
            "requests": (self.requests, "Requests passed on."),
            "substituted": (self.substituted, "Requests forwarded with a compacted body."),
            "compactions": (self.compactions, "Compactions made."),
            "problems": (self.problems, "Requests passed on unchanged because compacting failed."),
            "tokens_saved": (self.saved, "Tokens that compactions took out of prompts."),
            "overflows": (self.overflows, "Context-length errors of the upstream."),
            "recalls": (self.recalls, "Calls of the recall tool answered."),
            "unreachable": (self.unreachable, "Requests that the upstream did not answer."),
        }
        lines = []
        for name, (count, meaning) in counts.items():
            full = f"compact_gateway_{name}_total"
            lines += [f"# HELP {full} {meaning}", f"# TYPE {full} counter", f"{full} {count}"]
        name = "compact_gateway_overhead_seconds"
        lines += [
            f"# HELP {name} Time a request spent here before it was forwarded.",
            f"# TYPE {name} histogram",
        ]
        lines += [f'{name}_bucket{{le="{bound:g}"}} {count}' for bound, count in self._at_most.items()]
        lines += [f'{name}_bucket{{le="+Inf"}} {self.requests}']
        lines += [f"{name}_sum {self._seconds:.6f}", f"{name}_count {self.requests}"]
        return "\n".join(lines) + "\n"
