"""Decides what of a request goes on: its own bytes where they fit, a compacted body where they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from compact.errors import CompactError, ConfigError, InsufficientBudget
from compact.functions import count_tokens
from compact.manager import CompactManager
from compact.model.outcome import Prepared
from compact.server.gateway.wire import Request
from compact.server.siblings import Siblings

T = TypeVar("T")
_RECALLED_CHARS = 4_000
_CLOSING = 5.0
_THOROUGH = "budget"
"""The preset that keeps least of what is too large: it shortens outputs and summarizes first turns too."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What to send, and what to say of it in the headers."""

    body: bytes
    before: int = 0
    after: int = 0
    compacted: bool = False
    problem: str = ""
    prepared: Prepared | None = None
    unstored: Callable[[], Coroutine[Any, Any, Any]] | None = None
    """Stores what was sent: the client sends it all again with its next request, so that can wait."""


class Compaction:
    """Managers by model, preset and format, all on one store."""

    def __init__(self, manager: CompactManager, wait_seconds: float, fitting_seconds: float) -> None:
        self._manager = manager
        self._wait = wait_seconds
        self._fitting_wait = fitting_seconds
        self._fell_back: set[str] = set()
        """Sessions compacted with another preset: what the provider counts is that one's prompt."""
        self._siblings = Siblings(manager)
        self._background: set[asyncio.Task[Any]] = set()

    def warm(self) -> None:
        """Load what the first count needs."""
        config = self._manager.config
        count_tokens("warm", config.model, counter=config.counter)

    def manager_for(self, request: Request, preset: str) -> CompactManager:
        return self._siblings.of(request.model, preset, request.api.format)

    async def ready(self, request: Request, raw: bytes, session: str, preset: str) -> Ready:
        """The body to send. Never raises: what cannot be compacted is the provider's to judge."""
        try:
            prepared, unstored = await self._prepared(request, session, preset)
            return replace(self._made(request, raw, prepared), unstored=unstored)
        except ConfigError as error:
            return Ready(raw, problem=f"x-compact-preset: {error}")
        except InsufficientBudget as error:
            if self.manager_for(request, preset).config.preset == _THOROUGH:
                return Ready(raw, problem=type(error).__name__)
            # What another preset always keeps is too much for this window.
            self._fell_back.add(session)
            made = await self.ready(request, raw, session, _THOROUGH)
            return replace(made, problem=made.problem or f"compacted with preset {_THOROUGH}")
        except CompactError as error:
            return Ready(raw, problem=type(error).__name__)

    async def _prepared(
        self, request: Request, session: str, preset: str
    ) -> tuple[Prepared, Callable[[], Coroutine[Any, Any, Any]] | None]:
        manager = self.manager_for(request, preset)
        asked = (session, request.messages, request.tools, request.system)
        prepared = await manager.aglance(*asked)
        if prepared is None:
            return await self._compacted(manager, asked), None
        return prepared, lambda: manager.aprepare(*asked)

    def answered(self, ready: Ready) -> None:
        """The client has its answer: what its request left to do is done now, and takes nothing from it."""
        if ready.unstored is not None:
            self._later(ready.unstored())

    async def _compacted(self, manager: CompactManager, asked: tuple[str, Any, Any, Any]) -> Prepared:
        """After a compaction; where that takes a while and the prompt still fits, without, for now."""
        task = self._later(manager.aprepare(*asked, wait=self._wait))
        await asyncio.wait({task}, timeout=self._fitting_wait)
        if not task.done():
            usage = await manager.ausage(*asked)
            if usage.tokens <= usage.budget:
                return await manager.aview(*asked)
        return await asyncio.shield(task)

    async def shown(self, request: Request, raw: bytes, session: str, preset: str) -> Ready:
        """What would be sent now, for a request that only counts: nothing is compacted for it."""
        try:
            manager = self.manager_for(request, preset)
            prepared = await manager.aview(session, request.messages, request.tools, request.system)
        except CompactError as error:
            return Ready(raw, problem=type(error).__name__)
        return self._made(request, raw, prepared)

    async def smaller(self, request: Request, raw: bytes, session: str, preset: str) -> Ready | None:
        """A body after one hard compaction; None where nothing of it could go."""
        try:
            manager = self.manager_for(request, preset)
            await manager.amanual_compact(session, request.messages, "", request.tools, request.system)
            prepared = await manager.aprepare(
                session, request.messages, request.tools, request.system, wait=self._wait
            )
        except CompactError:
            return None
        made = self._made(request, raw, prepared)
        return made if made.body != raw else None

    async def recall(self, request: Request, session: str, preset: str, query: str) -> str:
        """What was compacted, found by words or by handle, as text for the model."""
        try:
            found = await self.manager_for(request, preset).arecall(session, query, 5)
        except CompactError as error:
            return f"Nothing could be looked up: {error}"
        shown = [f"[m{hit.position}] {hit.text}"[:_RECALLED_CHARS] for hit in found]
        return "\n\n".join(shown) or "Nothing was found. Try other words."

    async def observe(self, request: Request, session: str, preset: str, usage: Any) -> None:
        """The provider's own count corrects ours; nobody waits for it."""
        preset = _THOROUGH if session in self._fell_back else preset
        manager = self.manager_for(request, preset)
        self._later(manager.aobserve(session, request.messages, usage, request.tools, request.system))

    def _later(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled():
            task.exception()  # whoever needs to know waits for it

    def _made(self, request: Request, raw: bytes, prepared: Prepared) -> Ready:
        after = prepared.tokens.final
        if prepared.record is None:
            return Ready(raw, prepared.tokens.before, after, prepared=prepared)
        body = request.replaced(prepared.messages, prepared.tools)
        # The engine measures what it works on, with earlier compactions in place. The client's own prompt is
        # not counted again for a header: its bytes, written the same way, give its size.
        whole = len(request.replaced(request.messages, None))
        before = max(prepared.tokens.before, after * whole // len(body))
        return Ready(body, before, after, prepared.was_compacted or prepared.was_pruned, prepared=prepared)

    async def settled(self) -> None:
        """When everything that requests left behind is stored; what takes too long is given up."""
        if self._background:
            _, late = await asyncio.wait(self._background, timeout=_CLOSING)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def close(self) -> None:
        await self.settled()
        await self._manager.aclose()
