"""The chat itself: a conversation, the model that answers, and the state of the window."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compact.cli.exits import ExitCode
from compact.config import CompactConfig
from compact.errors import ChatError, CompactError, ConfigError, FormatError, InsufficientBudget
from compact.manager import CompactManager
from compact.model.chat import ReasoningPiece, ReplyEnd, TextPiece
from compact.model.event import Event, EventName
from compact.model.message import Usage
from compact.model.outcome import ContextUsage, Prepared
from compact.model.policy import Rest
from compact.model.record import RecordKind
from compact.models.limits import limits_for
from compact.ports import ChatModel
from compact.repl.conversation import FORMAT, Conversation
from compact.repl.saying import WARNINGS, Happening, Kind, Piece, Preparing, Said, error, info
from compact.repl.state import Level, Sending, WindowState, landed, sending, trimmed
from compact.repl.turns import Turn, context_of, reply_turn
from compact.stores.sql import SqlStore
from compact.tracing.stream import Immediate

_ADVICE = "Save with /save, start fresh with /clear, or shrink it now with /compact."


@dataclass(frozen=True)
class Status:
    """What the status line says."""

    model: str
    tokens: int
    window: int
    compactions: int
    cost: float


class Chat:
    """What all front ends of the terminal chat share. Nothing here prints."""

    def __init__(
        self,
        config: CompactConfig,
        store: SqlStore,
        model: ChatModel,
        session_id: str,
        *,
        choose: Callable[[str], tuple[ChatModel, CompactConfig]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.choose = choose
        self.clock = clock
        self.config = config
        self.model = model
        self.told: list[str] = []
        """Warnings of the engine that are still to be shown."""
        self.manager = self._managed()
        self.open(session_id)

    def _managed(self) -> CompactManager:
        return CompactManager(
            self.config, store=self.store, exporters=(Immediate(self._hear),), format=FORMAT
        )

    def _hear(self, event: Event) -> None:
        if event.name is EventName.WARNING and event.data.get("message") not in self.told:
            self.told.append(str(event.data.get("message")))

    # -- which session, model and policy -------------------------------------------------------------------

    def open(self, session_id: str) -> None:
        opened = Conversation(self.manager, self.store, session_id, self.clock)
        opened.usage()
        self.conversation = opened
        self.cost = sum(_number(turn.get("cost")) for turn in opened.turns)
        self.reset()

    def reset(self) -> None:
        """Look at the session anew: another one is open, or a compaction was undone."""
        self.state = trimmed()
        self.start = self.conversation.start
        turns = self.conversation.turns[self.start :]
        self.sizes = [size for turn in turns if (size := context_of(turn))]
        self.refresh()
        self.recount()

    def started_afresh(self) -> None:
        self.start = len(self.conversation.turns)
        self.state = trimmed()
        self.sizes = []
        self.refresh()

    def use(self, model: ChatModel, config: CompactConfig) -> None:
        """Another model or policy from now on; the session stays."""
        before = self.manager, self.config, self.model
        self.config, self.model = config, model
        try:
            self.manager = self._managed()
            self.usage = self.manager.usage(self.conversation.id, self.conversation.history)
        except CompactError:
            self.manager, self.config, self.model = before
            raise
        self.conversation.manager = self.manager
        self.state = trimmed()
        self.recount()
        before[0].close()
        if before[2] is not model:
            stop(before[2])

    def close(self) -> None:
        """Leave: what waits to be exported goes, and what was started stops."""
        self.manager.close()
        stop(self.model)
        self.store.close()

    @property
    def agent(self) -> str:
        return self.model.model

    @property
    def trims(self) -> bool:
        """Whether the policy discards, as the `window` preset does: then a due trim can wait."""
        return self.config.policy.rest is Rest.DISCARD

    def recount(self) -> None:
        """Compactions that stand; asked of the store only when there may be another one."""
        kinds = (RecordKind.COMPACTION, RecordKind.PRUNE, RecordKind.TRIM)
        self.compactions = sum(r.kind in kinds for r in self.conversation.standing_records())

    @property
    def status(self) -> Status:
        return Status(self.model.label, self.usage.tokens, self.usage.window, self.compactions, self.cost)

    # -- one exchange --------------------------------------------------------------------------------------

    def say(self, text: str) -> Iterator[Happening]:
        """Send a message and tell what comes. An interrupt thrown in keeps what came."""
        conversation = self.conversation
        turn = conversation.ask(text, self.agent)
        try:
            state, prepared = self._prepared(turn)
        except CompactError as problem:
            conversation.draft = text
            yield failed(problem)
            return
        notices: list[Said] = []
        if prepared.was_compacted or prepared.was_pruned:
            self.state = state = trimmed()
            self.recount()
            notices = self.compacted(prepared.tokens.before, prepared.tokens.final)
        reply = _Reply()
        problem_met: CompactError | None = None
        interrupted = False
        asked = [*conversation.history, turn]
        stream = None
        try:
            yield Preparing(self.model.label)
            room = self._room(prepared)
            stream = self.model.stream(prepared.messages, max_tokens=room)
            for piece in stream:
                if isinstance(piece, TextPiece):
                    reply.text += piece.text
                    yield Piece(piece.text)
                elif isinstance(piece, ReasoningPiece):
                    yield Piece(piece.text, thinking=True)
                elif isinstance(piece, ReplyEnd):
                    reply.end = piece
        except KeyboardInterrupt:
            interrupted = True
        except ChatError as error_met:
            problem_met = error_met
        finally:
            if stream is not None and hasattr(stream, "close"):
                with suppress(Exception):
                    stream.close()
        answer = self._turn_of(reply, interrupted, problem_met)
        if answer is not None:
            self.state = state
            yield from self._kept(asked, turn, answer)
        if interrupted:
            yield info("Stopped; what came is kept." if answer else "Stopped; nothing was added.")
        if problem_met is not None:
            yield failed(problem_met)
        if answer is None:
            conversation.draft = text
            with suppress(CompactError):
                self.refresh()
        yield from notices
        yield from self.warnings()

    def _prepared(self, turn: Turn) -> tuple[WindowState, Prepared]:
        """What goes out with this message, and the state of the window once it is answered."""
        session_id, asked = self.conversation.id, [*self.conversation.history, turn]
        if not self.trims:
            return self.state, self.manager.prepare(session_id, asked)
        try:
            view = self.manager.view(session_id, asked)
        except InsufficientBudget:
            return self.state, self.manager.prepare(session_id, asked)
        usage = self.usage
        state, how = sending(self.state, usage.tokens, view.tokens.final, usage.trigger, usage.budget)
        if how is Sending.COMPACT:
            return state, self.manager.prepare(session_id, asked)
        return state, view

    def compacted(self, before: int, after: int) -> list[Said]:
        """What a compaction that was just made tells: the engine's own words where it has any (S1.11)."""
        data = {"tokens_before": before, "tokens_after": after}
        lines = [line for line in self.told if line.startswith("Context trimmed")]
        self.told = [line for line in self.told if line not in lines]
        if lines:
            return [info(line, **data) for line in lines[-1:]]
        return [info(f"Context compacted: {before:,} → {after:,} tokens.", **data)]

    def _room(self, prepared: Prepared) -> int:
        """How long the reply may be: what the model can say, within what is left of its window."""
        limits = limits_for(self.config.model, self.config.models)
        return max(64, min(limits.max_output, self.manager.window - prepared.tokens.final))

    def _turn_of(self, reply: _Reply, interrupted: bool, problem: CompactError | None) -> Turn | None:
        """The reply as a turn; one with nothing in it is none (S2.11)."""
        end = reply.end
        if end is None and not reply.text.strip():
            return None
        message = end.message if end is not None else {"role": "assistant", "content": reply.text}
        usage = end.usage if end is not None else None
        finish = "interrupted" if interrupted else end.reason.value if end is not None else None
        return reply_turn(
            message,
            self.clock(),
            self.conversation.id,
            self.agent,
            usage,
            finish_reason=finish,
            error=str(problem) if problem is not None else None,
            cost=self._price(usage),
        )

    def _price(self, usage: Usage | None) -> float | None:
        from compact.models.prices import cost

        return float(cost(self.agent, usage) or 0) or None if usage is not None else None

    def _kept(self, asked: list[Turn], turn: Turn, answer: Turn) -> Iterator[Happening]:
        """Both turns become part of the session, on the disk too."""
        conversation = self.conversation
        self.cost += _number(answer.get("cost"))
        conversation.draft = ""
        try:
            usage = answer.get("usage")
            if usage is not None:
                self.manager.observe(conversation.id, asked, usage)
            self.usage = conversation.keep([turn, answer])
            if not conversation.title:
                conversation.name(str(turn["content"]))
        except CompactError as problem:
            yield error(f"{problem} The turn is kept in memory; /export writes it to a file.", 4)
        self.sizes.append(context_of(answer) or self.usage.tokens)
        yield Said(
            Kind.REPLY,
            answer.get("content") or "",
            {
                "role": "assistant",
                "content": answer.get("content"),
                "finish_reason": answer.get("finish_reason"),
                "usage": answer.get("usage"),
                "session_id": conversation.id,
                "agent": self.agent,
                "timestamp": answer["timestamp"],
                "context": {"tokens": self.usage.tokens, "window": self.usage.window},
            },
        )

    def refresh(self) -> ContextUsage:
        self.usage = self.conversation.usage()
        return self.usage

    def warnings(self) -> Iterator[Said]:
        """The warnings that the context as it is now calls for, once a crossing, and those of the engine."""
        self.state, level = landed(self.state, self.usage.tokens, self.usage.window)
        data = {"percent": int(level), "tokens": self.usage.tokens, "window": self.usage.window}
        if level is Level.EIGHTY:
            yield Said(Kind.WARNING, WARNINGS[level], data)
        elif level is Level.NINETY:
            text = WARNINGS[level] if self.trims else WARNINGS[level].replace("trimming", "compacting")
            yield Said(Kind.ALERT, text, {**data, "action": _ADVICE})
            yield Said(Kind.ALERT, _ADVICE)
        while self.told:
            yield Said(Kind.WARNING, self.told.pop(0))


@dataclass
class _Reply:
    text: str = ""
    end: ReplyEnd | None = None


def failed(problem: CompactError) -> Said:
    """An error as a line, with the exit code that it means."""
    if isinstance(problem, InsufficientBudget):
        code = ExitCode.INSUFFICIENT_BUDGET
    else:
        code = ExitCode.USAGE if isinstance(problem, ConfigError | FormatError) else ExitCode.FAILED
    return error(str(problem), code, type=type(problem).__name__)


def stop(model: ChatModel) -> None:
    """Stop what a model runs, such as a server of its own."""
    stop = getattr(model, "close", None)
    if callable(stop):
        stop()


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
