"""What exporters cost an agent's loop, as ratios to the same loop without any, even when they fail.

    python benchmarks/exporter_cost.py [--rounds 12] [--turns 6] [--latency 100]

The loop prepares each prompt and calls a model server on loopback, in another process, that answers after
`--latency` milliseconds. All kinds take turns in short blocks, so that a busy machine slows all alike. Two
columns:

- ratio: every turn against the same turn of the loop without exporters; the mean of these, a fifth cut off at
  each end, with three times its standard error. "none, again" shows how far chance goes.
- bound: the CPU time that exporters take in all threads, as a share of a turn. What they do while the
  model thinks costs the loop nothing: this is the most that they can cost, and a busy machine blurs it less.

The exit code is 1 if the ratio of a kind is surely over 1.01, or its bound is over 1%.

Then it prints how long events take to reach the trace service (S4.12: 200 ms), and how long a process takes
to exit when the service hangs.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compact import CompactConfig, CompactManager
from compact.model.event import Event

MOST = 1.01
WORDS = "the build failed because the parser returned None while reading a config value from disk "
SAID = {
    "Ariadne down": ":9/ingest",
    "Ariadne slow (10 s)": "/slow/ingest",
    "Ariadne 500": "/500/ingest",
    "Ariadne garbage": "/garbage/ingest",
    "Ariadne, no such host": ".invalid",
    "queue full": "was full",
}
"""By which words a kind's line is found."""
LEAVING = """
import sys, time
from compact import CompactConfig, CompactManager
manager = CompactManager(CompactConfig(counter="chars4", tracing={"ariadne_url": sys.argv[1]}))
manager.preflight("s", [{"role": "user", "content": "hello"}])
print(time.monotonic())
"""


class Servers(BaseHTTPRequestHandler):
    """The model, and trace services good and bad, by path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    latency = 0.0
    delays: list[float] = []  # noqa: RUF012

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        kind = self.path.split("/")[1]
        if kind == "model":
            time.sleep(self.latency)
            self._answer(200, b'{"content": "done"}')
        elif kind == "slow":
            time.sleep(10)
        elif kind == "500":
            self._answer(500, b'{"error": "out of order"}')
        elif kind == "garbage":
            self._answer(200, b"<html>hello</html>")
        else:
            self._note(raw)
            self._answer(200, b'{"success": true, "count": 1}')

    def do_GET(self) -> None:
        self._answer(200, json.dumps(self.delays).encode())

    def _note(self, raw: bytes) -> None:
        now = time.time()
        for record in json.loads(raw)["batch"]:
            if record.get("name") in ("compact.token_estimate", "compact.trigger_decision"):
                self.delays.append(now - datetime.fromisoformat(record["ended_at"]).timestamp())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def serve(latency: float) -> None:
    Servers.latency = latency
    server = ThreadingHTTPServer(("127.0.0.1", 0), Servers)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


@contextmanager
def serving(latency: float) -> Iterator[int]:
    command = [sys.executable, __file__, "--serve", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stdin is not None
        yield int(server.stdout.readline())
        server.stdin.close()


def kinds(port: int, folder: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Settings and exporters of each row."""
    at = f"http://127.0.0.1:{port}"

    def stuck(event: Event) -> None:
        time.sleep(0.5)

    def traced(**settings: Any) -> Callable[[], dict[str, Any]]:
        return lambda: {"tracing": settings}

    return {
        "none": traced(),
        "none, again": traced(),
        "JSONL": traced(jsonl=str(folder / "events.jsonl")),
        "console": traced(console=True),
        "Ariadne": traced(ariadne_url=f"{at}/ok"),
        "OTLP, nobody there": traced(otlp_endpoint="http://127.0.0.1:9"),
        "Ariadne down": traced(ariadne_url="http://127.0.0.1:9"),
        "Ariadne slow (10 s)": traced(ariadne_url=f"{at}/slow"),
        "Ariadne 500": traced(ariadne_url=f"{at}/500"),
        "Ariadne garbage": traced(ariadne_url=f"{at}/garbage"),
        "Ariadne, no such host": traced(ariadne_url="http://no-such-host.invalid:5175"),
        "queue full": lambda: {"tracing": {"queue_size": 5}, "exporters": [stuck]},
    }


