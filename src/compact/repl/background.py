"""Opens the chat while the prompt is already shown: slow imports happen in the meantime."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from compact.console.context import Context

if TYPE_CHECKING:
    from compact.repl.chat import Chat


class Opening:
    """Opens the chat in the background, so that the prompt need not wait for it."""

    def __init__(self, context: Context, warm: Callable[[], object] | None = None) -> None:
        self._context = context
        self._warm = warm
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._done = threading.Event()
        self._chat: Chat | None = None
        self._problem: BaseException | None = None
        self.on_done: Callable[[], None] = lambda: None

    def start(self) -> None:
        if not self._thread.is_alive() and not self._done.is_set():
            self._thread.start()

    def _run(self) -> None:
        try:
            # Imported here, so that an early Ctrl-C interrupts the exchange, not an import.
            import compact.repl.exchange  # noqa: F401
            from compact.repl.opening import open_chat

            self._chat = open_chat(self._context)
        except BaseException as problem:
            self._problem = problem
        self._done.set()
        self.on_done()
        if self._warm is not None and self._problem is None:
            self._warm()

    @property
    def chat(self) -> Chat | None:
        """The chat, once it is open."""
        return self._chat

    @property
    def failed(self) -> bool:
        return self._problem is not None

    def result(self) -> Chat:
        """The chat; waits for it, and raises the error that prevented it."""
        self.start()
        self._done.wait()
        if self._problem is not None:
            raise self._problem
        assert self._chat is not None
        return self._chat

    def close(self) -> None:
        """Stop what was started, even while it is still opening."""
        if self._thread.is_alive():
            self._done.wait()
        if self._chat is not None:
            self._chat.close()
