"""A trace service, its senders and its readers, each in its own process; for a test and a benchmark.

Run as `python -m support.trace_load read URL COUNT SECONDS`, it follows the stream until it has seen COUNT
events and prints what it saw as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

BATCH = 200
SPANS_PER_TRACE = 100


@dataclass(frozen=True)
class Service:
    url: str
    process: subprocess.Popen[str]

    def memory(self, what: str = "VmRSS") -> float:
        """MB that the process uses (VmRSS), or its maximum so far (VmHWM)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(what))

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def service_process(database: Path, *options: str) -> Iterator[Service]:
    command = [sys.executable, "-m", "compact.cli", "traces", "--port", "0", "--json", "--db", str(database)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        yield Service(started["url"], process)
    finally:
        process.terminate()
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def event(number: int) -> dict[str, Any]:
    """A span like the engine's, about 300 bytes; the spans of its trace are below the first."""
    first = number - number % SPANS_PER_TRACE
    started = 1_760_000_000_000 + number
    return {
        "type": "span",
        "trace_id": f"trace_{number // SPANS_PER_TRACE:032x}",
        "span_id": f"span_{number:024x}",
        "parent_id": None if number == first else f"span_{first:024x}",
        "kind": "custom",
        "name": "compact.token_estimate",
        "started_at": started,
        "ended_at": started + number % 50,
        "status": "ok",
        "data": {
            "number": number,
            "session_id": f"session-{number % 7}",
            "tokens": 1_000 + number,
            "limit": 128_000,
        },
    }


def send(url: str, count: int, first: int = 0) -> int:
    """Posts the events in batches and returns how many were acknowledged."""
    acknowledged = 0
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
        for start in range(first, first + count, BATCH):
            batch = [event(number) for number in range(start, min(start + BATCH, first + count))]
            answer = client.post("/ingest", json={"batch": batch})
            answer.raise_for_status()
            acknowledged += answer.json()["count"]
    return acknowledged


def reader_process(url: str, count: int, seconds: float, pause: float = 0.0) -> subprocess.Popen[str]:
    """Returns once the reader is connected."""
    command = [sys.executable, "-m", "support.trace_load", "read", url, str(count), str(seconds), str(pause)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    assert process.stdout is not None
    assert process.stdout.readline() == "connected\n"
    return process


def report(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate()
    seen: dict[str, Any] = json.loads(out)
    return seen


def read(url: str, count: int, seconds: float, pause: float) -> dict[str, Any]:
    """Follows from the beginning; a `pause` in seconds after each piece makes it a slow reader."""
    seen = bytearray(count)
    twice = disorder = total = last = 0
    deadline = time.monotonic() + seconds
    with (
        httpx2.Client(base_url=url, timeout=seconds, trust_env=False) as client,
        client.stream("GET", "/events", params={"after": 0}) as response,
    ):
        print("connected", flush=True)
        rest = b""
        for piece in response.iter_raw():
            *whole, rest = (rest + piece).split(b"\n\n")
            for message in whole:
                head, _, data = message.partition(b"\ndata: ")
                if not head.startswith(b"id: ") or not data:
                    continue
                sequence, number = int(head[4:]), json.loads(data)["data"]["number"]
                disorder += sequence <= last
                last = sequence
                twice += seen[number]
                seen[number] = 1
                total += 1
            if total >= count or time.monotonic() > deadline:
                break
            if pause:
                time.sleep(pause)
    return {"total": total, "missing": seen.count(0), "twice": twice, "disorder": disorder}


if __name__ == "__main__":
    _, _, address, wanted, limit, wait = sys.argv
    print(json.dumps(read(address, int(wanted), float(limit), float(wait))))
