"""Shortened tool outputs: whole lines, the telling ones of the middle, and a handle."""

from __future__ import annotations

from compact.core.shorten import shortened

LINES = [f"{number:03d} reading the sensor of basin {number}" for number in range(400)]


def test_head_and_tail_are_whole_lines() -> None:
    text = "\n".join(LINES)
    short = shortened(text, "r-1a2b", 2_000).split("\n")
    kept = [line for line in short if not line.startswith("[Tool output shortened")]
    assert len(short) == len(kept) + 1 and len("\n".join(short)) <= 2_000
    assert set(kept) <= set(LINES)
    assert kept[0] == LINES[0] and kept[-1] == LINES[-1]


def test_lines_with_errors_and_words_of_the_task_come_from_the_middle() -> None:
    lines = [*LINES[:200], "fatal: the pump has no pressure", "the valve of Arnholm opened", *LINES[200:]]
    short = shortened("\n".join(lines), "r-1a2b", 2_000, frozenset({"arnholm"}))
    assert "fatal: the pump has no pressure" in short
    assert "the valve of Arnholm opened" in short
    assert "recall r-1a2b for all of it" in short


def test_one_long_line_is_cut_at_a_blank() -> None:
    text = " ".join(f"word{number}" for number in range(3_000))
    head, note, tail = shortened(text, "r-1a2b", 1_000).split("\n")
    assert set(head.split()) | set(tail.split()) <= set(text.split())
    assert note.startswith("[Tool output shortened: ")


def test_a_line_without_blanks_is_cut_where_the_room_ends() -> None:
    short = shortened("x" * 9_000, "r-1a2b", 900)
    assert 700 < len(short) <= 900
