"""Which words of a user's message carry the user's authority. Whatever may be another's text does not.

Stricter than the reading for the ledger, which must lose no words: here a doubt costs a line nothing but its
place in the system message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compact.evidence.reading import LIST_LINE, Whose, pieces, quotations

_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_ASKS = re.compile(r"[?？؟][\s\"”»)*_`]*$")
_ANNOUNCES = re.compile(r"[:：][\s*_`]*$")


def own_and_shown(text: str) -> tuple[str, str]:
    """A user's message as (what is surely the user's own, what is or may be shown)."""
    own: list[str] = []
    shown: list[str] = []
    kept: list[str] = []
    for piece in pieces(text):
        if piece.whose is Whose.OWN:
            kept.append(piece.text)
            continue
        quoted = quotations(piece.text) if piece.whose is Whose.DOUBTFUL else []
        shown += quoted or [piece.text]
        rest = piece.text if quoted else ""
        for quotation in quoted:
            rest = rest.replace(quotation, "\n")
        kept.append(rest)
    doubted = set(_beside_a_question(text))
    for line in "\n".join(kept).split("\n"):
        (shown if line.strip() in doubted else own).append(line)
    return "\n".join(own).strip(), "\n".join(shown).strip()


def _beside_a_question(text: str) -> Iterator[str]:
    """Lines that a question or an announcement may be about.

    What follows a question, what follows a colon and is no list, and a block of lines before a question.
    """
    paragraphs = [paragraph.strip().split("\n") for paragraph in _PARAGRAPHS.split(text.strip())]
    last_asking = max((n for n, lines in enumerate(paragraphs) if _ASKS.search(lines[-1])), default=0)
    asked = announced = False
    for number, lines in enumerate(paragraphs):
        listed = all(map(LIST_LINE.match, lines))
        block = len(lines) > 1 and not listed
        doubted = asked or (announced and not listed) or (block and number < last_asking)
        for line in lines:
            asks = bool(_ASKS.search(line))
            if doubted and not asks:
                yield line.strip()
            asked = asked or asks
            doubted = doubted or asks
        announced = announced or bool(_ANNOUNCES.search(lines[-1]))
