"""What is drawn keeps its columns, and a transcript cannot play tricks on the terminal."""

from __future__ import annotations

import io

import pytest

from compact.cli.progress import tracked
from compact.console.terminal import Screen, cell_width, fit, one_line, screen


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "text", ["plain", "a longer text than fits", "日本語のとても長い文章です", "e\u0301te\u0301", ""]
)
@pytest.mark.parametrize("width", [1, 5, 12])
def test_fit_gives_exactly_the_width(text: str, width: int) -> None:
    assert cell_width(fit(text, width)) == width


def test_fit_cuts_with_an_ellipsis() -> None:
    assert fit("abcdef", 4) == "abc…"
    assert fit("abcdef", 5, "...") == "ab..."
    assert fit("日本語", 4) == "日… "
    assert fit("abc", 0) == ""


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2J\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07red",
        "r\x00e\x08d",
        "\x1b]8;;http://x\x1b\\red",
        "red\x1b",
    ],
)
def test_control_sequences_are_taken_out(text: str) -> None:
    shown = one_line(text)
    assert shown.isprintable()
    assert shown.replace(" ", "") == "red"


def test_one_line_joins_lines() -> None:
    assert one_line("a\n\n  b\tc\u2028d") == "a b c d"


def test_one_line_cuts_with_an_ellipsis() -> None:
    assert one_line("twelve chars", 12) == "twelve chars"
    assert one_line("twelve chars!", 12) == "twelve char…"
    assert one_line(f"{' ' * 60}abc{' ' * 60}", 5) == "abc"  # nothing is missing
    assert one_line("four five six", 6) == "four…"
    assert one_line("a" + " " * 100 + "b", 10) == "a…"


@pytest.mark.parametrize("unseen", ["\x00", "\x1b[0m", "\n\x07 ", "\x1b]0;title\x07"])
def test_one_line_cuts_nothing_where_only_control_characters_follow(unseen: str) -> None:
    assert one_line(f"abc{unseen * 100}", 5) == "abc"
    assert one_line(f"{unseen * 100}abc", 5) == "abc"
    assert one_line(f"abc{unseen * 100}def", 5) in ("abc…", "abcd…")


def test_bars() -> None:
    wide = Screen(io.StringIO())
    assert wide.bar(0, 4) == "    "
    assert wide.bar(0.0001, 4) == "▏   "
    assert wide.bar(0.5, 4) == "██  "
    assert wide.bar(7, 4) == "████"
    assert Screen(io.StringIO(), blocks=False).bar(0.5, 4) == "##.."


def test_colors_only_where_they_are_wanted() -> None:
    assert not screen(io.StringIO(), {}).color
    assert screen(Terminal(), {}).color
    assert not screen(Terminal(), {"NO_COLOR": "1"}).color
    assert not screen(Terminal(), {"TERM": "dumb"}).color
    assert screen(io.StringIO(), {}, "always").color
    assert not screen(Terminal(), {}, "never").color
    assert Screen(io.StringIO(), color=True).styled("x", "red", "bold") == "\x1b[31;1mx\x1b[0m"


def test_ascii_streams_get_ascii() -> None:
    shown = screen(io.TextIOWrapper(io.BytesIO(), encoding="ascii"), {})
    text = shown.bar(0.5, 4) + shown.ellipsis + shown.dot + shown.rule() + shown.fit("abcdef", 5)
    assert text.isascii()


def test_progress_shows_on_a_terminal_only_and_leaves_nothing_behind() -> None:
    quiet = io.StringIO()
    assert list(tracked(range(30), 30, screen(quiet, {}), "Counting")) == list(range(30))
    assert quiet.getvalue() == ""
    shown = Terminal()
    assert list(tracked(range(30), 30, screen(shown, {}), "Counting")) == list(range(30))
    assert "Counting" in shown.getvalue() and "29/30" in shown.getvalue()
    assert shown.getvalue().endswith("\r")
    short = Terminal()
    assert list(tracked(range(3), 3, screen(short, {}), "Counting")) == [0, 1, 2]
    assert short.getvalue() == ""
