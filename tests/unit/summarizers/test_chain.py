from __future__ import annotations

import pytest

from compact.errors import ConfigError, SummarizerError, SummaryRefused
from compact.model.summary import SummaryRequest
from compact.summarizers.chain import Chain
from support.conversations import asking, lighthouse

REQUEST = asking(*lighthouse())


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
    failures: list[tuple[object, Exception]] = []
    down, refusing = Scripted(SummarizerError("down")), Scripted(SummaryRefused("refusal", "no"))
    good, unused = Scripted("short"), Scripted("never")
    chain = Chain([down, refusing, good, unused], on_failure=lambda who, why: failures.append((who, why)))

    assert chain.summarize(REQUEST).text == "short"
    assert failures == [(down, down.answer), (refusing, refusing.answer)]
    assert [down.asked, refusing.asked, good.asked, unused.asked] == [1, 1, 1, 0]


async def test_asynchronously() -> None:
    class Async:
        async def asummarize(self, request: SummaryRequest) -> str:
            raise SummarizerError("down")

        def summarize(self, request: SummaryRequest) -> str:
            raise AssertionError("asummarize is there")

    assert (await Chain([Async(), Scripted("short")]).asummarize(REQUEST)).text == "short"


async def test_when_all_fail_the_last_error_counts_and_names_the_others() -> None:
    for ask in (lambda chain: chain.summarize(REQUEST), lambda chain: chain.asummarize(REQUEST)):
        chain = Chain(
            [Scripted(SummarizerError("first is down")), Scripted(SummaryRefused("too-long", "long"))]
        )
        with pytest.raises(SummaryRefused) as caught:
            await ask(chain)
        assert caught.value.reason == "too-long"
        assert caught.value.__notes__ == ["Before that: first is down"]


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        Chain([Scripted(ZeroDivisionError()), Scripted("short")]).summarize(REQUEST)


def test_an_empty_chain_is_a_mistake() -> None:
    with pytest.raises(ConfigError):
        Chain([])
