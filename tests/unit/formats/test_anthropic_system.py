"""Anthropic's system messages in mid-conversation stay valid, compaction after compaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, lint
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
