"""Drawing in a terminal: widths, colors, bars, and text without control characters."""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, dropwhile, islice
from typing import TextIO

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "orange": "38;5;208",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_EIGHTHS = " ▏▎▍▌▋▊▉"
# Whatever a model, a tool or a file says must not drive the reader's terminal: no control characters but
# tabs and line ends, and none that turn the direction of text around.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CODES = "|".join(["0", *_STYLES.values()])
_OWN_STYLE = re.compile(rf"(\x1b\[(?:{_CODES})(?:;(?:{_CODES}))*m)")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")


@dataclass(frozen=True)
class Screen:
    """One output stream and what it can show."""

    stream: TextIO
    width: int = 80
    color: bool = False
    blocks: bool = True
    """Whether the stream accepts non-ASCII characters."""
    terminal: bool = False

    def write(self, data: str) -> None:
        """Data for programs, unchanged: `to_json` has already escaped control characters."""
        self.stream.write(data)

    def line(self, text: str = "") -> None:
        """Text for people. All of it passes here, so quoted text cannot control the terminal."""
        self.stream.write(self._harmless(text) + "\n")
        if self.terminal:
            self.stream.flush()

    def _harmless(self, text: str) -> str:
        if not UNSAFE.search(text):
            return text
        if not self.color:
            return clean(text)
        return "".join(
            piece if number % 2 else clean(piece) for number, piece in enumerate(_OWN_STYLE.split(text))
        )

    def paragraph(self, start: str, text: str, indent: int, *styles: str) -> None:
        """`start`, then the text, wrapped with a hanging indent."""
        lines = textwrap.wrap(text, self.width - indent, break_long_words=False) or [""]
        shown = [self.styled(line, *styles) for line in lines]
        self.line(start + ("\n" + " " * indent).join(shown))

    def styled(self, text: str, *styles: str) -> str:
        """The text, styled if colors are on."""
        if not self.color or not text or not styles:
            return text
        codes = ";".join(_STYLES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def bar(self, share: float, width: int) -> str:
        """A bar of `width` cells; any positive value shows at least a sliver, and above 1 it is full."""
        share = min(max(share, 0.0), 1.0)
        if not self.blocks:
            return "#" * round(share * width) + "." * (width - round(share * width))
        eighths = round(share * width * 8)
        if share > 0:
            eighths = max(eighths, 1)
        full, rest = divmod(eighths, 8)
        return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)

    def rule(self) -> str:
        return self.styled(("─" if self.blocks else "-") * self.width, "dim")

    @property
    def ellipsis(self) -> str:
        return "…" if self.blocks else "..."

    @property
    def dot(self) -> str:
        return " · " if self.blocks else " | "

    def fit(self, text: str, width: int) -> str:
        """The text in exactly `width` cells, cut or padded."""
        return fit(text, width, self.ellipsis)


def screen(stream: TextIO, environ: Mapping[str, str], color: str = "auto") -> Screen:
    terminal = stream.isatty()
    shows_color = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
    return Screen(
        stream,
        width=max(60, shutil.get_terminal_size((80, 24)).columns),
        color=shows_color if color == "auto" else color == "always",
        blocks=encoding.startswith("utf"),
        terminal=terminal,
    )


def clean(text: str) -> str:
    """Text without terminal control characters."""
    return UNSAFE.sub("", text)


def one_line(text: str, limit: int = 400) -> str:
    """Text on one line, without control characters, cut with an ellipsis; only the start is looked at."""
    shown = dropwhile(str.isspace, _printable(text))
    line = " ".join("".join(islice(shown, limit * 4)).split())
    is_whole = len(line) <= limit and all(map(str.isspace, shown))
    return line if is_whole else line[: limit - 1].rstrip() + "…"


def _printable(text: str) -> Iterator[str]:
    """Character by character, without escape sequences, and with a space for what cannot be shown."""
    at = 0
    for start, end in chain(map(re.Match.span, _ESCAPES.finditer(text)), [(len(text), len(text))]):
        yield from (text[n] if text[n].isprintable() else " " for n in range(at, start))
        at = end


def cell_width(text: str) -> int:
    """How many terminal cells a text takes: two for East Asian wide characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int, ellipsis: str = "…") -> str:
    if width <= 0:
        return ""
    if cell_width(text) <= width:
        return text + " " * (width - cell_width(text))
    room = width - len(ellipsis)
    kept, used = [], 0
    for character in text:
        cells = _cells(character)
        if used + cells > room:
            break
        kept.append(character)
        used += cells
    return "".join(kept) + ellipsis[:width] + " " * max(0, room - used)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
