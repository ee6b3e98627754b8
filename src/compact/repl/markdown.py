"""Markdown for replies: headings left-aligned, no blank lines around a block."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement
from rich.segment import Segment

from compact.console.terminal import clean


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar = {**Heading.LEVEL_ALIGN, "h1": "left"}


class Block(Markdown):
    """A piece of a reply that can be drawn on its own."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
    }

    def __init__(self, text: str) -> None:
        super().__init__(text, code_theme="ansi_dark")


class Trimmed:
    """A block without the blank lines that markdown draws around it."""

    def __init__(self, text: str) -> None:
        self._block = Block(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        drawn = console.render_lines(self._block, options, pad=False)
        while drawn and _is_blank(drawn[0]):
            drawn.pop(0)
        while drawn and _is_blank(drawn[-1]):
            drawn.pop()
        for line in drawn:
            # Markdown decodes percent-encoded links, so a control character may appear only now.
            yield from (Segment(clean(part.text), part.style, part.control) for part in line)
            yield Segment.line()


def _is_blank(line: list[Segment]) -> bool:
    return not "".join(segment.text for segment in line).strip()
