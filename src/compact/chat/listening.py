"""Route the engine's events to the conversation that caused them, even if many share one manager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from compact.model.event import Event

Listener = Callable[[Event], None]

# A context variable follows a call into tasks and threads; a session id would mix up two exchanges.
_listener: ContextVar[Listener | None] = ContextVar("compact-chat-listener", default=None)


class Listening:
    """An exporter. Pass it to the manager of a chat."""

    immediate = True

    def export(self, event: Event) -> None:
        listener = _listener.get()
        if listener is not None:
            listener(event)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """What the engine emits inside goes to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def listen(listener: Listener) -> None:
    """What the engine emits in this context goes to `listener`."""
    _listener.set(listener)
