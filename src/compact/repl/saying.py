"""What the chat shows, as values; the screen, plain text and JSON lines each render them in their own way."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from compact.console.terminal import Screen, clean


class Kind(StrEnum):
    REPLY = "reply"
    """A whole finished reply; its parts are `Piece`s."""
    RESULT = "result"
    """The output of a command."""
    INFO = "info"
    WARNING = "warning"
    """Yellow."""
    ALERT = "alert"
    """Orange."""
    ERROR = "error"


STYLES: Mapping[Kind, tuple[str, ...]] = {
    Kind.INFO: ("cyan",),
    Kind.WARNING: ("yellow",),
    Kind.ALERT: ("orange",),
    Kind.ERROR: ("red",),
}


@dataclass(frozen=True)
class Said:
    kind: Kind
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """What a program reads instead of the text."""
    exit_code: int = 0
    """For an error: the exit code of a run without a terminal."""


@dataclass(frozen=True)
class Piece:
    """A piece of a reply as it arrives; `thinking` is not part of the answer."""

    text: str
    thinking: bool = False


@dataclass(frozen=True)
class Preparing:
    """A message is being sent: `note` says what it is waiting for."""

    note: str


@dataclass(frozen=True)
class Reopened:
    """Another session is open now; `draft` is a message in it that was never answered."""

    draft: str = ""


Happening = Said | Piece | Preparing | Reopened


class Leave(Exception):
    """The user wants to leave."""


@dataclass(frozen=True)
class Canvas:
    """What drawings may use."""

    width: int = 80
    color: bool = False
    blocks: bool = True

    def drawn(self, draw: Callable[[Screen], None]) -> str:
        """What `draw` writes to a screen of this kind."""
        text = io.StringIO()
        draw(Screen(text, self.width, self.color, self.blocks))
        return text.getvalue().rstrip("\n")


def info(text: str, **data: Any) -> Said:
    return Said(Kind.INFO, text, data)


def result(text: str, **data: Any) -> Said:
    return Said(Kind.RESULT, text, data)


def error(text: str, exit_code: int, **data: Any) -> Said:
    return Said(Kind.ERROR, clean(text), data, exit_code)
