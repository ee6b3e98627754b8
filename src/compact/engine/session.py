"""What the engine remembers of a session between calls.

After a restart lines are rebuilt from what the caller sends; calibration, working memory and retired tools
come from the store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from threading import Lock
from typing import Any

from compact.core.boundaries import GroupKind, groups
from compact.core.render import disarm
from compact.core.view import START, links, own_id, own_key
from compact.engine.fitting import Fitting
from compact.engine.leading import Head, Leading
from compact.engine.line import Line
from compact.errors import MalformedMessage
from compact.formats import by_name
from compact.formats.recognition import ANY, narrow, preferred
from compact.model.message import Message, MessageKind, Role, make
from compact.model.plan import Limits
from compact.model.record import Record, RecordKind
from compact.ports import Format, Remembers, Store

_LINES_KEPT = 4
"""A session has few histories at a time: the full one, the adopted one, a fork or two."""


class Session:
    """Lines, calibration and notes of one session id. Guard with `lock`, never across a model call."""

    def __init__(
        self, session_id: str, store: Store, size_of: Callable[[Message], int], policy_key: str = ""
    ) -> None:
        self.id = session_id
        self.lock = Lock()
        self.scale = 1.0
        """Provider's count over ours, as last observed."""
        self.leading = Leading(size_of)
        self.floor: tuple[int, int] | None = None
        self.limits: tuple[tuple[int, int, float], Limits] | None = None
        self.system_key: Any = None
        self.tools_key: Any = None
        self._store = store
        self._size_of = size_of
        self._policy_key = policy_key
        self._lines: list[Line] = []
        self._notes: dict[bytes, Message] = {}
        self._notes_by_digest: dict[bytes, Message] = {}
        self._notes_by_text: dict[str, Message] = {}
        self.failed_fold: tuple[str, int] | None = None
        """The record and the number of turns when a summary that could wait failed last."""
        self.format: Format | None = None
        self.retired_tools: frozenset[str] = frozenset()
        """Discovered tools that no kept message referred to at the last compaction (S2.17)."""
        self._revoked: set[str] = set()
        self._learned: set[str] = set()
        self.steps = 0
        self.revision = 0
        self.kept_head: list[Any] = []
        """The leading system messages that the store has."""
        self.catch_up()
        if isinstance(store, Remembers):
            known = store.memory(session_id)
            self.scale, self.retired_tools, self.kept_head = known.scale, known.retired_tools, [*known.head]
            for key, text in known.notes:
                self._enter_note(key, text)

    def catch_up(self) -> None:
        """Learn what other processes committed: steps, summaries, restores."""
        for record in self._store.records(self.id):
            if record.id not in self._learned:
                self.learn(record)

    def remember(self, **changes: Any) -> None:
        """Keep this for whoever goes on with the session; see `Remembers`."""
        if isinstance(self._store, Remembers):
            self._store.remember(self.id, **changes)

    def calibrate(self, scale: float) -> None:
        if scale != self.scale:
            self.remember(scale=scale)
            self.scale = scale

    def retire(self, tools: frozenset[str]) -> None:
        if tools != self.retired_tools:
            self.remember(retired_tools=tools)
            self.retired_tools = tools

    def keep_head(self) -> None:
        """Leading system messages are no part of the history, but a restored list begins with them."""
        source = self.leading.head.source
        if source is not self.kept_head and source != self.kept_head:
            self.remember(head=source)
            self.kept_head = source

    def learn(self, record: Record) -> None:
        self._learned.add(record.id)
        self.steps = max(self.steps, record.step)
        if record.kind is RecordKind.RESTORE and record.revokes is not None:
            self._revoked.add(record.revokes)
            self.revision = max(self.revision, record.revision)
        self.leading.note(record)

    def forget_lines(self) -> None:
        self._lines.clear()

    def line_for(
        self, messages: list[Any], named: Format | None, thorough: bool = True, quiet: bool = False
    ) -> tuple[Line, Format]:
        """The remembered line that this list continues, brought up to it; a new one where there is none."""
        line, head = self._known_line(messages, named, thorough)
        remembered = None
        if line is None:
            possible = ANY if named is not None else narrow(ANY, messages, 0)
            self.format = named or by_name(preferred(possible))
            self.leading.head = Head()
            head = self.leading.split(messages, self.format)
            line = self._new_line()
            line.possible = possible
            if self._lines and self._lines[0].possible == possible:
                remembered = self._lines[0].given.remembered()
        assert self.format is not None
        line.format_name = self.format.name
        known = head + len(line.given.copies)
        if line.records_known != len(self._learned):
            # Another line of this session was compacted, or a compaction of it was undone.
            line.refresh()
            line.records_known = len(self._learned)
        if known == len(messages) and self._lines and self._lines[0] is line:
            return line, self.format
        others = [other for other in self._lines if other is not line]
        # A store that fails leaves this line out: the next call brings the same messages again.
        self._lines = others
        fresh = line.extend(messages[known:], self.format, known, remembered)
        if line.undone:
            self.catch_up()
            self._lines = []
            return self.line_for(messages, named)
        if line.base is not None and line.base.session_id != self.id:
            self._take_over(line, line.base, quiet)
        if fresh:
            self._keep(line, fresh)
        self._lines = [line, *others[: _LINES_KEPT - 1]]
        return line, self.format

    def _known_line(
        self, messages: list[Any], named: Format | None, thorough: bool
    ) -> tuple[Line | None, int]:
        """The line that this list continues or forks from, where it is in that line's format."""
        if self.format is None:
            return None, 0
        try:
            head = self.leading.split(messages, self.format)
        except MalformedMessage:
            # By the rules of the format that the session had last; it may be in another now.
            return None, 0
        line = self._continued(messages, head, thorough) or self._forked(messages, head, named)
        if line is None:
            return None, 0
        known = head + len(line.given.copies)
        if named is None:
            line.possible = narrow(line.possible, messages[known:], known)
        format_name = named.name if named is not None else preferred(line.possible)
        if format_name != line.format_name:
            # Plain messages fit several formats; now one showed which it is.
            return None, 0
        self.format = named or by_name(format_name)
        return line, head

    def _take_over(self, line: Line, record: Record, quiet: bool) -> None:
        """Go on from the record of another session that has, or had, the same history."""
        # Its summaries are no system prompt here either.
        self.leading.note(record)
        if (line.has_all or self._bring_over(record)) and not quiet:
            line.base = self.own(record)

    def _bring_over(self, record: Record) -> bool:
        """Keep the originals behind a list that another session's record shortened, if they are known."""
        originals = list(islice(self._store.originals(record.session_id), record.source_length))
        keys = links(START, originals)
        if keys[-1:] != [record.source]:
            return False
        sizes = list(map(self._size_of, originals))
        self._store.append(self.id, 0, originals, format=self.format_name, sizes=sizes, keys=keys)
        return True

    def own(self, record: Record) -> Record:
        """The record, or this session's copy where another session with the same history made it.

        With a copy a fork has its summary itself, can undo it alone, and keeps it when the other is deleted.
        """
        if record.session_id != self.id:
            parent = own_id(record.parent, self.id) if record.parent else None
            copy = replace(
                record,
                id=own_id(record.id, self.id),
                session_id=self.id,
                policy_hash=own_key(record.policy_hash, self.id),
                parent=parent if parent in self._learned else None,
                step=self.steps + 1,
            )
            record = self._store.commit(copy)
        if record.id not in self._learned:
            self.learn(record)
        return record

    def _keep(self, line: Line, fresh: Sequence[Message]) -> None:
        start = line.length - len(fresh)
        self._store.append(
            self.id,
            start,
            fresh,
            previous=line.source_at(start),
            format=self.format_name,
            sizes=list(map(self._size_of, fresh)),
            keys=line.keys_from(start),
        )

    @property
    def format_name(self) -> str:
        return self.format.name if self.format is not None else ""

    def _continued(self, messages: list[Any], head: int, thorough: bool) -> Line | None:
        for line in self._lines:
            if line.continues(messages, head, thorough):
                return line
        return None

    def _forked(self, messages: list[Any], head: int, named: Format | None) -> Line | None:
        """A new line from the longest common prefix, so that a retry decodes only what changed."""
        best, shared, body = None, 0, messages[head:]
        for line in self._lines:
            common = _common_prefix(body, line.given.copies)
            if common > shared:
                best, shared = line, common
        if best is None:
            return None
        line = self._new_line()
        # Not what the whole line was narrowed to: what differs may be in another format.
        line.possible = best.possible if named is not None else narrow(ANY, messages[: head + shared], 0)
        line.repeat(best, shared)
        return line

    def _new_line(self) -> Line:
        fitting = Fitting(self._store, self._policy_key, self._revoked, self.id)
        return Line(self._store, self._size_of, self._notes, self._notes_by_digest, fitting)

    def _enter_note(self, key: bytes, text: str) -> None:
        note = self._notes_by_text.get(text)
        if note is None:
            said = f"<WORKING-MEMORY>\n{disarm(text)}\n</WORKING-MEMORY>"
            note = self._notes_by_text[text] = make(MessageKind.CONTEXT, Role.USER, said)
        self._notes[key] = self._notes_by_digest[note.digest] = note

    def with_note(self, line: Line, text: str) -> Line:
        """Enter working memory as conversation: before an unanswered message or step, else at the end.

        Nothing where it is the newest that this line has.
        """
        if line.note is not None and line.note is self._notes_by_text.get(text):
            return line
        key = line.source_at(_note_position(line))
        self.remember(note=(key, text))
        self._enter_note(key, text)
        rebuilt = self._new_line()
        rebuilt.possible = line.possible
        rebuilt.repeat(line, len(line.given.copies))
        self._lines = [rebuilt, *(other for other in self._lines if other is not line)]
        return rebuilt


def _note_position(line: Line) -> int:
    """How many originals stand before a note: it never parts a call from its results."""
    since = line.since_base()
    found = groups(since)
    if not found:
        return line.length
    last = found[-1]
    members = since[last.start : last.stop]
    asked = {call.call_id for message in members for call in message.calls}
    answered = {result.call_id for message in members for result in message.results}
    waiting = last.kind is GroupKind.USER or bool(asked - answered)
    return line.length - len(since) + (last.start if waiting else last.stop)


def _common_prefix(one: Sequence[Any], other: Sequence[Any]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
