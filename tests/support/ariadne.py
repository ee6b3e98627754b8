"""Ariadne as a client sees it: a server that accepts batches, and what it received."""

from __future__ import annotations

import json
import time
from typing import Any

from support.wire_servers import Handler, Server


def takes(handler: Handler) -> None:
    count = len(handler.server.received[-1].body["batch"])
    handler.send(200, json.dumps({"success": True, "count": count}).encode())


MANY = [takes] * 1_000


def records(server: Server) -> list[dict[str, Any]]:
    return [record for request in server.received for record in request.body["batch"]]


def spans(server: Server) -> list[dict[str, Any]]:
    """Each span once, as last reported."""
    found = {record["span_id"]: record for record in records(server) if record["type"] == "span"}
    return list(found.values())


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
