"""Keep secrets out of the ledger: texts and the arguments of calls are read through a redactor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from compact.model.arguments import read_arguments, texts_in
from compact.model.message import ToolCall, arguments_text
from compact.model.prose import REDACTED

_QUOTES, _MOST = "'\"`,;:.()[]{}<>", 200
_SHORTEST, _LONG_WORD = 6, 12  # shorter values, and plain words, occur in too many places to be the secret


class Redacts(Protocol):
    """What the ledger needs from a redactor."""

    def secret_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Where the secrets of a text are, by character."""

    def value(self, value: Any) -> Any:
        """A text of JSON without secrets; the names of its fields count."""

    def looks_random(self, text: str) -> bool:
        """Whether it is mixed like a key, so that nobody writes it by chance."""


class Hiding:
    """What is read of texts and calls; without a redactor, all of it.

    Values that a field's name revealed are remembered, since they may be said again without that name.
    """

    def __init__(self, redactor: Redacts | None) -> None:
        self._redactor = redactor
        self.revealed: set[str] = set()
        self._arguments: dict[int, tuple[ToolCall, Mapping[str, Any]]] = {}
        self._texts: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The text with a mark for each secret; the same object if it has none."""
        if not text or self._redactor is None:
            return text
        clean = self._texts.get(text)
        if clean is None:
            clean = text
            for start, end in reversed(self._redactor.secret_spans(text)):
                clean = f"{clean[:start]}…{clean[end:]}"
            self._texts[text] = clean
        return clean

    def arguments(self, call: ToolCall) -> Mapping[str, Any]:
        """A call's arguments, read once, with a mark for each secret."""
        known = self._arguments.get(id(call))
        if known is None:
            known = self._arguments[id(call)] = (call, self._read(arguments_text(call.arguments)))
        return known[1]

    def _read(self, text: str) -> Mapping[str, Any]:
        given = read_arguments(text)
        if self._redactor is None or (clean := self._redactor.value(text)) == text:
            return given
        shown = read_arguments(clean)
        changed = [both for both in zip(texts_in(given), texts_in(shown), strict=False) if both[0] != both[1]]
        for value, left in changed[: max(0, _MOST - len(self.revealed))]:
            # A plain word under such a name ("default", "enabled") occurs elsewhere innocently.
            if left == REDACTED and len(value) >= (_LONG_WORD if value.isalpha() else _SHORTEST):
                self.revealed.add(value)
            # Of a command or a header only what no sentence has by chance.
            spans = [(0, len(value))] if left == REDACTED else self._redactor.secret_spans(value)
            pieces = (piece.strip(_QUOTES) for start, end in spans for piece in value[start:end].split())
            self.revealed.update(islice(filter(self._redactor.looks_random, pieces), _MOST))
        return shown

    def masked(self, text: str) -> str:
        """The text with a mark for each value that a field's name revealed."""
        for value in sorted(self.revealed, key=lambda value: (-len(value), value)):
            text = text.replace(value, "…")
        return text

    def holds(self, text: str) -> bool:
        """True if the text contains, or is a piece of, a value that a field's name revealed."""
        return any(value in text or (len(text) >= _SHORTEST and text in value) for value in self.revealed)
