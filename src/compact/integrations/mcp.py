"""Compact as an MCP server: any client can compact, plan, recall and restore.

    from compact.integrations.mcp import server_for
    server_for(manager).run("stdio")

`compact mcp` does this from the command line, over standard input and output or over HTTP.
"""

from __future__ import annotations

from typing import Any

from compact import CompactError, CompactManager, MissingExtra
from compact.integrations._base import checked

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError as error:
    raise MissingExtra("mcp", "mcp") from error

__all__ = ["server_for"]

_ABOUT = (
    "Keeps long conversations inside a model's context window. Pass the whole conversation to `compact` "
    "before each model call and send what it returns. `recall` finds what a summary left out, `restore` "
    "undoes a compaction, `plan` shows what would happen and changes nothing."
)


def server_for(manager: CompactManager) -> Any:
    """An `MCPServer` with four tools on this manager; its store decides how long sessions last."""
    server = MCPServer("compact", title="Compact", instructions=_ABOUT)
    tools = _Tools(manager)
    for tool in (tools.compact, tools.plan, tools.recall, tools.restore):
        server.tool(structured_output=True)(tool)
    return server


class _Tools:
    """The tools; their docstrings and types are what a client sees."""

    def __init__(self, manager: CompactManager) -> None:
        self._manager = checked(manager)

    async def compact(
        self,
        session_id: str,
        messages: list[dict[str, Any]],
        system: str | None = None,
        tools: list[dict[str, Any]] | None = None,
        force: bool = False,
        note: str = "",
    ) -> dict[str, Any]:
        """Make a conversation fit the model's window.

        Give the whole conversation in your provider's format (OpenAI chat or Responses, Anthropic, Gemini)
        and send the messages that come back. With `force` it is compacted below the trigger too; `note`
        says what the summary should keep in view.
        """
        try:
            if force:
                sent = await self._manager.amanual_compact(session_id, messages, note, tools, system)
                done = await self._manager.aview(session_id, messages, tools, system)
                return _result(done, list(sent), sent != messages)
            prepared = await self._manager.aprepare(session_id, messages, tools, system)
        except CompactError as error:
            raise ToolError(str(error)) from error
        changed = prepared.was_compacted or prepared.was_pruned
        return _result(prepared, list(prepared.messages), changed)

    async def plan(
        self,
        session_id: str,
        messages: list[dict[str, Any]],
        system: str | None = None,
        tools: list[dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Show what `compact` would do with each message of this conversation now. Changes nothing."""
        try:
            plan = await self._manager.aplan(session_id, messages, tools, system)
        except CompactError as error:
            raise ToolError(str(error)) from error
        return {
            "triggered": plan.triggered,
            "reason": plan.reason.value,
            "mode": plan.mode.value,
            "tokens_before": plan.before,
            "tokens_after": plan.after,
            "window": plan.limits.window,
            "budget": plan.limits.budget,
            "steps": [
                {
                    "action": step.action.value,
                    "position": step.index,
                    "saves": step.saves,
                    "detail": step.detail,
                }
                for step in plan.steps
            ],
        }

    async def recall(self, session_id: str, query: str, limit: int = 5, after: int = -1) -> dict[str, Any]:
        """Find what was said in a session, even if it was cleared or summarized.

        `query` is a recall handle (r-… of an output, s-… of a summary) or words; `after` skips the messages
        up to that position.
        """
        try:
            found = await self._manager.arecall(session_id, query, limit, after=after)
        except CompactError as error:
            raise ToolError(str(error)) from error
        return {
            "found": [
                {"position": one.position, "role": one.role, "text": one.text, "handles": list(one.handles)}
                for one in found
            ]
        }

    async def restore(self, session_id: str, step: int) -> dict[str, Any]:
        """Undo a compaction by its number, and all that were built on it; returns the originals."""
        try:
            messages = await self._manager.arestore(session_id, step)
        except CompactError as error:
            raise ToolError(str(error)) from error
        return {"messages": messages}


def _result(prepared: Any, messages: list[Any], changed: bool) -> dict[str, Any]:
    return {
        "messages": messages,
        "changed": changed,
        "reason": prepared.debug.reason.value,
        "tokens_before": prepared.tokens.before,
        "tokens_after": prepared.tokens.final,
        "step": prepared.record.step if prepared.record is not None else None,
        "warnings": list(prepared.debug.warnings),
    }
