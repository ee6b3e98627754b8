"""Gateways as real processes: killed and started again, and two of them on one database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.postgres import new_schema
from support.providers import CHAT, Asked, Provider, prompt_text, providing

WINDOW = 4_000
SAID = "every ship paid its fee in full, nothing is open on this page. "


@contextmanager
def gateway(provider: Provider, store: str, home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`compact gateway` as a user starts it. Killed at the end: nothing may depend on a clean stop."""
    settings = [
        f"--store={store}",
        f"--window={WINDOW}",
        "--set=counter=chars4",
        "--set=policy.trigger_pct=0.7",
        # What is due does not fit any more, so no request goes out before its compaction.
        "--set=policy.hard_cap_buffer=1200",
    ]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "compact",
            "gateway",
            f"--upstream={provider.url}",
            "--port=0",
            "--json",
            *settings,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_DATA_HOME": str(home)},
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], process
    finally:
        process.kill()
        process.communicate()


class Talk:
    """One conversation that goes on, whichever gateway it goes through."""

    def __init__(self) -> None:
        self.messages: list[Any] = [{"role": "system", "content": "You check ledgers."}]

    def say(self, *urls: str, times: int = 1) -> None:
        for _ in range(times):
            self.messages.append({"role": "user", "content": f"Page {len(self.messages)}: {SAID * 20}"})
            for url in urls:
                self.send(url)
            self.messages.append({"role": "assistant", "content": f"Page {len(self.messages)} agrees."})

    def send(self, url: str) -> None:
        body = {"model": "gpt-4o", "messages": self.messages}
        with httpx2.Client(trust_env=False, verify=False, timeout=30) as client:
            answer = client.post(url + CHAT, json=body, headers={"authorization": "Bearer none"})
        assert answer.status_code == 200, answer.text


def text_of(asked: Asked) -> str:
    return prompt_text(asked.path, asked.body)


@pytest.mark.spec("S5.11")
def test_a_killed_gateway_goes_on_with_the_same_prefix(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/gateway.db"
    talk = Talk()
    with providing(window=WINDOW) as provider:
        with gateway(provider, store, tmp_path) as (url, process):
            talk.say(url, times=16)
            talk.send(url)
            process.kill()
            process.wait()
        before = provider.prompts[-1]
        assert b"COMPACT-SUMMARY" in before.raw
        with gateway(provider, store, tmp_path) as (url, _):
            talk.send(url)
            assert provider.prompts[-1].raw == before.raw
            talk.messages.append({"role": "user", "content": "Go on."})
            talk.send(url)
        assert text_of(provider.prompts[-1]).startswith(text_of(before))
        assert not [one.refused for one in provider.asked if one.refused]


@pytest.mark.spec("S5.11")
def test_two_gateways_on_one_postgres_send_the_same_bytes(postgres_server: str, tmp_path: Path) -> None:
    store = new_schema(postgres_server)
    talk = Talk()
    with providing(window=WINDOW) as provider:
        with gateway(provider, store, tmp_path) as (one, _), gateway(provider, store, tmp_path) as (other, _):
            talk.say(one, other, times=16)
        sent = [asked.raw for asked in provider.prompts]
        assert b"COMPACT-SUMMARY" in sent[-1]
        assert sent[0::2] == sent[1::2]
        assert not [asked.refused for asked in provider.asked if asked.refused]
