"""What a unit covers (content words, pairs of them, and values), and what covering each is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from math import log

from compact.evidence.remembered import remembered
from compact.evidence.values import values_in
from compact.evidence.words import read_words
from compact.model.value import value

PAIR = 0.8
REPEATED_PAIR = 4.0  # two words said together in several messages are the topic
_NAME = 2.0


@value
class Features:
    """What a text covers, read once and cached: most units of a ledger go from one choice to the next."""

    words: tuple[str, ...] = ()  # content words, each once
    pairs: tuple[str, ...] = ()  # of neighbors
    names: tuple[str, ...] = ()
    capitals: tuple[str, ...] = ()


SINGLE = Features()  # of a unit that is a single value


def _read_features(text: str, _: bool) -> Features:
    words, runs, known = read_words(text)
    written = known.capitals
    capitals = [written[run] for run in filter(written.__contains__, runs)]
    pairs = map(" ".join, pairwise(words))
    unique = dict.fromkeys(words)
    return Features(
        tuple(unique),
        tuple(dict.fromkeys(pairs) if len(unique) < len(words) else pairs),
        tuple(values_in(text, runs=runs if text.isascii() else ())),
        tuple(chain.from_iterable(capitals)),
    )


# About twenty times the text in bytes; an eighth of the usual share holds a full ledger.
features_of = remembered(_read_features, share=0.125)


def weights_of(
    features: Sequence[Features], words: Counter[str], pairs: Counter[str], messages: int
) -> dict[str, float]:
    """What covering a word or a repeated pair is worth: most for the topic that several messages share.

    `words`, `pairs`: how many of the messages have each.
    """
    weights = {pair: REPEATED_PAIR for pair, count in pairs.items() if count > 1}
    capitals = Counter(chain.from_iterable([one.capitals for one in features]))
    total = len(features) + 1
    # A word said once may be a slip; said twice it counts fully.
    worth = [log(1 + total / max(2, count)) for count in range(messages + 1)]
    in_place = _numbered(pairs) if any(word[-1].isdigit() for word in words) else {}
    for word, count in words.items():
        named = word[0].isdigit() or capitals[word] >= count
        place = min(in_place.get(word, count), messages)
        weights[word] = worth[place] * _NAME if named else worth[place]
    return weights


def _numbered(pairs: Counter[str]) -> dict[str, int]:
    """For each number, how often one has its place: "step 12" says little after "step 11"."""
    numbered = [pair.split() for pair in pairs if pair[-1].isdigit()]
    places: Counter[str] = Counter()
    for before, number in numbered:
        places[before] += pairs[f"{before} {number}"]
    return {number: places[before] for before, number in sorted(numbered, key=lambda one: places[one[0]])}
