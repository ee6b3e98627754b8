"""Settings become objects: who summarizes, where archives go, what is refused at start-up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.archives.fs import FsArchive
from compact.archives.none import NoArchive
from compact.archives.queue import QueuedArchive
from compact.archives.s3 import S3Archive
from compact.errors import ConfigError
from compact.model.event import EventName
from compact.summarizers.openai import OpenAISummarizer
from compact.tracing.http_post import shown
from compact.tracing.stream import Immediate
from compact.wiring import assemble, share
from compact.wiring.adapters import archive_for, redactor_for
from compact.wiring.vendors import missing_key
from support.raw import pairs
from support.wire_servers import serving

ANTHROPIC = {"ANTHROPIC_API_KEY": "not-a-key"}
OPENAI = {"OPENAI_API_KEY": "not-a-key"}


def prose_writer(config: CompactConfig, environ: dict[str, str]) -> str:
    """Who would be asked for a summary, as it names itself."""
    _, ports = assemble(config, share(config, None, None, NoArchive(), (), environ))
    return repr(ports("s").summarizer)


@pytest.mark.spec("S0.2", part="engine")
def test_a_claude_haiku_summarizes_where_its_key_is_there_else_the_embedded_one() -> None:
    assert "claude-haiku" in prose_writer(CompactConfig(preset="chat"), ANTHROPIC)
    assert prose_writer(CompactConfig(preset="chat"), {}) == "Composer(None)"


@pytest.mark.spec("S2.10")
def test_agent_asks_a_small_openai_model_first() -> None:
    assert "gpt-4o-mini" in prose_writer(CompactConfig(preset="agent"), {**ANTHROPIC, **OPENAI})


def test_a_named_summarizer_needs_no_guess() -> None:
    config = CompactConfig(summarizer={"name": "openai", "model": "own", "base_url": "http://127.0.0.1:9/v1"})
    assert "own" in prose_writer(config, ANTHROPIC)
    assert prose_writer(CompactConfig(summarizer={"name": "extractive"}), ANTHROPIC) == "Composer(None)"


def test_archives_by_configuration(tmp_path: Path) -> None:
    def made(**settings: Any) -> Any:
        config = CompactConfig(archive=settings)
        return archive_for(config, redactor_for(config))

    assert isinstance(made(adapter="none"), NoArchive)
    assert isinstance(made(adapter="fs", path=str(tmp_path)), FsArchive)
    assert isinstance(made(adapter="s3", bucket="b", endpoint_url="http://127.0.0.1:9"), S3Archive)
    assert isinstance(made(adapter="fs", path=str(tmp_path), on_failure="queue"), QueuedArchive)


def test_an_unknown_strategy_is_refused_at_start_up() -> None:
    with pytest.raises(ConfigError, match=r"policy\.strategy"):
        CompactManager(CompactConfig(policy={"strategy": "task_stat"}))


@pytest.mark.spec("S4.15")
def test_redaction_switched_off_is_the_first_thing_told() -> None:
    seen: list[Any] = []
    CompactManager(CompactConfig(redaction={"enabled": False}), exporters=[Immediate(seen.append)])
    assert seen[0].name is EventName.WARNING and seen[0].data["severity"] == "high"


@pytest.mark.spec("S4.14")
def test_the_archive_holds_transcript_summary_and_the_events_that_led_to_it(tmp_path: Path) -> None:
    config = CompactConfig(
        model="gpt-4o",
        max_context_tokens=4_000,
        counter="chars4",
        archive={"path": str(tmp_path / "archive")},
    )
    manager = CompactManager(config)
    history = [
        {"role": ("user", "assistant")[n % 2], "content": f"message {n} " + "some words here " * 30}
        for n in range(41)
    ]
    manager.preflight("s", history[:1])
    manager.preflight("s", history)
    folder = tmp_path / "archive" / "s"
    assert {file.name for file in folder.iterdir() if not file.name.startswith(".")} == {
        "transcript-pre-compact-001.jsonl",
        "summary-001.json",
        "events.jsonl",
    }
    names = [json.loads(line)["name"] for line in (folder / "events.jsonl").read_text().splitlines()]
    assert names[:2] == ["compact.token_estimate", "compact.trigger_decision"]
    assert names.count("compact.token_estimate") == 1 and names[-1] == "compaction-complete"


def test_a_template_for_a_model_is_refused_where_none_is_asked(tmp_path: Path) -> None:
    template = tmp_path / "mine.md"
    template.write_text("Three lines.", encoding="utf-8")
    config = CompactConfig(policy={"strategy": str(template)}, summarizer={"name": "extractive"})
    for summarizer in (None, "extractive"):
        with pytest.raises(ConfigError, match="template for a model") as caught:
            CompactManager(config, summarizer)
        assert caught.value.path == "policy.strategy"
    assert CompactManager(config, [lambda request: "", "extractive"])
    assert CompactManager(CompactConfig(preset="window", policy={"strategy": str(template)}))


def test_a_list_of_summarizers_is_a_chain_of_them() -> None:
    config = CompactConfig(summarizer=["openai", {"name": "anthropic", "model": "claude-own"}, "extractive"])
    writer = prose_writer(config, {})
    assert "Chain(" in writer
    assert writer.index("gpt-4o-mini") < writer.index("claude-own") < writer.index("ExtractiveSummarizer")
    assert prose_writer(CompactConfig(summarizer=["extractive", "extractive"]), {}) == "Composer(None)"


@pytest.mark.parametrize("names", [{"name": "openai"}, ["openai", "extractive"]])
def test_a_summarizer_without_its_key_gets_nothing_and_the_next_one_writes(
    names: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    config = CompactConfig(
        max_context_tokens=5_000, counter="chars4", archive={"adapter": "none"}, summarizer=names
    )
    with serving() as server:
        monkeypatch.setattr(OpenAISummarizer, "default_base_url", server.url)
        with CompactManager(config) as manager:
            manager.prepare("s", pairs(50, tokens=60))
            (record,) = manager.records("s")
    assert server.received == []
    assert record.summary
    assert "OPENAI_API_KEY is not set, so nothing was sent" in caplog.text


@pytest.mark.parametrize(
    ("name", "url", "is_own"),
    [
        ("openai", "https://api.openai.com/v1/", False),
        ("openai", "https://api.openai.com:443/v1", False),
        ("openai", "https://API.openai.com/v1", False),
        ("openai", "https://api.openai.com./v1", False),
        ("openai", "http://api.openai.com/v1", False),
        ("openai", "https://api.openai.com", False),
        ("anthropic", "https://api.anthropic.com/v1", False),
        ("openai", "http://localhost:8000/v1", True),
        ("openai", "https://api.openai.com.mine.example/v1", True),
        ("openai", "http://[::1", True),
    ],
)
def test_only_a_server_of_the_user_s_own_needs_no_key(name: str, url: str, is_own: bool) -> None:
    variable = None if is_own else f"{name.upper()}_API_KEY"
    settings = CompactConfig(summarizer={"name": name, "base_url": url}).summarizer
    assert missing_key(settings, "budget", {}) == variable
    unset = CompactConfig(summarizer={"name": name}).summarizer
    assert missing_key(unset, "budget", {f"{name.upper()}_BASE_URL": url}) == variable


@pytest.mark.parametrize("survival_floor", [0.0, 0.8])
@pytest.mark.parametrize("chained", [True, False])
def test_every_summarizer_s_text_is_checked(survival_floor: float, chained: bool) -> None:
    refusing = "I'm sorry, but I can't help with that."
    thinking = "<think>What was it?</think>The mill was repaired, and the miller agreed to open on Sunday."
    for said, kept in ((refusing, ""), (thinking, "The mill was repaired")):
        config = CompactConfig(
            max_context_tokens=5_000,
            counter="chars4",
            archive={"adapter": "none"},
            policy={"survival_floor": survival_floor},
        )
        own = [lambda request: said] if chained else lambda request: said  # noqa: B023
        with CompactManager(config, summarizer=own) as manager:
            manager.prepare("s", pairs(50, tokens=60))
            (record,) = manager.records("s")
        assert kept in record.summary
        assert "sorry" not in record.summary and "What was it?" not in record.summary


def test_a_floor_of_zero_adds_nothing_to_the_text() -> None:
    said = "The mill was repaired, and the miller agreed to open on Sunday."
    policy = {"survival_floor": 0.0}
    config = CompactConfig(
        max_context_tokens=5_000, counter="chars4", archive={"adapter": "none"}, policy=policy
    )
    with CompactManager(config, summarizer=lambda request: said) as manager:
        manager.prepare("s", pairs(50, tokens=60))
        assert manager.records("s")[0].summary == said


def test_a_small_model_summarizes_a_small_window_under_the_default_policy() -> None:
    """Its own window has to hold the summaries of this conversation, not the longest of any."""
    settings = {"name": "openai", "model": "small", "base_url": "http://127.0.0.1:9/v1"}
    models = {"small": {"window": 8_192}}
    assert "input_limit=6992" in prose_writer(
        CompactConfig(max_context_tokens=8_000, summarizer=settings, models=models), {}
    )
    with pytest.raises(ConfigError, match="small leaves 192 tokens"):
        prose_writer(CompactConfig(max_context_tokens=128_000, summarizer=settings, models=models), {})


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://box", "with a host"),
        ("http://[::1", "with a host"),
        ("http://box:70000", "whose port is"),
        ("http://me:12/SECRET@box", "without an @ after the host"),
    ],
)
def test_an_address_for_traces_that_is_none_is_refused_by_its_setting(url: str, problem: str) -> None:
    config = CompactConfig(tracing={"ariadne_url": url})
    with pytest.raises(ConfigError, match=problem) as caught:
        assemble(config, share(config, None, None, NoArchive(), (), {}))
    assert "tracing.ariadne_url" in str(caught.value) and "SECRET" not in str(caught.value)


def test_an_exporter_of_its_own_shows_no_password_either() -> None:
    assert shown("http://me:SECRET@box:1/traces") == "http://box:1/traces"
    assert shown("http://me:12/SECRET@box:1/traces") == "http://box:1/traces"
