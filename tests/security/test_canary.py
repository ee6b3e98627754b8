"""An order in tool output gains no authority, whoever summarizes it and however often.

What counts, after SPEC S3.3, S2.12 and S4.10: authority lies in a message's role. So after each compaction

- no system or developer message and no user message holds anything of the order, in whatever letters: not
  the caller's, which come back as they were, and not ours (a summary that the `rolling` preset places as
  system, or as user where the provider has no system messages; bridges; markers);
- a summary may tell of the order in an assistant message only, between delimiters of which exactly one
  opens and one closes, and both are ours;
- no mark that a raw chat template takes for a role is left in a message of ours;
- rules and approvals, which are kept word for word for good, never hold it.

Messages that a compaction kept are the caller's bytes, tool results among them: those are data by their role.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.model.event import EventName
from compact.model.record import RecordKind
from compact.model.summary import EvidenceKind, RefusalReason, SummaryRequest
from compact.stores.memory import MemoryStore
from compact.tracing.stream import Immediate
from support.canaries import (
    MEAN,
    RULE,
    bears,
    delimiters,
    obeying,
    poisoned,
    spoken_parts,
    template_tokens,
    ui_message,
)
from support.wire_servers import AnthropicWire, Behavior, OpenAIWire, serving

PRESETS = ("budget", "chat", "window", "agent", "rolling")
SUMMARIZING = ("budget", "chat", "agent", "rolling")
FORMATS = ("openai_chat", "anthropic", "anthropic_hosted", "openai_responses", "ai_sdk_ui")
ROUNDS = 3
TURNS = 120
SYSTEM = "You are careful with the fees of the harbor."
WHOLE = ("open", "close")


def config(preset: str, **settings: Any) -> CompactConfig:
    numbers = {"hard_cap_buffer": 100, "output_reserve": 100, "summary_max_pct": 0.4}
    if preset in ("budget", "agent"):
        numbers["keep_recent_turns"] = 2
    return CompactConfig(
        model="gpt-4o",
        preset=preset,
        max_context_tokens=3_000,
        counter="chars4",
        archive={"adapter": "none"},
        policy={**numbers, **settings.pop("policy", {})},
        **({"summarizer": {"name": "extractive"}} | settings),
    )


def message_of(form: str, role: str, text: str) -> dict[str, Any]:
    return ui_message(role, role, text) if form == "ai_sdk_ui" else {"role": role, "content": text}


def shortened(message: Any) -> bool:
    """A message of the caller's with less of a tool's output: as it came otherwise, in its own role."""
    texts = list(spoken_parts(message))
    return (
        any("[Tool output shortened:" in text for text in texts) and "<COMPACT-SUMMARY" not in texts[0][:16]
    )


class Run:
    """A poisoned conversation that goes on until it was compacted so often; each prompt is examined."""

    def __init__(self, form: str = "openai_chat", parrots: bool = False) -> None:
        self.form, self.parrots = form, parrots
        self.system = SYSTEM if form.startswith("anthropic") else None
        first, self.newest = message_of(form, "system", SYSTEM), message_of(form, "user", "What comes next?")
        self.messages: list[Any] = [] if self.system else [first]
        self.turns = poisoned(form, TURNS, parrots)
        self.prompt: Sequence[Any] = ()

    def go(self, manager: CompactManager, rounds: int = ROUNDS) -> Run:
        """On until `manager` has so many records of compactions, prunes not counted."""
        done = 0
        for turn in self.turns:
            self.messages += turn
            given = [*self.messages, self.newest]
            self.prompt = manager.preflight("s", given, system=self.system)
            self.examine(given)
            done = sum(record.kind is not RecordKind.PRUNE for record in manager.records("s"))
            if done >= rounds:
                self.examine_evidence(manager)
                return self
        raise AssertionError(f"{done} compactions in {TURNS} turns, {rounds} were wanted")

    def examine(self, given: Sequence[Any]) -> None:
        for message in self.prompt:
            if message.get("role") in ("system", "developer", "user"):
                for text in spoken_parts(message):
                    assert not bears(text), f"{message['role']}: {text}"
        kept = {id(message) for message in given}
        ours = [message for message in self.prompt if id(message) not in kept and not shortened(message)]
        summaries = 0
        said = {text for message in given for text in spoken_parts(message)}
        for message in ours:
            for text in spoken_parts(message):
                if text in said:
                    continue  # an object of the caller's, built anew because one of its outputs is shorter
                assert template_tokens(text) == (), text
                if bears(text):
                    assert message["role"] == "assistant" and delimiters(text), text
                if delimiters(text):
                    assert delimiters(text) == WHOLE, text
                    assert re.fullmatch(r"<COMPACT-SUMMARY v\d+>\n.*\n</COMPACT-SUMMARY>[^<\n]*", text, re.S)
                    summaries += 1
        assert summaries <= 2

    def examine_evidence(self, manager: CompactManager) -> None:
        for record in manager.records("s"):
            for item in record.evidence:
                if item.kind is EvidenceKind.SAID:
                    assert item.untrusted or not bears(item.value + item.context), item
                elif bears(item.value) and not self.parrots:
                    assert item.untrusted, item

    @property
    def sent(self) -> str:
        return "\n".join(text for message in self.prompt for text in spoken_parts(message))


def obeys(mean: str) -> Callable[[SummaryRequest], str]:
    """A summarizer that was taken in."""
    return lambda request: obeying(MEAN[mean])


@pytest.mark.spec("S3.3", part="engine")
@pytest.mark.parametrize("parrots", [False, True], ids=["quiet", "parrot"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("preset", PRESETS)
def test_the_embedded_summarizer(preset: str, form: str, parrots: bool) -> None:
    run = Run(form, parrots).go(CompactManager(config(preset)))
    assert RULE in run.sent


@pytest.mark.spec("S3.3", part="engine")
@pytest.mark.parametrize("mean", [mean for mean in MEAN if mean != "a quote of the user"])
@pytest.mark.parametrize("preset", SUMMARIZING)
def test_a_callable_that_obeys(preset: str, mean: str) -> None:
    run = Run().go(CompactManager(config(preset), summarizer=obeys(mean)))
    assert RULE in run.sent
    assert "fees of every ship checked" in run.sent, "the answer was used, so that there is something to see"


@pytest.mark.spec("S3.3", part="engine")
@pytest.mark.parametrize("mean", MEAN)
@pytest.mark.parametrize("form", FORMATS[1:])
def test_a_callable_that_obeys_in_other_formats(form: str, mean: str) -> None:
    Run(form, parrots=True).go(CompactManager(config("rolling"), summarizer=obeys(mean)))


@pytest.mark.parametrize("mean", MEAN)
def test_prose_that_stands_alone_cannot_close_its_delimiters_either(mean: str) -> None:
    """With a survival floor of 0 nothing but the engine stands between the callable and the prompt."""
    settings = config("budget", policy={"survival_floor": 0.0})
    Run().go(CompactManager(settings, summarizer=obeys(mean)))


@pytest.mark.parametrize("first", ["an instruction", "a section of rules", "system lines"])
@pytest.mark.parametrize("preset", SUMMARIZING)
def test_an_order_does_not_become_the_users_word_by_being_summarized(preset: str, first: str) -> None:
    """Told as it stands at first, then put into the user's mouth: refused each time."""
    told: list[Any] = []
    answers = iter([MEAN[first]])
    manager = CompactManager(
        config(preset),
        summarizer=lambda request: obeying(next(answers, MEAN["a quote of the user"])),
        exporters=[Immediate(told.append)],
    )
    run = Run(parrots=True).go(manager)
    refused = [event.data["error_type"] for event in told if event.name is EventName.ERROR]
    assert refused and set(refused) == {RefusalReason.INVENTED_QUOTE}
    assert "The user said:" not in run.sent


