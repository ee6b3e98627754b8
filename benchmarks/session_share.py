"""How much of a session's time Compact takes (S4.20).

    python benchmarks/session_share.py [--turns 1000] [--latency 0.5] [--rounds 5] [--sqlite]

A real run of the OpenAI Agents SDK over HTTP against a model server on loopback that answers after
`latency` seconds. It has `turns` turns with a tool call in each, and outputs so large that the window fills
`rounds` times. Prints the share of the session's wall time spent on counting, summarizing, pruning,
archiving and committing (the whole filter, and the hook that takes the provider's usage), and how long a
preflight without a compaction takes. 1,000 turns of half a second take more than eight minutes; `--latency
0.05` makes the share ten times as large, which is stricter.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from compact import CompactConfig, CompactManager
from compact.integrations.openai_agents import CompactHooks, compact_filter

WINDOW = 128_000
MOST_SHARE = 0.10
MOST_PREFLIGHT = 0.010
WORDS = (
    "the quick build failed because parser returned None while reading config value from disk and retry "
    "logic in session handler did not close the socket before timeout of module importer test suite run"
).split()
FILLED = 0.78
"""Of the window, that is new in each round: from what a compaction leaves up to the trigger."""


class Handler(BaseHTTPRequestHandler):
    """Asks for one more step after a while, until it has asked often enough."""

    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        number = self.server.answered
        self.server.answered += 1
        time.sleep(self.server.latency)
        message: dict[str, Any] = {"role": "assistant", "content": "Done."}
        if number < self.server.turns - 1:
            function = {"name": "look", "arguments": json.dumps({"place": number})}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        body = json.dumps({"id": "1", "object": "chat.completion", "model": "served", "choices": [choice]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


class ModelServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, turns: int, latency: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.turns, self.latency, self.answered = turns, latency, 0


@contextmanager
def serving(turns: int, latency: float) -> Iterator[ModelServer]:
    server = ModelServer(turns, latency)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Measured:
    turns: int
    wall: float = 0.0
    plain: list[float] = field(default_factory=list)
    """Seconds of each filter call that compacted nothing."""
    busy: list[float] = field(default_factory=list)
    """The same, without the time in which other programs had the processor."""
    compacting: list[float] = field(default_factory=list)
    observing: float = 0.0
    waited: float = 0.0
    """Seconds that the model alone took."""

    @property
    def ours(self) -> float:
        return sum(self.plain) + sum(self.compacting) + self.observing

    @property
    def share(self) -> float:
        return self.ours / self.wall

    @property
    def strict_share(self) -> float:
        """Of a session in which nothing but the model and Compact takes time."""
        return self.ours / (self.ours + self.waited)


def output_of(place: int, tokens: int) -> str:
    """A tool output of about so many tokens, different at each place: a file with numbered lines."""
    dice = random.Random(place)
    lines = (
        f"{n:4} {' '.join(dice.choices(WORDS, k=9))}  # {dice.random():.4f}" for n in range(tokens // 18)
    )
    return "\n".join([f"src/part_{place}.py", *lines])


async def measure(
    turns: int, latency: float, rounds: int, window: int = WINDOW, sqlite: bool = False
) -> Measured:
    measured = Measured(turns, waited=turns * latency)
    size = round(FILLED * window * (rounds + 0.3) / turns)

    @function_tool
    def look(place: int) -> str:
        """Look at one place."""
        return output_of(place, size)

    with tempfile.TemporaryDirectory() as folder, serving(turns, latency) as server:
        config = CompactConfig(
            model="gpt-4o",
            max_context_tokens=window,
            summarizer={"name": "extractive"},
            archive={"path": str(Path(folder) / "archive")},
            storage={"url": f"sqlite:///{folder}/store.db" if sqlite else None},
        )
        with CompactManager(config) as manager:
            fitting = compact_filter(manager, "bench")
            hooks = Observed(manager, measured)

            async def timed(data: Any) -> Any:
                before, began, busy = len(manager.records("bench")), time.perf_counter(), time.process_time()
                out = await fitting(data)
                spent, busy = time.perf_counter() - began, time.process_time() - busy
                if len(manager.records("bench")) > before:
                    measured.compacting.append(spent)
                else:
                    measured.plain.append(spent)
                    measured.busy.append(busy)
                return out

            async with AsyncOpenAI(
                base_url=f"http://127.0.0.1:{server.server_port}", api_key="none", max_retries=0
            ) as client:
                model = OpenAIChatCompletionsModel("gpt-4o", client)
                agent = Agent("Looker", instructions="Look around.", tools=[look], model=model)
                began = time.perf_counter()
                await Runner.run(
                    agent,
                    "Look at every place.",
                    max_turns=turns,
                    run_config=RunConfig(call_model_input_filter=timed),
                    hooks=hooks,
                )
                measured.wall = time.perf_counter() - began
    return measured


class Observed(CompactHooks):
    """The hook that takes the provider's usage, timed as well."""

    def __init__(self, manager: CompactManager, measured: Measured) -> None:
        super().__init__(manager, "bench")
        self._measured = measured

    async def on_llm_end(self, *given: Any) -> None:
        began = time.perf_counter()
        await super().on_llm_end(*given)
        self._measured.observing += time.perf_counter() - began


def report(measured: Measured) -> bool:
    """Print the table and the verdict."""
    worst = quantiles(measured.busy, n=100)[98]
    rows = [
        ("turns", f"{measured.turns:,}"),
        ("compactions", f"{len(measured.compacting)}"),
        ("session", f"{measured.wall:.1f} s"),
        ("  in Compact", f"{measured.ours:.2f} s"),
        ("  of that compacting", f"{sum(measured.compacting):.2f} s"),
        ("preflight, median", f"{median(measured.plain) * 1e3:.2f} ms"),
        ("  without other programs", f"{median(measured.busy) * 1e3:.2f} ms"),
        ("  of that 99 of 100 within", f"{worst * 1e3:.2f} ms"),
        ("share of the session", f"{measured.share:.2%}   (at most {MOST_SHARE:.0%})"),
        ("  of model and Compact alone", f"{measured.strict_share:.2%}"),
    ]
    for name, value in rows:
        print(f"{name:<28} {value}")
    holds = measured.share <= MOST_SHARE and median(measured.busy) <= MOST_PREFLIGHT
    print("holds" if holds else "does not hold")
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--latency", type=float, default=0.5, help="seconds the model takes for an answer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sqlite", action="store_true", help="keep the session in SQLite, not in memory")
    options = parser.parse_args()
    set_tracing_disabled(True)
    asyncio.run(measure(20, 0.0, 1, 8_000))  # what is loaded once is not a session's cost
    run = measure(options.turns, options.latency, options.rounds, sqlite=options.sqlite)
    if not report(asyncio.run(run)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
