"""Decide what to forward of a request: its own bytes if they fit, a compacted body if they don't."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from compact.core.trigger import policy_limits
from compact.errors import CompactError, ConfigError, InsufficientBudget
from compact.functions import count_tokens
from compact.manager import CompactManager
from compact.model.outcome import Prepared
from compact.models.limits import limits_for
from compact.policies import preset as preset_named
from compact.server.gateway.exchange import Exchange
from compact.server.gateway.held_sessions import HeldSessions
from compact.server.gateway.known_prompts import KnownPrompt, KnownPrompts
from compact.server.gateway.settings import MEMORY_BYTES
from compact.server.gateway.wire import Request
from compact.server.siblings import Siblings

T = TypeVar("T")
Asked = tuple[str, Any, Any, Any]
"""Session, messages, tools and system, as a manager takes them."""
_CLOSING = 5.0
_SMALL = 8_000
_SMALLEST_WINDOW = 4_096
"""Among the models that are still offered."""
_THOROUGH = "budget"
"""The preset that keeps least of what is too large: it shortens outputs and summarizes first turns too."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What to send, and what to report in the headers."""

    body: bytes
    before: int = 0
    after: int = 0
    compacted: bool = False
    problem: str = ""
    prepared: Prepared | None = None
    session: str = ""
    preset: str = ""
    """The one that made the body; not the requested one if that keeps too much."""
    is_stored: bool = True
    """Otherwise it is stored after the reply: the client sends it all again with its next request."""


