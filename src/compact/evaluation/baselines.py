"""Baselines in place of the summary: beginning and end, random sentences, and LexRank."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log, sqrt

from compact.evidence.reading import sentences
from compact.evidence.words import content_words
from compact.model.summary import SummaryRequest

_CHARS_PER_TOKEN = 3
"""Fewer than most tokens have, so that the summary fits."""
_MOST_RANKED = 400
"""The most sentences that LexRank compares; from a longer text it takes evenly spaced ones."""
_DAMPING, _ROUNDS = 0.85, 20

Write = Callable[[SummaryRequest], str]


def _texts(request: SummaryRequest) -> Iterator[str]:
    if request.previous_summary:
        yield request.previous_summary
    for message in request.messages:
        yield message.text
        yield from (result.text for result in message.results)


def _spoken(request: SummaryRequest) -> list[str]:
    found = (" ".join(said.split()) for text in _texts(request) for said in sentences(text))
    return list(dict.fromkeys(said for said in found if len(said) > 3))


def _filled(said: Sequence[str], order: Sequence[int], tokens: int) -> str:
    """The first sentences in this order that fit, in the order of the conversation."""
    left, taken = tokens * _CHARS_PER_TOKEN, []
    for place in order:
        if len(said[place]) < left:
            left -= len(said[place]) + 1
            taken.append(place)
    return "\n".join(said[place] for place in sorted(taken))


def head_and_tail(request: SummaryRequest) -> str:
    """A quarter of the space for the beginning, the rest for the end."""
    text, room = "\n".join(_texts(request)), request.max_tokens * _CHARS_PER_TOKEN
    return text if len(text) <= room else f"{text[: room // 4]}\n…\n{text[len(text) - room * 3 // 4 + 8 :]}"


def by_lot(request: SummaryRequest) -> str:
    said = _spoken(request)
    order = list(range(len(said)))
    random.Random(42).shuffle(order)
    return _filled(said, order, request.max_tokens)


def lexrank(request: SummaryRequest) -> str:
    """Sentences similar to many others (Erkan and Radev 2004): PageRank over TF-IDF cosines."""
    said = _spoken(request)
    step = max(1, -(-len(said) // _MOST_RANKED))
    said = said[::step]
    links = _cosines([Counter(content_words(one)) for one in said])
    ranks = [1.0] * len(said)
    for _ in range(_ROUNDS):
        flow = [0.0] * len(said)
        for here, near in enumerate(links):
            if total := sum(near.values()):
                for there, cosine in near.items():
                    flow[there] += ranks[here] * cosine / total
        ranks = [1 - _DAMPING + _DAMPING * inward for inward in flow]
    order = sorted(range(len(said)), key=lambda place: (-ranks[place], place))
    return _filled(said, order, request.max_tokens)


def _cosines(bags: Sequence[Counter[str]]) -> list[dict[int, float]]:
    """For each bag of words, the similar ones and how similar they are."""
    within = Counter(word for bag in bags for word in bag)
    vectors = [{word: count * log(len(bags) / within[word]) for word, count in bag.items()} for bag in bags]
    norms = [sqrt(sum(weight * weight for weight in vector.values())) or 1.0 for vector in vectors]
    holding: dict[str, list[int]] = {}
    for place, vector in enumerate(vectors):
        for word in vector:
            holding.setdefault(word, []).append(place)
    links: list[dict[int, float]] = []
    for place, vector in enumerate(vectors):
        near: defaultdict[int, float] = defaultdict(float)
        for word, weight in vector.items():
            for other in holding[word]:
                if other != place:
                    near[other] += weight * vectors[other][word] / (norms[place] * norms[other])
        links.append(dict(near))
    return links


SUMMARIES: Mapping[str, Write] = {"head-tail": head_and_tail, "random": by_lot, "lexrank": lexrank}
"""Baselines that use `budget` with a different summary."""
