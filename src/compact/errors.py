"""Every error Compact raises, as one tree.

CompactError
├── ConfigError            a setting is wrong; names the field path
├── FormatError            the messages are in no format we know, or mixed; an argument is of no such type
│   └── MalformedMessage   one message is broken; names its index
├── NotFound               there is no such session or compaction
├── InsufficientBudget     what may not be removed does not fit the window
├── SummaryRefused         a summary was made but may not be used; names the reason
├── SummarizerError        no summary was made (network, API, timeout)
├── ChatError              a chat model gave no reply, or only a part of one
│   └── ContextOverflow    the prompt is longer than the model's window
├── SessionBusy            another compaction of this session is under way
├── ArchiveError           the archive could not be written; nothing was compacted
├── StoreError             the session store could not be read or written
│   └── HistoryGone        messages cannot be stored, because those before them are not
└── MissingExtra           an optional dependency is not installed; also a ModuleNotFoundError

Each message says what happened, what is unchanged and what to do next.
"""

from __future__ import annotations

from typing import Any

_MOST_SHOWN = 80


def shown(value: Any) -> str:
    """A wrong value, shortened for an error message; never raises itself."""
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


class CompactError(Exception):
    """Base of all errors of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own calls the class with the message alone: an error with more arguments could not be
        # copied, and would break the pool of a worker process that raises it.
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[CompactError], args: tuple[Any, ...]) -> CompactError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class ConfigError(CompactError):
    """A setting is wrong; `path` is the dotted field path."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class FormatError(CompactError):
    """The messages are in no format we know."""


class MalformedMessage(FormatError):
    """The message at `index` is broken; nothing was changed."""

    def __init__(self, index: int, problem: str) -> None:
        super().__init__(
            f"messages[{index}]: {problem}. Nothing was changed; correct this message and try again."
        )
        self.index = index
        self.problem = problem


class NotFound(CompactError):
    """There is no session or compaction with that name; nothing was changed."""


class InsufficientBudget(CompactError):
    """What may not be removed is larger than the budget; `arithmetic` shows the sum."""

    def __init__(self, message: str, *, needed: int, budget: int, arithmetic: dict[str, int]) -> None:
        super().__init__(message)
        self.needed = needed
        self.budget = budget
        self.arithmetic = arithmetic


class SummarizerError(CompactError):
    """The summarizer failed; the session is unchanged. `retryable` says whether a retry may help."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class ChatError(CompactError):
    """The model could not answer; the conversation is unchanged. `retryable` as for a summarizer."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class ContextOverflow(ChatError):
    """The prompt does not fit the model's window; `tokens` and `window` are None if it didn't say."""

    def __init__(self, message: str, *, tokens: int | None = None, window: int | None = None) -> None:
        super().__init__(message)
        self.tokens = tokens
        self.window = window


class SummaryRefused(CompactError):
    """A summary came back but did not pass the checks; `reason` is a `RefusalReason` value."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class SessionBusy(CompactError):
    """Another compaction of this session is running."""

    def __init__(self, session_id: str) -> None:
        super().__init__("Session is currently being optimized. Please wait a moment.")
        self.session_id = session_id


class ArchiveError(CompactError):
    """The archive could not be written; nothing was compacted.

    `what` is the failure alone, for sending what is queued: its compaction was done before.
    """

    def __init__(self, message: str, *, what: str | None = None) -> None:
        super().__init__(message)
        self.what = message if what is None else what


class StoreError(CompactError):
    """The session store could not be read or written."""


class HistoryGone(StoreError):
    """The session was deleted in the meantime; nothing was stored. `start`: how many messages it held
    before."""

    def __init__(self, session_id: str, start: int) -> None:
        missing = f"does not hold the {start} messages before these: it " if start else ""
        super().__init__(
            f"Session {session_id!r} {missing}was deleted in the meantime. "
            "Nothing was stored; append the whole history, or begin a new session."
        )
        self.session_id = session_id


class MissingExtra(CompactError, ModuleNotFoundError):
    """An optional dependency is not installed; an ImportError too, as programs that can do without expect."""

    def __init__(self, package: str, extra: str, command: str | None = None) -> None:
        command = command or f"pip install 'compact-context[{extra}]'"
        super().__init__(f"{package} is not installed. Install it with: {command}")
        self.package = package
        self.extra = extra
