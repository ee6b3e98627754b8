"""The length that a prompt names is the length that is then allowed, however the summarizer is called."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.model.summary import SummaryRequest
from support.providers import Provider, providing
from support.raw import assistant, user

NAMED = re.compile(r"at most (\d+) tokens, about (\d+) words")
PROSE = "The harbor office pays its fees on time, and the berths are counted each week. " * 4
REFUSAL = "I'm sorry, but I can't help with that."
SIZES = [(preset, window) for preset in ("budget", "chat", "agent", "rolling") for window in (4_000, 8_000)]
sizes = pytest.mark.parametrize(("preset", "window"), SIZES)


@pytest.fixture(scope="module")
def serving() -> Iterator[Provider]:
    with providing(window=1_000_000) as provider:
        yield provider


@pytest.fixture
def provider(serving: Provider) -> Provider:
    serving.asked.clear()
    serving.reply = lambda messages, tools: PROSE
    return serving


def compact_twice(preset: str, window: int, own: Any = None, **settings: Any) -> None:
    """The second time on top of a summary, with a note."""
    config = CompactConfig(
        model="tiny",
        preset=preset,
        max_context_tokens=window,
        counter="chars4",
        archive={"adapter": "none"},
        **settings,
    )

    # The user's words take a good part of the summary, so less is left for the prose.
    turns = [(user(f"Wish {n}", window // 300), assistant(f"Reply {n}", window // 16)) for n in range(30)]
    history = [message for turn in turns for message in turn]
    with CompactManager(config, summarizer=own) as manager:
        manager.prepare("s", history[:30])
        manager.manual_compact("s", history, note="keep the berths")
        assert len(manager.records("s")) == 2


def named(text: str) -> int:
    """The one limit that a prompt names, in tokens and in words."""
    [(tokens, words)] = NAMED.findall(text)
    assert int(words) == max(1, int(int(tokens) * 0.6))
    return int(tokens)


def assert_named(provider: Provider) -> None:
    asked = [one.body for one in provider.asked]
    assert len(asked) > 1
    assert [named(json.dumps(body["messages"])) for body in asked] == [body["max_tokens"] for body in asked]


def model(provider: Provider, name: str = "tiny", **settings: Any) -> dict[str, Any]:
    return {"name": "openai", "model": name, "base_url": f"{provider.url}/v1", **settings}


@sizes
@pytest.mark.parametrize("reuse_prefix", ["on", "off"])
def test_to_a_model(provider: Provider, preset: str, window: int, reuse_prefix: str) -> None:
    asked = model(provider, reuse_prefix=reuse_prefix)
    compact_twice(preset, window, summarizer=asked, models={"tiny": {"window": 200_000}})
    assert_named(provider)
    warm = ["Set the task aside" in one.body["messages"][-1]["content"] for one in provider.asked]
    assert all(warm) if reuse_prefix == "on" else not any(warm)


@sizes
def test_to_each_model_of_a_chain(provider: Provider, preset: str, window: int) -> None:
    answers = iter([REFUSAL, PROSE] * 10)
    provider.reply = lambda messages, tools: next(answers)
    asked = model(provider, fallbacks=[model(provider, "other")])
    compact_twice(preset, window, summarizer=asked, models={"tiny": {"window": 200_000}})
    assert_named(provider)
    assert {one.body["model"] for one in provider.asked} == {"tiny", "other"}


@sizes
def test_to_a_model_that_reads_the_history_in_pieces(provider: Provider, preset: str, window: int) -> None:
    """A window that holds the instructions, its summary and little else."""
    small = {"tiny": {"window": 3_500}}
    policy = {"summary_max_tokens": 1_000}
    compact_twice(preset, window, summarizer=model(provider), models=small, policy=policy)
    assert_named(provider)
    assert len(provider.asked) > 3


@sizes
@pytest.mark.parametrize("survival_floor", [0.0, 0.8])
def test_to_a_callable(preset: str, window: int, survival_floor: float) -> None:
    limits: list[tuple[int, int]] = []

    def own(request: SummaryRequest) -> str:
        limits.append((named(request.prompt), request.max_tokens))
        return PROSE if len(limits) % 2 else REFUSAL

    for given in (own, [own, own]):
        compact_twice(preset, window, given, policy={"survival_floor": survival_floor})
    assert [limit for limit, _ in limits] == [allowed for _, allowed in limits] and len(limits) > 4


def test_in_a_template_of_one_s_own(provider: Provider, tmp_path: Path) -> None:
    template = tmp_path / "own.md"
    template.write_text("List the berths, {max_tokens} tokens at most.", encoding="utf-8")
    compact_twice("budget", 8_000, summarizer=model(provider), policy={"strategy": str(template)})
    assert_named(provider)
    for asked in provider.asked:
        assert f"List the berths, {asked.body['max_tokens']} tokens at most." in json.dumps(asked.body)


def test_after_each_halving(provider: Provider) -> None:
    """A babbling answer with no place to cut at is asked for again, at half the length (S4.18)."""
    provider.reply = lambda messages, tools: "on and on about the berths, " * 2_000
    compact_twice("budget", 8_000, summarizer=model(provider))
    assert_named(provider)
    first, second, third = (one.body["max_tokens"] for one in provider.asked[:3])
    assert first > second > third
