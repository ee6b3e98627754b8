"""A summarizer that returns megabytes: no more of them is read than a summary can be."""

from __future__ import annotations

import pytest

from compact import CompactConfig, CompactManager
from compact.core.summary_checks import check
from compact.model.outcome import Compacted

EIGHT_MB = "The tide tables go on. " * 350_000


@pytest.mark.parametrize("preset", ["budget", "chat", "agent", "rolling"])
def test_eight_megabytes_do_not_hold_the_call(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    clean = check.clean_summary

    def watched(text: str) -> str:
        read.append(len(text))
        return clean(text)

    monkeypatch.setattr(check, "clean_summary", watched)
    config = CompactConfig(
        model="gpt-4o",
        preset=preset,
        max_context_tokens=8_000,
        counter="chars4",
        archive={"adapter": "none"},
        summarizer={"timeout": 1.5},
    )
    messages = [
        {"role": role, "content": f"What does tide table {number} say? {'high water ' * 45}"}
        for number in range(40)
        for role in ("user", "assistant")
    ]
    with CompactManager(config, lambda request: EIGHT_MB) as manager:
        prepared = manager.prepare("s", messages)
    assert isinstance(prepared.outcome, Compacted) and prepared.tokens.final < 8_000
    assert read and max(read) <= 24 * 2_000
