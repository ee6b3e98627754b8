"""Windows and outputs by model id, and where each figure comes from."""

from __future__ import annotations

import subprocess
import sys

import pytest

from compact.config import ModelLimits
from compact.models import limits
from compact.models.limits import LimitsSource, limits_for


@pytest.mark.parametrize(
    ("model", "window", "output", "source"),
    [
        ("gpt-4o-2024-08-06", 128_000, 16_384, LimitsSource.REGISTRY),
        ("azure/gpt-4o", 128_000, 16_384, LimitsSource.REGISTRY),
        ("openai:gpt-4o", 128_000, 16_384, LimitsSource.REGISTRY),
        ("claude-sonnet-4-5-20250929", 200_000, 64_000, LimitsSource.REGISTRY),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000, 64_000, LimitsSource.REGISTRY),
        ("openrouter/anthropic/claude-3.5-sonnet", 200_000, 8_192, LimitsSource.REGISTRY),
        ("gpt-4o-some-new-variant", 128_000, 16_384, LimitsSource.FAMILY),
        ("ft:gpt-4o-mini-custom:org::id", 128_000, 16_384, LimitsSource.FAMILY),
        ("ollama/llama3.1:8b", 128_000, 4_096, LimitsSource.FAMILY),
        ("qwen2.5-unheard-of", 32_000, 8_192, LimitsSource.FAMILY),
    ],
)
def test_ids_in_many_spellings(model: str, window: int, output: int, source: LimitsSource) -> None:
    found = limits_for(model)
    assert (found.window, found.max_output, found.source) == (window, output, source)
    assert found.warning is None


@pytest.mark.parametrize("model", ["in-house-7b", "gpt-45", "o30", "x/y/z", "", "/", ":"])
def test_an_unknown_id_gets_the_careful_default(model: str) -> None:
    found = limits_for(model)
    assert (found.window, found.max_output, found.source) == (16_000, 4_096, LimitsSource.DEFAULT)
    assert found.warning is not None and "max_context_tokens" in found.warning


@pytest.mark.parametrize(
    ("key", "model", "applies"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o", "openai/gpt-4o", True),
        ("openai/gpt-4o", "gpt-4o", True),
        ("OpenAI/GPT-4o", "openai/gpt-4o", True),
        ("claude-3.5-sonnet", "anthropic/claude-3-5-sonnet", True),
        ("azure/gpt-4o", "openai/gpt-4o", False),
        ("gpt-4o", "gpt-4o-mini", False),
    ],
)
def test_overrides_come_first(key: str, model: str, applies: bool) -> None:
    found = limits_for(model, {key: ModelLimits(window=7_000, max_output=700)})
    assert ((found.window, found.max_output) == (7_000, 700)) is applies
    assert (found.source is LimitsSource.OVERRIDE) is applies


def test_an_override_of_the_window_alone_keeps_the_known_output_if_it_fits() -> None:
    wide = limits_for("gpt-4o", {"gpt-4o": ModelLimits(window=64_000)})
    assert (wide.window, wide.max_output) == (64_000, 16_384)
    narrow = limits_for("gpt-4o", {"gpt-4o": ModelLimits(window=8_000)})
    assert (narrow.window, narrow.max_output) == (8_000, 4_000)


def test_an_exact_id_beats_a_similar_one() -> None:
    overrides = {"gpt-4o": ModelLimits(window=1_000), "azure/gpt-4o": ModelLimits(window=2_000)}
    assert limits_for("azure/gpt-4o", overrides).window == 2_000


@pytest.mark.parametrize("name", sorted(limits._AGREED))
def test_names_answered_without_the_registry_hold_its_figures(name: str) -> None:
    family = limits._family(name)
    assert family is not None
    assert limits._registry_window("", name, name) == family[0]


def test_common_models_do_not_load_the_registry() -> None:
    script = (
        "import sys; from compact.models.limits import limits_for\n"
        "limits_for('openai/gpt-4o'); limits_for('anthropic/claude-sonnet-4-5')\n"
        "print('genai_prices' in sys.modules)\n"
        "limits_for('something-else'); print('genai_prices' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == ["False", "True"]
