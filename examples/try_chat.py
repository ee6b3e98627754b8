"""The before and after of a compaction, then the terminal chat on the local model.

    python examples/try_chat.py

A session that nearly fills its window is one command away: `/resume demo`. The model is small and its window
is even smaller, so that warnings and a trim appear within minutes. Nothing leaves this machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from compact import CompactConfig, CompactManager
from compact.chat.imports import take_in
from compact.chat.turn_log import TurnLog
from compact.cli import main as compact
from compact.console.stored import DEFAULT_URL
from compact.stores import open_store

import before_after

DEMO = Path(__file__).with_name("demo_chat.json")
WINDOW, RESERVE = 3_400, 400
OPTIONS = ["--model", "local", "--window", str(WINDOW), "--set", f"policy.hard_cap_buffer={RESERVE}"]
HINT = f"""
This is no terminal, so the chat is not started. At one, it goes on with

    compact chat {" ".join(OPTIONS)}

where /resume demo opens a session that nearly fills the window. In a pipe:

    echo "Why is the sky blue?" | compact chat --model local --text
"""


def main() -> int:
    before_after.main(["--preset", "budget"])
    seed()
    sys.stdout.flush()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print(HINT)
        return 0
    print(
        "\nNow yourself: /resume demo opens a long session, and the next message trims it."
        "\nTo have its old turns summarized instead of dropped, type /preset chat first."
        f"\nThe model's window is made smaller for this: {WINDOW:,} tokens instead of 8,192.\n"
    )
    return compact(["chat", *OPTIONS])


def seed() -> None:
    """Put the demo session into the store, unless it is there."""
    turns = json.loads(DEMO.read_text(encoding="utf-8"))["messages"]
    with open_store(DEFAULT_URL) as store:
        if store.session("demo") is None:
            manager = CompactManager(CompactConfig(preset="window"), store=store, format="openai-chat")
            take_in(TurnLog(manager, store, "demo"), [], turns, "demo", "A week in the cottage")


if __name__ == "__main__":
    raise SystemExit(main())
