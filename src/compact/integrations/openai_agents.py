"""Compact inside the OpenAI Agents SDK, without a change to it.

`compact_filter` goes into `RunConfig.call_model_input_filter` and sees every prompt of a run.
`CompactSession` wraps a session of the SDK's and hands out the compacted history at the start of a run.
`CompactHooks` reports the provider's own counts back. `before_model_call` is the same for loops of your own.
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Awaitable, Callable, Mapping
from hashlib import blake2b
from inspect import signature
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from compact.core.boundaries import groups
from compact.engine.reader import Call
from compact.errors import ConfigError, FormatError, InsufficientBudget, MissingExtra, SessionBusy
from compact.formats import by_name, decode_all
from compact.functions import count_tokens
from compact.manager import CompactManager
from compact.model.message import canonical_json

try:
    from agents import (
        Agent,
        ModelResponse,
        OpenAIConversationsSession,
        RunContextWrapper,
        RunHooks,
        Session,
        SessionSettings,
        TResponseInputItem,
        get_current_trace,
    )
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise MissingExtra("openai-agents", "agents") from error

from compact.integrations._openai_agents_tools import ToolsOnTheWire

__all__ = ["CompactHooks", "CompactSession", "before_model_call", "compact_filter"]

SessionId = str | Callable[[Any], str] | None
"""The id itself, a function from the run's context to it, or None: see `session_id_of`."""
_ALL_ITEMS = 2_147_483_647
_PATIENCE = 120.0
"""Seconds to wait for another compaction of the same session: longer than a slow summary or a dead lease."""
_PAUSE = 0.1


def session_id_of(given: SessionId, context: Any, items: list[TResponseInputItem]) -> str:
    """What a run's session goes by.

    The id given, else `session_id` of the run's context, else the trace's group id, else the trace's id;
    without tracing, a name made of the first item. Prompts do not depend on it: a compaction is found again
    by what it replaced. Archives, events and recall go by it.
    """
    found = given(context) if callable(given) else given
    if not found:
        found = (
            context.get("session_id")
            if isinstance(context, Mapping)
            else getattr(context, "session_id", None)
        )
    if isinstance(found, str) and found:
        return found
    trace = get_current_trace()
    group = getattr(trace, "group_id", None)
    if isinstance(group, str) and group:
        return group
    if trace is not None and trace.trace_id != "no-op":
        return trace.trace_id
    first = canonical_json(items[0]) if items else ""
    return f"run-{blake2b(first.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def compact_filter(
    manager: CompactManager, session_id: SessionId = None
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """For `RunConfig(call_model_input_filter=…)`: every prompt of the run fits, whatever its tools returned.

    Instructions, tools, handoffs and the output schema are counted as the SDK sends them. Instructions stay
    as they are, and so does every item that is not replaced.
    """
    wire = ToolsOnTheWire()

    async def fitting(data: CallModelData[Any]) -> ModelInputData:
        sent = data.model_data
        session = session_id_of(session_id, data.context, sent.input)
        tools = await wire.of(data.agent, data.context)
        items = await _fitting(manager, Call(session, sent.input, tools, sent.instructions))
        return ModelInputData(input=items, instructions=sent.instructions)

    return fitting


async def _fitting(manager: CompactManager, call: Call) -> list[TResponseInputItem]:
    try:
        return await _patiently(manager, call)
    except (InsufficientBudget, SessionBusy):
        raise
    except Exception as error:
        # A store that is down or an item nobody can read must not end a run that needs no compaction.
        text = canonical_json([call.messages, call.tools, call.system])
        tokens = count_tokens(text, manager.config.model, counter=manager.config.counter)
        if tokens > manager.window - manager.config.policy.reserve(manager.window):
            raise
        problem = f"{type(error).__name__}: {error}"
        manager.warn(call.session_id, f"Not compacted, sent as it is ({tokens:,} tokens): {problem}")
        return list(call.messages)


def _newest(items: list[TResponseInputItem], limit: int) -> list[TResponseInputItem]:
    """At most so many, beginning where a prompt may begin: no output without its call, no call without its
    reasoning. Where the newest step alone is longer than the limit, that step as a whole."""
    if limit >= len(items):
        return items
    try:
        starts = [group.start for group in groups(decode_all(items, by_name("openai-responses")))]
    except FormatError:
        return items[-limit:]
    return items[next((start for start in starts if start >= len(items) - limit), starts[-1]) :]


