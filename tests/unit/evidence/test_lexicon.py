"""What is known of runs of characters is forgotten before it fills the memory."""

from __future__ import annotations

import pytest

from compact.evidence import words
from compact.evidence.coverage import Coverage
from compact.evidence.features import SINGLE, features_of
from compact.model.summary import Evidence, EvidenceKind


def test_long_runs_are_forgotten_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_lexicon", None)
    monkeypatch.setattr(words, "_MOST_CHARACTERS", 5_000)
    for number in range(200):
        words.content_words(f"see https://example.org/{'path/' * 30}Item-{number}")
    known = words.lexicon()
    assert len(known) <= 50 and len(known.capitals) <= 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("दुकान संभालनी होती है।", ["दुकान", "संभालनी", "होती", "है"]),
        ("நேரம் மாறியது", ["நேரம்", "மாறியது"]),
        ("ꯃꯤꯇꯩ", ["ꯃꯤꯇꯩ"]),
        ("the cafe\u0301s of Đa\u0300 Na\u0306\u0303ng", ["cafés", "đà", "nẵng"]),
    ],
)
def test_vowels_and_accents_written_as_signs_belong_to_their_words(text: str, expected: list[str]) -> None:
    assert words.content_words(text) == expected


def test_a_saying_in_devanagari_is_worth_as_much_as_one_in_latin_letters() -> None:
    units = [
        Evidence(EvidenceKind.SAID, text, at, "", 1.2)
        for at, text in enumerate(("दुकान शुक्रवार को बंद रहती", "the shop stays closed Fridays", "12 13 14 15"))
    ]
    coverage = Coverage(units, [features_of(unit.value) for unit in units], SINGLE, units)
    hindi, english, numbers = coverage.gains
    assert hindi > 0.9 * english and numbers < 0.6 * english
