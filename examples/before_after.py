"""Compacts a sample session with every preset and shows what would be sent.

    python examples/before_after.py [FILE] [--window 8000] [--preset NAME]

The sample is an invented coding session of 149 messages. Nothing is sent anywhere.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from compact import CompactConfig, CompactManager
from compact.console.drawing import draw_usage, snippet
from compact.console.terminal import Screen, plural, screen
from compact.formats import decode_all, recognize
from compact.policies import PRESETS

SHOWN_LINES = 14
SHOWN_RUN = 4
SAMPLE = Path(__file__).with_name("sample_session.json")


def main(argv: list[str] | None = None) -> None:
    parser = ArgumentParser(description="Compact a session with every preset and show what goes out.")
    parser.add_argument("file", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--window", type=int, default=8_000)
    parser.add_argument("--preset", choices=PRESETS, help="only this one")
    args = parser.parse_args(argv)
    body = json.loads(args.file.read_text(encoding="utf-8"))
    out = screen(sys.stdout, os.environ)
    out.line(f"{args.file.name}: {plural(len(body['messages']), 'message')}, window {args.window:,} tokens")
    for preset in [args.preset] if args.preset else PRESETS:
        show(out, preset, args.window, body["messages"], body.get("tools"))


def show(out: Screen, preset: str, window: int, messages: list[Any], tools: Any) -> None:
    config = CompactConfig(preset=preset, max_context_tokens=window, archive={"adapter": "none"})
    manager = CompactManager(config)
    trigger = manager.usage("sample", messages, tools).trigger
    prepared = manager.prepare("sample", messages, tools)

    out.line()
    out.line(out.styled(preset, "bold"))
    rule = import_module(f"compact.policies.{preset}").__doc__ or ""
    out.paragraph("  ", " ".join(rule.split()), 2, "dim")
    draw_usage(out, "before", prepared.tokens.before, window, trigger)
    draw_usage(out, "after", prepared.tokens.final, window, trigger)
    out.line()
    draw_prompt(out, messages, list(prepared.messages))


def draw_prompt(out: Screen, before: list[Any], after: list[Any]) -> None:
    """What goes out: new messages with their text, runs of unchanged ones as one line each."""
    # Numbered as summaries cite them: from 0, without the system prompt.
    head = next((at for at, message in enumerate(before) if message.get("role") != "system"), 0)
    places = {id(message): index - head for index, message in enumerate(before)}
    decoded = decode_all(after, recognize(after))
    kept = {places.get(id(message)) for message in after}
    gone = [index for index in range(len(before) - head) if index not in kept]
    line = f"{ranges(gone)}: {plural(len(gone), 'message')} gone or rewritten"
    out.paragraph("  - ", line, 4, "red")
    for is_new, group in groupby(decoded, key=lambda message: id(message.origin.source) not in places):
        run = list(group)
        for at, message in enumerate(run):
            if is_new:
                draw_new(out, message)
            elif at < SHOWN_RUN or at >= len(run) - SHOWN_RUN:
                place = places[id(message.origin.source)]
                label = f"  = {f'm{place} ' if place >= 0 else ''}{message.role.value}: "
                out.line(out.styled(out.fit(label + snippet(message), out.width).rstrip(), "green"))
            elif at == SHOWN_RUN:
                out.line(out.styled(f"    … {plural(len(run) - 2 * SHOWN_RUN, 'more message')}", "green"))


def draw_new(out: Screen, message: Any) -> None:
    lines = message.text.splitlines() or [snippet(message)]
    out.line(out.styled(f"  + {message.role.value}", "blue"))
    for line in lines[:SHOWN_LINES]:
        out.line("    " + out.styled("│ ", "blue") + out.fit(line, out.width - 6).rstrip())
    if len(lines) > SHOWN_LINES:
        out.line(out.styled(f"    │ … {plural(len(lines) - SHOWN_LINES, 'more line')}", "blue"))


def ranges(indexes: list[int]) -> str:
    """1, 2, 3, 7 as "m1–m3, m7"."""
    grouped = groupby(enumerate(indexes), key=lambda pair: pair[1] - pair[0])
    runs = [[index for _, index in run] for _, run in grouped]
    return ", ".join(f"m{run[0]}–m{run[-1]}" if len(run) > 1 else f"m{run[0]}" for run in runs)


if __name__ == "__main__":
    main()
