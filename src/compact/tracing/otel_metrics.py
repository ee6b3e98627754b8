"""Totals over the events: counters and histograms."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from compact.model.event import Event, EventName

_SESSIONS_KEPT = 10_000
_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)


class Metrics:
    """Sessions are not an attribute here: there are too many of them."""

    def __init__(self, meter: Any) -> None:
        def histogram(name: str, unit: str, bounds: tuple[float, ...], description: str) -> Any:
            return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=bounds)

        self._compactions = meter.create_counter("compact.compactions", "{compaction}", "Compactions ended.")
        self._saved = meter.create_counter("compact.tokens.saved", "{token}", "Tokens taken out of prompts.")
        self._errors = meter.create_counter("compact.errors", "{error}", "Failures.")
        self._duration = histogram("compact.compaction.duration", "s", _SECONDS, "A whole compaction.")
        self._latency = histogram("compact.summary.duration", "s", _SECONDS, "What the summarizer took.")
        self._usage = histogram("compact.context.usage", "1", _SHARES, "Share of the window, each preflight.")
        self._survival = histogram("compact.survival", "1", _SHARES, "Evidence that a summary still holds.")
        self._cache = histogram(
            "compact.cache.hit_ratio",
            "1",
            _SHARES,
            "Share of a prompt that a cache can hold: an estimate.",
        )
        self._prompts = CacheEstimate()

    def take(self, event: Event) -> None:
        data = event.data
        match event.name:
            case EventName.TOKEN_ESTIMATE:
                model = {"gen_ai.request.model": data["model"]}
                self._usage.record(data["t_est"] / data["max_tokens"], model)
            case EventName.SUMMARY_CREATED:
                self._latency.record(event.duration or 0.0, {"gen_ai.request.model": data["model"]})
                if "all" in data["survival"]:
                    self._survival.record(data["survival"]["all"], {"compact.strategy": data["strategy"]})
            case EventName.COMPLETE:
                kind = {"compact.pruned": data["wasPruned"], "compact.summarized": data["wasSummarized"]}
                self._compactions.add(1, {"compact.outcome": "complete", **kind})
                self._saved.add(max(0, data["tokensBefore"] - data["tokensAfter"]), kind)
                self._duration.record(event.duration or 0.0, {"compact.outcome": "complete"})
            case EventName.FAILED:
                self._compactions.add(1, {"compact.outcome": "error"})
                self._duration.record(event.duration or 0.0, {"compact.outcome": "error"})
            case EventName.ERROR:
                self._errors.add(1, {"error.type": data["error_type"], "compact.fallback": data["fallback"]})
        hit = self._prompts.take(event)
        if hit is not None:
            self._cache.record(hit)


class CacheEstimate:
    """The share of each prompt that a provider's cache can serve: what the previous prompt also contained.

    A compaction keeps system prompt and tools; a changed system prompt or tool list keeps nothing. Providers'
    minimum prefixes, block sizes and cache lifetimes are not known here.
    """

    def __init__(self) -> None:
        self._sent: OrderedDict[str, int] = OrderedDict()
        """Tokens of the last prompt, by session."""
        self._next: dict[str, tuple[int, int]] = {}
        """Total tokens of the prompt being prepared, and its tokens before the conversation."""

    def take(self, event: Event) -> float | None:
        """The share, if the event decides what is sent; None for others and a session's first prompt."""
        session, data = event.session_id, event.data
        match event.name:
            case EventName.TOKEN_ESTIMATE:
                self._next[session] = (data["t_est"], data["t_est"] - data["breakdown"]["messages"])
            case EventName.WARNING if data.get("breaks_cache"):
                self._sent[session] = 0
            case EventName.TRIGGER_DECISION if not data["triggered"]:
                return self._settle(session)
            case EventName.FAILED:
                return self._settle(session)
            case EventName.LEASE if not data["granted"]:
                return self._settle(session)
            case EventName.COMPLETE:
                return self._settle(session, data["tokensAfter"])
        return None

    def _settle(self, session: str, after: int | None = None) -> float | None:
        total, fixed = self._next.pop(session, (0, 0))
        before = self._sent.pop(session, None)
        if after is not None and after < total:
            total = after
            before = None if before is None else min(before, fixed)
        self._sent[session] = total
        if len(self._sent) > _SESSIONS_KEPT:
            self._sent.popitem(last=False)
        return None if before is None or not total else min(before, total) / total
