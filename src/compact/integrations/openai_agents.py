"""Compact inside the OpenAI Agents SDK, without changes to it.

`compact_filter` goes into `RunConfig.call_model_input_filter` and sees every prompt of a run.
`CompactSession` wraps an SDK session and returns the compacted history at the start of a run. `CompactModel`
wraps a model instead, for runs that are configured elsewhere. `CompactHooks` reports the provider's own
counts and ends turns. `before_model_call` does the same for your own loops.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from inspect import Parameter, signature
from typing import Any
from weakref import WeakKeyDictionary

from compact import CompactManager, ConfigError, MissingExtra
from compact.integrations._base import SessionId, aend_turn, afit, aobserve, checked, session_of

try:
    from agents import (
        Agent,
        Model,
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

from compact.integrations._openai_agents_tools import ToolsOnTheWire, on_the_wire

__all__ = ["CompactHooks", "CompactModel", "CompactSession", "before_model_call", "compact_filter"]

_ALL_ITEMS = 2_147_483_647


def session_id_of(given: SessionId, context: Any, items: list[TResponseInputItem]) -> str:
    """The id of a run's session.

    The given id, else `session_id` of the run's context, else the trace's group id, else the trace's id;
    without tracing, a name derived from the first item.
    """
    trace = get_current_trace()
    group = getattr(trace, "group_id", None)
    if not isinstance(group, str) or not group:
        group = trace.trace_id if trace is not None and trace.trace_id != "no-op" else None
    found = session_of(given, context, ())
    if found != session_of(None):
        return found
    return group or session_of(None, None, items)


def compact_filter(
    manager: CompactManager, session_id: SessionId = None
) -> Callable[[CallModelData[Any]], Awaitable[ModelInputData]]:
    """For `RunConfig(call_model_input_filter=…)`: every prompt of the run fits, whatever its tools returned.

    Instructions, tools, handoffs and the output schema are counted as the SDK sends them. Instructions and
    all items that are not replaced stay unchanged.
    """
    checked(manager)
    wire = ToolsOnTheWire()

    async def fitting(data: CallModelData[Any]) -> ModelInputData:
        sent = data.model_data
        session = session_id_of(session_id, data.context, sent.input)
        if before := _finished(sent.input):
            await aend_turn(manager, session, before)
        tools = await wire.of(data.agent, data.context)
        fitted = await afit(manager, session, sent.input, tools, sent.instructions)
        return ModelInputData(input=fitted.messages, instructions=sent.instructions)

    return fitting


def _finished(items: list[TResponseInputItem]) -> list[TResponseInputItem]:
    """The turns before the newest one if that has just begun; how they ended does not matter."""
    new = len(items)
    while new and _kind(items[new - 1]) == "user":
        new -= 1
    return items[:new] if new < len(items) else []


def _kind(item: Any) -> str:
    """What an item is: its type, or the role of a message."""
    kind = item.get("type") if isinstance(item, dict) else getattr(item, "type", None)
    if kind not in (None, "message"):
        return str(kind)
    return str(item.get("role") if isinstance(item, dict) else getattr(item, "role", ""))


def _newest(items: list[TResponseInputItem], limit: int) -> list[TResponseInputItem]:
    """At most this many, beginning where a prompt may begin: no output without its call, no call without its
    reasoning. If the newest step alone is longer than the limit, that whole step."""
    starts: list[int] = []
    waiting: set[Any] = set()
    for at, item in enumerate(items):
        kind = _kind(item)
        call_id = item.get("call_id") if isinstance(item, dict) else getattr(item, "call_id", None)
        if kind.endswith("_output"):
            waiting.discard(call_id)
            continue
        if not waiting and not (at and _kind(items[at - 1]) == "reasoning"):
            starts.append(at)
        if call_id is not None:
            waiting.add(call_id)
    if limit >= len(items) or not starts:
        return items[-limit:]
    return items[next((start for start in starts if start >= len(items) - limit), starts[-1]) :]


def before_model_call(manager: CompactManager) -> Callable[[Any], None]:
    """A hook for your own loops: replaces `ctx.messages` with what fits.

    `ctx` has `session_id` and `messages`, and may have `tools` and `system`, which are counted.
    """

    checked(manager)

    def hook(ctx: Any) -> None:
        tools, system = getattr(ctx, "tools", None), getattr(ctx, "system", None)
        ctx.messages = manager.preflight(ctx.session_id, ctx.messages, tools=tools, system=system)

    return hook


class CompactModel(Model):
    """An SDK model whose prompts always fit: for agents whose runs you do not configure.

    Instructions, tools, handoffs and the output schema are counted, as they are passed to the model. A
    history that the provider stores (`previous_response_id`, a conversation) passes through.
    """

    def __init__(self, model: Model, manager: CompactManager, session_id: SessionId = None) -> None:
        self._model = model
        self._manager = checked(manager)
        self._session_id = session_id

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **rest: Any,
    ) -> ModelResponse:
        sent = await self._fitted(system_instructions, input, tools, output_schema, handoffs, rest)
        return await self._model.get_response(
            system_instructions, sent, model_settings, tools, output_schema, handoffs, tracing, **rest
        )

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **rest: Any,
    ) -> AsyncIterator[Any]:
        sent = await self._fitted(system_instructions, input, tools, output_schema, handoffs, rest)
        stream = self._model.stream_response(
            system_instructions, sent, model_settings, tools, output_schema, handoffs, tracing, **rest
        )
        async for event in stream:
            yield event

    async def close(self) -> None:
        await self._model.close()

    async def _fitted(
        self,
        system: str | None,
        items: str | list[TResponseInputItem],
        tools: list[Any],
        schema: Any,
        handoffs: list[Any],
        rest: Mapping[str, Any],
    ) -> str | list[TResponseInputItem]:
        if isinstance(items, str) or rest.get("previous_response_id") or rest.get("conversation_id"):
            return items
        sent = on_the_wire(tools, handoffs)
        if schema is not None and not schema.is_plain_text():
            sent = [*sent, {"type": "function", "name": schema.name(), "parameters": schema.json_schema()}]
        session = session_id_of(self._session_id, None, items)
        return (await afit(self._manager, session, items, sent, system)).messages


class CompactHooks(RunHooks[Any]):
    """Corrects a session's estimate with the provider's count for each prompt, and ends its turns.

    Pass as `hooks=`. Subclass it to add your own hooks, and call these.
    """

    def __init__(self, manager: CompactManager, session_id: SessionId = None) -> None:
        self._manager = checked(manager)
        self._session_id = session_id
        self._asked: WeakKeyDictionary[Any, tuple[list[TResponseInputItem], str | None]] = WeakKeyDictionary()
        self._open: dict[str, list[TResponseInputItem]] = {}
        """By session: the items of the turn that has not ended yet."""

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[TResponseInputItem],
    ) -> None:
        session = session_id_of(self._session_id, context.context, input_items)
        left = self._open.get(session)
        if left and _kind(input_items[-1]) == "user" and input_items[: len(left)] == left:
            # A run that failed has no last hook: its turn ends where the next one begins.
            await aend_turn(self._manager, session, left)
        self._asked[context] = (input_items, system_prompt)
        self._open[session] = list(input_items)

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        items, system = self._asked.pop(context, ([], None))
        if not items:
            return
        session = session_id_of(self._session_id, context.context, items)
        self._open[session] = [*items, *response.to_input_items()]
        if response.usage.input_tokens:
            await aobserve(self._manager, session, items, response.usage, system)

    async def on_agent_end(self, context: Any, agent: Agent[Any], output: Any) -> None:
        session = session_id_of(self._session_id, context.context, getattr(context, "turn_input", []))
        items = self._open.pop(session, [])
        if items:
            await aend_turn(self._manager, session, items)


class CompactSession:
    """An SDK session whose history fits: `get_items` returns the compacted view, `underlying` has everything.

    In the underlying session items are only added, call by call, and never rewritten. The manager's store
    records what a compaction replaces, so a crash, a bad summary or a second process cannot lose anything.
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
        self._manager = checked(manager)
        self._takes_wrapper = _takes_wrapper(underlying)

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """The history to send; with a limit, its newest items from a legal cut on."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        items = await self.original_items(wrapper=wrapper)
        if items:
            items = (await afit(self._manager, self.session_id, items)).messages
        return items if limit is None else _newest(items, limit)

    async def original_items(
        self, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """Everything that was ever added and not popped, as it was added."""
        # The session's own limit is for what is sent, and `get_items` applies it there.
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
        """Remove the newest item and return it as it was added, even if it had been cleared or summarized."""
        found: TResponseInputItem | None = await self._ask(self.underlying.pop_item, wrapper=wrapper)
        return found

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Remove everything, in the manager's store too; redacted archives stay."""
        await self._ask(self.underlying.clear_session, wrapper=wrapper)
        await self._manager.adelete(self.session_id)

    async def _ask(self, method: Any, *args: Any, wrapper: RunContextWrapper[Any] | None) -> Any:
        """The SDK's rule: all methods of a session get the run's context, or none of them."""
        if wrapper is not None and self._takes_wrapper:
            return await method(*args, wrapper=wrapper)
        return await method(*args)


def _takes_wrapper(session: Any) -> bool:
    names = ("get_items", "add_items", "pop_item", "clear_session")
    return all(_accepts_wrapper(getattr(session, name, None)) for name in names)


def _accepts_wrapper(method: Any) -> bool:
    try:
        parameter = signature(method).parameters.get("wrapper")
    except Exception:
        # C callables, proxies and mocks may have no signature: they are called without the context.
        return False
    return parameter is not None and parameter.kind in (
        Parameter.POSITIONAL_OR_KEYWORD,
        Parameter.KEYWORD_ONLY,
    )