async def _patiently(manager: CompactManager, call: Call) -> list[TResponseInputItem]:
    """Agents that run as tools share their caller's session: where one compacts, the others wait."""
    deadline = monotonic() + _PATIENCE
    while True:
        try:
            return list((await manager._arun(call)).messages)
        except SessionBusy:
            if monotonic() > deadline:
                raise
            await sleep(_PAUSE)


def before_model_call(manager: CompactManager) -> Callable[[Any], None]:
    """A hook for loops of your own: replaces `ctx.messages` by what fits.

    `ctx` has `session_id` and `messages`, and may have `tools` and `system`, which are counted.
    """

    def hook(ctx: Any) -> None:
        tools, system = getattr(ctx, "tools", None), getattr(ctx, "system", None)
        ctx.messages = manager.preflight(ctx.session_id, ctx.messages, tools=tools, system=system)

    return hook


class CompactHooks(RunHooks[Any]):
    """Corrects the estimate of a session by what the provider reported for each prompt; pass as `hooks=`.

    Subclass it to add hooks of your own, and call these.
    """

    def __init__(self, manager: CompactManager, session_id: SessionId = None) -> None:
        self._manager = manager
        self._session_id = session_id
        self._asked: WeakKeyDictionary[Any, tuple[list[TResponseInputItem], str | None]] = WeakKeyDictionary()

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        self._asked[context] = (input_items, system_prompt)

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        items, system = self._asked.pop(context, ([], None))
        if items and response.usage.input_tokens:
            session = session_id_of(self._session_id, context.context, items)
            try:
                await self._manager.aobserve(session, items, response.usage, system=system)
            except Exception as error:
                self._manager.warn(
                    session, f"The reported usage was not taken: {type(error).__name__}: {error}"
                )


class CompactSession:
    """A session of the SDK's whose history fits: `get_items` gives the compacted view, `underlying` has all.

    Beneath it items are only added, call for call, and never rewritten: what a compaction replaces is noted
    in the manager's store, so a crash, a bad summary or a second process can lose nothing.
    """

    def __init__(self, underlying: Session, manager: CompactManager) -> None:
        if isinstance(underlying, OpenAIConversationsSession):
            raise ConfigError(
                "CompactSession cannot wrap OpenAIConversationsSession: that history lives at the provider, "
                "who sends it to the model whatever is returned here. Use one that keeps its items, such as "
                "SQLiteSession."
            )
        self.underlying = underlying
        self.session_id = underlying.session_id
        self.session_settings: SessionSettings | None = getattr(underlying, "session_settings", None)
        self._ignore_ids_for_matching = bool(getattr(underlying, "_ignore_ids_for_matching", False))
        self._manager = manager

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """The history as it should be sent; with a limit the newest items of that, from a legal cut on."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        items = await self.original_items(wrapper=wrapper)
        if items:
            call = self._manager._engine.reader.with_known_fixed(Call(self.session_id, items))
            items = await _fitting(self._manager, call)
        return items if limit is None else _newest(items, limit)

    async def original_items(
        self, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """Everything that was ever added and not popped, as it was added."""
        # Its own limit is one for what is sent, which is ours to apply.
        limited = self.session_settings is not None and self.session_settings.limit is not None
        found: list[TResponseInputItem] = await self._ask(
            self.underlying.get_items, *([_ALL_ITEMS] if limited else []), wrapper=wrapper
        )
        return found

    async def add_items(
        self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None
    ) -> None:
        await self._ask(self.underlying.add_items, items, wrapper=wrapper)

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:
        """Remove the newest item as it was added, also when it had been cleared or summarized."""
        found: TResponseInputItem | None = await self._ask(self.underlying.pop_item, wrapper=wrapper)
        return found

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Remove everything, in the manager's store too; redacted archives stay."""
        await self._ask(self.underlying.clear_session, wrapper=wrapper)
        await self._manager.adelete(self.session_id)

    async def _ask(self, method: Any, *args: Any, wrapper: RunContextWrapper[Any] | None) -> Any:
        if wrapper is not None and "wrapper" in signature(method).parameters:
            return await method(*args, wrapper=wrapper)
        return await method(*args)
