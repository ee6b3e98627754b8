"""What the Agents SDK traces of a run with Compact, in the process and at our trace service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents import RunConfig, Runner
from agents.testing import ScriptedModel
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor

from compact.integrations.openai_agents import compact_filter
from compact.tracing.agents_sdk import AgentsSdkSpans
from support.agents_runs import TASK, Spans, manager_for, reader, reading, traced_by
from support.trace_service import trace_service

ROUND = ["token_estimate", "trigger_decision", "summary_created", "pruned_messages", "archival"]


async def run_traced(group: str = "work") -> Any:
    manager = manager_for(exporters=[AgentsSdkSpans()])
    options = RunConfig(
        workflow_name="Reading the log", group_id=group, call_model_input_filter=compact_filter(manager)
    )
    agent = reader(ScriptedModel(reading(), emit_traces=True))
    await Runner.run(agent, TASK, max_turns=60, run_config=options)
    return manager


def name_of(span: Any) -> str:
    return str(span.export()["span_data"].get("name"))


async def test_our_spans_stand_inside_the_runs_trace_in_order() -> None:
    seen = Spans()
    with traced_by(seen):
        manager = await run_traced()
    (run,) = seen.traces
    assert {span.trace_id for span in seen.spans} == {run.trace_id}
    ours = [span for span in seen.spans if name_of(span).startswith("compact.")]
    by_id = {span.span_id: span for span in seen.spans}
    compactions = [span for span in ours if name_of(span) == "compact.compaction"]
    rounds = sum(event.name == "compaction-complete" for event in manager.events)
    assert len(compactions) == rounds >= 4
    assert [span.span_data.data["step"] for span in compactions] == list(range(1, rounds + 1))
    for span in compactions:
        inside = [name_of(other) for other in ours if other.parent_id == span.span_id]
        assert set(inside) == {f"compact.{name}" for name in ROUND}
    for span in ours:
        if span not in compactions and by_id[span.parent_id] not in compactions:
            assert by_id[span.parent_id].span_data.type in ("agent", "turn"), "beneath what the SDK does"
    # Every prompt is estimated and decided on before the model is asked.
    order = [name_of(s) if s in ours else s.span_data.type for s in seen.spans]
    told = [step for step in order if step in ("compact.token_estimate", "generation")]
    assert told == ["compact.token_estimate", "generation"] * (len(told) // 2)
    assert all(span.ended_at is not None and span.started_at <= span.ended_at for span in ours)


async def test_the_sdks_own_exporter_shows_the_whole_tree_at_our_service(tmp_path: Path) -> None:
    with trace_service(tmp_path / "traces.db") as service:
        endpoint = f"{service.base_url}".rstrip("/") + "/v1/traces/ingest"
        exporter = BackendSpanExporter(api_key="none", endpoint=endpoint, max_retries=0)
        batches = BatchTraceProcessor(exporter, schedule_delay=0.1)
        seen = Spans()
        with traced_by(seen, batches):
            await run_traced("keeper-log")
            batches.force_flush()
        batches.shutdown()
        exporter.close()
        (run,) = seen.traces
        shown = service.get(f"/traces/{run.trace_id}").json()
        listed = service.get("/traces").json()
    assert shown["name"] == "Reading the log" and shown["group_id"] == "keeper-log"
    assert [each["trace_id"] for each in listed["traces"]] == [run.trace_id]
    spans = {span["span_id"]: span for span in shown["spans"]}
    assert spans.keys() == {span.span_id for span in seen.spans}, "nothing is missing, nothing is twice"
    for span in seen.spans:
        assert spans[span.span_id]["parent_id"] == span.parent_id
    assert not any(span["orphan"] for span in spans.values()) and shown["running_count"] == 0
    roots = [span for span in spans.values() if span["parent_id"] is None]
    names = {span["name"] for span in spans.values()}
    assert len(roots) == 1 and {"reader", "read_page", "compact.compaction"} <= names
