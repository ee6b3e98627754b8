"""Which commands there are. A command's own file is imported only when it is the one that is asked for."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from compact.cli.context import Context
from compact.cli.exits import ExitCode

SUMMARIES: Mapping[str, str] = {
    "run": "compact a conversation to standard output, in the format it came in",
    "plan": "show what would happen to each message; nothing is changed",
    "count": "count the tokens of a conversation, by role",
    "lint": "check a conversation against a provider's rules, and repair it",
    "summarize": "write a summary of a given size, without touching the conversation",
    "eval": "measure what each preset keeps of real conversations, and at what price",
    "doctor": "check configuration, policy, counting and extras, and say what to do",
}


class Command(Protocol):
    """What a file in `commands` offers."""

    def add_arguments(self, parser: ArgumentParser) -> None: ...

    def run(self, context: Context) -> ExitCode: ...


def command(name: str) -> Command:
    return cast(Command, import_module(f"compact.cli.commands.{name}"))
