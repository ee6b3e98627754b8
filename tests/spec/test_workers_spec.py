"""Two workers on one PostgreSQL behave as one server; and a compaction prepared in the background."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact import CompactManager
from compact.stores import open_store
from support.postgres import new_schema
from support.studio import (
    RuleModel,
    body_of,
    chunks,
    compactions,
    new_session,
    reply_text,
    said,
    stored_events,
    studio,
)
from support.studio_process import Served, studio_process

TURNS = 6
ENDS = ("compaction-complete", "compaction-error")
FILLER = "The cottage by the lake needs a new roof before the winter. " * 20


@pytest.fixture(scope="module")
def served(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    url = new_schema(postgres_server)
    open_store(url).close()
    with studio_process(url, tmp_path_factory.mktemp("workers"), workers=2) as found:
        yield found


def fresh(served: Served) -> httpx2.Client:
    """A connection of its own: either worker may get it."""
    return httpx2.Client(base_url=served.client.base_url, trust_env=False, timeout=60)


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)


@pytest.mark.spec("S5.14")
def test_no_message_is_lost_or_doubled_and_events_come_in_order(served: Served) -> None:
    served.provider.reply = lambda messages, tools: "Noted."
    # `rolling` folds after six turns, however short.
    sessions = [new_session(served.client, preset="rolling") for _ in range(3)]
    sent: dict[str, list[str]] = {session: [] for session in sessions}

    def talk(number: int) -> None:
        session = sessions[number % len(sessions)]
        # Two writers a session, each message on another connection: most meet a busy session at times.
        for turn in range(TURNS):
            # Enough for a summary of the least length, whichever of the turns are folded.
            text = (
                f"Writer {number} decided in turn {turn} to take roof {number}{turn}. A carpenter of village "
                f"{number} brings {turn + 3} beams on day {turn + 10}, at {number + 1}{turn}0 euros for "
                f"them. The old tiles go to barn {turn}{number} behind the mill. {FILLER}"
            )
            while True:
                with fresh(served) as own:
                    answer = own.post("/api/chat", json=body_of(session, text))
                if answer.status_code == 200:
                    assert chunks(answer.text)[-1]["finishReason"] == "stop", answer.text[-500:]
                    sent[session].append(text)
                    break
                assert answer.status_code == 409, answer.text
                time.sleep(0.05)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(talk, range(6)))
    for session in sessions:
        # On a busy machine the newest events are written a little later than the reply ends.
        wait_until(lambda: 0 < _compactions(served, session) == _told_of(served, session))  # noqa: B023
        page = served.client.get(f"/api/sessions/{session}/messages", params={"limit": 1000}).json()
        roles = [one["role"] for one in page["messages"]]
        assert roles == ["user", "assistant"] * (2 * TURNS)
        stored = [one["parts"][0]["text"] for one in page["messages"][::2]]
        assert sorted(stored) == sorted(sent[session]) and len(set(stored)) == 2 * TURNS
        events = stored_events(served.client, session)
        assert [one["id"] for one in events] == sorted(one["id"] for one in events)
        happened = [one["data"]["event"] for one in events if one["type"] == "data-compaction"]
        # One compaction at a time: its end, a record or an error, comes before the next one's start.
        steps = [name for name in happened if name in ("compaction-start", *ENDS)]
        assert set(steps[::2]) == {"compaction-start"} and set(steps[1::2]) <= set(ENDS), steps
        assert len(steps) % 2 == 0 and "compaction-complete" in steps
        # Every exchange is announced once, in the order of the messages.
        told = [one["data"]["position"] for one in events if one["type"] == "message"]
        assert told == list(range(0, 4 * TURNS, 2))
        shown = served.client.get(f"/api/sessions/{session}").json()
        assert (shown["compacting"], shown["streaming"]) == (False, False)
        assert shown["compaction_count"] == steps.count("compaction-complete")


def _compactions(served: Served, session: str) -> int:
    count: int = served.client.get(f"/api/sessions/{session}").json()["compaction_count"]
    return count


def _told_of(served: Served, session: str) -> int:
    happened = (
        one["data"] for one in stored_events(served.client, session) if one["type"] == "data-compaction"
    )
    return sum(one["event"] == "compaction-complete" for one in happened)


@pytest.mark.spec("S5.14")
def test_a_reply_is_followed_refused_and_stopped_from_any_worker(served: Served) -> None:
    hold = threading.Event()

    def reply(messages: list[Any], tools: list[Any]) -> str:
        hold.wait(120)
        return "Here at last."

    served.provider.reply = reply
    session = new_session(served.client)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(lambda: said(served.client, session, "hello"))

        def running() -> bool:
            with fresh(served) as own:
                return bool(own.get(f"/api/sessions/{session}").json()["streaming"])

        wait_until(running)

        def resumed(_: int) -> str:
            with fresh(served) as own:
                assert own.post("/api/chat", json=body_of(session, "me too")).status_code == 409
                with own.stream("GET", f"/api/chat/{session}/stream") as stream:
                    following.release()
                    return stream.read().decode()

        following = threading.Semaphore(0)
        readers = [pool.submit(resumed, number) for number in range(6)]
        for _ in readers:
            assert following.acquire(timeout=60)
        hold.set()
        for reader in readers:
            assert reply_text(chunks(reader.result())).strip() == "Here at last."
        assert reply_text(first.result()).strip() == "Here at last."
        hold.clear()
        stopped = pool.submit(lambda: served.client.post("/api/chat", json=body_of(session, "again")).text)
        wait_until(running)
        with fresh(served) as own:
            assert own.post(f"/api/sessions/{session}/stop").json() == {"stopped": True}
        assert '"abort"' in stopped.result()
        hold.set()
    served.provider.reply = lambda messages, tools: "Noted."


@pytest.mark.spec("S5.14")
def test_events_reach_followers_of_any_worker_in_the_same_order(served: Served) -> None:
    session = new_session(served.client)
    with ThreadPoolExecutor(4) as pool:

        def follow(_: int) -> list[int]:
            seen: list[int] = []
            with fresh(served) as own, own.stream("GET", f"/api/sessions/{session}/events") as stream:
                # What it begins with is settled before the answer begins.
                ready.release()
                for line in stream.iter_lines():
                    if line.startswith("id: "):
                        seen.append(int(line[4:]))
                    if len(seen) == 6:
                        return seen
            return seen

        ready = threading.Semaphore(0)
        followers = [pool.submit(follow, number) for number in range(4)]
        for _ in followers:
            assert ready.acquire(timeout=60)
        for number in range(2):
            said(served.client, session, f"message {number}")
        found = [follower.result(60) for follower in followers]
    assert found == [sorted(found[0])] * 4 and len(set(found[0])) == 6


@pytest.mark.spec("S5.14")
def test_a_killed_worker_is_replaced_and_nothing_acknowledged_is_lost(served: Served) -> None:
    session = new_session(served.client)
    said(served.client, session, "before the kill")
    parent = Path(f"/proc/{served.process.pid}")
    children = [pid for task in parent.glob("task/*/children") for pid in task.read_text().split()]
    workers = [int(pid) for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)

    def answered() -> bool:
        try:
            with fresh(served) as own:
                return own.get("/api/ready").status_code == 200
        except httpx2.TransportError:
            return False

    wait_until(answered)
    for number in range(4):
        with fresh(served) as own:
            assert said(own, session, f"after {number}")[-1]["finishReason"] == "stop"
    with fresh(served) as own:
        assert own.get(f"/api/sessions/{session}/messages").json()["total"] == 10


class CountedSummarizer:
    def __init__(self) -> None:
        self.calls = 0

    def summarize(self, request: Any) -> str:
        self.calls += 1
        return "## Goals\n- The user wants the roof mended before the winter, and the port stays 8460.\n" * 3


@pytest.mark.spec("S5.13")
def test_a_summary_made_while_the_user_reads_is_used_if_its_source_still_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summarizer, staged, ahead = CountedSummarizer(), threading.Semaphore(0), CompactManager.aprepare_ahead

    async def reported(*args: Any, **options: Any) -> bool:
        made = await ahead(*args, **options)
        if made:
            staged.release()
        return made

    monkeypatch.setattr(CompactManager, "aprepare_ahead", reported)
    with studio(tmp_path, RuleModel(lambda _: "Noted."), summarizer=summarizer) as client:
        session = new_session(client, preset="chat")
        filled = _until_prepared(client, session, summarizer)
        assert staged.acquire(timeout=60) and summarizer.calls == 1
        found: list[dict[str, Any]] = []
        while "compaction-complete" not in compactions(found):
            found = said(client, session, f"Next. {filled}")
        assert summarizer.calls == 1, "crossing the trigger waited for another summary"
        record = client.get(f"/api/sessions/{session}/records").json()["records"][-1]
        assert "roof mended" in record["summary"]
        # Another session: what was prepared is of no use once its source is edited.
        other = new_session(client, preset="chat")
        _until_prepared(client, other, summarizer)
        assert staged.acquire(timeout=60) and summarizer.calls == 2
        client.post(f"/api/sessions/{other}/messages/2/edit", json={"text": "Something else."})
        for number in range(40):
            if "compaction-complete" in compactions(said(client, other, f"Again {number}. {filled}")):
                break
        assert summarizer.calls >= 3, "a stale summary was used"


def _until_prepared(client: httpx2.Client, session: str, summarizer: CountedSummarizer) -> str:
    """Talk until the window is nearly full and the summary is being made."""
    filled, before = "word " * 60, summarizer.calls
    for number in range(60):
        said(client, session, f"{session} {number}. {filled}")
        usage = client.get(f"/api/sessions/{session}/usage").json()
        assert summarizer.calls == before or usage["tokens"] < usage["trigger"]
        if usage["tokens"] >= usage["trigger"] * 0.82:
            return filled
    raise AssertionError("the window never filled")
