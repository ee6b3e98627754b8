"""Follows the stream of a trace service, and reconnects when it breaks off."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compact.console.stored import shown_url
from compact.errors import ConfigError, MissingExtra, StoreError
from compact.models._http import address_problem
from compact.server.traces.settings import PORT

_SILENCE = 45.0
"""A connection without even a heartbeat for this many seconds counts as dead."""
_AT_ONCE = 500
_PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True)
class Update:
    """An event with its sequence; or, without an event, whether the service is reachable."""

    sequence: int
    event: Mapping[str, Any] | None = None
    connected: bool = True


class TraceClient:
    def __init__(self, url: str, token: str | None) -> None:
        try:
            import httpx2
        except ImportError:
            raise MissingExtra("httpx2", "traces") from None
        if problem := address_problem(url):
            raise ConfigError(
                f"--url needs an http:// or https:// address {problem}. Nothing was sent; correct it, for "
                f"example to http://127.0.0.1:{PORT}.",
                "url",
            )
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.url = shown_url(url.rstrip("/"))
        """Where it is, for display."""
        self._errors = (httpx2.TransportError, httpx2.InvalidURL)
        # A proxy in the environment is meant for other hosts, and a redirect would leak the token.
        self._http = httpx2.Client(
            base_url=url.rstrip("/"),
            headers=headers,
            timeout=httpx2.Timeout(10, read=_SILENCE),
            trust_env=False,
        )

    def trace(self, trace_id: str) -> dict[str, Any] | None:
        """What the service knows about a trace, without the data."""
        from urllib.parse import quote

        try:
            response = self._http.get(
                f"/traces/{quote(trace_id, safe='')}", params={"data": "false", "limit": 500}
            )
            found: dict[str, Any] = response.json()
            return found if response.status_code == 200 else None
        except (*self._errors, ValueError):
            return None

    def follow(self, params: Mapping[str, str], pauses: tuple[float, ...] = _PAUSES) -> Iterator[Update]:
        """Every event once, forever; StoreError or ConfigError if the service rejects us."""
        reached, failures = 0, 0
        while True:
            headers = {"Last-Event-ID": str(reached)} if reached else {}
            try:
                with self._http.stream("GET", "/events", params=params, headers=headers) as response:
                    self._check(response.status_code, response.headers.get("content-type", ""))
                    failures = 0
                    yield Update(reached)
                    for sequence, event in events(response.iter_lines()):
                        if event is None:
                            reached = max(reached, sequence)
                        elif event.get("type") == "connected":
                            # Lower than before if the service now has another database.
                            reached = int(event.get("sequence") or 0)
                        elif sequence > reached:
                            reached = sequence
                            yield Update(sequence, event)
            except (*self._errors, ValueError):
                pass  # Broken off, or garbage: both end the connection.
            if failures == 0:
                yield Update(reached, connected=False)
            time.sleep(pauses[min(failures, len(pauses) - 1)])
            failures += 1

    def _check(self, status: int, kind: str) -> None:
        if status == 401:
            raise ConfigError(f"{self.url} requires a token: name a variable with --token-env.", "token-env")
        if status != 200 or not kind.startswith("text/event-stream"):
            raise StoreError(f"{self.url} is not a trace service to follow (HTTP {status}, {kind}).")


def events(lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The messages of a stream; one without data only advances the sequence."""
    sequence, data, moved = 0, "", False
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id" and value.isdigit():
            sequence, moved = int(value), True
        elif field == "data":
            data += value
        elif not line:
            if data:
                event = json.loads(data)
                yield sequence, event if isinstance(event, dict) else None
            elif moved:
                yield sequence, None
            data, moved = "", False


class Background:
    """Reads the stream in a thread, so that a screen can be drawn in the meantime; its queue is bounded."""

    def __init__(self, updates: Iterator[Update]) -> None:
        self._updates = updates
        self._queue: queue.Queue[Update | BaseException] = queue.Queue(1_000)
        threading.Thread(target=self._run, name="compact-traces-tail", daemon=True).start()

    def take(self, seconds: float) -> list[Update]:
        """The updates that arrive within that time; raises what the stream raised."""
        updates: list[Update] = []
        with suppress(queue.Empty):
            while len(updates) < _AT_ONCE:
                item = self._queue.get_nowait() if updates else self._queue.get(timeout=seconds)
                if isinstance(item, BaseException):
                    raise item
                updates.append(item)
        return updates

    def _run(self) -> None:
        try:
            for item in self._updates:
                self._queue.put(item)
        except BaseException as error:
            self._queue.put(error)
