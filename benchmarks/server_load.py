"""Load on the chat server: many sessions at once against an instant model, with compactions.

    python benchmarks/server_load.py                       200 sessions, 5 turns each, SQLite
    python benchmarks/server_load.py --store URL --workers 2
    python benchmarks/server_load.py --sessions 20 --turns 100   memory over many turns

Prints turns a second, the overhead of a turn against asking the model directly, memory, and what is missing:
every message of every session is read back and compared, and every compaction must have its end.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2

WINDOW = 10_000
FILLER = "The cottage by the lake needs a new roof before the winter. " * 12


class Instant(BaseHTTPRequestHandler):
    """A model's API that answers at once."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        piece = {"choices": [{"index": 0, "delta": {"content": "Noted."}, "finish_reason": None}]}
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in (piece, end)) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def main() -> int:
    options = _options()
    model = ThreadingHTTPServer(("127.0.0.1", 0), Instant)
    model.daemon_threads = True
    threading.Thread(target=model.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{model.server_port}/v1"
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"sqlite:///{folder}/studio.db"
        process, url = _started(store, folder, upstream, options.workers)
        try:
            _report(_run(url, process.pid, options), _direct(upstream), process.pid, options)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    model.shutdown()
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--clients", type=int, default=200, help="requests at a time")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", help="a database URL; default: SQLite in a temporary folder")
    parser.add_argument("--preset", default="rolling", help="rolling compacts after six turns")
    return parser.parse_args()


def _started(store: str, folder: str, upstream: str, workers: int) -> tuple[subprocess.Popen[str], str]:
    environ = {**os.environ, "XDG_DATA_HOME": folder, "OPENAI_BASE_URL": upstream}
    command = [
        *(sys.executable, "-m", "compact", "studio", "--json", "--port", "0", "--no-browser"),
        *("--store", store, "--workers", str(workers), "--model", "gpt-4o", "--window", str(WINDOW)),
        *("--counter", "estimate", "--set", "summarizer.name=extractive", "--set", "archive.adapter=none"),
    ]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found: str = json.loads(process.stdout.readline())["url"]
    return process, found


def _run(url: str, pid: int, options: argparse.Namespace) -> dict[str, Any]:
    sessions: list[str] = []
    times: list[float] = []
    memory: list[float] = []
    errors: list[str] = []
    limits = httpx2.Limits(max_connections=options.clients)
    with httpx2.Client(base_url=url, trust_env=False, timeout=300, limits=limits) as client:
        for number in range(options.sessions):
            made = client.post("/api/sessions", json={"title": f"load {number}", "preset": options.preset})
            sessions.append(made.json()["id"])

        def talk(at: tuple[int, str]) -> None:
            turn, session = at
            message = {"role": "user", "parts": [{"type": "text", "text": _text(session, turn)}]}
            begun = time.perf_counter()
            answer = client.post("/api/chat", json={"id": session, "message": message})
            times.append(time.perf_counter() - begun)
            if answer.status_code != 200 or '"finishReason":"stop"' not in answer.text:
                errors.append(answer.text[-300:])

        begun = time.perf_counter()
        with ThreadPoolExecutor(options.clients) as pool:
            for turn in range(options.turns):
                list(pool.map(talk, [(turn, session) for session in sessions]))
                memory.append(_resident(pid))
        took = time.perf_counter() - begun
        missing, compactions = _checked(client, sessions, options.turns)
    found = {"times": times, "took": took, "errors": errors, "memory": memory}
    return {**found, "missing": missing, "compactions": compactions}


def _text(session: str, turn: int) -> str:
    return f"Turn {turn} of {session}: we take roof {turn} because it is dry. {FILLER}"


def _checked(client: httpx2.Client, sessions: list[str], turns: int) -> tuple[int, int]:
    """Messages lost or doubled and compactions without an end, over all sessions; and compactions."""
    missing = compactions = 0
    for session in sessions:
        listed = client.get(f"/api/sessions/{session}/messages", params={"limit": 1000}).json()
        said = [one["parts"][0]["text"] for one in listed["messages"] if one["role"] == "user"]
        missing += said != [_text(session, turn) for turn in range(turns)]
        missing += [one["role"] for one in listed["messages"]] != ["user", "assistant"] * turns
        page = client.get(f"/api/sessions/{session}/events", params={"format": "json", "limit": 1000}).json()
        ends = [one["data"].get("event") for one in page["events"] if one["type"] == "data-compaction"]
        finished = ends.count("compaction-complete") + ends.count("compaction-error")
        missing += ends.count("compaction-start") != finished
        missing += sum(one["type"] == "message" for one in page["events"]) != turns
        compactions += ends.count("compaction-complete")
    return missing, compactions


def _direct(upstream: str, requests: int = 200) -> float:
    """The median of asking the model itself, one after the other."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": FILLER}], "stream": True}
    times = []
    with httpx2.Client(trust_env=False) as client:
        for _ in range(requests):
            begun = time.perf_counter()
            client.post(f"{upstream}/chat/completions", json=body)
            times.append(time.perf_counter() - begun)
    return statistics.median(times)


def _report(found: dict[str, Any], direct: float, pid: int, options: argparse.Namespace) -> None:
    times = sorted(found["times"])
    one = statistics.median(times)
    print(f"sessions {options.sessions}, turns {len(times):,}, workers {options.workers}")
    print(f"turns a second   {len(times) / found['took']:.1f}")
    print(f"a turn           median {one:.3f} s, 95 % {times[int(len(times) * 0.95)]:.3f} s")
    work = found["took"] / len(times)
    print(f"work a turn      {work * 1000:.1f} ms, {work / direct:.1f} x asking the model directly")
    print(f"compactions      {found['compactions']:,}")
    quarters = found["memory"][:: max(1, len(found["memory"]) // 4)]
    print(f"memory           {' → '.join(f'{size:.0f}' for size in [*quarters, _resident(pid)])} MB")
    print(f"errors {len(found['errors'])}, sessions with something lost or doubled {found['missing']}")
    for error in found["errors"][:3]:
        print(f"  {error}")


def _resident(pid: int) -> float:
    """Of the process and its workers, in MB."""
    pids = [str(pid)]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        pids += task.read_text().split()
    total = 0
    for one in pids:
        status = Path(f"/proc/{one}/status").read_text()
        total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0)
    return total / 1024


if __name__ == "__main__":
    raise SystemExit(main())
