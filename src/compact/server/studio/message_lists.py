"""Messages in, messages out: compaction for programs that keep their own conversations.

Their sessions are separate from the chat's, under a tenant of their own, so that neither lists the other's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from compact.errors import CompactError
from compact.formats import by_name, recognize
from compact.manager import CompactManager
from compact.model.message import Role
from compact.ports import Format
from compact.server.siblings import Siblings
from compact.server.studio import schemas

_WAIT_SECONDS = 20.0
_LEADING = (Role.SYSTEM, Role.DEVELOPER)
_SESSIONS_KEPT = 200
"""In memory; others are read from the store and from what the caller sends."""


class MessageLists:
    """For one tenant. The manager's store has the originals; the caller may always send its whole history."""

    def __init__(self, manager: CompactManager) -> None:
        self._manager = manager
        self._siblings = Siblings(manager)
        self._held: OrderedDict[tuple[CompactManager, str], None] = OrderedDict()

    async def fitted(self, asked: schemas.MessagesIn) -> dict[str, Any]:
        """What to send to the model, as in `schemas.MessagesOut`."""
        messages = asked.messages
        format = by_name(asked.format) if asked.format else recognize(messages)
        model = asked.model or self._manager.config.model
        manager = self._siblings.of(model, asked.preset or "", format.name, asked.window)
        session = asked.session or _named_after(messages, format)
        known = (asked.tools, asked.system)
        if (seen := asked.observed) is not None and seen.messages <= len(messages):
            usage = {"input_tokens": seen.input_tokens}
            with suppress(CompactError):  # An unusable count is no reason to fail.
                await manager.aobserve(session, messages[: seen.messages], usage, *known)
        prepared = await manager.aprepare(session, messages, *known, wait=_WAIT_SECONDS)
        self._hold(manager, session)
        return {
            "messages": list(prepared.messages),
            "kept": _kept(messages, prepared.messages),
            "tools": prepared.tools,
            "session": session,
            "format": format.name,
            "compacted": prepared.was_compacted or prepared.was_pruned,
            "tokens": {
                "before": prepared.tokens.before,
                "after": prepared.tokens.final,
                "window": manager.window,
            },
        }

    def _hold(self, manager: CompactManager, session: str) -> None:
        """Keep this one in memory, and drop the oldest: a manager would hold thousands of histories."""
        self._held[manager, session] = None
        self._held.move_to_end((manager, session))
        while len(self._held) > _SESSIONS_KEPT:
            (other, oldest), _ = self._held.popitem(last=False)
            other.reload(oldest)

    async def close(self) -> None:
        await self._manager.aclose()


def _named_after(messages: Sequence[Any], format: Format) -> str:
    """A session's name if the caller gives none: derived from its first message, which every call repeats.

    Not from the system prompt, which all users of an application share.
    """
    decoded = (message for source in messages for message in format.decode(source, 0))
    first = next((message.text for message in decoded if message.role not in _LEADING), None)
    if first is None:
        first = "".join(message.text for message in format.decode(messages[0], 0))
    return f"run-{blake2b(first.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _kept(given: Sequence[Any], made: Sequence[Any]) -> list[int | None]:
    places = {id(message): at for at, message in enumerate(given)}
    return [places.get(id(message)) for message in made]
