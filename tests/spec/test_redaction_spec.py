"""S4.15: redaction is on by default, copies on export, and says so when it is off."""

from __future__ import annotations

import pytest

from compact.redaction import Redactor


@pytest.mark.spec("S4.15")
def test_the_name_and_separator_stay() -> None:
    assert Redactor().text("api_key=sk-abc123") == "api_key=<REDACTED>"
    assert Redactor().text("Password : hunter2") == "Password : <REDACTED>"


@pytest.mark.spec("S4.15")
def test_on_by_default_and_the_original_stays() -> None:
    original = {"role": "user", "content": "api_key=sk-abc123", "meta": {"api_key": "zz"}}
    clean = Redactor().value(original)
    assert clean == {"role": "user", "content": "api_key=<REDACTED>", "meta": {"api_key": "<REDACTED>"}}
    assert original["content"] == "api_key=sk-abc123"


@pytest.mark.spec("S4.15")
def test_switched_off_there_is_a_warning_to_send_first() -> None:
    assert Redactor().warning_when_disabled() is None
    assert "disabled" in str(Redactor(enabled=False).warning_when_disabled())
