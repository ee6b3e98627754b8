"""Words to search by, the same for every database: what is indexed, what a query looks up, how hits rank."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from compact.model.message import (
    CompactionMarker,
    File,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    arguments_text,
)

_WORD = re.compile(r"\w+")
# Scripts without spaces between words: neighbors are indexed as pairs.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_COMPOUND = re.compile(r"\w(?:[\w./:@#%+=-]*\w)?")
_SPACED = {n: " " for n in range(128) if not (chr(n).isalnum() or chr(n) == "_")}
_LONGEST = 200
MAX_TERMS = 24
HANDLE = re.compile(r"r-[0-9a-f]{10}")
SPAN = re.compile(r"\s*(s-[0-9a-f]{10})(?:\s+|$)")
"""A summary's handle, which words may follow."""


def text_of(message: Message) -> str:
    """All that a message says: prose, calls and outputs."""
    return "\n".join(part_content(part) for part in message.parts).strip()


def part_content(part: Part) -> str:
    """What a part says, as text."""
    match part:
        case Text(text=text) | ToolResult(text=text) | Reasoning(text=text) | Opaque(text=text):
            return text
        case ToolCall():
            return f"{part.name} {arguments_text(part.arguments)}"
        case CompactionMarker(summary=summary):
            return summary
        case Image(source=source) | File(source=source):
            # Inline pictures are not words, and are in the message itself.
            return source if not source.startswith("data:") else source[:100]
        case _:
            return ""


def words_of(text: str) -> set[str]:
    """Every word to index: whole, and the parts of snake_case and camelCase names."""
    found: set[str] = set()
    # Ten times as fast, and most large texts are plain.
    words = text.translate(_SPACED).split() if text.isascii() else _WORD.findall(text)
    for word in set(words):
        found.update(_forms(word))
    return found


def _forms(word: str) -> Iterable[str]:
    low = word.casefold()[:_LONGEST]
    yield low
    if low == word and low.isalnum() and low.isascii():
        return
    if _UNSPACED.search(word):
        for run in _UNSPACED.findall(word):
            yield from (one + other for one, other in pairwise(run))
            yield from run
    elif "_" in word or (low != word and not word.isupper()):
        yield from _pieces(word)


def _pieces(word: str) -> list[str]:
    pieces = [piece.casefold() for piece in _CAMEL.findall(word)]
    return [piece for piece in pieces if len(piece) > 1] if len(pieces) > 1 else []


def terms_of(query: str) -> list[tuple[str, ...]]:
    """What to look up, each with an alternative to look up if it is nowhere."""
    found: dict[str, tuple[str, ...]] = {}
    for word in _WORD.findall(query):
        if _UNSPACED.search(word):
            for run in _UNSPACED.findall(word):
                for pair in (one + other for one, other in pairwise(run)):
                    found[pair] = (pair,)
                if len(run) == 1:
                    found[run] = (run,)
            continue
        low = word.casefold()[:_LONGEST]
        found[low] = (low, *_pieces(word))
    # Long words say most, if there are more than can be looked up.
    ranked = sorted(found, key=len, reverse=True)[:MAX_TERMS]
    return [found[term] for term in found if term in ranked]


def weighed(hits: Mapping[str, Sequence[int]], messages: int) -> dict[int, float]:
    """Message ids ranked by how rare their words are."""
    scores: dict[int, float] = {}
    for found in hits.values():
        rarity = math.log(1 + messages / len(found)) if found else 0.0
        for message in found:
            scores[message] = scores.get(message, 0.0) + rarity
    return scores


def closeness(query: str, text: str, rarity: float) -> float:
    """The bonus for a text that contains the query, or its compound names, letter for letter."""
    low, wanted = text.casefold(), query.strip().casefold()
    score = 0.0
    if len(wanted) > 2 and wanted in low:
        score += 2 * rarity
    compounds = [name for name in _COMPOUND.findall(wanted) if not name.isalpha()]
    score += sum(rarity for name in compounds if name in low) / max(1, len(compounds))
    # Of two texts with the same words, the shorter one is more about them.
    return score - 0.02 * rarity * math.log1p(len(text) / 200)
