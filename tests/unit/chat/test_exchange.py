"""One exchange through both drivers: the same events, the same turns."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest

from compact import CompactConfig, lint
from compact.chat import (
    Accepted,
    ChatEvent,
    Compacting,
    Conversation,
    Exchange,
    Failed,
    Finish,
    Finished,
    Notice,
    Severity,
    StepStarted,
    Stored,
    TextDelta,
    Tool,
    Toolbox,
    ToolCalled,
    ToolReturned,
    Topic,
)
from compact.chat.tools import UNFINISHED
from compact.chat.turns import what_is_said
from compact.errors import ChatError, ContextOverflow, NotFound
from compact.model.chat import ReplyPiece, TextPiece
from compact.model.event import EventName
from compact.model.record import RecordKind
from compact.stores.sql.database import Database
from support.scripted_model import Calls, ScriptedModel

Drive = Callable[[Exchange], "Any"]


async def driven(exchange: Exchange, how: str) -> list[ChatEvent]:
    if how == "sync":
        return await asyncio.to_thread(list, exchange)
    return [event async for event in exchange]


both = pytest.mark.parametrize("how", ["sync", "async"])


def texts(conversation: Conversation) -> list[tuple[str, Any]]:
    return [(turn["role"], turn["content"]) for turn in conversation.turns]


@both
async def test_a_message_and_its_reply(make_chats: Any, how: str) -> None:
    chats = make_chats(["The sky is blue."])
    events = await driven(chats.open("talk").send("Why?"), how)
    kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
    assert kinds == [Accepted, StepStarted, Stored, Finished]
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "The sky is blue."
    assert events[-1] == Finished(Finish.STOP)
    again = chats.open("talk")
    assert texts(again) == [("user", "Why?"), ("assistant", "The sky is blue.")]
    assert again.title == "Why?"


@both
async def test_tools_run_until_the_reply_calls_none(make_chats: Any, how: str) -> None:
    async def slowly(city: str) -> str:
        return f"rain in {city}"

    tools = Toolbox([Tool("weather", "The weather.", slowly), Tool("clock", "The time.", lambda: "12:00")])
    script = [Calls(("weather", {"city": "Ulm"}), ("clock", {}), text="Let me see."), "It rains, at 12."]
    chats = make_chats(script, tools=tools)
    events = await driven(chats.open("talk").send("How is it?"), how)
    assert [e.call.name for e in events if isinstance(e, ToolCalled)] == ["weather", "clock"]
    returned = [e for e in events if isinstance(e, ToolReturned)]
    assert [(e.name, e.text, e.is_error) for e in returned] == [
        ("weather", "rain in Ulm", False),
        ("clock", "12:00", False),
    ]
    again = chats.open("talk")
    assert [turn["role"] for turn in again.turns] == ["user", "assistant", "tool", "tool", "assistant"]
    model = again.model
    assert [m["role"] for m in model.prompts[1]] == ["user", "assistant", "tool", "tool"]  # type: ignore[attr-defined]


@both
async def test_a_call_nobody_can_run_gets_an_error_as_its_result(make_chats: Any, how: str) -> None:
    chats = make_chats([Calls(("teleport", {})), "I cannot."])
    events = await driven(chats.open("talk").send("Go!"), how)
    (returned,) = [e for e in events if isinstance(e, ToolReturned)]
    assert returned.is_error and "teleport" in returned.text
    assert [turn["role"] for turn in chats.open("talk").turns] == ["user", "assistant", "tool", "assistant"]


def roles(conversation: Conversation) -> list[str]:
    return [turn["role"] for turn in conversation.turns]


def notices(events: list[ChatEvent]) -> list[Topic]:
    return [event.topic for event in events if isinstance(event, Notice)]


# -- what fails ----------------------------------------------------------------------------------------------


@both
async def test_a_message_without_a_reply_is_no_turn_and_comes_back(make_chats: Any, how: str) -> None:
    chats = make_chats([ChatError("nobody there"), "Here I am."])
    talk = chats.open("talk")
    events = await driven(talk.send("Hello?"), how)
    assert [e.error.args[0] for e in events if isinstance(e, Failed)] == ["nobody there"]
    assert events[-1] == Finished(Finish.FAILED, "Hello?")
    assert talk.turns == [] and chats.open("talk").draft == "Hello?"
    await driven(talk.send("Hello?"), how)
    assert texts(chats.open("talk")) == [("user", "Hello?"), ("assistant", "Here I am.")]


@both
async def test_a_reply_that_breaks_off_is_kept_with_its_error(make_chats: Any, how: str) -> None:
    def broken(_: Any) -> Iterator[ReplyPiece]:
        yield TextPiece("It began")
        raise ChatError("cut off")

    chats = make_chats([broken])
    events = await driven(chats.open("talk").send("Go on"), how)
    (failed,) = [e for e in events if isinstance(e, Failed)]
    assert failed.kept and events[-1] == Finished(Finish.FAILED)
    last = chats.open("talk").turns[-1]
    assert last["content"] == "It began" and last["error"] == "cut off"


@both
async def test_a_model_that_raises_what_it_likes_ends_the_turn_like_any_failure(
    make_chats: Any, how: str
) -> None:
    def broken(_: Any) -> Iterator[ReplyPiece]:
        yield TextPiece("It begins")
        raise KeyError("choices")

    conversation = make_chats([broken]).open("talk")
    events = await driven(conversation.send("Why?"), how)
    (failed,) = [event for event in events if isinstance(event, Failed)]
    assert failed.kept and "failed with a KeyError." in str(failed.error)
    assert isinstance(failed.error.__cause__, KeyError)
    assert texts(conversation) == [("user", "Why?"), ("assistant", "It begins")]
    assert isinstance(events[-1], Finished) and events[-1].reason is Finish.FAILED


@both
async def test_a_model_that_says_nothing_adds_nothing(make_chats: Any, how: str) -> None:
    events = await driven(make_chats([""]).open("talk").send("Hm?"), how)
    assert notices(events) == [Topic.EMPTY_REPLY] and events[-1] == Finished(Finish.EMPTY, "Hm?")


@both
@pytest.mark.parametrize("tokens", [9_000, None], ids=["counted", "uncounted"])
async def test_a_prompt_that_is_too_long_is_compacted_hard_once(
    make_chats: Any, how: str, tokens: int | None
) -> None:
    config = CompactConfig(
        counter="chars4", archive={"adapter": "none"}, preset="chat", max_context_tokens=10_000
    )
    script = ["fine"] * 12 + [ContextOverflow("too long", tokens=tokens, window=8_000), "It fits now."]
    chats = make_chats(script, config)
    talk = chats.open("talk")
    for number in range(12):
        await driven(talk.send(f"{number} " + "words and more " * 60), how)
    events = await driven(talk.send("And now?"), how)
    model = talk.model
    first, second = model.prompts[-2], model.prompts[-1]  # type: ignore[attr-defined]
    assert len(str(second)) < len(str(first)) and Topic.COMPACTED in notices(events)
    assert events[-1] == Finished(Finish.STOP) and talk.turns[-1]["content"] == "It fits now."


@both
async def test_a_prompt_that_stays_too_long_is_tried_twice_at_most(make_chats: Any, how: str) -> None:
    config = CompactConfig(
        counter="chars4", archive={"adapter": "none"}, preset="chat", max_context_tokens=10_000
    )
    script = ["fine"] * 12 + [ContextOverflow("too long")] * 2
    chats = make_chats(script, config)
    talk = chats.open("talk")
    for number in range(12):
        await driven(talk.send(f"{number} " + "words and more " * 60), how)
    events = await driven(talk.send("And now?"), how)
    assert [str(e.error) for e in events if isinstance(e, Failed)] == ["too long"]
    assert len(talk.model.prompts) == 14 and talk.draft == "And now?"  # type: ignore[attr-defined]


# -- stopping ------------------------------------------------------------------------------------------------


def endless(_: Any) -> Iterator[ReplyPiece]:
    while True:
        yield TextPiece("word ")
        time.sleep(0.001)


@both
async def test_stop_keeps_what_was_said_as_interrupted(make_chats: Any, how: str) -> None:
    chats = make_chats([endless])
    exchange = chats.open("talk").send("Talk!")

    def seen(event: ChatEvent) -> ChatEvent:
        if isinstance(event, TextDelta):
            exchange.stop()
        return event

    if how == "sync":
        events = await asyncio.to_thread(lambda: [seen(event) for event in exchange])
    else:
        events = [seen(event) async for event in exchange]
    assert events[-1] == Finished(Finish.STOPPED) and notices(events) == [Topic.STOPPED]
    last = chats.open("talk").turns[-1]
    assert last["content"].startswith("word") and last["finish_reason"] == "interrupted"


async def test_a_task_that_is_cancelled_keeps_what_was_said(make_chats: Any) -> None:
    chats = make_chats([endless])
    began = asyncio.Event()

    async def read() -> None:
        async for event in chats.open("talk").send("Talk!"):
            if isinstance(event, TextDelta):
                began.set()

    task = asyncio.ensure_future(read())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert chats.open("talk").turns[-1]["finish_reason"] == "interrupted"


def stalling(call: Callable[..., Any], begun: threading.Event, let: threading.Event) -> Callable[..., Any]:
    """The same call, which waits at its beginning."""

    def stalled(*args: Any) -> Any:
        begun.set()
        assert let.wait(30)
        return call(*args)

    return stalled


async def canceled_at(exchange: Exchange, begun: threading.Event, let: threading.Event) -> None:
    """The task that reads is canceled while a call stalls, and has to end as one that was canceled."""

    async def read() -> None:
        async for _ in exchange:
            pass

    task = asyncio.ensure_future(read())
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    await asyncio.sleep(0.05)
    let.set()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("which", ["tool step", "reply"])
async def test_a_task_that_is_canceled_while_a_turn_is_stored_is_canceled(
    make_chats: Any, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Toolbox([Tool("clock", "The time.", lambda: "12:00")])
    talk = make_chats(
        [Calls(("clock", {})), "Noon."] if which == "tool step" else ["Noon."], tools=tools
    ).open("talk")
    begun, let = threading.Event(), threading.Event()
    monkeypatch.setattr(talk.log, "keep", stalling(talk.log.keep, begun, let))
    await canceled_at(talk.send("What time is it?"), begun, let)
    whole = ["user", "assistant", "tool"] if which == "tool step" else ["user", "assistant"]
    assert roles(talk) == roles(make_chats().open("talk")) == whole
    assert len(talk.sizes) == 1 and talk.draft == ""


async def test_a_task_that_is_canceled_while_its_question_is_given_back_is_canceled(
    make_chats: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = make_chats([ChatError("nobody there")]).open("talk")
    begun, let = threading.Event(), threading.Event()
    monkeypatch.setattr(talk.log, "give_up", stalling(talk.log.give_up, begun, let))
    await canceled_at(talk.send("Hello?"), begun, let)
    assert talk.turns == [] and talk.draft == make_chats().open("talk").draft == "Hello?"


class BreaksOff(ScriptedModel):
    """A model whose stream breaks off, and takes a while to close."""

    def __init__(self, begun: threading.Event, let: threading.Event) -> None:
        super().__init__([])
        self._begun, self._let = begun, let
        self._pieces = [TextPiece("It began")]

    def astream(self, *_: Any, **__: Any) -> BreaksOff:
        return self

    def __aiter__(self) -> BreaksOff:
        return self

    async def __anext__(self) -> ReplyPiece:
        if not self._pieces:
            raise ChatError("cut off")
        return self._pieces.pop()

    async def aclose(self) -> None:
        self._begun.set()
        await asyncio.to_thread(self._let.wait, 30)


async def test_a_task_that_is_canceled_while_its_stream_closes_keeps_what_was_said(make_chats: Any) -> None:
    begun, let = threading.Event(), threading.Event()
    await canceled_at(make_chats(model=BreaksOff(begun, let)).open("talk").send("Go on"), begun, let)
    assert texts(make_chats().open("talk")) == [("user", "Go on"), ("assistant", "It began")]


@both
async def test_a_reader_that_leaves_keeps_what_was_said(make_chats: Any, how: str) -> None:
    chats = make_chats([endless])
    if how == "sync":

        def leave() -> None:
            events = iter(chats.open("talk").send("Talk!"))
            while not isinstance(next(events), TextDelta):
                pass
            events.close()  # type: ignore[attr-defined]

        await asyncio.to_thread(leave)
    else:
        stream = aiter(chats.open("talk").send("Talk!"))
        while not isinstance(await anext(stream), TextDelta):
            pass
        await stream.aclose()  # type: ignore[attr-defined]
    assert chats.open("talk").turns[-1]["finish_reason"] == "interrupted"


THROWN = {"interrupt": KeyboardInterrupt, "error": OSError, "async error": OSError}


@pytest.mark.parametrize("how", ["close", "aclose", *THROWN])
async def test_an_exchange_may_be_left_after_any_event(make_chats: Any, how: str) -> None:
    """Nothing is stored twice, no call stays without its result, and nobody gets an error for it."""
    script = ["Noted. " * 900, Calls(("clock", {})), "It is noon."]
    small = CompactConfig(counter="chars4", archive={"adapter": "none"}, max_context_tokens=4_000)

    async def talk(name: str) -> Exchange:
        """The second exchange of a conversation, which has to compact."""
        chats = make_chats(script, small, tools=Toolbox([Tool("clock", "The time.", lambda: "12:00")]))
        conversation = chats.open(name)
        # Each tells another story: a compaction that another session has made would be taken over.
        await driven(conversation.send(f"{name} " + "Keep this. " * 700), "sync")
        conversation.notices.waiting.append(Notice(Severity.INFO, Topic.ENGINE, "By the way …"))
        return conversation.send("What time is it?")

    def left(exchange: Exchange, after: int) -> None:
        events: Any = iter(exchange)
        seen = list(islice(events, after))
        assert [type(event) for event in seen] == whole[:after]
        if how == "close":
            events.close()
            return
        with suppress(StopIteration):
            seen.append(events.throw(THROWN[how]()))
        seen += events
        assert isinstance(seen[-1], Finished), seen[after - 1]

    async def left_async(exchange: Exchange, after: int) -> None:
        events: Any = aiter(exchange)
        seen = [await anext(events) for _ in range(after)]
        if how == "aclose":
            await events.aclose()
            return
        with suppress(StopAsyncIteration):
            seen.append(await events.athrow(THROWN[how]()))
        seen += [event async for event in events]
        assert isinstance(seen[-1], Finished), seen[after - 1]

    whole = [type(event) for event in await driven(await talk("whole"), "sync")]
    assert whole.count(Stored) == 2 and whole.count(Compacting) > 3
    for after in range(1, len(whole) + 1):
        exchange = await talk(f"left {after}")
        if how in ("aclose", "async error"):
            await left_async(exchange, after)
        else:
            await asyncio.to_thread(left, exchange, after)
        turns = make_chats().open(f"left {after}").turns
        said = [json.dumps(what_is_said(turn)) for turn in turns]
        assert len(said) == len(set(said)), whole[after - 1]
        assert lint(turns, "openai") == []
        if ToolReturned in whole[:after]:
            assert turns[4]["content"] == "12:00", "the tool did run"


@both
async def test_a_stop_does_not_make_calls_look_as_if_they_had_not_run(make_chats: Any, how: str) -> None:
    """The model would do the same again."""

    async def quick() -> str:
        return "done"

    async def slow() -> str:
        await asyncio.sleep(0)
        exchange.stop()
        await asyncio.sleep(60 if how == "async" else 0)
        return "done too"

    tools = Toolbox([Tool("quick", "Is quick.", quick), Tool("slow", "Is slow.", slow)])
    exchange = make_chats([Calls(("quick", {}), ("slow", {}))], tools=tools).open("talk").send("Go!")
    assert (await driven(exchange, how))[-1] == Finished(Finish.STOPPED)
    outputs = [turn["content"] for turn in make_chats().open("talk").turns[2:]]
    # Only in an event loop is a call stopped while it runs.
    assert outputs == ["done", UNFINISHED.text if how == "async" else "done too"]


async def test_calls_that_a_stop_comes_before_are_not_run(make_chats: Any) -> None:
    """At a terminal they run one after the other."""

    def interrupted() -> str:
        raise KeyboardInterrupt

    tools = Toolbox([Tool("first", "Ends it.", interrupted), Tool("second", "Runs.", lambda: "done")])
    exchange = make_chats([Calls(("first", {}), ("second", {}))], tools=tools).open("talk").send("Go!")
    assert (await driven(exchange, "sync"))[-1] == Finished(Finish.STOPPED)
    first, second = (turn["content"] for turn in make_chats().open("talk").turns[2:])
    assert first == UNFINISHED.text and "was not run:" in second


async def test_tools_that_are_stopped_leave_a_valid_history(make_chats: Any) -> None:
    async def forever() -> str:
        exchange.stop()
        await asyncio.sleep(60)
        return "never"

    tools = Toolbox([Tool("wait", "Waits.", forever)])
    chats = make_chats([Calls(("wait", {}), text="One moment.")], tools=tools)
    exchange = chats.open("talk").send("Wait!")
    events = [event async for event in exchange]
    assert events[-1] == Finished(Finish.STOPPED)
    again = chats.open("talk")
    assert roles(again) == ["user", "assistant", "tool"]
    assert "not run" in again.turns[-1]["content"]


# -- the rest of the flow ------------------------------------------------------------------------------------


@both
async def test_calls_past_the_step_limit_get_a_result(make_chats: Any, how: str) -> None:
    tools = Toolbox([Tool("clock", "The time.", lambda: "12:00")])
    chats = make_chats([Calls(("clock", {}))] * 2, tools=tools, max_steps=2)
    events = await driven(chats.open("talk").send("What time is it?"), how)
    assert events[-1] == Finished(Finish.STEP_LIMIT) and Topic.STEP_LIMIT in notices(events)
    assert roles(chats.open("talk")) == ["user", "assistant", "tool", "assistant", "tool"]


@pytest.mark.spec("S2.6", part="engine")
@both
async def test_the_prompt_is_checked_before_each_call_of_a_tool_loop(make_chats: Any, how: str) -> None:
    config = CompactConfig(
        counter="chars4", archive={"adapter": "none"}, preset="agent", max_context_tokens=8_000
    )
    tools = Toolbox([Tool("read", "Reads.", lambda: "lines of output " * 300)])
    chats = make_chats([*[Calls(("read", {}))] * 12, "Done."], config, tools=tools)
    talk = chats.open("talk")
    events = await driven(talk.send("Read it all."), how)
    sizes = [sum(len(str(m.get("content"))) for m in prompt) // 4 for prompt in talk.model.prompts]  # type: ignore[attr-defined]
    assert max(sizes) < 8_000 < sum(len(str(turn["content"])) for turn in talk.turns) // 4
    phases = [event.event.name for event in events if isinstance(event, Compacting)]
    assert EventName.START in phases and EventName.COMPLETE in phases
    # Each compaction is announced before the call that it makes room for.
    assert phases.count(EventName.START) == phases.count(EventName.COMPLETE)
    assert lint(talk.turns, provider="openai") == []


@pytest.mark.spec("S2.9", part="engine")
@both
@pytest.mark.parametrize("last", ["Done.", ChatError("nobody there")], ids=["answered", "failed"])
async def test_every_turn_ends_with_end_turn_also_one_that_failed(
    make_chats: Any, how: str, last: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CompactConfig(
        counter="chars4", archive={"adapter": "none"}, preset="agent", max_context_tokens=200_000
    )
    tools = Toolbox([Tool("read", "Reads.", lambda: "lines of output " * 4_000)])
    chats = make_chats([Calls(("read", {}))] * 10 + ["So far."] + [last], config, tools=tools, max_steps=12)
    talk = chats.open("talk")
    await driven(talk.send("Read it all."), how)
    events = await driven(talk.send("And now?"), how)
    kinds = [record.kind for record in talk.manager.records("talk")]
    assert RecordKind.PRUNE in kinds
    assert isinstance(events[-1], Finished)


@both
async def test_retry_replaces_the_reply_once_there_is_another(make_chats: Any, how: str) -> None:
    chats = make_chats(["First try.", ChatError("nobody there"), "Second try.", "After it."])
    talk = chats.open("talk")
    await driven(talk.send("Write a line."), how)
    await driven(talk.retry(), how)
    assert texts(chats.open("talk"))[-1] == ("assistant", "First try.")
    await driven(talk.retry(), how)
    assert (
        texts(talk) == texts(chats.open("talk")) == [("user", "Write a line."), ("assistant", "Second try.")]
    )
    await driven(talk.send("Next."), how)
    assert [m["content"] for m in talk.model.prompts[-1]] == ["Write a line.", "Second try.", "Next."]  # type: ignore[attr-defined]


@both
async def test_edit_takes_the_place_of_a_message_and_of_all_behind_it(make_chats: Any, how: str) -> None:
    chats = make_chats(["One.", "Two.", ChatError("nobody there"), "Another two."])
    talk = chats.open("talk")
    await driven(talk.send("first"), how)
    await driven(talk.send("second"), how)
    whole = texts(talk)
    events = await driven(talk.edit(2, "another second"), how)
    assert events[-1] == Finished(Finish.FAILED, "another second")
    assert texts(talk) == texts(chats.open("talk")) == whole  # nothing came, so nothing went
    events = await driven(talk.edit(2, "another second"), how)
    assert [e.position for e in events if isinstance(e, Accepted | Stored)] == [2, 2]
    assert (
        texts(talk)
        == texts(chats.open("talk"))
        == [*whole[:2], ("user", "another second"), ("assistant", "Another two.")]
    )
    with pytest.raises(NotFound):
        talk.edit(1, "not mine")


async def test_a_call_stored_without_a_result_does_not_spoil_the_next_prompt(make_chats: Any) -> None:
    chats = make_chats(["Fine."])
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    dangling = [
        {"role": "user", "content": "Look!"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    chats.manager({}, "gpt-4o").append("talk", dangling)
    talk = chats.open("talk")
    await driven(talk.send("Well?"), "async")
    assert lint(talk.model.prompts[-1], provider="openai") == []  # type: ignore[attr-defined]
    assert roles(chats.open("talk")) == ["user", "assistant", "tool", "user", "assistant"]


async def test_the_engine_s_events_come_while_it_works(make_chats: Any) -> None:
    """A page shows the phases of a compaction while it runs, not after it."""
    released = asyncio.Event()

    async def slowly(request: Any) -> str:
        await asyncio.wait_for(released.wait(), 30)
        return "The user counts numbers and wants short replies. " * 10

    config = CompactConfig(
        counter="chars4", archive={"adapter": "none"}, preset="chat", max_context_tokens=4_000
    )
    chats = make_chats(["fine"] * 20, config, summarizer=slowly)
    talk = chats.open("talk")
    heard: list[EventName] = []
    for number in range(20):
        async for event in talk.send(f"{number} " + "words and more " * 60):
            if isinstance(event, Compacting):
                heard.append(event.event.name)
                if event.event.name is EventName.SUMMARIZE:
                    released.set()  # only a reader that hears of it meanwhile can let it go on
    assert released.is_set() and EventName.COMPLETE in heard and EventName.ERROR not in heard


async def test_an_event_loop_never_waits_for_the_database(
    make_chats: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CompactConfig(
        counter="chars4", archive={"adapter": "none"}, preset="agent", max_context_tokens=8_000
    )
    tools = Toolbox([Tool("read", "Reads.", lambda: "lines of output " * 300)])
    chats = make_chats([*[Calls(("read", {}))] * 12, "Done."], config, tools=tools)
    talk = await chats.aopen("talk")
    waited: list[str] = []
    for name in ("reading", "writing"):
        usual = getattr(Database, name)

        def watched(self: Any, *args: Any, name: str = name, usual: Any = usual) -> Any:
            if threading.current_thread() is threading.main_thread():
                waited.append(name)
            return usual(self, *args)

        monkeypatch.setattr(Database, name, watched)
    events = [event async for event in talk.send("Read it all.")]
    assert any(isinstance(event, Compacting) for event in events)
    assert waited == []


async def test_after_a_crash_in_a_tool_loop_the_finished_steps_are_there(make_chats: Any) -> None:
    tools = Toolbox([Tool("clock", "The time.", lambda: "12:00")])
    script = [Calls(("clock", {})), Calls(("clock", {})), "Noon."]
    running = iter(make_chats(script, tools=tools).open("talk").send("What time is it?"))
    crashed = [next(running)]
    while sum(isinstance(event, Stored) for event in crashed) < 2:
        crashed.append(next(running))
    # Another process opens the session while nothing of this one runs on.
    after = make_chats(["It was noon."]).open("talk")
    assert roles(after) == ["user", "assistant", "tool", "assistant", "tool"] and after.draft == ""
    await driven(after.send("Well?"), "async")
    assert lint(after.model.prompts[-1], provider="openai") == []  # type: ignore[attr-defined]
    assert [event.text for event in running if isinstance(event, TextDelta)] == ["Noon."]
