"""The terminal's side of a chat: which conversation is open, and errors as lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compact.chat import Chats, Conversation, Notice, Severity
from compact.console.exits import ExitCode
from compact.errors import CompactError, ConfigError, FormatError, InsufficientBudget
from compact.repl.saying import Kind, Said, error

_KINDS: Mapping[Severity, Kind] = {
    Severity.INFO: Kind.INFO,
    Severity.WARNING: Kind.WARNING,
    Severity.ALERT: Kind.ALERT,
    Severity.ERROR: Kind.ERROR,
}


class Chat:
    """What all front ends of the terminal chat share. Nothing here prints."""

    def __init__(self, chats: Chats, session_id: str, **wanted: Any) -> None:
        self.chats = chats
        self.store = chats.store
        self.open(session_id, **wanted)

    def open(self, session_id: str, **wanted: Any) -> None:
        """Switch to this session; `wanted` settings win over those that it remembers."""
        self.conversation: Conversation = self.chats.open(session_id, **wanted)

    def close(self) -> None:
        """Leave: flush pending exports and stop what was started."""
        self.chats.close()
        close = getattr(self.store, "close", None)
        if close is not None:
            close()


def said(notice: Notice) -> Said:
    """A notice as a line."""
    code = ExitCode.FAILED if notice.severity is Severity.ERROR else ExitCode.OK
    return Said(_KINDS[notice.severity], notice.text, notice.data, code)


def failed(problem: CompactError) -> Said:
    """An error as a line, with its exit code."""
    if isinstance(problem, InsufficientBudget):
        code = ExitCode.INSUFFICIENT_BUDGET
    else:
        code = ExitCode.USAGE if isinstance(problem, ConfigError | FormatError) else ExitCode.FAILED
    return error(str(problem), code, type=type(problem).__name__)
