"""What `/recall` shows of a long message."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compact.repl.excerpt import Excerpt, excerpt
from support.cli import Ended


def test_a_short_text_is_whole() -> None:
    assert excerpt("one\n\n  two  ", "three") == Excerpt(0, ("one", "two"), 0)


def test_the_line_that_was_looked_for_is_among_those_shown() -> None:
    text = "\n".join(f"line {n}" for n in range(40)).replace("line 33", "the keys are in Keys.toml")
    found = excerpt(text, "keys.toml")
    assert found.before == 32 and found.lines[:2] == ("line 32", "the keys are in Keys.toml")
    assert found.before + len(found.lines) + found.after == 40
    assert excerpt(text, "line 39").lines[-1] == "line 39"
    assert excerpt(text, "r-0123456789").before == 0


def test_a_long_line_is_cut_around_what_was_looked_for() -> None:
    (line,) = excerpt("word " * 500 + "needle " + "word " * 500, "needle").lines
    assert len(line) < 250 and " needle " in line and line[0] == line[-1] == "…"
    (line,) = excerpt("word " * 500, "needle").lines
    assert line.startswith("word") and line.endswith("…")


def test_what_was_looked_for_is_found_far_behind_in_one_line() -> None:
    """Such as in a file of JSON."""
    (line,) = excerpt("x " * 60_000 + "needle here", "needle").lines
    assert line.startswith("…x") and line.endswith("x needle here")
    (line,) = excerpt("x " * 60_000 + "needle" + " y" * 60_000, "needle").lines
    assert line[0] == line[-1] == "…" and "x needle y" in line and len(line) < 250


@pytest.mark.parametrize("first", ["ß", "İ", "ﬃ", "\x1b[31m", "\x00"])
def test_what_comes_before_moves_no_cut(first: str) -> None:
    """Some characters are more in lower case, and some are not shown."""
    (line,) = excerpt(first * 300 + " needle " + "word " * 500, "NEEDLE").lines
    assert "needle word" in line and line[-1] == "…"


def test_only_what_is_cut_has_an_ellipsis() -> None:
    blanks = " " * 2_000
    assert excerpt(f"{blanks}one{blanks}needle{blanks}", "needle").lines == ("one needle",)


def test_recall_shows_why_a_message_was_found(chat: Callable[..., Ended]) -> None:
    long = "The log: " + "all is calm, " * 300 + "then the anchor broke, " + "all is calm, " * 300
    shown = chat("talk", "--text", given=f"{long}\n/recall anchor\n").out
    assert "then the anchor broke" in " ".join(shown.split("— message 0, user")[1].split())
