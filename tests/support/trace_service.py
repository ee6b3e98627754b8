"""The trace service on a real socket, and what readers of its stream see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from compact.server.traces import TraceSettings, serving


@contextmanager
def trace_service(database: Path, **changes: Any) -> Iterator[httpx2.Client]:
    """A client of its own service; `base_url` is the service's address."""
    settings = TraceSettings(**{"port": 0, "database": database, **changes})
    with serving(settings) as url, httpx2.Client(base_url=url, timeout=30) as client:
        yield client


def address(client: httpx2.Client) -> tuple[str, int]:
    return client.base_url.host, int(client.base_url.port or 80)


def span(trace: str = "t1", id: str = "s1", **fields: Any) -> dict[str, Any]:
    return {"type": "span", "trace_id": trace, "span_id": id, **fields}


def followed(client: httpx2.Client, count: int, **params: Any) -> list[tuple[int, dict[str, Any]]]:
    """The next `count` events of the stream with their sequence."""
    headers = params.pop("headers", {})
    found: list[tuple[int, dict[str, Any]]] = []
    with client.stream("GET", "/events", params=params, headers=headers) as response:
        assert response.status_code == 200, response.read()
        for seq, event in messages(response.iter_lines()):
            if event.get("type") != "connected":
                found.append((seq, event))
            if len(found) >= count:
                break
    return found


def messages(lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    seq, data = 0, ""
    for line in lines:
        if line.startswith("id: "):
            seq = int(line[4:])
        elif line.startswith("data: "):
            data = line[6:]
        elif not line and data:
            yield seq, json.loads(data)
            data = ""
