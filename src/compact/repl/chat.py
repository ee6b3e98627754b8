"""The chat itself: a conversation, the model that answers, and the state of the window."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compact.cli.exits import ExitCode
from compact.cli.terminal import plural
from compact.config import CompactConfig
from compact.errors import CompactError, ConfigError, FormatError, InsufficientBudget
from compact.manager import CompactManager
from compact.model.event import Event, EventName
from compact.model.outcome import ContextUsage
from compact.model.policy import Rest
from compact.model.record import RecordKind
from compact.ports import ChatModel
from compact.repl.conversation import FORMAT, Conversation
from compact.repl.saying import WARNINGS, Kind, Said, error, info
from compact.repl.state import Level, landed, trimmed
from compact.repl.turns import context_of
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
        choose: Callable[[str], ChatModel],
        with_preset: Callable[[str], CompactConfig],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.choose = choose
        self.with_preset = with_preset
        self.clock = clock
        self.config = config
        self.model = model
        self.told: list[str] = []
        """Warnings of the engine that are still to be shown."""
        self._notice = ""
        """What the last compaction has to tell, in the engine's words (S1.11)."""
        self.manager = self._managed()
        self.open(session_id)

    def _managed(self) -> CompactManager:
        return CompactManager(
            self.config, store=self.store, exporters=(Immediate(self._hear),), format=FORMAT
        )

    def _hear(self, event: Event) -> None:
        if event.name is not EventName.WARNING:
            return
        message = str(event.data.get("message"))
        if event.step:
            # It belongs to a compaction, and is told with it.
            self._notice = message
        elif message not in self.told:
            self.told.append(message)

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
            if model is not self.model:
                stop(model)
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

    # -- what is told --------------------------------------------------------------------------------------

    def compacted(self, before: int, after: int) -> list[Said]:
        """What a compaction that was just made tells: the engine's own words where it has any (S1.11)."""
        told, self._notice = self._notice or f"Context compacted: {before:,} → {after:,} tokens.", ""
        return [info(told, tokens_before=before, tokens_after=after)]

    def caught_up(self) -> Iterator[Said]:
        """Tell what another chat or door has added to this session meanwhile, and go on from there."""
        conversation = self.conversation
        # A store that cannot be read now is told of by what needs it.
        with suppress(CompactError):
            if conversation.catch_up() or conversation.came_in:
                came, conversation.came_in = conversation.came_in, 0
                self.reset()
                if came:
                    yield info(f"The session went on elsewhere: {plural(came, 'message')} came in.")

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
