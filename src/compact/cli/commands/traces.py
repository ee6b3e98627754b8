"""`compact traces`: the trace service, or with `--tail` what one is getting."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module
from typing import Any

from compact.console.context import Context
from compact.console.exits import ExitCode


def add_arguments(parser: ArgumentParser) -> None:
    _door().add_arguments(parser)


def run(context: Context) -> ExitCode:
    return ExitCode(_door().enter(context))


def _door() -> Any:
    # By name: the doors stand above the command line, which only knows how to open them.
    return import_module("compact.server.traces.door")
