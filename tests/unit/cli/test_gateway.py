"""`compact gateway` as a process: what it says when it starts, whom it asks, several workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compact.stores import open_store
from support.cli import Compact
from support.gateway import WINDOW, Client
from support.postgres import new_schema
from support.providers import CHAT, prompt_text, providing


@contextmanager
def gateway_process(folder: Path, upstream: str, *options: str, **environ: str) -> Iterator[dict[str, Any]]:
    """The greeting of the process, as JSON."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    command = [
        *(sys.executable, "-m", "compact", "gateway", "--json", "--port", "0", "--upstream", upstream),
        *("--window", str(WINDOW), "--counter", "chars4", "--set", "policy.trigger_pct=0.7"),
        *("--set", "archive.adapter=none", *options),
    ]
    process = subprocess.Popen(
        command,
        env={**kept, "XDG_DATA_HOME": str(folder), "HOME": str(folder), **environ},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=40)


def too_long(url: str) -> Client:
    client = Client(url, CHAT)
    for number in range(60):
        said = "every ship paid its fee in full, nothing is open here. " * 6
        client.messages.append({"role": "user", "content": f"page {number}: {said}"})
        client.messages.append({"role": "assistant", "content": f"Page {number} agrees."})
    return client


def test_keys_in_the_environment_send_no_conversation_to_a_host_that_nobody_named(tmp_path: Path) -> None:
    with providing(window=WINDOW) as upstream, providing() as elsewhere:
        addresses = {"OPENAI_BASE_URL": f"{elsewhere.url}/v1", "ANTHROPIC_BASE_URL": elsewhere.url}
        keys = {"OPENAI_API_KEY": "sk-a", "ANTHROPIC_API_KEY": "sk-b"}
        with gateway_process(tmp_path, upstream.url, **addresses, **keys) as greeting:
            assert too_long(greeting["url"]).say(60).status_code == 200
        assert greeting["summarizers"] == ["embedded summarizer, here"]
        assert b"COMPACT-SUMMARY" in upstream.prompts[-1].raw
        assert elsewhere.asked == []


def test_the_greeting_names_a_summarizer_that_was_asked_for(tmp_path: Path) -> None:
    options = ("--set", "summarizer.name=openai", "--set", "summarizer.base_url=http://10.1.2.3/v1")
    with gateway_process(tmp_path, "http://127.0.0.1:9", *options, OPENAI_API_KEY="sk-a") as greeting:
        [named] = greeting["summarizers"]
    assert named.endswith(" at http://10.1.2.3/v1")


def test_it_does_not_ask_itself_for_summaries(compact: Compact, tmp_path: Path) -> None:
    ended = compact(
        *("gateway", "--upstream", "http://127.0.0.1:9", "--port", "5177"),
        *("--set", "summarizer.name=openai"),
        environ={
            "OPENAI_API_KEY": "sk-a",
            "OPENAI_BASE_URL": "http://localhost:5177/v1",
            "XDG_DATA_HOME": str(tmp_path),
        },
    )
    assert ended.code == 2 and "would ask this gateway itself" in ended.err


@pytest.mark.parametrize(
    ("upstream", "summarizer"),
    [
        ("http://me:SECRET@host", ""),
        ("http://me:12/SECRET@host", ""),
        ("http://127.0.0.1:9", "http://me:SECRET@localhost:5177/v1"),
    ],
)
def test_an_address_that_is_refused_shows_no_password(
    compact: Compact, tmp_path: Path, upstream: str, summarizer: str
) -> None:
    ended = compact(
        *("gateway", "--upstream", upstream, "--port", "5177", "--set", "summarizer.name=openai"),
        environ={"OPENAI_API_KEY": "sk-a", "OPENAI_BASE_URL": summarizer, "XDG_DATA_HOME": str(tmp_path)},
    )
    assert ended.code == 2 and "Nothing was started" in ended.err
    assert "SECRET" not in ended.err


def test_several_workers_need_postgresql(compact: Compact, tmp_path: Path) -> None:
    asked = ("gateway", "--upstream", "http://127.0.0.1:9", "--workers", "2")
    store = ("--store", f"sqlite:///{tmp_path}/g.db")
    ended = compact(*asked, *store, environ={"XDG_DATA_HOME": str(tmp_path)})
    assert ended.code == 2 and "needs PostgreSQL" in ended.err


@pytest.mark.spec("S5.11")
def test_two_workers_on_one_database_keep_one_prefix(postgres_server: str, tmp_path: Path) -> None:
    store = new_schema(postgres_server)
    open_store(store).close()
    with (
        providing(window=WINDOW) as upstream,
        gateway_process(tmp_path, upstream.url, "--workers", "2", "--store", store) as greeting,
    ):
        client = too_long(greeting["url"])
        for number in range(60, 72):
            # Without a connection that is kept, either worker may get the next request.
            assert client.say(number, headers={"connection": "close"}).status_code == 200
    prompts = upstream.prompts
    assert len(prompts) == len(upstream.asked) == 12
    assert all(b"COMPACT-SUMMARY" in one.raw for one in prompts)
    for earlier, later in pairwise(prompts):
        assert prompt_text(CHAT, later.body).startswith(prompt_text(CHAT, earlier.body))
