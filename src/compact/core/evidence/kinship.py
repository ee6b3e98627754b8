"""What tools listed and nobody used yet is likelier needed the more it sounds like what is in use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from compact.core.evidence.scan import Sighting
from compact.model.summary import EvidenceKind

_WORD = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}")
"""The words that a name is made of: `_raw_delete`, `ProxyModel`, `tests/proxy_models`."""
_NAMING = frozenset({EvidenceKind.PATH, EvidenceKind.ID, EvidenceKind.SYMBOL})


def kinship_of(sightings: Sequence[Sighting]) -> Mapping[str, float]:
    """For values that tools alone said, from 0 to 1: how far their words are those of values in use.

    A word counts in full when at least half of the values that hold it were brought up by the user or the
    agent: in an issue about proxies `setup_proxy` is kin, while `get` and `name` are everybody's.
    """
    listed: list[tuple[str, set[str]]] = []
    everywhere: Counter[str] = Counter()
    used: Counter[str] = Counter()
    if not any(seen.only_tools for seen in sightings):
        return {}
    for seen in sightings:
        if seen.kind not in _NAMING:
            continue
        words = set(map(str.lower, _WORD.findall(seen.value)))
        everywhere.update(words)
        if seen.only_tools:
            listed.append((seen.value, words))
        else:
            used.update(words)
    return {
        value: sum(min(1.0, 2 * used[word] / everywhere[word]) for word in words) / len(words)
        for value, words in listed
        if words
    }
