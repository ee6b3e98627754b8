"""What a unit would still add is exact at any time, whatever was covered before."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from compact.evidence.coverage import Coverage
from compact.evidence.features import PAIR, SINGLE, Features, features_of
from compact.model.summary import Evidence, EvidenceKind

NOUNS = "gate dock pier crane barge tide rope lamp crew ledger part_7.py src/mill.py 155 2031-04-05".split()


def talk(seed: int) -> list[Evidence]:
    """Units that share words, pairs and values, also within one message."""
    rng = random.Random(seed)
    kinds = (EvidenceKind.SAID, EvidenceKind.CONCLUDED)
    units = [
        Evidence(rng.choice(kinds), " ".join(rng.choices(NOUNS, k=rng.randint(2, 9))), at // 2, "", 1.0)
        for at in range(40)
    ]
    return [
        *units,
        *(Evidence(EvidenceKind.PATH, path, 30, "", 2.0) for path in ("part_7.py", "src/mill.py")),
    ]


def read(units: Sequence[Evidence]) -> list[Features]:
    return [SINGLE if unit.kind is EvidenceKind.PATH else features_of(unit.value) for unit in units]


def worth(coverage: Coverage, unit: Evidence, one: Features, covered: set[str]) -> float:
    """The same, added up from the beginning."""
    said = unit.kind is EvidenceKind.SAID
    if one is SINGLE:
        return 0.0 if unit.value in covered else 24 * unit.rank
    left = {True: 0.1, False: 1.0}
    gain = sum(coverage.weights[word] * left[word in covered] for word in one.words)
    if said:
        new = sum(word.isalpha() and word not in covered for word in one.words)
        return gain + 12 * min(1.0, new / 3)
    ranks = {"part_7.py": 2.0, "src/mill.py": 2.0}
    gain += sum(24 * ranks.get(name, 0.3) for name in one.names if name not in covered)
    return gain + sum(coverage.weights.get(pair, PAIR) * left[pair in covered] for pair in one.pairs)


@pytest.mark.parametrize("seed", range(5))
def test_every_worth_is_the_one_counted_anew(seed: int) -> None:
    units = talk(seed)
    features = read(units)
    before = features_of("The tide took the rope, said src/mill.py.")
    coverage = Coverage(units, features, before, units)
    covered = {*before.words, *before.pairs, *before.names}
    left = set(range(len(units)))
    for number in random.Random(seed).sample(range(len(units)), 12):
        one, value = features[number], units[number].value
        coverage.cover(one, value)
        covered.update((value,) if one is SINGLE else (*one.words, *one.pairs, *one.names))
        left.remove(number)
        wanted = [worth(coverage, units[other], features[other], covered) for other in left]
        assert [coverage.gains[other] for other in left] == pytest.approx(wanted)


def test_what_is_covered_twice_is_counted_once() -> None:
    units = talk(1)
    features = read(units)
    coverage = Coverage(units, features, SINGLE, units)
    coverage.cover(features[0], units[0].value)
    before = list(coverage.gains)
    coverage.cover(features[0], units[0].value)
    assert coverage.gains == before
