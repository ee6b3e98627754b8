"""What user and assistant said before the cut and say again after it: words and conclusions, without probes.

A phrase is two adjacent content words in one sentence of prose. What stays anyway (system prompt, first user
message) and what was said in the last messages before the cut do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from compact.evaluation.scoring import Score
from compact.evidence.reading import sentences
from compact.evidence.words import content_words
from compact.model.message import Message, Role
from compact.model.prose import prose_of

Phrase = tuple[str, str]
_NEWEST = 6
"""Messages before the cut that most policies keep as they are."""


def phrases_of(texts: Iterable[str]) -> set[Phrase]:
    found: set[Phrase] = set()
    for text in texts:
        for sentence in sentences(prose_of(text)):
            found.update(pairwise(content_words(sentence)))
    return found


def said_again(before: Sequence[Message], after: Sequence[Message], role: Role) -> frozenset[Phrase]:
    """Phrases of this role's messages before the cut that the user or assistant says again after it."""
    said = phrases_of(message.text for message in before if message.role is role)
    again = phrases_of(message.text for message in after if message.role in (Role.USER, Role.ASSISTANT))
    first = next((message for message in before if message.role is Role.USER), None)
    instructs = [one for one in before if one.role in (Role.SYSTEM, Role.DEVELOPER)]
    anyway = phrases_of(one.text for one in (*instructs, *before[-_NEWEST:], *([first] if first else ())))
    return frozenset((said & again) - anyway)


def score_phrases(wanted: frozenset[Phrase], text: str) -> Score:
    return Score(len(wanted & phrases_of([text])), len(wanted)) if wanted else Score()
