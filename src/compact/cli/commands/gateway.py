"""`compact gateway`: a proxy that compacts transparently."""

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
    # Imported by name, because the doors are a layer above the command line.
    return import_module("compact.server.gateway.door")
