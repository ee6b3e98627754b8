"""How close the estimator comes to tiktoken on real conversations, by source, and how much faster it is.

    python benchmarks/estimator_accuracy.py PATH [--model gpt-4o] [--limit 400]

PATH is a `.jsonl.gz` or `.jsonl` file, or a folder of them; each line holds {"messages": [...]} in OpenAI
chat format. Texts of 2,000 characters and more are compared one by one (S1.4); shorter messages are joined
until they reach that length.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compact.counters import counter_for
from compact.ports import TokenCounter

SHORTEST = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description="Estimator against tiktoken, by source.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--model", default="gpt-4o")
    parser.add_argument("--limit", type=int, default=400, help="texts of each source, evenly spaced")
    options = parser.parse_args()
    exact = counter_for(options.model)
    estimate, plain = counter_for(options.model, "estimate"), counter_for(options.model, "chars4")
    if not exact.exact:
        raise SystemExit(
            "No exact counter: install the vocabulary with pip install 'compact-context[offline]'"
        )
    exact.count("warm")

    files = sorted(options.path.glob("*.jsonl*")) if options.path.is_dir() else [options.path]
    print(f"{'source':<16}{'texts':>7}{'±20%':>9}{'chars/4':>9}{'p5':>7}{'p50':>7}{'p95':>7}{'speed':>8}")
    everything: list[float] = []
    everything_plain: list[float] = []
    for file in files:
        texts = _spaced(list(_texts(file)), options.limit)
        if not texts:
            continue
        counts, exact_seconds = _timed(exact, texts)
        estimates, estimate_seconds = _timed(estimate, texts)
        ratios = [guess / count for guess, count in zip(estimates, counts, strict=True)]
        plain_ratios = [plain.count(text) / count for text, count in zip(texts, counts, strict=True)]
        everything += ratios
        everything_plain += plain_ratios
        _print(file.name.partition(".")[0], ratios, plain_ratios, f"{exact_seconds / estimate_seconds:.1f} x")
    _print("all", everything, everything_plain, "")


def _print(name: str, ratios: list[float], plain: list[float], speed: str) -> None:
    ordered = sorted(ratios)
    low, middle, high = (ordered[int(share * (len(ordered) - 1))] for share in (0.05, 0.5, 0.95))
    print(
        f"{name:<16}{len(ratios):>7}{_within(ratios):>9.1%}{_within(plain):>9.1%}"
        f"{low:>7.2f}{middle:>7.2f}{high:>7.2f}{speed:>8}"
    )


def _within(ratios: list[float]) -> float:
    return sum(0.8 <= ratio <= 1.2 for ratio in ratios) / len(ratios)


def _timed(counter: TokenCounter, texts: list[str]) -> tuple[list[int], float]:
    start = time.perf_counter()
    counts = [counter.count(text) for text in texts]
    return counts, time.perf_counter() - start


def _spaced(texts: list[str], limit: int) -> list[str]:
    return texts[:: max(1, len(texts) // limit)][:limit]


def _texts(file: Path) -> Iterator[str]:
    open_text = gzip.open if file.suffix == ".gz" else open
    with open_text(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            short = ""
            for text in _message_texts(json.loads(line)["messages"]):
                if len(text) >= SHORTEST:
                    yield text
                    continue
                short += text + "\n"
                if len(short) >= SHORTEST:
                    yield short
                    short = ""


def _message_texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        if isinstance(message.get("content"), str):
            yield message["content"]
        for call in message.get("tool_calls") or ():
            yield call["function"]["arguments"]


if __name__ == "__main__":
    main()
