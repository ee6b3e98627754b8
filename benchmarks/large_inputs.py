"""Large inputs compared with counting them: arrays of numbers in a call, and very long new histories.

    python benchmarks/large_inputs.py [--messages 100000]

Each is one `prepare` that compacts, with the embedded summarizer, in CPU time; the bound is 5 times one
pass of tiktoken's own `encode` over the same texts. Exits with 1 if it is broken.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from preflight_cost import WORDS, tiktokens_own

from compact import CompactConfig, CompactManager
from compact.archives.memory import MemoryArchive
from compact.counters import counter_for

BOUND = 5.0


def array(size: int) -> list[dict[str, Any]]:
    """A call with `size` integers in its arguments."""
    function = {"name": "add", "arguments": json.dumps({"rows": list(range(size))})}
    return [
        {"role": "user", "content": "Add these up."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        {"role": "assistant", "content": "They are added up."},
        {"role": "user", "content": "And now?"},
    ]


def talk(size: int, words: int = 40) -> list[dict[str, Any]]:
    """`size` messages of some forty words in turn."""
    rng = random.Random(size)
    return [
        {"role": role, "content": f"Part {n}: {' '.join(rng.choices(WORDS, k=words))}."}
        for n, role in zip(range(size), ("user", "assistant") * size, strict=False)
    ]


def texts(messages: list[dict[str, Any]]) -> list[str]:
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    contents = [message["content"] for message in messages if message["content"]]
    return contents + [call["function"]["arguments"] for call in calls]


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--integers", type=int, nargs="+", default=[100_000, 600_000])
    parser.add_argument("--messages", type=int, nargs="+", default=[100_000])
    options = parser.parse_args()
    encode = tiktokens_own().encode
    counter_for("gpt-4o", "tiktoken").count("warm")
    inputs = [(f"{size:,} integers", array(size)) for size in options.integers]
    inputs += [(f"{size:,} messages", talk(size)) for size in options.messages]
    missed = 0
    for name, messages in inputs:
        counting = seconds(lambda: [encode(text, disallowed_special=()) for text in texts(messages)])  # noqa: B023
        config = CompactConfig(model="gpt-4o", max_context_tokens=128_000)
        with CompactManager(config, archive=MemoryArchive()) as manager:
            manager.prepare("warm", messages[:1])
            spent = seconds(lambda: manager.prepare("s", messages))  # noqa: B023
        ratio = spent / counting
        missed += ratio > BOUND
        held = "holds" if ratio <= BOUND else "MISSED"
        print(
            f"{name}: counting {counting * 1000:.0f} ms, prepare {spent * 1000:.0f} ms, "
            f"ratio {ratio:.1f} (at most {BOUND:g}: {held})",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
