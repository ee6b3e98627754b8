"""Every preset keeps the contract of a policy."""

from __future__ import annotations

from typing import Any, ClassVar

from compact import CompactConfig, CompactManager
from compact.testing import EchoSummarizer
from compact.testing.policies import SAMPLES, Manager, PolicyContract
from compact.testing.wire import render


class _Preset(PolicyContract):
    preset: str
    policy: dict[str, Any] | None = None

    def make_manager(self, summarizer: EchoSummarizer) -> Manager:
        config = CompactConfig(
            max_context_tokens=8_000,
            preset=self.preset,
            policy=self.policy,
            counter="chars4",
            archive={"adapter": "none"},
        )
        return CompactManager(config, summarizer=summarizer)


class TestBudget(_Preset):
    preset = "budget"


class TestChat(_Preset):
    preset = "chat"


class TestWindow(_Preset):
    preset = "window"


class TestAgent(_Preset):
    preset = "agent"
    # Half of so small a window would be reserve, and no prune would ever be enough.
    policy: ClassVar[dict[str, Any]] = {"output_reserve": 800}

    def test_pruning_is_among_what_is_checked(self) -> None:
        manager = self.make_manager(EchoSummarizer())
        found = manager.prepare("s", render(SAMPLES["old outputs"], "openai-chat"))
        assert found.was_pruned


class TestRolling(_Preset):
    preset = "rolling"
