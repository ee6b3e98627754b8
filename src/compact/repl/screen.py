"""What a person at a terminal sees: streamed markdown, colors, the status line."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TextIO

from compact.console.terminal import cell_width, clean
from compact.repl.saying import STYLES, Canvas, Happening, Kind, Piece, Preparing, Said

if TYPE_CHECKING:
    from compact.chat import Status
    from compact.console.terminal import Screen

_FENCE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)


def status_line(status: Status) -> str:
    """`gpt-4o · ctx 42k/128k 33% ⟳1 · $0.12`"""
    share = status.tokens / status.window if status.window else 0
    parts = [status.model, f"ctx {short(status.tokens)}/{short(status.window)} {share:.0%}"]
    if status.compactions:
        parts[-1] += f" ⟳{status.compactions}"
    if status.cost:
        parts.append(f"${status.cost:.2f}" if status.cost >= 0.01 else f"${status.cost:.4f}")
    return " · ".join(parts)


def short(tokens: int) -> str:
    """A number of tokens in a few characters: 950, 1.2k, 42k, 128k, 1.0M."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 10_000:
        return f"{tokens / 1_000:.1f}k"
    return f"{tokens / 1_000:.0f}k" if tokens < 999_500 else f"{tokens / 1_000_000:.1f}M"


def settled(text: str) -> int:
    """How much of a growing markdown text is final: up to the last blank line outside a code block."""
    at = len(text)
    while (at := text.rfind("\n\n", 0, at)) >= 0:
        before = text[: at + 2]
        if len(_FENCE.findall(before)) % 2 == 0:
            return at + 2
    return 0


class ReplyView:
    """A reply as it arrives: finished blocks are drawn once, the last one again with each piece."""

    def __init__(self, stream: TextIO, waiting_for: str) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        self._console = Console(file=stream, highlight=False)
        self._open = ""
        self._live = Live(
            Spinner("dots", text=Text(f" {clean(waiting_for)} …"), style="dim"),
            console=self._console,
            transient=True,
            refresh_per_second=12,
        )
        self._stack = ExitStack()
        self._stack.enter_context(self._live)

    def add(self, piece: Piece) -> None:
        if piece.thinking:
            return
        self._open += clean(piece.text)
        done = settled(self._open)
        if done and self._open[:done].strip():
            self._print(self._open[:done])
            self._open = self._open[done:]
        self._live.update(self._tail())

    def _tail(self) -> Any:
        lines = self._open.splitlines()
        room = max(4, self._console.height - 4)
        if len(lines) > room:
            # Taller than the screen: markdown cut off at its top would be drawn wrong.
            from rich.text import Text

            return Text("\n".join(lines[-room:]))
        return self._markdown(self._open)

    def _markdown(self, text: str) -> Any:
        from compact.repl.markdown import Trimmed

        return Trimmed(text)

    def _print(self, text: str) -> None:
        self._console.print(self._markdown(text))
        self._console.print()

    def close(self) -> None:
        self._live.update("")
        self._stack.close()
        if self._open.strip():
            self._print(self._open)
            self._open = ""


class TerminalVoice:
    """Shows what happens on a terminal."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._reply: ReplyView | None = None

    @property
    def canvas(self) -> Canvas:
        import shutil

        width = max(40, shutil.get_terminal_size((80, 24)).columns)
        return Canvas(width, self._screen.color, self._screen.blocks)

    def show(self, happening: Happening) -> None:
        match happening:
            case Preparing(note=note):
                self.settle()
                self._reply = ReplyView(self._screen.stream, note)
            case Piece():
                if self._reply is not None:
                    self._reply.add(happening)
            case Said(kind=Kind.REPLY):
                self.settle()
            case Said():
                self.settle()
                self.line(happening)
            case _:
                self.settle()

    def line(self, said: Said) -> None:
        # Results are our own drawings, sanitized where they quote; the rest may contain titles and files.
        text = said.text if said.kind is Kind.RESULT else clean(said.text)
        for line in text.split("\n"):
            if said.kind is Kind.RESULT and ("\x1b" in line or cell_width(line) <= self.canvas.width):
                self._screen.line(line)  # Already drawn to fit.
            else:
                self._wrapped(line, *STYLES.get(said.kind, ()))

    def _wrapped(self, line: str, *styles: str) -> None:
        import textwrap

        for piece in textwrap.wrap(line, self.canvas.width - 1) or [""]:
            self._screen.line(self._screen.styled(piece, *styles))

    def settle(self) -> None:
        """Draw the final version of what is still open."""
        if self._reply is not None:
            self._reply.close()
            self._reply = None


def warm() -> None:
    """Load what the first reply needs while the user writes the first message."""
    import rich.live
    import rich.spinner  # noqa: F401

    import compact.repl.markdown  # noqa: F401
    from compact.model.message import Usage
    from compact.models.prices import cost

    cost("gpt-4o", Usage())
