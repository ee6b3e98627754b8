"""A third-party OTLP receiver (rotel) that prints what it receives."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Receiver:
    url: str
    log: Path

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def spans(self) -> dict[str, dict[str, str]]:
        """By name: ids and attributes, as text."""
        found = {}
        for block in re.split(r"^Span #\d+$", self.text(), flags=re.MULTILINE)[1:]:
            block = re.split(r"^(?:Resource|Scope)\w+ #", block, flags=re.MULTILINE)[0]
            fields = dict(re.findall(r"^ {4}([A-Z][\w ]*?) *: (.*)$", block, re.MULTILINE))
            fields |= dict(re.findall(r"^ +-> ([\w.]+): (.*)$", block, re.MULTILINE))
            found[fields["Name"]] = fields
        return found

    def metrics(self) -> set[str]:
        return set(re.findall(r"-> Name: (\S+)", self.text()))

    def wait_for(self, arrived: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not arrived():
            assert time.monotonic() < deadline, self.text()[-3_000:]
            time.sleep(0.05)


@contextmanager
def receiving(folder: Path) -> Iterator[Receiver]:
    spec = find_spec("rotel")
    assert spec is not None and spec.submodule_search_locations
    binary = Path(next(iter(spec.submodule_search_locations))) / "rotel-agent"
    http, grpc = free_port(), free_port()
    log = folder / "rotel.log"
    command = [str(binary), "start", "--exporter", "blackhole", "--debug-log", "traces"]
    command += ["--debug-log", "metrics", "--debug-log-verbosity", "detailed"]
    command += ["--otlp-http-endpoint", f"127.0.0.1:{http}", "--otlp-grpc-endpoint", f"127.0.0.1:{grpc}"]
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        _listening(http, server, log)
        yield Receiver(f"http://127.0.0.1:{http}", log)
    finally:
        server.terminate()
        server.wait(60)


def _listening(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        assert server.poll() is None and time.monotonic() < deadline, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
