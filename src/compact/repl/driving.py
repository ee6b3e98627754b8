"""Runs an exchange and shows what happens. Ctrl-C, at any time, is thrown into the exchange."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from compact.repl.saying import Happening


def drive(happenings: Iterator[Happening], show: Callable[[Happening], None]) -> bool:
    """Show everything; returns whether it was interrupted. The exchange keeps what came before that."""
    interrupted = struck = False
    with _one_interrupt(), no_echo():
        while True:
            try:
                throw = getattr(happenings, "throw", None)
                happening = throw(KeyboardInterrupt()) if struck and throw is not None else next(happenings)
                struck = False
            except StopIteration:
                return interrupted
            except KeyboardInterrupt:
                # Not during a reply: the user canceled a command.
                return True
            try:
                show(happening)
            except KeyboardInterrupt:
                interrupted = struck = True


@contextmanager
def no_echo() -> Iterator[None]:
    """Keep typed text for the next prompt instead of echoing it into the reply."""
    try:
        import termios

        before = termios.tcgetattr(0)
    except (ImportError, OSError, ValueError):
        yield  # Not a terminal.
        return
    except termios.error:
        yield
        return
    silent = [*before]
    silent[3] &= ~termios.ECHO
    # Otherwise Ctrl-C discards what was typed since the prompt.
    silent[3] |= termios.NOFLSH
    termios.tcsetattr(0, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


def is_unread(terminal: int = 0) -> bool:
    """Whether typed text is still unread, even a line without its end."""
    try:
        import array
        import fcntl
        import termios
    except ImportError:
        return False
    try:
        before = termios.tcgetattr(terminal)
        # The terminal delivers whole lines; an unfinished line is visible only with that turned off.
        by_character = [*before]
        by_character[3] &= ~(termios.ICANON | termios.ECHO)
        waiting = array.array("i", [0])
        termios.tcsetattr(terminal, termios.TCSANOW, by_character)
        try:
            fcntl.ioctl(terminal, termios.FIONREAD, waiting)
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, before)
    except (OSError, ValueError, termios.error):
        return False  # Not a terminal.
    return waiting[0] > 0


@contextmanager
def _one_interrupt() -> Iterator[None]:
    """Only the first Ctrl-C counts: an impatient second one must not lose what the first one kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    struck = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal struck
        if not struck:
            struck = True
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
