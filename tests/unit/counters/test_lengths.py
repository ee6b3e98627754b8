"""Two ways to the same number of tokens: gigatoken's, where it is installed, and tiktoken's own."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.counters import lengths, vocabulary
from compact.counters.lengths import Length, length_of, of_encoding
from unit.counters.sample_texts import sample_texts

ENCODINGS = ("o200k_base", "cl100k_base", "o200k_harmony")
HOSTILE = (
    "\ud800 lone",
    "x\udfff",
    "<|endoftext|><|start|>",
    "",
    "\x00",
    "a" * 70_000,
    " " * 70_000,
    "漢" * 9_000,
)


def found(encoding: str) -> vocabulary.Source:
    source = vocabulary.find(encoding)
    assert source is not None
    return source


@pytest.fixture(scope="module")
def both() -> list[tuple[Length, Length]]:
    return [(_quick(name), of_encoding(vocabulary.load(found(name)))) for name in ENCODINGS]


def _quick(encoding: str) -> Length:
    length = lengths._quick(found(encoding))
    assert length is not None
    return length


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lengths, "_lengths", {})
    yield


@given(
    st.text(max_size=80)
    | st.text(alphabet="aBcDéÄǅ漢½1 23_'sLLre\n\r\t.,;:)/\u3000\u0301\ud800🙂", max_size=80)
)
def test_any_text_has_the_same_number_of_tokens(both: list[tuple[Length, Length]], text: str) -> None:
    for quick, own in both:
        assert quick(text) == own(text)


def test_real_and_hostile_text_has_the_same_number_of_tokens(both: list[tuple[Length, Length]]) -> None:
    for text in (*(text for _, text in sample_texts(each=3)), *HOSTILE):
        for quick, own in both:
            assert quick(text) == own(text)


def test_the_quick_one_is_used(nothing_loaded: None) -> None:
    assert length_of(found("o200k_base")).__qualname__.startswith("_quick")


def test_without_gigatoken_tiktoken_counts(nothing_loaded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gigatoken.gigatoken_rs", None)
    assert length_of(found("cl100k_base"))("hello world") == 2


def test_a_disk_without_room_does_not_stop_the_counting(
    nothing_loaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    assert length_of(found("cl100k_base"))("hello world") == 2


def test_a_version_that_counts_otherwise_is_not_used(
    nothing_loaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(lengths._QUICK, "cl100k_base", ("qwen2", 45))
    assert lengths._quick(found("cl100k_base")) is None
    assert length_of(found("cl100k_base"))("12345") == 2


def _counting_builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """gigatoken as it is, but one can see how often it is loaded."""
    from gigatoken.gigatoken_rs import BPETokenizer

    builds: list[str] = []

    def from_tiktoken(path: str, split: str, special: None) -> Any:
        builds.append(split)
        return BPETokenizer.from_tiktoken(path, split, special)

    watched = SimpleNamespace(BPETokenizer=SimpleNamespace(from_tiktoken=from_tiktoken))
    monkeypatch.setitem(sys.modules, "gigatoken.gigatoken_rs", watched)  # type: ignore[arg-type]
    monkeypatch.setattr(lengths, "RENEW_AFTER", 10_000)
    monkeypatch.setattr(lengths, "_GROWN", -(10**9))
    return builds


def test_the_words_it_has_seen_are_let_go_of_after_much_text(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = _counting_builds(monkeypatch)
    quick = _quick("cl100k_base")
    counts = [quick("hello world " * 100) for _ in range(20)]
    assert counts == [200 + 1] * 20
    assert len(builds) == 3  # at first, and for 24,000 characters twice again


def test_what_did_not_grow_is_not_loaded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = _counting_builds(monkeypatch)
    monkeypatch.setattr(lengths, "_GROWN", 10**12)
    quick = _quick("cl100k_base")
    assert {quick("hello world " * 100) for _ in range(20)} == {201} and len(builds) == 1
    # Where the system does not tell, it is better to be safe.
    monkeypatch.setattr(lengths, "_resident", lambda: None)
    quick = _quick("cl100k_base")
    assert {quick("hello world " * 100) for _ in range(20)} == {201} and len(builds) > 2


def test_one_that_cannot_be_loaded_anew_goes_on_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = _counting_builds(monkeypatch)
    quick = _quick("cl100k_base")

    def gone(*_: Any) -> bytes:
        raise FileNotFoundError("the wheel was upgraded meanwhile")

    monkeypatch.setattr(vocabulary, "read", gone)
    assert {quick("hello world " * 100) for _ in range(20)} == {201} and len(builds) == 1
