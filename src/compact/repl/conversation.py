"""One session on the durable store: its turns, and what stands before them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from compact.engine.inspect import objects_of
from compact.errors import FormatError
from compact.formats import recognize
from compact.manager import CompactManager
from compact.model.event import EventName
from compact.model.message import Message
from compact.model.outcome import ContextUsage
from compact.model.record import Record, RecordKind, standing
from compact.repl.turns import Turn, from_message, stamp, text_of, user_turn
from compact.stores.sql import SqlStore

FORMAT = "openai-chat"
_TITLE = 60


class Conversation:
    """Turns are stored when they are finished, by the look that measures them; nothing waits for a save."""

    def __init__(
        self,
        manager: CompactManager,
        store: SqlStore,
        session_id: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.manager = manager
        self.store = store
        self.id = session_id
        self.clock = clock
        self.head: list[Turn] = []
        """System turns: they stand before the conversation, and a clear leaves them."""
        self.turns: list[Turn] = []
        self.draft = ""
        """A message that was sent and never answered; it is no turn."""
        self.title = ""
        self.settings: dict[str, Any] = {}
        self.came_in = 0
        """Turns that other doors added, and of which nobody was told yet."""
        self._load()

    def _load(self) -> None:
        self._end = self.store.end(self.id)
        self._stored = len(self.turns)
        thread = self.store.session(self.id)
        if thread is None:
            return
        self.title = thread.title
        found = self.store.last_event(self.id, EventName.SETTINGS)
        self.settings = dict(found.data) if found is not None else {}
        self.head = list(self.settings.get("head", []))
        self.turns = _as_turns(list(self.store.originals(self.id)))
        answered = len(self.turns) <= self.settings.get("imported", 0)
        if self.turns and self.turns[-1].get("role") == "user" and not answered:
            self.draft = text_of(self.turns.pop())
        for position in self.settings.get("pins", []):
            if position < len(self.turns):
                self.turns[position] = _pinned(self.turns[position], True)
        self._stored = len(self.turns)

    def catch_up(self) -> bool:
        """Take in what another door has added meanwhile; says whether there was anything."""
        end = self.store.end(self.id)
        if end == self._end or end[0] == 0:  # deleted elsewhere: what is here is stored anew
            return False
        waiting = self.turns[self._stored :]  # turns that the store did not take
        known, draft = self._stored, self.draft
        self._load()
        self.came_in += max(0, self._stored - known)
        self.turns += waiting
        self.draft = draft  # a question that waits there is the other's
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else writes to the session within; what others wrote until now was taken in before.

        So turns come behind those of another chat, never in their place, and are stored all or none.
        """
        try:
            with self.store.exclusively(self.id):
                self.catch_up()
                yield
                end = self.store.end(self.id)
        except BaseException:
            # The engine may hold for stored what is not.
            self.manager.reload(self.id)
            raise
        self._end, self._stored = end, len(self.turns)

    # -- looking -------------------------------------------------------------------------------------------

    @property
    def history(self) -> list[Turn]:
        """All that was told, for the engine: it knows what was cleared or compacted."""
        return [*self.head, *self.turns]

    @property
    def start(self) -> int:
        """Where the turns since the last clear begin."""
        cleared = [r for r in self.standing_records() if r.kind is RecordKind.CLEAR]
        return cleared[-1].source_length if cleared else 0

    @property
    def current(self) -> list[Turn]:
        """The turns since the last clear."""
        return self.turns[self.start :]

    def standing_records(self) -> list[Record]:
        return standing(self.manager.records(self.id))

    def usage(self) -> ContextUsage:
        """What would be sent now. Turns that the store does not have yet are stored by this."""
        if len(self.turns) == self._stored:
            return self.manager.usage(self.id, self.history)
        with self._alone():
            return self.manager.usage(self.id, self.history)

    def ask(self, text: str, agent: str) -> Turn:
        return user_turn(text, self.clock(), self.id, agent)

    def asked(self, question: Turn) -> list[Turn]:
        """The history with a question, which is stored by this: after a crash it can be asked again."""
        with self._alone():
            history = [*self.history, question]
            self.manager.usage(self.id, history)
        return history

    # -- changing ------------------------------------------------------------------------------------------

    def keep(self, turns: Sequence[Turn]) -> ContextUsage:
        """Add finished turns. They stay in memory even where the store fails; the next look tries again."""
        self.turns += turns
        return self.usage()

    def take_in(
        self, head: Sequence[Turn], turns: Sequence[Turn], agent: str, title: str = ""
    ) -> ContextUsage:
        """Append turns from elsewhere, all or none; a session without a title gets this one."""
        now = stamp(self.clock())
        told = {"timestamp": now, "session_id": self.id, "agent": agent}
        fresh = [turn if told.keys() <= turn.keys() else {**told, **turn} for turn in turns]
        leading = [turn if told.keys() <= turn.keys() else {**told, **turn} for turn in head]
        with self._alone():
            # What leads a history counts as its system prompt, which the store does not keep among the turns.
            if self.turns or self.head:
                fresh, leading = [*leading, *fresh], []
            if not self.turns and self.head:
                while fresh and fresh[0].get("role") in ("system", "developer"):
                    leading.append(fresh.pop(0))
            leads, all_turns = [*self.head, *leading], [*self.turns, *fresh]
            title = self.title or _titled(title)
            # A question that ends a file is a turn of it, not one that this session has still to answer.
            settings = {**self.settings, "imported": len(all_turns)} | ({"head": leads} if leading else {})
            usage = self.manager.usage(self.id, [*leads, *all_turns])
            self.store.add_event(self.id, EventName.SETTINGS, settings)
            self.store.put_session(self.id, title=title)
        self.head, self.turns, self.title, self.settings = leads, all_turns, title, settings
        self._stored = len(all_turns)
        return usage

    def set_head(self, head: Sequence[Turn]) -> None:
        self.head = list(head)
        self.remember(head=self.head)

    def instruct(self, text: str, agent: str) -> None:
        """Set the system prompt."""
        said = {**user_turn(text, self.clock(), self.id, agent), "role": "system"}
        self.set_head([said])

    def clear(self) -> Record | None:
        """Start afresh; None where there is nothing to clear."""
        self.usage()
        return self.manager.clear(self.id, self.history) if self.current else None

    def pin(self, position: int, pinned: bool) -> None:
        """Protect the turn at this position, or no longer; a turn with tool results keeps them."""
        self.turns[position] = _pinned(self.turns[position], pinned)
        self.remember(pins=[n for n, turn in enumerate(self.turns) if is_pinned(turn)])

    def name(self, text: str) -> None:
        title = _titled(text)
        self.store.put_session(self.id, title=title)
        self.title = title

    def remember(self, **settings: Any) -> None:
        """Keep settings of the session; the newest count."""
        changed = {**self.settings, **settings}
        if changed != self.settings:
            self.store.add_event(self.id, EventName.SETTINGS, changed)
            self.settings = changed


def _titled(text: str) -> str:
    return " ".join(text.split())[:_TITLE]


def is_pinned(turn: Mapping[str, Any]) -> bool:
    meta = turn.get("meta")
    return isinstance(meta, Mapping) and meta.get("protected") is True


def _pinned(turn: Turn, pinned: bool) -> Turn:
    changed = {name: value for name, value in turn.items() if name != "meta"}
    meta = {name: value for name, value in turn.get("meta", {}).items() if name != "protected"}
    if pinned:
        meta["protected"] = True
    return {**changed, "meta": meta} if meta else changed


def _as_turns(messages: Sequence[Message]) -> list[Turn]:
    """Stored messages as turns; those that another door wrote in its own format are converted."""
    objects = objects_of(messages)
    try:
        if all(isinstance(item, dict) for item in objects) and recognize(objects).name == FORMAT:
            return objects
    except FormatError:
        pass  # a session that several doors wrote into
    return [turn for message in messages for turn in from_message(message)]
