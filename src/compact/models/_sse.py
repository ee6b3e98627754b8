"""Server-sent events from bytes, wherever the network split them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_MOST_BYTES = 8_000_000


def data_of(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of each event; comments have none.

    Lines are joined as bytes, so a character split across two chunks is never decoded in halves. An event
    without the closing empty line is returned too: some servers omit it after the last one.
    """
    data: list[str] = []
    for line in _lines(chunks):
        if not line:
            if data:
                yield "\n".join(data)
                data.clear()
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
    if data:
        yield "\n".join(data)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = bytearray()
    after_return = False
    """The previous chunk ended with a carriage return, which ended the line; a newline now belongs to it."""
    for chunk in chunks:
        if after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        if not chunk:
            continue
        after_return = chunk.endswith(b"\r")
        rest += chunk
        if b"\n" not in chunk and b"\r" not in chunk:
            if len(rest) > _MOST_BYTES:
                raise ValueError(f"a line of more than {_MOST_BYTES:,} bytes")
            continue
        *whole, last = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        yield from map(bytes, whole)
        rest = bytearray(last)
    if rest:
        yield bytes(rest)
