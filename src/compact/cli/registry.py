"""The list of commands. A command's file is imported only when that command is called."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from compact.console.context import Context
from compact.console.exits import ExitCode

SUMMARIES: Mapping[str, str] = {
    "chat": "chat with a model in the terminal; Compact keeps the context small",
    "studio": "run the chat server and the web studio on this machine",
    "run": "compact a conversation and write it in its own format",
    "plan": "show what would happen to each message, without changing anything",
    "count": "count the tokens of a conversation, by role",
    "lint": "check a conversation against a provider's rules, or repair it",
    "summarize": "write a summary of a given size, without changing anything",
    "eval": "measure what each preset keeps, and at what cost",
    "history": "list the stored sessions, or the compactions of one",
    "restore": "undo a compaction of a stored session, and those built on it",
    "recall": "find what was said, even if it was summarized",
    "export": "write a stored session as JSONL, redacted",
    "import": "append a file's messages to a stored session",
    "flush": "send what is queued for an archive that could not be reached",
    "verify": "check that an archive is complete and unchanged",
    "gateway": "run a proxy to a model's API that keeps every request inside the window",
    "mcp": "run an MCP server with tools to compact, plan, recall and restore",
    "traces": "run the trace service, or watch it with --tail",
    "doctor": "check the setup, and suggest fixes",
    "completion": "write a completion script for bash, zsh or fish",
}


class Command(Protocol):
    """What a file in `commands` provides."""

    def add_arguments(self, parser: ArgumentParser) -> None: ...

    def run(self, context: Context) -> ExitCode: ...


def command(name: str) -> Command:
    # `import` is not a valid module name.
    file = "import_" if name == "import" else name
    return cast(Command, import_module(f"compact.cli.commands.{file}"))
