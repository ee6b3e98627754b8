"""What the engine remembers about a session between calls.

After a restart, histories are rebuilt from what the caller sends; calibration, working memory and retired
tools come from the store. Only `save` and what it calls write to the store.
"""

from __future__ import annotations

from bisect import insort_left
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import attrgetter
from threading import Lock
from typing import Any

from compact.core.view import START, links, own_id, own_key
from compact.engine.caller_list import container_copy, objects_of, same
from compact.engine.history import History
from compact.engine.prompt_view import PromptView
from compact.engine.record_matcher import RecordMatcher
from compact.engine.size_cache import SizeCache
from compact.engine.staging import Staged
from compact.engine.system_prompt import Head, SystemPrompt
from compact.engine.working_memory import WorkingMemory, originals_before_note
from compact.errors import MalformedMessage, StoreError
from compact.formats import recognized, still_in
from compact.formats.recognition import ANY, narrow
from compact.model.message import Message, Role
from compact.model.plan import Limits
from compact.model.record import ArchivedStep, Record, RecordKind, archived_step
from compact.model.summary import Evidence
from compact.ports import Format, RecordIndex, Remembers, SessionMemory, Store

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
        self.prompt = SystemPrompt(sizes, partial(store.records, session_id), self._records_that_put)
        self.floor: tuple[int, int] | None = None
        self.limits: tuple[tuple[int, int, float], Limits] | None = None
        self.failed_fold: tuple[str, int] | None = None
        """The record and the number of turns when an optional summary last failed."""
        self.staged: Staged | None = None
        """A summary that was made before its compaction is due."""
        self.steps = 0
        self.revision = 0
        self.undone_version = 0
        """The highest version among the summaries that were undone."""
        self._store = store
        self._size_of = sizes.of_message
        self._policy_key = policy_key
        self._pinned_roles = pinned_roles
        self._provider = provider
        self._histories: list[History] = []
        self._format: Format | None = None
        """Of the newest list."""
        self._notes = WorkingMemory()
        self._new_notes: list[tuple[bytes, str]] = []
        """Those that the store does not have yet."""
        self._revoked: set[str] = set()
        self._learned: set[str] = set()
        """Records that came since this session was opened."""
        self._newest: str | None = None
        """The newest known record: the next look begins after it."""
        self._archived: list[ArchivedStep] = []
        """By how far they reach; of two that reach equally far, the older one comes last."""
        self._saved = store.memory(session_id) if isinstance(store, Remembers) else SessionMemory()
        self.scale = self._saved.scale
        """The provider's count divided by ours, as last observed."""
        self.retired_tools = self._saved.retired_tools
        """Discovered tools that no kept message referred to at the last compaction (S2.17)."""
        self._saved_head: list[Any] = list(self._saved.head)
        """The leading system messages that the store has."""
        self._notes.enter_all(self._saved.notes)
        self._open()

    def retire_tools(self, names: frozenset[str]) -> None:
        """These discovered tools are off the list until a message refers to them again."""
        self.retired_tools = names

    def head_objects(self) -> list[Any]:
        """The caller's leading system messages, as any process last stored them."""
        self.reload()
        seen = self.prompt.head
        if self._format is not None and seen.equals(self._saved_head, self._format):
            return objects_of(seen.messages)
        return list(map(container_copy, self._saved_head))

    # -- records -------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Read the totals of the records; those that apply are found by what the caller sends."""
        if isinstance(self._store, RecordIndex):
            known = self._store.record_state(self.id)
            self._newest, self.steps, self.revision = known.newest, known.steps, known.revision
            self.undone_version = known.undone_version
            self._revoked.update(known.revoked)
            self._archived += [known.archived] if known.archived is not None else []
        else:
            self.catch_up()

    def catch_up(self) -> bool:
        """Read what other processes have committed since: steps, summaries, restores and their data.

        Returns whether the histories have to be read again.
        """
        news = False
        for record in self._store.records(self.id, after=self._newest):
            self._newest = record.id
            if record.id not in self._learned:
                self.learn(record)
                news = True
        return news and self.reload()

    def reload(self) -> bool:
        """Read what other processes made the session remember; returns whether working memory is among it.

        Not at every call: with their compactions, and if a list shows that there must be something.
        """
        if not isinstance(self._store, Remembers):
            return False
        saved = self._store.memory(self.id)
        if self.scale == self._saved.scale:
            # What was observed here and is not stored yet is newer.
            self.scale = saved.scale
        self.retired_tools = saved.retired_tools
        self._saved, self._saved_head = saved, list(saved.head)
        return self._notes.enter_all(saved.notes)

    def archived(self, history: History) -> ArchivedStep | None:
        """The step whose transcript covers most of this history, even if it was undone since."""
        first, end = history.first_position, history.length
        for step in reversed(self._archived):
            if first <= step.reached <= end and history.source_at(step.reached) == step.key:
                return step
        return None

    def learn(self, record: Record) -> None:
        self._learned.add(record.id)
        if (archived := archived_step(record)) is not None:
            insort_left(self._archived, archived, key=attrgetter("reached"))
        self.steps = max(self.steps, record.step)
        if record.kind is RecordKind.RESTORE and record.revokes is not None:
            self._revoked.add(record.revokes)
            self.revision = max(self.revision, record.revision)
            self.undone_version = max(self.undone_version, record.version)
        self.prompt.exclude(record)

    def own_copy(self, record: Record, history: History, ledger: tuple[Evidence, ...]) -> Record:
        """The record as this session's own, if another session with the same history made it.

        With a copy, a fork has its own summary, can undo it alone, and keeps it when the other is deleted. If
        the copy is the first record here, it holds the whole `ledger`.
        """
        if record.session_id == self.id:
            return record
        parent = own_id(record.parent, self.id) if record.parent else None
        mine = {one.id for one in self._store.records(self.id)} if parent else set()
        return replace(
            record,
            evidence=record.evidence if parent in mine else ledger,
            id=own_id(record.id, self.id),
            session_id=self.id,
            policy_hash=own_key(record.policy_hash, self.id),
            parent=parent if parent in mine else None,
            step=self.steps + 1,
            reached=history.length,
            reached_key=history.source_at(history.length),
        )

    def _records_that_put(self, messages: Sequence[Message]) -> list[Record]:
        """Records of any session whose output this list begins with."""
        found = self._store.find(links(START, messages))
        return [record for key, records in found.items() for record in records if record.output == key]

    def _is_news(self, record: Record) -> bool:
        """Whether another process made it after this session was opened here."""
        return record.session_id == self.id and record.id != self._newest and record.id not in self._learned

    def is_borrowed(self, history: History) -> bool:
        """Whether the history continues from a record that another session made."""
        return history.base is not None and history.base.session_id != self.id

    def _bring_over(self, history: History) -> bool:
        """Store the originals behind a list that another session's record shortened, if they are known."""
        record = history.base
        if record is None or history.has_all:
            return True
        originals = list(islice(self._store.originals(record.session_id), record.source_length))
        keys = links(START, originals)
        if keys[-1:] != [record.source]:
            return False
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
        history, head = self._known(messages, named, thorough)
        remembered = None
        if history is not None and self._is_undone(history, len(messages) - len(head.source)):
            # Undone since: find out again what the list represents.
            self._histories = []
            history = None
        if history is None:
            self._format, possible = (
                (named, ANY) if named is not None else recognized(messages, self._provider)
            )
            head = self.prompt.read_anew(messages, self._format)
            history = self._new(self._format, possible)
        known, base = len(head.source) + len(history.caller.copies), history.base
        if self._histories and history not in self._histories:
            before = self._histories[0]
            # A list that came back is mostly known; one that was cut or edited has little to be decoded.
            if (
                before.possible == history.possible
                and len(messages) - known > len(before.caller.copies) // 16
            ):
                remembered = before.caller.remembered()
        # Another history of this session may have been compacted since.
        history.catch_up(len(self._learned))
        if known < len(messages) or history not in self._histories:
            # One that fails on the way is left out: the next call brings the same messages again.
            place = self._histories.index(history) if history in self._histories else None
            self._histories = [other for other in self._histories if other is not history]
            history.extend(messages[known:], known, remembered)
            if self._is_outdated(history, base):
                self._histories = []
                return self.history_for(messages, named, True)
            if history.base is not None:
                # Another session's summary is not a system prompt here either.
                self.prompt.exclude(history.base)
            # Looking changes no order: a history that was only looked at comes last.
            place = min(len(self._histories), _HISTORIES_KEPT - 1) if place is None else place
            self._histories.insert(place, history)
            del self._histories[_HISTORIES_KEPT:]
        return history, head

    def _is_undone(self, history: History, count: int) -> bool:
        """Whether what this list of `count` messages begins with is no longer in force.

        New messages check the store for undos by other processes on their way; an identical list does so
        here. If the store cannot answer, what is known counts: nothing else of such a call needs the store.
        """
        if history.base is None or history.is_undone or count > len(history.caller.copies):
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
        return ((found is not None and self._is_news(found)) or history.has_unknown_note) and self.reload()

    def _was_undone(self, history: History, found: Record) -> bool:
        """Whether another process undid a record of this session, and it is not known here yet."""
        is_own = found.session_id == self.id and not history.is_undone
        return is_own and history.matcher.was_undone(found)

    def _known(
        self, messages: list[Any], named: Format | None, thorough: bool
    ) -> tuple[History | None, Head]:
        """The history that this list continues or forks from, if it is in that history's format."""
        none = None, Head()
        if self._format is None:
            return none
        try:
            head = self.prompt.read(messages, self._format)
        except MalformedMessage:
            # By the rules of the session's last format; it may be in another now.
            return none
        count = len(head.source)
        history = self._continued(messages, count, thorough) or self._forked(messages, count, named)
        if history is None:
            return none
        known = count + len(history.caller.copies)
        if named is None and known < len(messages):
            possible = still_in(history.format, history.possible, messages[known:], known)
            if not possible:
                # Plain messages fit several formats; now one showed which it is. If none does, reading the
                # list again says what is wrong.
                return none
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
        matcher = RecordMatcher(self._store, self._policy_key, self._revoked, self.id)
        view = PromptView(self._pinned_roles)
        return History(self._store, self._size_of, self._notes, matcher, format, possible, view)

    def with_note(self, history: History, text: str) -> History:
        """Insert working memory as conversation: before an unanswered message or step, else at the end.

        Does nothing if it is the newest that this history has.
        """
        if self._is_newest_note(text, history):
            return history
        if self.reload():
            history = self._read_again(history)
            if self._is_newest_note(text, history):
                return history
        key = history.source_at(originals_before_note(history.since_offset(), history.length))
        self._new_notes.append((key, text))
        self._notes.enter(key, text)
        return self._read_again(history)

    def _is_newest_note(self, text: str, history: History) -> bool:
        return history.view.note is not None and history.view.note is self._notes.with_text(text)

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
        length = history.length
        if history.stored < length or (verify and length):
            fresh, keys = history.not_stored()
            start = length - len(fresh)
            self._store.append(
                self.id,
                start,
                fresh,
                previous=history.source_at(start),
                format=history.format.name,
                sizes=list(map(self._size_of, fresh)),
                keys=keys,
                **({"detached": True} if detached else {}),
            )
            history.stored = length
        if length:
            # A session begins with its first message; until then there is nothing to remember it with.
            self.save_memory()

    def save_memory(self) -> None:
        saved, head = self._saved, self.prompt.head.source
        if self.scale != saved.scale:
            self._remember(scale=self.scale)
        if self.retired_tools != saved.retired_tools:
            self._remember(retired_tools=self.retired_tools)
        # Leading system messages are not part of the history, but a restored list begins with them.
        if head is not self._saved_head and not same(head, self._saved_head):
            self._remember(head=head)
            self._saved_head = head
        while self._new_notes:
            self._remember(note=self._new_notes[0])
            del self._new_notes[0]

    def _remember(self, **changes: Any) -> None:
        """Keep this for the next process that opens the session; see `Remembers`."""
        if isinstance(self._store, Remembers):
            self._store.remember(self.id, **changes)
        if changes.keys() & {"scale", "retired_tools"}:
            self._saved = replace(self._saved, **changes)


def _common_prefix(one: Sequence[Any], other: Sequence[Any]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if not same(left, right):
            break
        count += 1
    return count
