"""One conversation: its turns, the model that answers, and the state of its window. Nothing here prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compact.chat import imports
from compact.chat.choices import choice_in, choice_without, with_choice
from compact.chat.events import Notice, Severity, Topic
from compact.chat.exchange import Exchange
from compact.chat.listening import listening
from compact.chat.notices import Notices
from compact.chat.tools import Tool, Toolbox, ToolRunner
from compact.chat.turn_log import TurnLog
from compact.chat.turns import Turn, context_of, number_in, was_sent
from compact.chat.window import Grace, Level, WindowState, level_of, trimmed
from compact.engine.queries import Recalled
from compact.errors import CompactError, HistoryGone, NotFound
from compact.manager import CompactManager
from compact.model.event import Event
from compact.model.outcome import ContextUsage
from compact.model.policy import Rest
from compact.model.record import Record, RecordKind
from compact.ports import ChatModel
from compact.recall import DESCRIPTION, NAME, handle_recall, recall_tool

if TYPE_CHECKING:
    from compact.chat.chats import Chats

_COMPACTIONS = (RecordKind.COMPACTION, RecordKind.PRUNE, RecordKind.TRIM)


@dataclass(frozen=True)
class Status:
    """A conversation on one line."""

    model: str
    tokens: int
    window: int
    compactions: int
    cost: float


class Conversation:
    """Open one with `Chats.open`. Exchanges of one conversation object run one after the other.

    All methods but the exchanges are synchronous, and quick unless the store is slow: an event loop calls
    them with `asyncio.to_thread`.
    """

    def __init__(
        self,
        chats: Chats,
        log: TurnLog,
        model: ChatModel,
        manager: CompactManager,
        early: Iterable[Event] = (),
    ) -> None:
        self.chats = chats
        self.log = log
        self.model = model
        self.manager = manager
        self._reported_title = ""
        self.notices = Notices()
        self.hear = self.notices.hear
        """Handles an event of the engine."""
        for event in early:
            self.hear(event)
        with listening(self.hear):
            log.usage()
            self.cost = sum(number_in(turn, "cost") or 0.0 for turn in log.turns if was_sent(turn))
            self.reset()
            if chats.delays_trim and self._waited_already():
                self.notices.window = WindowState(grace=Grace.SPENT)

    # -- what it is ----------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self.log.id

    @property
    def title(self) -> str:
        return self.log.row.title

    @property
    def turns(self) -> list[Turn]:
        """All turns, in OpenAI's chat format with timestamp, session_id and agent; position 0 first."""
        return self.log.turns

    @property
    def current(self) -> list[Turn]:
        """The turns since the last clear."""
        return self.log.current

    @property
    def head(self) -> list[Turn]:
        """The system prompt: it comes before the turns, and a clear keeps it."""
        return self.log.head

    @property
    def draft(self) -> str:
        """A message that was sent and never answered."""
        return self.log.draft

    @property
    def history(self) -> list[Turn]:
        """What the engine gets: instructions of the space, system prompt, all turns."""
        return self.log.history

    @property
    def agent(self) -> str:
        return self.model.model

    @property
    def settings(self) -> Mapping[str, Any]:
        """What is remembered with the session: preset, policy, model, pins, …"""
        return self.log.settings

    @property
    def memory(self) -> str | None:
        """Working memory: text that changes between turns. It enters as conversation (S2.21)."""
        return self.settings.get("memory") or None

    @property
    def trims(self) -> bool:
        """Whether the policy discards, as the `window` preset does: then a due trim can wait."""
        return self.manager.config.policy.rest is Rest.DISCARD

    @property
    def status(self) -> Status:
        return Status(self.model.label, self.usage.tokens, self.usage.window, self.compactions, self.cost)

    @property
    def tools(self) -> ToolRunner:
        """The door's tools, and recall if the door offers it."""
        tools = self.chats.tools
        if self.chats.offers_recall and isinstance(tools, Toolbox):
            return tools.with_tools(self._recall_tool())
        return tools

    def _recall_tool(self) -> Tool:
        def recall(**arguments: Any) -> str:
            return handle_recall(self.manager, self.id, arguments)

        return Tool(NAME, DESCRIPTION, recall, recall_tool()["function"]["parameters"])

    # -- exchanges -----------------------------------------------------------------------------------------

    def send(self, content: Any) -> Exchange:
        """Send a message: text, or parts in OpenAI's chat format. Iterate over what is returned."""
        return Exchange(self, self.log.question(content, self.agent))

    def retry(self, replaced: int | None = None) -> Exchange:
        """Ask for another reply in place of the one at `replaced`, or of the last one.

        The earlier one, and everything after it, stays until a new one has arrived.
        """
        self.notices.waiting += self.catch_up()
        position = self._question_of(len(self.turns) - 1 if replaced is None else replaced)
        return Exchange(self, self.turns[position], at=position)

    def edit(self, position: int, content: Any) -> Exchange:
        """Send another message in place of the one at `position`; what followed it is left behind."""
        self.notices.waiting += self.catch_up()
        if not 0 <= position < len(self.turns) or self.turns[position].get("role") != "user":
            raise NotFound(
                f"Message {position} is not one of yours, so it cannot be edited. Nothing was changed."
            )
        return Exchange(self, self.log.question(content, self.agent), at=position)

    def _question_of(self, position: int) -> int:
        """The position of the user's message that the one at this position answers; or it is that one."""
        if position < len(self.turns):
            for at in range(position, -1, -1):
                if self.turns[at].get("role") == "user":
                    return at
        raise NotFound("There is no such message to retry. Nothing was changed.")

    # -- the state of the window ---------------------------------------------------------------------------

    def reset(self) -> None:
        """Read the session again: turns were added, or a compaction was undone."""
        self.notices.window = trimmed()
        self.start = self.log.start
        self.sizes = [size for turn in self.turns[self.start :] if (size := context_of(turn))]
        self.refresh()
        self.recount()

    def _waited_already(self) -> bool:
        """Whether the last exchange, perhaps in another process, was the one that a due trim waits for."""
        asked = max((n for n, turn in enumerate(self.turns) if turn.get("role") == "user"), default=-1)
        if asked < max(self.start, self.settings.get("imported", 0)) or not _is_at_ninety(self.usage):
            return False
        if any(record.source_length > asked for record in self.log.standing_records()):
            return False  # It was trimmed for that exchange, or has been since.
        before = self.history[: len(self.history) - len(self.turns) + asked]
        return _is_at_ninety(self.manager.usage(self.id, before, self.tools.schemas or None))

    def refresh(self) -> ContextUsage:
        with listening(self.hear):
            self.usage = self.log.usage(self.tools.schemas or None)
        return self.usage

    def reread(self) -> None:
        """After a compaction or a clear that this door made."""
        self.log.compacted()
        self.refresh()
        self.recount()

    def recount(self) -> None:
        """Compactions in force; the store is asked only if there may be another one."""
        self.compactions = sum(r.kind in _COMPACTIONS for r in self.log.standing_records())

    def catch_up(self, turns_only: bool = False) -> list[Notice]:
        """Pick up what another door has added or set; HistoryGone if the session was deleted."""
        try:
            self.log.catch_up()
            if not turns_only:
                self.log.catch_up_settings()
        except HistoryGone:
            raise
        except CompactError:
            pass  # Anything that needs the store reports that it cannot be read.
        return self.caught_up()

    def caught_up(self) -> list[Notice]:
        """Read the session again if storing a turn found what another door had added."""
        if not self.log.changed:
            return []
        with suppress(CompactError):
            self._follow_settings()
            self.reset()
            came, self.log.came_in, self.log.changed = self.log.came_in, 0, False
            if came:
                text = f"The session went on elsewhere: {came:,} message{'s' * (came != 1)} came in."
                return [Notice(Severity.INFO, Topic.CAME_IN, text)]
        return []

    def _follow_settings(self) -> None:
        """Another door may have chosen another model, preset or policy."""
        settings = self._in_force(self.settings)
        self.model, problem = self.chats.model_for(settings, settings)
        self.manager = self.log.manager = self.chats.manager(settings, self.model.model)
        if problem is not None:
            self.notices.waiting.append(problem)

    def _in_force(self, own: Mapping[str, Any]) -> Mapping[str, Any]:
        """Settings that the session has not set itself come from its space."""
        given = {name: value for name, value in own.items() if value is not None}
        return {**self.chats.space_settings(self.id), **given}

    def compacted(self, before: int, after: int) -> list[Notice]:
        """The notices for a compaction that was just made."""
        return self.notices.compacted(before, after, self.trims and self.compactions == 1)

    def warnings(self) -> Iterator[Notice]:
        """What the user should know now, each thing once."""
        return self.notices.warnings(self.usage, self.trims)

    # -- changing ------------------------------------------------------------------------------------------

    def instruct(self, text: str) -> None:
        """Set the system prompt."""
        self.log.instruct(text, self.agent)
        self.refresh()

    def clear(self) -> Record | None:
        """Start over; None if there is nothing to clear. `undo` brings the turns back."""
        with listening(self.hear):
            record = self.log.clear()
        if record is not None:
            self.start = len(self.turns)
            self.notices.window = trimmed()
            self.sizes = []
            self.reread()
        return record

    def compact(self, focus: str = "") -> tuple[Record | None, int]:
        """Compact now; returns the record, or None if there was nothing to shrink, and the tokens before."""
        before = self.usage.tokens
        known = {record.id for record in self.log.standing_records()}
        with listening(self.hear):
            self.manager.manual_compact(self.id, self.history, note=focus)
        self.refresh()
        fresh = [record for record in self.log.standing_records() if record.id not in known]
        if not fresh:
            return None, before
        self.log.compacted()
        self.recount()
        self.notices.window = trimmed()
        return fresh[-1], before

    def undo(self) -> Record | None:
        """Undo the last compaction or clear; None if there is none."""
        records = self.log.standing_records()
        if not records:
            return None
        self.restore(records[-1].step)
        return records[-1]

    def restore(self, step: int) -> None:
        """Undo that compaction and those built on it, with the preset or policy that was chosen for them."""
        before = self.log.standing_records()
        self.manager.restore(self.id, step)
        self.log.undid()
        chosen = self.choice_after_undo(before, self.log.standing_records())
        if chosen != choice_in(self.settings):
            self.use(**chosen)
        self.reset()

    def choice_after_undo(self, before: Iterable[Record], after: Iterable[Record]) -> dict[str, Any]:
        """Preset and policy where only `after` is left of the records `before`."""
        left = {record.id for record in after}
        return choice_without(self.settings, [record.step for record in before if record.id not in left])

    def pin(self, position: int, pinned: bool = True) -> None:
        """Protect the message at this position, or stop protecting it."""
        self.log.pin(position, pinned)
        self.refresh()

    def rename(self, title: str) -> None:
        self.log.row.name(title)
        self.report_title()

    def name_after(self, question: Turn) -> None:
        """Give it a title if it has none."""
        self.log.row.name_after(question)
        self.report_title()

    def report_title(self) -> None:
        """Once for each title, and only with a message: who just looks leaves no trace."""
        if self.title and self.title != self._reported_title:
            self._reported_title = self.title
            self.chats.report_title(self.id, self.title)

    def save(self, title: str = "") -> None:
        """Make sure that everything is stored, and give it a title."""
        self.refresh()
        if title:
            self.rename(title)
        self.log.row.put()

    def take_in(
        self, head: Sequence[Turn], turns: Sequence[Turn], title: str = "", again: bool = False
    ) -> None:
        """Append turns from elsewhere, all or none; a session without a title gets this one.

        Rejects turns that the session already begins or ends with, unless `again`. `undo_import` removes
        them.
        """
        with listening(self.hear):
            self.usage = imports.take_in(self.log, head, turns, self.agent, title, again)

    @property
    def last_import(self) -> tuple[int, int] | None:
        """Where the turns of the last import begin and end, as long as nothing was said or compacted
        since."""
        found = imports.last_import(self.log)
        if found is None or any(record.source_length > found[0] for record in self.log.standing_records()):
            return None
        return found

    def undo_import(self) -> int:
        """Remove the last import; returns the number of messages."""
        count = imports.undo_import(self.log)
        self.reset()
        return count

    def recall(self, query: str, limit: int = 5) -> list[Recalled]:
        """Messages by handle or words, including those that no prompt holds any more; numbered as `turns`."""
        found = self.manager.recall(self.id, query, limit)
        return [hit for hit in found if hit.position < len(self.turns)]

    def use(self, *, model: str | None = None, **settings: Any) -> None:
        """Use another model, `preset` or `policy` from now on, remembered with the session.

        If that is not possible, the error says why and nothing changes.
        """
        chosen = {**settings, **({"model": model} if model else {})}
        with listening(self.hear):
            answering = self.chats.model(model) if model else self.model
            manager = self.manager_with(chosen, answering)
            usage = manager.usage(self.id, self.history, self.tools.schemas or None)
        self.log.remember(**chosen)
        self.model, self.manager, self.log.manager, self.usage = answering, manager, manager, usage
        self.notices.window = trimmed()
        self.recount()

    def manager_with(self, chosen: Mapping[str, Any], answering: ChatModel | None = None) -> CompactManager:
        """The manager that these settings would give the session; nothing is changed."""
        wanted = self._in_force({**self.settings, **chosen})
        return self.chats.manager(wanted, (answering or self.model).model)

    def chose_with(self, step: int, before: Mapping[str, Any]) -> None:
        """Preset and policy took the place of those before for this compaction: they are undone together."""
        self.log.remember(choices=with_choice(self.settings, step, before))


def _is_at_ninety(usage: ContextUsage) -> bool:
    return level_of(usage.tokens, usage.window) is Level.NINETY
