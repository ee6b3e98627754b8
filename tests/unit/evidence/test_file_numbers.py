"""Numbers of files and cases are ids, though they have slashes like paths."""

from __future__ import annotations

import pytest

from compact.evidence.values import values_in
from compact.model.summary import EvidenceKind


@pytest.mark.parametrize("number", ["AZ-11/2024/17", "B12/345/6"])
def test_the_number_of_a_file_is_an_id(number: str) -> None:
    assert values_in(f"See file {number}, please.", True)[number] is EvidenceKind.ID


@pytest.mark.parametrize(
    "text", ["and/or", "24/7", "km/h", "TCP/IP", "he/she/they", "1/2", "Q3/Q4", "S3/EC2"]
)
def test_what_only_has_a_slash_is_none(text: str) -> None:
    assert EvidenceKind.ID not in values_in(text).values()
