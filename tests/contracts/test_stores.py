"""The store contract on memory, SQLite and PostgreSQL, and what only databases promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from compact.core.view import handle
from compact.errors import StoreError
from compact.formats import by_name, decode_all
from compact.model.event import EventName
from compact.model.message import Message, MessageKind, Role, make
from compact.model.record import Cleared, Injected, Kept, RecordKind
from compact.ports import Store
from compact.stores import open_store
from compact.stores.memory import MemoryStore
from compact.stores.sql import SqlStore
from compact.testing.stores import StoreContract, a_record, begun, digests, keep, talk
from compact.testing.threads import ThreadsContract, ThreadStore
from support.raw import step
from unit.formats import samples


class TestMemoryStore(StoreContract, ThreadsContract):
    def make_store(self) -> Store:
        return MemoryStore()

    def make_threads(self, clock: Callable[[], float]) -> ThreadStore:
        return MemoryStore(clock=clock)


SAMPLES: dict[str, Callable[[], list[Any]]] = {
    "openai-chat": samples.chat,
    "openai-responses": samples.responses,
    "anthropic": samples.anthropic,
    "ai-sdk-ui": samples.ui,
    "ai-sdk-model": samples.model,
}


def stored(store: Store, messages: list[Message], format: str = "openai-chat", session: str = "s") -> None:
    store.append(session, 0, messages, format=format, sizes=[10 * (n + 1) for n in range(len(messages))])


class DatabaseContract(StoreContract, ThreadsContract):
    """What a database promises on top: all of it is there after a restart."""

    kind: str

    @pytest.fixture(autouse=True)
    def _database(self, new_database: Callable[[str], str]) -> Iterator[None]:
        self.url = new_database(self.kind)
        self.opened: list[SqlStore] = []
        yield
        for store in self.opened:
            store.close()

    def make_store(self, **options: Any) -> SqlStore:
        store = open_store(self.url, **options)
        self.opened.append(store)
        return store

    def make_threads(self, clock: Callable[[], float]) -> ThreadStore:
        return self.make_store(clock=clock)

    @pytest.mark.parametrize("format", SAMPLES)
    def test_every_format_comes_back_byte_for_byte(self, format: str) -> None:
        raw = SAMPLES[format]()
        messages = decode_all(raw, by_name(format))
        stored(self.make_store(), messages, format)
        back = list(self.make_store().originals("s"))
        assert digests(back) == digests(messages)
        assert by_name(format).encode(back) == raw
        assert [m.protected for m in back] == [m.protected for m in messages]
        # From anywhere, also from the middle of an object.
        for start in range(len(messages)):
            assert digests(self.opened[1].originals("s", start)) == digests(messages[start:])

    def test_an_object_that_grew_comes_back_as_it_last_was(self) -> None:
        raw = samples.ui()
        at = next(n for n, item in enumerate(raw) if len(by_name("ai-sdk-ui").decode(item, n)) > 1)
        before = [*raw[:at], {**raw[at], "parts": raw[at]["parts"][:-1]}]
        store, format = self.make_store(), by_name("ai-sdk-ui")
        stored(store, decode_all(before, format), "ai-sdk-ui")
        messages = decode_all(raw, format)
        stored(store, messages, "ai-sdk-ui")
        assert format.encode(list(store.originals("s"))) == raw

    @pytest.mark.parametrize(
        "text", ["nul \0 nul", "half \ud83d pair", "\x01json:1", "☃ 漢字 🜚", "'; --", ""]
    )
    def test_texts_that_databases_do_not_like(self, text: str) -> None:
        store = self.make_store()
        store.put_space(f"space {text}", text, text)
        stored(store, talk(text, "plain"), session=f"id {text}")
        store.put_session(f"id {text}", space=f"space {text}", title=text)
        store.commit(a_record("r1", f"id {text}", summary=text))
        other = self.make_store()
        assert [m.text for m in other.originals(f"id {text}")] == [text, "plain"]
        thread, space = other.session(f"id {text}"), other.space(f"space {text}")
        assert thread is not None and thread.title == text and thread.space == f"space {text}"
        assert space is not None and space.custom_instructions == text
        assert other.records(f"id {text}")[0].summary == text
        assert isinstance(other.search(f"id {text}", text), list)

    @pytest.mark.parametrize(
        "value", [{("a", "tuple"): 1}, 10**5_000, {b"bytes": 1}], ids=["tuple", "huge", "bytes"]
    )
    def test_what_json_cannot_hold_is_refused_in_words(self, value: Any) -> None:
        store = self.make_store()
        stored(store, talk("one"))
        bad = decode_all(
            [{"role": "user", "content": "two", "meta": {"value": value}}], by_name("openai-chat")
        )
        with pytest.raises(StoreError, match=r"cannot be stored as JSON.*Nothing was stored"):
            keep(store, "s", 1, bad, talk("one"))
        with pytest.raises(StoreError, match="cannot be stored as JSON"):
            store.remember("s", head=[value])
        with pytest.raises(StoreError, match=r"settings.*cannot be stored as JSON"):
            store.put_session("s", settings={"value": value})
        with pytest.raises(StoreError, match="cannot be stored as JSON"):
            store.add_event("s", EventName.WARNING, {"value": value})
        assert [message.text for message in store.originals("s")] == ["one"]

    def test_a_summary_is_stored_once_with_its_record(self) -> None:
        store, summary = begun(self.make_store()), "What was said, at length. " * 400
        said = f"<COMPACT-SUMMARY v1>\n{summary}\n</COMPACT-SUMMARY>"
        message = make(MessageKind.SUMMARY, Role.ASSISTANT, said)
        store.commit(a_record("r1", summary=summary, entries=(Kept(0), Injected(message))))
        (entry,) = self.make_store().records("s")[0].entries[1:]
        assert isinstance(entry, Injected) and entry.message.text == said
        assert entry.message.digest == message.digest
        [(length,)] = self.rows("SELECT length(entries) FROM compaction_records")
        assert length < 200

    def test_events_do_not_repeat_the_summary_of_their_record(self) -> None:
        store, summary = begun(self.make_store()), "What was said, at length. " * 400
        store.commit(a_record("r1", summary=summary))
        store.add_event("s", EventName.COMPLETE, {"summary": summary, "tokensAfter": 5})
        store.add_event("s", EventName.SUMMARY_CREATED, {"summary": "another one"})
        [(length,), _] = self.rows("SELECT length(data) FROM events ORDER BY sequence")
        assert length < 100
        store.commit(a_record("r2", summary="newer"))
        again = self.make_store()
        complete, created = again.events("s")
        assert complete.data == {"summary": summary, "tokensAfter": 5}
        assert created.data == {"summary": "another one"}
        assert again.last_event("s", EventName.COMPLETE) == complete

    def test_a_session_id_has_an_end(self) -> None:
        for wrong in ("", "x" * 1_001):
            with pytest.raises(StoreError, match="1 to 1000 characters"):
                stored(self.make_store(), talk("one"), session=wrong)

    def test_tenants_never_meet(self) -> None:
        one, other = self.make_store(tenant="one"), self.make_store(tenant="other")
        stored(one, talk("mine", "secret"))
        one.commit(a_record("r1", source=b"key"))
        assert list(other.originals("s")) == [] and other.find([b"key"]) == {}
        assert other.search("s", "secret") == [] and other.sessions() == []
        begun(other)
        assert other.commit(a_record("r1", source=b"key")).id == "r1"
        assert len(other.records("s")) == len(one.records("s")) == 1

    def test_parts_carry_tokens_and_what_was_cleared(self) -> None:
        store = self.make_store()
        messages = decode_all([*step(1), *step(2)], by_name("openai-chat"))
        (result,) = messages[1].results
        entry = Cleared(1, (result.call_id,), (100,), (handle(result),))
        stored(store, messages)
        store.commit(a_record("r1", entries=(entry,), created_at=5.0))
        parts = self.rows("SELECT type, tokens, compacted_at, handle FROM message_parts ORDER BY id")
        assert [part[0] for part in parts] == ["tool-call", "tool-result"] * 2
        assert [part[1] for part in parts] == [10, 20, 30, 40]
        assert [part[2] for part in parts] == [None, 5.0, None, None]
        assert parts[1][3] == handle(result)
        undo = a_record("undo", kind=RecordKind.RESTORE, revokes="r1", entries=(), source=b"u")
        store.commit(undo)
        assert [part[2] for part in self.rows("SELECT type, tokens, compacted_at FROM message_parts")] == [
            None
        ] * 4

    def test_a_deleted_session_takes_all_that_is_its_own(self) -> None:
        store = self.make_store()
        stored(store, talk("one needle", "two"))
        stored(store, talk("three needle"), session="t")
        store.commit(a_record("r1"))
        store.add_event("s", EventName.WARNING, {})
        assert store.delete_session("s") and not store.delete_session("s")
        for table in ("messages", "message_parts", "line_segments"):
            assert len(self.rows(f"SELECT session_id FROM {table}")) == 1
        for table in ("compaction_records", "events"):
            assert self.rows(f"SELECT session_id FROM {table}") == []
        stored(store, talk("one needle again"))
        assert [hit.message.text for hit in store.search("s", "needle")] == ["one needle again"]

    def rows(self, query: str) -> list[Any]:
        from sqlalchemy import text

        with self.opened[0].database.reading() as connection:
            return list(connection.execute(text(query)).all())


class TestSqlite(DatabaseContract):
    kind = "sqlite"


class TestPostgresql(DatabaseContract):
    kind = "postgresql"
