"""What is kept, for how long, and how it is found again."""

from __future__ import annotations

import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compact.errors import StoreError
from compact.server.traces.accepting import events_of
from compact.server.traces.database import TraceDatabase
from compact.server.traces.event import TraceEvent, row_of
from compact.server.traces.merging import is_running, merged
from compact.server.traces.moments import iso
from compact.server.traces.reading import Follow, Reader, TooSlow, TraceQuery
from compact.server.traces.retention import Keeper
from compact.server.traces.settings import Retention
from compact.server.traces.showing import event_of_body
from compact.server.traces.writing import Writer
from support.trace_service import span

NEVER = Retention(days=0, traces=0, megabytes=0)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[TraceDatabase]:
    database = TraceDatabase(tmp_path / "deep" / "traces.db")
    yield database
    database.close()


def write(database: TraceDatabase, *raw: dict[str, Any]) -> int:
    writer = Writer(database, NEVER)
    events = [event for _, event in events_of(list(raw), 64) if isinstance(event, TraceEvent)]
    assert len(events) == len(raw)
    try:
        return writer.submit([row_of(event) for event in events]).result(20)
    finally:
        writer.close()


def listed(database: TraceDatabase, **query: Any) -> list[str]:
    found = Reader(database).traces(TraceQuery(**query))
    return [trace["trace_id"] for trace in found["traces"]]


def hour(number: int) -> str:
    return f"2026-05-01T{number:02d}:00:00Z"


def test_the_file_is_its_owners_alone(database: TraceDatabase) -> None:
    write(database, span())
    for file in database.path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(database.path.parent.stat().st_mode) == 0o700


def test_what_is_no_trace_database_is_left_alone(tmp_path: Path) -> None:
    text, other, newer = tmp_path / "text", tmp_path / "other.db", tmp_path / "newer.db"
    text.write_text("not a database, but long enough to be taken for one " * 20)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (a)")
    TraceDatabase(newer).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version=99")
    for path, said in ((text, "not a database"), (other, "something else"), (newer, "schema 99")):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=said):
            TraceDatabase(path)
        assert path.read_bytes()[:16] == before[:16]
    connection.close()


