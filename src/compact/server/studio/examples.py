"""Examples for the API description: one of each request, and of the responses that most clients read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_USAGE = {
    "tokens": 70_656,
    "window": 128_000,
    "window_source": "registry",
    "trigger": 108_800,
    "budget": 126_500,
    "reserve": 1_500,
    "percent": 55.2,
    "exact": True,
    "margin": 1.0,
    "over_by": 0,
    "parts": {"system": 620, "tools": 1_204, "summary": 6_845, "messages": 61_987},
    "compacts_next": False,
    "draft": 0,
}
EXAMPLES: Mapping[str, Any] = MappingProxyType(
    {
        "ChatRequest": {
            "id": "20261116-101500-1a2b3c4d",
            "message": {"role": "user", "parts": [{"type": "text", "text": "Which port did we choose?"}]},
            "trigger": "submit-message",
        },
        "NewSession": {"title": "Moving the booking service", "space": "work", "preset": "chat"},
        "SessionChange": {"preset": "agent", "policy": {"trigger_pct": 0.7}},
        "SpaceChange": {"title": "Work", "custom_instructions": "Prices are in crowns.", "preset": "rolling"},
        "CompactRequest": {"focus": "the migration plan", "note": "before the weekend"},
        "PlanRequest": {"preset": "budget", "preview": True},
        "WhatIfRequest": {
            "columns": [{"preset": "window"}, {"policy": {"keep_recent_turns": 2}, "label": "two turns"}]
        },
        "ApplyRequest": {"preset": "chat", "at_message": 147},
        "EditRequest": {"text": "Use port 8461 instead."},
        "DraftRequest": {"draft": "A long message that is not sent yet."},
        "PinRequest": {"pinned": True},
        "ImportRequest": {"messages": [{"role": "user", "content": "We use PostgreSQL 13."}]},
        "MessagesIn": {"messages": [{"role": "user", "content": "We use PostgreSQL 13."}]},
        "Usage": _USAGE,
        "Session": {
            "id": "20261116-101500-1a2b3c4d",
            "title": "Moving the booking service",
            "space": "work",
            "preset": "chat",
            "model": "gpt-4o",
            "created_at": 1794823200.0,
            "updated_at": 1794826800.0,
            "message_count": 148,
            "compaction_count": 2,
            "last_compaction_at": 1794826000.0,
            "compacting": False,
            "streaming": False,
            "usage": _USAGE,
        },
    }
)


def with_examples(document: dict[str, Any]) -> dict[str, Any]:
    """The same description; schemas that have an example show it."""
    schemas = document["components"]["schemas"]
    for name in schemas.keys() & EXAMPLES.keys():
        schemas[name]["examples"] = [EXAMPLES[name]]
    return document
