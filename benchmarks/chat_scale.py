"""What the next prompt and /stats cost in a session of 5,000 turns, as a ratio to one of 10 turns.

    python benchmarks/chat_scale.py [--turns 5000] [--runs 15] [--check]

Chats run in pseudo-terminals, as people use them, on a model server that answers at once. The time runs from
the Enter key to the next prompt. The long session is measured untrimmed within its window, and after a trim.
The chats take turns, so that a busy machine slows them all alike.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from fcntl import ioctl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from termios import TIOCSWINSZ

PROMPT = "›".encode()
ASK_CURSOR = b"\x1b[6n"
MOST = 2.0
TASKS = {
    "next prompt": (b"And what comes next?\r", b"Answer."),
    "/stats": (b"/stats\r", b"context after each"),
}


class Instant(BaseHTTPRequestHandler):
    """Answers at once, in the wire format of OpenAI."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for choice in ({"delta": {"content": "Answer."}}, {"delta": {}, "finish_reason": "stop"}):
            self.wfile.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:
        pass


class Chat:
    """`compact chat` in a terminal of its own, on a session of so many turns."""

    def __init__(self, folder: Path, name: str, turns: int, window: int, url: str) -> None:
        kinds = ("user", "assistant")
        said = [{"role": kinds[n % 2], "content": f"Turn {n} says something."} for n in range(turns)]
        (folder / f"{name}.json").write_text(json.dumps(said))
        self._ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        command = [sys.executable, "-m", "compact.cli", "chat", name, "--model", "gpt-4o", "--base-url", url]
        command += [
            "--window",
            str(window),
            "--store",
            f"sqlite:///{name}.db",
            "--set",
            "archive.adapter=none",
        ]
        environ = {**os.environ, "TERM": "xterm-256color", "PYTHONUTF8": "1"}
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._until(PROMPT)
        self.timed(f"/import {name}.json\r".encode(), b"imported")

    def timed(self, keys: bytes, shown: bytes) -> float:
        """Seconds from the Enter key until this was shown and the next prompt is there."""
        text, enter = keys[:-1], keys[-1:]
        os.write(self._ours, text)
        self._until(text[-8:])
        start = time.perf_counter()
        os.write(self._ours, enter)
        self._until(shown, PROMPT)
        return time.perf_counter() - start

    def _until(self, *wanted: bytes) -> None:
        """Read until these came, one behind the other."""
        seen = b""
        for text in wanted:
            while (at := seen.find(text)) < 0:
                fresh = os.read(self._ours, 65_536)
                if ASK_CURSOR in fresh:
                    os.write(self._ours, b"\x1b[1;1R")
                seen += fresh
            seen = seen[at + len(text) :]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


def main() -> None:
    parser = argparse.ArgumentParser(description="The chat in long sessions.")
    parser.add_argument("--turns", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Instant)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    seconds: dict[tuple[str, str], list[float]] = {}
    long = options.turns
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chats = {
            "10 turns": Chat(folder, "short", 10, 1_000_000, url),
            f"{long:,} turns, whole": Chat(folder, "whole", long, 1_000_000, url),
            f"{long:,} turns, trimmed": Chat(folder, "trimmed", long, long * 12, url),
        }
        try:
            for chat in chats.values():
                chat.timed(*TASKS["next prompt"])  # the trim, where one is due
            for _ in range(options.runs):
                for what, (keys, shown) in TASKS.items():
                    for which, chat in chats.items():
                        seconds.setdefault((what, which), []).append(chat.timed(keys, shown))
        finally:
            for chat in chats.values():
                chat.close()
            server.shutdown()
    worst = report(seconds, list(TASKS), list(chats))
    print(f"verdict: {'holds' if worst <= MOST else 'does not hold'} (at most {MOST} × of 10 turns)")
    if options.check and worst > MOST:
        raise SystemExit(1)


def report(seconds: dict[tuple[str, str], list[float]], tasks: list[str], chats: list[str]) -> float:
    worst = 0.0
    for what in tasks:
        short = statistics.median(seconds[what, chats[0]])
        for which in chats:
            median = statistics.median(seconds[what, which])
            worst = max(worst, median / short)
            print(f"{what:<12} {which:<22} {median * 1000:8.1f} ms   {median / short:5.2f} ×")
    return worst


if __name__ == "__main__":
    main()
