"""`compact studio`: what it refuses before anything is started, and that it serves and stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from compact.server.studio import running
from compact.server.studio.settings import StudioSettings
from compact.wiring.vendors import summarizing_model, vendor_of
from support.cli import Compact


def test_another_host_needs_a_token(compact: Compact) -> None:
    ended = compact("studio", "--host", "0.0.0.0", "--no-browser")
    assert ended.code == 2 and "no token is set" in ended.err
    ended = compact("studio", "--host", "0.0.0.0", "--token-env", "MISSING")
    assert ended.code == 2 and "MISSING is not set" in ended.err


def test_an_address_that_is_none_is_refused_before_anything_is_started(compact: Compact) -> None:
    ended = compact("studio", "--base-url", "notaurl", "--model", "m", "--store", "sqlite://")
    assert ended.code == 2
    assert "--base-url needs an http:// or https:// address" in ended.err


def test_several_workers_need_postgresql(compact: Compact, tmp_path: Path) -> None:
    ended = compact("studio", "--workers", "2", "--store", f"sqlite:///{tmp_path}/s.db")
    assert ended.code == 2 and "needs PostgreSQL" in ended.err
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("text", ["", "# nobody\n", "ada\n", "ada one two\n", "ada one\nbob one\n"])
def test_a_token_file_that_says_nothing_is_refused(compact: Compact, tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)
    ended = compact("studio", "--tokens", str(file))
    assert ended.code == 2 and "tokens" in ended.err


@pytest.mark.parametrize(
    ("options", "written_by"),
    [
        ([], "anthropic"),
        (["--allow-upstream", "api.anthropic.com", "--allow-upstream", "api.openai.com"], "anthropic"),
        # One of them would be asked with the preset `agent`.
        (["--allow-upstream", "api.anthropic.com"], ""),
        (["--allow-upstream", "llm.internal"], ""),
        (["--base-url", "http://llm.internal/v1"], ""),
        (["--base-url", "http://llm.internal/v1", "--set", "summarizer.name=anthropic"], "anthropic"),
    ],
)
def test_a_key_in_the_environment_sends_no_conversation_to_a_host_that_nobody_named(
    compact: Compact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], written_by: str
) -> None:
    started: list[StudioSettings] = []
    monkeypatch.setattr(running, "serve_all", lambda settings, *_: started.append(settings))
    environ = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "XDG_DATA_HOME": str(tmp_path)}
    assert compact("studio", *options, environ=environ).code == 0
    config = started[0].config
    asked = summarizing_model(config, environ)
    assert vendor_of(config.summarizer, config.preset, environ) == written_by if asked else not written_by


def test_a_summarizer_at_a_host_that_is_not_allowed_is_refused(compact: Compact) -> None:
    named = ("--set", "summarizer.name=anthropic")
    ended = compact("studio", "--allow-upstream", "llm.internal", *named, environ={"ANTHROPIC_API_KEY": "a"})
    assert ended.code == 2 and "api.anthropic.com" in ended.err and "Nothing was started" in ended.err


def test_it_serves_the_sample_from_the_data_folder_and_stops(tmp_path: Path) -> None:
    environ = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    here = tmp_path / "here"
    here.mkdir()
    command = [sys.executable, "-m", "compact", "studio", "--port", "0", "--demo", "--json"]
    with subprocess.Popen(command, cwd=here, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        with httpx2.Client(base_url=told["url"], trust_env=False, timeout=30) as client:
            assert client.get("/api/ready").json()["ready"] is True
            [shown] = client.get("/api/sessions").json()["sessions"]
            assert (shown["id"], shown["model"]) == ("sample", "demo")
            message = {"role": "user", "parts": [{"type": "text", "text": "Which machine did we choose?"}]}
            reply = client.post("/api/chat", json={"id": "sample", "message": message}).text
            assert "compaction-complete" in reply and "recall_history" in reply and "Helsinki" in reply
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
    assert list(here.iterdir()) == []
    assert (tmp_path / "data/compact/studio.db").stat().st_mode & 0o777 == 0o600
