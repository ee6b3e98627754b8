"""What is known of runs of characters is forgotten before it fills the memory."""

from __future__ import annotations

import pytest

from compact.evidence import words


def test_long_runs_are_forgotten_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_lexicon", None)
    monkeypatch.setattr(words, "_MOST_CHARACTERS", 5_000)
    for number in range(200):
        words.content_words(f"see https://example.org/{'path/' * 30}Item-{number}")
    known = words.lexicon(())
    assert len(known.words) <= 50 and len(known.capitals) <= 50
