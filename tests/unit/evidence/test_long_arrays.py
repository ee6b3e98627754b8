"""Long arrays of single values are asked about many at a time, and a secret among them still goes."""

from __future__ import annotations

import re

from compact.evidence.secrets import Hiding


def test_an_array_of_numbers_costs_few_questions() -> None:
    asked: list[int] = []

    def secrets_in(text: str) -> list[tuple[int, int]]:
        asked.append(len(text))
        return []

    values = [str(number) for number in range(100_000)]
    assert Hiding(secrets_in).data({"values": values}) == {"values": values}
    assert len(asked) < 100


def test_a_secret_in_a_long_array_is_hidden() -> None:
    hiding = Hiding(lambda text: [found.span() for found in re.finditer("hunter2", text)])
    values = [f"value {number}" for number in range(10_000)]
    cleaned = hiding.data({"values": [*values, "hunter2-hunter2"]})
    assert cleaned["values"][:10_000] == values and "hunter2" not in str(cleaned)
