"""The vocabulary inside a model's weights file (GGUF), as a tiktoken encoding."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from tiktoken import Encoding

_NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_TOKENS, _TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_ORDINARY = 1
# How each kind of vocabulary splits text before merging, by the name that the file gives it. Each digit is
# a piece of its own, so the spaces before it are not kept for it.
_SPLITS = {
    "smollm": r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+",
}


def encoding_of(path: Path) -> Encoding:
    """Raises ValueError for a file whose vocabulary is of a kind we don't know."""
    from tiktoken import Encoding

    with path.open("rb") as file:
        found = dict(_metadata(file, {"tokenizer.ggml.pre", _TOKENS, _TYPES}))
    split = _SPLITS.get(found.get("tokenizer.ggml.pre", ""))
    if split is None:
        raise ValueError(f"{path.name} has no vocabulary of a known kind")
    # Ids increase in the order in which pairs were merged, which is exactly what ranks are.
    ranks = {
        _bytes(token): rank
        for rank, (token, kind) in enumerate(zip(found[_TOKENS], found[_TYPES], strict=True))
        if kind == _ORDINARY
    }
    return Encoding(path.stem, pat_str=split, mergeable_ranks=ranks, special_tokens={})


def _metadata(file: BinaryIO, wanted: set[str]) -> Iterator[tuple[str, Any]]:
    magic, version, _, entries = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version < 2:
        raise ValueError("this is not a GGUF file of a version we know")
    for _ in range(entries):
        key = _string(file)
        value = _value(file, _number(file, "<I"))
        if key in wanted:
            yield key, value
            wanted = wanted - {key}
            if not wanted:
                return


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _number(file, _NUMBERS[kind])
    kind, count = _number(file, "<I"), _number(file, "<Q")
    if kind in (_STRING, _ARRAY):
        return [_value(file, kind) for _ in range(count)]
    form = _NUMBERS[kind]
    return [value for (value,) in struct.iter_unpack(form, file.read(struct.calcsize(form) * count))]


def _string(file: BinaryIO) -> str:
    return file.read(_number(file, "<Q")).decode("utf-8", "replace")


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _bytes(token: str) -> bytes:
    return bytes(map(_byte_names().__getitem__, token))


@cache
def _byte_names() -> dict[str, int]:
    """These vocabularies write bytes as printable characters: themselves, or from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    names = {chr(byte): byte for byte in plain}
    others = [byte for byte in range(0x100) if byte not in set(plain)]
    return names | {chr(0x100 + at): byte for at, byte in enumerate(others)}
