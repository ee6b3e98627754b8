"""The stored turns of one session: what was said, the system prompt before it, what is pinned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from compact.chat.known_compactions import KnownCompactions
from compact.chat.session_row import ChatStore, SessionRow
from compact.chat.session_settings import SessionSettings
from compact.chat.stored_line import StoredLine
from compact.chat.turns import (
    Turn,
    as_turns,
    is_pinned,
    pinned_turn,
    text_of,
    user_turn,
    what_is_said,
    with_results,
)
from compact.errors import HistoryGone
from compact.manager import CompactManager
from compact.model.outcome import ContextUsage
from compact.model.record import Record, RecordKind, standing
from compact.ports import Thread
from compact.wiring.adapters import redactor_for


class TurnLog:
    """Turns are stored when they are finished; nothing waits for a save.

    Several doors may write to one session: what another one added is read before anything is stored.
    """

    def __init__(
        self,
        manager: CompactManager,
        store: ChatStore,
        session_id: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.manager = manager
        self.store = store
        self.id = session_id
        self.clock = clock
        self.head: list[Turn] = []
        """System turns: they come before the conversation, and a clear keeps them."""
        self.turns: list[Turn] = []
        self.draft = ""
        """A message that was sent and never answered; it is not a turn."""
        self.row = SessionRow(store, session_id, redactor_for(manager.config).text)
        self._line = StoredLine(store, session_id)
        self.remembered = SessionSettings(store, session_id)
        """Settings, pins, the last import: see `settings`."""
        self._compactions = KnownCompactions()
        self._replaced: list[Turn] = []
        """The turns that the question which was asked last may take the place of."""
        self.came_in = 0
        """Turns that other doors added and that no notice has reported yet."""
        self.changed = False
        """Another door changed the session, and its conversation has not read it again yet."""
        thread = self._load()
        if thread is not None:
            self._compactions.learn(thread)

    def _load(self) -> Thread | None:
        self._end = self.store.end(self.id)
        self._stored = len(self.turns)
        thread = self.row.read()
        if thread is None:
            return None
        self.remembered.read(thread)
        self.head = list(self.settings.get("head", []))
        self.turns = with_results(as_turns(list(self.store.originals(self.id))))
        self._cut_left_behind()
        answered = len(self.turns) <= self.settings.get("imported", 0)
        if self.turns and self.turns[-1].get("role") == "user" and not answered:
            self.draft = text_of(self.turns.pop())
        for position in self.settings.get("pins", []):
            if position < len(self.turns):
                self.turns[position] = pinned_turn(self.turns[position], True)
        self._stored = len(self.turns)
        return thread

    def _cut_left_behind(self) -> None:
        """What was left behind stays on the store's line until something else takes its place.

        That is an import that was undone, or what followed a reply that came out the same when retried.
        """
        cut = self.settings.get("cut")
        if cut and [self._end[0], self._end[1].hex()] == cut["end"]:
            del self.turns[cut["at"] :]

    def catch_up(self) -> bool:
        """Read what another door has added in the meantime; returns whether there was anything.

        Raises HistoryGone if another door has deleted the session: it does not come back, and one created
        again with its id is a different one.
        """
        end = self.store.end(self.id)
        if (end[0] == 0 or end != self._end) and self.row.is_deleted:
            raise HistoryGone(self.id, self._end[0])
        if end == self._end or end[0] == 0:
            return False
        self._load_again()
        return True

    def _load_again(self) -> None:
        waiting = self.turns[self._stored :]  # turns that the store did not take
        known, draft = self._stored, self.draft
        self._load()
        self.came_in += max(0, self._stored - known)
        self.changed = True
        self.turns += waiting
        self.draft = draft  # A question that waits there belongs to the other door.

    def catch_up_settings(self) -> None:
        """Read what another door has set in the meantime, such as a pin or a preset, or has compacted."""
        thread = self.store.session(self.id)
        if thread is None:
            return
        if self._compactions.misses(thread):
            # Below the trigger the engine would not look: what it knows is enough for a prompt that fits.
            self._compactions.learn(thread)
            self.manager.reload(self.id)
            self.changed = True
        before, cut = set(self.settings.get("pins", ())), self.settings.get("cut")
        if not self.remembered.catch_up(thread):
            return
        if self.settings.get("cut") != cut:
            # Saying again what was left behind moves the end of the turns, not of the store's line.
            self._load_again()
            return
        self.head = list(self.settings.get("head", []))
        pinned = set(self.settings.get("pins", ()))
        for position in before ^ pinned:
            if position < len(self.turns):
                self.turns[position] = pinned_turn(self.turns[position], position in pinned)
        self.changed = True

    def compacted(self) -> None:
        """This door compacted or cleared: its engine knows."""
        if (thread := self.store.session(self.id)) is not None:
            self._compactions.made(thread)

    def undid(self) -> None:
        """This door undid compactions: its engine knows."""
        if (thread := self.store.session(self.id)) is not None:
            self._compactions.undid(thread)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes to the session inside; what others wrote before was read first.

        So turns follow those of another chat, never replace them, and are stored all or none.
        """
        try:
            with self.row.exclusively():
                self.catch_up()
                self.catch_up_settings()
                if self.row.incarnation is None:
                    self.store.put_session(self.id)
                if self.remembered.has_unsaved:
                    self.remembered.put(self.settings)
                yield
                end = self.store.end(self.id)
                incarnation = self.row.incarnation or self.row.stored_incarnation()
        except HistoryGone:
            raise  # Everything that the engine considers stored is gone; it stores nothing after that.
        except BaseException:
            # The engine may consider stored what is not.
            self.manager.reload(self.id)
            raise
        self._end, self._stored, self.row.incarnation = end, len(self.turns), incarnation
        self.remembered.saved()

    # -- looking -------------------------------------------------------------------------------------------

    @property
    def settings(self) -> dict[str, Any]:
        """What is remembered with the session."""
        return self.remembered.values

    @property
    def history(self) -> list[Turn]:
        """Everything that was said, for the engine: it knows what was cleared or compacted."""
        return [*self.row.instructions, *self.head, *self.turns]

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
        """The compactions that were not undone, without those of messages that were edited away."""
        return [record for record in standing(self.manager.records(self.id)) if self._line.holds(record)]

    def usage(self, tools: Sequence[Any] | None = None) -> ContextUsage:
        """What would be sent now. This stores turns that the store does not have yet."""
        if len(self.turns) != self._stored:
            with self.alone():
                self._store(self.turns)
        return self.manager.usage(self.id, self.history, tools)

    def _store(self, turns: Sequence[Turn]) -> list[Turn]:
        """Store these turns; returns them as the engine gets them."""
        history = [*self.row.instructions, *self.head, *turns]
        self.manager.append(self.id, history)
        cut = self.cut_behind(turns)
        if cut != self.settings.get("cut"):
            self.remembered.put({**self.settings, "cut": cut})
            self.settings["cut"] = cut
        return history

    def cut_behind(self, turns: Sequence[Turn]) -> dict[str, Any] | None:
        """Where the turns end, if the store's line goes on, so that storing these did not leave it.

        A question that is asked again keeps what follows it until there is a reply.
        """
        length = max(len(turns), len(self.turns))
        return self.cut_at(length) if self.store.end(self.id)[0] > length else None

    def question(self, content: Any, agent: str) -> Turn:
        return user_turn(content, self.clock(), self.id, agent)

    def asked(self, question: Turn, at: int | None = None) -> list[Turn]:
        """The history with a question, which this stores: after a crash it can be asked again.

        `at`: in place of the turn at this position, and without everything after it.
        """
        with self.alone():
            self._replaced = [] if at is None else self.turns[at:]
            return self._store([*self.turns[:at], question])

    # -- changing ------------------------------------------------------------------------------------------

    def keep(self, turns: Sequence[Turn], at: int | None = None) -> ContextUsage:
        """Add finished turns, or put them in place of all from position `at` on.

        What another door has said there in the meantime stays, and they follow it. They stay in memory even
        if the store fails; the next read tries again.
        """
        if at is not None and _begins_with(self._replaced, self.turns[at:]):
            del self.turns[at:]
            self._stored = min(self._stored, at)
            # A question that is asked again keeps its pin.
            self.remembered.cut(at, [at + n for n, turn in enumerate(turns) if is_pinned(turn)])
        self.turns += turns
        return self.usage()

    def give_up(self, question: Turn, at: int | None = None) -> None:
        """A question got no reply: it is not a turn. If it had replaced others, they come back."""
        self.draft = text_of(question)
        if at is not None:
            # The engine considers the earlier turns stored, and they are, but not on the current line.
            self.manager.reload(self.id)
            with self.alone():
                if not _begins_with(self.turns[at:], self._replaced):
                    # Another door went on in their place.
                    self.turns[at:at] = self._replaced
                self._store(self.turns)

    def hold(self, head: Sequence[Turn], turns: Sequence[Turn], settings: dict[str, Any]) -> None:
        """These were stored in place of what is held."""
        self.head, self.turns, self._stored = list(head), list(turns), len(turns)
        self.remembered.values = settings

    def cut_at(self, position: int) -> dict[str, Any]:
        """Where the turns end although the store's line, as it ends now, continues."""
        end = self.store.end(self.id)
        return {"at": position, "end": [end[0], end[1].hex()]}

    def suggest(self, **settings: Any) -> None:
        """Settings to remember with the next message; nothing is stored for them alone."""
        self.remembered.suggest(settings)

    def set_head(self, head: Sequence[Turn]) -> None:
        self.head = list(head)
        self.remember(head=self.head)

    def instruct(self, text: str, agent: str) -> None:
        """Set the system prompt."""
        said = {**user_turn(text, self.clock(), self.id, agent), "role": "system"}
        self.set_head([said])

    def clear(self) -> Record | None:
        """Start over; None if there is nothing to clear."""
        self.usage()
        return self.manager.clear(self.id, self.history) if self.current else None

    def pin(self, position: int, pinned: bool) -> None:
        """Protect the turn at this position, or stop protecting it; a turn with tool results keeps them."""
        with self.row.exclusively():
            self.catch_up_settings()
            pins = {n for n, turn in enumerate(self.turns) if is_pinned(turn)} - {position}
            self.remember(pins=sorted(pins | {position} if pinned else pins))
        self.turns[position] = pinned_turn(self.turns[position], pinned)

    def remember(self, **settings: Any) -> None:
        """Keep settings; the newest count. A new session stores them with its first message."""
        if {**self.settings, **settings} == self.settings:
            return
        if self._end[0] == 0 and self.store.session(self.id) is None:
            self.remembered.suggest(settings)
            return
        with self.row.exclusively():
            self.catch_up_settings()
            changed = {**self.settings, **settings}
            self.remembered.put(changed)
        self.remembered.values = changed


def _begins_with(turns: Sequence[Turn], first: Sequence[Turn]) -> bool:
    return list(map(what_is_said, turns[: len(first)])) == list(map(what_is_said, first))
