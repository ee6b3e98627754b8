"""What a terminal shows: the status line, streamed markdown, colors, the plot."""

from __future__ import annotations

import io

import pytest

from compact.chat import Status
from compact.console.terminal import Screen, clean
from compact.repl.plot import plot
from compact.repl.saying import Kind, Piece, Preparing, Reopened, Said
from compact.repl.screen import TerminalVoice, settled, short, status_line, warm


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (Status("gpt-4o", 42_300, 128_000, 1, 0.12), "gpt-4o · ctx 42k/128k 33% ⟳1 · $0.12"),
        (Status("gpt-4o", 0, 128_000, 0, 0.0), "gpt-4o · ctx 0/128k 0%"),
        (Status("m", 950, 8_192, 0, 0.0004), "m · ctx 950/8.2k 12% · $0.0004"),
        (Status("m", 1_200_000, 1_000_000, 12, 3.456), "m · ctx 1.2M/1.0M 120% ⟳12 · $3.46"),
    ],
)
def test_the_status_line(status: Status, line: str) -> None:
    assert status_line(status) == line


def test_numbers_are_short() -> None:
    assert [short(n) for n in (0, 999, 1_000, 9_949, 10_000, 999_499, 999_500)] == [
        "0",
        "999",
        "1.0k",
        "9.9k",
        "10k",
        "999k",
        "1.0M",
    ]


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("one", 0),
        ("one\n\ntwo", 5),
        ("one\n\ntwo\n\nthree", 10),
        ("a\n\n```\ncode\n\nmore", 3),  # an open code block is not drawn for good
        ("```\ncode\n\nmore\n```\n\nafter", 20),
    ],
)
def test_what_of_a_growing_text_can_be_drawn_for_good(text: str, done: int) -> None:
    assert settled(text) == done


def shown(*happenings: object, color: bool = False) -> str:
    out = io.StringIO()
    voice = TerminalVoice(Screen(out, 80, color))
    for happening in happenings:
        voice.show(happening)  # type: ignore[arg-type]
    voice.settle()
    return out.getvalue()


def test_a_reply_is_drawn_as_markdown_once_and_without_control_characters() -> None:
    warm()
    text = "# Title\n\nSome **bold**\x1b[31m words.\n\n- one\n- two\n\n```python\nprint(1)\n```\n\nThe end."
    pieces = [Piece(text[n : n + 5]) for n in range(0, len(text), 5)]
    drawn = shown(Preparing("gpt-4o"), Piece("hm", thinking=True), *pieces, Said(Kind.REPLY, text))
    lines = [line.strip() for line in drawn.splitlines()]
    for line in ("Title", "Some bold[31m words.", "• one", "• two", "print(1)", "The end."):
        assert lines.count(line) == 1, drawn
    assert "hm" not in drawn and "\x1b[31m" not in drawn


def test_neither_links_nor_titles_bring_control_characters_in() -> None:
    # Markdown decodes what is percent-encoded in a link's text.
    drawn = shown(Preparing("m"), Piece("<http://a.b/%1b%5b31mRED%C2%9B41m>"), Said(Kind.REPLY, ""))
    assert "RED" in drawn and "\x1b" not in drawn and "\x9b" not in drawn
    assert "\x1b" not in shown(Said(Kind.INFO, "Session “\x1b]0;title\x07”"), Said(Kind.WARNING, "\x1b[2J"))
    assert shown(Preparing("a [/model] name"), Piece("fine")).split() == ["fine"]


def test_a_reply_taller_than_the_screen_is_whole_in_the_end() -> None:
    code = "```\n" + "\n".join(f"line {n}" for n in range(100)) + "\n```"
    drawn = shown(Preparing("m"), *[Piece(code[n : n + 50]) for n in range(0, len(code), 50)])
    assert all(f"line {n}" in drawn for n in range(100))


def test_colors_and_wrapping() -> None:
    assert "\x1b[33mcareful\x1b[0m" in shown(Said(Kind.WARNING, "careful"), color=True)
    assert "\x1b[38;5;208mcareful\x1b[0m" in shown(Said(Kind.ALERT, "careful"), color=True)
    assert "\x1b" not in shown(Said(Kind.ERROR, "broken"), Said(Kind.INFO, "told"), Reopened())
    lines = shown(Said(Kind.RESULT, "word " * 40)).splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) > 1
    assert clean("a\x1b]0;title\x07b\tc\n") == "a]0;titleb\tc\n"


def test_the_plot_shows_what_is_there() -> None:
    assert plot([0, 50, 100], 100, 10) == ["  █", "  █", " ██", "▁██"]
    assert plot([100], 100, 10, blocks=False) == ["#"] * 4
    rows = plot(list(range(1_000)), 1_000, 50)
    assert len(rows) == 4 and all(len(row) == 50 for row in rows)
    assert rows[0].endswith("▇") and rows[0].startswith(" ")
