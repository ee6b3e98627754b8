"""The contract of a store: subclass `StoreContract` to run it against your own store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeVar

from compact.core.view import START, chain
from compact.errors import HistoryGone
from compact.formats import by_name, decode_all
from compact.model.message import Message, MessageKind, Role, make
from compact.model.record import Cleared, Injected, Kept, Record, RecordKind
from compact.model.sections import Kept as Count
from compact.model.sections import Missing, SectionKind, Survival
from compact.model.summary import Evidence, EvidenceKind
from compact.ports import Store

AnyStore = TypeVar("AnyStore", bound=Store)


def talk(*texts: str) -> list[Message]:
    """A conversation of these texts, alternating between user and assistant."""
    roles = ("user", "assistant")
    raw = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    return decode_all(raw, by_name("openai-chat"))


def keep(
    store: Store, session: str, start: int, messages: Sequence[Message], before: Sequence[Message]
) -> None:
    """Append as the engine does; `before` is everything before these messages."""
    store.append(session, start, messages, previous=chain(before), format="openai-chat")


def digests(messages: Any) -> list[bytes]:
    return [message.digest for message in messages]


def a_record(id: str, session: str = "s", **more: Any) -> Record:
    """A record with a value in every field."""
    values: dict[str, Any] = {
        "id": id,
        "session_id": session,
        "kind": RecordKind.COMPACTION,
        "source": b"source-" + id.encode(),
        "source_length": 7,
        "output": b"output-" + id.encode(),
        "entries": (
            Kept(0),
            Injected(make(MessageKind.SUMMARY, Role.ASSISTANT, "<COMPACT-SUMMARY v1>\nß \x00 \ud83d\n")),
            Cleared(5, ("call_1", "call_2"), (100, 200)),
        ),
        "policy_hash": "p",
        "parent": "another",
        "version": 2,
        "step": 3,
        "reason": "overflow",
        "note": "keep the\0note",
        "strategy": "task_state",
        "summary": "What was said: ☃",
        "evidence": (Evidence(EvidenceKind.PATH, "src/a.py", 4, "read", 0.5, True),),
        "tokens_before": 900,
        "tokens_after": 90,
        "messages_replaced": 6,
        "outputs_cleared": 2,
        "dropped": 1,
        "created_at": 1_700_000_000.125,
        "reached": 9,
        "reached_key": b"reached-" + id.encode(),
        "kept": Survival(Count(2, 3), missing=(Missing(SectionKind.WORDS, "never on Fridays ☃", 4),)),
    }
    return Record(**{**values, **more})


def begun(store: AnyStore, *sessions: str) -> AnyStore:
    """The store with these sessions, one message each: a record or an event cannot begin a session."""
    for session in sessions or ("s",):
        keep(store, session, 0, talk("one"), [])
    return store


class StoreContract:
    """What every store must guarantee."""

    def make_store(self) -> Store:
        """An empty store."""
        raise NotImplementedError

    def test_originals_come_back_in_order_and_as_they_were(self) -> None:
        store, messages = self.make_store(), talk("one", "two", "three")
        keep(store, "s", 0, messages, [])
        back = list(store.originals("s"))
        assert digests(back) == digests(messages)
        assert [m.origin and m.origin.source for m in back] == [
            m.origin and m.origin.source for m in messages
        ]
        assert digests(store.originals("s", 1)) == digests(messages[1:])
        assert digests(store.originals("s", 1, 2)) == digests(messages[1:2])
        assert list(store.originals("another")) == []

    def test_a_message_is_kept_once_however_often_it_comes(self) -> None:
        store, messages = self.make_store(), talk("one", "two", "three", "four")
        keep(store, "s", 0, messages[:2], [])
        keep(store, "s", 0, messages, [])
        keep(store, "s", 1, messages[1:3], messages[:1])
        keep(store, "s", 0, messages[:1], [])
        assert digests(store.originals("s")) == digests(messages)

    def test_equal_messages_at_two_places_are_two(self) -> None:
        store, messages = self.make_store(), talk("go on", "done", "go on", "done")
        keep(store, "s", 0, messages[:2], [])
        keep(store, "s", 2, messages[2:], messages[:2])
        assert digests(store.originals("s")) == digests(messages)

    def test_a_fork_overwrites_nothing(self) -> None:
        store, first = self.make_store(), talk("one", "two", "three", "four")
        keep(store, "s", 0, first, [])
        second = first[:2] + talk("drei")
        keep(store, "s", 2, second[2:], first[:2])
        assert digests(store.originals("s")) == digests(second)
        third = [*second, *talk("vier", "fünf")]
        keep(store, "s", 3, third[3:], second)
        assert digests(store.originals("s")) == digests(third)
        # The caller returns to the first branch and continues it.
        longer = [*first, *talk("five")]
        keep(store, "s", 4, longer[4:], first)
        assert digests(store.originals("s")) == digests(longer)
        keep(store, "s", 0, third, [])
        assert digests(store.originals("s")) == digests(third)

    def test_a_fork_of_a_fork_and_one_from_the_very_start(self) -> None:
        store, lines = self.make_store(), [talk("a", "b", "c", "d")]
        lines.append(lines[0][:3] + talk("D", "E"))
        lines.append(lines[1][:1] + talk("bb"))
        lines.append(talk("entirely", "other"))
        for line in lines:
            keep(store, "s", 0, line, [])
            assert digests(store.originals("s")) == digests(line)
        for line in (lines[1], lines[3], lines[0], lines[2]):
            longer = [*line, *talk("more")]
            keep(store, "s", len(line), longer[len(line) :], line)
            assert digests(store.originals("s")) == digests(longer)

    def test_a_history_whose_beginning_is_elsewhere(self) -> None:
        store, messages = self.make_store(), talk("one", "two", "three", "four")
        store.append("s", 2, messages[2:], previous=chain(messages[:2]), format="openai-chat", detached=True)
        assert digests(store.originals("s")) == digests(messages[2:])
        assert digests(store.originals("s", 3)) == digests(messages[3:])
        # The same again, continued from there.
        longer = [*messages, *talk("five")]
        keep(store, "s", 2, longer[2:], longer[:2])
        keep(store, "s", 4, longer[4:], longer[:4])
        assert digests(store.originals("s")) == digests(longer[2:])

    def test_messages_after_what_is_not_there_are_refused(self) -> None:
        """For example after a deletion by another process; otherwise the history would have a gap."""
        store, messages = self.make_store(), talk("one", "two", "three", "four")
        for start in (1, 3, 4):
            _refused(store, start, messages[start:], messages[:start])
        keep(store, "s", 0, messages[:2], [])
        keep(store, "s", 2, [], messages[:2])
        _refused(store, 3, messages[3:], messages[:3])
        _refused(store, 2, messages[2:], [*messages[:1], *talk("another")])
        assert digests(store.originals("s")) == digests(messages[:2])

    def test_sessions_do_not_mix(self) -> None:
        store, messages = self.make_store(), talk("one", "two")
        keep(store, "s", 0, messages, [])
        keep(store, "t", 0, messages[:1], [])
        assert digests(store.originals("t")) == digests(messages[:1])

    def test_records_come_back_whole_and_in_order(self) -> None:
        store = begun(self.make_store())
        made = [a_record(f"r{n}", step=n, created_at=float(100 - n)) for n in range(1, 4)]
        for record in made:
            assert store.commit(record) == record
        assert [same_record(one, other) for one, other in zip(store.records("s"), made, strict=True)] == [
            True
        ] * 3
        assert list(store.records("t")) == []

    def test_of_two_equal_compactions_the_first_one_counts(self) -> None:
        store = begun(self.make_store(), "s", "t")
        first = store.commit(a_record("r1", source=b"same"))
        second = store.commit(a_record("r2", source=b"same", session="t"))
        assert second.id == first.id and same_record(second, first)
        assert [record.id for record in store.records("s")] == ["r1"]
        assert list(store.records("t")) == []
        assert store.commit(a_record("r3", source=b"same", revision=1)).id == "r3"
        assert store.commit(a_record("r4", source=b"same", policy_hash="q")).id == "r4"

    def test_records_are_found_by_what_they_replaced_and_by_what_stands_there(self) -> None:
        store = begun(self.make_store())
        for record in (a_record("r1", output=b"out"), a_record("r2", source=b"out"), a_record("r3")):
            store.commit(record)
        many = [f"nothing-{n}".encode() for n in range(1_000)]
        found = store.find([b"source-r1", *many, b"out", b"source-r3", b"output-r3"])
        assert {key: [record.id for record in records] for key, records in found.items()} == {
            b"source-r1": ["r1"],
            b"out": ["r1", "r2"],
            b"source-r3": ["r3"],
            b"output-r3": ["r3"],
        }
        assert store.find([]) == {} and store.find([START]) == {}

    def test_one_holds_the_lease_of_a_session(self) -> None:
        store = begun(self.make_store())
        with store.lease("s", 60) as first, store.lease("s", 60) as second, store.lease("t", 60) as other:
            assert (first, second, other) == (True, False, True)
        with store.lease("s", 60) as again:
            assert again

    def test_a_lease_lasts_as_long_as_its_holder_works(self) -> None:
        store = begun(self.make_store())
        # Renewed after each third of its time: long enough for a machine that is busy with other tests.
        with store.lease("s", 0.9) as granted:
            assert granted
            time.sleep(1.1)
            with store.lease("s", 60) as other:
                assert not other
        with store.lease("s", 60) as again:
            assert again

    def test_only_records_that_are_new_are_read(self) -> None:
        store = begun(self.make_store(), "s", "t")
        for n in range(1, 5):
            store.commit(a_record(f"r{n}"))
        store.commit(a_record("other", "t"))
        assert [record.id for record in store.records("s", after="r2")] == ["r3", "r4"]
        assert list(store.records("s", after="r4")) == []
        assert [record.id for record in store.records("s", after=None)] == ["r1", "r2", "r3", "r4"]
        # A record of another session, or one that no longer exists, cannot be continued.
        for unknown in ("other", "gone"):
            assert len(store.records("s", after=unknown)) == 4
        assert list(store.records("nobody", after="r1")) == []

    def test_what_is_not_there_is_begun_by_messages_alone(self) -> None:
        """A compaction or an event after a session's end does not bring the session back."""
        store = self.make_store()
        with store.lease("s", 60) as granted:
            assert granted
            try:
                store.commit(a_record("r1"))
            except HistoryGone as error:
                assert "Nothing was stored" in str(error)
            else:
                raise AssertionError("a record was stored without its session")
        assert list(store.records("s")) == [] and store.find([b"source-r1"]) == {}
        begun(store)
        assert store.commit(a_record("r1")).id == "r1"

    def test_a_prefix_sent_again_leaves_the_current_line(self) -> None:
        """Even if that prefix was first stored on a branch that was left since."""
        store, first = self.make_store(), talk("one", "two", "three", "four")
        keep(store, "s", 0, first, [])
        second = first[:2] + talk("drei", "vier")
        keep(store, "s", 0, second, [])
        for again in (1, 2, 3):
            keep(store, "s", 0, second[:again], [])
            assert digests(store.originals("s")) == digests(second)


def _refused(store: Store, start: int, messages: Sequence[Message], before: Sequence[Message]) -> None:
    held = digests(store.originals("s"))
    try:
        keep(store, "s", start, messages, before)
    except HistoryGone:
        assert digests(store.originals("s")) == held
    else:
        raise AssertionError("messages were stored though those before them are not there")


def same_record(one: Record, other: Record) -> bool:
    """Equal in everything a record says; our own messages are compared by text and reason."""

    def plain(record: Record) -> Any:
        entries = [
            (entry.message.digest, entry.message.kind, entry.message.role)
            if isinstance(entry, Injected)
            else entry
            for entry in record.entries
        ]
        return [getattr(record, name) for name in Record.__slots__ if name != "entries"], entries

    return bool(plain(one) == plain(other))
