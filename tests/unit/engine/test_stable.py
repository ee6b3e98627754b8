"""Where a cache breakpoint pays: at the summary, wherever it stands among the caller's objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.formats.anthropic import with_cache_breakpoints

PROTECTED = {"protected": True}
WORDS = "word " * 100


def anthropic() -> list[Any]:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "r"}
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        {"role": "user", "content": [result, {"type": "text", "text": "note"}], "meta": PROTECTED},
        *({"role": role, "content": WORDS} for _ in range(20) for role in ("user", "assistant")),
        {"role": "user", "content": "end"},
    ]


def ui() -> list[Any]:
    tool = {"type": "tool-f", "toolCallId": "t1", "state": "output-available", "input": {}, "output": "r"}
    text = {"type": "text", "text": "done"}
    steps = [{"type": "step-start"}, tool, {"type": "step-start"}, text]
    said = [{"type": "text", "text": WORDS}]
    return [
        {"id": "a", "role": "user", "parts": said, "meta": PROTECTED},
        {"id": "b", "role": "assistant", "parts": steps, "meta": PROTECTED},
        *({"id": f"{r}{n}", "role": r, "parts": said} for n in range(20) for r in ("user", "assistant")),
        {"id": "z", "role": "user", "parts": said},
    ]


@pytest.mark.spec("S2.14")
@pytest.mark.parametrize(("format", "messages"), [("anthropic", anthropic()), ("ai-sdk-ui", ui())])
def test_the_summary_is_found_behind_objects_that_hold_several_messages(
    format: str, messages: list[Any]
) -> None:
    config = CompactConfig(
        model="claude-sonnet-4-5",
        max_context_tokens=4_000,
        policy={"hard_cap_buffer": 200},
        archive={"adapter": "none"},
    )
    prepared = CompactManager(config, format=format).prepare("s", messages)
    (summary,) = [n for n, one in enumerate(prepared.messages) if "<COMPACT-SUMMARY" in json.dumps(one)]
    assert prepared.stable == (summary, len(prepared.messages) - 1)
    if format == "anthropic":
        *_, marked = with_cache_breakpoints("Be brief.", None, prepared.messages, prepared.stable)
        assert [n for n, one in enumerate(marked) if "cache_control" in json.dumps(one)] == [*prepared.stable]
