"""The words of `data/words.toml` as pattern pieces."""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

_SHORT = 7
# Letters that Unicode does not decompose into a letter and an accent.
_PLAIN_LETTERS = str.maketrans({"ł": "l", "ı": "i", "ø": "o", "ß": "ss"})


@functools.cache
def table(name: str) -> dict[str, Any]:
    """One of this package's data files."""
    return tomllib.loads((files("compact.redaction") / "data" / f"{name}.toml").read_text("utf-8"))


@functools.cache
def words(kind: str, joined: bool, only: str = "") -> tuple[str, ...]:
    """All words of one kind, either from languages that join words or from those that use spaces."""
    listed = (
        word
        for name, language in table("words").items()
        if language.get("joined", False) is joined and only in ("", name)
        for word in language.get(kind, ())
    )
    return tuple(
        sorted(
            {form for word in listed for form in _forms(word, kind not in ("is", "to", "reads", "between"))},
            key=lambda form: (-len(form), form),
        )
    )


def _forms(word: str, may_lose_accents: bool) -> set[str]:
    """Also in capitals if the engine, which reads bytes, would not fold them.

    Short words can turn into others without their accents ("là" into "la").
    """
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", word.translate(_PLAIN_LETTERS))
        if not unicodedata.combining(letter)
    )
    forms = {unicodedata.normalize("NFC", word)}
    if may_lose_accents and plain.isascii():
        forms.add(plain)
    return {
        variant
        for form in forms
        for variant in ((form,) if form.isascii() else (form, form.capitalize(), form.upper()))
    }


def either(listed: Iterable[str]) -> str:
    """An alternation over UTF-8 bytes, written as Latin-1; a space also matches a hyphen.

    Short words must not match at the end of another word ("article").
    """
    return "|".join(
        (r"\b" if word.isascii() and len(word) < _SHORT else "")
        + re.escape(word).encode().decode("latin-1").replace("\\ ", r"[ _-]")
        for word in listed
    )
