"""Recall in memory, with the same results as a database's index."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compact.core.view import handle
from compact.ports import Hit
from compact.stores.memory.session import MemorySession, Original
from compact.stores.words import HANDLE, SPAN, closeness, terms_of, text_of, weighed, words_of


def search(
    session: MemorySession,
    query: str,
    limit: int,
    after: int,
    replaced: Callable[[MemorySession, str], list[Original]],
) -> list[Hit]:
    """Originals by handle or by words; `replaced` finds those that a summary's handle refers to."""
    wanted = query.strip()
    if HANDLE.fullmatch(wanted):
        named = [
            Original(session.position_of(chain), message)
            for chain, message in list(session.messages.items())
            if any(handle(result) == wanted for result in message.results)
        ]
        return [Hit(one.position, one.message, float("inf")) for one in reversed(named)][:limit]
    line, span = session.numbered(list(session.line)), SPAN.match(query)
    if span is not None:
        line = replaced(session, span[1])
        query = query[span.end() :].strip()
    line = [one for one in line if one.position > after]
    if span is not None and not query:
        return [Hit(one.position, one.message, float("inf")) for one in line[:limit]]
    return _by_words(line, query)[:limit]


def _by_words(line: Sequence[Original], query: str) -> list[Hit]:
    texts = [text_of(original.message) for original in line]
    indexed = [words_of(text) for text in texts]
    found: dict[str, list[int]] = {}
    for whole, *pieces in terms_of(query):
        found[whole] = _holding(indexed, whole)
        if not found[whole]:
            found.update((piece, _holding(indexed, piece)) for piece in pieces)
    scores = weighed(found, len(line))
    best = max(scores.values(), default=0.0)
    hits = [
        Hit(line[n].position, line[n].message, score + closeness(query, texts[n], best))
        for n, score in scores.items()
    ]
    hits.sort(key=lambda hit: (-hit.score, -hit.position))
    return hits


def _holding(indexed: Sequence[set[str]], word: str) -> list[int]:
    return [n for n, words in enumerate(indexed) if word in words]
