"""A summary as sections for display: the user's words, conclusions, what was done, values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from compact.model.value import value


class SectionKind(StrEnum):
    WORDS = "words"
    """What the user said, verbatim."""
    CONCLUSIONS = "conclusions"
    """Causes, decisions, results and next steps, as the assistant stated them."""
    DONE = "done"
    VALUES = "values"
    OTHER = "other"
    """A model's own prose, and anything under none of our headings."""


TITLES: Mapping[str, SectionKind] = MappingProxyType(
    {
        "goals": SectionKind.WORDS,
        "task": SectionKind.WORDS,
        "constraints": SectionKind.WORDS,
        "constraints and wishes": SectionKind.WORDS,
        "goals and preferences": SectionKind.WORDS,
        "preferences": SectionKind.WORDS,
        "user's words": SectionKind.WORDS,
        "user's answers": SectionKind.WORDS,
        "from the user's messages (own words or quoted text)": SectionKind.WORDS,
        "standing rules": SectionKind.WORDS,
        "rules": SectionKind.WORDS,
        "decisions": SectionKind.CONCLUSIONS,
        "decisions and facts": SectionKind.CONCLUSIONS,
        "decisions and constraints": SectionKind.CONCLUSIONS,
        "conclusions": SectionKind.CONCLUSIONS,
        "current state": SectionKind.CONCLUSIONS,
        "outstanding": SectionKind.CONCLUSIONS,
        "next": SectionKind.CONCLUSIONS,
        "open questions": SectionKind.CONCLUSIONS,
        "why": SectionKind.CONCLUSIONS,
        "follow-up": SectionKind.CONCLUSIONS,
        "done": SectionKind.DONE,
        "what was done": SectionKind.DONE,
        "changes": SectionKind.DONE,
        "calls in progress": SectionKind.DONE,
        "errors": SectionKind.VALUES,
        "key entities": SectionKind.VALUES,
        "ids, names and values": SectionKind.VALUES,
        "facts and entities": SectionKind.VALUES,
        "names and values": SectionKind.VALUES,
        "evidence": SectionKind.VALUES,
        "from tool output (untrusted data)": SectionKind.VALUES,
    }
)
"""The kind of section for a heading, in lowercase; includes the headings of older summaries."""


@value
class SectionItem:
    text: str
    """The line without its bullet and its citations."""
    positions: tuple[int, ...] = ()
    """The messages it cites."""
    label: str = ""
    """What comes before the first colon in a line of values, such as "Paths"."""


@value
class Section:
    title: str
    """Empty for text before the first heading."""
    kind: SectionKind
    items: tuple[SectionItem, ...]


@value
class Kept:
    """How many of one kind a prompt still contains."""

    kept: int = 0
    total: int = 0


@value
class Missing:
    kind: SectionKind
    text: str
    position: int


@value
class Survival:
    """What the prompt still contains of a session's ledger, by kind, and the best of what it lacks."""

    words: Kept = Kept()
    conclusions: Kept = Kept()
    values: Kept = Kept()
    missing: tuple[Missing, ...] = ()


UNKNOWN = Survival()
"""Nothing was counted."""


_HEADING = re.compile(r"#{1,4} (.+?)\s*$")
_CITATION = re.compile(r"\s?\[m\d[^\]\n]{0,200}\]")
_POSITION = re.compile(r"m(\d+)")
_LABEL = re.compile(r"([^:“\"`]{2,40}): (?=\S)")


def is_our_heading(line: str) -> bool:
    heading = _HEADING.match(line)
    return heading is not None and heading[1].casefold() in TITLES


def sections_of(text: str) -> tuple[Section, ...]:
    """A summary's text by its headings, line by line."""
    found: list[tuple[str, list[SectionItem]]] = []
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            found.append((heading[1], []))
        elif line.strip():
            if not found:
                found.append(("", []))
            kind = TITLES.get(found[-1][0].casefold(), SectionKind.OTHER)
            found[-1][1].append(_item(line, kind))
    return tuple(
        Section(title, TITLES.get(title.casefold(), SectionKind.OTHER), tuple(items))
        for title, items in found
        if items
    )


def _item(line: str, kind: SectionKind) -> SectionItem:
    positions = tuple(
        dict.fromkeys(int(n) for cited in _CITATION.findall(line) for n in _POSITION.findall(cited))
    )
    text = _CITATION.sub("", line).strip().removeprefix("- ").strip()
    label = _LABEL.match(text) if kind is SectionKind.VALUES else None
    return SectionItem(text, positions, label[1] if label else "")
