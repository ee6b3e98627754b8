"""Personal data goes by kind, and only the kinds that were asked for."""

from __future__ import annotations

import pytest

from compact.config import CompactConfig, RedactionSettings
from compact.errors import ConfigError
from compact.redaction import REDACTED, Redactor
from compact.wiring.adapters import redactor_for

SAMPLES = {"email": "jane.doe@example.org", "phone": "+49 30 1234567", "card": "4111 1111 1111 1111"}


@pytest.mark.parametrize("kind", SAMPLES)
def test_one_kind_leaves_the_others(kind: str) -> None:
    redactor = Redactor(pii=[kind])
    for other, sample in SAMPLES.items():
        assert redactor.text(f"see {sample} there") == f"see {REDACTED if other == kind else sample} there"


def test_true_means_all_and_false_none() -> None:
    for sample in SAMPLES.values():
        assert Redactor(pii=True).text(sample) == REDACTED
        assert Redactor().text(sample) == sample


def test_an_unknown_kind_is_told() -> None:
    with pytest.raises(ConfigError, match=r"redaction\.pii knows card, email, phone, not name"):
        Redactor(pii=["name"])


def test_the_setting_chooses_the_kind() -> None:
    redactor = redactor_for(CompactConfig(redaction=RedactionSettings(pii=("email",))))
    assert redactor.text(SAMPLES["email"]) == REDACTED
    assert redactor.text(SAMPLES["card"]) == SAMPLES["card"]
