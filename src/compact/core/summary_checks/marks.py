"""What identifies a line of text: runs of its words, and single words that are hard to say by chance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from compact.core.seeming import plain
from compact.core.summary_checks.scripts import HAN, KANA, SOUTHEAST_ASIAN

WORD = re.compile(r"[^\s\"'`()\[\]{}<>,;]+")
RUN = 4
"""This many words in a row that only data said are a quotation of it."""
_UNSPACED = re.compile(rf"[{SOUTHEAST_ASIAN}{KANA}{HAN}]")
_LETTERS = 4
"""In scripts without spaces this many letters count as a word; a run of words is seven letters."""
_PER_NEEDLE = 50
_DISTINCT = re.compile(r"(?=.{6})(?=.*[\d/_\\@:#=.-]).*[^\W_]|/\w.*")
"""A path, id, address or value: one is enough. A path from the root may be of any length."""

Mark = tuple[str, ...]


def marks_of(lines: Sequence[str]) -> dict[Mark, set[int]]:
    """What identifies a line: runs of words, even across lines, and single ones hard to say by chance."""
    found: dict[Mark, set[int]] = {}
    words: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(lines):
        own = _words(plain(line))
        words += own
        numbers += [number] * len(own)
        for word in own:
            if not word.isalpha() and _DISTINCT.fullmatch(word):
                found.setdefault((word,), set()).add(number)
    for place, run in enumerate(_runs(words)):
        found.setdefault(run, set()).update(numbers[place : place + RUN])
    return found


def _runs(words: Sequence[str]) -> Iterator[Mark]:
    return zip(*(words[n:] for n in range(RUN)), strict=False)


def marks_in(texts: Iterable[str], marks: set[Mark]) -> set[Mark]:
    """The marks that the texts contain."""
    found: set[Mark] = set()
    needles: set[str] = set()
    for text in texts if marks else ():
        shown = plain(text)
        if len(marks) * _PER_NEEDLE < len(shown):
            # A text without the longest word of any run contains none, and this is faster than reading it.
            needles = needles or {max(mark, key=len) for mark in marks}
            if not any(needle in shown for needle in needles):
                continue
        words = _words(shown)
        found |= marks.intersection(_runs(words))
        found |= marks.intersection(zip(words, strict=True))
    return found


def _words(shown: str) -> list[str]:
    words = [word for raw in WORD.findall(shown) if (word := raw.strip(".:!?*=-").rstrip("/.:"))]
    if shown.isascii() or not _UNSPACED.search(shown):
        return words
    return [piece for word in words for piece in (_overlapping(word) if _UNSPACED.search(word) else (word,))]


def _overlapping(word: str) -> Iterator[str]:
    return (word[at : at + _LETTERS] for at in range(max(1, len(word) - _LETTERS + 1)))
