"""Exact counting, in blocks, with or without a usable vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import Encoding

from compact.counters import tiktoken_counter, vocabulary
from compact.counters.estimator import CL100K, estimate
from compact.counters.lengths import of_encoding
from compact.counters.tiktoken_counter import BLOCK, SAMPLE_ABOVE, TiktokenCounter
from unit.counters.sample_texts import sample_texts


def found(encoding: str) -> vocabulary.Source:
    source = vocabulary.find(encoding)
    assert source is not None
    return source


def counter(encoding: str = "o200k_base") -> TiktokenCounter:
    return TiktokenCounter(found(encoding), exact=True, margin=1.0, on_warning=pytest.fail)


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base", "o200k_harmony"])
def test_large_text_is_counted_in_blocks_without_a_token_of_difference(encoding: str) -> None:
    whole = vocabulary.load(found(encoding))
    counting = counter(encoding)
    text = "".join(text for _, text in sample_texts(each=3))
    assert len(text) > 3 * BLOCK
    for start in (0, 1, 777):
        assert counting.count(text[start:]) == len(whole.encode(text[start:], disallowed_special=()))


def as_tiktoken_defines(encoding: str) -> Encoding:
    return Encoding(**vocabulary._definition(encoding, vocabulary.read(found(encoding))))


@pytest.fixture(scope="module")
def defined() -> dict[str, Encoding]:
    return {name: as_tiktoken_defines(name) for name in ("o200k_base", "cl100k_base")}


@given(st.text(alphabet="aBcDéÄǅ漢½1 23_'sLLre\n\r\t.,;:)/\u3000\u0301\ud800\U0001f600", max_size=60))
def test_text_is_split_as_tiktoken_splits_it(defined: dict[str, Encoding], text: str) -> None:
    for name, encoding in defined.items():
        expected = encoding.encode(text, disallowed_special=())
        assert vocabulary.load(found(name)).encode(text, disallowed_special=()) == expected
        assert counter(name).count(text) == len(expected)


def test_real_text_is_split_as_tiktoken_splits_it(defined: dict[str, Encoding]) -> None:
    for _, text in sample_texts(each=1):
        assert vocabulary.load(found("o200k_base")).encode(text) == defined["o200k_base"].encode(text)


@given(
    st.text(alphabet="aBé漢½1 _'s\n\t.,;:)]}\"/。、，\u0301", max_size=40),
    st.sampled_from(["o200k_base", "cl100k_base"]),
)
def test_no_token_crosses_a_place_where_blocks_may_be_cut(text: str, encoding: str) -> None:
    encode = vocabulary.load(found(encoding)).encode
    for cut in tiktoken_counter._TOKEN_END.finditer(text):
        left, right = text[: cut.start()], text[cut.start() :]
        assert encode(left) + encode(right) == encode(text)


def test_special_token_strings_are_text() -> None:
    assert counter().count("<|endoftext|>") > 1
    assert counter("o200k_harmony").count("<|start|>assistant<|message|>") > 3


def test_text_beyond_any_window_is_sampled() -> None:
    line = "The quick brown fox jumps over the lazy dog and runs back to the den.\n"
    text = line * (SAMPLE_ABOVE // len(line) + 1)
    exact = counter().count(line * 1000) * len(text) / len(line * 1000)
    assert counter().count(text) == pytest.approx(exact, rel=0.01)


def test_a_blocks_failure_is_answered_with_smaller_blocks() -> None:
    encoding = vocabulary.load(found("o200k_base"))
    spaces = " " * 1_000_000
    with pytest.raises(ValueError, match=r"(?i)stack"):
        encoding.encode(spaces, disallowed_special=())
    assert tiktoken_counter._count_block(of_encoding(encoding), spaces) == pytest.approx(
        1_000_000 / 128, rel=0.01
    )


def test_a_damaged_vocabulary_means_estimates_and_one_warning(tmp_path: Path) -> None:
    damaged = tmp_path / "p50k_base.tiktoken"
    damaged.write_bytes(b"IQ== 0\n")
    warnings: list[str] = []
    counting = TiktokenCounter(
        vocabulary.Source("p50k_base", damaged), exact=True, margin=1.0, on_warning=warnings.append
    )
    text = "Trois des neuf tests échouent à chaque fois."
    assert [counting.count(text), counting.count(text)] == [estimate(text, CL100K)] * 2
    assert not counting.exact
    assert len(warnings) == 1
    assert "SHA-256" in warnings[0]
    assert "compact-context[offline]" in warnings[0]


def test_warming_loads_once_for_all_counters() -> None:
    first, second = counter(), counter()
    assert first.warm() and second.warm()
    assert first._length is second._length
