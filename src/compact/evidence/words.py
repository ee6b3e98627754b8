"""Content words, and what the files in `tongues/` know of languages. Nothing depends on them but ranking."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

_WORD = re.compile(r"[^\W\d_]{2,}(?:['’-][^\W\d_]+)*|\d[\d.,:]*\d|\d")
_ANY_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
EASTERN = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Thai, kana, Chinese characters, Hangul: no blanks part the words, so pairs of characters stand for them."""
_MARKS = ".,:;!?()\"'"
_MOST_RUNS, _LONG_RUN = 50_000, 100


@dataclass(frozen=True, slots=True)
class Cue:
    """Words of one sort in all languages."""

    words: frozenset[str]
    phrases: Mapping[str, tuple[str, ...]]
    """Phrases of several words, by their first word."""
    eastern: tuple[str, ...]
    """Words of scripts where no blanks part them."""

    def found(self, words: Collection[str], text: str) -> bool:
        """True when one of the words is there; a phrase is looked for in the text itself."""
        if not self.words.isdisjoint(words):
            return True
        lowered = text.lower()
        for first in self.phrases.keys() & words:
            if any(phrase in lowered for phrase in self.phrases[first]):
                return True
        return not lowered.isascii() and any(word in lowered for word in self.eastern)


@dataclass(frozen=True, slots=True)
class Tongues:
    stop: frozenset[str]
    cues: Mapping[str, Cue]
    cues_of: Mapping[str, tuple[str, ...]]
    """Names of the cues that a word belongs to, by itself or as the first of a phrase."""


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
    cues = {name: _cue(words) for name, words in found.items()}
    cues_of: dict[str, tuple[str, ...]] = {}
    for name, cue in cues.items():
        for word in (*cue.words, *cue.phrases):
            cues_of[word] = (*cues_of.get(word, ()), name)
    return Tongues(stop, cues, cues_of)


def _cue(words: set[str]) -> Cue:
    eastern = sorted(word for word in words if EASTERN.match(word))
    phrases: dict[str, tuple[str, ...]] = {}
    for word in sorted(words.difference(eastern)):
        if " " in word:
            first = _ANY_WORD.findall(word)[0]
            phrases[first] = (*phrases.get(first, ()), word)
    single = words.difference(eastern, *phrases.values())
    return Cue(frozenset(single), phrases, tuple(eastern))


class Lexicon(dict[str, tuple[str, ...]]):
    """The content words of each run of characters between blanks. Each run is looked into once."""

    def __init__(self) -> None:
        self.cued: dict[str, set[str]] = {name: set() for name in tongues().cues}
        """For each cue the runs that may belong to it."""
        self.capitals: dict[str, tuple[str, ...]] = {}
        """The content words that are written with a capital, of runs that have any."""
        self.numbers: set[str] = set()
        """Runs with a word that is a number."""
        self.size = 0
        """How many runs it knows; a long one counts as several, and is looked into each time."""

    def __missing__(self, run: str) -> tuple[str, ...]:
        known = tongues()
        bare = run.strip(_MARKS)
        if bare.isalpha() and bare.isascii():
            written = [bare] if len(bare) > 1 else []
            every = [bare.lower()]
        else:
            written = _WORD.findall(run)
            every = _ANY_WORD.findall(run.lower())
            if any(word[0].isdigit() for word in written):
                self.numbers.add(run)
            if not run.isascii() and EASTERN.search(run):
                for runs in self.cued.values():
                    runs.add(run)
        for word in every:
            for name in known.cues_of.get(word, ()):
                self.cued[name].add(run)
        found = tuple([low for word in written if (low := word.lower()) not in known.stop])
        if found and not run.islower():
            capitals = tuple([low for word in written if (low := word.lower()) != word and low in found])
            if capitals:
                self.capitals[run] = capitals
        self.size += 1 + len(run) // _LONG_RUN
        if len(run) <= _LONG_RUN:
            self[run] = found
        return found


_lexicon: Lexicon | None = None


def lexicon() -> Lexicon:
    """That of the process; a new one where it has grown too large."""
    global _lexicon
    found = _lexicon
    if found is None or found.size > _MOST_RUNS:
        found = _lexicon = Lexicon()
    return found


def content_words(text: str) -> list[str]:
    """The words of a text that say something, in small letters, in order; of eastern scripts, pairs."""
    words = list(chain.from_iterable(map(lexicon().__getitem__, western_runs(text))))
    if not text.isascii():
        for run in EASTERN.findall(text):
            words += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return words


def western_runs(text: str) -> list[str]:
    """What stands between blanks, or between runs of eastern scripts."""
    return text.split() if text.isascii() else EASTERN.sub(" ", text).split()


def says_something(text: str) -> bool:
    """Whether there is any content word."""
    return any(map(lexicon().__getitem__, text.split())) or (not text.isascii() and bool(content_words(text)))


def is_about(text: str, *cues: str) -> bool:
    """True when a text has a word of one of these sorts, in any language that has a file."""
    known = lexicon()
    runs = text.split()
    deque(map(known.__getitem__, runs), maxlen=0)
    for name in cues:
        cued = known.cued.get(name)
        if cued and not cued.isdisjoint(runs):
            words = _ANY_WORD.findall(" ".join(cued.intersection(runs)).lower())
            if tongues().cues[name].found(frozenset(words), text):
                return True
    return False


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a blank where there is one near."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    at = head.rfind(" ", limit * 2 // 3)
    return (head[:at] if at > 0 else head).rstrip(" ,;:-") + "…"
