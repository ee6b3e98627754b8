"""How much of what is needed later is still in the embedded summarizer's text.

    python benchmarks/summary_survival.py PATH [PATH ...] [--every N] [--json FILE]

PATH is a .jsonl or .jsonl.gz file, or a folder of them; one conversation per line, with probes. The
messages before `probe_cut_index` (all, if there is none), without system messages, are summarized to a
share of their tokens (characters / 4). A reused identifier survives if the text contains it; a question, if
the text contains all of its answer keys, ignoring case. Conversations under 3,000 tokens are skipped;
shares are pooled.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compact
from compact.evaluation.scoring import loosened

SHARES = (0.20, 0.10, 0.05)
LEAST_TOKENS = 3_000
GOALS = {("hard", 0.20): 97, ("hard", 0.10): 90, ("hard", 0.05): 70, ("question", 0.20): 60}


def conversations(paths: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    files = [file for path in paths for file in (sorted(path.glob("*.jsonl*")) if path.is_dir() else [path])]
    for file in files:
        name = file.name.split(".jsonl")[0]
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield name, json.loads(line)


def size(message: dict[str, Any]) -> int:
    calls = message.get("tool_calls") or ()
    return len(message.get("content") or "") + sum(
        len(call["function"]["name"]) + len(call["function"]["arguments"]) for call in calls
    )


def measure(paths: list[Path], every: int) -> dict[str, Any]:
    found: dict[tuple[str, str, float], list[int]] = defaultdict(lambda: [0, 0])
    seconds = tokens_read = overrun = 0
    for number, (source, conversation) in enumerate(conversations(paths)):
        if number % every:
            continue
        cut = conversation.get("probe_cut_index") or len(conversation["messages"])
        messages = [message for message in conversation["messages"][:cut] if message["role"] != "system"]
        tokens = sum(map(size, messages)) // 4
        hard = [probe["value"] for probe in conversation["probes"] if probe.get("hard")]
        asked = [probe["answer_keys"] for probe in conversation["probes"] if probe.get("answer_keys")]
        if tokens < LEAST_TOKENS or not (hard or asked):
            continue
        for share in SHARES:
            limit = int(tokens * share)
            start = time.perf_counter()
            text = compact.summarize(messages, max_tokens=limit, counter="chars4").text
            seconds += time.perf_counter() - start
            tokens_read += tokens
            overrun += len(text) > limit * 4
            kept = [("hard", value in text) for value in hard]
            read = loosened(text)
            kept += [("question", all(loosened(key) in read for key in keys)) for keys in asked]
            for kind, there in kept:
                for name in (source, "all"):
                    found[kind, name, share][0] += there
                    found[kind, name, share][1] += 1
        print(f"\r{source} {number + 1}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return {
        "overrun": overrun,
        "seconds_per_100k_tokens": round(seconds / max(1, tokens_read) * 100_000, 3),
        "rows": [
            {"probe": kind, "source": source, "share": share, "kept": kept, "of": total}
            for (kind, source, share), (kept, total) in found.items()
        ],
    }


def table(result: dict[str, Any]) -> str:
    cells = {(row["probe"], row["source"], row["share"]): row for row in result["rows"]}
    lines = ["| probe | source | n | 20% | 10% | 5% |", "|---|---|--:|--:|--:|--:|"]
    for kind in ("hard", "question"):
        sources = list(dict.fromkeys(row["source"] for row in result["rows"] if row["probe"] == kind))
        for source in sorted(sources, key=lambda name: (name == "all", name)):
            rows = [cells[kind, source, share] for share in SHARES]
            shown = [f"{100 * row['kept'] / row['of']:.1f}%" for row in rows]
            if source == "all":
                goals = [GOALS.get((kind, share)) for share in SHARES]
                shown = [
                    f"**{cell}**" + (f" (≥ {goal}%)" if goal else "")
                    for cell, goal in zip(shown, goals, strict=True)
                ]
            lines.append(f"| {kind} | {source} | {rows[0]['of']} | " + " | ".join(shown) + " |")
    lines.append(
        f"\nover the limit: {result['overrun']}; {result['seconds_per_100k_tokens']} s for 100,000 tokens"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every Nth conversation only")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    result = measure(arguments.paths, arguments.every)
    print(table(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