class Compaction:
    """Managers by model, preset and format, all on one store."""

    def __init__(
        self,
        manager: CompactManager,
        wait_seconds: float,
        fitting_seconds: float,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self._manager = manager
        self._held = HeldSessions(memory_bytes)
        self._wait = wait_seconds
        self._fitting_wait = fitting_seconds
        self._known = KnownPrompts()
        self._siblings = Siblings(manager)
        self._background: set[asyncio.Task[Any]] = set()

    def warm(self) -> None:
        """Load what the first count needs."""
        config = self._manager.config
        count_tokens("warm", config.model, counter=config.counter)

    def smallest(self, preset: str) -> int:
        """The number of tokens below which nothing can be due, whatever the model.

        A token has at least a byte, so a short body need not be read or kept.
        """
        config = self._manager.config
        try:
            policy = preset_named(preset) if preset and preset != config.preset else config.policy
        except ConfigError:
            return 0
        if policy.fold_on_turns:
            return 0
        return min(_SMALL, policy_limits(policy, config.max_context_tokens or _SMALLEST_WINDOW, 0).trigger)

    def manager_for(self, request: Request, preset: str) -> CompactManager:
        return self._siblings.of(request.model, preset, request.api.format)

    def _asking(self, exchange: Exchange, request: Request, preset: str) -> tuple[CompactManager, Asked]:
        """Who is asked about a request, and what."""
        manager = self.manager_for(request, preset)
        self._held.hold(exchange.session, manager, request.messages)
        return manager, (exchange.session, request.messages, request.tools, request.system)

    def grown(self, exchange: Exchange) -> Ready | None:
        """The client's own bytes, if they add so little to a prompt that passed that they surely fit.

        The request is not read for this. Another gateway may have compacted the conversation in the meantime:
        then this prompt is sent uncompacted once, and matched with its record when it is stored.
        """
        if exchange.counts_only or exchange.bypasses:
            return None
        known = self._known.grown_to(exchange.caller, exchange.raw)
        if known is None:
            return None
        tokens = known.tokens * len(exchange.raw) // len(known.raw)
        return Ready(
            exchange.raw, tokens, tokens, session=known.session, preset=exchange.preset, is_stored=False
        )

    async def ready(self, exchange: Exchange, preset: str | None = None) -> Ready:
        """The body to send. Never raises: what cannot be compacted is left for the provider to judge."""
        preset = exchange.preset if preset is None else preset
        request, raw, session = exchange.request, exchange.raw, exchange.session
        if request is None:
            return Ready(raw)
        as_it_is = Ready(raw, session=session, preset=preset)
        try:
            manager, asked = self._asking(exchange, request, preset)
            prepared = await manager.aglance(*asked)
            is_stored = prepared is None
            if prepared is None:
                self._known.forget(session)
                prepared = await self._compacted(manager, asked)
            made = self._made(request, raw, prepared)
            problem = _assumed_window(manager)
            return replace(made, session=session, preset=preset, is_stored=is_stored, problem=problem)
        except ConfigError as error:
            return replace(as_it_is, problem=str(error))
        except InsufficientBudget as error:
            if self.manager_for(request, preset).config.preset == _THOROUGH:
                return replace(as_it_is, problem=type(error).__name__)
            # What another preset always keeps is too much for this window.
            made = await self.ready(exchange, _THOROUGH)
            return replace(made, problem=made.problem or f"compacted with preset {_THOROUGH}")
        except CompactError as error:
            return replace(as_it_is, problem=type(error).__name__)

    def answered(self, exchange: Exchange, ready: Ready, usage: Any = None) -> None:
        """The client has its reply: the rest of the work for its request is done now."""
        if ready.session and (usage is not None or not ready.is_stored):
            self._later(self._follow_up(exchange, ready, usage))

    async def _follow_up(self, exchange: Exchange, ready: Ready, usage: Any) -> None:
        """Store what was sent, correct our count by the provider's, and note how much still fits."""
        request = await asyncio.to_thread(lambda: exchange.request)
        if request is None:
            return
        manager, asked = self._asking(exchange, request, ready.preset)
        session, messages, tools, system = asked
        now = await (manager.aglance if ready.is_stored else manager.aprepare)(*asked)
        has_record = now is not None and now.record is not None
        # If it was sent unchanged and compacted in the meantime, that is not the size of what is sent now.
        if usage is not None and not (has_record and ready.body is exchange.raw):
            await manager.aobserve(session, messages, usage, tools, system)
        if now is None or has_record or manager.config.policy.fold_on_turns:
            self._known.forget(session)
            return
        size = await manager.ausage(*asked)
        room = size.trigger - size.tokens
        self._known.keep(KnownPrompt(exchange.caller, session, exchange.raw, size.tokens, room))

    async def _compacted(self, manager: CompactManager, asked: Asked) -> Prepared:
        """After a compaction; if that takes a while and the prompt still fits, without it for now."""
        task = self._later(manager.aprepare(*asked, wait=self._wait))
        await asyncio.wait({task}, timeout=self._fitting_wait)
        if not task.done():
            usage = await manager.ausage(*asked)
            if usage.tokens <= usage.budget:
                return await manager.aview(*asked)
        return await asyncio.shield(task)

    async def shown(self, exchange: Exchange) -> Ready:
        """What would be sent now, for a request that only counts: nothing is compacted for it."""
        request, raw = exchange.request, exchange.raw
        if request is None:
            return Ready(raw)
        try:
            manager, asked = self._asking(exchange, request, exchange.preset)
            prepared = await manager.aview(*asked)
        except CompactError as error:
            return Ready(raw, problem=type(error).__name__, session=exchange.session)
        return replace(self._made(request, raw, prepared), session=exchange.session, preset=exchange.preset)

    async def smaller(self, exchange: Exchange, refused: Ready) -> Ready | None:
        """A body after one hard compaction; None if nothing of what was rejected could be removed."""
        request = exchange.request
        if request is None:
            return None
        self._known.forget(exchange.session)
        for preset in (refused.preset, _THOROUGH):
            try:
                manager, asked = self._asking(exchange, request, preset)
                made = await self._hard(manager, asked, exchange, request)
            except ConfigError:
                return None
            except CompactError:
                made = refused
            if len(made.body) < len(refused.body):
                return replace(made, session=exchange.session, preset=preset)
            if manager.config.preset == _THOROUGH:
                break
        return None

    async def _hard(
        self, manager: CompactManager, asked: Asked, exchange: Exchange, request: Request
    ) -> Ready:
        session, messages, tools, system = asked
        await manager.amanual_compact(session, messages, "", tools, system)
        return self._made(request, exchange.raw, await manager.aprepare(*asked, wait=self._wait))

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
        """When everything that requests left behind is stored; what takes too long is abandoned."""
        if self._background:
            _, late = await asyncio.wait(self._background, timeout=_CLOSING)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def close(self) -> None:
        await self.settled()
        await self._manager.aclose()


def _assumed_window(manager: CompactManager) -> str:
    config = manager.config
    return (limits_for(config.model, config.models).warning or "") if not config.max_context_tokens else ""
