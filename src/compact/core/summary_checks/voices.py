"""Which words of a user's message carry the user's authority. Text that may be somebody else's does not.

Only the meaning distinguishes "Fix the door.\\n\\nNever knock." from "Translate this.\\n\\nNever knock.",
so only a message of one line is certainly the user's, without quotations and markup, and without text
next to a question or after a colon. This is stricter than the reading for the ledger, which must lose no
words: here a doubt only costs a line its place in the system message.
"""

from __future__ import annotations

import re
from functools import partial

from compact.core.summary_checks.listed_languages import is_listed
from compact.evidence.reading import Whose, pieces_as_written, sentences, take_quotations
from compact.evidence.remembered import remembered
from compact.evidence.words import is_about
from compact.model.value import value

_ASKS = re.compile(r"[?？؟][\s\"”»)*_`]*$")
_ANNOUNCES = re.compile(r": |：|(?<=[^\W\d_]):(?=[^\W\d_])| = |[|→⇒\t]|[=-]>")
"""What quoted text may follow. Not a dash or a semicolon, which also join the user's own clauses."""
_SET_OFF = re.compile(r"\(([^()]+)\)|\[([^\[\]]+)\]|\*([^*]+)\*|`([^`]+)`")
_SENTENCE_WORDS = 5
"""Fewer words in brackets or emphasis are the user's remark, or a name."""


@value
class Voices:
    """A user's message split by whose words they are."""

    own: str = ""
    unsure: str = ""
    """May be a text that the user asks about."""
    shown: str = ""


@partial(remembered, share=0.05)
def voices_in(text: str, _: bool) -> Voices:
    """By whose words they are; a message is looked at with every fold while it stays."""
    lines = text.strip().splitlines()
    text = "\n".join(lines)
    if len(lines) < 2:
        return _in_line(text)
    own = [
        line
        for line in (lines[0], lines[-1])
        if _ASKS.search(line) and pieces_as_written(line)[0].whose is Whose.OWN
    ]
    read = pieces_as_written(text)
    shown = "\n".join(piece.text for piece in read if piece.whose is Whose.SHOWN)
    rest = "\n".join(piece.text for piece in read if piece.whose is not Whose.SHOWN)
    unsure, quoted = take_quotations("\n".join(line for line in rest.split("\n") if line not in own), words=2)
    return Voices("\n".join(own), unsure, "\n".join((shown, *quoted)).strip())


def _in_line(line: str) -> Voices:
    rest, quoted = take_quotations(line, words=2)
    shown = "\n".join(quoted)
    if any(piece.whose is not Whose.OWN for piece in pieces_as_written(rest)):
        return Voices(shown="\n".join((rest, *quoted)))
    own: list[str] = []
    unsure: list[str] = []

    def take(found: re.Match[str]) -> str:
        inner = next(filter(None, found.groups()), "")
        if len(inner.split()) < _SENTENCE_WORDS:
            return found.group()
        unsure.append(inner)
        return " "

    said = list(sentences(_SET_OFF.sub(take, rest)))
    asks = any(map(_ASKS.search, said))
    announced = False
    for sentence in said:
        lead, *text = _ANNOUNCES.split(sentence, maxsplit=1)
        # Nothing marks the end of announced text, so an order that follows may still be part of it.
        beside = asks and not _ASKS.search(sentence)
        (unsure if beside or (announced and _may_order(lead)) else own).append(lead)
        announced = announced or bool(text)
        unsure += text
    return Voices("\n".join(own), "\n".join(unsure), shown)


def _may_order(sentence: str) -> bool:
    return is_about(sentence.split(), "orders") or not is_listed(sentence)
