"""Tools that a door offers to the model: a name, a JSON schema and a callable, synchronous or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from compact import calling
from compact.model.message import ToolCall
from compact.model.value import value


@value
class ToolOutput:
    """What the model gets back for a call."""

    text: str
    is_error: bool = False


_STOPPED = "[This call was not run to its end: the reply was stopped. It may have taken effect.]"
UNFINISHED = ToolOutput(_STOPPED, is_error=True)


class ToolRunner(Protocol):
    """Runs a model's calls. It never raises: a call that fails gets an error as its result."""

    @property
    def schemas(self) -> Sequence[Mapping[str, Any]]:
        """Tools as OpenAI's chat format writes them."""
        ...

    def run(self, call: ToolCall) -> ToolOutput: ...

    async def arun(self, call: ToolCall) -> ToolOutput: ...


@dataclass(frozen=True)
class Tool:
    """`run` is called with the arguments by name; what it returns becomes text, or JSON if it is not text."""

    name: str
    description: str
    run: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    @property
    def schema(self) -> Mapping[str, Any]:
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


class Toolbox:
    """The ToolRunner for a list of tools."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}

    @property
    def schemas(self) -> Sequence[Mapping[str, Any]]:
        return [tool.schema for tool in self._tools.values()]

    def __len__(self) -> int:
        return len(self._tools)

    def with_tools(self, *tools: Tool) -> Toolbox:
        """A copy with these as well; a tool with the same name is replaced."""
        return Toolbox([*self._tools.values(), *tools])

    def run(self, call: ToolCall) -> ToolOutput:
        """For the synchronous driver; an asynchronous tool runs in its own loop."""
        try:
            return _output(calling.call(self._bound(call)))
        except Exception as error:
            return failed(call, error)

    async def arun(self, call: ToolCall) -> ToolOutput:
        """For the asynchronous driver; a synchronous tool runs in a thread."""
        try:
            return _output(await calling.acall(self._bound(call)))
        except Exception as error:
            return failed(call, error)

    def _bound(self, call: ToolCall) -> Callable[[], Any]:
        """The tool with the arguments of this call."""
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            raise LookupError(f"there is no tool {call.name!r} here; the tools are: {known}")
        return partial(tool.run, **_arguments(call.arguments))


def failed(call: ToolCall, error: Exception) -> ToolOutput:
    problem = str(error) or type(error).__name__
    return ToolOutput(f"[The call of {call.name} failed: {problem}]", is_error=True)


def _arguments(arguments: Any) -> Mapping[str, Any]:
    try:
        found = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        raise ValueError("its arguments are not JSON") from None
    if not isinstance(found, Mapping):
        raise ValueError("its arguments must be an object")
    return found


def _output(returned: Any) -> ToolOutput:
    if isinstance(returned, ToolOutput):
        return returned
    if returned is None:
        return ToolOutput("")
    if isinstance(returned, str):
        return ToolOutput(returned)
    return ToolOutput(json.dumps(returned, ensure_ascii=False, default=str))
