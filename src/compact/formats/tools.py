"""Tool definitions in any spelling, read for their names and for counting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from compact.formats.fields import is_array

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "params_json_schema")


class ToolParts(NamedTuple):
    """What a model sees of a tool; `name` is None only if the definition has neither a name nor a type."""

    name: str | None
    description: str
    schema: Mapping[str, Any]


def tool_list(tools: Sequence[Any] | Mapping[str, Any] | None) -> list[ToolParts]:
    """Every tool of a list, or of the AI SDK's mapping from name to definition."""
    if tools is None:
        return []
    if isinstance(tools, Mapping):
        return [tool_parts(tool)._replace(name=str(name)) for name, tool in tools.items()]
    return [tool_parts(tool) for tool in tools]


def tool_names(tools: Sequence[Any] | Mapping[str, Any] | None) -> list[str | None]:
    return [tool.name for tool in tool_list(tools)]


def tool_parts(tool: Any) -> ToolParts:
    """Name, description and JSON schema of one tool; a hosted tool is named by its type and has no schema."""
    fields = _fields(tool)
    inner = fields.get("function") or fields.get("custom")
    if isinstance(inner, Mapping):
        fields = {"type": fields.get("type"), **inner}
    name = fields.get("name")
    if not isinstance(name, str):
        name = fields.get("type")
    description = fields.get("description")
    schema = next((found for key in _SCHEMAS if (found := fields.get(key)) is not None), None)
    if schema is None and is_array(fields.get("tools")):
        # A namespace of tools: all of them are sent.
        schema = {"tools": fields["tools"]}
    wrapped = schema.get("jsonSchema") if isinstance(schema, Mapping) else None
    if isinstance(wrapped, Mapping):
        schema = wrapped
    return ToolParts(
        name if isinstance(name, str) else None,
        description if isinstance(description, str) else "",
        schema if isinstance(schema, Mapping) else {},
    )


def _fields(tool: Any) -> Mapping[str, Any]:
    if isinstance(tool, Mapping):
        return tool
    dump = getattr(tool, "model_dump", None)
    if callable(dump):
        dumped = dump(by_alias=True, exclude_unset=True)
        return dumped if isinstance(dumped, Mapping) else {}
    # Objects of frameworks, such as the Agents SDK's FunctionTool, are read by attribute.
    names = ("type", "name", "description", *_SCHEMAS)
    return {key: getattr(tool, key) for key in names if getattr(tool, key, None) is not None}
