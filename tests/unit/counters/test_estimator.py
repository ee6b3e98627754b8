"""The estimator: fitted weights over kinds of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.counters import counter_for
from compact.counters.chars4 import CharsCounter
from compact.counters.estimator import (
    CL100K,
    CLAUDE_FROM_4_7,
    CLAUDE_TO_4_6,
    GEMINI,
    O200K,
    Weights,
    estimate,
)
from unit.counters.sample_texts import sample_texts

ROWS = {
    "o200k": O200K,
    "cl100k": CL100K,
    "claude to 4.6": CLAUDE_TO_4_6,
    "claude from 4.7": CLAUDE_FROM_4_7,
    "gemini": GEMINI,
}


def test_each_kind_of_byte_has_its_weight() -> None:
    weights = Weights(1, 10, 100, 1, 20, 300, 1000, 5000, 7000, 0.5, (9_000.0,) * 13)
    kinds = {
        "": 0,
        "ab": 2,  # 2 letters and their run, but never more than a token a letter
        " ": 1,  # half, rounded up
        "  ": 1,
        ".": 1000,
        "..": 1000 + 5000,
        "a.b": 2 + 1000,
        "\n": 7000,
        "\r\n": 7000 + 1,  # one run; the further newline is a sixteenth, rounded up
        "é": 9_000,
        "漢": 9_000,
        "😀": 9_000,
        "\ud800": 9_000,
        "\0\0": 1,
    }
    assert {text: estimate(text, weights) for text in kinds} == kinds


def test_borders_between_words_are_counted_inside_the_cap() -> None:
    def weights(**changes: float) -> Weights:
        values = dict.fromkeys(
            ("letter", "letter_run", "lower_upper", "digit", "digit_run", "letter_digit_border"), 0.0
        )
        return Weights(
            **(values | changes),
            punctuation_run=0.0, punctuation_pair=0.0, newline_run=0.0, blank=0.0, scripts=(0.0,) * 13,
        )  # fmt: skip

    text = "someName utf8 2nd abc 1999 x"
    assert estimate(text, weights(letter_run=1)) == 5
    assert estimate(text, weights(digit_run=1)) == 3
    assert estimate(text, weights(letter_digit_border=1)) == 2
    assert estimate(text, weights(lower_upper=1)) == 1
    assert estimate(text, weights(letter=1)) == 17
    assert estimate(text, weights(digit=1)) == 6


def test_a_ruler_is_not_forty_pairs() -> None:
    with_ruler = estimate("Results\n" + "=" * 80 + "\nall passed\n", O200K)
    without = estimate("Results\n\nall passed\n", O200K)
    assert 0 < with_ruler - without < 20


@pytest.mark.parametrize("row", ROWS)
def test_every_row_stays_near_the_tokenizer_it_resembles(row: str) -> None:
    """Vendors' tokenizers are not here; but none spends less than half or more than four times o200k."""
    exact = counter_for("gpt-4o")
    for kind, text in sample_texts(each=1):
        ratio = estimate(text, ROWS[row]) / exact.count(text)
        assert 0.5 < ratio < 4.0, kind


def test_newer_claude_counts_more_than_older_on_prose_and_code() -> None:
    texts = {kind: text for kind, text in sample_texts(each=1)}
    for kind in ("english", "python", "json", "markdown"):
        assert estimate(texts[kind], CLAUDE_FROM_4_7) > estimate(texts[kind], CLAUDE_TO_4_6)
        assert estimate(texts[kind], CLAUDE_TO_4_6) > estimate(texts[kind], O200K)


# Borders between letters and digits are capped by the whole text's letters, so digits are left out here.
WITHOUT_DIGITS = st.text(alphabet=st.characters(exclude_characters="0123456789"))


@given(WITHOUT_DIGITS, WITHOUT_DIGITS)
def test_joined_text_counts_as_much_as_its_parts(left: str, right: str) -> None:
    joined = estimate(left + " " + right, O200K)
    # A blank ends every run, so nothing of either side is lost; each side was rounded up once.
    assert joined >= estimate(left, O200K) + estimate(right, O200K) - 2


@given(st.text(alphabet=st.one_of(st.characters(), st.characters(categories=["Cs"]))))
def test_any_text_is_counted(text: str) -> None:
    for weights in ROWS.values():
        tokens = estimate(text, weights)
        assert (tokens > 0) == (text.strip(" \t") != "" or bool(text and weights.blank))


def test_characters_by_four_round_up() -> None:
    assert [CharsCounter().count("x" * length) for length in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]
