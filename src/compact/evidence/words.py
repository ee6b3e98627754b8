"""Content words, and the word lists in `tongues/`: for ranking, and for what a system message may hold."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from unicodedata import category, normalize

_WITH_SIGNS = (*range(0x300, 0x1D00), *range(0xA800, 0xAC00))
_SIGNS = "".join(char for char in map(chr, _WITH_SIGNS) if category(char)[0] == "M")
# With the vowels and accents that some scripts write as signs of their own; nothing to try again.
_LETTERS = rf"(?:[^\W\d_]++|[{_SIGNS}]++)++"
_WORD = re.compile(rf"[^\W\d_]{_LETTERS}(?:['’-]{_LETTERS})*|\d[\d.,:]*\d|\d")
_ANY_WORD = re.compile(rf"{_LETTERS}(?:['’-]{_LETTERS})*")
EASTERN = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Thai, kana, Chinese characters, Hangul: no spaces separate words, so pairs of characters stand for them."""
_MARKS = ".,:;!?()\"'"
_MOST_CHARACTERS = 400_000


@dataclass(frozen=True, slots=True)
class Cue:
    """Words of one kind in all languages."""

    words: frozenset[str]
    phrases: Mapping[str, tuple[str, ...]]  # of several words, by their first that is not in every sentence
    eastern: tuple[str, ...]  # words of scripts without spaces

    def found(self, words: Collection[str], text: str) -> bool:
        """True if the text has one of the words; a phrase is searched in the text itself."""
        if not self.words.isdisjoint(words):
            return True
        lowered = text.lower()
        for word in self.phrases.keys() & words:
            if any(phrase in lowered for phrase in self.phrases[word]):
                return True
        return not lowered.isascii() and any(word in lowered for word in self.eastern)


@dataclass(frozen=True, slots=True)
class Tongues:
    stop: frozenset[str]
    cues: Mapping[str, Cue]
    cues_of: Mapping[str, tuple[str, ...]]  # names of the cues of a word, alone or in a phrase


def listed(path: Path) -> dict[str, set[str]]:
    """The word lists of a file, by their names."""
    found: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, separator, words = line.partition(": ")
        if separator and not line.startswith("#"):
            found.setdefault(name, set()).update(words.split())
    return found


@cache
def tongues() -> Tongues:
    """All languages that have a file, read once."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path(__file__).with_name("tongues").glob("*.txt")):
        for name, words in listed(path).items():
            found.setdefault(name, set()).update(word.replace("_", " ") for word in words)
    stop = frozenset(found.pop("stop", ()))
    cues = {name: _cue(words, stop) for name, words in found.items()}
    cues_of: dict[str, tuple[str, ...]] = {}
    for name, cue in cues.items():
        for word in (*cue.words, *cue.phrases):
            cues_of[word] = (*cues_of.get(word, ()), name)
    return Tongues(stop, cues, cues_of)


def _cue(words: set[str], stop: frozenset[str]) -> Cue:
    eastern = sorted(word for word in words if EASTERN.match(word))
    phrases: dict[str, tuple[str, ...]] = {}
    for word in sorted(words.difference(eastern)):
        if " " in word:
            parts = _ANY_WORD.findall(word)
            rare = next((part for part in parts if part not in stop), parts[0])
            phrases[rare] = (*phrases.get(rare, ()), word)
    single = words.difference(eastern, *phrases.values())
    return Cue(frozenset(single), phrases, tuple(eastern))


class Lexicon(dict[str, tuple[str, ...]]):
    """The content words of whitespace-separated runs, in lowercase. Each is analyzed when first looked up."""

    def __init__(self) -> None:
        super().__init__()
        self._tongues = tongues()
        self.size = 0
        self.capitals: dict[str, tuple[str, ...]] = {}  # those written with a capital, if any
        self.cued: dict[str, set[str]] = {cue: set() for cue in self._tongues.cues}  # runs that may be of it

    def __missing__(self, run: str) -> tuple[str, ...]:
        known = self._tongues
        bare = run.strip(_MARKS)
        if bare.isalpha() and bare.isascii():
            written = [bare] if len(bare) > 1 else []
        else:
            written = _WORD.findall(normalize("NFC", run))
            if not run.isascii() and EASTERN.search(run):
                for runs in self.cued.values():
                    runs.add(run)
        words = [word.lower() for word in written]
        found = tuple([word for word in words if word not in known.stop])
        if words != written and found:
            both = zip(words, written, strict=True)
            self.capitals[run] = tuple([low for low, word in both if low != word and low not in known.stop])
        for word in words:
            for name in known.cues_of.get(word, ()):
                self.cued[name].add(run)
        self.size += len(run)
        self[run] = found  # last: another thread may look it up meanwhile
        return found


_lexicon: Lexicon | None = None


def lexicon() -> Lexicon:
    """The cache of the process; a new one if it has grown too large."""
    global _lexicon
    found = _lexicon
    if found is None or found.size > _MOST_CHARACTERS:
        found = _lexicon = Lexicon()
    return found


def content_words(text: str) -> list[str]:
    """The meaningful words of a text, lowercase and in order; in East Asian scripts, character pairs."""
    return read_words(text)[0]


def read_words(text: str) -> tuple[list[str], list[str], Lexicon]:
    """The content words, its runs between spaces or East Asian scripts, and what is known of them."""
    ascii_only = text.isascii()
    runs = (text if ascii_only else EASTERN.sub(" ", text)).split()
    known = lexicon()
    words = list(chain.from_iterable(map(known.__getitem__, runs)))
    return words if ascii_only else [*words, *eastern_pairs(text)], runs, known


def eastern_pairs(text: str) -> list[str]:
    found = []
    for run in EASTERN.findall(text):
        found += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return found


def says_something(runs: Sequence[str]) -> bool:
    """Whether any whitespace-separated run has a content word."""
    found = any(map(lexicon().__getitem__, runs))  # up to the first: pasted text need not be analyzed
    return found or any(not run.isascii() and EASTERN.search(run) for run in runs)


def is_about(runs: Sequence[str], *cues: str) -> bool:
    """True if a text, split at spaces, has a word of one of these kinds, in any language with a file."""
    known = lexicon()
    list(map(known.__getitem__, runs))  # analyzes new ones
    for name in cues:
        if name in known.cued and (cued := known.cued[name].intersection(runs)):
            words = _ANY_WORD.findall(" ".join(cued).lower())
            if tongues().cues[name].found(frozenset(words), " ".join(runs)):
                return True
    return False


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a nearby space if there is one."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    at = head.rfind(" ", limit * 2 // 3)
    return (head[:at] if at > 0 else head).rstrip(" ,;:-") + "…"
