"""Runs of the real OpenAI Agents SDK: an agent that reads pages, and models that make it do so."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agents import Agent, FunctionTool, Span, Trace, TracingProcessor, function_tool
from agents.models.openai_responses import Converter
from agents.testing import ModelCall, ScriptedModel, assistant_message, function_call
from agents.tracing import get_trace_provider, set_trace_processors
from openai.types.responses import ResponseReasoningItem

from compact import CompactConfig, CompactManager, count_tokens, lint
from compact.archives.memory import MemoryArchive
from support.wire_servers import Behavior, status

WINDOW = 8_000
BUDGET = WINDOW - int(0.15 * WINDOW)
PAGES = 36
TASK = "Read all pages of the lighthouse log, then name the keeper of page 7. Never guess a name."
INSTRUCTIONS = "You read logs. Quote exactly."


def page_text(number: int) -> str:
    """About 700 tokens; only the first sentence matters."""
    filler = " ".join(
        f"At {hour:02d}:{(number * 7 + hour) % 60:02d} the lamp turned and ship {number * 31 + hour} passed."
        for hour in range(48)
    )
    found = f"the keeper was Keeper-{number * 17}, the report is logs/page_{number:02d}.txt"
    return f"Page {number}: {found}. {filler}"


@function_tool
def read_page(number: int) -> str:
    """Read one page of the log."""
    return page_text(number)


def manager_for(window: int = WINDOW, summarizer: Any = None, **options: Any) -> CompactManager:
    exporters, store = options.pop("exporters", ()), options.pop("store", None)
    config = CompactConfig(model="gpt-4o", max_context_tokens=window, **options)
    return CompactManager(config, summarizer, store, MemoryArchive(), exporters)


def reading(pages: int = PAGES, reasoning: bool = False) -> list[list[Any]]:
    """Model steps that read page after page, two at once every third time, and then answer."""
    numbers = iter(range(pages))
    steps: list[list[Any]] = []
    for turn in itertools.count():
        some = list(itertools.islice(numbers, 2 if turn % 3 == 2 else 1))
        if not some:
            break
        step: list[Any] = [function_call("read_page", {"number": n}, call_id=f"call_{n}") for n in some]
        if reasoning:
            thought = ResponseReasoningItem(id=f"rs_{turn}", type="reasoning", summary=[])
            step.insert(0, thought)
        steps.append(step)
    steps.append([assistant_message("Keeper-119")])
    return steps


def reader(model: Any, **options: Any) -> Agent[Any]:
    tools: list[FunctionTool] = options.pop("tools", [read_page])
    return Agent("reader", instructions=INSTRUCTIONS, tools=tools, model=model, **options)


def scripted(steps: Sequence[Any]) -> ScriptedModel:
    return ScriptedModel(steps)


def refused(items: Any) -> list[str]:
    """What the API would reject, except for the ids that the SDK's scripted model gives its items."""
    by_double = ("id-prefix", "duplicate-id")
    found = lint(items, "openai", format="openai-responses")
    return [str(violation) for violation in found if violation.code.value not in by_double]


def prompt_problems(call: ModelCall, budget: int = BUDGET) -> list[str]:
    """What a provider would reject in this prompt, or that it is over the budget."""
    found = refused(call.input)
    tools = Converter.convert_tools(call.tools, call.handoffs).tools
    tokens = count_tokens(call.input, tools=tools, system=call.system_instructions, format="openai-responses")
    return found + ([f"{tokens} tokens"] if tokens > budget else [])


class Spans(TracingProcessor):
    """Keeps what the SDK traces."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self.spans: list[Span[Any]] = []

    def on_trace_start(self, trace: Trace) -> None:
        self.traces.append(trace)

    def on_trace_end(self, trace: Trace) -> None: ...

    def on_span_start(self, span: Span[Any]) -> None:
        self.spans.append(span)

    def on_span_end(self, span: Span[Any]) -> None: ...

    def shutdown(self) -> None: ...

    def force_flush(self) -> None: ...


@contextmanager
def traced_by(*processors: TracingProcessor) -> Iterator[None]:
    """Only these processors, so that nothing is exported anywhere else."""
    provider = get_trace_provider()
    before = list(provider._multi_processor._processors)
    set_trace_processors(list(processors))
    try:
        yield
    finally:
        set_trace_processors(before)


def responses_answer(output: Sequence[Any], tokens: int = 100) -> Behavior:
    """A response of the Responses API."""
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "served-model",
        "output": [item.model_dump(exclude_none=True) for item in output],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": tokens,
            "output_tokens": 5,
            "total_tokens": tokens + 5,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }
    return status(200, body)


def chat_answer(wire: Any) -> Callable[[Sequence[Any]], Behavior]:
    """The same step as a chat completions response."""

    def answer(output: Sequence[Any]) -> Behavior:
        calls = [
            {
                "id": item.call_id,
                "type": "function",
                "function": {"name": item.name, "arguments": item.arguments},
            }
            for item in output
            if item.type == "function_call"
        ]
        if calls:
            return wire.answer(None, "tool_calls", tool_calls=calls)
        return wire.answer(output[-1].content[0].text)

    return answer
