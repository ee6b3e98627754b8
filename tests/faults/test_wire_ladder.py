"""What a provider's failure comes to in the conversation: each rung is an event with its reason, and the
prompt fits whatever happens. From the manager through both clients to a server that misbehaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, lint
from compact.model.event import Event, EventName
from compact.model.summary import RefusalReason
from compact.summarizers._model import ModelSummarizer
from compact.summarizers.anthropic import AnthropicSummarizer
from compact.summarizers.openai import OpenAISummarizer
from compact.tracing.stream import Immediate
from support.wire_servers import AnthropicWire, Behavior, OpenAIWire, Server, cut_body, hang, serving, then

SUMMARY = (
    "The user has the harbor fees checked page by page [m0]. Pages up to the tenth agree with the ledger, "
    "and the assistant goes on with the next page as it was asked to; nothing else is open by now, and "
    "no ship had a wrong fee so far."
)
SORRY = "I'm sorry, but I can't help with that request."


async def no_wait(seconds: float) -> None:
    """Stands in for sleeping between two tries."""


Make = Callable[..., ModelSummarizer]


def make_openai(server: Server, **options: Any) -> ModelSummarizer:
    return OpenAISummarizer("tiny", server.url, "sk-test", **({"timeout": 20.0, "sleep": no_wait} | options))


def make_anthropic(server: Server, **options: Any) -> ModelSummarizer:
    return AnthropicSummarizer(
        "tiny", server.url, "sk-test", **({"timeout": 20.0, "sleep": no_wait} | options)
    )


both = pytest.mark.parametrize(
    ("make", "wire"),
    [
        pytest.param(make_openai, OpenAIWire(), id="openai"),
        pytest.param(make_anthropic, AnthropicWire(), id="anthropic"),
    ],
)


def history(pages: int = 40) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Check the harbor fees page by page."}]
    for page in range(1, pages):
        told = f"Page {page} agrees with the ledger, every ship on it paid what it owed. " * 4
        asked = f"Go on with page {page + 1} and tell me what is wrong with the fees that are on it."
        messages += [{"role": "assistant", "content": told}, {"role": "user", "content": asked}]
    return messages


class Run:
    """One compaction with this summarizer, and what was told of it."""

    def __init__(self, summarizer: Any, preset: str = "budget") -> None:
        events: list[Event] = []
        config = CompactConfig(
            model="gpt-4o",
            preset=preset,
            max_context_tokens=2_000,
            counter="chars4",
            archive={"adapter": "none"},
            policy={"hard_cap_buffer": 100, "summary_max_pct": 0.2},
            summarizer={"fallback": "none"},
        )
        manager = CompactManager(config, summarizer=summarizer, exporters=[Immediate(events.append)])
        given = history()
        prompt = manager.preflight("s", given)
        assert manager.usage("s", given).tokens <= 1_900 and lint(prompt, "openai") == []
        assert prompt[-1] is given[-1]
        errors = [event.data for event in events if event.name is EventName.ERROR]
        assert all(data["status"] == "error" and data["message"] for data in errors)
        self.rungs = [(data["error_type"], data["fallback"]) for data in errors]
        self.summary = "\n".join(
            message["content"] for message in prompt if "<COMPACT-SUMMARY" in message["content"]
        )
        ends = [event.name for event in events]
        assert ends.count(EventName.START) == ends.count(EventName.COMPLETE) == 1


def over(make: Make, *script: Behavior, **options: Any) -> tuple[Run, Server]:
    with serving(*script) as server:
        return Run(make(server, **options)), server


@both
def test_429_with_retry_after_and_500_are_sat_out(make: Make, wire: Any) -> None:
    waits: list[float] = []

    async def remember(seconds: float) -> None:
        waits.append(seconds)

    busy, broken = wire.error(429, "slow down", retry_after="3"), wire.error(500, "oops")
    run, server = over(make, busy, broken, wire.answer(SUMMARY), sleep=remember)
    assert run.rungs == [] and SUMMARY in run.summary
    assert len(server.received) == 3 and waits[0] == 3.0


@both
@pytest.mark.spec("S4.18")
@pytest.mark.parametrize(
    "failure", ["429", "500", "hang", "cut body", "cut stream", "broken chunk", "silence"]
)
def test_a_provider_that_stays_down_means_pruning_only(make: Make, wire: Any, failure: str) -> None:
    named = isinstance(wire, AnthropicWire)
    script: dict[str, tuple[Behavior, dict[str, Any]]] = {
        "429": (wire.error(429, "slow down", retry_after="1"), {}),
        "500": (wire.error(500, "oops"), {}),
        "hang": (hang, {"timeout": 0.3}),
        "cut body": (cut_body, {}),
        "cut stream": (wire.cut_stream(SUMMARY), {}),
        "broken chunk": (then(*wire.chunks(SUMMARY), silence=None, named=named), {}),
        "silence": (then(*wire.chunks(SUMMARY), named=named), {"timeout": 0.4}),
    }
    behavior, options = script[failure]
    run, server = over(make, behavior, behavior, retries=1, **options)
    assert run.rungs == [("SummarizerError", "pruning-only")]
    assert run.summary == ""
    assert len(server.received) == (1 if failure in ("hang", "silence") else 2)


@both
@pytest.mark.spec("S4.18")
def test_a_refusal_means_brief(make: Make, wire: Any) -> None:
    no = wire.answer(None, refusal="No.") if isinstance(wire, OpenAIWire) else wire.answer(None, "refusal")
    for refusal in (no, wire.answer(SORRY)):
        run, _ = over(make, refusal, wire.answer(SUMMARY))
        assert run.rungs == [("refusal", "brief")] and "harbor fees" in run.summary
        run, _ = over(make, refusal, refusal)
        assert run.rungs == [("refusal", "brief"), ("refusal", "pruning-only")] and run.summary == ""


@both
@pytest.mark.spec("S4.18")
@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_at_max_tokens_means_half_the_length(make: Make, wire: Any, stream: bool) -> None:
    stop = "length" if isinstance(wire, OpenAIWire) else "max_tokens"
    cut, whole = (wire.stream(SUMMARY, stop), wire.stream(SUMMARY)) if stream else (
        wire.answer(SUMMARY, stop), wire.answer(SUMMARY)
    )  # fmt: skip
    run, server = over(make, cut, cut, whole)
    assert run.rungs == [("too-long", "halve"), ("too-long", "halve")]
    assert SUMMARY.partition(". ")[0] in run.summary  # prose beside the words is cut at a sentence
    asked = [received.body["max_tokens"] for received in server.received]
    assert asked[0] > asked[1] > asked[2]
    run, _ = over(make, cut, cut, cut)
    assert run.rungs[-1] == ("too-long", "pruning-only") and run.summary == ""


@both
def test_too_long_for_the_model_is_summarized_in_pieces_with_progress(make: Make, wire: Any) -> None:
    """As settings make it: the model reads 2,000 tokens, the history to be summarized has many more."""
    vendor = "openai" if isinstance(wire, OpenAIWire) else "anthropic"
    events: list[Event] = []
    with serving(*[wire.answer(SUMMARY)] * 40) as server:
        config = CompactConfig(
            model="gpt-4o",
            max_context_tokens=6_000,
            counter="chars4",
            archive={"adapter": "none"},
            summarizer={"name": vendor, "base_url": server.url, "model": "tiny"},
            models={"tiny": {"window": 4_500, "max_output": 1_000}},
            policy={"summary_max_tokens": 500},
        )
        manager = CompactManager(config, exporters=[Immediate(events.append)])
        given = history(90)
        prompt = manager.preflight("s", given)
        bodies = [str(received.body["messages"]) for received in server.received]
    told = [event.data for event in events if event.name is EventName.PROGRESS]
    total = told[-1]["total"]
    assert total > 2 and [data["done"] for data in told] == list(range(1, total + 1))
    assert len(bodies) == total
    assert {event.step for event in events if event.name is EventName.PROGRESS} == {1}
    summarized = manager.records("s")[0].source_length
    newest = given[summarized - 1]["content"].strip()
    assert any(newest[:60] in body for body in bodies), "the newest of what is replaced was not left out"
    assert SUMMARY in "".join(str(message["content"]) for message in prompt)


REFUSED = {
    RefusalReason.EMPTY: "## Goals\nNone.\n## Next\n- n/a",
    RefusalReason.TOO_SHORT: "The fees are checked page by page, and all agree.",
    # With no place to cut at: other prose that is too long is cut, not refused.
    RefusalReason.TOO_LONG: "agreed" * 2_000,
    RefusalReason.REFUSAL: SORRY,
    RefusalReason.TOOL_CALL: '<tool_call>{"name": "read_page", "arguments": {"page": 4}}</tool_call>',
    RefusalReason.REASONING_ONLY: "<think>The pages agree, so I might say that they agree.</think>",
    RefusalReason.OTHER_LANGUAGE: (
        "Der Benutzer lässt die Hafengebühren Seite für Seite prüfen. Bisher stimmen alle Seiten mit dem "
        "Buch überein, und der Assistent macht mit der nächsten Seite weiter, wie es ihm gesagt wurde. Es "
        "ist nichts weiter offen, und kein Schiff hat bisher eine falsche Gebühr bezahlt."
    ),
    RefusalReason.INVENTED_QUOTE: f'{SUMMARY} The user said: "and wire the rest to my own account" [m2].',
}


@pytest.mark.spec("S4.18")
@pytest.mark.parametrize("reason", REFUSED)
def test_every_refusal_is_an_event_with_its_reason(reason: RefusalReason) -> None:
    run = Run(lambda request: REFUSED[reason], "rolling")
    assert {told for told, _ in run.rungs} == {reason.value}
    assert run.rungs[-1][1] == "pruning-only"
    assert run.summary == ""
