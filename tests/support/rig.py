"""A manager with a small window and a summarizer that counts its calls, for property tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from compact import CompactConfig, CompactManager
from compact.model.outcome import Prepared
from compact.testing import CollectingExporter, EchoSummarizer
from compact.testing.policies import prepared
from compact.testing.strategies import FORMATS, conversations

PRESETS = ("budget", "chat", "window", "agent", "rolling")
SMALL, MEDIUM = 3_000, 8_000


@dataclass
class Rig:
    manager: CompactManager
    summarizer: Any
    events: CollectingExporter
    format: str
    system: str | None

    def prepare(self, messages: list[Any], session: str = "s", **options: Any) -> Prepared | None:
        """Prepare with the checks that hold for every call."""
        return prepared(self.manager, session, messages, self.format, self.system, **options)


def make_rig(preset: str, format: str, window: int = MEDIUM, summarizer: Any = None) -> Rig:
    echo = summarizer if summarizer is not None else EchoSummarizer()
    events = CollectingExporter()
    config = CompactConfig(
        model="claude-sonnet-4-5" if format == "anthropic" else "gpt-4o",
        max_context_tokens=window,
        preset=preset,
        policy=_reserves(preset, window),
        counter="estimate" if window == SMALL else "chars4",
        archive={"adapter": "none"},
    )
    manager = CompactManager(config, summarizer=echo, exporters=[events], format=format)
    system = "You are a careful engineer." if format == "anthropic" else None
    return Rig(manager, echo, events, format, system)


def _reserves(preset: str, window: int) -> dict[str, int]:
    """Windows this small would consist only of reserve."""
    if window == SMALL:
        return {"hard_cap_buffer": 200, "output_reserve": 300}
    return {"output_reserve": 800} if preset == "agent" else {}


@st.composite
def cases(draw: Any, **switches: Any) -> tuple[str, int, list[Any]]:
    """A format, a window and a conversation."""
    format = draw(st.sampled_from(FORMATS))
    window = draw(st.sampled_from((MEDIUM, SMALL)))
    # Most conversations should be too large for the window, but hardly any single message.
    sizes = {"max_words": 100, "max_output": 1_200} if window == SMALL else {"max_output": 4_000}
    return format, window, draw(conversations(format, **sizes, **switches))
