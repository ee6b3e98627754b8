from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace

import pytest

from compact.errors import ConfigError, SummarizerError, SummaryRefused
from compact.model.summary import Summary, SummaryRequest
from compact.summarizers.callable import CallableSummarizer, as_summarizer
from compact.summarizers.openai import OpenAISummarizer
from compact.summarizers.templates import input_for, instructions_for
from support.conversations import asking, lighthouse
from support.wire_servers import OpenAIWire, serving

WIRE = OpenAIWire()
REQUEST = asking(*lighthouse(), strategy="brief")


def test_a_plain_function_gets_a_prompt_that_is_ready_to_be_sent() -> None:
    seen: list[SummaryRequest] = []

    def mine(request: SummaryRequest) -> str:
        seen.append(request)
        return "short"

    summary = CallableSummarizer(mine).summarize(REQUEST)

    assert summary == Summary(text="short", strategy="brief", model="mine")
    [request] = seen
    assert "at most five sentences" in request.prompt
    assert request.prompt.endswith("relay 3 does not answer.\n</transcript>")
    assert request.messages == REQUEST.messages
    assert REQUEST.prompt == "", "the caller's request is left alone"


def test_a_function_may_change_the_request_and_hand_it_on() -> None:
    def mine(request: SummaryRequest) -> str:
        shorter = replace(request, max_tokens=7)
        other = replace(shorter, prompt="My own words.")
        assert shorter.prompt == request.prompt != ""
        return f"{shorter.max_tokens} {other.prompt} {len(other.messages)}"

    expected = f"7 My own words. {len(REQUEST.messages)}"
    assert CallableSummarizer(mine).summarize(REQUEST).text == expected


def test_one_of_ours_fills_the_template_of_a_request_that_is_handed_on() -> None:
    """Not the finished prompt again: rules and transcript are sent once, with the limit of that request."""
    with serving(WIRE.answer("The lamp schedule is in the right zone now.")) as server:
        ours = OpenAISummarizer("tiny", server.url, retries=0)

        def mine(request: SummaryRequest) -> Summary:
            assert request.prompt
            return ours.summarize(replace(request, max_tokens=90))

        CallableSummarizer(mine).summarize(REQUEST)
    system, transcript = (message["content"] for message in server.received[0].body["messages"])
    assert system == instructions_for(replace(REQUEST, max_tokens=90))
    assert transcript == input_for(REQUEST)


async def test_coroutine_functions_work_from_both_sides() -> None:
    async def mine(request: SummaryRequest) -> str:
        return f"short {request.max_tokens}"

    summarizer = CallableSummarizer(mine)
    assert (await summarizer.asummarize(REQUEST)).text == "short 400"
    assert summarizer.summarize(REQUEST).text == "short 400"


async def test_the_loop_goes_on_while_a_plain_function_blocks() -> None:
    ticked = threading.Event()

    def mine(request: SummaryRequest) -> str:
        return "free" if ticked.wait(timeout=60) else "blocked"

    asyncio.get_running_loop().call_later(0.001, ticked.set)
    assert (await CallableSummarizer(mine).asummarize(REQUEST)).text == "free"


async def test_async_callables_run_on_the_callers_own_loop() -> None:
    own = asyncio.get_running_loop()

    class Mine:
        async def __call__(self, request: SummaryRequest) -> str:
            return "own" if asyncio.get_running_loop() is own else "another"

    assert (await CallableSummarizer(Mine()).asummarize(REQUEST)).text == "own"
    plain = CallableSummarizer(lambda request: Mine()(request))
    assert (await plain.asummarize(REQUEST)).text == "own"


async def test_an_object_with_both_methods_is_asked_by_the_fitting_one() -> None:
    class Both:
        def summarize(self, request: SummaryRequest) -> str:
            return "sync"

        async def asummarize(self, request: SummaryRequest) -> str:
            return "async"

    assert CallableSummarizer(Both()).summarize(REQUEST).text == "sync"
    assert (await CallableSummarizer(Both()).asummarize(REQUEST)).text == "async"


def test_a_summary_passes_as_it_is() -> None:
    made = Summary(text="short", tokens=3, model="own")
    assert CallableSummarizer(lambda request: made).summarize(REQUEST) is made