def test_pages_follow_each_other_without_gap_or_repeat(database: TraceDatabase) -> None:
    # Two of each hour: the second key of the order has to decide.
    write(database, *(span(f"t{n:02d}", "s", started_at=hour(n // 2)) for n in range(23)))
    reader, cursor, seen = Reader(database), None, []
    while True:
        page = reader.traces(TraceQuery(limit=5, cursor=cursor))
        assert page["total"] == 23
        seen += [trace["trace_id"] for trace in page["traces"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"t{n:02d}" for n in reversed(range(23))]
    with pytest.raises(ValueError, match="cursor"):
        reader.traces(TraceQuery(cursor="AAAA"))


def test_filters_find_what_they_name(database: TraceDatabase) -> None:
    write(
        database,
        {"type": "trace", "trace_id": "a", "name": "100% sure", "group_id": "g1"},
        span("a", "1", started_at=hour(1), ended_at=hour(2), data={"note": 'say "hé_llo"\n'}),
        {"type": "trace", "trace_id": "b", "name": "100 reasons", "group_id": "g2"},
        span("b", "2", started_at=hour(3), ended_at=hour(4), status="error"),
        span("c", "3", name="root_name", started_at=hour(5)),
    )
    assert listed(database) == ["c", "b", "a"]
    # Wildcards of LIKE are letters like any other, and case does not matter.
    assert listed(database, name="100%") == ["a"]
    assert listed(database, name="ROOT_") == ["c"] and listed(database, name="t-n") == []
    assert listed(database, name="\\") == []
    assert listed(database, text='"hé_llo"\n') == ["a"] and listed(database, text="h_llo") == []
    assert listed(database, text="%") == ["a"]
    assert listed(database, group="g2") == ["b"] and listed(database, group="g%") == []
    assert listed(database, status="error") == ["b"]
    assert listed(database, status="running") == ["c"]
    assert listed(database, status="ok") == ["a"]
    three = 1_777_604_400_000_000
    assert listed(database, until=three) == ["b", "a"]
    assert listed(database, since=three) == ["c", "b"]


def test_long_traces_and_those_with_a_compaction_are_found(database: TraceDatabase) -> None:
    short = {"started_at": hour(1), "ended_at": "2026-05-01T01:00:02Z"}
    write(
        database,
        span("quick", "1", **short),
        span("compacted", "1", **short),
        span("compacted", "2", name="compact.pruned_messages", **short),
        span("compacted", "3", name="compact.pruned_messages", **short),
        span("decided", "1", name="compact.trigger_decision", **short),
        span("long", "1", started_at=hour(2), ended_at=hour(3)),
    )
    assert listed(database, min_ms=2_000.5) == ["long"]
    assert listed(database, min_ms=2_000) == ["long", "decided", "compacted", "quick"]
    assert listed(database, compacted=True) == ["compacted"]
    found = Reader(database).traces(TraceQuery())["traces"]
    assert {trace["trace_id"]: trace["compaction_count"] for trace in found}["compacted"] == 2
    whole = Reader(database).trace("compacted")
    assert whole and whole["compaction_count"] == 2


def test_a_search_that_takes_too_long_is_given_up(database: TraceDatabase) -> None:
    write(database, *(span("t", str(n), data={"n": "x" * 2_000}) for n in range(1_500)))
    with pytest.raises(TooSlow):
        Reader(database, patience=-1).traces(TraceQuery(text="never there"))
    assert listed(database) == ["t"]


def test_a_span_id_may_occur_in_several_traces(database: TraceDatabase) -> None:
    write(database, span("t1", "s", name="one"), span("t2", "s", name="two"), span("t2", "c", parent_id="s"))
    reader = Reader(database)
    assert [found["name"] for found in reader.spans("s")] == ["two", "one"]
    assert [(found["name"], found["children"]) for found in reader.spans("s", "t2")] == [("two", 1)]
    assert reader.spans("%") == [] and reader.trace("t_") is None


def test_a_tree_can_be_had_without_data_and_in_part(database: TraceDatabase) -> None:
    write(database, *(span("t", str(n), data={"n": n}) for n in range(10)))
    reader = Reader(database)
    whole, part = reader.trace("t"), reader.trace("t", with_data=False, limit=4)
    assert whole is not None and part is not None
    assert whole["spans"][3]["data"] == {"n": 3} and whole["data_complete"] and not whole["truncated"]
    assert len(part["spans"]) == 4 and part["truncated"] and "data" not in part["spans"][0]


EVENTS = st.builds(
    span,
    trace=st.sampled_from(["t1", "t2"]),
    id=st.sampled_from("abc"),
    parent_id=st.sampled_from([None, "a", "x"]),
    name=st.sampled_from([None, "n1", "n2"]),
    status=st.sampled_from([None, "ok", "error"]),
    started_at=st.none() | st.integers(1, 50),
    ended_at=st.none() | st.integers(1, 50),
)


@given(st.lists(st.lists(EVENTS, min_size=1, max_size=4), min_size=1, max_size=5))
@settings(max_examples=25)
def test_what_a_trace_adds_up_to_is_what_its_events_say(batches: list[list[dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = TraceDatabase(Path(folder) / "traces.db")
        for batch in batches:
            write(database, *batch)
        reader = Reader(database)
        for listed in reader.traces(TraceQuery())["traces"]:
            id = listed["trace_id"]
            folded: dict[str, TraceEvent] = {}
            for _, body in reader.page(0, Follow(trace_id=id))[0]:
                event = event_of_body(body)
                folded[str(event.span_id)] = merged(folded.get(str(event.span_id)), event)
            tree = reader.trace(id)
            assert tree is not None
            shown = {
                one["span_id"]: (one["parent_id"], one["name"], one["started_at"], one["ended_at"])
                for one in tree["spans"]
            }
            assert shown == {
                one: (span.parent_id, span.name, iso(span.started), iso(span.ended))
                for one, span in folded.items()
            }
            assert listed["span_count"] == len(folded)
            assert listed["error_count"] == sum(span.status == "error" for span in folded.values())
            assert listed["running_count"] == sum(is_running(span) for span in folded.values())
            starts = [span.started for span in folded.values() if span.started is not None]
            assert listed["started_at"] == (iso(min(starts)) if starts else None)
        database.close()


def test_the_log_is_read_in_pages_that_miss_nothing(database: TraceDatabase) -> None:
    write(database, *(span("t", str(n), kind="odd" if n % 2 else "even") for n in range(1_200)))
    reader = Reader(database)
    for follow, expected in (
        (Follow(), 1_200),
        (Follow(kinds=frozenset({"odd"})), 600),
        (Follow(trace_id="x"), 0),
    ):
        after, seen = 0, []
        while True:
            page, reached = reader.page(after, follow)
            seen += [sequence for sequence, _ in page]
            if reached == after:
                break
            after = reached
        assert len(seen) == len(set(seen)) == expected and after == 1_200 and seen == sorted(seen)


def test_pages_are_bounded_by_size_too(database: TraceDatabase) -> None:
    write(database, *(span("t", str(n), data={"text": "x" * 400_000}) for n in range(6)))
    page, reached = Reader(database).page(0, Follow())
    assert len(page) == 3 and reached == page[-1][0]


def sweep(database: TraceDatabase, retention: Retention, now: float = 0.0) -> None:
    keeper = Keeper(database, retention, clock=lambda: now)
    for _ in range(10_000):
        if not keeper.sweep():
            return
    raise AssertionError("there is always more to sweep")


def test_what_was_quiet_too_long_goes(database: TraceDatabase) -> None:
    write(database, *(span(f"t{n}", "s") for n in range(45)))
    with database.writing() as connection:
        connection.execute("UPDATE traces SET updated = 1000000 * id")
    sweep(database, Retention(days=1, traces=0, megabytes=0), now=86_400 + 30.5)
    assert sorted(listed(database, limit=100)) == sorted(f"t{n}" for n in range(30, 45))
    with database.reading() as connection:
        for table in ("events", "spans"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 15


def test_no_more_traces_are_kept_than_wanted(database: TraceDatabase) -> None:
    write(database, *(span(f"t{n:02d}", "s") for n in range(50)))
    write(database, span("t00", "again"))
    sweep(database, Retention(days=0, traces=10, megabytes=0))
    # The one that just moved stays, old as it is.
    assert sorted(listed(database)) == ["t00", *(f"t{n}" for n in range(41, 50))]


def test_the_file_does_not_grow_past_its_limit(database: TraceDatabase) -> None:
    for round in range(12):
        write(database, *(span(f"t{round:02d}", str(n), data={"text": "x" * 10_000}) for n in range(50)))
    assert size_of(database) > 6_000_000
    sweep(database, Retention(days=0, traces=0, megabytes=3))
    kept = listed(database)
    assert 3 <= len(kept) <= 6 and kept == [f"t{n:02d}" for n in range(11, 11 - len(kept), -1)]
    assert size_of(database) < 3.2 * 1024 * 1024


def size_of(database: TraceDatabase) -> int:
    database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return database.path.stat().st_size


def test_a_single_trace_that_is_too_large_loses_its_beginning(database: TraceDatabase) -> None:
    for start in range(0, 6_000, 2_000):
        write(
            database,
            *(span("t", str(n), status="error", data={"x": "y" * 700}) for n in range(start, start + 2_000)),
        )
    sweep(database, Retention(days=0, traces=0, megabytes=3))
    tree = Reader(database).trace("t", with_data=False)
    assert tree is not None
    kept = [int(shown["span_id"]) for shown in tree["spans"]]
    assert kept == list(range(kept[0], 6_000)) and kept[0] > 0
    assert tree["span_count"] == tree["event_count"] == tree["error_count"] == len(kept)


def test_sequences_are_never_given_again(database: TraceDatabase) -> None:
    write(database, span("t1", "a"), span("t1", "b"))
    sweep(database, Retention(days=1, traces=0, megabytes=0), now=4e9)
    assert listed(database) == []
    assert Reader(database).last_seq() == 2
    write(database, span("t2", "c"))
    page, _ = Reader(database).page(2, Follow())
    assert [sequence for sequence, _ in page] == [3]


def test_a_full_disk_is_told_and_leaves_all_as_it_was(database: TraceDatabase) -> None:
    write(database, span("t1", "a"))
    writer = Writer(database, NEVER)
    try:
        # The writer's connection is made by its first write; then the file may not grow any more.
        assert writer.submit([row_of(TraceEvent("t1", "b"))]).result(20) == 1
        limit_pages(database)
        with pytest.raises(StoreError, match="full"):
            writer.submit(
                [row_of(TraceEvent("t2", str(n), data={"x": "y" * 5_000})) for n in range(400)]
            ).result(20)
    finally:
        writer.close()
    assert listed(database) == ["t1"] and Reader(database).counts()["events"] == 2


def limit_pages(database: TraceDatabase) -> None:
    for connection in database._open:
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages + 10}").fetchall()
