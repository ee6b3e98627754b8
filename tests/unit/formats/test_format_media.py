"""Image sizes from headers, and notes inside pictures."""

from __future__ import annotations

import struct
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.formats.fields import epoch, read_usage
from compact.formats.media import file_or_image, image, note_image, read_note
from compact.model.message import File, Image, Usage
from unit.formats.samples import PNG

EXIF = b"\xff\xe1" + struct.pack(">H", 40_002) + b"e" * 40_000
JPEG = b"\xff\xd8" + EXIF + b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, 480, 640, 3) + b"\0" * 20
GIF = b"GIF89a" + struct.pack("<HH", 12, 34) + b"\0" * 30
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 320, 200) + b"\0" * 8
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (99).to_bytes(3, "little") + (49).to_bytes(3, "little")
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (63 | 31 << 14).to_bytes(4, "little") + b"\0" * 8


@pytest.mark.parametrize(
    ("data", "size"),
    [(JPEG, (640, 480)), (GIF, (12, 34)), (VP8, (320, 200)), (VP8X, (100, 50)), (VP8L, (64, 32))],
    ids=["jpeg behind 40 kB of exif", "gif", "webp lossy", "webp extended", "webp lossless"],
)
def test_sizes_are_read_from_headers(data: bytes, size: tuple[int, int]) -> None:
    for source in (b64encode(data).decode(), f"data:image/x;base64,{b64encode(data).decode()}", data):
        found = image(source)
        assert (found.width, found.height) == size


def test_the_caller_string_is_the_source() -> None:
    url = f"data:image/png;base64,{PNG}"
    assert image(url).source is url
    assert image(url) == Image(url, "image/png", 3, 2)


@pytest.mark.parametrize(
    "source",
    ["https://example.org/a.png", "", "data:", "data:image/png;base64,", "file-123", "ÿØÿ", "////", "/9j/"],
)
def test_unknown_sizes_are_none(source: str) -> None:
    found = image(source)
    assert found.source == source and found.width is None and found.height is None


@given(st.binary(max_size=300))
def test_hostile_headers_do_not_raise(data: bytes) -> None:
    for head in (b"\xff\xd8", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP"):
        image(b64encode(head + data).decode())
        read_note("data:image/png;base64," + b64encode(head + data).decode())


@given(st.text())
def test_a_note_reads_back(text: str) -> None:
    assert read_note(note_image(text)) == text


def test_other_pictures_carry_no_note() -> None:
    assert read_note(f"data:image/png;base64,{PNG}") is None
    assert read_note(None) is None
    assert image(note_image("x")).width == 1


def test_files_of_an_image_type_are_images() -> None:
    assert file_or_image("https://e.org/a", "image/png") == Image("https://e.org/a", "image/png")
    assert file_or_image("https://e.org/a", "text/csv", "a.csv") == File(
        "https://e.org/a", "a.csv", "text/csv"
    )
    assert file_or_image(b"abc", None).source.startswith("bytes:")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1700000000, 1700000000.0),
        (1700000000000, 1700000000.0),
        ("2023-11-14T22:13:20Z", 1700000000.0),
        ("2023-11-14T22:13:20", 1700000000.0),
        ("2023-11-14T23:13:20+01:00", 1700000000.0),
        ("yesterday", None),
        (True, None),
        (None, None),
    ],
)
def test_times(value: object, seconds: float | None) -> None:
    assert epoch(value) == seconds


def test_usage_in_every_spelling() -> None:
    whole = Usage(input=100, output=5, cache_read=60, cache_write=30)
    assert whole == read_usage(
        {
            "input_tokens": 10,
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 30,
            "output_tokens": 5,
        }
    )
    assert read_usage(
        {"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 60}}
    ) == Usage(100, 5, 60)
    assert read_usage({"inputTokens": 100, "outputTokens": 5, "cachedInputTokens": 60}) == Usage(100, 5, 60)
    assert read_usage({"prompt_tokens": None}) == Usage()
