"""Check whether a sentence drops the "never" or "not" of the sentence it came from.

In a language without a word list any word may be the "not", so there a sentence must keep all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from compact.core.seeming import plain
from compact.core.summary_checks.listed_languages import is_listed
from compact.core.summary_checks.support import CITED, content_pieces, is_unspaced
from compact.evidence.reading import sentences
from compact.evidence.remembered import remembered
from compact.evidence.words import tongues

_SAME = 0.65
"""The share of the shorter sentence's words in the longer one from which they are about the same thing.

Of three words one may differ, as in "never delete the database" and "remove the database". A line wrongly
found to drop a negation only loses its place in the system message.
"""
_STEM = 4
_TOKEN = re.compile(r"[^\s\"“”«»`()\[\]{}<>,;!?*]+")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence: its content words with their places, and the places of its negations."""

    words: dict[str, int]
    """Each word with its last place."""
    denials: tuple[int, ...]
    listed: bool = True
    """Whether its language has a list of negations."""

    @property
    def may_deny(self) -> bool:
        return bool(self.denials) or not self.listed


def read_claims(texts: Iterable[str]) -> list[Claim]:
    return [claim for text in texts for claim in _claims_in(text)]


@partial(remembered, share=0.05)
def _claims_in(text: str, _: bool) -> list[Claim]:
    return [_claim(sentence) for sentence in sentences(text)]


def drops_negation(line: str, sources: Sequence[Claim]) -> bool:
    """True if a sentence of the line says without a negation what the last one to say it said with one."""
    return any(_dropped(claim, sources) for claim in read_claims((CITED.sub("", line),)))


def _dropped(claim: Claim, sources: Sequence[Claim]) -> bool:
    for at in range(len(sources) - 1, -1, -1):
        source = sources[at]
        if source.may_deny and (shared := _shared(claim, source)):
            if any(not later.may_deny and _shared(claim, later) for later in sources[at + 1 :]):
                return False
            if not source.denials:
                return not source.words.keys() <= claim.words.keys()
            if not claim.denials:
                return True
            # "Delete it, no matter what" has a "no" too, but after everything that "never delete it" says.
            leads = source.denials[0] < min(source.words[word] for word in shared)
            return leads and claim.denials[0] > max(claim.words[word] for word in shared)
    return False


def _shared(claim: Claim, source: Claim) -> set[str]:
    """The words that two sentences about the same thing share; none if they are not."""
    shared = claim.words.keys() & source.words.keys()
    enough = _SAME * min(len(claim.words), len(source.words))
    return shared if len(shared) > 1 and len(shared) >= enough else set()


def _claim(sentence: str) -> Claim:
    cue = tongues().cues["not"]
    words: dict[str, int] = {}
    denials: list[int] = []
    for place, raw in enumerate(_TOKEN.findall(sentence.replace("’", "'"))):
        token = raw.lower().strip(".:'-/")
        if cue.found((token,), token):
            denials.append(place)
            if not is_unspaced(token):
                continue
        for piece in content_pieces(plain(token)):
            words[piece[:_STEM]] = place
    return Claim(words, tuple(denials), is_listed(sentence))
