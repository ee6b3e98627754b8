"""Custom spans in the trace of the Agents SDK that is under way, and none anywhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from agents import agent_span, trace
from agents.tracing import Span, Trace, TracingProcessor

from compact import CompactConfig, CompactManager
from compact.tracing.agents_sdk import AgentsSdkSpans
from support.agents_runs import traced_by


class Collected(TracingProcessor):
    def __init__(self) -> None:
        self.ended: list[Any] = []
        self.started: list[str] = []

    def on_span_start(self, span: Span[Any]) -> None:
        self.started.append(span.span_id)

    def on_span_end(self, span: Span[Any]) -> None:
        self.ended.append(span)

    def on_trace_start(self, trace: Trace) -> None: ...

    def on_trace_end(self, trace: Trace) -> None: ...

    def shutdown(self) -> None: ...

    def force_flush(self) -> None: ...

    def ours(self) -> list[Any]:
        return [span for span in self.ended if span.export()["span_data"]["type"] == "custom"]


@pytest.fixture
def collected() -> Iterator[Collected]:
    processor = Collected()
    with traced_by(processor):
        yield processor


def history(turns: int) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"message {n} " + "word " * 150} for n in range(2 * turns)]


def manager(summarizer: Any = None) -> CompactManager:
    config = CompactConfig(
        max_context_tokens=6_000,
        counter="chars4",
        archive={"adapter": "none"},
        summarizer={"fallback": "none"},
    )
    return CompactManager(config, summarizer=summarizer, exporters=[AgentsSdkSpans()])


NAMES = ["token_estimate", "trigger_decision", "summary_created", "pruned_messages", "compaction"]


@pytest.mark.spec("S4.12")
def test_spans_stand_in_the_current_trace_beneath_the_current_span(collected: Collected) -> None:
    with trace("a run") as run, agent_span("worker") as worker:
        manager().preflight("s", history(30))
    spans = {span.export()["span_data"]["name"]: span for span in collected.ours()}
    assert list(spans) == [f"compact.{name}" for name in NAMES]
    whole = spans.pop("compact.compaction")
    assert whole.parent_id == worker.span_id and whole.trace_id == run.trace_id
    assert {span.parent_id for span in spans.values()} == {whole.span_id}
    data = whole.export()["span_data"]["data"]
    assert data["tokensAfter"] < data["tokensBefore"] and data["step"] == 1
    assert sorted(collected.started) == sorted(span.span_id for span in collected.ended)


async def test_tasks_at_once_keep_to_their_own_traces(collected: Collected) -> None:
    shared = manager()

    async def run(name: str) -> str:
        with trace(name) as current:
            # Each of its own: one that found another's compaction of the same history would make none.
            await shared.apreflight(name, [{"role": "user", "content": name}, *history(30)[1:]])
            return current.trace_id

    ids = await asyncio.gather(*(run(f"run {number}") for number in range(5)))
    spans = collected.ours()
    for trace_id in ids:
        assert [s.span_data.name for s in spans if s.trace_id == trace_id] == [f"compact.{n}" for n in NAMES]


@pytest.mark.spec("S4.12")
def test_a_failed_summary_is_an_error_in_the_trace_and_secrets_are_not(collected: Collected) -> None:
    def fails(request: Any) -> str:
        raise RuntimeError("401 for password=horsestaple")

    with trace("a run"):
        manager(fails).preflight("s", history(30))
    spans = {span.span_data.name: span for span in collected.ours()}
    data = spans["compact.error"].span_data.data
    assert (data["status"], data["error_type"], data["fallback"]) == (
        "error",
        "SummarizerError",
        "pruning-only",
    )
    assert "401" in spans["compact.error"].error["message"]
    assert spans["compact.summarize"].error is not None and spans["compact.compaction"].error is None
    assert not any("horsestaple" in str(span.export()) for span in collected.ours())


def test_without_a_trace_nothing_happens(collected: Collected) -> None:
    without = manager()
    without.preflight("s", history(30))
    with trace("disabled", disabled=True):
        without.preflight("t", history(30))
    assert collected.ended == []
    with trace("a run"):
        without.preflight("t", history(31))
    assert {span.span_data.name for span in collected.ours()} >= {"compact.token_estimate"}
