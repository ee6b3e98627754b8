from __future__ import annotations

from dataclasses import replace

import pytest

from compact import CompactConfig, CompactManager, summarize
from compact.counters.chars4 import CharsCounter
from compact.errors import ConfigError, SummarizerError, SummaryRefused
from compact.model.event import EventName
from compact.model.summary import Summary, SummaryRequest
from compact.summarizers.chain import Chain
from compact.summarizers.compose import Composer
from support.conversations import asking, lighthouse

REQUEST = asking(*lighthouse())
GOOD = "The lamp schedule was repaired: the zone is Europe/Oslo now. The check still fails [m7]."


def good(request: SummaryRequest) -> str:
    return GOOD


def composed(*links: object, adds: bool = False) -> Composer:
    return Composer(Chain(links), CharsCounter(), adds=adds)


class Scripted:
    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.asked = 0

    def summarize(self, request: SummaryRequest) -> str:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_the_first_that_answers_wins() -> None:
    skipped: list[str] = []
    request = replace(REQUEST, on_skipped=lambda reason, message: skipped.append(reason))
    down, refusing = Scripted(SummarizerError("down")), Scripted(SummaryRefused("refusal", "no"))
    good, unused = Scripted(GOOD), Scripted("never")

    assert composed(down, refusing, good, unused).summarize(request).text == GOOD
    assert skipped == ["SummarizerError", "refusal"]
    assert [down.asked, refusing.asked, good.asked, unused.asked] == [1, 1, 1, 0]


async def test_asynchronously() -> None:
    class Async:
        async def asummarize(self, request: SummaryRequest) -> str:
            raise SummarizerError("down")

        def summarize(self, request: SummaryRequest) -> str:
            raise AssertionError("asummarize is there")

    assert (await composed(Async(), Scripted(GOOD)).asummarize(REQUEST)).text == GOOD


async def test_when_all_fail_the_last_error_counts_and_names_the_others() -> None:
    for ask in (lambda chain: chain.summarize(REQUEST), lambda chain: chain.asummarize(REQUEST)):
        chain = composed(
            Scripted(SummarizerError("first is down")), Scripted(SummaryRefused("too-long", "long"))
        )
        with pytest.raises(SummaryRefused) as caught:
            await ask(chain)
        assert caught.value.reason == "too-long"
        assert caught.value.__notes__ == ["Also: first is down"]


async def test_whatever_a_link_raises_leads_to_the_next_and_is_told() -> None:
    told: list[tuple[str, str]] = []
    request = replace(REQUEST, on_skipped=lambda reason, message: told.append((reason, message)))

    class Ours(Scripted):
        renders_prompt = True

    for ask in (lambda chain: chain.summarize(request), lambda chain: chain.asummarize(request)):
        told.clear()
        chain = composed(Ours(ZeroDivisionError("at the mill")), lambda request: 1 / 0, good)
        answer = ask(chain)
        assert (answer if isinstance(answer, Summary) else await answer).text == GOOD
        assert [reason for reason, _ in told] == ["ZeroDivisionError", "SummarizerError"]
        assert "was skipped. ZeroDivisionError: at the mill" in told[0][1]
        with pytest.raises(SummarizerError, match="at the mill"):
            composed(lambda request: "", Ours(ZeroDivisionError("at the mill"))).summarize(request)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ('{"name": "search", "arguments": {"q": "lamp"}}', "tool-call"),
        ("<think>The lamp, then the relay.</think>", "reasoning-only"),
        ('The user said "burn the whole lighthouse down tonight" [m0].', "invented-quote"),
    ],
)
def test_what_the_checks_refuse_leads_to_the_next(answer: str, reason: str) -> None:
    for adds in (True, False):
        told: list[str] = []
        request = replace(REQUEST, on_skipped=lambda reason, message: told.append(reason))  # noqa: B023
        assert GOOD in composed(lambda request: answer, good, adds=adds).summarize(request).text
        assert told == [reason]


def test_too_long_leads_to_the_next_and_counts_where_all_fail() -> None:
    long = "the lamp went on late again and again, " * 400  # nowhere to cut it at
    assert GOOD in composed(lambda request: long, good, adds=True).summarize(REQUEST).text
    both = composed(lambda request: long, Scripted(SummarizerError("down")), adds=True)
    with pytest.raises(SummaryRefused) as caught:
        both.summarize(REQUEST)
    assert caught.value.reason == "too-long", "what the ladder can mend counts before a server that is down"


def test_the_embedded_one_can_end_a_chain() -> None:
    assert summarize(lighthouse(), 300, summarizer=[lambda request: "", "extractive"]).model == "extractive"
    assert summarize(lighthouse(), 300, summarizer="extractive").model == "extractive"


def test_only_the_first_link_is_asked_on_the_cached_prompt() -> None:
    seen: list[object] = []

    def link(request: SummaryRequest) -> str:
        seen.append(request.prefix_messages)
        return "" if len(seen) < 3 else GOOD

    request = replace(REQUEST, prefix_messages=({"role": "user", "content": "hi"},))
    assert composed(link, link, link).summarize(request).text == GOOD
    assert seen == [request.prefix_messages, None, None]


@pytest.mark.spec("S4.18")
def test_each_link_that_is_passed_over_is_an_event_with_its_reason() -> None:
    talk = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"Remark {n} " + "on the mill. " * 60}
            for n in range(40)]  # fmt: skip
    config = CompactConfig(max_context_tokens=5_000, counter="chars4", archive={"adapter": "none"})
    manager = CompactManager(config, summarizer=[lambda request: 1 / 0, lambda request: "null", "extractive"])
    assert manager.prepare("s", talk).was_compacted
    errors = [event.data for event in manager.events if event.name is EventName.ERROR]
    assert [(data["error_type"], data["fallback"]) for data in errors] == [
        ("SummarizerError", "next-summarizer"),
        ("empty", "next-summarizer"),
    ]
    created = [event for event in manager.events if event.name is EventName.SUMMARY_CREATED]
    assert [event.data["model"] for event in created] == ["extractive"]


def test_an_empty_chain_is_a_mistake() -> None:
    with pytest.raises(ConfigError):
        Chain([])
