"""Tools for a first look: the demo assistant calls one when a message names it."""

from __future__ import annotations

from datetime import UTC, datetime

from compact.chat.tools import Tool

_LONGEST = 400


def demo_tools() -> list[Tool]:
    lines = {"lines": {"type": "integer", "description": f"How many, {_LONGEST} at most."}}
    return [
        Tool("current_time", "The date and time now, in UTC.", _current_time),
        Tool(
            "sample_log",
            "Lines of a made-up server log; large outputs show how a context fills and is pruned.",
            _sample_log,
            {"type": "object", "properties": lines, "required": ["lines"]},
        ),
    ]


def _current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _sample_log(lines: int) -> str:
    return "\n".join(
        f"line {n:04d} request id=req-{n * 7919 % 100_000:05d} path=/rooms status=200 took={n * 37 % 480}ms"
        for n in range(1, max(1, min(int(lines), _LONGEST)) + 1)
    )
