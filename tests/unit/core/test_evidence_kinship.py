from __future__ import annotations

from compact.core.evidence.kinship import kinship_of
from compact.core.evidence.scan import CALL, TOOL, Sighting
from compact.model.summary import EvidenceKind


def sighting(value: str, source: int, kind: EvidenceKind = EvidenceKind.SYMBOL) -> Sighting:
    seen = Sighting(value, kind, 0)
    seen.messages[source] += 1
    return seen


def test_what_sounds_like_the_work_in_hand_is_kin_and_what_is_everybodys_is_not() -> None:
    used = [sighting("ProxyModel", CALL), sighting("get_value", CALL)]
    listed = [sighting(f"get_{word}", TOOL) for word in ("name", "size", "color", "shape", "token")]
    found = kinship_of([*used, *listed, sighting("setup_proxy", TOOL), sighting("2024-05-26", TOOL)])
    assert found["setup_proxy"] == 0.5
    assert found["get_name"] < 0.25
    assert "ProxyModel" not in found and "2024-05-26" not in found


def test_a_conversation_without_tools_has_no_kin_to_look_for() -> None:
    assert kinship_of([sighting("ProxyModel", CALL), sighting("setup_proxy", CALL)]) == {}