class Loop:
    """An agent's loop: prepare, ask, take the answer."""

    def __init__(self, port: int, tracing: dict[str, Any], exporters: tuple[Any, ...] = ()) -> None:
        config = CompactConfig(
            max_context_tokens=8_000, counter="estimate", archive={"adapter": "none"}, tracing=tracing
        )
        self.manager = CompactManager(config, exporters=exporters)
        self._model = http.client.HTTPConnection("127.0.0.1", port)
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": WORDS * 10}]
        self.seconds: list[float] = []
        self.worked: list[float] = []
        """Processor time of each block, all threads."""

    def run(self, turns: int) -> None:
        worked = time.process_time()
        for _ in range(turns):
            turn = len(self.seconds)
            said = f"step {turn}, src/module_{turn}.py: {WORDS * 12}"
            self._messages.append({"role": "user", "content": said})
            began = time.perf_counter()
            self._messages = self.manager.preflight("session", self._messages)
            self._model.request("POST", "/model", json.dumps(self._messages))
            self._model.getresponse().read()
            self.seconds.append(time.perf_counter() - began)
            self._messages.append({"role": "assistant", "content": f"answer {turn}: {WORDS * 6}"})
        time.sleep(0.1)  # What still has to go out is this block's, and should not weigh on the next.
        self.worked.append(time.process_time() - worked)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=6, help="in a block")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--latency", type=float, default=100.0, help="of the model, in milliseconds")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve / 1000)
        return
    with serving(options.latency) as port, TemporaryDirectory() as folder:
        loops, stderr = measured(port, Path(folder), options.turns, options.rounds)
        delays = sorted(json.loads(_get(port)))
        leaving = [_leaving(url) for url in (f"http://127.0.0.1:{port}/ok", f"http://127.0.0.1:{port}/slow")]
    base = loops["none"].seconds[options.turns :]
    typical = 1000 * statistics.median(base)
    worked = _trimmed(loops["none"].worked[1:])[0]
    print(f"{len(base)} turns of {typical:.1f} ms; the model is {options.latency:.0f} ms away\n")
    print("exporter\tratio\t±\tbound\ton stderr")
    holds = True
    for name, loop in loops.items():
        ratio, error = compared(loop.seconds[options.turns :], base)
        added = (_trimmed(loop.worked[1:])[0] - worked) / options.turns
        bound = 1 + max(0.0, 1000 * added / typical)
        holds &= ratio - error <= MOST and bound <= MOST
        print(f"{name:<22}\t{ratio:.4f}\t{error:.4f}\t{bound:.4f}\t{_said(name, stderr)}")
    late = sum(delay > 0.2 for delay in delays)
    print(
        f"\nto the trace service: median {1000 * statistics.median(delays):.0f} ms, "
        f"99% within {1000 * delays[int(0.99 * len(delays))]:.0f} ms, "
        f"{late} of {len(delays):,} events later than 200 ms"
    )
    print(f"leaving the process: {leaving[0]:.2f} s with the service, {leaving[1]:.2f} s while it hangs")
    holds &= leaving[1] < 4.0
    print(f"at most {MOST} each: {'holds' if holds else 'DOES NOT HOLD'}")
    raise SystemExit(0 if holds else 1)


def measured(port: int, folder: Path, turns: int, rounds: int) -> tuple[dict[str, Loop], list[str]]:
    """The loops after their turns, the first block for warming up, and the lines on stderr."""
    errors = folder / "stderr"
    with errors.open("w") as stderr, redirect_stderr(stderr):
        loops = {name: Loop(port, **made()) for name, made in kinds(port, folder).items()}
        for number in range(rounds + 1):
            # Whoever comes first after a pause is not always the same.
            order = list(loops.values())
            for loop in order[number % len(order) :] + order[: number % len(order)]:
                loop.run(turns)
        for loop in loops.values():
            loop.manager.close()
    return loops, errors.read_text().splitlines()


def compared(seconds: list[float], base: list[float]) -> tuple[float, float]:
    """The turns' ratios, and three times the standard error of that."""
    ratio, error = _trimmed([one / other for one, other in zip(seconds, base, strict=True)])
    return ratio, 3 * error


def _trimmed(values: list[float]) -> tuple[float, float]:
    """The mean without a fifth at each end, and its standard error."""
    cut = len(values) // 5
    kept = sorted(values)[cut : len(values) - cut]
    # As usual for a trimmed mean: the cut values count as the nearest that were kept.
    whole = [kept[0]] * cut + kept + [kept[-1]] * cut
    return statistics.mean(kept), statistics.stdev(whole) / (0.6 * len(whole) ** 0.5)


def _said(name: str, stderr: list[str]) -> str:
    word = SAID.get(name)
    line = next((line for line in stderr if word is not None and word in line), "")
    return line if len(line) < 80 else line[:79] + "…"


def _get(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    return connection.getresponse().read()


def _leaving(url: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", LEAVING, url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    )
    return time.monotonic() - float(done.stdout)


if __name__ == "__main__":
    main()
