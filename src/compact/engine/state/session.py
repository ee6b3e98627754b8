"""What the engine remembers about a session between calls.

After a restart, histories are rebuilt from what the caller sends; calibration, working memory and retired
tools come from the store. Only `save` and what it calls write to the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any

from compact.core.staging import Staged
from compact.engine.state.caller_list import Remembered, container_copy, objects_of, same
from compact.engine.state.history import History
from compact.engine.state.prompt_view import PromptView
from compact.engine.state.record_matcher import RecordMatcher, originals_behind
from compact.engine.state.session_records import SessionRecords
from compact.engine.state.size_cache import SizeCache
from compact.engine.state.stored_memory import StoredMemory
from compact.engine.state.system_prompt import Head, SystemPrompt
from compact.engine.state.working_memory import originals_before_note
from compact.errors import MalformedMessage, StoreError
from compact.formats import recognized, still_in
from compact.formats.recognition import ANY, narrow
from compact.model.message import Role
from compact.model.plan import Limits
from compact.model.record import Record
from compact.ports import Format, RecordIndex, Store

_HISTORIES_KEPT = 4
"""A session has few histories at a time: the full one, the adopted one, a fork or two."""


class Session:
    """Histories, calibration and notes of one session id. Guard with `lock`, never across a model call."""

    def __init__(
        self,
        session_id: str,
        store: Store,
        sizes: SizeCache,
        policy_key: str,
        pinned_roles: Sequence[Role],
        provider: str,
    ) -> None:
        self.id = session_id
        self.lock = Lock()
        self.records = SessionRecords(session_id, store)
        self.memory = StoredMemory(session_id, store)
        self.prompt = SystemPrompt(sizes, partial(store.records, session_id), self.records.that_put)
        self.floor: tuple[int, int] | None = None
        self.limits: tuple[tuple[int, int, float], Limits] | None = None
        self.failed_fold: tuple[str, int] | None = None
        """The record and the number of turns when an optional summary last failed."""
        self.staged: Staged | None = None
        """A summary that was made before its compaction is due."""
        self._store = store
        self._size_of = sizes.of_message
        self._policy_key = policy_key
        self._pinned_roles = pinned_roles
        self._provider = provider
        self._histories: list[History] = []
        self._format: Format | None = None
        """Of the newest list."""
        if not isinstance(store, RecordIndex):
            self.catch_up()

    def head_objects(self) -> list[Any]:
        """The caller's leading system messages, as any process last stored them."""
        self.memory.reload()
        seen = self.prompt.head
        if self._format is not None and seen.equals(self.memory.head, self._format):
            return objects_of(seen.messages)
        return list(map(container_copy, self.memory.head))

    # -- records -------------------------------------------------------------------------------------------

    def catch_up(self) -> bool:
        """Read what other processes have committed since: steps, summaries, restores and their data.

        Returns whether the histories have to be read again.
        """
        news = self.records.unread()
        for record in news:
            self.learn(record)
        return bool(news) and self.memory.reload()

    def learn(self, record: Record) -> None:
        self.records.learn(record)
        self.prompt.exclude(record)

    def is_borrowed(self, history: History) -> bool:
        """Whether the history continues from a record that another session made."""
        return history.base is not None and history.base.session_id != self.id

    def _bring_over(self, history: History) -> bool:
        """Store the originals behind a list that another session's record shortened, if they are known."""
        record = history.base
        if record is None or history.has_all:
            return True
        found = originals_behind(record, self._store, record.session_id)
        if found is None:
            return False
        originals, keys = found
        sizes = list(map(self._size_of, originals))
        self._store.append(self.id, 0, originals, format=history.format.name, sizes=sizes, keys=keys)
        return True

    def expects_at_most(self, count: int, more: int) -> bool:
        """Whether at most `more` of a list of `count` messages are new to this session."""
        newest = self._histories[0] if self._histories else None
        known = len(newest.caller.copies) + len(self.prompt.head.source) if newest is not None else 0
        return count - known <= more

    # -- histories -----------------------------------------------------------------------------------------

    def forget_histories(self) -> None:
        self._histories.clear()

    def history_for(self, messages: list[Any], named: Format | None, thorough: bool) -> tuple[History, Head]:
        """The known history that this list continues, brought up to it; a new one if there is none."""
        found = self._known(messages, named, thorough)
        if found is not None and self._is_undone(found[0], len(messages) - len(found[1].source)):
            # Undone since: find out again what the list represents.
            self._histories = []
            found = None
        history, head = found or self._begun(messages, named)
        known, base = len(head.source) + len(history.caller.copies), history.base
        # Another history of this session may have been compacted since.
        history.catch_up(len(self.records.learned))
        if known < len(messages) or history not in self._histories:
            self._extend(history, messages[known:], known)
            if self._is_outdated(history, base):
                self._histories = []
                return self.history_for(messages, named, True)
            if history.base is not None:
                # Another session's summary is not a system prompt here either.
                self.prompt.exclude(history.base)
        return history, head

    def _begun(self, messages: list[Any], named: Format | None) -> tuple[History, Head]:
        """A new history for this list, and the list's head."""
        format, possible = (named, ANY) if named is not None else recognized(messages, self._provider)
        self._format = format
        head = self.prompt.read_anew(messages, format)
        return self._new(format, possible), head

    def _extend(self, history: History, fresh: Sequence[Any], first_index: int) -> None:
        """Add new messages, and keep the history.

        One that fails on the way is left out: the next call brings the same messages again.
        """
        is_known = history in self._histories
        remembered = None if is_known else self._decoded_before(history, len(fresh))
        try:
            history.extend(fresh, first_index, remembered)
        except BaseException:
            self._histories = [other for other in self._histories if other is not history]
            raise
        if not is_known:
            # Looking changes no order: a history that was only looked at comes last.
            self._histories = [*self._histories[: _HISTORIES_KEPT - 1], history]

    def _decoded_before(self, history: History, fresh: int) -> Remembered | None:
        """What the newest history decoded, by the identity of the caller's objects.

        A list that was returned is mostly known from there; one that was cut or edited has little to decode.
        """
        before = self._histories[0] if self._histories else None
        if before is None or before.possible != history.possible or fresh <= len(before.caller.copies) // 16:
            return None
        return before.caller.remembered()

    def _is_undone(self, history: History, count: int) -> bool:
        """Whether what this list of `count` messages begins with is no longer in force.

        New messages check the store for undos by other processes on their way; an identical list does so
        here. If the store cannot answer, what is known counts: nothing else of such a call needs the store.
        """
        if count > len(history.caller.copies) or history.base is None or history.is_undone:
            return history.is_undone
        try:
            was_undone = history.matcher.was_undone(history.base)
        except StoreError:
            return False
        if was_undone:
            self.catch_up()
        return history.is_undone

    def _is_outdated(self, history: History, base: Record | None) -> bool:
        """Whether other processes did something that affects how this list is read; it is known then."""
        found = history.base if history.base is not base else None
        if history.base_was_undone or (found is not None and self._was_undone(history, found)):
            self.catch_up()
            return True
        is_news = found is not None and self.records.is_news(found)
        return (is_news or history.has_unknown_note) and self.memory.reload()

    def _was_undone(self, history: History, found: Record) -> bool:
        """Whether another process undid a record of this session, and it is not known here yet."""
        is_own = found.session_id == self.id and not history.is_undone
        return is_own and history.matcher.was_undone(found)

    def _known(
        self, messages: list[Any], named: Format | None, thorough: bool
    ) -> tuple[History, Head] | None:
        """The history that this list continues or forks from, if it is in that history's format."""
        if self._format is None:
            return None
        try:
            head = self.prompt.read(messages, self._format)
        except MalformedMessage:
            # By the rules of the session's last format; it may be in another now.
            return None
        count = len(head.source)
        history = self._continued(messages, count, thorough) or self._forked(messages, count, named)
        if history is None:
            return None
        known = count + len(history.caller.copies)
        if named is None and known < len(messages):
            possible = still_in(history.format, history.possible, messages[known:], known)
            if not possible:
                # Plain messages fit several formats; now one showed which it is. If none does, reading the
                # list again says what is wrong.
                return None
            history.possible = possible
        self._format = history.format
        return history, head

    def _continued(self, messages: list[Any], head: int, thorough: bool) -> History | None:
        for history in self._histories:
            if history.continues(messages, head, thorough):
                return history
        return None

    def _forked(self, messages: list[Any], head: int, named: Format | None) -> History | None:
        """A new history from the longest common prefix, so that a retry decodes only what changed."""
        best, shared, body = None, 0, messages[head:]
        for history in self._histories:
            common = _common_prefix(body, history.caller.copies)
            if common > shared:
                best, shared = history, common
        if best is None:
            return None
        possible = best.possible
        if named is None and best.format.name in ANY:
            # Not what the whole history was narrowed to: the part that differs may be in another format.
            possible = narrow(ANY, messages[: head + shared], 0)
        forked = self._new(best.format, possible)
        forked.fork_from(best, shared)
        return forked

    def _new(self, format: Format, possible: frozenset[str]) -> History:
        matcher = RecordMatcher(self._store, self._policy_key, self.records.revoked, self.id)
        view = PromptView(self._pinned_roles)
        return History(self._store, self._size_of, self.memory.notes, matcher, format, possible, view)

    def with_note(self, history: History, text: str) -> History:
        """Insert working memory as conversation: before an unanswered message or step, else at the end.

        Does nothing if it is the newest that this history has.
        """
        if self._is_newest_note(text, history):
            return history
        if self.memory.reload():
            history = self._read_again(history)
            if self._is_newest_note(text, history):
                return history
        originals = history.originals
        key = originals.source_at(originals_before_note(originals.messages, originals.length))
        self.memory.add_note(key, text)
        return self._read_again(history)

    def _is_newest_note(self, text: str, history: History) -> bool:
        note = self.memory.notes.with_text(text)
        return note is not None and history.view.note == note.digest

    def _read_again(self, history: History) -> History:
        """The same list with the working memory known now."""
        rebuilt = self._new(history.format, history.possible)
        rebuilt.fork_from(history, len(history.caller.copies))
        self._histories = [rebuilt if other is history else other for other in self._histories]
        return rebuilt

    # -- the store -----------------------------------------------------------------------------------------

    def save(self, history: History, verify: bool = False, detached: bool = False) -> None:
        """Store what this history has and the store lacks, and what the session remembers.

        Raises HistoryGone if the store no longer holds what was stored before, because another process
        deleted the session. That is noticed if there is something to store, and always with `verify`.
        """
        if not self._histories or self._histories[0] is not history:
            self._histories = [history, *(other for other in self._histories if other is not history)]
        if self.is_borrowed(history) and not history.has_originals:
            history.has_originals = self._bring_over(history)
        length = history.originals.length
        if history.stored < length or (verify and length):
            fresh = history.originals.after(history.stored)
            previous, *keys = history.originals.keys_from(history.stored)
            self._store.append(
                self.id,
                length - len(fresh),
                fresh,
                previous=previous,
                format=history.format.name,
                sizes=list(map(self._size_of, fresh)),
                keys=keys,
                **({"detached": True} if detached else {}),
            )
            history.stored = length
        head = self.prompt.head.source
        # A session begins with its first message; until then there is nothing to remember it with.
        if length and (self.memory.is_unsaved or head is not self.memory.head):
            self.memory.save(head)

    def save_memory(self) -> None:
        self.memory.save(self.prompt.head.source)


def _common_prefix(one: Sequence[Any], other: Sequence[Any]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if not same(left, right):
            break
        count += 1
    return count
