"""Which counter a model id gets."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from compact.counters import counter_for, vocabulary
from compact.counters.families import Vendor, bare_name, vendor_of
from compact.errors import ConfigError, MissingExtra
from compact.ports import TokenCounter


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("gpt-4o", Vendor.OPENAI),
        ("openai/gpt-4o-mini", Vendor.OPENAI),
        ("openai:gpt-5", Vendor.OPENAI),
        ("openai/some-new-name", Vendor.OPENAI),
        ("azure/gpt-4.1", Vendor.OPENAI),
        ("ft:gpt-4o-mini:org::abc", Vendor.OPENAI),
        ("o3", Vendor.OPENAI),
        ("o4-mini-high", Vendor.OPENAI),
        ("gpt-oss-120b", Vendor.OPENAI),
        ("chatgpt-4o-latest", Vendor.OPENAI),
        ("gpt-neox-20b", Vendor.OTHER),
        ("olmo-2", Vendor.OTHER),
        ("claude-2.1", Vendor.CLAUDE_TO_4_6),
        ("claude-3-5-sonnet-20241022", Vendor.CLAUDE_TO_4_6),
        ("anthropic/claude-3.5-sonnet", Vendor.CLAUDE_TO_4_6),
        ("anthropic/claude-sonnet-4-5", Vendor.CLAUDE_TO_4_6),
        ("claude-sonnet-4-20250514", Vendor.CLAUDE_TO_4_6),
        ("claude-opus-4-6", Vendor.CLAUDE_TO_4_6),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Vendor.CLAUDE_TO_4_6),
        ("vertex_ai/claude-sonnet-4-5@20250929", Vendor.CLAUDE_TO_4_6),
        ("claude-opus-4-7", Vendor.CLAUDE_FROM_4_7),
        ("openrouter/anthropic/claude-opus-4.7", Vendor.CLAUDE_FROM_4_7),
        ("claude-opus-4-10", Vendor.CLAUDE_FROM_4_7),
        ("claude-sonnet-5", Vendor.CLAUDE_FROM_4_7),
        ("claude-latest", Vendor.CLAUDE_FROM_4_7),
        ("google/gemini-2.5-pro", Vendor.GEMINI),
        ("gemini/gemini-1.5-flash", Vendor.GEMINI),
        ("gemma-3-27b-it", Vendor.GEMINI),
        ("deepseek-chat", Vendor.OTHER),
        ("ollama/llama3:8b", Vendor.OTHER),
    ],
)
def test_vendor_by_model_id(model: str, vendor: Vendor) -> None:
    assert vendor_of(model) is vendor


def test_bare_names() -> None:
    assert [bare_name(name) for name in ("OpenAI/GPT-4o", "openai:o3", "ft:gpt-4.1:o::i", "llama3:8b")] == [
        "gpt-4o",
        "o3",
        "gpt-4.1",
        "llama3",
    ]


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("openai/gpt-4.1", "o200k_base"),
        ("gpt-9-from-the-future", "o200k_base"),
        ("ft:gpt-4.1-mini:org::abc", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo-0613", "cl100k_base"),
        ("openai/gpt-oss-120b", "o200k_harmony"),
        ("gpt-oss", "o200k_harmony"),
    ],
)
def test_openai_models_are_counted_exactly(model: str, encoding: str) -> None:
    counter = counter_for(model)
    assert isinstance(counter, TokenCounter)
    assert (counter.name, counter.exact, counter.margin) == (f"tiktoken:{encoding}", True, 1.0)


def test_kinds_can_be_chosen() -> None:
    names = [counter_for("gpt-4o", kind).name for kind in ("auto", "tiktoken", "estimate", "chars4")]
    assert names == ["tiktoken:o200k_base", "tiktoken:o200k_base", "estimate:o200k", "chars4"]
    assert counter_for("gpt-4", "estimate").name == "estimate:cl100k"
    with pytest.raises(ConfigError, match="auto, tiktoken, estimate, chars4"):
        counter_for("gpt-4o", "words")


def test_without_a_vocabulary_it_estimates_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(vocabulary, "DATA_WHEEL", "no-such-distribution")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told: list[str] = []
    counter = counter_for("gpt-4o", on_warning=told.append)
    assert (counter.name, counter.exact) == ("estimate:o200k", False)
    assert len(told) == 1 and "o200k_base" in told[0]
    with pytest.warns(RuntimeWarning, match="estimated"):
        counter_for("gpt-4o", "tiktoken")


def test_without_tiktoken_only_the_explicit_choice_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    told: list[str] = []
    assert counter_for("gpt-4o", on_warning=told.append).name == "estimate:o200k"
    assert len(told) == 1 and "pip install tiktoken" in told[0]
    with pytest.raises(MissingExtra, match="tiktoken is not installed"):
        counter_for("gpt-4o", "tiktoken")
