"""A span read once: texts, sentences and who speaks, shared by everything that looks at prose."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from compact.model.message import Message, MessageKind, Role

_LONGEST_NAME = 31
_NAME = re.compile(rf"[^\W\d_][\w.'’ -]{{0,{_LONGEST_NAME - 1}}}")
"""What may stand before a colon and be who says the rest: "Nate: …"."""

_END = re.compile(r"[.!?…\n。！？](?:(?<=\n)\n*|(?<=[。！？])|(?<![\n。！？])[\"'”’)\]]*\s+)")
"""One set of characters comes first: the search leaps to them, three times as fast as by alternatives."""
_SHORT = 60
_OPERATORS = "/=+<>&|"
"""After "sum(...) " these go on with code."""
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "Mr.", "Dr.", "Mrs.", "No.", "approx.", "cf.")
_MONTH = re.compile(r"(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)[a-zäöü]*\b")
"""After "12. " it goes on with a date."""
_BULLET = re.compile(r"(?:[-*•>#]+|\d{1,2}[.)])\s+")


@dataclass(slots=True)
class Reading:
    """Messages with their texts; sentences are split when first asked for."""

    messages: Sequence[Message]
    texts: list[str]
    speakers: frozenset[str]
    _sentences: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def is_original(self, index: int) -> bool:
        return self.messages[index].kind is MessageKind.ORIGINAL

    def sentences(self, index: int) -> tuple[str, ...]:
        found = self._sentences.get(index)
        if found is None:
            found = self._sentences[index] = split_sentences(self.texts[index])
        return found

    def after_speaker(self, sentence: str) -> tuple[str, str]:
        """Who says the sentence, if it begins with a name, and the rest of it."""
        name, _, rest = sentence.partition(": ")
        if name in self.speakers and rest and not rest[0].isspace():
            return name, rest
        return "", sentence


def read(messages: Sequence[Message]) -> Reading:
    texts = [message.text for message in messages]
    return Reading(messages, texts, _speakers(messages, texts))


def split_sentences(text: str) -> tuple[str, ...]:
    """Sentences and lines, stripped. A line break before a small letter is only a wrapped line."""
    if len(text) < _SHORT and "\n" not in text and not _END.search(text[:-1]):
        return (text.strip(),) if text.strip() else ()
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        at, end = match.span()
        mark = text[at]
        following = text[end : end + 1]
        if following.islower():
            if mark not in "。！？" and text.count("\n", at, end) < 2:
                continue
        elif following in _OPERATORS and following and "\n" not in match.group():
            continue
        if mark == "." and text.endswith(_ABBREVIATIONS, start, at + 1) and "\n" not in match.group():
            continue
        if mark == "." and text[at - 1 : at].isdigit() and _MONTH.match(text, end) and text[end - 1] == " ":
            continue
        piece = text[start:end].strip()
        if piece:
            found.append(piece)
        start = end
    rest = text[start:].strip()
    if rest:
        found.append(rest)
    return tuple(found)


def indexes_holding(texts: Sequence[str], cues: Iterable[str]) -> list[int]:
    """Which texts hold one of the cues, given in small letters: one search over all of them for each."""
    low = [text.lower() for text in texts]
    ends = list(accumulate([len(text) + 1 for text in low]))
    joined = "\n".join(low)
    found: set[int] = set()
    for cue in cues:
        at = joined.find(cue)
        while at >= 0:
            index = bisect_right(ends, at)
            found.add(index)
            at = joined.find(cue, ends[index])
    return sorted(found)


def without_bullet(sentence: str) -> str:
    mark = _BULLET.match(sentence)
    return sentence[mark.end() :].strip() if mark else sentence


def _speakers(messages: Sequence[Message], texts: Sequence[str]) -> frozenset[str]:
    """Names that stand before texts often enough to be who speaks, not a label."""
    counts: dict[str, int] = {}
    spoken = 0
    for message, text in zip(messages, texts, strict=True):
        if text and message.role in (Role.USER, Role.ASSISTANT):
            spoken += 1
            if text[0] == "[":
                text = text.rsplit("]\n", 1)[-1]
            end = text.find(": ", 0, _LONGEST_NAME + 2)
            if end > 0 and text[end + 2 : end + 3].strip():
                name = text[:end]
                counts[name] = counts.get(name, 0) + 1
    counts = {name: count for name, count in counts.items() if _NAME.fullmatch(name)}
    # "Item 7 checked: …" is another name each time: people speak more than once.
    if sum(count for count in counts.values() if count > 1) < max(3, spoken // 2):
        return frozenset()
    return frozenset(name for name, count in counts.items() if count > 1 or name[0].isupper())
