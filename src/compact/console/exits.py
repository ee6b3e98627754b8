"""How a command ends. Scripts rely on these numbers; docs/CLI.md lists them."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    FINDINGS = 1
    """It worked, and found something to fix: violations, a failing check."""
    USAGE = 2
    """The command line, the configuration or the input is wrong; nothing was done."""
    INSUFFICIENT_BUDGET = 3
    """The messages that must stay do not fit the window."""
    FAILED = 4
    """Something outside failed: a summarizer, a store, an archive, a missing extra."""
    INTERRUPTED = 130
    """Interrupted from the keyboard; the number that shells use."""
