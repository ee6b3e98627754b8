"""Conversations as a caller holds them, in OpenAI chat and Anthropic format, and managers for them.

Sizes are exact with the `chars4` counter on an OpenAI model: a text of n tokens has 4n characters, a message
takes 4 tokens more, and a prompt 3 tokens in addition to its messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from compact import CompactConfig, CompactManager, count_tokens, lint
from compact.archives.memory import MemoryArchive
from compact.engine.drivers import Ports
from compact.model.event import Event, EventName
from compact.testing.scripted import CollectingExporter, EchoSummarizer

Raw = dict[str, Any]

ROLE = 4
PRIMING = 3
LONG_ENOUGH = (
    "The team builds a booking service. Decided: PostgreSQL, not MySQL; amounts are kept in cents; the "
    "release is frozen until Friday. Open: who signs off the migration, and whether the importer may retry."
)
"""A summary that passes every preset's least length."""


def words(label: str, tokens: int) -> str:
    """Exactly `tokens` tokens for the chars4 counter, beginning with the label."""
    filler = " The nightly import moves rows between two tables and writes a line for each."
    text = f"{label}:"
    while len(text) < 4 * tokens:
        text += filler
    # A letter at the end, because some providers reject trailing white space.
    return text[: 4 * tokens - 1] + "e"


def system(tokens: int = 20, label: str = "You are careful") -> Raw:
    return {"role": "system", "content": words(label, tokens)}


def user(label: str, tokens: int = 46, **more: Any) -> Raw:
    return {"role": "user", "content": words(label, tokens), **more}


def assistant(label: str, tokens: int = 46, **more: Any) -> Raw:
    return {"role": "assistant", "content": words(label, tokens), **more}


def pairs(count: int, tokens: int = 46, first: int = 1) -> list[Raw]:
    """`count` questions with their answers; each message is `tokens` + 4."""
    made: list[Raw] = []
    for number in range(first, first + count):
        made += [user(f"question {number}", tokens), assistant(f"answer {number}", tokens)]
    return made


def step(
    number: int, output: int = 100, tool: str = "read_file", calls: int = 1, said: str | None = None
) -> list[Raw]:
    """An assistant message that calls a tool `calls` times at once, and results of `output` tokens each."""
    ids = [f"call_{number:03d}" + ("" if calls == 1 else "abcdefgh"[n]) for n in range(calls)]
    asked = [
        {
            "id": i,
            "type": "function",
            "function": {"name": tool, "arguments": f'{{"path": "src/m{number}.py"}}'},
        }
        for i in ids
    ]
    results = [{"role": "tool", "tool_call_id": i, "content": words(f"output {i}", output)} for i in ids]
    return [{"role": "assistant", "content": said, "tool_calls": asked}, *results]


def steps(count: int, output: int = 100, first: int = 1, **more: Any) -> list[Raw]:
    return [message for n in range(first, first + count) for message in step(n, output, **more)]


def protected(message: Raw) -> Raw:
    return {**message, "meta": {"protected": True}}


def tool(name: str, **more: Any) -> Raw:
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "a path"}}}
    function = {"name": name, "description": f"{name} does its work", "parameters": schema}
    return {"type": "function", "function": function, **more}


def anthropic_step(number: int, output: int = 100, thinking: str | None = None) -> list[Raw]:
    blocks: list[Raw] = []
    if thinking is not None:
        blocks.append({"type": "thinking", "thinking": thinking, "signature": f"sig-{number}"})
    blocks.append(
        {
            "type": "tool_use",
            "id": f"toolu_{number:03d}",
            "name": "read_file",
            "input": {"path": f"m{number}.py"},
        }
    )
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_{number:03d}",
        "content": words(f"output {number}", output),
    }
    return [{"role": "assistant", "content": blocks}, {"role": "user", "content": [result]}]


SMALL_WINDOW = 20_000


class Desk:
    """A manager with everything in memory, and its events.

    In a small window the presets' reserve (1,500 or 4,096 tokens) would decide instead of their share of the
    window. So there it is 100 unless a test sets another value, and outputs are not shortened. `composed`
    puts the evidence ledger and the checks between the engine and the summarizer, as in production; without
    it a test controls exactly what the engine gets.
    """

    def __init__(
        self,
        preset: str = "budget",
        window: int = 4_000,
        summarizer: Any = None,
        *,
        model: str = "gpt-4o",
        counter: str = "chars4",
        store: Any = None,
        composed: bool = False,
        config: dict[str, Any] | None = None,
        **policy: Any,
    ) -> None:
        if window < SMALL_WINDOW:
            whole = {"output_cap_pct": 1.0, "target_pct": 1.0, "oversize": "raise"}
            policy = {"output_reserve" if preset == "agent" else "hard_cap_buffer": 100} | whole | policy
        self.summarizer = summarizer if summarizer is not None else EchoSummarizer()
        self._model, self._counter = model, counter
        self.archive = MemoryArchive()
        self.exporter = CollectingExporter()
        settings: dict[str, Any] = {
            "model": model,
            "max_context_tokens": window,
            "preset": preset,
            "policy": policy or None,
            "counter": counter,
            # The seed's chain, literally; the embedded summarizer behind it has its own tests.
            "summarizer": {"fallback": "none"},
            **(config or {}),
        }
        self.manager = CompactManager(
            CompactConfig(**settings), self.summarizer, store, self.archive, [self.exporter]
        )
        if not composed:
            self.manager._ports = self.bare_ports  # type: ignore[method-assign, assignment]

    def bare_ports(self, session_id: str) -> Ports:
        """The bare summarizer: no evidence added to its prose, no checks except the flow's own."""
        engine = self.manager._engine
        return Ports(engine.store, self.archive, self.summarizer, partial(engine.events.emit, session_id))

    def preflight(self, messages: Sequence[Raw], session: str = "s", **more: Any) -> list[Raw]:
        out: list[Raw] = self.manager.preflight(session, messages, **more)
        return out

    def prepare(self, messages: Sequence[Raw], session: str = "s", **more: Any) -> Any:
        return self.manager.prepare(session, messages, **more)

    def tokens(self, messages: Sequence[Raw], **more: Any) -> int:
        """The size of these messages as they are, counted again."""
        return count_tokens(messages, self._model, counter=self._counter, **more)

    def events(self, name: EventName) -> list[Event]:
        return self.exporter.named(name)

    @property
    def decisions(self) -> list[tuple[bool, str]]:
        """(triggered, reason) of every call, in order."""
        told = self.events(EventName.TRIGGER_DECISION)
        return [(event.data["triggered"], event.data["reason"]) for event in told]

    @property
    def warnings(self) -> list[str]:
        return [event.data["message"] for event in self.events(EventName.WARNING)]


class ShippedDesk(Desk):
    """A desk with the evidence ledger and the checks, as users have them, for tests of requirements."""

    def __init__(self, *args: Any, composed: bool = True, **more: Any) -> None:
        super().__init__(*args, composed=composed, **more)


def texts(messages: Sequence[Raw]) -> list[str]:
    """The label at the start of each message."""
    return [str(message.get("content") or "").split(":")[0].split("\n")[0] for message in messages]


def summaries(messages: Sequence[Raw]) -> list[Raw]:
    return [m for m in messages if str(m.get("content") or "").startswith("<COMPACT-SUMMARY")]


def results_of(messages: Sequence[Raw]) -> dict[str, str]:
    """Tool outputs by call id."""
    return {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}


def is_sound(messages: Sequence[Raw], provider: str = "openai") -> bool:
    return lint(messages, provider) == []
