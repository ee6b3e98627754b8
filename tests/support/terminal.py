"""`compact chat` in a real pseudo-terminal, with its screen read as a person sees it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pexpect
import pyte

from compact.repl.driving import is_unread

PROMPT = "›"
SECONDS = 60.0
"""Time for a busy machine; normally nothing waits this long."""


class Terminal:
    """Waits for what the screen shows, never for a fixed time."""

    def __init__(self, child: pexpect.spawn, columns: int, rows: int) -> None:
        self.child = child
        self.screen = pyte.Screen(columns, rows)
        # A terminal must respond to queries for the cursor position.
        self.screen.write_process_input = child.send
        self._stream = pyte.ByteStream(self.screen)

    # -- looking -------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    @property
    def cursor_line(self) -> str:
        return self.screen.display[self.screen.cursor.y].rstrip()

    @property
    def status(self) -> str:
        """The line at the bottom."""
        return next((line.strip() for line in reversed(self.screen.display) if line.strip()), "")

    def color_of(self, text: str) -> set[str]:
        """The colors of this text on the screen; the lowest occurrence counts."""
        for row in range(self.screen.lines - 1, -1, -1):
            column = self.screen.display[row].find(text)
            if column >= 0:
                cells = self.screen.buffer[row]
                return {cells[column + n].fg for n in range(len(text)) if text[n] != " "}
        raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"waited for {what}; the screen shows:\n{self.text}"
            self._read()

    def _read(self) -> None:
        try:
            self._stream.feed(self.child.read_nonblocking(65_536, timeout=0.2))
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            raise AssertionError(f"it ended; the screen shows:\n{self.text}") from None

    def see(self, text: str) -> None:
        self.until(lambda: text in self.text, repr(text))

    def prompted(self, draft: str = "") -> None:
        """Wait until it asks for the next message."""
        line = f"{PROMPT} {draft}".rstrip()
        self.until(lambda: self.cursor_line == line and "ctx" in self.status, "the prompt")

    # -- doing ---------------------------------------------------------------------------------------------

    def type(self, text: str) -> None:
        self.child.send(text)

    def type_unread(self, text: str) -> None:
        """Type while the program does not read, and wait until the keys are queued for it.

        The system may take a while to queue them, possibly until after a reply that is released immediately.
        """
        terminal = os.open(f"/proc/{self.child.pid}/fd/0", os.O_RDWR | os.O_NOCTTY)
        try:
            assert not is_unread(terminal)
            self.type(text)
            self.until(lambda: is_unread(terminal), "the keys to arrive")
        finally:
            os.close(terminal)

    def enter(self, text: str) -> None:
        """Type a line, see it on the screen, send it."""
        self.type(text)
        end = text[-20:]
        self.until(lambda: self.cursor_line.endswith(end), f"{end!r} typed")
        self.type("\r")

    def say(self, text: str) -> str:
        """Send a line and wait for the next prompt; returns what is between the two."""
        self.enter(text)
        self.prompted()
        lines = self.text.split("\n")
        at = max(
            (n for n, line in enumerate(lines) if line == f"{PROMPT} {text}"[: self.screen.columns]),
            default=0,
        )
        return "\n".join(lines[at + 1 : self.screen.cursor.y]).strip()

    def paste(self, *lines: str) -> str:
        """Paste a block with a unique last line; send it and wait for the next prompt.

        Returns everything that the screen then shows.
        """
        self.type("\x1b[200~" + "\n".join(lines) + "\x1b[201~")
        self.until(lambda: self.cursor_line.endswith(lines[-1]), f"{lines[-1]!r} pasted")
        self.type("\r")
        self.prompted()
        return self.text

    def kill(self) -> None:
        """Kill it, as a closed window or a power cut would."""
        self.child.kill(signal.SIGKILL)
        self.child.wait()

    def ended(self) -> int:
        """Wait until the process ends; returns its exit code."""
        while self.child.isalive():
            with suppress(pexpect.TIMEOUT, pexpect.EOF):
                self._stream.feed(self.child.read_nonblocking(65_536, timeout=0.2))
        return int(self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus)


@contextmanager
def chatting(
    folder: Path, *options: str, columns: int = 80, rows: int = 50, ready: bool = True, **environ: str
) -> Iterator[Terminal]:
    """A chat in this folder, once its prompt is shown."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    env = {
        **keep,
        "HOME": str(folder),
        "TERM": "xterm-256color",
        "PYTHONUTF8": "1",
        **environ,
    }
    child = pexpect.spawn(
        sys.executable,
        ["-m", "compact.cli", "chat", *options],
        cwd=str(folder),
        env=env,
        dimensions=(rows, columns),
        timeout=SECONDS,
    )
    # The terminal waits until its typed text is on the screen; no need to sleep before each key too.
    child.delaybeforesend = None
    terminal = Terminal(child, columns, rows)
    try:
        if ready:
            terminal.prompted()
        yield terminal
    finally:
        # `close(force=True)` gives the process a tenth of a second to die; a busy machine needs longer.
        if child.isalive():
            terminal.kill()
        child.close()
