"""A long sample conversation that is about to be compacted, for a first look."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import Any

from compact.chat.turns import Turn

SESSION, TITLE = "sample", "Moving the booking service"
_GAP = timedelta(minutes=7)


def sample_turns(now: datetime | None = None) -> list[Turn]:
    """As if it had been said over the last days, with the newest message a moment ago."""
    found: list[dict[str, Any]] = json.loads(
        resources.files("compact.server.studio").joinpath("sample.json").read_text(encoding="utf-8")
    )
    last = now or datetime.now(UTC)
    first = last - _GAP * len(found)
    return [
        {**turn, "timestamp": (first + _GAP * n).isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        for n, turn in enumerate(found)
    ]
