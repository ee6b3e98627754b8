"""The session store behind the presets: what is saved, what a restart finds, what is refused meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import event, inspect

from compact.errors import SessionBusy
from compact.formats import by_name, decode_all
from compact.model.summary import SummaryRequest
from compact.stores import open_store
from compact.stores.sql import SqlStore
from compact.testing.scripted import EchoSummarizer, ScriptedSummarizer
from compact.testing.stores import begun
from support.lease_holder import ends_at, held_elsewhere, let_pass, wait_for_renewal
from support.raw import LONG_ENOUGH, Desk, Raw, assistant, pairs, step, summaries, user

LONG_CHAT = [*pairs(16), user("the newest")]
"""33 messages of 50 tokens: past 80 % of a window of 2,000."""


@pytest.fixture
def store(store_url: str) -> Iterator[SqlStore]:
    with open_store(store_url) as opened:
        yield opened


@pytest.fixture
def restarted(store_url: str) -> Iterator[SqlStore]:
    """The same database, opened by another process of the same kind."""
    with open_store(store_url) as opened:
        yield opened


@pytest.mark.spec("S0.5")
def test_the_summary_is_saved_on_the_conversation_and_reused(store: SqlStore) -> None:
    summarizer = ScriptedSummarizer([LONG_ENOUGH])
    desk = Desk("chat", window=2_000, summarizer=summarizer, store=store)
    first = desk.preflight(LONG_CHAT)
    thread = store.session("s")
    assert thread is not None and thread.summary is not None and LONG_ENOUGH in thread.summary
    assert thread.compaction_count == 1
    assert desk.preflight([*LONG_CHAT, assistant("fine")])[:-1] == first
    assert len(summarizer.requests) == 1


@pytest.mark.spec("S0.6", part="store")
def test_after_coming_back_the_stored_summary_is_used(store: SqlStore, restarted: SqlStore) -> None:
    sent = Desk("chat", window=2_000, store=store).preflight(LONG_CHAT)
    nobody = ScriptedSummarizer()
    back = Desk("chat", window=2_000, summarizer=nobody, store=restarted)
    later = [*LONG_CHAT, assistant("fine"), user("and then?")]
    out = back.preflight(later)
    assert out == [*sent, *later[-2:]]
    assert nobody.requests == [] and len(summaries(out)) == 1
    # The store has the full history, for the page to show.
    assert [m.origin.source for m in restarted.originals("s") if m.origin] == later


@pytest.mark.spec("S0.6", part="store")
def test_a_new_summary_is_made_only_at_80_percent_again(store: SqlStore, restarted: SqlStore) -> None:
    Desk("chat", window=2_000, store=store).preflight(LONG_CHAT)
    summarizer = EchoSummarizer()
    back = Desk("chat", window=2_000, summarizer=summarizer, store=restarted)
    history: list[Raw] = list(LONG_CHAT)
    while summarizer.calls == 0:
        before = back.manager.usage("s", history).tokens
        history += [assistant("fine"), user("and then?")]
        back.preflight(history)
    assert 1_500 <= before < 1_600
    assert [record.version for record in restarted.records("s")] == [1, 2]


@pytest.mark.spec("S0.6", part="store")
def test_a_caller_who_kept_the_result_comes_back(store: SqlStore, restarted: SqlStore) -> None:
    sent = Desk("chat", window=2_000, store=store).preflight(LONG_CHAT)
    nobody = ScriptedSummarizer()
    later = [assistant("fine"), user("and then?")]
    out = Desk("chat", window=2_000, summarizer=nobody, store=restarted).preflight([*sent, *later])
    assert out == [*sent, *later]
    assert [m.origin.source for m in restarted.originals("s") if m.origin] == [*LONG_CHAT, *later]


@pytest.mark.spec("S2.15")
def test_the_tables_have_the_columns_that_the_agent_needs(store: SqlStore) -> None:
    found = inspect(store.database.engine)
    wanted = {
        "sessions": {"compaction_count", "last_compaction_at", "currently_compacting"},
        "messages": {"tokens"},
        "message_parts": {
            "id",
            "message_id",
            "session_id",
            "type",
            "content",
            "tokens",
            "compacted_at",
            "sort_order",
            "created_at",
        },
    }
    for table, columns in wanted.items():
        assert columns <= {column["name"] for column in found.get_columns(table)}
    keys = found.get_foreign_keys("message_parts")
    assert {(key["referred_table"], key["options"]["ondelete"]) for key in keys} == {
        ("messages", "CASCADE"),
        ("sessions", "CASCADE"),
    }


@pytest.mark.spec("S2.15")
def test_a_session_knows_its_compactions_and_the_messages_since(store: SqlStore) -> None:
    desk = Desk("agent", window=4_000, store=store)
    history = [user("the task"), *(message for n in range(30) for message in step(n, output=150))]
    desk.preflight(history)
    desk.preflight([*history, assistant("done"), user("more")])
    thread = store.session("s")
    assert thread is not None
    record = store.records("s")[-1]
    assert thread.compaction_count == len(store.records("s")) >= 1
    assert thread.last_compaction_at == record.created_at
    assert not thread.currently_compacting
    everything = list(store.originals("s"))
    assert thread.message_count == len(everything) == len(history) + 2
    assert thread.tokens == sum(desk.manager._engine.sizes.of_message(message) for message in everything)
    since = store.since_last_compaction("s")
    assert [m.digest for m in since] == [m.digest for m in everything[record.source_length :]]
    assert 0 < len(since) < len(everything)


@pytest.mark.spec("S2.15")
def test_since_the_last_compaction_is_one_query_by_index(store: SqlStore) -> None:
    for session in ("s", "t"):
        Desk("chat", window=2_000, store=store).preflight(LONG_CHAT, session)
    asked: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("SELECT"):
            asked.append(statement)

    event.listen(store.database.engine, "before_cursor_execute", note)
    assert len(store.since_last_compaction("s")) > 0
    (statement,) = asked
    assert statement.count("SELECT") == 1 and "LIMIT" in statement
    if store.database.is_sqlite:
        plan = [row[-1] for row in _explained(store, statement)]
        assert not [line for line in plan if line.startswith("SCAN")], plan


def _explained(store: SqlStore, statement: str) -> list[tuple[str, ...]]:
    count = statement.count("?")
    with store.database.reading() as connection:
        found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", ("1",) * count)
        return [tuple(row) for row in found]


@pytest.mark.spec("S2.16", part="store")
def test_a_message_that_arrives_while_compacting_is_refused(store: SqlStore, restarted: SqlStore) -> None:
    over = [*pairs(40), user("the newest")]
    asked, go_on = threading.Event(), threading.Event()

    def slow(request: SummaryRequest) -> str:
        asked.set()
        assert go_on.wait(60)
        return LONG_ENOUGH

    compacting = Desk("chat", window=2_000, summarizer=slow, store=store)
    arriving = Desk("chat", window=2_000, summarizer=ScriptedSummarizer(), store=restarted)
    first = threading.Thread(target=lambda: compacting.preflight(over))
    first.start()
    try:
        assert asked.wait(60)
        thread = restarted.session("s")
        assert thread is not None and thread.currently_compacting
        longer = [*over, assistant("an answer"), user("arrives meanwhile")]
        with pytest.raises(
            SessionBusy, match=r"^Session is currently being optimized\. Please wait a moment\.$"
        ):
            arriving.manager.prepare("s", longer, wait=0)
        assert list(restarted.records("s")) == []
    finally:
        go_on.set()
        first.join()
    # The message itself is not lost, and goes out once the other is done.
    assert len(list(restarted.originals("s"))) == len(longer)
    assert len(summaries(arriving.preflight(longer))) == 1 and len(restarted.records("s")) == 1


@pytest.mark.spec("S2.16", part="store")
def test_a_lock_left_by_a_dead_process_expires(store: SqlStore, store_url: str) -> None:
    begun(store)
    with held_elsewhere(store_url, "s", 600) as holder:
        assert not _is_granted(store)
        holder.kill()
        holder.wait()
        # Nobody gives it back, so only its end can grant it to another.
        let_pass(store, 300)
        assert not _is_granted(store)
        let_pass(store, 300)
        assert _is_granted(store)
    desk = Desk("chat", window=2_000, store=store)
    assert len(summaries(desk.preflight([*pairs(40), user("the newest")]))) == 1


@pytest.mark.spec("S2.16", part="store")
def test_a_lease_is_renewed_while_its_holder_lives(store: SqlStore) -> None:
    begun(store)
    with store.lease("s", 0.3) as granted:
        first = ends_at(store)
        wait_for_renewal(store)
        assert granted and ends_at(store) > first


def _is_granted(store: SqlStore) -> bool:
    with store.lease("s", 600) as granted:
        return granted


@pytest.mark.spec("S2.16", part="store")
def test_a_summary_that_takes_longer_than_the_lease_is_asked_for_once(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The lease of 15 seconds is renewed ten times a second, so that no machine is too slow for it.
    monkeypatch.setattr("compact.stores.sql.renewing._SHARE", 150)
    over, asked = [*pairs(40), user("the newest")], []

    def slow(request: SummaryRequest) -> str:
        asked.append(request)
        for _ in range(3):
            let_pass(one, 10)
            wait_for_renewal(one)
        return LONG_ENOUGH

    with open_store(store_url) as one, open_store(store_url) as other:
        desks = [Desk("chat", window=2_000, summarizer=slow, store=store) for store in (one, other)]
        threads = [
            threading.Thread(target=desk.manager.prepare, args=("s", over), kwargs={"wait": 60})
            for desk in desks
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(asked) == 1 and len(one.records("s")) == 1


@pytest.mark.spec("S3.9")
def test_summary_and_its_time_stand_on_the_thread_apart_from_its_messages(store: SqlStore) -> None:
    desk = Desk("rolling", window=20_000, store=store)
    history = [*pairs(9), user("the newest")]
    store.put_session("s", title="Booking")
    before = store.session("s")
    assert before is not None and before.summary is None and before.summary_updated_at is None
    desk.preflight(history)
    thread, (record,) = store.session("s"), store.records("s")
    assert thread is not None and thread.title == "Booking"
    assert thread.summary == record.summary != "" and thread.summary_updated_at == record.created_at
    assert [m.origin.source for m in store.originals("s") if m.origin] == history


@pytest.mark.spec("S3.9")
def test_threads_live_in_spaces_with_custom_instructions(store: SqlStore, restarted: SqlStore) -> None:
    store.put_space("team", "The team", "Answer in verse.")
    store.put_session("s", space="team")
    store.append("t", 0, decode_all([user("elsewhere")], by_name("openai-chat")), format="openai-chat")
    store.put_space("team", "The team", "Answer in prose.")
    space, thread = restarted.space("team"), restarted.session("s")
    assert space is not None and space.custom_instructions == "Answer in prose."
    assert thread is not None and thread.space == "team"
    assert [found.session_id for found in restarted.sessions(space="team")] == ["s"]
