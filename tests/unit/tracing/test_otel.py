"""Spans and metrics through a provider of the program's own, as OpenTelemetry's SDK collects them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from compact import CompactConfig, CompactManager
from compact.model.event import Event, EventName
from compact.model.message import Usage
from compact.model.summary import Summary
from compact.tracing.otel import OtelExporter
from compact.tracing.otel_metrics import CacheEstimate


class Telemetry:
    def __init__(self, **options: Any) -> None:
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.exporter = OtelExporter(tracer_provider=self.tracers, meter_provider=meters, **options)

    def all_spans(self) -> tuple[ReadableSpan, ...]:
        return self._spans.get_finished_spans()

    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.all_spans()}

    def all_metrics(self) -> MetricsData:
        found = self._reader.get_metrics_data()
        assert found is not None
        return found

    def metrics(self) -> dict[str, Any]:
        """The first data point of each metric."""
        scope = self.all_metrics().resource_metrics[0].scope_metrics[0]
        return {metric.name: metric.data.data_points[0] for metric in scope.metrics}


def history(turns: int) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"src/app_{n}.py " + "word " * 150} for n in range(2 * turns)]


def manager(telemetry: Telemetry, summarizer: Any = None) -> CompactManager:
    config = CompactConfig(
        max_context_tokens=6_000,
        counter="chars4",
        archive={"adapter": "none"},
        summarizer={"fallback": "none"},
    )
    return CompactManager(config, summarizer=summarizer, exporters=[telemetry.exporter])


def test_a_compaction_is_a_child_of_the_span_that_was_current_where_it_happened() -> None:
    telemetry = Telemetry()
    with (
        manager(telemetry) as traced,
        telemetry.tracers.get_tracer("app").start_as_current_span("answer") as current,
    ):
        traced.preflight("s", history(2))
        traced.preflight("s", history(30))
    spans = telemetry.spans()
    whole = spans["compact.compaction"]
    assert whole.parent is not None and whole.parent.span_id == current.get_span_context().span_id
    children = [name for name, span in spans.items() if span.parent == whole.context]
    assert children == [
        "compact.token_estimate",
        "compact.trigger_decision",
        "compact.summary_created",
        "compact.pruned_messages",
    ]
    # What compacted nothing is in the metrics only.
    assert len(spans) == 6 and telemetry.metrics()["compact.context.usage"].count == 2
    assert whole.start_time is not None and whole.end_time is not None
    assert whole.start_time < whole.end_time


def test_attributes_follow_the_conventions_and_leave_texts_out_unless_asked() -> None:
    made = Summary(
        "The importer reads a stale file. " * 8, 60, model="gpt-4o-mini", usage=Usage(900, 60, 800, 0)
    )
    for capture in (False, True):
        telemetry = Telemetry(capture_content=capture)
        with manager(telemetry, lambda request: made) as traced:
            traced.preflight("session-7", history(30))
        spans = telemetry.spans()
        whole, summary = spans["compact.compaction"].attributes, spans["compact.summary_created"].attributes
        assert whole is not None and summary is not None
        assert whole["gen_ai.conversation.id"] == summary["gen_ai.conversation.id"] == "session-7"
        assert whole["gen_ai.conversation.compacted"] is True
        assert whole["compact.tokens_after"] < whole["compact.tokens_before"]  # type: ignore[operator]
        assert summary["gen_ai.operation.name"] == "chat" and summary["gen_ai.provider.name"] == "openai"
        assert summary["gen_ai.usage.input_tokens"] == 900
        assert summary["gen_ai.usage.cache_read.input_tokens"] == 800
        held = [key for key, value in {**whole, **summary}.items() if "stale file" in str(value)]
        assert held == (["compact.summary"] if capture else [])


def test_a_failure_is_an_error_status_and_is_counted() -> None:
    def fails(request: Any) -> str:
        raise RuntimeError("no network")

    telemetry = Telemetry()
    with manager(telemetry, fails) as traced:
        traced.preflight("s", history(30))
    spans = telemetry.spans()
    assert spans["compact.error"].status.status_code.name == "ERROR"
    assert "no network" in str(spans["compact.error"].status.description)
    assert spans["compact.summarize"].status.status_code.name == "ERROR"
    assert spans["compact.compaction"].status.status_code.name == "UNSET"
    point = telemetry.metrics()["compact.errors"]
    assert point.value == 1 and point.attributes["compact.fallback"] == "pruning-only"


def test_metrics_add_up() -> None:
    telemetry = Telemetry()
    with manager(telemetry) as traced:
        for turns in range(1, 40):
            traced.preflight("s", history(turns)[:-1])
        done = [event for event in traced.events if event.name is EventName.COMPLETE]
    points = telemetry.metrics()
    saved = sum(event.data["tokensBefore"] - event.data["tokensAfter"] for event in done)
    assert len(done) > 1 and points["compact.compactions"].value == len(done)
    assert points["compact.tokens.saved"].value == saved
    assert points["compact.summary.duration"].count == points["compact.survival"].count == len(done)
    assert points["compact.cache.hit_ratio"].count == 38
    assert 0.5 < points["compact.cache.hit_ratio"].sum / 38 < 1


def told(estimate: CacheEstimate, name: EventName, **data: Any) -> float | None:
    return estimate.take(Event(name, "s", 1, 0.0, data))


def test_the_cache_estimate_follows_what_is_sent() -> None:
    def prompt(estimate: CacheEstimate, total: int) -> None:
        told(estimate, EventName.TOKEN_ESTIMATE, t_est=total, breakdown={"messages": total - 100})

    estimate = CacheEstimate()
    prompt(estimate, 400)
    assert told(estimate, EventName.TRIGGER_DECISION, triggered=False) is None
    prompt(estimate, 500)
    assert told(estimate, EventName.TRIGGER_DECISION, triggered=False) == 0.8
    prompt(estimate, 1_000)
    assert told(estimate, EventName.TRIGGER_DECISION, triggered=True) is None
    assert told(estimate, EventName.COMPLETE, tokensAfter=250) == 0.4
    prompt(estimate, 500)
    assert told(estimate, EventName.TRIGGER_DECISION, triggered=False) == 0.5
    told(estimate, EventName.WARNING, breaks_cache=True)
    prompt(estimate, 600)
    assert told(estimate, EventName.TRIGGER_DECISION, triggered=False) == 0.0
    prompt(estimate, 800)
    assert told(estimate, EventName.FAILED, error="x") == 0.75


PROVIDERS = """
import sys
from opentelemetry import trace, metrics
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from compact import CompactConfig, CompactManager
manager = CompactManager(CompactConfig(max_context_tokens=6000, counter="chars4", archive={"adapter": "none"},
                                       tracing={"otel": True}))
spans = InMemorySpanExporter()
if sys.argv[1] == "set":
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
roles = ("user", "assistant")
manager.preflight("s", [{"role": roles[n % 2], "content": "word " * 200} for n in range(60)])
manager.close()
print(len(spans.get_finished_spans()))
"""


@pytest.mark.parametrize(("how", "count"), [("set", 5), ("unset", 0)])
def test_the_programs_own_provider_is_used_also_when_it_is_set_later(how: str, count: int) -> None:
    done = subprocess.run([sys.executable, "-c", PROVIDERS, how], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (str(count), "")
