"""Events as spans for Ariadne, the trace service: posted to `{url}/ingest` (S4.13)."""

from __future__ import annotations

import http.client
import json
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from compact.model.event import SCHEMA_VERSION, Event, EventName
from compact.tracing.http_post import Poster, shown
from compact.tracing.queue import Complaints
from compact.tracing.spans import Span, Spans, iso, trace_id_of

_MOST_WAITING = 2_000
"""Records that wait while the service is unreachable."""
_BATCH = 200
_BATCH_BYTES = 1 << 20
_PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_QUIET_TRIES = 125
"""A quiet process retries this many times, over about an hour; then it waits for its next event."""
_TRACES_KEPT = 10_000
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class AriadneExporter:
    """Runs in the queue's thread. A service that is down, slow or broken costs one line on stderr, no more.

    Unsent events wait, up to a bound, and are sent when the service is back. It identifies spans by their
    ids, so nothing appears twice.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 2.0,
        *,
        token: str | None = None,
        tenant: str = "default",
        clean: Callable[[str], str] = str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        headers = {"authorization": f"Bearer {token.strip()}"} if token else {}
        self._where = url.rstrip("/").removesuffix("/ingest") + "/ingest"
        self._poster = Poster(self._where, min(timeout, 2.0), headers)
        self._tenant = tenant
        self._complaints = Complaints(clean, clock=clock)
        self._clock = clock
        self._spans = Spans()
        self._traces: OrderedDict[str, str] = OrderedDict()
        self._titles: OrderedDict[str, str] = OrderedDict()
        self._waiting: deque[str] = deque()
        self._lost = 0
        self._failures = self._quiet_tries = 0
        self._not_before = self._failed_at = 0.0

    def export(self, event: Event) -> None:
        self._quiet_tries = 0
        if event.name is EventName.TITLE:
            _hold(self._titles, event.session_id, str(event.data["title"]))
            if event.session_id in self._traces:
                self._add(self._trace_record(event.session_id, event.at))
        for span in self._spans.of(event):
            if span.session_id not in self._traces:
                _hold(self._traces, span.session_id, trace_id_of(span.session_id, self._tenant))
                self._add(self._trace_record(span.session_id, span.started))
            self._add(_span_record(self._traces[span.session_id], span))

    def _trace_record(self, session_id: str, started: float) -> dict[str, Any]:
        named = f"compact {session_id}" if session_id else "compact"
        return {
            "type": "trace",
            "trace_id": self._traces[session_id],
            "name": self._titles.get(session_id) or named,
            "group_id": session_id or None,
            "started_at": iso(started),
            "metadata": {"session_id": session_id, "schema_version": SCHEMA_VERSION},
        }

    def _add(self, record: dict[str, Any]) -> None:
        # Serialized immediately: an open span changes later, and pending data should be small.
        self._waiting.append(json.dumps(record, separators=(",", ":"), default=str))
        if len(self._waiting) > _MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1

    def flush(self) -> None:
        while self._waiting and self._clock() >= self._not_before:
            batch = self._batch()
            if not self._send(batch):
                return
            for _ in batch:
                self._waiting.popleft()

    def _batch(self) -> list[str]:
        batch: list[str] = []
        size = 0
        for record in self._waiting:
            size += len(record)
            if batch and (len(batch) >= _BATCH or size > _BATCH_BYTES):
                break
            batch.append(record)
        return batch

    def _send(self, batch: list[str]) -> bool:
        """Whether the batch is finished, either accepted or rejected for good."""
        body = f'{{"batch":[{",".join(batch)}]}}'.encode()
        try:
            status, answer = self._poster.post(body)
        except (OSError, ValueError, http.client.HTTPException) as error:
            # ValueError: a host name or a token that cannot be encoded.
            return self._failed(f"{type(error).__name__}: {error}")
        if status in _TRY_AGAIN:
            return self._failed(f"it answered {status}")
        self._failures, self._not_before = 0, 0.0
        problem = f"it answered {status}" if status >= 300 else _problem(answer)
        if problem:
            self._report(problem, f"{problem}; {len(batch)} records were given up")
        return True

    def _failed(self, problem: str) -> bool:
        pause = _PAUSES[min(self._failures, len(_PAUSES) - 1)]
        self._failures += 1
        self._failed_at = self._clock()
        self._not_before = self._failed_at + pause
        lost = f", {self._lost:,} were dropped" if self._lost else ""
        self._report("failed", f"{problem}; {len(self._waiting):,} records wait{lost}")
        return False

    def _report(self, kind: str, problem: str) -> None:
        line = f"[Ariadne] {shown(self._where)}: {problem}. The conversation goes on."
        self._complaints.report(kind, line)

    def rest(self) -> float | None:
        # The next event may be hours away; pending events should not wait for it.
        self.flush()
        self._poster.close()
        self._quiet_tries += 1
        if not self._waiting or self._quiet_tries > _QUIET_TRIES:
            return None
        return max(_PAUSES[0], self._not_before - self._clock())

    def close(self) -> None:
        # The last chance, unless sending failed just now: then a retry would only delay the exit.
        self._not_before = min(self._not_before, self._failed_at + _PAUSES[0])
        self.flush()
        self._poster.close()
        if self._waiting and self._failures:
            self._report("end", f"{len(self._waiting) + self._lost:,} records were not delivered")

    def after_fork(self) -> None:
        # The parent sends its pending events, and owns the connection.
        self._waiting.clear()
        self._spans.clear()
        self._traces.clear()
        self._poster.close()


def _hold(known: OrderedDict[str, str], session_id: str, value: str) -> None:
    known[session_id] = value
    if len(known) > _TRACES_KEPT:
        known.popitem(last=False)


def _span_record(trace_id: str, span: Span) -> dict[str, Any]:
    record: dict[str, Any] = {
        "type": "span",
        "trace_id": trace_id,
        "span_id": span.id,
        "kind": span.name.removeprefix("compact."),
        "name": span.name,
        "started_at": iso(span.started),
        "data": span.data,
        "status": "error" if span.failed else "ok",
    }
    if span.parent is not None:
        record["parent_id"] = span.parent.id
    if span.ended is not None:
        record["ended_at"] = iso(span.ended)
    return record


def _problem(answer: bytes) -> str:
    """What is wrong with the response to a batch; empty if all of it was accepted."""
    try:
        said = json.loads(answer)
    except ValueError:
        said = None
    if not isinstance(said, dict) or "success" not in said:
        return "what answers there is not Ariadne"
    refused = said.get("errors")
    if refused or not said["success"]:
        return f"it refused {len(refused) if isinstance(refused, list) else 'some'} of the records"
    return ""
