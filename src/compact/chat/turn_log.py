"""The stored turns of one session: what was said, the system prompt before it, pins and other settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from compact.chat.session_settings import SessionSettings
from compact.chat.turns import (
    Turn,
    as_turns,
    is_pinned,
    pinned_turn,
    stamp,
    text_of,
    user_turn,
    what_is_said,
    with_results,
)
from compact.errors import FormatError, HistoryGone, NotFound
from compact.manager import CompactManager
from compact.model.outcome import ContextUsage
from compact.model.record import Record, RecordKind, standing
from compact.ports import Store, Threads

_TITLE = 60


class ChatStore(Store, Threads, Protocol):
    """A store that a chat can use: the engine's port and the doors' port."""


class AlreadyThere(FormatError):
    """The turns to import are already in the session."""


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
        self.title = ""
        self.space: str | None = None
        self.instructions: list[Turn] = []
        """The custom instructions of the session's space, as a system turn."""
        self._remembered = SessionSettings(store, session_id)
        self._replaced: list[Turn] = []
        """The turns that the question which was asked last may take the place of."""
        self.came_in = 0
        """Turns that other doors added and that no notice has reported yet."""
        self.changed = False
        """Another door changed the session, and its conversation has not read it again yet."""
        self.incarnation: str | None = None
        """Which session with this id it is, once the store has it: no other one gets these turns."""
        self._load()

    def _load(self) -> None:
        self._end = self.store.end(self.id)
        self._stored = len(self.turns)
        thread = self.store.session(self.id)
        if thread is None:
            return
        self.incarnation = thread.incarnation
        self.title = thread.title
        self._remembered.read(thread)
        self.head = list(self.settings.get("head", []))
        self.space = thread.space
        self.instructions = self._space_instructions(thread.space)
        self.turns = with_results(as_turns(list(self.store.originals(self.id))))
        self._cut_left_behind()
        answered = len(self.turns) <= self.settings.get("imported", 0)
        if self.turns and self.turns[-1].get("role") == "user" and not answered:
            self.draft = text_of(self.turns.pop())
        for position in self.settings.get("pins", []):
            if position < len(self.turns):
                self.turns[position] = pinned_turn(self.turns[position], True)
        self._stored = len(self.turns)

    def _cut_left_behind(self) -> None:
        """What was left behind stays on the store's line until something else takes its place.

        That is an import that was undone, or what followed a reply that came out the same when retried.
        """
        cut = self.settings.get("cut")
        if cut and [self._end[0], self._end[1].hex()] == cut["end"]:
            del self.turns[cut["at"] :]

    def _space_instructions(self, name: str | None) -> list[Turn]:
        space = self.store.space(name) if name else None
        text = space.custom_instructions if space is not None else ""
        return [{"role": "system", "content": text}] if text else []

    def catch_up(self) -> bool:
        """Read what another door has added in the meantime; returns whether there was anything.

        Raises HistoryGone if another door has deleted the session: it does not come back, and one created
        again with its id is a different one.
        """
        end = self.store.end(self.id)
        if (end[0] == 0 or end != self._end) and self.is_deleted:
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
        """Read what another door has set in the meantime, such as a pin or a preset."""
        before, cut = set(self.settings.get("pins", ())), self.settings.get("cut")
        if not self._remembered.catch_up():
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

    @property
    def is_deleted(self) -> bool:
        """Whether another door has deleted the session, and maybe created another with its id."""
        if self.incarnation is None:
            return False
        thread = self.store.session(self.id)
        return thread is None or thread.incarnation != self.incarnation

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else writes to the session inside; what others wrote before was read first.

        So turns follow those of another chat, never replace them, and are stored all or none.
        """
        try:
            with self._exclusively():
                self.catch_up()
                self.catch_up_settings()
                if self.incarnation is None:
                    self.store.put_session(self.id)
                if self._remembered.has_unsaved:
                    self._remembered.put(self.settings)
                yield
                end = self.store.end(self.id)
                incarnation = self.incarnation or self._stored_incarnation()
        except HistoryGone:
            raise  # Everything that the engine considers stored is gone; it stores nothing after that.
        except BaseException:
            # The engine may consider stored what is not.
            self.manager.reload(self.id)
            raise
        self._end, self._stored, self.incarnation = end, len(self.turns), incarnation
        self._remembered.saved()

    def _exclusively(self) -> AbstractContextManager[None]:
        return self.store.exclusively(self.id, incarnation=self.incarnation)

    def _stored_incarnation(self) -> str | None:
        thread = self.store.session(self.id)
        return thread.incarnation if thread is not None else None

    # -- looking -------------------------------------------------------------------------------------------

    @property
    def settings(self) -> dict[str, Any]:
        """What is remembered with the session."""
        return self._remembered.values

    @property
    def history(self) -> list[Turn]:
        """Everything that was said, for the engine: it knows what was cleared or compacted."""
        return [*self.instructions, *self.head, *self.turns]

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

    def usage(self, tools: Sequence[Any] | None = None) -> ContextUsage:
        """What would be sent now. This stores turns that the store does not have yet."""
        if len(self.turns) != self._stored:
            with self._alone():
                self._store(self.turns)
        return self.manager.usage(self.id, self.history, tools)

    def _store(self, turns: Sequence[Turn]) -> list[Turn]:
        """Store these turns; returns them as the engine gets them."""
        history = [*self.instructions, *self.head, *turns]
        self.manager.append(self.id, history)
        cut = self._cut_behind(turns)
        if cut != self.settings.get("cut"):
            self._remembered.put({**self.settings, "cut": cut})
            self.settings["cut"] = cut
        return history

    def _cut_behind(self, turns: Sequence[Turn]) -> dict[str, Any] | None:
        """Where the turns end, if the store's line goes on, so that storing these did not leave it.

        A question that is asked again keeps what follows it until there is a reply.
        """
        length = max(len(turns), len(self.turns))
        return self._cut_at(length) if self.store.end(self.id)[0] > length else None

    def question(self, content: Any, agent: str) -> Turn:
        return user_turn(content, self.clock(), self.id, agent)

    def asked(self, question: Turn, at: int | None = None) -> list[Turn]:
        """The history with a question, which this stores: after a crash it can be asked again.

        `at`: in place of the turn at this position, and without everything after it.
        """
        with self._alone():
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
            self._remembered.cut(at, [at + n for n, turn in enumerate(turns) if is_pinned(turn)])
        self.turns += turns
        return self.usage()

    def give_up(self, question: Turn, at: int | None = None) -> None:
        """A question got no reply: it is not a turn. If it had replaced others, they come back."""
        self.draft = text_of(question)
        if at is not None:
            # The engine considers the earlier turns stored, and they are, but not on the current line.
            self.manager.reload(self.id)
            with self._alone():
                if not _begins_with(self.turns[at:], self._replaced):
                    # Another door went on in their place.
                    self.turns[at:at] = self._replaced
                self._store(self.turns)

    def take_in(
        self, head: Sequence[Turn], turns: Sequence[Turn], agent: str, title: str = "", again: bool = False
    ) -> ContextUsage:
        """Append turns from elsewhere, all or none; a session without a title gets this one.

        Rejects turns that the session already begins or ends with, unless `again`.
        """
        now = stamp(self.clock())
        stamped = {"timestamp": now, "session_id": self.id, "agent": agent}
        fresh = [turn if stamped.keys() <= turn.keys() else {**stamped, **turn} for turn in turns]
        leading = [turn if stamped.keys() <= turn.keys() else {**stamped, **turn} for turn in head]
        with self._alone():
            # What leads a history counts as its system prompt, which the store does not keep among the turns.
            if self.turns or self.head:
                fresh, leading = [*leading, *fresh], []
            if not self.turns and self.head:
                while fresh and fresh[0].get("role") in ("system", "developer"):
                    leading.append(fresh.pop(0))
            if not again:
                self._refuse_what_is_there(fresh)
            leads, all_turns = [*self.head, *leading], [*self.turns, *fresh]
            title = self.title or _titled(title)
            undo = {"start": len(self.turns), "stop": len(all_turns), "head": self.head}
            # A question at the end of a file is one of its turns, not one that this session must answer.
            settings = {**self.settings, "imported": len(all_turns), "import": undo}
            settings |= {"head": leads} if leading else {}
            self.manager.append(self.id, [*self.instructions, *leads, *all_turns])
            settings["cut"] = self._cut_behind(all_turns)
            self._remembered.put(settings)
            self.store.put_session(self.id, title=title)
        self.head, self.turns, self.title = leads, all_turns, title
        self._remembered.values = settings
        self._stored = len(all_turns)
        return self.usage()

    def _refuse_what_is_there(self, turns: Sequence[Turn]) -> None:
        given, held = list(map(what_is_said, turns)), list(map(what_is_said, self.turns))
        count = len(given)
        if count and given in (held[:count], held[-count:]):
            which = "this message" if count == 1 else f"these {count:,} messages"
            raise AlreadyThere(f"Session {self.id} holds {which} already. Nothing was imported.")

    @property
    def last_import(self) -> tuple[int, int] | None:
        """Where the turns of the last import begin and end, as long as nothing else follows them."""
        found = self.settings.get("import")
        if not found or found["stop"] != len(self.turns):
            return None
        return int(found["start"]), int(found["stop"])

    def undo_import(self) -> int:
        """Remove the turns of the last import; returns how many there were."""
        self._import_to_undo()  # Without one, nothing is stored.
        with self._alone():
            start, stop = self._import_to_undo()
            head = list(self.settings["import"]["head"])
            pins = self._remembered.pins_before(start)
            changes = {"cut": self._cut_at(start), "head": head, "imported": 0, "import": None, "pins": pins}
            settings = {**self.settings, **changes}
            self._remembered.put(settings)
        self._remembered.values = settings
        self.head, self.turns = head, self.turns[:start]
        self._stored = start
        self.manager.reload(self.id)
        return stop - start

    def _import_to_undo(self) -> tuple[int, int]:
        found = self.last_import
        if found is None:
            raise NotFound("There is no import to undo, or something was said since. Nothing was changed.")
        return found

    def _cut_at(self, position: int) -> dict[str, Any]:
        """Where the turns end although the store's line, as it ends now, continues."""
        end = self.store.end(self.id)
        return {"at": position, "end": [end[0], end[1].hex()]}

    def suggest(self, **settings: Any) -> None:
        """Settings to remember with the next message; nothing is stored for them alone."""
        self._remembered.suggest(settings)

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
        with self._exclusively():
            self.catch_up_settings()
            pins = {n for n, turn in enumerate(self.turns) if is_pinned(turn)} - {position}
            self.remember(pins=sorted(pins | {position} if pinned else pins))
        self.turns[position] = pinned_turn(self.turns[position], pinned)

    def name(self, text: str) -> None:
        title = _titled(text)
        self.put(title=title)
        self.title = title

    def name_after(self, question: Turn) -> None:
        """Give it a title if it has none, not even one that another door has given it."""
        if not self.title:
            with self._exclusively():
                thread = self.store.session(self.id)
                self.title = thread.title if thread is not None else ""
                if not self.title:
                    self.name(text_of(question))

    def put(self, **changes: Any) -> None:
        """Change what the list of sessions shows; creates a new session, but not a deleted one."""
        with self._exclusively():
            self.store.put_session(self.id, **changes)
            incarnation = self.incarnation or self._stored_incarnation()
        self.incarnation = incarnation

    def remember(self, **settings: Any) -> None:
        """Keep settings; the newest count. A new session stores them with its first message."""
        if {**self.settings, **settings} == self.settings:
            return
        if self._end[0] == 0 and self.store.session(self.id) is None:
            self._remembered.suggest(settings)
            return
        with self._exclusively():
            self.catch_up_settings()
            changed = {**self.settings, **settings}
            self._remembered.put(changed)
        self._remembered.values = changed


def _begins_with(turns: Sequence[Turn], first: Sequence[Turn]) -> bool:
    return list(map(what_is_said, turns[: len(first)])) == list(map(what_is_said, first))


def _titled(text: str) -> str:
    return " ".join(text.split())[:_TITLE]
