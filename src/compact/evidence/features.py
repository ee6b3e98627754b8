"""What a unit covers (content words, pairs of them, and values), and what covering each is worth."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from math import log

from compact.evidence.remembered import remembered
from compact.evidence.values import may_name, values_in
from compact.evidence.words import lexicon, words_and_runs
from compact.model.value import value

_PAIR = 0.8
_REPEATED_PAIR = 4.0  # two words said together in several messages are the topic
_NAME = 2.0
_DIGITS = re.compile(r"\d+")


@value
class Features:
    """What a text covers, read once and cached: most units of a ledger go from one choice to the next."""

    words: tuple[str, ...] = ()  # content words, then pairs of neighbors, each once
    alone: int = 0  # how many of them are words
    names: tuple[str, ...] = ()
    capitals: tuple[str, ...] = ()

    @property
    def single(self) -> tuple[str, ...]:
        return self.words[: self.alone]


NOTHING = Features()


def _read_features(text: str, _: bool) -> Features:
    words, runs = words_and_runs(text)
    known = lexicon(runs)
    pairs = map(" ".join, pairwise(words))
    single = len(set(words))
    capitals = [known.capitals[run] for run in runs if run in known.capitals]
    return Features(
        (*words, *pairs) if single == len(words) else (*dict.fromkeys(words), *dict.fromkeys(pairs)),
        single,
        tuple(values_in(text)) if may_name(runs) else (),
        tuple(chain.from_iterable(capitals)) if capitals else (),
    )


# About twenty times the text in bytes; an eighth of the usual share holds a full ledger.
features_of = remembered(_read_features, share=0.125)


def weights_of(features: Sequence[Features], messages: Sequence[int]) -> dict[str, float]:
    """What covering a word or a pair is worth: most for the topic that several messages share."""
    within: dict[int, list[tuple[str, ...]]] = {}
    for one, at in zip(features, messages, strict=True):
        within.setdefault(at, []).append(one.words)
    said = (words[0] if len(words) == 1 else set().union(*words) for words in within.values())
    counts = Counter(chain.from_iterable(said))
    weights = dict.fromkeys(counts, _PAIR)
    weights.update(dict.fromkeys([pair for pair, count in counts.items() if count > 1], _REPEATED_PAIR))
    capitals = Counter(chain.from_iterable([one.capitals for one in features]))
    total = len(features) + 1
    # A word said once may be a slip; said twice it counts fully.
    worth = [log(1 + total / max(2, count)) for count in range(len(within) + 1)]
    in_place = _numbered(counts)
    for word in [feature for feature in counts if " " not in feature]:
        count = counts[word]
        named = word[0].isdigit() or capitals[word] >= count
        place = min(in_place.get(word, count), len(within))
        weights[word] = worth[place] * _NAME if named else worth[place]
    return weights


def _numbered(counts: Counter[str]) -> dict[str, int]:
    """For each number, how often one has its place: "step 12" says little after "step 11"."""
    pairs = [feature.split() for feature in counts if feature[-1].isdigit() and " " in feature]
    places: Counter[str] = Counter()
    for before, number in pairs:
        places[before] += counts[f"{before} {number}"]
    return {number: places[before] for before, number in sorted(pairs, key=lambda pair: places[pair[0]])}


def worth_of_names(said: Sequence[Sequence[str]]) -> dict[str, float]:
    """What naming a value is worth in a saying: little for one of a series (`part_12.py` of `part_#.py`)."""
    series = {name: _DIGITS.sub("#", name) for names in said for name in names}
    counts = Counter(one for names in said if names for one in {series[name] for name in names})
    return {name: _NAME * log(1 + (len(said) + 1) / max(2, counts[one])) for name, one in series.items()}
