"""Two short drivers for exchanges: they serve the flow's requests and own stopping and cancellation."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from compact.chat.events import ChatEvent, Compacting
from compact.chat.listening import listen, listening
from compact.chat.needs import (
    Need,
    NeedClose,
    NeedEndTurn,
    NeedPiece,
    NeedPrepared,
    NeedResults,
    NeedStream,
    NeedWork,
    Stop,
)
from compact.chat.tools import UNFINISHED, ToolOutput
from compact.model.event import Event, EventName
from compact.model.message import ToolCall
from compact.models.streaming import astream_of

if TYPE_CHECKING:
    from compact.chat.conversation import Conversation

Flow = Generator[ChatEvent | Need, Any, None]
_STREAMED = frozenset(
    {
        EventName.START,
        EventName.PRUNE,
        EventName.SUMMARIZE,
        EventName.PROGRESS,
        EventName.CHECK,
        EventName.COMPLETE,
        EventName.FAILED,
        EventName.OVERFLOW,
        EventName.ERROR,
    }
)
"""Events of the engine that a door may want to show; the others are for traces."""


class Control:
    """How an exchange is stopped from outside, by any thread."""

    def __init__(self) -> None:
        self.stopping = False
        self.interrupt: Callable[[], object] = lambda: None
        """Ends what the driver is waiting for."""

    def stop(self) -> None:
        self.stopping = True
        self.interrupt()

    def struck(self, need: Any) -> bool:
        """Whether to stop the flow now: once, and not in the middle of storing."""
        if not self.stopping or _is_firm(need):
            return False
        self.stopping = False
        return True


class _Hears:
    """Collects the engine's events for the exchange, and passes them to the conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.waiting: deque[Compacting] = deque()
        self.on_event: Callable[[], object] = lambda: None

    def __call__(self, event: Event) -> None:
        self._conversation.hear(event)
        if event.name in _STREAMED:
            self.waiting.append(Compacting(event))
            self.on_event()

    def taken(self) -> Iterator[Compacting]:
        while self.waiting:
            yield self.waiting.popleft()


def _is_firm(need: Any) -> bool:
    return isinstance(need, NeedClose) or (isinstance(need, NeedWork) and need.firm)


def _advance(flow: Flow, answer: Any, problem: BaseException | None) -> ChatEvent | Need | None:
    """The next item of the flow; None at its end."""
    try:
        return flow.throw(problem) if problem is not None else flow.send(answer)
    except StopIteration:
        return None


# -- synchronous ---------------------------------------------------------------------------------------------


def run(flow: Flow, conversation: Conversation, control: Control) -> Iterator[ChatEvent]:
    """Ctrl-C at any point stops the exchange; so does an exception thrown in, and `close`."""
    hears = _Hears(conversation)
    answer: Any = None
    problem: BaseException | None = None
    silent = False
    """Nobody listens any more: only what has arrived is still stored."""
    while True:
        step = _advance(flow, answer, problem)
        answer = problem = None
        if step is None:
            return
        try:
            if isinstance(step, ChatEvent):
                events: Iterable[ChatEvent] = (step,)
            else:
                answer, problem = _settled(step, conversation, control, hears)
                events = hears.taken()
            if not silent:
                yield from events
        except GeneratorExit:
            silent, problem = True, Stop()
        except (KeyboardInterrupt, Exception):
            # At an event it is the reader who threw this in, whatever the need had come to.
            problem = Stop()


def _settled(
    need: Need, conversation: Conversation, control: Control, hears: _Hears
) -> tuple[Any, BaseException | None]:
    """The answer to a need, or why there is none: that is the flow's to judge."""
    try:
        with listening(hears):
            answer = _meet(need, conversation, control)
    except Exception as error:
        return None, error
    return answer, Stop() if control.struck(need) else None


def _meet(need: Any, conversation: Conversation, control: Control) -> Any:
    manager = conversation.manager
    match need:
        case NeedWork(call=call, firm=True):
            with undisturbed():
                return call()
        case NeedWork(call=call):
            return call()
        case NeedPrepared(messages, tools, hard):
            if hard:
                manager.manual_compact(conversation.id, messages, tools=tools)
            return manager.prepare(conversation.id, messages, tools, context=conversation.memory)
        case NeedStream(messages, tools, max_tokens):
            stream = conversation.model.stream(messages, tools=tools, max_tokens=max_tokens)
            control.interrupt = getattr(stream, "close", control.interrupt)
            return stream
        case NeedPiece(stream):
            return next(stream, None)
        case NeedClose(stream):
            with suppress(Exception):
                stream.close()
        case NeedResults(calls, outputs):
            for place, tool_call in enumerate(calls):
                outputs[place] = UNFINISHED
                outputs[place] = conversation.tools.run(tool_call)
        case NeedEndTurn(messages):
            return manager.end_turn(conversation.id, messages)
        case _:
            raise TypeError(f"the exchange asked for {need!r}, which no driver knows")
    return None


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C is ignored inside: what has arrived is being stored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# -- asynchronous --------------------------------------------------------------------------------------------


