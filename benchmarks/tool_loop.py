"""A run of one task and many tool steps through the engine: compactions, cache hits, large outputs.

    python benchmarks/tool_loop.py [--seeds 3] [--steps 120]

Each step adds a call and an output of 1,500 to 6,000 tokens, counted with the model's own tokenizer. Prints
the compactions and the share of the prompts that a provider's cache would have had: bare, and with 12,000
tokens of system prompt and tool schemas in front, as real agents have. Then does the same with four outputs
larger than a window of 32k: every prompt is linted, its size checked, and each original recalled by its
handle.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from compact import CompactConfig, CompactManager, count_tokens, lint

WORDS = (
    "batch worker queue parser importer ledger report invoice schema buffer cursor widget handler record "
    "stream column filter bucket socket thread packet header footer module branch commit index vector "
    "matrix kernel driver window editor folder marker router bridge signal sensor canvas"
).split()
TASK = "Find out why the nightly import of the ledger is slow, and make it fast. Do not touch the schema."
SMALLEST, LARGEST = 1_500, 6_000
SYSTEM_TOKENS, TOOLS = 8_000, 24
"""With the schemas of so many tools about 12,000 tokens."""
LARGE = 40_000
LARGE_AT = {0: 1, 60: 1, 90: 2}
"""Steps with outputs larger than a window of 32k: the first, one as newest, two in parallel."""
_NAMED = re.compile(r"\brecall (r-[0-9a-f]+)")

Message = dict[str, Any]


def output(rng: random.Random, tokens: int) -> str:
    """Tool output of about that many tokens: a listing with names, numbers and codes."""
    lines, size = [], 0
    while size < tokens * 3.25:
        words = " ".join(rng.choices(WORDS, k=6))
        path = f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}_{rng.randrange(99)}.py"
        line = f"{rng.randrange(1, 900):>4}  {path}: "
        line += f"{words} = {rng.choice(WORDS)}_{rng.randrange(10_000):04x}({rng.random():.4f})"
        lines.append(line)
        size += len(line)
    return "\n".join(lines)


def tool_step(rng: random.Random, number: int, said: str, *tokens: int) -> list[Message]:
    """A message with a call for each of these sizes, and their outputs."""
    calls, results = [], []
    for at, size in enumerate(tokens):
        path = f"src/{rng.choice(WORDS)}/{rng.choice(WORDS)}_{number}.py"
        function = {"name": "read_file", "arguments": json.dumps({"path": path})}
        name = f"call_{number}_{at}" if at else f"call_{number}"
        calls.append({"id": name, "type": "function", "function": function})
        results.append({"role": "tool", "tool_call_id": name, "content": output(rng, size)})
    return [{"role": "assistant", "content": said, "tool_calls": calls}, *results]


def front() -> tuple[list[Message], list[Message]]:
    """A long system prompt, and the schemas of many tools."""
    rng = random.Random(1)
    system = {"role": "system", "content": output(rng, SYSTEM_TOKENS)}
    tools = []
    for number in range(TOOLS):
        about = output(rng, 110)
        fields = {rng.choice(WORDS): {"type": "string", "description": rng.choice(WORDS)} for _ in range(3)}
        function = {
            "name": f"{rng.choice(WORDS)}_{number}",
            "description": about,
            "parameters": {"type": "object", "properties": fields},
        }
        tools.append({"type": "function", "function": function})
    return [system], tools


def manager_for(preset: str, window: int, summarizer: Any = None, **policy: Any) -> CompactManager:
    config = CompactConfig(
        model="gpt-4o",
        preset=preset,
        max_context_tokens=window,
        archive={"adapter": "none"},
        summarizer={"name": "extractive"},
        policy=policy,
    )
    return CompactManager(config, summarizer=summarizer)


def text_of(prompt: Sequence[Message]) -> str:
    return "\n".join(str(message.get("content") or "") for message in prompt)


@dataclass
class Loop:
    """A run of one task: its last prompt, and what of all its prompts the prompt before had."""

    sent: str
    compactions: int
    cached: float
    shortened: int = 0
    """Outputs that were shortened or cleared at some time, all of them recalled as they were."""


def run_loop(
    preset: str,
    window: int,
    steps: int,
    seed: int = 5,
    *,
    said_at: Mapping[int, str] | None = None,
    with_front: bool = False,
    large: bool = False,
    **policy: Any,
) -> Loop:
    """`said_at`: what the assistant says at these steps instead of what it is about to read."""
    rng = random.Random(seed)
    manager = manager_for(preset, window, **policy)
    leading, tools = front() if with_front else ([], None)
    messages: list[Message] = [*leading, {"role": "user", "content": TASK}]
    in_tools = count_tokens([], tools=tools, counter="estimate") if tools else 0
    before: Sequence[Message] = []
    sizes: dict[int, int] = {}
    originals: dict[str, str] = {}
    handles: dict[str, str] = {}
    total = hits = 0
    for step in range(steps):
        said = (said_at or {}).get(step) or f"Let me look at the {rng.choice(WORDS)} next."
        count = LARGE_AT.get(step, 0) if large else 0
        tokens = [LARGE] * count or [rng.randrange(SMALLEST, LARGEST)]
        fresh = tool_step(rng, step, said, *tokens)
        messages += fresh
        prepared = manager.prepare("s", messages, tools=tools)
        prompt = prepared.messages
        if large:
            originals.update((one["tool_call_id"], one["content"]) for one in fresh[1:])
            handles.update(checked(prompt, originals))
            assert prepared.tokens.final <= manager.usage("s", messages, tools=tools).budget
        same = list(takewhile(lambda pair: pair[0] == pair[1], zip(before, prompt, strict=False)))
        hits += sum(size_of(pair[1], sizes) for pair in same) + (in_tools if before else 0)
        total += sum(size_of(message, sizes) for message in prompt) + in_tools
        before = prompt
    for name, handle in handles.items():
        assert manager.recall("s", handle, limit=1)[0].text == originals[name]
    return Loop(text_of(before), len(manager.records("s")), hits / total, len(handles))


def checked(prompt: Sequence[Message], originals: Mapping[str, str]) -> dict[str, str]:
    """The handles of a valid prompt's outputs that are not shown in full, by the ids of their calls."""
    assert lint(prompt, "openai") == []
    shown = {one["tool_call_id"]: one["content"] for one in prompt if one["role"] == "tool"}
    cut = {name: _NAMED.search(text) for name, text in shown.items() if text != originals[name]}
    assert all(cut.values())
    return {name: found[1] for name, found in cut.items() if found}


