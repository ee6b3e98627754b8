"""S5.3: nothing leaves the prompt unnoticed. The ladder is model, embedded summarizer, pruning alone."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.errors import SummarizerError, SummaryRefused
from compact.model.event import EventName
from compact.policies import PRESETS
from compact.wiring.vendors import address_of
from support.raw import Desk, pairs, summaries, user
from support.wire_servers import OpenAIWire, serving

SUMMARIZING = [name for name in PRESETS if name != "window"]
HISTORY = [*pairs(25), user("the newest")]
DOWN = SummarizerError("The summarizer at https://summaries.example could not be reached.")


def failing(request: Any) -> str:
    raise DOWN


def desk_with(summarizer: Any, preset: str = "budget", fallback: str = "embedded") -> Desk:
    return Desk(preset, 2_000, summarizer, composed=True, config={"summarizer": {"fallback": fallback}})


@pytest.mark.spec("S5.3")
@pytest.mark.parametrize("preset", SUMMARIZING)
def test_a_failing_summarizer_is_followed_by_the_embedded_one(
    preset: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = desk_with(failing, preset)
    with caplog.at_level(logging.WARNING, logger="compact"):
        prepared = desk.manager.prepare("s", HISTORY)
    assert len(summaries(prepared.messages)) == 1
    (error,) = desk.events(EventName.ERROR)
    assert error.data["fallback"] == "embedded"
    assert any("embedded summarizer wrote" in warning for warning in prepared.debug.warnings)
    assert [record.name for record in caplog.records] == ["compact"]
    assert "could not be reached" in caplog.text
    # One follows, so it does not say that there is none.
    assert "The embedded summarizer writes the summary." in caplog.text
    assert "No summary was made" not in caplog.text and "unchanged" not in caplog.text


@pytest.mark.spec("S5.3")
async def test_the_asynchronous_ladder_is_the_same() -> None:
    async def declines(request: Any) -> str:
        raise SummaryRefused("refusal", "The model declined to summarize.")

    desk = desk_with(declines)
    prepared = await desk.manager.aprepare("s", HISTORY)
    assert len(summaries(prepared.messages)) == 1
    assert [event.data["fallback"] for event in desk.events(EventName.ERROR)] == ["brief", "embedded"]


@pytest.mark.spec("S5.3")
def test_without_the_fallback_the_result_and_the_log_name_what_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = desk_with(failing, fallback="none")
    with caplog.at_level(logging.WARNING, logger="compact"):
        prepared = desk.manager.prepare("s", HISTORY)
    assert summaries(prepared.messages) == []
    assert any("left the prompt without one" in warning for warning in prepared.debug.warnings)
    assert "pruning-only" in caplog.text


@pytest.mark.spec("S5.3")
@pytest.mark.parametrize("preset", SUMMARIZING)
def test_where_no_summary_fits_the_result_and_the_log_name_what_left(
    preset: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = CompactConfig(
        preset=preset, counter="chars4", max_context_tokens=8_000, archive={"adapter": "none"}
    )
    manager = CompactManager(config)
    room = manager.usage("s", []).budget - 60
    messages = [{"role": ("user", "assistant")[n % 2], "content": f"{n:03d} " * 30} for n in range(20)]
    prepared = manager.prepare("s", [*messages, {"role": "user", "content": "long" * room}])
    (warning,) = prepared.debug.warnings
    assert "there is no room for one" in warning and "20 messages left the prompt" in warning
    (error,) = [event.data for event in manager.events if event.name is EventName.ERROR]
    assert (error["error_type"], error["fallback"]) == ("no-room", "pruning-only")
    assert "no-room" in caplog.text


@pytest.mark.spec("S5.3")
def test_the_log_holds_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    def leaks(request: Any) -> str:
        raise SummarizerError("Refused: api_key=sk-abc123def456ghi789jkl012 is unknown.")

    with caplog.at_level(logging.WARNING, logger="compact"):
        desk_with(leaks).manager.prepare("s", HISTORY)
    assert "sk-abc123" not in caplog.text and "<REDACTED>" in caplog.text


@pytest.mark.spec("S5.3")
@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_the_address_is_the_one_the_user_set(vendor: str) -> None:
    variable = f"{vendor.upper()}_BASE_URL"
    set_here = CompactConfig(summarizer={"name": vendor, "base_url": "https://mine.example/v1"}).summarizer
    unset = CompactConfig(summarizer={"name": vendor}).summarizer
    assert address_of(set_here, vendor, {variable: "https://other.example"}) == "https://mine.example/v1"
    assert address_of(unset, vendor, {variable: "https://other.example"}) == "https://other.example"
    assert address_of(unset, vendor, {}) is None


@pytest.mark.spec("S5.3")
def test_a_conversation_goes_to_the_address_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = OpenAIWire()
    text = "The two tables were compared row by row [m0]; the assistant goes on with the next one. " * 3
    with serving(*[wire.answer(text)] * 3) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        config = CompactConfig(
            max_context_tokens=4_000,
            counter="chars4",
            archive={"adapter": "none"},
            summarizer={"name": "openai", "timeout": 5},
        )
        CompactManager(config).preflight("s", [*pairs(60), user("the newest")])
        assert server.received
