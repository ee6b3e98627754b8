"""Sentences of the documents that promise a behavior: each is read from the document, then tried."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, count_tokens
from compact.policies import preset
from support.documents import ROOT
from support.raw import Raw, assistant, pairs, steps, system, user


def promised(document: str, sentence: str) -> re.Match[str]:
    """The sentence as the document has it, wherever its lines break."""
    found = re.search(sentence, " ".join((ROOT / document).read_text(encoding="utf-8").split()))
    assert found is not None, f"{document} no longer says: {sentence}"
    return found


def manager_for(name: str, window: int, **settings: Any) -> CompactManager:
    settings = {"archive": {"adapter": "none"}, **settings}
    return CompactManager(
        CompactConfig(model="gpt-4o", counter="chars4", preset=name, max_context_tokens=window, **settings)
    )


def kept(sent: list[Raw], given: list[Raw]) -> int:
    return sum(message in given for message in sent)


def test_chat_keeps_one_message_more_where_the_newest_is_the_users() -> None:
    said = promised(
        "docs/policies.md", r"`chat` keeps (\d+) messages, and one more if the newest is the user's"
    )
    answered = pairs(20)
    asked = [*answered, user("the newest")]
    assert kept(manager_for("chat", 2_000).preflight("s", answered), answered) == int(said[1])
    assert kept(manager_for("chat", 2_000).preflight("s", asked), asked) == int(said[1]) + 1


@pytest.mark.parametrize("name", ["budget", "agent"])
def test_a_newest_turn_that_does_not_fit_is_cut_too(name: str) -> None:
    promised(
        "docs/policies.md",
        "does not fit with one turn and one tool step kept, a compaction also cuts into the newest turn",
    )
    run = [m for n in range(1, 30) for m in (*steps(1, first=n), assistant(f"so far {n}", 150))]
    turn = [user("the task"), *run]
    sent = manager_for(name, 4_000).preflight("s", turn)
    assert turn[0] in sent and kept(sent, turn) < len(turn)
    assert (
        count_tokens(sent, "gpt-4o", counter="chars4")
        <= 4_000
        < count_tokens([m for m in turn if m["role"] != "tool"], "gpt-4o", counter="chars4")
    )


def test_the_share_above_which_a_prune_is_discarded() -> None:
    said = promised(
        "docs/policies.md", r"`agent` discards a prune that would leave more than (\d+)% of the window"
    )
    assert preset("agent").prune_accept_pct == int(said[1]) / 100


def test_what_a_compaction_replaces_is_in_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = promised(
        "README.md", r"Before a compaction replaces anything, a redacted transcript goes to `([^`]+)`"
    )
    monkeypatch.chdir(tmp_path)
    manager = manager_for("budget", 4_000, archive={})
    given = [system(), *pairs(150)]
    for end in (101, 201, 301):
        sent = manager.preflight("s", given[:end])
        files = (tmp_path / said[1]).rglob("*.jsonl")
        written = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        stored = json.dumps(written)
        gone = [message for message in given[:end] if message not in sent]
        assert gone and all(json.dumps(message["content"])[1:-1] in stored for message in gone)
