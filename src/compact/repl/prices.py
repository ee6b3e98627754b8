"""What a reply cost, where the price list knows the model."""

from __future__ import annotations

from compact.model.message import Usage


def price_of(model: str, usage: Usage) -> float | None:
    """US dollars; None where nobody knows, or nothing is to be paid."""
    if model.startswith("local/"):
        return None
    try:
        from genai_prices import Usage as Priced
        from genai_prices import calc_price
    except ImportError:
        return None
    provider, _, name = model.rpartition("/")
    used = Priced(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read or None,
        cache_write_tokens=usage.cache_write or None,
    )
    try:
        price = calc_price(used, name, provider_id=provider or None)
    except (LookupError, ValueError):
        return None
    return float(price.total_price) or None
