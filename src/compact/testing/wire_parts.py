"""What the wire formats share: pictures and unknown fields."""

from __future__ import annotations

from typing import Any

from compact.testing.scenes import Picture

Raw = dict[str, Any]

# One transparent pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LINK = "https://example.org/shots/cart.png"
DATA_URL = f"data:image/png;base64,{PIXEL}"


def extra_fields(number: int) -> Raw:
    return {"x_trace": {"span": f"sp-{number:04d}", "tags": ["eu", None]}}


def picture_url(picture: Picture) -> str:
    return LINK if picture is Picture.LINK else DATA_URL
