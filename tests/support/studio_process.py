"""`compact studio` as its own process, with a model's API behind it, on SQLite or PostgreSQL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from support.providers import Provider, providing

WINDOW = 10_000


@dataclass
class Served:
    """A client of the server, the API behind it, its database and its process."""

    client: httpx2.Client
    provider: Provider
    store: str
    process: subprocess.Popen[str]


@contextmanager
def studio_process(store: str, folder: Path, *options: str, workers: int = 1) -> Iterator[Served]:
    with providing(window=WINDOW) as provider:
        root = provider.url.removesuffix("/v1")
        environ = {
            **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
            "OPENAI_BASE_URL": f"{root}/v1",
            "ANTHROPIC_BASE_URL": root,
            "XDG_DATA_HOME": str(folder),
            "HOME": str(folder),
        }
        command = [
            *(sys.executable, "-m", "compact", "studio", "--json", "--port", "0", "--no-browser", "--demo"),
            *("--store", store, "--workers", str(workers), "--model", "gpt-4o"),
            *("--window", str(WINDOW), "--counter", "estimate"),
            *("--set", "summarizer.name=extractive", "--set", "archive.adapter=none"),
            *("--set", "policy.hard_cap_buffer=200", *options),
        ]
        process = subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the server did not start"
            told: dict[str, Any] = json.loads(line)
            with httpx2.Client(base_url=told["url"], trust_env=False, timeout=60) as client:
                yield Served(client, provider, store, process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=40)