def size_of(message: Message, known: dict[int, int]) -> int:
    key = hash(json.dumps(message))
    if key not in known:
        known[key] = count_tokens([message], counter="estimate")
    return known[key]


def print_loops(seeds: int, steps: int) -> None:
    for window in (32_000, 128_000):
        for preset in ("budget", "agent"):
            for with_front in (False, True):
                made = [run_loop(preset, window, steps, 5 + at, with_front=with_front) for at in range(seeds)]
                label = "12k in front" if with_front else "bare"
                print(f"loop {preset:7s}{window // 1000:>4}k {label:13s}{shown(made)}", flush=True)
    for preset in ("budget", "agent"):
        made = [run_loop(preset, 32_000, steps, 5 + at, large=True) for at in range(seeds)]
        recalled = ", ".join(str(loop.shortened) for loop in made)
        print(
            f"loop {preset:7s}  32k large outputs {shown(made)}, {recalled} recalled as they were", flush=True
        )


def shown(made: Sequence[Loop]) -> str:
    counts = ", ".join(str(loop.compactions) for loop in made)
    return f"{counts} compactions; {', '.join(f'{loop.cached:.1%}' for loop in made)} cached"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=120)
    given = parser.parse_args()
    print_loops(given.seeds, given.steps)


if __name__ == "__main__":
    main()
