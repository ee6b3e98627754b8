"""One exchange: a message comes in, the model answers and calls tools, and all of it becomes turns.

    stored → [preflight → model stream → tools → stored] for each step → end of the turn

The flow is a generator without input or output: it yields events for the door and needs for a driver.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from compact.chat import drivers
from compact.chat.events import (
    Accepted,
    ChatEvent,
    ContextReduced,
    Failed,
    Finish,
    Finished,
    Notice,
    ReasoningDelta,
    Severity,
    StepStarted,
    Stored,
    TextDelta,
    ToolCalled,
    ToolReturned,
    Topic,
    UsageReported,
)
from compact.chat.needs import (
    Need,
    NeedClose,
    NeedEndTurn,
    NeedPiece,
    NeedResults,
    NeedStream,
    NeedWork,
    Stop,
)
from compact.chat.preparing import Preflight
from compact.chat.tools import UNFINISHED, ToolOutput
from compact.chat.turns import Turn, context_of, reply_turn, result_turn, text_of, wire_call
from compact.errors import ChatError, CompactError, ContextOverflow, HistoryGone
from compact.model.chat import CallMade, FinishReason, ReasoningPiece, ReplyEnd, TextPiece
from compact.model.message import ToolCall, Usage
from compact.model.outcome import Prepared
from compact.models.limits import limits_for

if TYPE_CHECKING:
    from compact.chat.conversation import Conversation

Flow = Generator[ChatEvent | Need, Any, None]
_SHORTEST_REPLY = 64
_NOT_RUN = "[This call was not run: {}.]"


class Exchange:
    """Iterate over it once, with `for` or `async for`; the events arrive as they happen."""

    def __init__(self, conversation: Conversation, question: Turn, at: int | None = None) -> None:
        self.conversation = conversation
        self.question = question
        self.control = drivers.Control()
        self._at = at
        self._preflight = Preflight(conversation)
        self._asked: list[Turn] = []
        """The history with the question, and with the steps since."""
        self._kept = False
        """The question is a turn: a reply or a step of one was stored with it."""
        self._retried = False
        self._news: deque[ChatEvent] = deque()
        """What came of storing, until the door hears it."""
        self._new_step()

    def __iter__(self) -> Iterator[ChatEvent]:
        return drivers.run(self._flow(), self.conversation, self.control)

    def __aiter__(self) -> AsyncIterator[ChatEvent]:
        return drivers.arun(self._flow(), self.conversation, self.control)

    @property
    def position(self) -> int:
        """The position of the question, as far as it is known before it is stored."""
        return len(self.conversation.turns) if self._at is None else self._at

    def stop(self) -> None:
        """Stop, from any thread: what was said so far is kept as interrupted."""
        self.control.stop()

    # -- the flow ------------------------------------------------------------------------------------------

    def _flow(self) -> Flow:
        finish = Finish.STOP
        problem: CompactError | None = None
        try:
            yield from self._accepted()
            finish = yield from self._steps()
        except (Stop, KeyboardInterrupt):
            finish = Finish.STOPPED
        except CompactError as error:
            finish, problem = Finish.FAILED, error
        if self._stream is not None:
            # A firm need is met also if a stop comes instead of its answer, as from a task that is canceled.
            with suppress(Stop):
                yield NeedClose(self._stream)
        kept = False
        try:
            kept = yield from self._ended(finish, problem)
        except HistoryGone as gone:
            finish, problem, self._kept = Finish.FAILED, gone, False
        if finish is Finish.STOPPED:
            text = "Stopped; what arrived is kept." if kept else "Stopped; nothing was added."
            yield from _to_the_end([Notice(Severity.INFO, Topic.STOPPED, text)])
        elif problem is not None:
            yield from _to_the_end([Failed(problem, kept)])
        elif not kept:
            finish = Finish.EMPTY
            yield from _to_the_end([Notice(Severity.INFO, Topic.EMPTY_REPLY, self._why_empty())])
        if not isinstance(problem, HistoryGone):
            yield from self._end_turn()
        yield from _to_the_end(self._preflight.notices)
        yield from _to_the_end(self.conversation.warnings())
        yield from _to_the_end([Finished(finish, "" if self._kept else text_of(self.question))])

    def _why_empty(self) -> str:
        if self._end is not None and self._end.reason is FinishReason.LENGTH:
            # A reasoning model may spend all of it on thinking.
            return "The model reached the length limit before it said anything; nothing was added."
        return "The model said nothing; nothing was added."

    def _accepted(self) -> Flow:
        conversation = self.conversation
        yield from (yield NeedWork(self._ask))
        self._preflight.state = conversation.notices.window
        yield Accepted(self.question, self.position)

    def _ask(self) -> list[Notice]:
        """Store the question after whatever another door has added in the meantime."""
        self._asked = self.conversation.log.asked(self.question, self._at)
        return self.conversation.caught_up()

    def _steps(self) -> Generator[ChatEvent | Need, Any, Finish]:
        """Call the model until the reply calls no more tools."""
        most = self.conversation.chats.max_steps
        for step in range(1, most + 1):
            self._new_step()
            yield StepStarted(step, self.conversation.model.label)
            yield from self._replied(step)
            if not self._calls:
                return _FINISHES.get(self._end.reason, Finish.STOP) if self._end else Finish.STOP
            if step == most:
                break
            yield from self._ran_tools()
        text = f"The model still called tools after {most:,} steps; the last calls were not run."
        self._preflight.notices.append(Notice(Severity.WARNING, Topic.STEP_LIMIT, text))
        return Finish.STEP_LIMIT

    def _new_step(self) -> None:
        self._said = ""
        self._end: ReplyEnd | None = None
        self._calls: list[ToolCall] = []
        self._outputs: dict[int, ToolOutput] = {}
        """What the calls returned, by their place."""
        self._stream: Any = None
        self._prompt = 0
        """The size of what was sent, as counted here."""

    # -- out and in ----------------------------------------------------------------------------------------

    def _replied(self, step: int) -> Flow:
        tools = self.conversation.tools.schemas or None
        prepared = yield from self._preflight.prepared(self._asked, tools, first=step == 1)
        if prepared.was_compacted or prepared.was_pruned:
            yield ContextReduced(self.conversation.usage)
        try:
            yield from self._pieces(prepared, tools)
        except ContextOverflow as overflow:
            if self._said or self._retried:
                raise
            # The server counts more than was estimated. One hard compaction, one retry, never a loop.
            self._retried = True
            again = yield from self._preflight.compacted_hard(self._asked, tools, prepared, overflow)
            yield ContextReduced(self.conversation.usage)
            yield from self._pieces(again, tools)

    def _pieces(self, prepared: Prepared, tools: Any) -> Flow:
        try:
            yield from self._streamed(prepared, tools)
        except (CompactError, Stop):
            raise
        except Exception as error:
            # A caller's own model may raise anything; the turn ends like any that failed.
            said = f"{self.conversation.model.label} failed with a {type(error).__name__}"
            raise ChatError(f"{said}. What was stored before is unchanged; send it again.") from error

    def _streamed(self, prepared: Prepared, tools: Any) -> Flow:
        conversation = self.conversation
        config = conversation.manager.config
        limits = limits_for(config.model, config.models)
        room = max(_SHORTEST_REPLY, conversation.manager.window - prepared.tokens.final)
        sent = prepared.tools if prepared.tools is not None else tools
        self._prompt = prepared.tokens.final
        self._stream = yield NeedStream(prepared.messages, sent, min(limits.max_output, room))
        while (piece := (yield NeedPiece(self._stream))) is not None:
            match piece:
                case TextPiece(text=text):
                    self._said += text
                    yield TextDelta(text)
                case ReasoningPiece(text=text):
                    yield ReasoningDelta(text)
                case CallMade(call=call):
                    self._calls.append(call)
                    yield ToolCalled(call)
                case ReplyEnd(usage=usage):
                    self._end = piece
                    if usage is not None:
                        yield UsageReported(usage, _price(conversation.agent, usage))
        self._stream = None

    def _ran_tools(self) -> Flow:
        """Run the calls, then store the step: calls are stored with their results, or not at all."""
        yield NeedResults(self._calls, self._outputs)
        for place, call in enumerate(self._calls):
            output = self._outputs[place]
            yield ToolReturned(call.call_id, call.name, output.text, output.is_error)
        yield from self._store(self._answer(None, None))
        yield from self._told()

    # -- what becomes of it --------------------------------------------------------------------------------

    def _ended(self, finish: Finish, problem: CompactError | None) -> Generator[ChatEvent | Need, Any, bool]:
        """Store what arrived; returns whether there is any reply."""
        if isinstance(problem, HistoryGone):
            raise problem  # There is no session to store it in.
        answer = self._answer("interrupted" if finish is Finish.STOPPED else None, problem)
        if answer is not None:
            reason = "the step limit was reached" if finish is Finish.STEP_LIMIT else "the reply was stopped"
            with suppress(Stop):
                yield from self._store(answer, ToolOutput(_NOT_RUN.format(reason), True))
        elif not self._kept:
            with suppress(Stop):
                yield NeedWork(self._given_up, firm=True)
        yield from _to_the_end(self._told())
        return self._kept

    def _answer(self, finish: str | None, problem: CompactError | None) -> Turn | None:
        """The reply as a turn; an empty one is not a turn (S2.11)."""
        end, conversation = self._end, self.conversation
        message: Mapping[str, Any] = {"role": "assistant", "content": self._said}
        if end is not None:
            message = end.message
        elif self._calls:
            message = {**message, "tool_calls": [wire_call(call) for call in self._calls]}
        if not (message.get("content") or "").strip() and not message.get("tool_calls"):
            return None
        usage = end.usage if end is not None else None
        return reply_turn(
            message,
            conversation.log.clock(),
            conversation.id,
            conversation.agent,
            usage,
            finish_reason=finish or (end.reason.value if end is not None else None),
            error=str(problem) if problem is not None else None,
            cost=_price(conversation.agent, usage),
            prompt_estimate=self._prompt if usage is None else None,
        )

    def _store(self, answer: Turn | None, missing: ToolOutput = UNFINISHED) -> Flow:
        """Add the reply, and what its tools returned; before the first reply, the question too.

        `missing` stands for the output of a call that returned none.
        """
        assert answer is not None
        conversation = self.conversation
        turns = [answer, *self._results(answer, missing)]
        fresh = turns if self._kept else [self.question, *turns]
        conversation.notices.window = self._preflight.state
        conversation.cost += answer.get("cost") or 0.0
        position = len(conversation.turns) if self._at is None or self._kept else self._at
        self._kept = True
        try:
            yield NeedWork(lambda: self._stored(answer, fresh, position), firm=True)
        finally:
            # Whoever stops from here on must not have it stored again.
            self._new_step()

    def _told(self) -> Iterator[ChatEvent]:
        while self._news:
            yield self._news.popleft()

    def _results(self, answer: Turn, missing: ToolOutput) -> list[Turn]:
        log, agent = self.conversation.log, self.conversation.agent
        turns = []
        for place, call in enumerate(answer.get("tool_calls") or ()):
            output = self._outputs.get(place, missing)
            turns.append(result_turn(call["id"], output.text, log.clock(), log.id, agent, output.is_error))
        return turns

    def _stored(self, answer: Turn, fresh: Sequence[Turn], position: int) -> None:
        conversation, log = self.conversation, self.conversation.log
        # Another chat may have been answered in the meantime: these turns follow its turns, not replace them.
        notices = conversation.catch_up(turns_only=True)
        log.draft = ""
        at = self._at if fresh[0] is self.question else None
        try:
            if "usage" in answer and not notices:
                conversation.manager.observe(log.id, self._asked, answer["usage"])
            conversation.usage = log.keep(fresh, at)
            notices += conversation.caught_up()
            conversation.name_after(self.question)
        except HistoryGone:
            raise
        except CompactError as problem:
            text = f"{problem} The turn is kept in memory; /export writes it to a file."
            notices.append(Notice(Severity.ERROR, Topic.NOT_STORED, text))
        self._asked = log.history
        conversation.sizes.append(context_of(answer) or conversation.usage.tokens)
        self._news += [*notices, Stored(tuple(fresh), position, conversation.usage)]

    def _given_up(self) -> None:
        """A message without a reply is not a turn: it goes back to its author, and the session is
        unchanged."""
        conversation = self.conversation
        try:
            conversation.log.give_up(self.question, self._at if self._asked else None)
            conversation.refresh()
            # The question is stored, and the session is listed by what was asked.
            if self._asked:
                conversation.name_after(self.question)
        except CompactError:
            pass  # The earlier failure is what matters.

    def _end_turn(self) -> Flow:
        """Clear old tool outputs if that saves enough, even after a failure (S2.9)."""
        conversation = self.conversation
        try:
            before = conversation.notices.completed
            yield NeedEndTurn(conversation.history)
            if conversation.notices.completed > before:
                yield NeedWork(conversation.reread)
                yield ContextReduced(conversation.usage)
        except (CompactError, Stop):
            pass  # the next preflight tries again


def _to_the_end(events: Iterable[ChatEvent]) -> Iterator[ChatEvent]:
    """At the end there is nothing left to stop: a reader that leaves hears no error for it."""
    for event in events:
        with suppress(Stop, KeyboardInterrupt):
            yield event


_FINISHES = {FinishReason.LENGTH: Finish.LENGTH, FinishReason.REFUSAL: Finish.REFUSAL}


def _price(model: str, usage: Usage | None) -> float | None:
    if usage is None:
        return None
    from compact.models.prices import cost

    return float(cost(model, usage) or 0) or None
