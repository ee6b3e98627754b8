"""The contract of a store for front doors: subclass `ThreadsContract` to run it against your own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from compact.core.view import START, chain
from compact.errors import HistoryGone, StoreError
from compact.model.event import EventName
from compact.model.record import RecordKind
from compact.ports import Remembers, Store, Threads
from compact.testing.stores import a_record, begun, digests, keep, talk


class ThreadStore(Store, Threads, Protocol):
    """What the contract needs: messages and records, and the sessions they belong to."""


class ThreadsContract:
    """What every such store must guarantee."""

    def make_threads(self, clock: Callable[[], float]) -> ThreadStore:
        """An empty store that takes the time of its rows from this clock."""
        raise NotImplementedError

    def threads(self) -> ThreadStore:
        ticks = iter(range(1, 1_000_000))
        return self.make_threads(lambda: float(next(ticks)))

    def test_a_session_shows_what_is_in_it(self) -> None:
        store, messages = self.threads(), talk("one", "two", "three")
        assert store.session("s") is None
        store.append("s", 0, messages, sizes=[10, 20, 30], format="openai-chat")
        store.commit(a_record("r1", summary="first", created_at=100.0))
        store.commit(a_record("r2", summary="first", created_at=200.0))
        thread = store.session("s")
        assert thread is not None
        assert (thread.session_id, thread.message_count, thread.tokens) == ("s", 3, 60)
        assert (thread.summary, thread.summary_updated_at) == ("first", 100.0)
        assert (thread.compaction_count, thread.last_compaction_at) == (2, 200.0)
        assert (thread.title, thread.space, dict(thread.settings)) == ("", None, {})
        assert not thread.currently_compacting
        with store.lease("s", 60):
            compacting = store.session("s")
            assert compacting is not None and compacting.currently_compacting

    def test_the_summary_is_that_of_the_compaction_in_force(self) -> None:
        store = begun(self.threads())
        store.commit(a_record("r1", summary="first", created_at=100.0))
        store.commit(a_record("r2", summary="second", created_at=200.0))
        undo: dict[str, Any] = {"kind": RecordKind.RESTORE, "summary": "", "entries": ()}
        store.commit(a_record("undo", revokes="r2", **undo))
        self._summary_is(store, "first", 100.0)
        store.commit(a_record("r3", kind=RecordKind.CLEAR, summary="", entries=()))
        self._summary_is(store, None, None)
        store.commit(a_record("undo-clear", revokes="r3", **undo))
        self._summary_is(store, "first", 100.0)
        store.commit(a_record("undo-first", revokes="r1", **undo))
        self._summary_is(store, None, None)

    def test_only_compactions_in_force_are_counted(self) -> None:
        store = begun(self.threads())
        store.commit(a_record("r1", summary="first", created_at=100.0))
        store.commit(a_record("r2", summary="second", created_at=200.0))
        undo: dict[str, Any] = {"kind": RecordKind.RESTORE, "summary": "", "entries": ()}
        store.commit(a_record("undo", revokes="r2", **undo))
        self._counts(store, 1, 100.0)
        store.commit(a_record("r3", summary="third", created_at=300.0))
        self._counts(store, 2, 300.0)
        store.commit(a_record("undo-third", revokes="r3", **undo))
        store.commit(a_record("undo-first", revokes="r1", **undo))
        self._counts(store, 0, None)

    def _counts(self, store: ThreadStore, count: int, at: float | None) -> None:
        thread = store.session("s")
        assert thread is not None and (thread.compaction_count, thread.last_compaction_at) == (count, at)

    def _summary_is(self, store: ThreadStore, summary: str | None, at: float | None) -> None:
        thread = store.session("s")
        assert thread is not None and (thread.summary, thread.summary_updated_at) == (summary, at)

    def test_sessions_come_newest_first_and_in_pages(self) -> None:
        store = self.threads()
        for name in ("a", "b", "c", "d"):
            keep(store, name, 0, talk("one", "two"), [])
        keep(store, "a", 2, talk("three"), talk("one", "two"))
        seen: list[str] = []
        before = None
        while page := store.sessions(2, before=before):
            assert len(page) <= 2
            seen += [thread.session_id for thread in page]
            before = (page[-1].updated_at, page[-1].session_id)
        assert seen == ["a", "d", "c", "b"]

    def test_looking_at_sessions_again_does_not_move_them(self) -> None:
        store, messages = self.threads(), talk("one", "two")
        keep(store, "a", 0, messages, [])
        keep(store, "b", 0, messages, [])
        keep(store, "a", 0, messages, [])
        list(store.originals("a"))
        assert [thread.session_id for thread in store.sessions()] == ["b", "a"]

    def test_sessions_are_found_by_title_or_id(self) -> None:
        store = self.threads()
        for name, title in (("x1", "Große Änderung"), ("x2", "100% sure"), ("y_3", "100 sure"), ("yz3", "")):
            store.put_session(name, title=title)
        assert self._found(store, "GROSSE") in ({"x1"}, set()) and self._found(store, "änd") == {"x1"}
        assert self._found(store, "ÄND") == {"x1"}
        assert self._found(store, "100%") == {"x2"}
        assert self._found(store, "Y_") == {"y_3"}
        assert self._found(store, "") == {"x1", "x2", "y_3", "yz3"}
        assert self._found(store, "nowhere") == set()

    def _found(self, store: ThreadStore, query: str) -> set[str]:
        return {thread.session_id for thread in store.sessions(query=query)}

    def test_a_session_keeps_title_settings_and_space(self) -> None:
        store = self.threads()
        store.put_space("work", "Work", "Be brief.", {"preset": "agent"})
        store.put_session("s", space="work", title="Plans", settings={"model": "m", "n": [1, None]})
        store.put_session("s", title="Old plans")
        thread = store.session("s")
        assert thread is not None and (thread.title, thread.space) == ("Old plans", "work")
        assert dict(thread.settings) == {"model": "m", "n": [1, None]}
        assert [one.session_id for one in store.sessions(space="work")] == ["s"]
        assert list(store.sessions(space="home")) == []
        store.put_session("s", space="", settings={})
        thread = store.session("s")
        assert thread is not None and thread.space is None and dict(thread.settings) == {}
        try:
            store.put_session("new", space="nowhere", title="kept?")
        except StoreError as error:
            assert "no space 'nowhere'" in str(error) and "Nothing was changed" in str(error)
        else:
            raise AssertionError("a space that is not there was taken")
        assert store.session("new") is None

    def test_spaces_are_listed_changed_and_deleted(self) -> None:
        store = self.threads()
        made = store.put_space("b", "B", "Say please.", {"preset": "chat"})
        store.put_space("a")
        assert [space.name for space in store.spaces()] == ["a", "b"]
        assert store.space("b") == made and store.space("c") is None
        changed = store.put_space("b", "Bee", "")
        assert (changed.title, changed.custom_instructions) == ("Bee", "")
        assert dict(changed.settings) == {"preset": "chat"}
        store.put_session("s", space="b")
        assert store.delete_space("b") and not store.delete_space("b")
        thread = store.session("s")
        assert thread is not None and thread.space is None
        assert [space.name for space in store.spaces()] == ["a"]

    def test_a_deleted_session_leaves_nothing(self) -> None:
        store = self.threads()
        for name in ("s", "t"):
            keep(store, name, 0, talk("one", "two"), [])
            store.commit(a_record(f"r-{name}", name))
            store.add_event(name, EventName.WARNING, {})
        assert store.delete_session("s") and not store.delete_session("s")
        assert store.session("s") is None and list(store.originals("s")) == []
        assert list(store.records("s")) == [] and list(store.events("s")) == []
        assert store.find([b"source-r-s"]) == {} and store.end("s") == (0, START)
        assert len(list(store.originals("t"))) == 2 and len(store.records("t")) == 1
        keep(store, "s", 0, talk("again"), [])
        assert store.add_event("s", EventName.WARNING, {}) == 1

    def test_a_session_that_was_deleted_stays_deleted(self) -> None:
        store = begun(self.threads())
        assert store.delete_session("s")
        assert store.add_event("s", EventName.WARNING, {}) == 0
        if isinstance(store, Remembers):
            store.remember("s", scale=2.0, head=[{"role": "system", "content": "x"}], note=(b"key", "text"))
        with store.exclusively("s"):
            assert store.session("s") is None
        with store.lease("s", 60):
            assert store.session("s") is None
        assert store.session("s") is None and list(store.sessions()) == []
        store.put_session("s", title="anew")
        assert store.session("s") is not None and list(store.events("s")) == []
        assert store.end("s") == (0, START)

    def test_one_that_is_made_again_is_another(self) -> None:
        store = begun(self.threads(), "t", "s")
        before = store.session("s")
        assert before is not None
        with store.exclusively("s", incarnation=before.incarnation):
            store.put_session("s", title="the same")
        store.delete_session("s")
        for made_again in (False, True):
            if made_again:
                store.put_session("s", title="anew")
                after = store.session("s")
                assert after is not None and after.incarnation != before.incarnation
            try:
                with store.exclusively("s", incarnation=before.incarnation):
                    raise AssertionError("the session that was deleted can still be written to")
            except HistoryGone:
                pass

    def test_events_are_numbered_and_read_from_anywhere(self) -> None:
        store = begun(self.threads(), "s", "t")
        for n in range(1, 6):
            name = EventName.SETTINGS if n % 2 else EventName.WARNING
            assert store.add_event("s", name, {"n": n}) == n
        assert store.add_event("t", EventName.START, {}) == 1
        assert [(event.sequence, event.data["n"]) for event in store.events("s", after=3)] == [(4, 4), (5, 5)]
        assert [event.sequence for event in store.events("s", limit=2)] == [1, 2]
        newest = store.last_event("s", EventName.WARNING)
        assert newest is not None and newest.data["n"] == 4
        assert store.last_event("s", EventName.START) is None and list(store.events("nobody")) == []

    def test_the_end_of_a_session(self) -> None:
        store, messages = self.threads(), talk("one", "two", "three")
        assert store.end("s") == (0, START)
        keep(store, "s", 0, messages, [])
        assert store.end("s") == (3, chain(messages))
        forked = messages[:1] + talk("other")
        keep(store, "s", 1, forked[1:], forked[:1])
        assert store.end("s") == (2, chain(forked))

    def test_what_is_done_exclusively_takes_effect_together_or_not_at_all(self) -> None:
        store, messages = self.threads(), talk("one", "two", "three")
        keep(store, "s", 0, messages[:1], [])
        store.commit(a_record("r1"))
        try:
            with store.exclusively("s"):
                keep(store, "s", 1, messages[1:], messages[:1])
                store.commit(a_record("r2"))
                store.add_event("s", EventName.WARNING, {})
                store.put_session("s", title="half done")
                assert len(list(store.originals("s"))) == 3
                raise KeyError("the caller fails")
        except KeyError:
            pass
        assert digests(store.originals("s")) == digests(messages[:1])
        assert [record.id for record in store.records("s")] == ["r1"]
        assert store.find([b"source-r2"]) == {} and list(store.events("s")) == []
        thread = store.session("s")
        assert thread is not None and thread.title == ""
        with store.exclusively("s"):
            keep(store, "s", 1, messages[1:], messages[:1])
        assert digests(store.originals("s")) == digests(messages)

    def test_others_wait_for_exclusive_use_to_end(self) -> None:
        store, messages = self.threads(), talk("one", "two")
        entered, order = threading.Event(), []

        def other() -> None:
            entered.wait(10)
            with store.exclusively("s"):
                order.append(("other", store.end("s")[0]))

        waiting = threading.Thread(target=other)
        waiting.start()
        with store.exclusively("s"):
            entered.set()
            waiting.join(0.05)
            keep(store, "s", 0, messages, [])
            order.append(("first", store.end("s")[0]))
        waiting.join(10)
        assert order == [("first", 2), ("other", 2)]


def database_rows(store: Any) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of a `SqlStore`'s database, by table: read-only access must not change them.

    >>> before = database_rows(store); manager.plan("s", messages); assert database_rows(store) == before
    """
    from sqlalchemy import MetaData, select, text

    with store.database.reading() as connection:
        found = MetaData()
        found.reflect(connection)
        tables = {
            name: table for name, table in found.tables.items() if not name.startswith("message_search_")
        }
        rows = {
            name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for name, table in tables.items()
            if name != "message_search"
        }
        # FTS5 without content has no readable columns; only ids and the number of rows are available.
        if "message_search" in connection.dialect.get_table_names(connection):
            rows["message_search"] = [
                tuple(row) for row in connection.execute(text("SELECT count(*) FROM message_search"))
            ]
        return rows
