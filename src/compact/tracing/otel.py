"""Events as OpenTelemetry spans and metrics, named by the GenAI conventions where they apply."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from compact.errors import MissingExtra
from compact.model.event import Event, EventName
from compact.tracing.otel_metrics import Metrics
from compact.tracing.spans import COMPACTION, SUMMARIZE, Span, Spans, flattened

_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_NAME = "compact"
_OPEN_KEPT = 1_000
_PREFLIGHT = (EventName.TOKEN_ESTIMATE.value, EventName.TRIGGER_DECISION.value)
_PROVIDERS = {"claude": "anthropic", "gpt": "openai", "chatgpt": "openai", "o": "openai"}


class OtelExporter:
    """Uses the providers given here, else those that the program has set, else its own.

    Its own providers send to `endpoint`, as OTLP over HTTP. A compaction is a child of the span that was
    current where it happened. Preflights that compact nothing appear only in the metrics. The text of a
    summary is omitted unless `capture_content` is set, as the conventions require.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        tracer_provider: Any = None,
        meter_provider: Any = None,
        capture_content: bool = False,
    ) -> None:
        try:
            import opentelemetry.trace
        except ImportError:
            raise MissingExtra("opentelemetry-sdk", "otel") from None
        self._api = opentelemetry.trace
        self._given = (tracer_provider, meter_provider)
        self._own = _Own(endpoint) if endpoint is not None else None
        self._tracer: Any = None
        self._metrics: Metrics | None = None
        self._capture = capture_content
        self._spans = Spans()
        self._open: OrderedDict[str, Any] = OrderedDict()

    def export(self, event: Event) -> None:
        if self._metrics is None:
            # Not before the first event: a program may set its providers after it created a manager.
            self._connect()
        assert self._metrics is not None
        self._metrics.take(event)
        for span in self._spans.of(event):
            if span.parent is not None or span.name not in _PREFLIGHT:
                self._export_span(span)

    def _connect(self) -> None:
        from opentelemetry import metrics

        tracers, meters = self._given
        found = self._api.get_tracer_provider()
        if tracers is None and not isinstance(found, self._api.ProxyTracerProvider):
            tracers = found
        measured = metrics.get_meter_provider()
        if meters is None and type(measured).__name__ != "_ProxyMeterProvider":
            meters = measured
        if self._own is not None:
            tracers = tracers or self._own.tracers()
            meters = meters or self._own.meters()
        self._tracer = (tracers or found).get_tracer(_NAME)
        self._metrics = Metrics((meters or measured).get_meter(_NAME))

    def _export_span(self, span: Span) -> None:
        theirs = self._open.get(span.id)
        if theirs is None:
            parent = self._open.get(span.parent.id) if span.parent is not None else None
            context = self._api.set_span_in_context(parent) if parent is not None else None
            theirs = self._tracer.start_span(span.name, context, start_time=_ns(span.started))
            self._open[span.id] = theirs
            if len(self._open) > _OPEN_KEPT:
                self._open.popitem(last=False)[1].end()
        if span.ended is None:
            return
        theirs.update_name(span.name)
        theirs.set_attributes(self._attributes(span))
        if span.failed:
            code = self._api.StatusCode.ERROR
            theirs.set_status(
                self._api.Status(code, str(span.data.get("message") or span.data.get("error") or ""))
            )
        theirs.end(end_time=_ns(span.ended))
        del self._open[span.id]

    def _attributes(self, span: Span) -> dict[str, Any]:
        data = dict(span.data)
        if not self._capture:
            data.pop("summary" if span.name in _WITH_TEXT else "", None)
        found = {f"compact.{_snake(key)}": _plain(value) for key, value in flattened(data).items()}
        attributes = {key: value for key, value in found.items() if value is not None}
        if span.session_id:
            attributes["gen_ai.conversation.id"] = attributes["session.id"] = span.session_id
        if span.failed:
            attributes["error.type"] = str(data.get("error_type") or "compaction")
        if span.name == COMPACTION:
            saved = data.get("tokensAfter", 0) < data.get("tokensBefore", 0)
            attributes["gen_ai.conversation.compacted"] = bool("tokensAfter" in data and saved)
        elif span.name == EventName.SUMMARY_CREATED.value:
            attributes |= _of_model_call(data)
        return attributes

    def close(self) -> None:
        if self._own is not None:
            self._own.shutdown()

    def after_fork(self) -> None:
        self._spans.clear()
        self._open.clear()


_WITH_TEXT = (COMPACTION, SUMMARIZE, EventName.SUMMARY_CREATED.value, EventName.COMPLETE.value)


class _Own:
    """Providers that send to an endpoint; created only if needed, from modules that are already loaded.

    Loading the SDK in the queue's thread would be too late for a program that ends soon.
    """

    def __init__(self, endpoint: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http import metric_exporter, trace_exporter
            from opentelemetry.sdk import metrics, resources, trace
            from opentelemetry.sdk.metrics import export as metric_export
            from opentelemetry.sdk.trace import export as trace_export
        except ImportError:
            raise MissingExtra("opentelemetry-exporter-otlp-proto-http", "otel") from None
        base = endpoint.rstrip("/").removesuffix("/v1/traces").removesuffix("/v1/metrics")
        found = resources.Resource.create()
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override our name.
        if str(found.attributes["service.name"]).startswith("unknown_service"):
            found = found.merge(resources.Resource({"service.name": _NAME}))
        self._made: list[Any] = []

        # Turn off their own shutdown at exit: it could take any amount of time.
        def tracers() -> Any:
            made = trace.TracerProvider(resource=found, shutdown_on_exit=False)
            exporter = trace_exporter.OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=2)
            made.add_span_processor(trace_export.BatchSpanProcessor(exporter, schedule_delay_millis=1_000))
            return made

        def meters() -> Any:
            exporter = metric_exporter.OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=2)
            reader = metric_export.PeriodicExportingMetricReader(exporter, export_interval_millis=10_000)
            return metrics.MeterProvider([reader], resource=found, shutdown_on_exit=False)

        self._tracers, self._meters = tracers, meters

    def tracers(self) -> Any:
        self._made.append(self._tracers())
        return self._made[-1]

    def meters(self) -> Any:
        self._made.append(self._meters())
        return self._made[-1]

    def shutdown(self) -> None:
        for provider in self._made:
            provider.shutdown()


def _of_model_call(data: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a model call, for a summary that a model wrote."""
    model, usage = data.get("model", ""), data.get("usage")
    if model in ("", "extractive", "custom"):
        return {}
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
    family = re.match(r"[a-z]+", model.rpartition("/")[2])
    if family is not None and family[0] in _PROVIDERS:
        attributes["gen_ai.provider.name"] = _PROVIDERS[family[0]]
    if usage:
        attributes |= {
            "gen_ai.usage.input_tokens": usage["input"],
            "gen_ai.usage.output_tokens": usage["output"],
            "gen_ai.usage.cache_read.input_tokens": usage["cache_read"],
            "gen_ai.usage.cache_creation.input_tokens": usage["cache_write"],
        }
    return attributes


def _snake(name: str) -> str:
    return _CAMEL.sub(r"_\1", name).lower()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return list(value)
    return json.dumps(value, default=str)


def _ns(at: float) -> int:
    return int(at * 1e9)
