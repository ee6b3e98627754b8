"""Secrets that only the name of their field gives away reach no summary, file or event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.model.event import Event
from compact.tracing.stream import Immediate

NAMES = (
    "password",
    "client_secret",
    "api_key",
    "refresh_token",
    "passphrase",
    "secret",
    "cookie",
    "connection_string",
    "pwd",
)
LENGTH = 12


def secret_of(number: int) -> str:
    return f"MoonRiver{2291 + number}x-Harbor{number}Lantern"


def history(calls: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You set up services."},
        {"role": "user", "content": "Configure every host of the fleet. Report when a host refuses."},
    ]
    for number in range(calls):
        name, secret = NAMES[number % len(NAMES)], secret_of(number)
        arguments = {
            "host": f"db-{number}.example.org",
            name: secret,
            "options": {"retry": 3, name: [secret]},
        }
        output = {"host": f"db-{number}.example.org", "status": "ok", name: secret, "note": "row " * 120}
        function = {"name": "configure", "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": f"Host {number} is next.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(output)},
            {"role": "assistant", "content": f"Host {number} is configured."},
            {"role": "user", "content": f"Go on with host {number + 1}."},
        ]
    return messages


@pytest.mark.parametrize("preset", ["budget", "chat", "agent", "rolling"])
def test_no_fragment_of_a_named_secret_leaves(preset: str, tmp_path: Path) -> None:
    exported: list[Event] = []
    config = CompactConfig(
        preset=preset,
        counter="chars4",
        max_context_tokens=8_000,
        summarizer={"name": "extractive"},
        archive={"adapter": "fs", "path": str(tmp_path)},
    )
    manager = CompactManager(config, exporters=[Immediate(exported.append)])
    messages = history(60)
    for length in (122, 182, len(messages)):
        manager.preflight("s", messages[:length])
    manager.manual_compact("s", messages)
    records = manager.records("s")
    assert records
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("db-" in text for text in written)
    everything = "\n".join([*written, *map(repr, exported), *(record.summary for record in records)])
    for number in range(60):
        secret = secret_of(number)
        pieces = (secret[at : at + LENGTH] for at in range(len(secret) - LENGTH + 1))
        leaked = [piece for piece in pieces if piece in everything]
        assert not leaked, (NAMES[number % len(NAMES)], leaked)
