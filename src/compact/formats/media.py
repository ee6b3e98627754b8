"""Images and files inside messages: their type and size, read from their first bytes only."""

from __future__ import annotations

import binascii
import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from compact.model.message import File, Image

_PNG = b"\x89PNG\r\n\x1a\n"
_NOTE_KEY = b"Comment"
# Frame headers that give a size; C4, C8 and CC in the same range are tables.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_SEGMENTS = 64

ReadAt = Callable[[int, int], bytes]


def image(source: Any, media_type: str | None = None, detail: str | None = None) -> Image:
    """An image from a URL, data URL, bare base64 or bytes, with its size if its header gives one."""
    if isinstance(source, bytes | bytearray):
        data = bytes(source)
        width, height = _size(lambda start, count: data[start : start + count]) or (None, None)
        return Image(f"bytes:{blake2b(data, digest_size=16).hexdigest()}", media_type, width, height, detail)
    text = source if isinstance(source, str) else str(source)
    start = 0
    if text.startswith("data:"):
        start = text.find(",", 0, 200) + 1
        if start:
            media_type = media_type or text[5 : start - 1].split(";", 1)[0] or None
    elif "://" in text[:16]:
        return Image(text, media_type, detail=detail)
    width, height = _size(_base64_reader(text, start)) or (None, None)
    return Image(text, media_type, width, height, detail)


def file_or_image(source: Any, media_type: Any, name: Any = None) -> File | Image:
    """A file part, or an image if the media type says so."""
    kind = media_type if isinstance(media_type, str) else None
    if kind and kind.startswith("image"):
        return image(source, kind)
    if isinstance(source, bytes | bytearray):
        source = f"bytes:{blake2b(source, digest_size=16).hexdigest()}"
    text = source if isinstance(source, str) else str(source)
    return File(text, name if isinstance(name, str) else None, kind)


def note_image(note: str) -> str:
    """A data URL of a one-pixel PNG that carries a note, for results that must be an image."""
    chunks = (
        _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
        + _chunk(b"iTXt", _NOTE_KEY + b"\0\0\0\0\0" + note.encode("utf-8", "replace"))
        + _chunk(b"IDAT", zlib.compress(b"\0\0", 9))
        + _chunk(b"IEND", b"")
    )
    return "data:image/png;base64," + b64encode(_PNG + chunks).decode("ascii")


def read_note(source: Any) -> str | None:
    """The note of an image made by `note_image`; None for any other image."""
    if not isinstance(source, str) or not source.startswith("data:image/png;base64,"):
        return None
    read = _base64_reader(source, len("data:image/png;base64,"))
    head = read(0, 41)
    mark = _NOTE_KEY + b"\0\0\0\0\0"
    # Signature 8, IHDR 25, then our chunk; a picture of another size cannot be a note.
    if head[:8] != _PNG or head[16:24] != b"\0\0\0\1\0\0\0\1" or head[37:41] != b"iTXt":
        return None
    length = int.from_bytes(head[33:37], "big")
    body = read(41, length)
    return body[len(mark) :].decode("utf-8", "replace") if body.startswith(mark) else None


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _base64_reader(text: str, start: int) -> ReadAt:
    """Random access into base64 text: four characters encode three bytes, so only a little is decoded."""

    def read(offset: int, count: int) -> bytes:
        first = offset // 3
        last = -(-(offset + count) // 3)
        try:
            raw = b64decode(text[start + first * 4 : start + last * 4])
        except (binascii.Error, ValueError):
            return b""
        return raw[offset - first * 3 : offset - first * 3 + count]

    return read


def _size(read: ReadAt) -> tuple[int, int] | None:
    head = read(0, 30)
    if head.startswith(_PNG) and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if head[:2] == b"\xff\xd8":
        return _jpeg_size(read)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) == 30:
        return _webp_size(head)
    return None


def _jpeg_size(read: ReadAt) -> tuple[int, int] | None:
    offset = 2
    for _ in range(_JPEG_SEGMENTS):
        segment = read(offset, 9)
        if len(segment) < 9 or segment[0] != 0xFF:
            return None
        if segment[1] in _JPEG_FRAMES:
            return int.from_bytes(segment[7:9], "big"), int.from_bytes(segment[5:7], "big")
        offset += 2 + int.from_bytes(segment[2:4], "big")
    return None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if kind == b"VP8 ":
        return (
            int.from_bytes(head[26:28], "little") & 0x3FFF,
            int.from_bytes(head[28:30], "little") & 0x3FFF,
        )
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    return None