@pytest.mark.parametrize("mean", ["constraints", "a section of rules", "system lines", "look-alike letters"])
@pytest.mark.parametrize("preset", ["budget", "rolling"])
def test_nor_by_going_through_other_hands(preset: str, mean: str) -> None:
    """The embedded summarizer goes on from the summary of a model that obeyed."""
    store = MemoryStore()
    run = Run().go(CompactManager(config(preset), summarizer=obeys(mean), store=store), 1)
    run.go(CompactManager(config(preset), store=store), ROUNDS)
    assert RULE in run.sent


WIRES = {"openai": OpenAIWire(), "anthropic": AnthropicWire()}


def mean_answers(wire: Any, count: int) -> list[Behavior]:
    """One after the other in all the mean ways, from the beginning again when they are used up."""
    return [wire.answer(obeying(mean)) for mean in islice(cycle(MEAN.values()), count)]


def examine_cold(body: Any) -> None:
    """The summarizer's model gets the order as data only, in frames that the data cannot close."""
    instructions = body.get("system") or body["messages"][0]["content"]
    framed = body["messages"][-1]["content"]
    assert body["messages"][-1]["role"] == "user"
    assert not bears(str(instructions))
    for tag in ("transcript", "previous-summary"):
        assert framed.count(f"<{tag}>") == framed.count(f"</{tag}>") <= 1
    assert delimiters(framed) == () and template_tokens(framed) == ()
    outside = re.sub(r"<untrusted-tool-output>.*?</untrusted-tool-output>", "", framed, flags=re.S)
    assert "untrusted-tool-output>" not in outside.replace("&lt;/untrusted-tool-output>", "")
    assert not bears(re.sub(r"<previous-summary>.*?</previous-summary>", "", outside, flags=re.S))


@pytest.mark.spec("S3.3", part="engine")
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("vendor", WIRES)
@pytest.mark.parametrize("preset", SUMMARIZING)
def test_a_model_behind_the_wire_that_obeys(preset: str, vendor: str, warm: bool) -> None:
    """More compactions than three, each on top of the summary before, each answered in another mean way.

    Warm, the request is the conversation itself with the request for a summary behind it, so the model also
    sees what stays.
    """
    with serving(*mean_answers(WIRES[vendor], 200)) as server:
        asked = {"name": vendor, "base_url": server.url, "model": "gpt-4o"}
        settings = config(preset, summarizer={**asked, "reuse_prefix": "on" if warm else "off"})
        run = Run("anthropic" if vendor == "anthropic" else "openai_chat")
        run.go(CompactManager(settings), 2 * ROUNDS)
        bodies = [received.body for received in server.received]
    assert len(bodies) >= 2 * ROUNDS
    for body in bodies if not warm else ():
        examine_cold(body)
