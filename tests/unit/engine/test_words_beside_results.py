"""Text beside tool results, as harnesses add it to every step, is part of the step and no task of its own."""

from __future__ import annotations

from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.core.boundaries import GroupKind, groups, turns
from compact.formats.anthropic import Anthropic
from compact.stores.memory import MemoryStore

TASK = {"role": "user", "content": "Migrate the billing service to PostgreSQL 16 and keep the old API."}
MEANWHILE = "Leave the invoices table as it is."


def step(number: int, beside: str = "") -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"t{number}", "name": "bash", "input": {"command": f"ls {number}"}}
    said = f"output {number} {'a line of data ' * 60}"
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": f"t{number}", "content": said}
    content = [result, *([{"type": "text", "text": beside}] if beside else [])]
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": content}]


def reminded(first: int, stop: int) -> list[dict[str, Any]]:
    return [message for n in range(first, stop) for message in step(n, f"The list of open points has {n}.")]


def manager(preset: str) -> CompactManager:
    config = CompactConfig(
        model="claude-sonnet-4-5", max_context_tokens=6_000, preset=preset, archive={"adapter": "none"}
    )
    return CompactManager(config, store=MemoryStore(), summarizer=lambda request: "## Goal\nMigrate billing.")


@pytest.mark.parametrize("preset", ["budget", "chat", "agent"])
def test_the_task_stays_though_every_step_has_a_reminder(preset: str) -> None:
    with manager(preset) as working:
        held = working.prepare("s", [TASK, *reminded(0, 40)]).messages
        assert TASK in held and len(held) < 40
        for first in (40, 80):
            held = working.prepare("s", [*held, *reminded(first, first + 40)]).messages
            assert TASK in held and len(held) < 60
        assert len(working.records("s")) == 3


@pytest.mark.parametrize("preset", ["budget", "chat", "agent"])
def test_what_a_user_said_meanwhile_stays_too(preset: str) -> None:
    history = [TASK, *step(0), *step(1, MEANWHILE)]
    history += [message for n in range(2, 40) for message in step(n)]
    with manager(preset) as working:
        out = working.prepare("s", history).messages
    assert TASK in out and len(out) < 40
    assert any(MEANWHILE in str(message["content"]) for message in out)


def test_text_beside_results_begins_no_turn() -> None:
    raw = [TASK, *reminded(0, 3), {"role": "user", "content": "Now the tests."}]
    messages = [message for n, item in enumerate(raw) for message in Anthropic().decode(item, n)]
    found = groups(messages)
    kinds = [GroupKind.USER, *[GroupKind.STEP] * 3, GroupKind.USER]
    assert [group.kind for group in found] == kinds
    assert turns(found) == [range(4), range(4, 5)]
