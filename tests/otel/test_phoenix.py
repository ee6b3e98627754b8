"""What we export is queried back from Arize Phoenix, over its own HTTP API."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from support.rotel import free_port


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("phoenix")
    port = free_port()
    settings = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [os.environ["PHOENIX_BIN"], "serve"],
            env={**os.environ, **settings},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: reachable(f"{url}/healthz") or server.poll() is not None, 120)
        assert server.poll() is None, (folder / "log").read_text()
        yield url
    finally:
        server.terminate()
        server.wait(60)


def reachable(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def wait_for(condition: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def spans(url: str) -> list[dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{url}/v1/projects/default/spans?limit=1000", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]
            return found
    except OSError:
        return []


def test_a_session_is_queried_back(phoenix: str, tmp_path: Path) -> None:
    roles = ("user", "assistant")
    history = [{"role": roles[n % 2], "content": f"src/app_{n}.py " + "word " * 150} for n in range(80)]
    config = CompactConfig(
        max_context_tokens=6_000,
        counter="chars4",
        archive={"adapter": "fs", "path": str(tmp_path)},
        tracing={"otlp_endpoint": phoenix},
    )
    with CompactManager(config) as manager:
        for length in range(1, 80, 2):
            manager.preflight("session-7", history[:length])
        compactions = len(manager.records("session-7"))
    assert compactions > 1
    wait_for(lambda: len(spans(phoenix)) >= 6 * compactions, 60)
    found = spans(phoenix)
    whole = [span for span in found if span["name"] == "compact.compaction"]
    assert len(whole) == compactions
    for span in whole:
        attributes = span["attributes"]
        assert attributes["gen_ai.conversation.id"] == "session-7"
        assert attributes["gen_ai.conversation.compacted"] is True
        assert attributes["compact.tokens_after"] < attributes["compact.tokens_before"]
        inside = {s["name"] for s in found if s["parent_id"] == span["context"]["span_id"]}
        assert inside == {
            "compact.token_estimate",
            "compact.trigger_decision",
            "compact.summary_created",
            "compact.archival",
            "compact.pruned_messages",
        }
        assert len({s["context"]["trace_id"] for s in found if s["name"] in inside}) == compactions
