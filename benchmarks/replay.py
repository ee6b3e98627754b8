"""Replay real conversations, turn by turn, through every preset and check each prompt that would be sent.

    python benchmarks/replay.py DATA [--windows 8000,32000] [--presets all] [--limit N] [--adopt]

DATA is a folder of *.jsonl.gz files (or one file), one conversation per line with `messages` and maybe
`tools`. Prints a table. The exit code is 1 if a prompt was over budget, broke a provider's rules although
the input did not, or if anything but a justified InsufficientBudget was raised.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from compact import CompactConfig, CompactManager, InsufficientBudget, count_tokens, lint
from compact.archives.memory import MemoryArchive
from compact.policies import PRESETS


def conversations(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
    for file in files:
        source = file.name.split(".")[0]
        with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
            for line in lines:
                yield source, json.loads(line)


def prompts(messages: list[dict[str, Any]]) -> Iterator[int]:
    """Where a model would be called: after each user message, and after the results of each tool step."""
    for index, message in enumerate(messages, 1):
        following = messages[index]["role"] if index < len(messages) else None
        if message["role"] == "user" or (message["role"] == "tool" and following != "tool"):
            yield index


LINES = 64
"""Tokens that a marker or the lines that open and join what is left may take."""


def must_stay(messages: list[dict[str, Any]], first_turns: int) -> list[dict[str, Any]]:
    """What no policy may remove: instructions, first turns, and the task with its last step and answer."""
    task = max((n for n, message in enumerate(messages) if message["role"] == "user"), default=0)
    kept = {n for n, message in enumerate(messages) if message["role"] in ("system", "developer")} | {task}
    said = [n for n, message in enumerate(messages) if message["role"] in ("user", "assistant")]
    opening = said[:first_turns]
    newest = [n for n in said if n > task]
    steps = [n for n in newest if messages[n].get("tool_calls")]
    prose = [n for n in newest if not messages[n].get("tool_calls")]
    for n in (*opening, *steps[-1:], *prose[-1:]):
        results = takewhile(lambda at: messages[at]["role"] == "tool", range(n + 1, len(messages)))
        kept.update((n, *results))
    return [messages[n] for n in sorted(kept)]


def justified(config: CompactConfig, messages: list[dict[str, Any]], tools: Any, budget: int) -> bool:
    """What must stay is over the budget, as counted here, not as the engine reports it."""
    stays = must_stay(messages, config.policy.keep_first_turns)
    return count_tokens(stays, config.model, tools=tools, counter=COUNTER) + LINES > budget


class NoSummary:
    """A summarizer that costs nothing: the replay is about the engine, not about prose."""

    def summarize(self, request: Any) -> str:
        return ("Earlier work: " + "; ".join(m.role.value for m in request.messages[:20]) + ". " * 100)[:240]


def replay(preset: str, window: int, one: dict[str, Any], adopt: bool, tally: Counter[str]) -> None:
    config = CompactConfig(model="gpt-4o", max_context_tokens=window, preset=preset, counter=COUNTER)
    manager = CompactManager(config, summarizer=SUMMARIZER, archive=MemoryArchive())
    budget = window - config.policy.reserve(window)
    messages, tools = one["messages"], one.get("tools")
    clean = [provider for provider in ("openai", "anthropic") if not lint(messages, provider)]
    given: list[Any] = []
    taken = 0
    for number, end in enumerate(prompts(messages)):
        given = [*given, *messages[taken:end]]
        taken = end
        tally["prompts"] += 1
        try:
            prepared = manager.prepare("replay", given, tools)
        except InsufficientBudget as error:
            fair = justified(config, messages[:end], tools, budget)
            tally["insufficient" if fair else "UNJUSTIFIED"] += 1
            if not fair:
                print(f"{one['id']} {preset} {window} at {end}: {error}", file=sys.stderr)
            continue
        changed = prepared.was_compacted or prepared.was_pruned
        tally["compactions"] += changed
        if prepared.tokens.final > budget:
            tally["OVER"] += 1
            print(f"{one['id']} {preset} {window} at {end}: over budget", file=sys.stderr)
        # Between compactions a prompt only grows by the source's own messages, so a sample is enough there.
        if changed or number % 25 == 0 or end == len(messages):
            if count_tokens(prepared.messages, "gpt-4o", tools=tools, counter=COUNTER) > budget:
                tally["OVER"] += 1
                print(
                    f"{one['id']} {preset} {window} at {end}: over budget when counted anew", file=sys.stderr
                )
            for provider in clean:
                for violation in lint(prepared.messages, provider)[:1]:
                    tally["LINT"] += 1
                    print(f"{one['id']} {preset} {window} at {end}: {provider}: {violation}", file=sys.stderr)
        if adopt:
            given = list(prepared.messages)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--windows", default="8000,32000")
    parser.add_argument("--presets", default="all")
    parser.add_argument("--limit", type=int, default=0, help="conversations a source")
    parser.add_argument("--adopt", action="store_true", help="go on with the list that came back")
    parser.add_argument("--counter", default="estimate")
    parser.add_argument("--summarizer", choices=("none", "embedded"), default="none")
    options = parser.parse_args()
    global COUNTER, SUMMARIZER
    COUNTER = options.counter
    SUMMARIZER = NoSummary() if options.summarizer == "none" else None
    presets = PRESETS if options.presets == "all" else options.presets.split(",")
    header = (
        "source",
        "preset",
        "window",
        "convs",
        "prompts",
        "compactions",
        "insufficient",
        "unjustified",
        "over",
        "lint",
        "s",
    )
    print("\t".join(header))
    bad = 0
    for preset in presets:
        for window in map(int, options.windows.split(",")):
            tallies: dict[str, Counter[str]] = {}
            seconds: Counter[str] = Counter()
            for source, one in conversations(options.data):
                tally = tallies.setdefault(source, Counter())
                if options.limit and tally["convs"] >= options.limit:
                    continue
                tally["convs"] += 1
                began = time.perf_counter()
                replay(preset, window, one, options.adopt, tally)
                seconds[source] += time.perf_counter() - began  # type: ignore[assignment]
            for source, tally in tallies.items():
                row = [
                    tally[name]
                    for name in (
                        "convs",
                        "prompts",
                        "compactions",
                        "insufficient",
                        "UNJUSTIFIED",
                        "OVER",
                        "LINT",
                    )
                ]
                print(
                    "\t".join(map(str, (source, preset, window, *row, f"{seconds[source]:.1f}"))), flush=True
                )
                bad += tally["OVER"] + tally["LINT"] + tally["UNJUSTIFIED"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
