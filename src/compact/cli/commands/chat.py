"""`compact chat`: the terminal chat."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module

from compact.console.context import Context
from compact.console.exits import ExitCode
from compact.console.stored import add_store


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", metavar="SESSION", help="open this session, or start one with that name"
    )
    group = parser.add_argument_group("chat")
    group.add_argument("--last", action="store_true", help="continue the newest session")
    group.add_argument("--system", metavar="TEXT", help="system prompt of the session")
    group.add_argument(
        "--base-url", metavar="URL", help="the model's server, in OpenAI's or Anthropic's wire format"
    )
    group.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds its API key")
    group.add_argument("--text", action="store_true", help="plain text even if the output is not a terminal")
    add_store(parser, creates=True)


def run(context: Context) -> ExitCode:
    # Imported by name, because the doors are a layer above the command line.
    door = import_module("compact.repl.door")
    return ExitCode(door.enter(context))
