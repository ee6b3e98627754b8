"""Kills processes with two managers each on a shared database, and checks that acknowledged writes survive.

Run as `python -m support.manager_kills URL FOLDER KILLS [SEED]`; prints one JSON object. In each round two
processes with two managers each continue their own sessions and a shared one, and acknowledge every call that
returned. Both are killed at a random moment. Then everything acknowledged must be in the database, and no
session may be busy for longer than its lease.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from compact import CompactConfig, CompactManager
from compact.archives.verify import verify
from compact.errors import SessionBusy
from compact.stores.sql import SqlStore
from compact.testing.scripted import EchoSummarizer
from support.raw import Raw, assistant, user

LEASE = 0.6
SLACK = 0.5
"""Seconds that a loaded machine may need to check again."""
PROCESSES = 2
FULL = 22
"""Messages that a session begins with, so that it is compacted soon."""
ROUNDS_A_SESSION = 10


class ShortLease(SqlStore):
    def lease(self, session_id: str, seconds: float) -> AbstractContextManager[bool]:
        return super().lease(session_id, LEASE)


@dataclass
class Acknowledged:
    """What the calls that returned have acknowledged, by session."""

    messages: dict[str, int] = field(default_factory=dict)
    records: dict[str, set[str]] = field(default_factory=dict)
    calls: int = 0

    def add(self, line: str) -> None:
        session, length, *records = line.split()
        self.messages[session] = max(self.messages.get(session, 0), int(length))
        self.records.setdefault(session, set()).update(records)
        self.calls += 1

    def lost(self, store: SqlStore) -> Iterator[str]:
        for session, length in self.messages.items():
            kept = [message.text for message in store.originals(session)]
            wanted = [message["content"] for message in history(session, length)]
            if kept[:length] != wanted:
                yield f"{session}: {length} messages were acknowledged, {len(kept)} are there"
            gone = self.records[session] - {record.id for record in store.records(session)}
            if gone:
                yield f"{session}: {len(gone)} records that were acknowledged are gone"


def history(session: str, length: int) -> list[Raw]:
    """The same for every process that continues the session."""
    said = [assistant, user]
    return [said[n % 2](f"{session} says {n}", 50) for n in range(1, length + 1)]


def work(url: str, folder: Path, name: str, generation: int, pipe: int) -> None:
    """Runs until it is killed."""
    signal.alarm(60)
    stores = [ShortLease(url) for _ in range(2)]
    managers = [CompactManager(settings(folder), EchoSummarizer(), store) for store in stores]
    own = [f"{name}-{n}-{generation}" for n in range(2)]
    length = {session: store.end(session)[0] for store, session in zip(stores, own, strict=True)}
    common = f"common-{generation}"
    for turn in count():
        which = turn % 2
        manager, store = managers[which], stores[which]
        for session in (own[which], common):
            so_far = max(length[session] if session in length else store.end(session)[0], FULL)
            try:
                manager.preflight(session, history(session, so_far + 2))
            except SessionBusy:
                continue
            if session in length:
                length[session] = so_far + 2
            records = " ".join(record.id for record in manager.records(session))
            os.write(pipe, f"{session} {so_far + 2} {records}\n".encode())


def settings(folder: Path) -> CompactConfig:
    return CompactConfig(
        max_context_tokens=1_500,
        preset="chat",
        counter="chars4",
        policy={"hard_cap_buffer": 100},
        archive={"path": str(folder)},
    )


def killed(url: str, folder: Path, generation: int, seconds: float) -> str:
    """What two processes acknowledged before they were killed."""
    reading, writing = os.pipe()
    children = []
    for n in range(PROCESSES):
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                work(url, folder, f"process-{n}", generation, writing)
            finally:
                os._exit(1)
        children.append(child)
    os.close(writing)
    first = os.read(reading, 1)
    time.sleep(seconds)
    for child in children:
        os.kill(child, signal.SIGKILL)
    ended = [os.waitpid(child, 0)[1] for child in children]
    with os.fdopen(reading, "rb") as pipe:
        said = (first + pipe.read()).decode()
    if not all(map(os.WIFSIGNALED, ended)):
        raise RuntimeError("a process ended by itself")
    # A line that was cut short was not acknowledged.
    return said[: said.rfind("\n") + 1]


def busy_for(store: SqlStore, sessions: list[str]) -> float:
    """Seconds for which one of these sessions stayed busy."""
    began = time.monotonic()
    waiting, busy = list(sessions), 0.0
    while waiting and busy < 20 * LEASE:
        asked = time.monotonic()
        with store.lease(waiting[-1], LEASE) as granted:
            if granted:
                waiting.pop()
                continue
        # The time of the request: on a busy machine the answer may take longer than the lease.
        busy = asked - began
        time.sleep(0.01)
    return busy


def main(url: str, folder: Path, kills: int, seed: int = 1) -> None:
    os.fsync = lambda _: None
    # Once here, so that no child has to import everything.
    with CompactManager(settings(folder / "warm"), EchoSummarizer(), ShortLease("sqlite://")) as manager:
        manager.preflight("warm", history("warm", 2 * FULL))
    chance, promised, problems, longest = random.Random(seed), Acknowledged(), [], 0.0
    compactions = before = 0
    for number in range((kills + 1) // PROCESSES):
        generation = number // ROUNDS_A_SESSION
        for line in killed(url, folder, generation, chance.uniform(0.0, 0.5)).splitlines():
            promised.add(line)
        with ShortLease(url) as store:
            sessions = [name for name in promised.messages if name.endswith(f"-{generation}")]
            held = busy_for(store, sessions)
            longest = max(longest, held)
            if held > LEASE + SLACK:
                problems.append(f"round {number}: a session was busy for {held:.2f} s")
            problems += [f"round {number}: {lost}" for lost in promised.lost(store)]
            compactions = before + sum(len(store.records(session)) for session in promised.messages)
        if number % ROUNDS_A_SESSION == ROUNDS_A_SESSION - 1:
            promised, before = Acknowledged(calls=promised.calls), compactions
    result = {
        "killed": number * PROCESSES + PROCESSES,
        "acknowledged": promised.calls,
        "compactions": compactions,
        "busy_seconds": round(longest, 2),
        "problems": problems[:10],
        "archive": [f"{problem.path}: {problem.what}" for problem in verify(folder)][:10],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
