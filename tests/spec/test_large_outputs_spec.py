"""S5.7: a run of one task and 120 tool steps at 32k, with outputs larger than the window among them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, Prepared, lint
from compact.stores.memory import MemoryStore

WINDOW, STEPS = 32_000, 120
LARGE = 40_000
LARGE_AT = {0: 1, 60: 1, 90: 2}
"""Steps with outputs larger than the window, and how many each: the first, one as newest, two in parallel."""
LINE = "{at:05d} step {step} reads the row and writes it to the table of the day after\n"
NAMED = re.compile(r"\brecall (r-[0-9a-f]+)")
Raw = dict[str, Any]
Results = Mapping[str, str]


def output(step: int, tokens: int) -> str:
    """That many tokens of four characters each."""
    lines = "".join(LINE.format(at=at, step=step) for at in range(tokens * 4 // len(LINE)))
    return f"{lines}ERROR: row {step} of part {tokens} is broken\n"


def run_of_steps() -> Iterator[tuple[str, Results]]:
    """What the assistant says at each step, and the outputs of its calls by their ids."""
    rng = random.Random(13)
    for step in range(STEPS):
        sizes = [LARGE + at for at in range(LARGE_AT.get(step, 0))] or [rng.randrange(1_500, 6_000)]
        yield (
            f"I read part {step}.",
            {f"call_{step}_{at}": output(step, size) for at, size in enumerate(sizes)},
        )


def in_openai(said: str, results: Results) -> list[Raw]:
    function = {"name": "read_file", "arguments": json.dumps({"path": "feed.csv"})}
    calls = [{"id": name, "type": "function", "function": function} for name in results]
    answers = [{"role": "tool", "tool_call_id": name, "content": text} for name, text in results.items()]
    return [{"role": "assistant", "content": said, "tool_calls": calls}, *answers]


def in_anthropic(said: str, results: Results) -> list[Raw]:
    calls = [
        {"type": "tool_use", "id": name, "name": "read_file", "input": {"path": "feed.csv"}}
        for name in results
    ]
    answers = [
        {"type": "tool_result", "tool_use_id": name, "content": text} for name, text in results.items()
    ]
    return [
        {"role": "assistant", "content": [{"type": "text", "text": said}, *calls]},
        {"role": "user", "content": answers},
    ]


SHAPES = {"openai": in_openai, "anthropic": in_anthropic}


def results_in(prompt: Sequence[Raw]) -> dict[str, str]:
    """Every tool output of a prompt by the id of its call."""
    found = {}
    for message in prompt:
        if message["role"] == "tool":
            found[message["tool_call_id"]] = message["content"]
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                found[block["tool_use_id"]] = block["content"]
    return found


@pytest.mark.spec("S5.7")
@pytest.mark.parametrize("adopts", [False, True], ids=["sends all", "adopts"])
@pytest.mark.parametrize("provider", SHAPES)
@pytest.mark.parametrize("preset", ["budget", "agent"])
def test_outputs_larger_than_the_window_do_not_end_a_run_of_120_steps(
    preset: str, provider: str, adopts: bool
) -> None:
    config = CompactConfig(
        preset=preset,
        counter="chars4",
        max_context_tokens=WINDOW,
        archive={"adapter": "none"},
        summarizer={"name": "extractive"},
    )
    manager = CompactManager(config)
    task = {"role": "user", "content": "Find the broken row of the feed."}
    messages, originals, handles = [task], {}, {}
    for step, (said, results) in enumerate(run_of_steps()):
        messages += SHAPES[provider](said, results)
        originals.update(results)
        prepared = manager.prepare("s", messages)
        prompt = prepared.messages
        assert lint(prompt, provider) == []
        assert prepared.tokens.final <= manager.usage("s", messages).budget < WINDOW
        assert task in prompt
        shown = results_in(prompt)
        for name, text in shown.items():
            if text != originals[name]:
                handles[name] = NAMED.search(text)[1]
        if step in LARGE_AT:
            for name, text in results.items():
                assert shown[name].startswith(text[:200]) and shown[name].endswith(text[-200:].strip())
        if adopts:
            messages = list(prompt)
    assert {name for name, text in originals.items() if len(text) > 4 * WINDOW} <= handles.keys()
    assert len(handles) > 20
    for name, handle in handles.items():
        (found,) = manager.recall("s", handle, limit=1)
        assert found.text == originals[name]


def with_newest_output(share: float) -> list[Raw]:
    """Forty facts in passing, then a step whose output takes this share of the window."""
    facts = [f"By the way, the label of crate {at} is Zebra-{at}-{at}." for at in range(40)]
    talk = [
        {"role": role, "content": text}
        for fact in facts
        for role, text in (("user", fact), ("assistant", "I keep that in mind. " * 40))
    ]
    rows = "row " * int(WINDOW * share)
    return [*talk, {"role": "user", "content": "Read the log."}, *in_openai("I read it.", {"call_1": rows})]


@pytest.mark.spec("S5.5")
@pytest.mark.parametrize("share", [0.91, 0.93, 0.945, 0.95, 0.952, 1.2])
@pytest.mark.parametrize("preset", ["budget", "chat", "rolling"])
def test_the_newest_output_is_cut_before_words_are_lost(preset: str, share: float) -> None:
    config = CompactConfig(
        preset=preset,
        counter="chars4",
        max_context_tokens=WINDOW,
        archive={"adapter": "none"},
        summarizer={"name": "extractive"},
    )
    manager = CompactManager(config)
    prepared = manager.prepare("s", with_newest_output(share))
    shown = json.dumps(prepared.messages)
    assert [at for at in range(40) if f"Zebra-{at}-{at}." not in shown] == []
    assert prepared.tokens.final <= manager.config.max_context_tokens - 1_500
    assert prepared.debug.reason == "overflow"


@pytest.mark.spec("S2.22")
@pytest.mark.spec("S2.18", part="events")
@pytest.mark.parametrize("preset", ["budget", "chat", "agent"])
def test_a_summary_beside_a_cut_output_is_reported_as_both(preset: str) -> None:
    config = CompactConfig(
        preset=preset,
        counter="chars4",
        max_context_tokens=WINDOW,
        archive={"adapter": "none"},
        summarizer={"name": "extractive"},
    )
    manager = CompactManager(config)
    prepared = manager.prepare("s", with_newest_output(1.2))
    data = {event.name.value: event.data for event in manager.events}
    prune, done = data["compaction-prune"], data["compaction-complete"]
    assert prepared.was_pruned and prepared.was_compacted
    assert done["wasPruned"] and done["wasSummarized"]
    assert prepared.debug.outputs_cleared == prune["outputsPruned"] == 1
    assert prepared.tokens.before - prepared.tokens.after_prune == prune["tokensSaved"] > WINDOW / 2
    assert prepared.tokens.after_prune > prepared.tokens.after_compact == done["tokensAfter"]


@pytest.mark.spec("S5.7")
@pytest.mark.parametrize("session", ["s", "another"])
def test_a_cut_newest_output_is_not_compacted_again_after_a_restart(session: str) -> None:
    """A retry sends the same list; the record that shortened its newest message applies to it."""
    requests: list[Any] = []
    store, messages = MemoryStore(), with_newest_output(1.2)
    config = CompactConfig(counter="chars4", max_context_tokens=WINDOW, archive={"adapter": "none"})

    def summarize(request: Any) -> str:
        requests.append(request)
        return "The user labeled forty crates."

    def prepared(session: str) -> Prepared:
        return CompactManager(config, summarize, store=store).prepare(session, messages)

    first, again = prepared("s"), prepared(session)
    assert again.messages == first.messages and not again.was_compacted
    assert len(requests) == 1


def test_an_output_is_not_cut_if_that_helps_no_words() -> None:
    """The user's own message takes the room, so the small output next to it stays whole."""
    config = CompactConfig(counter="chars4", max_context_tokens=WINDOW, archive={"adapter": "none"})
    rows = output(1, 3_000)
    messages = with_newest_output(0.01)[:-3]
    messages += [{"role": "user", "content": "word " * 21_500}, *in_openai("I read it.", {"call_1": rows})]
    prompt = CompactManager(config).preflight("s", messages)
    assert results_in(prompt) == {"call_1": rows}
