"""The `compact` command."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from compact.console.exits import ExitCode

__all__ = ["main"]


def main(
    argv: Sequence[str] | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Run one command and return its exit code; streams and environment default to those of the process."""
    try:
        # Loading a command takes a moment, in which an early Ctrl-C must not end in a traceback.
        from compact.cli.app import run

        return run(argv, stdin, stdout, stderr, environ)
    except KeyboardInterrupt:
        (stderr or sys.stderr).write("\n")
        return ExitCode.INTERRUPTED
