"""Every preset keeps the contract of a policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from compact import CompactConfig, CompactManager
from compact.errors import ConfigError
from compact.policies import PRESETS
from compact.testing import EchoSummarizer
from compact.testing.policies import SAMPLES, Manager, PolicyContract
from compact.testing.wire import render

# With an output reserve for a large window, no prune would ever be enough in a small one.
IN_A_SMALL_WINDOW = {"agent": {"output_reserve": 800}}


def manager_with(preset: str, summarizer: EchoSummarizer | None) -> CompactManager:
    config = CompactConfig(
        max_context_tokens=8_000,
        preset=preset,
        policy=IN_A_SMALL_WINDOW.get(preset),
        counter="chars4",
        archive={"adapter": "none"},
    )
    return CompactManager(config, summarizer=summarizer)


class TestPresets(PolicyContract):
    preset: str

    @pytest.fixture(autouse=True, params=PRESETS)
    def each_preset(self, request: pytest.FixtureRequest) -> None:
        self.preset = request.param

    def make_manager(self, summarizer: EchoSummarizer | None) -> Manager:
        return manager_with(self.preset, summarizer)


def test_pruning_is_among_what_is_checked() -> None:
    messages = render(SAMPLES["old outputs"], "openai-chat")
    assert manager_with("agent", EchoSummarizer()).prepare("s", messages).was_pruned


def test_a_policy_that_only_a_model_can_summarize_for_breaks_the_contract(tmp_path: Path) -> None:
    template = tmp_path / "minutes.md"
    template.write_text("Write the minutes in at most {max_tokens} tokens.", encoding="utf-8")

    class NeedsAModel(PolicyContract):
        def make_manager(self, summarizer: EchoSummarizer | None) -> Manager:
            policy = {"strategy": str(template)}
            return CompactManager(CompactConfig(policy=policy, archive={"adapter": "none"}), summarizer)

    with pytest.raises(ConfigError, match="embedded summarizer"):
        NeedsAModel().test_it_works_without_a_model()
