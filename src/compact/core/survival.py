"""How much of the evidence a text still holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compact.core.evidence.block import Coverage
from compact.model.summary import Evidence, EvidenceKind

_QUOTED = frozenset(
    {EvidenceKind.RULE, EvidenceKind.APPROVAL, EvidenceKind.COMMAND, EvidenceKind.ERROR, EvidenceKind.NAME}
)


def survival(evidence: Iterable[Evidence], text: str) -> Mapping[str, float]:
    """Share of the evidence that `text` holds, by kind; "all" is the whole, {} when there is none."""
    held = Coverage(text)
    flat = " ".join(text.split())
    found: dict[str, int] = {}
    total: dict[str, int] = {}
    for item in evidence:
        there = held.holds(item.value) or (
            (item.kind in _QUOTED or " " in item.value) and " ".join(item.value.split()) in flat
        )
        for key in (item.kind.value, "all"):
            total[key] = total.get(key, 0) + 1
            found[key] = found.get(key, 0) + there
    return {key: round(found[key] / count, 4) for key, count in sorted(total.items())}