def test_nothing_is_an_empty_summary_for_the_checks_to_refuse() -> None:
    assert CallableSummarizer(lambda request: None).summarize(REQUEST).text == ""


def test_anything_else_is_an_error() -> None:
    with pytest.raises(SummarizerError, match="returned int, not text"):
        CallableSummarizer(lambda request: 7).summarize(REQUEST)


@pytest.mark.parametrize(
    ("raised", "retryable"),
    [(ValueError, False), (TimeoutError, True), (ConnectionError, True), (StopIteration, False)],
)
async def test_whatever_it_raises_is_a_summarizer_error(raised: type[Exception], retryable: bool) -> None:
    def mine(request: SummaryRequest) -> str:
        raise raised("no luck with sk-live-123456789")

    for ask in (CallableSummarizer(mine).summarize, CallableSummarizer(mine).asummarize):
        with pytest.raises(SummarizerError, match=f"mine raised {raised.__name__}: no luck") as caught:
            answer = ask(REQUEST)
            if not isinstance(answer, Summary):
                await answer
        assert caught.value.retryable is retryable
        assert "sk-live" not in str(caught.value)


def test_our_own_errors_keep_their_meaning() -> None:
    def mine(request: SummaryRequest) -> str:
        raise SummaryRefused("refusal", "no")

    with pytest.raises(SummaryRefused):
        CallableSummarizer(mine).summarize(REQUEST)


def test_only_what_can_be_called() -> None:
    with pytest.raises(ConfigError, match="got int"):
        CallableSummarizer(5)  # type: ignore[arg-type]


def test_a_name_is_sent_to_the_settings() -> None:
    with pytest.raises(ConfigError, match=r'got str\..*CompactConfig\(summarizer={"name": …}\)'):
        CallableSummarizer("openai")  # type: ignore[arg-type]


def test_a_class_is_refused_before_it_fails_at_every_compaction() -> None:
    class Mine:
        def summarize(self, request: SummaryRequest) -> str:
            return "short"

    with pytest.raises(ConfigError, match="got the class Mine, pass an object of it"):
        CallableSummarizer(Mine)  # type: ignore[arg-type]


def test_ours_are_not_wrapped() -> None:
    ours = OpenAISummarizer("tiny")
    assert as_summarizer(ours) is ours
    assert isinstance(as_summarizer(lambda request: ""), CallableSummarizer)


def hanging(released: threading.Event) -> Callable[[SummaryRequest], str]:
    def mine(request: SummaryRequest) -> str:
        return "too late" if released.wait(timeout=30) else "never"

    return mine


async def test_a_hang_ends_at_the_deadline_on_both_sides() -> None:
    async def sleeping(request: SummaryRequest) -> str:
        await asyncio.sleep(30)
        return "never"

    released = threading.Event()
    try:
        for call in (hanging(released), sleeping):
            slow = CallableSummarizer(call, timeout=0.05)
            for ask in (slow.summarize, slow.asummarize):
                with pytest.raises(SummarizerError, match=r"gave no summary within 0\.05 s") as caught:
                    answer = ask(REQUEST)
                    if not isinstance(answer, Summary):
                        await answer
                assert caught.value.retryable
    finally:
        released.set()


async def test_a_deadline_changes_nothing_for_one_that_answers() -> None:
    speaker = ContextVar("speaker", default="nobody")
    speaker.set("the caller")

    def mine(request: SummaryRequest) -> str:
        return f"{speaker.get()}, elsewhere: {threading.current_thread() is not here}"

    def failing(request: SummaryRequest) -> str:
        raise TimeoutError("its own")

    here = threading.current_thread()
    answering = CallableSummarizer(mine, timeout=30)
    assert answering.summarize(REQUEST).text == "the caller, elsewhere: True"
    assert (await answering.asummarize(REQUEST)).text == "the caller, elsewhere: True"
    assert CallableSummarizer(mine).summarize(REQUEST).text == "the caller, elsewhere: False"
    with pytest.raises(SummarizerError, match="raised TimeoutError: its own"):
        CallableSummarizer(failing, timeout=30).summarize(REQUEST)
