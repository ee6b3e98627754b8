"""Several threads and processes at one session: one summary, one record, nothing lost."""

from __future__ import annotations

import multiprocessing
import queue
import threading
from pathlib import Path

from compact.model.summary import SummaryRequest
from compact.stores import open_store
from compact.testing.scripted import EchoSummarizer
from support.raw import Desk, Raw, assistant, summaries, user
from support.store_races import OVER, SlowSummarizer, compacts, in_process


def test_two_processes_commit_once_and_summarize_once(store_url: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(2), context.Queue()
    marks = tmp_path / "marks"
    workers = [
        context.Process(target=in_process, args=(store_url, marks, barrier, answers)) for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    one, other = answers.get(timeout=60), answers.get(timeout=60)
    for worker in workers:
        worker.join(timeout=60)
        assert worker.exitcode == 0
    check_once(store_url, marks, one, other)


def test_two_threads_commit_once_and_summarize_once(store_url: str, tmp_path: Path) -> None:
    barrier, answers, marks = threading.Barrier(2), queue.Queue[list[Raw]](), tmp_path / "marks"
    threads = [
        threading.Thread(target=compacts, args=(store_url, marks, barrier.wait, answers)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    check_once(store_url, marks, answers.get_nowait(), answers.get_nowait())


def test_two_threads_of_one_manager_compact_once(store_url: str, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    with open_store(store_url) as store:
        desk = Desk("chat", 2_000, SlowSummarizer(marks), store=store)
        out: list[list[Raw]] = []
        threads = [
            threading.Thread(target=lambda: out.append(desk.prepare(OVER, wait=60).messages))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
    check_once(store_url, marks, *out)


def check_once(url: str, marks: Path, one: list[Raw], other: list[Raw]) -> None:
    assert marks.read_text() == "x"
    assert one == other and len(summaries(one)) == 1
    with open_store(url) as store:
        assert len(store.records("s")) == 1
        thread = store.session("s")
        assert thread is not None and thread.compaction_count == 1 and not thread.currently_compacting
        assert [m.origin.source for m in store.originals("s") if m.origin] == OVER


def test_messages_appended_meanwhile_follow_the_summary(store_url: str) -> None:
    more = [assistant("an answer"), user("and another thing")]

    class Interrupted(EchoSummarizer):
        """While it writes, the conversation goes on elsewhere."""

        def summarize(self, request: SummaryRequest) -> str:
            with open_store(store_url) as other:
                Desk("chat", 20_000, store=other).preflight([*OVER, *more])
            return super().summarize(request)

    with open_store(store_url) as store, open_store(store_url) as restarted:
        sent = Desk("chat", 2_000, Interrupted(), store=store).preflight(OVER)
        assert len(summaries(sent)) == 1
        assert [m.origin.source for m in restarted.originals("s") if m.origin] == [*OVER, *more]
        since = [m.origin.source for m in restarted.since_last_compaction("s") if m.origin]
        assert since[-2:] == more
        out = Desk("chat", 2_000, store=restarted).preflight([*OVER, *more])
        assert out == [*sent, *more]


def test_many_sessions_are_written_by_many_threads(store_url: str) -> None:
    with open_store(store_url) as store:
        failed: list[BaseException] = []

        def talk(name: str) -> None:
            try:
                desk, history = Desk("chat", 2_000, store=store), list[Raw]()
                for number in range(10):
                    history += [user(f"{name} {number}"), assistant("fine")]
                    desk.preflight(history, name)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=talk, args=(f"session {n}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert failed == []
        assert store.counts() == (6, 120)
