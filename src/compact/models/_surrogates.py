"""Joins characters beyond the 16-bit range that a server split, such as an emoji across two pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from compact.model.chat import CallMade, ReasoningPiece, ReplyEnd, ReplyPiece, TextPiece


def mended(pieces: Iterable[ReplyPiece]) -> Iterator[ReplyPiece]:
    """The same pieces in whole characters; a lone half becomes the replacement character."""
    halves: dict[type[TextPiece | ReasoningPiece], str] = {}
    for piece in pieces:
        match piece:
            case TextPiece() | ReasoningPiece():
                kind = type(piece)
                text = halves.pop(kind, "") + piece.text
                if text and "\ud800" <= text[-1] <= "\udbff":
                    text, halves[kind] = text[:-1], text[-1]
                if text:
                    yield kind(whole(text))
                continue
            case CallMade(call=call):
                piece = CallMade(replace(call, arguments=whole(call.arguments)))
            case ReplyEnd():
                piece = replace(piece, message=whole(piece.message))
        for kind in list(halves):
            yield kind(whole(halves.pop(kind)))
        yield piece


def whole(value: Any) -> Any:
    """Text, or all text inside a JSON value, in whole characters."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return value
    if isinstance(value, dict):
        return {whole(name): whole(inner) for name, inner in value.items()}
    return [whole(inner) for inner in value] if isinstance(value, list) else value
