"""Code blocks in the documents: their language, their heading, and whether they are complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "examples").glob("*.md"),
    *(ROOT / "web" / "packages").glob("*/README.md"),
]
FRAGMENT = "<!-- fragment -->"
"""Marks a block that needs names from earlier blocks or from the reader's own program."""


@dataclass(frozen=True)
class Block:
    document: str
    heading: str
    language: str
    is_fragment: bool
    source: str


def blocks_of(path: Path) -> Iterator[Block]:
    document, heading = str(path.relative_to(ROOT)), ""
    pieces = re.split(
        r"^((?:<!-- fragment -->\n)?```\w*\n.*?^```$)", path.read_text("utf-8"), flags=re.M | re.S
    )
    for prose, fenced in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        heading = (re.findall(r"^#+ (.*)$", prose, re.M) or [heading])[-1]
        found = re.fullmatch(rf"({FRAGMENT}\n)?```(\w*)\n(.*)```", fenced, re.S)
        if found:
            yield Block(document, heading, found[2], found[1] is not None, found[3])


def all_blocks(language: str | None = None) -> list[Block]:
    found = [block for path in DOCUMENTS for block in blocks_of(path)]
    return [block for block in found if language in (None, block.language)]


def commands_of(path: Path) -> Iterator[str]:
    """Lines that call `compact`, without prompt, comment, pipe and redirection."""
    for line in re.findall(r"^ {4}(.*)$", path.read_text("utf-8"), re.M):
        called = re.match(r"(?:\$ )?(?:echo [^|]*\| |cat \S+ \| |[A-Z_]+=\S+ )*(compact(?: .*)?)$", line)
        if called:
            yield re.split(r" {2,}#| [>|&] ?", called[1])[0].strip()
