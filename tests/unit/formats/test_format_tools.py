"""Tool definitions in every spelling."""

from __future__ import annotations

from typing import Any

import pytest

from compact.formats.tools import tool_list, tool_names, tool_parts

SCHEMA = {"type": "object", "properties": {"at": {"type": "integer"}}}


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": SCHEMA}},
        {"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA, "strict": True},
        {"name": "look", "description": "Looks.", "input_schema": SCHEMA},
        {"name": "look", "description": "Looks.", "inputSchema": SCHEMA},
        {"name": "look", "description": "Looks.", "inputSchema": {"jsonSchema": SCHEMA}},
    ],
)
def test_every_spelling_says_the_same(tool: dict[str, Any]) -> None:
    assert tool_parts(tool) == ("look", "Looks.", SCHEMA)


def test_the_ai_sdks_mapping() -> None:
    tools = {"look": {"description": "Looks.", "inputSchema": SCHEMA}, "grep": {}}
    assert tool_list(tools) == [("look", "Looks.", SCHEMA), ("grep", "", {})]
    assert tool_names(tools) == ["look", "grep"]


def test_hosted_tools_go_by_their_type() -> None:
    tools = [
        {"type": "web_search"},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "custom", "custom": {"name": "grep"}},
        {"type": "mcp", "server_label": "s"},
        {},
    ]
    assert tool_names(tools) == ["web_search", "bash", "grep", "mcp", None]
    assert tool_parts(tools[0]) == ("web_search", "", {})
    assert tool_names(None) == []


def test_a_namespace_counts_with_its_tools() -> None:
    inner = [{"type": "function", "name": "f"}]
    assert tool_parts({"type": "namespace", "name": "crm", "tools": inner}) == ("crm", "", {"tools": inner})


def test_objects_of_the_agents_sdk() -> None:
    from agents import function_tool

    def look(at: int) -> str:
        """Looks."""
        return str(at)

    name, description, schema = tool_parts(function_tool(look))
    assert (name, description) == ("look", "Looks.") and "at" in schema["properties"]
