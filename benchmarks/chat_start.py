"""How long `compact chat` takes until its prompt, as a ratio to importing prompt_toolkit and rich.

    python benchmarks/chat_start.py [--runs 9] [--check]

Both run in a pseudo-terminal and alternate, so that a busy machine slows both alike. The local model and
everything else that the chat needs load after the prompt has appeared.
"""

from __future__ import annotations

import argparse
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time

BARE = [sys.executable, "-c", "import prompt_toolkit, rich; print('›')"]
CHATS = {
    "chat, a model elsewhere": ["--model", "gpt-4o", "--base-url", "http://127.0.0.1:9/v1"],
    "chat, the local model": ["--model", "local"],
}
PROMPT = "›".encode()
MOST = 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Start of the chat to its prompt.")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    commands = {"import prompt_toolkit, rich": BARE}
    for name, words in CHATS.items():
        commands[name] = [sys.executable, "-m", "compact.cli", "chat", *words]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.runs + 1):
            for name, command in commands.items():
                seconds[name].append(until_prompt(command, folder))
    # The first round fills the disk cache and writes bytecode.
    medians = {name: statistics.median(measured[1:]) for name, measured in seconds.items()}
    bare = medians["import prompt_toolkit, rich"]
    worst = 0.0
    for name, median in medians.items():
        print(f"{name:<28} {median * 1000:7.0f} ms   {median / bare:5.2f} ×")
        worst = max(worst, median / bare)
    print(f"verdict: {'holds' if worst < MOST else 'does not hold'} (less than {MOST} × the bare imports)")
    if options.check and worst >= MOST:
        raise SystemExit(1)


def until_prompt(command: list[str], folder: str) -> float:
    """Seconds until the prompt is on the terminal; then the process is ended."""
    ours, theirs = pty.openpty()
    start = time.perf_counter()
    environ = {**os.environ, "TERM": "xterm-256color", "PYTHONUTF8": "1"}
    process = subprocess.Popen(
        command, cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    seen = b""
    try:
        while PROMPT not in seen:
            seen += os.read(ours, 65_536)
        return time.perf_counter() - start
    finally:
        process.kill()
        process.wait()
        os.close(ours)


if __name__ == "__main__":
    main()
