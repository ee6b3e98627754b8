"""What the Agents SDK sends to a model besides the conversation: tools, handoffs, the output schema."""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import Any

from agents import Agent, AgentOutputSchema, AgentOutputSchemaBase, Handoff, RunContextWrapper, Tool, handoff
from agents.tracing import get_current_trace

_AGENTS_KEPT = 64


class ToolsOnTheWire:
    """An agent's tools as they are sent. MCP servers are queried once per run and agent, not at each call."""

    def __init__(self) -> None:
        self._listed: OrderedDict[int, tuple[Agent[Any], str, list[Tool]]] = OrderedDict()

    async def of(self, agent: Agent[Any], context: Any) -> list[Any]:
        try:
            tools = await self._tools(agent, context)
        except Exception:
            # The SDK listed them a moment ago; the agent's own list is a better guess than nothing.
            tools = list(agent.tools)
        sent = on_the_wire(tools, _handoffs(agent))
        schema = _answer_schema(agent.output_type)
        return sent if schema is None else [*sent, schema]

    async def _tools(self, agent: Agent[Any], context: Any) -> list[Tool]:
        if not agent.mcp_servers:
            return await agent.get_all_tools(RunContextWrapper(context))
        trace = get_current_trace()
        run = trace.trace_id if trace is not None else "no-op"
        known = self._listed.get(id(agent))
        if known is not None and known[0] is agent and known[1] == run != "no-op":
            return known[2]
        tools = await agent.get_all_tools(RunContextWrapper(context))
        self._listed[id(agent)] = (agent, run, tools)
        while len(self._listed) > _AGENTS_KEPT:
            self._listed.popitem(last=False)
        return tools


def on_the_wire(tools: list[Tool], handoffs: list[Handoff[Any, Any]]) -> list[Any]:
    """Tool definitions as the SDK writes them into a request."""
    try:
        from agents.models.openai_responses import Converter

        return list(Converter.convert_tools(tools, handoffs).tools)
    except Exception:
        # A type of tool that only other models accept: its name, description and schema are counted.
        named = [
            {"name": way.tool_name, "description": way.tool_description, "parameters": way.input_json_schema}
            for way in handoffs
        ]
        return [*tools, *named]


def _handoffs(agent: Agent[Any]) -> list[Handoff[Any, Any]]:
    ways = [way if isinstance(way, Handoff) else handoff(way) for way in agent.handoffs]
    return [way for way in ways if way.is_enabled is not False]


def _answer_schema(output_type: Any) -> dict[str, Any] | None:
    """The JSON schema of the answer, in the shape of a tool, because it is counted the same way."""
    if output_type is None or output_type is str:
        return None
    form = output_type if isinstance(output_type, AgentOutputSchemaBase) else _form_of(output_type)
    if form.is_plain_text():
        return None
    return {"type": "function", "name": form.name(), "parameters": form.json_schema()}


@lru_cache(maxsize=256)
def _form_of(output_type: Any) -> AgentOutputSchemaBase:
    return AgentOutputSchema(output_type)
