"""A text is read once, however often it is asked for, and what is kept is bounded by characters."""

from __future__ import annotations

import pytest

from compact.evidence import extract, remembered
from compact.evidence.remembered import remembered as once
from support.conversations import assistant, user


def test_a_text_is_read_once_for_each_way_of_reading() -> None:
    read: list[tuple[str, bool]] = []
    reader = once(lambda text, how: bool(read.append((text, how))) or text.upper())
    assert [reader("a"), reader("a"), reader("a", True), reader("b")] == ["A", "A", "A", "B"]
    assert read == [("a", False), ("a", True), ("b", False)]


def test_old_texts_are_forgotten_and_those_in_use_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_CHARS", 100)
    read: list[str] = []
    reader = once(lambda text, how: bool(read.append(text)) or text)
    for number in range(50):
        reader("in use " * 5)
        reader(f"passing {number} " * 3)
    assert read.count("in use " * 5) == 1
    reader("passing 0 " * 3)
    assert read.count("passing 0 " * 3) == 2


def test_units_of_a_text_that_comes_again_have_their_own_message_and_question() -> None:
    talk = [
        user("Plan the move of the archive to Lyon."),
        assistant("Shall I book the van for Monday?"),
        user("Yes, please do."),
        assistant("Shall I tell the landlord as well?"),
        user("Yes, please do."),
    ]
    answers = [unit for unit in extract(talk) if unit.value == "Yes, please do."]
    assert [(unit.message, unit.context) for unit in answers] == [
        (2, "asked in [m1]: Shall I book the van for Monday?"),
        (4, "asked in [m3]: Shall I tell the landlord as well?"),
    ]


def test_a_large_reading_has_a_share_of_the_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "_CHARS", 400)
    read: list[str] = []
    reader = once(lambda text, how: bool(read.append(text)) or text, share=0.25)
    for number in range(12):
        reader(f"{number:02} " * 10)
    reader("11 " * 10)
    assert len(read) == 12
    reader("00 " * 10)
    assert len(read) == 13
