"""Redaction reads a text about once, whatever it holds, whole or in chunks. Work is counted, not timed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compact.redaction import Redactor, blocks, stream

CHUNK = 200


def saw(size: int) -> str:
    """Names of blocks, each deeper than the one before, that hold no secret: again and again."""
    tooth = "".join(f"{' ' * depth}token: |\n" for depth in range(120))
    return (tooth * (size // len(tooth) + 1))[:size]


def stairs(size: int) -> str:
    """One flight of the same, as deep as the text allows."""
    depth, lines = 0, []
    while size > 0:
        lines.append(f"{' ' * depth}token: |\n")
        size -= len(lines[-1])
        depth += 1
    return "".join(lines)


def placeholders(size: int) -> str:
    depth, lines = 0, []
    while size > 0:
        lines.append(f"{' ' * depth}password: |\n{' ' * (depth + 1)}${{X}}\n")
        size -= len(lines[-1])
        depth += 2
    return "".join(lines)


def long_lines(size: int) -> str:
    line = "x" * 2_100 + " token: |\n"
    return line * (size // len(line) + 1)


def open_block(size: int) -> str:
    return "password: |\n" + "  some words of it\n" * (size // 19)


TEXTS = {one.__name__: one for one in (saw, stairs, placeholders, long_lines, open_block)}


@pytest.fixture
def lines_read(monkeypatch) -> list[int]:
    """Bytes that the finder of blocks reads beside its searches."""
    read: list[int] = []
    end_of, indent_of = blocks._block_end, blocks._indent

    def counted_end(data: bytes, position: int, indent: int, limit: int) -> tuple[int, bool]:
        found = end_of(data, position, indent, limit)
        read.append(found[0] - position)
        return found

    def counted_indent(line: bytes) -> int:
        read.append(len(line))
        return indent_of(line)

    monkeypatch.setattr(blocks, "_block_end", counted_end)
    monkeypatch.setattr(blocks, "_indent", counted_indent)
    return read


@pytest.mark.parametrize("name", TEXTS)
def test_blocks_are_read_once(name: str, lines_read: list[int]) -> None:
    work = {}
    for size in (50_000, 200_000):
        lines_read.clear()
        text = TEXTS[name](size)
        Redactor().text(text)
        work[size] = sum(lines_read) / len(text)
    assert work[200_000] <= work[50_000] * 1.25 + 1
    assert work[200_000] < 100


@pytest.mark.parametrize("name", TEXTS)
def test_chunks_are_looked_at_a_fixed_number_of_times(name: str, monkeypatch) -> None:
    looked: list[int] = []

    def counting(function: Callable[..., object], of: int) -> Callable[..., object]:
        def counted(*arguments: object) -> object:
            looked.append(len(arguments[of]))
            return function(*arguments)

        return counted

    monkeypatch.setattr(Redactor, "spans", counting(Redactor.spans, 1))
    monkeypatch.setattr(stream, "waits_from", counting(stream.waits_from, 0))
    work = {}
    for size in (100_000, 400_000):
        looked.clear()
        text = TEXTS[name](size)
        redactor = Redactor().stream()
        for start in range(0, len(text), CHUNK):
            redactor.feed(text[start : start + CHUNK])
        redactor.close()
        work[size] = sum(looked) / len(text)
    # Each look reads what is pending once for secrets, and for what waits once more a move.
    assert max(work.values()) <= 1.1 * stream._RESCAN * (2 + stream._MOST_MOVES)


@pytest.mark.parametrize(
    "text",
    [
        "redis:\n  requirepass: >\n    Lumen_Otter-4471\n  maxmemory: 2gb",
        "the wifi password is\nGrauer-Reiher-88x\nsee you tonight",
        "SMTP_PASSWORD=\\\n  nQ7!wolkenBruch\n",
    ],
    ids=["another name that ends in pass", "no colon at the end of the line", "a line that goes on below"],
)
def test_the_value_on_the_next_line_goes(text: str) -> None:
    clean = Redactor().text(text)
    assert not any(value in clean for value in ("Lumen_Otter-4471", "Grauer-Reiher-88x", "nQ7!wolkenBruch"))


@pytest.mark.parametrize("name", ["compass", "bypass", "trespass"])
def test_words_that_end_in_pass_name_no_secret(name: str) -> None:
    text = f"{name}: |\n  north-2031-Ab\n"
    assert Redactor().text(text) == text
