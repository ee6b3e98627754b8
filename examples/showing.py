"""What the examples print: every prompt as a bar, every compaction as a line, what survived."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compact.console.terminal import Screen, screen
from compact.model.event import Event, EventName

LEVELS = "▁▂▃▄▅▆▇█"


@dataclass
class Prompt:
    """One prompt as the events report it: its size when it came, its size when it went out."""

    came: int
    sent: int
    uncompacted: int
    """What it would have been without any compaction."""
    done: Event | None = None
    survival: float | None = None
    summary_tokens: int = 0


def prompts_of(events: Sequence[Event]) -> list[Prompt]:
    prompts: list[Prompt] = []
    for event in events:
        data: Mapping[str, Any] = event.data
        if event.name is EventName.TOKEN_ESTIMATE:
            came = data["t_est"]
            grown = came - prompts[-1].sent if prompts else came
            prompts.append(Prompt(came, came, (prompts[-1].uncompacted if prompts else 0) + grown))
        elif event.name is EventName.SUMMARY_CREATED:
            found = data["survival"]
            prompts[-1].survival = found.get("all", min(found.values(), default=1.0))
            prompts[-1].summary_tokens = data["summary_tokens"]
        elif event.name is EventName.COMPLETE:
            prompts[-1].sent, prompts[-1].done = data["tokensAfter"], event
    return prompts


def stage() -> Screen:
    return screen(sys.stdout, os.environ)


def draw_prompts(out: Screen, prompts: Sequence[Prompt], labels: Sequence[str], window: int) -> None:
    """A line for each prompt: what the agent had just done, and how much of the window goes out."""
    room = max(10, min(36, out.width - 64))
    out.line(out.styled(f"{'call':>4}  {'after':<22} {'came':>7} {'sent':>7}  of {window:,} tokens", "dim"))
    for number, (prompt, label) in enumerate(zip(prompts, labels, strict=False), 1):
        color = "magenta" if prompt.done else "green"
        bar = out.styled(out.bar(prompt.sent / window, room), color)
        note = f" compacted, v{prompt.done.step}" if prompt.done else ""
        out.line(
            f"{number:>4}  {out.fit(label, 22)} {prompt.came:>7,} {prompt.sent:>7,}  {bar}{note}".rstrip()
        )


def draw_course(out: Screen, prompts: Sequence[Prompt], window: int) -> None:
    """All prompts as two lines of small bars: without a compaction, and as they were sent."""
    most = max(prompt.uncompacted for prompt in prompts)
    out.line(f"  without Compact: up to {most:,} tokens, {most / window:.1f} windows")
    out.line(out.styled("  " + _small_bars(out, [prompt.uncompacted for prompt in prompts], most), "red"))
    sent = [prompt.sent for prompt in prompts]
    out.line(f"  as sent: up to {max(sent):,} tokens")
    out.line(out.styled("  " + _small_bars(out, sent, most), "green"))


def _small_bars(out: Screen, sizes: Sequence[int], most: int) -> str:
    """One character a prompt, or the largest of several where there are too many for the line."""
    each = -(-len(sizes) // (out.width - 4))
    sizes = [max(sizes[at : at + each]) for at in range(0, len(sizes), each)]
    levels = LEVELS if out.blocks else ".:-=+*#@"
    return "".join(levels[min(7, int(8 * size / (most + 1)))] for size in sizes)


def draw_rounds(out: Screen, prompts: Sequence[Prompt]) -> None:
    """A line for each compaction."""
    out.line(out.styled("  round  call   before    after  replaced        summary    said, kept", "dim"))
    for number, prompt in enumerate(prompts, 1):
        if prompt.done is None:
            continue
        data = prompt.done.data
        survived = "–" if prompt.survival is None else f"{prompt.survival:.0%}"
        out.line(
            f"  {prompt.done.step:>5} {number:>5} {data['tokensBefore']:>8,} {data['tokensAfter']:>8,}"
            f"  {data['messagesCompacted']:>3} messages {prompt.summary_tokens:>6,} tokens {survived:>10}"
        )
    note = "said, kept: the share of what user and assistant said and named that the prompt still has."
    out.line(out.styled(f"  {note}\n  What only tools returned is not counted; it can be recalled.", "dim"))


def draw_facts(out: Screen, facts: Sequence[str], prompt: str, recalled: Sequence[bool]) -> None:
    """Which facts the last prompt still holds word for word, and which can be looked up."""
    held = sum(fact in prompt for fact in facts)
    looked_up = sum(found and fact not in prompt for fact, found in zip(facts, recalled, strict=True))
    out.line(f"  {held} of {len(facts)} in the prompt, {looked_up} recalled from the store:")
    for fact, found in zip(facts, recalled, strict=True):
        if fact in prompt:
            out.line(f"  {out.styled('in the prompt', 'green')}    {fact}")
        else:
            state = out.styled("recalled     ", "yellow") if found else out.styled("lost         ", "red")
            out.line(f"  {state}    {fact}")
