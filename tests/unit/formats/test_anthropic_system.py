"""Anthropic's system messages in mid-conversation stay valid, compaction after compaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, lint
from compact.formats import recognize
from compact.policies import PRESETS


def turn(number: int) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"t{number}", "name": "get", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "out " * 80}
    items: list[dict[str, Any]] = [{"role": "user", "content": f"question {number} " + "word " * 40}]
    if number % 3 == 0:
        items.append({"role": "system", "content": f"rule {number}"})
    items += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    if number % 4 == 1:
        items.append({"role": "system", "content": f"later rule {number}"})
    return [*items, {"role": "assistant", "content": f"answer {number}"}]


def misplaced(sent: list[Any]) -> list[tuple[str, ...]]:
    """The roles around each system message that does not stand behind a user's and before an assistant's."""
    roles = ["", *(item["role"] for item in sent), ""]
    around = [tuple(roles[at - 1 : at + 2]) for at, role in enumerate(roles) if role == "system"]
    return [three for three in around if three[0] != "user" or three[2] not in ("assistant", "")]


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("adopt", [False, True])
def test_they_stay_valid(preset: str, adopt: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = CompactConfig(model="claude-opus-4-8", max_context_tokens=5_300, preset=preset)
    manager = CompactManager(config, format="anthropic")
    items: list[Any] = []
    prompts: list[list[Any]] = []
    compactions = 0
    for number in range(36):
        items += turn(number)
        if number % 6 == 5:
            asked = [*items, {"role": "user", "content": "and now?"}]
            prepared = manager.prepare("s", asked)
            compactions += prepared.was_compacted
            sent = prepared.messages
            assert misplaced(sent) == []
            prompts.append(sent)
            rules = [item["content"] for item in sent if item["role"] == "system"]
            assert rules == [item["content"] for item in asked if item["role"] == "system"]
            items = [*(sent if adopt else asked), {"role": "assistant", "content": "Go on."}]
    assert compactions >= 2
    for sent in prompts:
        assert lint(sent, "anthropic", format="anthropic", model="claude-opus-4-8") == []


def plain_turn(number: int) -> list[dict[str, Any]]:
    """Nothing in it says which format it is in, but for the model."""
    items = [{"role": "user", "content": f"question {number} " + "word " * 120}]
    if number % 3 == 0:
        items.append({"role": "system", "content": f"rule {number}"})
    return [*items, {"role": "assistant", "content": f"answer {number}"}]


@pytest.mark.spec("S2.20")
@pytest.mark.parametrize("preset", PRESETS)
def test_the_model_decides_where_plain_messages_fit_several_formats(preset: str) -> None:
    settings: dict[str, Any] = {"max_context_tokens": 5_300, "preset": preset, "archive": {"adapter": "none"}}
    manager = CompactManager(CompactConfig(model="claude-opus-4-8", **settings))
    items: list[Any] = []
    compactions = 0
    for number in range(60):
        asked = [*items, *plain_turn(number)[:-1]]
        prepared = manager.prepare("s", asked)
        compactions += prepared.was_compacted
        assert misplaced(list(prepared.messages)) == []
        items += plain_turn(number)
    assert compactions >= 2


def test_a_list_that_begins_with_the_system_prompt_is_in_the_chat_format() -> None:
    """As gateways and routers send it to a Claude."""
    leading = [{"role": "system", "content": "Be brief."}]
    assert recognize([*leading, *plain_turn(0)], "anthropic").name == "openai-chat"
    assert recognize(plain_turn(0), "anthropic").name == "anthropic"
    assert recognize(plain_turn(0), "openai").name == recognize(plain_turn(0)).name == "openai-chat"


def test_a_conversation_shows_later_in_which_format_it_is() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{}"}}
    chat = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "out"},
    ]
    manager = CompactManager(CompactConfig(model="claude-opus-4-8", archive={"adapter": "none"}))
    asked = [{"role": "user", "content": "question"}]
    assert manager.preflight("s", asked) == asked
    assert manager.preflight("s", [*asked, *chat]) == [*asked, *chat]
    stored = [message.origin and message.origin.source for message in manager._engine.store.originals("s")]
    assert stored == [*asked, *chat]


def test_lint_takes_text_blocks_for_the_named_providers() -> None:
    marked = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    asked = [{"role": "user", "content": [marked] * 5}]
    later = {**marked, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    order = [{"role": "user", "content": [marked, later]}]
    for messages in (asked, order):
        found = lint(messages, "anthropic")
        assert found and found == lint(messages, "anthropic", format="anthropic")
