"""Recognize the user's own words in a summary: lines that the renderer made of the ledger's units.

The ledger knows whose words they are, so such a line needs no check. It is compared with the units' values,
not with what the line itself claims: a tool or a model may write in the same form, and cite a user's message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from compact.core.render import neutralize
from compact.core.summary_checks.citations import cited_span
from compact.evidence.ledger import WORDS
from compact.evidence.said import SHOWN
from compact.model.summary import Evidence

_LISTED = re.compile(r"- “(.+)” (\[m[^\]]+\])")
_BETWEEN = "” “"
_LINKED = re.compile(r"- \[m(\d+)\] (.+”)")
_LATER = re.compile(r" — later \[m(\d+)\]: ")


@dataclass(frozen=True, slots=True)
class SaidLine:
    """A line that has nothing but what the user said, and the question before it."""

    is_own: bool
    """Whether no part may be quoted. A line stays whole: two would take more room than was planned."""
    question: str = ""
    """What the assistant asked: not the user's words, so it is checked like any other text."""


class Sayings:
    """What the user said, by message, for comparison with the lines of a summary."""

    def __init__(self, ledger: Iterable[Evidence]) -> None:
        self._at: dict[int, list[Evidence]] = {}
        for unit in ledger:
            if unit.kind in WORDS and unit.context != SHOWN:
                self._at.setdefault(unit.message, []).append(unit)

    def read(self, line: str) -> SaidLine | None:
        """The line's sayings; None if any part of it is not in the ledger as it stands here."""
        if listed := _LISTED.fullmatch(line):
            cited = cited_span(listed[2])
            messages = [message for message in self._at if message in cited]
            found = [self._saying(text, messages) for text in listed[1].split(_BETWEEN)]
            return None if None in found else SaidLine(all(found))
        linked = _LINKED.fullmatch(line)
        return self._linked(int(linked[1]), linked[2]) if linked else None

    def _saying(self, text: str, messages: Iterable[int]) -> bool | None:
        """Whether some units of one message, joined, are the user's own; None if none are the text."""
        for message in messages:
            units = sorted(self._at[message], key=lambda unit: len(unit.value), reverse=True)
            rest, trusted = text, True
            while unit := next((unit for unit in units if rest.startswith(neutralize(unit.value))), None):
                rest = rest.removeprefix(neutralize(unit.value)).removeprefix(" /").removeprefix(" ")
                trusted = trusted and not unit.untrusted
                units.remove(unit)
            if text and not rest:
                return trusted
        return None

    def _linked(self, at: int, rest: str) -> SaidLine | None:
        first, *later = _LATER.split(rest)
        asked = (neutralize(unit.context) for unit in self._at.get(at, ()) if unit.context)
        question = next((question for question in asked if first.startswith(f"{question} — “")), "")
        quoted = first.removeprefix(f"{question} — ") if question else first
        sayings = []
        for message, text in ((at, quoted), *zip(map(int, later[::2]), later[1::2], strict=True)):
            is_quoted = message in self._at and text[:1] == "“" and text[-1:] == "”"
            saying = self._saying(text[1:-1], (message,)) if is_quoted else None
            if saying is None:
                return None
            sayings.append(saying)
        return SaidLine(all(sayings), question)


NO_SAYINGS = Sayings(())
