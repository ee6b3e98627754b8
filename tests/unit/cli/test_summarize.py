"""`compact summarize` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compact import count_tokens
from compact.console.exits import ExitCode
from compact.summarizers.openai import OpenAISummarizer
from support.cli import Compact
from support.wire_servers import AnthropicWire, OpenAIWire, serving

WROTE = "Parcels jump back because two scanners write the same status [m1]."


def test_the_summary_alone_goes_to_standard_output(compact: Compact, sample: Path) -> None:
    ended = compact("summarize", sample, "--max-tokens", "300")
    assert ended.code == ExitCode.OK
    assert ended.out.strip()
    assert 0 < count_tokens(ended.out.strip()) <= 300
    assert "of at most 300 tokens" in ended.err
    assert compact("summarize", sample, "--max-tokens", "300").out == ended.out


def test_one_piece_of_evidence_is_one_piece(compact: Compact) -> None:
    ended = compact("summarize", "-", stdin='[{"role": "user", "content": "hi"}]')
    assert ended.err.endswith("100% of the evidence (1 piece) is in it\n")


def test_more_room_gives_more_and_another_strategy_another_form(compact: Compact, sample: Path) -> None:
    short = compact("summarize", sample, "--max-tokens", "200", "-q")
    long = compact("summarize", sample, "--max-tokens", "1,500", "-q")
    assert len(long.out) > 2 * len(short.out)
    assert short.err == ""
    assert compact("summarize", sample, "--strategy", "decision_log").out != compact("summarize", sample).out


def test_room_is_said_as_a_window_is(compact: Compact, sample: Path) -> None:
    assert "of at most 2,000 tokens" in compact("summarize", sample, "--max-tokens", "2k").err


def test_json_carries_the_evidence(compact: Compact, sample: Path) -> None:
    [found] = compact("summarize", sample, "--max-tokens", "400", "--counter", "chars4", "--json").json[
        "conversations"
    ]
    assert found["tokens"] <= 400
    assert found["strategy"] == "task_state"
    assert 0 < found["survival"]["all"] <= 1
    assert {"kind", "value", "message"} <= set(found["evidence"][0])


def test_several_conversations_have_their_names(compact: Compact, tmp_path: Path, sample: Path) -> None:
    messages = json.loads(sample.read_text(encoding="utf-8"))["messages"]
    lines = [{"id": f"part-{n}", "messages": messages[: 20 * n]} for n in (1, 2)]
    path = tmp_path / "two.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    shown = compact("summarize", path, "--max-tokens", "200").out.splitlines()
    assert [line for line in shown if line.startswith("part-")] == ["part-1", "part-2"]
    only = compact("summarize", path, "--max-tokens", "200", "--pick", "part-2").out.splitlines()
    assert not any(line.startswith("part-1") for line in only)


def test_an_unknown_strategy_names_the_known_ones(compact: Compact, sample: Path) -> None:
    ended = compact("summarize", sample, "--strategy", "poem")
    assert ended.code == ExitCode.USAGE
    assert "decision_log" in ended.err


def test_a_wrong_size_ends_with_2(compact: Compact, sample: Path) -> None:
    for size in ("0", "many"):
        try:
            code = compact("summarize", sample, "--max-tokens", size).code
        except SystemExit as ended:
            code = int(ended.code or 0)
        assert code == ExitCode.USAGE


@pytest.mark.parametrize("given", ["[]", '[{"role": "user", "content": " "}]'])
def test_nothing_to_summarize_is_said_and_ends_with_1(compact: Compact, tmp_path: Path, given: str) -> None:
    path = tmp_path / "short.json"
    path.write_text(given, encoding="utf-8")
    ended = compact("summarize", path, "-q")
    assert ended.code == ExitCode.FINDINGS
    assert ended.out == ""
    assert "there is nothing to summarize" in ended.err


def test_a_model_writes_where_one_is_named(compact: Compact, sample: Path) -> None:
    with serving(OpenAIWire().answer(WROTE)) as server:
        ended = compact("summarize", sample, "--base-url", server.url, "--summarizer-model", "gpt-4o")
        assert [request.body["model"] for request in server.received] == ["gpt-4o"]
    assert ended.code == ExitCode.OK
    assert ended.out.startswith(WROTE)
    assert "of at most 1,000 tokens, by " in ended.err
    with serving(AnthropicWire().answer(WROTE)) as server:
        ended = compact("summarize", sample, "--summarizer", "anthropic", "--base-url", server.url)
    assert ended.out.startswith(WROTE)


def test_a_template_of_one_s_own_goes_to_the_model(compact: Compact, sample: Path, tmp_path: Path) -> None:
    template = tmp_path / "mine.md"
    template.write_text("Three lines about the parcels, in capitals.", encoding="utf-8")
    with serving(OpenAIWire().answer(WROTE)) as server:
        settings = tmp_path / "compact.yaml"
        settings.write_text(f"summarizer: {{name: openai, base_url: {server.url}}}", encoding="utf-8")
        ended = compact("summarize", sample, "--strategy", template, "--config", settings)
        assert "in capitals" in json.dumps(server.received[0].body)
    assert ended.code == ExitCode.OK
    assert ended.out.startswith(WROTE)


def test_a_template_without_a_model_says_how_to_give_one(
    compact: Compact, sample: Path, tmp_path: Path
) -> None:
    template = tmp_path / "mine.md"
    template.write_text("Three lines.", encoding="utf-8")
    ended = compact("summarize", sample, "--strategy", template)
    assert ended.code == ExitCode.USAGE
    assert "--summarizer" in ended.err


def test_several_are_asked_in_turn_and_the_one_passed_over_is_told(compact: Compact, sample: Path) -> None:
    with serving(OpenAIWire().answer("I'm sorry, but I can't help with that.")) as server:
        ended = compact("summarize", sample, "--summarizer", "openai,extractive", "--base-url", server.url)
    assert ended.code == ExitCode.OK
    assert "gpt-4o-mini was skipped. The summary was refused (refusal)" in ended.err
    assert "## Goals" in ended.out


@pytest.mark.parametrize(
    ("options", "variable"),
    [
        (("--summarizer", "openai"), "OPENAI_API_KEY"),
        (("--summarizer", "anthropic"), "ANTHROPIC_API_KEY"),
        (("--summarizer-model", "gpt-4o"), "OPENAI_API_KEY"),
        (("--base-url", "https://api.openai.com/v1/"), "OPENAI_API_KEY"),
        (("--base-url", "http://127.0.0.1:9/v1", "--api-key-env", "MY_KEY"), "MY_KEY"),
    ],
)
def test_a_missing_key_is_named_before_anything_is_sent(
    compact: Compact, sample: Path, options: tuple[str, ...], variable: str
) -> None:
    ended = compact("summarize", sample, *options)
    assert ended.code == ExitCode.USAGE and ended.out == ""
    assert f"{variable} is not set" in ended.err and "Nothing was sent" in ended.err


@pytest.mark.parametrize("options", [("--base-url", "{url}", "--api-key-env", "MY_KEY"), ()])
def test_a_link_without_its_key_is_skipped_and_gets_nothing(
    compact: Compact, sample: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    with serving() as server:
        monkeypatch.setattr(OpenAISummarizer, "default_base_url", server.url)
        asked = (option.format(url=server.url) for option in options)
        ended = compact("summarize", sample, "--summarizer", "openai,extractive", *asked)
    assert ended.code == ExitCode.OK and "## Goals" in ended.out
    assert f"{'MY_KEY' if options else 'OPENAI_API_KEY'} is not set, so nothing was sent" in ended.err
    assert server.received == []


def test_a_link_at_the_user_s_own_address_needs_no_key(compact: Compact, sample: Path) -> None:
    with serving(OpenAIWire().answer(WROTE)) as server:
        environ = {"OPENAI_BASE_URL": server.url}
        ended = compact("summarize", sample, "--summarizer", "openai,extractive", environ=environ)
    assert ended.out.startswith(WROTE) and "not set" not in ended.err


def test_an_address_that_is_none_ends_with_2(compact: Compact, sample: Path) -> None:
    for option in (("--base-url", "notaurl"), ("--base-url", "http://x y/v1")):
        ended = compact("summarize", sample, *option)
        assert (ended.code, ended.out) == (ExitCode.USAGE, "")
        assert "needs an http:// or https:// address" in ended.err and "Nothing was sent" in ended.err


def test_a_model_that_is_not_there_ends_with_4(compact: Compact, sample: Path) -> None:
    ended = compact("summarize", sample, "--base-url", "http://127.0.0.1:9/v1")
    assert ended.code == ExitCode.FAILED
    assert ended.out == ""


def test_options_lie_on_top_of_the_settings_of_the_same_summarizer(
    compact: Compact, sample: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "compact.yaml"
    with serving(OpenAIWire().answer(WROTE), OpenAIWire().answer(WROTE)) as server:
        settings.write_text(
            f"summarizer: {{name: openai, model: gpt-4o, base_url: {server.url}}}", encoding="utf-8"
        )
        for option in (("--summarizer", "openai"), ("--summarizer-model", "gpt-4.1")):
            assert compact("summarize", sample, "--config", settings, *option).code == ExitCode.OK
        assert [request.body["model"] for request in server.received] == ["gpt-4o", "gpt-4.1"]
        ended = compact("summarize", sample, "--config", settings, "--summarizer", "extractive")
        assert ended.out.startswith("## Goals")
        assert len(server.received) == 2
