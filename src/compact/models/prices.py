"""What a reply cost, from a bundled price list."""

from __future__ import annotations

from decimal import Decimal

from compact.model.message import Usage


def cost(model: str, usage: Usage) -> Decimal | None:
    """In US dollars; None for a model without a known price. This uses no network."""
    if model.startswith("local/"):
        return Decimal(0)
    # Imported here because it takes a third of a second.
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    priced = Priced(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read or None,
        cache_write_tokens=usage.cache_write or None,
    )
    # A name with a vendor prefix, as in OpenRouter, means the vendor's model if nobody else lists it.
    for name in dict.fromkeys((model, model.rpartition("/")[2])):
        try:
            return calc_price(priced, name, provider_id="openrouter" if "/" in name else None).total_price
        except (LookupError, ValueError):
            continue
    return None
