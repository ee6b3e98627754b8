"""Measure how much of a line was said: its words, without endings, among those of the speakers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compact.core.seeming import plain
from compact.core.summary_checks.scripts import HAN, HANGUL, KANA, SOUTHEAST_ASIAN

_LETTERS = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(rf"[{SOUTHEAST_ASIAN}\u1100-\u11ff{KANA}{HAN}{HANGUL}]")
CITED = re.compile(r"\[m\d[^\]]*\]", re.IGNORECASE)
_STOCK = frozenset(
    "a about after all also an and answers are as asked asks assistant at be because been before but by "
    "calls chat commands constraints conversation current dates decided decision decisions did do does "
    "done earlier entities errors evidence fact facts figures files for from goal goals had has have he "
    "her his how i ids in into is it its key links may messages must named names next no none not now of "
    "on only open or our outstanding paths preference preferences previous progress question questions "
    "rule rules said says session she should so sources standing state steps summary than that the their "
    "them then there these they this those to told user users values wants was were what when where which "
    "who why will with work you your".split()
)
"""Words that any summary has, including its headings; they count neither for nor against a line."""


def vocabulary(texts: Iterable[str]) -> set[str]:
    words = {word for text in texts for word in _LETTERS.findall(plain(text))} - _STOCK
    return {piece for word in words for piece in _pieces(word)}


def share_spoken(line: str, spoken: set[str]) -> float:
    """Share of the line's words that were spoken; 1 if it has no words of its own."""
    words = [word for word in _LETTERS.findall(plain(CITED.sub("", line))) if word not in _STOCK]
    pieces = [piece for word in words for piece in _pieces(word)]
    known = sum(piece in spoken or piece[:4] in spoken or piece[:3] in spoken for piece in pieces)
    return known / len(pieces) if pieces else 1.0


def content_pieces(token: str) -> Iterable[str]:
    """What a token says: a path or name as a whole, a word without its ending, a small word nothing."""
    if is_unspaced(token):
        return [piece for run in _LETTERS.findall(token) for piece in _pieces(run)]
    if not _LETTERS.fullmatch(token):
        return (token,) if any(map(str.isalnum, token)) and token not in _STOCK else ()
    return () if token in _STOCK else _pieces(token)


def is_unspaced(word: str) -> bool:
    """Whether it is in a script without spaces between words: then it may be a whole sentence."""
    return _UNSPACED.search(word) is not None


def _pieces(word: str) -> Iterable[str]:
    """A word without its ending; in scripts without spaces, pairs of letters."""
    if _UNSPACED.search(word):
        return (word[at : at + 2] for at in range(max(1, len(word) - 1)))
    return (word[:5],)