async def arun(flow: Flow, conversation: Conversation, control: Control) -> AsyncIterator[ChatEvent]:
    """A canceled task, or one that stops reading, leaves the exchange stopped, with what arrived stored.

    So does an exception thrown in, and then the events go on to the end.
    """
    driver = _AsyncDriver(flow, conversation, control)
    try:
        async for event in driver.events():
            try:
                yield event
            except Exception:
                await driver.stop()
    finally:
        # Also if the consumer was canceled or went away in mid-reply.
        if not driver.done:
            finishing = asyncio.ensure_future(driver.finish())
            _finishing.add(finishing)
            finishing.add_done_callback(_finishing.discard)
            await asyncio.shield(finishing)


_finishing: set[asyncio.Future[None]] = set()
"""asyncio itself holds no reference to a task."""


class _AsyncDriver:
    def __init__(self, flow: Flow, conversation: Conversation, control: Control) -> None:
        self._flow = flow
        self._conversation = conversation
        self._control = control
        self._hears = _Hears(conversation)
        self._answer: Any = None
        self._problem: BaseException | None = None
        self._task: asyncio.Task[Any] | None = None
        self._need: Need | None = None
        self._heard = asyncio.Event()
        self.done = False

    async def events(self) -> AsyncIterator[ChatEvent]:
        loop = asyncio.get_running_loop()
        self._control.interrupt = lambda: loop.call_soon_threadsafe(self._interrupt)
        self._hears.on_event = lambda: loop.call_soon_threadsafe(self._heard.set)
        while (step := self._advanced()) is not None:
            if isinstance(step, ChatEvent):
                yield step
                continue
            task = self._task = self._started(step)
            while not task.done():
                self._heard.clear()
                for event in self._hears.taken():
                    yield event
                await self._until_done_or_heard(task, step)
            if self._task is not None:
                self._settle(task)
            for event in self._hears.taken():
                yield event

    async def _until_done_or_heard(self, task: asyncio.Task[Any], step: Need) -> None:
        if isinstance(step, NeedPiece | NeedStream | NeedClose | NeedResults):
            await asyncio.wait({task})
            return
        hearing = asyncio.ensure_future(self._heard.wait())
        try:
            await asyncio.wait({task, hearing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hearing.cancel()

    async def stop(self) -> None:
        """Stop the flow, whatever the need that it waits for comes to."""
        self._interrupt()
        if self._task is not None:
            await asyncio.wait({self._task})
            self._settle(self._task)
        self._problem = Stop()

    async def finish(self) -> None:
        """Stop and store what has arrived; nobody reads the events any more."""
        await self.stop()
        while (step := self._advanced()) is not None:
            if isinstance(step, ChatEvent):
                continue
            task = self._started(step)
            await asyncio.wait({task})
            self._settle(task)

    def _advanced(self) -> ChatEvent | Need | None:
        answer, problem = self._answer, self._problem
        self._answer = self._problem = None
        step = _advance(self._flow, answer, problem)
        self.done = step is None
        return step

    def _started(self, need: Any) -> asyncio.Task[Any]:
        self._need = need
        context = copy_context()
        context.run(listen, self._hears)
        work: Coroutine[Any, Any, Any] = self._met(need)
        return asyncio.get_running_loop().create_task(work, context=context)

    def _interrupt(self) -> None:
        if self._task is not None and not _is_firm(self._need):
            self._task.cancel()

    def _settle(self, task: asyncio.Task[Any]) -> None:
        self._task = None
        if self._control.struck(self._need) or task.cancelled():
            self._problem = Stop()
        elif (error := task.exception()) is not None:
            self._problem = error
        else:
            self._answer = task.result()

    async def _met(self, need: Any) -> Any:
        conversation, manager = self._conversation, self._conversation.manager
        match need:
            case NeedWork(call=call):
                return await _in_thread(call)
            case NeedPrepared(messages, tools, hard):
                if hard:
                    await manager.amanual_compact(conversation.id, messages, tools=tools)
                memory = conversation.memory
                return await manager.aprepare(conversation.id, messages, tools, context=memory)
            case NeedStream(messages, tools, max_tokens):
                return astream_of(conversation.model, messages, tools, max_tokens)
            case NeedPiece(stream):
                return await anext(stream, None)
            case NeedClose(stream):
                with suppress(Exception):
                    await stream.aclose()
            case NeedResults(calls, outputs):
                await self._run_tools(calls, outputs)
            case NeedEndTurn(messages):
                return await manager.aend_turn(conversation.id, messages)
            case _:
                raise TypeError(f"the exchange asked for {need!r}, which no driver knows")
        return None

    async def _run_tools(self, calls: Sequence[ToolCall], outputs: dict[int, ToolOutput]) -> None:
        """All calls of a step run at the same time."""

        async def run_tool(place: int, call: ToolCall) -> None:
            outputs[place] = UNFINISHED
            outputs[place] = await self._conversation.tools.arun(call)

        await asyncio.gather(*(run_tool(place, call) for place, call in enumerate(calls)))


async def _in_thread(call: Callable[[], Any]) -> Any:
    """A thread finishes what it began, even if its task is canceled in the meantime."""
    work = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait({work})
        if not work.cancelled():
            work.exception()
        raise
