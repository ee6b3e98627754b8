"""Long arrays of single values are asked about many at a time, and a secret among them still goes."""

from __future__ import annotations

from compact.evidence.secrets import Hiding


def test_an_array_of_numbers_costs_few_questions() -> None:
    asked: list[int] = []

    def is_secret(text: str) -> bool:
        asked.append(len(text))
        return False

    values = [str(number) for number in range(100_000)]
    assert Hiding(is_secret).data({"values": values}) == {"values": values}
    assert len(asked) < 100


def test_a_secret_in_a_long_array_is_hidden() -> None:
    hiding = Hiding(lambda text: "hunter2" in text)
    values = [f"value {number}" for number in range(10_000)]
    cleaned = hiding.data({"values": [*values, "hunter2-hunter2"]})
    assert cleaned["values"][:10_000] == values and "hunter2" not in str(cleaned)
