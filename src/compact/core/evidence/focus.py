"""What the caller asked to keep comes first."""

from __future__ import annotations

import re
from collections.abc import Mapping

from compact.model.summary import Evidence, EvidenceKind

_WORD = re.compile(r"[^\W_][\w'’./:@#-]*[^\W_]|[^\W_]")
_EMPTY = frozenset(
    "the and for with from that this which about into your our all any keep only focus please remember "
    "everything what when where how are was were has have had not but should must need preserve details "
    "information summary summarize context make sure especially retain".split()
)
_BOOST = 6.0
_NEAR_BOOST = 2.0


def focus_words(focus: str) -> frozenset[str]:
    """The words of a note that say what it is about."""
    words = (word.lower() for word in _WORD.findall(focus))
    return frozenset(word for word in words if len(word) > 2 and word not in _EMPTY)


def focused(evidence: tuple[Evidence, ...], focus: str, said_at: Mapping[int, str]) -> tuple[Evidence, ...]:
    """The evidence with what the note is about in front; ranks stay, as they hold for later, too.

    `said_at` gives the text by position: a value in a message about the focus is boosted as well.
    """
    wanted = focus_words(focus)
    if not wanted:
        return evidence
    near = {at for at, text in said_at.items() if not wanted.isdisjoint(_words(text))}

    def order(item: Evidence) -> float:
        if item.kind is EvidenceKind.RULE:
            return -1e9
        low = f"{item.value} {item.context}".lower()
        if any(word in low for word in wanted):
            return -item.rank * _BOOST
        return -item.rank * (_NEAR_BOOST if item.message in near else 1.0)

    return tuple(sorted(evidence, key=order))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
