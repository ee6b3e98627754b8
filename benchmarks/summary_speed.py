"""The embedded summarizer against one tiktoken pass over the same text.

    python benchmarks/summary_speed.py [PATH] [--tokens 100000] [--share 0.1]

PATH is a .jsonl or .jsonl.gz file of conversations, joined until there are enough tokens; without it an
agent's session is made up. Both are timed in turn, fifteen times, in processor time; prints the best of each
and the median of the ratios, which others' work on the machine moves least. The goal is at most 4; above it,
it exits with 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from preflight_cost import tiktokens_own

import compact

GOAL = 4.0
ROUNDS = 15


def from_file(path: Path, characters: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    size = 0
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            for message in json.loads(line)["messages"]:
                if message["role"] == "system":
                    continue
                messages.append(message)
                size += len(text_of(message))
                if size >= characters:
                    return messages
    return messages


def made_up(characters: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Make the nightly import faster. Never touch prod."}
    ]
    size = step = 0
    while size < characters:
        step += 1
        path = f"src/imports/stage_{step % 23}.py"
        body = "\n".join(
            f"{line:4d}  def load_{step}_{line}(batch_id, rows={line * 7}): return merge(batch_id, '{path}')"
            for line in range(40)
        )
        function = {"name": "read_file", "arguments": json.dumps({"path": path, "offset": step})}
        call = {"id": f"call_{step}", "type": "function", "function": function}
        said = (
            f"The slow part is in {path}, because load_{step}_7 opens the file once a row. Reading it next."
        )
        messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": body})
        size += len(body) + len(said)
    return messages


def text_of(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls") or ()
    return (message.get("content") or "") + "".join(call["function"]["arguments"] for call in calls)


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description="Embedded summarizer against tiktoken.")
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.1)
    arguments = parser.parse_args()
    characters = arguments.tokens * 4
    messages = from_file(arguments.path, characters) if arguments.path else made_up(characters)
    text = "\n".join(map(text_of, messages))
    encode = tiktokens_own().encode  # our counter is faster than that; the goal is in tiktoken's own passes
    tokens = len(encode(text, disallowed_special=()))
    limit = int(len(text) / 4 * arguments.share)
    missed = 0
    for name in ("chars4", "tiktoken"):
        pairs = [
            (
                seconds(lambda: encode(text, disallowed_special=())),
                seconds(lambda: compact.summarize(messages, max_tokens=limit, counter=name)),  # noqa: B023
            )
            for _ in range(ROUNDS)
        ]
        counting, writing = (min(times) for times in zip(*pairs, strict=True))
        ratio = median(summary / count for count, summary in pairs)
        missed += ratio > GOAL
        print(
            f"{len(text):,} characters, {tokens:,} tokens: tiktoken {counting * 1000:.1f} ms, "
            f"summary ({name}) {writing * 1000:.1f} ms, ratio {ratio:.1f} "
            f"(goal {GOAL:g}: {'holds' if ratio <= GOAL else 'MISSED'})"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
