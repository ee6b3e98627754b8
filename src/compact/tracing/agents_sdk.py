"""Events as spans of the OpenAI Agents SDK, inside its current trace."""

from __future__ import annotations

import sys
from collections import OrderedDict
from importlib.util import find_spec
from threading import RLock
from typing import Any

from compact.errors import MissingExtra
from compact.model.event import Event
from compact.tracing.spans import Span, Spans

_OPEN_KEPT = 1_000


class AgentsSdkSpans:
    """Custom spans `compact.*`, children of the SDK's current span; no spans if no trace is active.

    Only the caller's context knows the trace, so this exporter is called immediately and not by the queue. It
    is fast: the SDK puts spans into a queue of its own.
    """

    immediate = True

    def __init__(self) -> None:
        if find_spec("agents") is None:
            raise MissingExtra("openai-agents", "agents")
        self._spans = Spans()
        self._open: OrderedDict[str, Any] = OrderedDict()
        """Open spans of the SDK, by our span ids."""
        self._lock = RLock()

    def export(self, event: Event) -> None:
        # A program that has not loaded the SDK cannot have a trace there.
        sdk = sys.modules.get("agents.tracing")
        if sdk is None or (sdk.get_current_trace() is None and not self._open):
            return
        with self._lock:
            for span in self._spans.of(event):
                self._export_span(sdk, span)

    def _export_span(self, sdk: Any, span: Span) -> None:
        theirs = self._open.get(span.id)
        if theirs is None:
            if sdk.get_current_trace() is None:
                return
            parent = self._open.get(span.parent.id) if span.parent is not None else None
            theirs = sdk.custom_span(span.name, dict(span.data), parent=parent)
            theirs.start()
            self._open[span.id] = theirs
            if len(self._open) > _OPEN_KEPT:
                self._open.popitem(last=False)[1].finish()
        if span.ended is None:
            return
        theirs.span_data.name, theirs.span_data.data = span.name, dict(span.data)
        if span.failed:
            theirs.set_error({"message": span.problem, "data": None})
        theirs.finish()
        del self._open[span.id]
