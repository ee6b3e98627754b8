"""Content words, and what the files in `tongues/` know of languages. Nothing depends on them but ranking."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

_WORD = re.compile(r"[^\W\d_]{2,}(?:['’-][^\W\d_]+)*|\d[\d.,:]*\d|\d")
_ANY_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
EASTERN = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Thai, kana, Chinese characters, Hangul: no blanks part the words, so pairs of characters stand for them."""


@dataclass(frozen=True, slots=True)
class Cue:
    """Words of one sort in all languages."""

    words: frozenset[str]
    phrases: Mapping[str, tuple[str, ...]]
    """Phrases of several words, by their first word."""
    eastern: tuple[str, ...]
    """Words of scripts where no blanks part them."""

    def found(self, words: Collection[str], lowered: str) -> bool:
        """True when one of the words is there; a phrase is looked for in the text itself."""
        if not self.words.isdisjoint(words):
            return True
        for first in self.phrases.keys() & words:
            if any(phrase in lowered for phrase in self.phrases[first]):
                return True
        return not lowered.isascii() and any(word in lowered for word in self.eastern)


@dataclass(frozen=True, slots=True)
class Tongues:
    stop: frozenset[str]
    cues: Mapping[str, Cue]


@cache
def tongues() -> Tongues:
    """All languages that have a file, read once."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path(__file__).with_name("tongues").glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            name, separator, words = line.partition(": ")
            if separator and not line.startswith("#"):
                found.setdefault(name, set()).update(word.replace("_", " ") for word in words.split())
    stop = frozenset(found.pop("stop", ()))
    return Tongues(stop, {name: _cue(words) for name, words in found.items()})


def _cue(words: set[str]) -> Cue:
    eastern = sorted(word for word in words if EASTERN.match(word))
    phrases: dict[str, tuple[str, ...]] = {}
    for word in sorted(words.difference(eastern)):
        if " " in word:
            first = _ANY_WORD.findall(word)[0]
            phrases[first] = (*phrases.get(first, ()), word)
    single = words.difference(eastern, *phrases.values())
    return Cue(frozenset(single), phrases, tuple(eastern))


def content_words(text: str) -> list[str]:
    """The words of a text that say something, as they are written, in order; of eastern scripts, pairs."""
    stop = tongues().stop
    if text.isascii() or not EASTERN.search(text):
        return [word for word in _WORD.findall(text) if word.lower() not in stop]
    words = [word for word in _WORD.findall(EASTERN.sub(" ", text)) if word.lower() not in stop]
    for run in EASTERN.findall(text):
        words += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return words


def says_something(text: str) -> bool:
    """Whether there is any content word."""
    if not text.isascii():
        return bool(content_words(text))
    stop = tongues().stop
    return any(word.group().lower() not in stop for word in _WORD.finditer(text))


@lru_cache(maxsize=8)
def all_words(lowered: str) -> frozenset[str]:
    """Every word in small letters, small words included. Several sorts are asked for of one text in a row."""
    return frozenset(_ANY_WORD.findall(lowered))


def is_about(cue: str, lowered: str) -> bool:
    """True when a text in small letters has a word of this sort, in any language that has a file."""
    found = tongues().cues.get(cue)
    return found is not None and found.found(all_words(lowered), lowered)


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a blank where there is one near."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    at = head.rfind(" ", limit * 2 // 3)
    return (head[:at] if at > 0 else head).rstrip(" ,;:-") + "…"
