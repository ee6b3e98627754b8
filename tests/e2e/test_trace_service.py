"""Other people's exporters pointed at the trace service, and its command as a user starts it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact import CompactConfig, CompactManager
from support.agents_runs import traced_by
from support.cable import cable
from support.raw import pairs, user
from support.trace_service import address, span, trace_service

COMMAND = [sys.executable, "-m", "compact.cli", "traces"]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx2.Client]:
    with trace_service(tmp_path / "traces.db") as client:
        yield client


def shape(tree: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [(shown["depth"], shown["kind"], shown["name"]) for shown in tree["spans"]]


def test_the_agents_sdks_own_exporter_shows_the_whole_tree(client: httpx2.Client) -> None:
    from agents.tracing import agent_span, custom_span, function_span, generation_span, trace
    from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor

    exporter = BackendSpanExporter(api_key="any", endpoint=f"{client.base_url}/v1/traces/ingest")
    processor = BatchTraceProcessor(exporter)
    try:
        with (
            traced_by(processor),
            trace("Parcels", group_id="session-7", metadata={"customer": "ada"}) as made,
            agent_span("coder"),
        ):
            with generation_span(model="gpt-4o", output=[{"role": "assistant", "content": "done"}]):
                pass
            with custom_span("compact.summary_created", {"tokens_after": 1180, "api_key": "sk-abc123"}):
                pass
            with function_span("read_file", input="{}") as failing:
                failing.set_error({"message": "no such file", "data": None})
        processor.force_flush()
    finally:
        processor.shutdown()
        exporter.close()

    tree = client.get(f"/traces/{made.trace_id}").json()
    assert (tree["name"], tree["group_id"], tree["metadata"]) == ("Parcels", "session-7", {"customer": "ada"})
    assert shape(tree) == [
        (0, "agent", "coder"),
        (1, "generation", "gpt-4o"),
        (1, "custom", "compact.summary_created"),
        (1, "function", "read_file"),
    ]
    assert tree["spans"][2]["data"] == {"tokens_after": 1180, "api_key": "<REDACTED>"}
    assert (tree["status"], tree["error_count"], tree["spans"][3]["status"]) == ("error", 1, "error")
    assert all(shown["duration_ms"] is not None for shown in tree["spans"])


@pytest.mark.parametrize("gzipped", [False, True])
def test_opentelemetrys_exporter_shows_the_whole_tree(client: httpx2.Client, gzipped: bool) -> None:
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.trace import Status, StatusCode

    packed = Compression.Gzip if gzipped else Compression.NoCompression
    exporter = OTLPSpanExporter(endpoint=f"{client.base_url}/v1/traces", compression=packed)
    provider = TracerProvider(resource=Resource.create({"service.name": "shop"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("invoke_agent") as root:
        root.set_attribute("gen_ai.conversation.id", "session-8")
        with tracer.start_as_current_span("chat gpt-4o") as chat:
            chat.set_attribute("gen_ai.operation.name", "chat")
            chat.set_attribute("gen_ai.usage.input_tokens", 120)
            chat.set_status(Status(StatusCode.ERROR, "refused"))
    provider.shutdown()

    [listed] = client.get("/traces").json()["traces"]
    assert (listed["name"], listed["group_id"], listed["status"]) == ("invoke_agent", "session-8", "error")
    tree = client.get(f"/traces/{root.get_span_context().trace_id:032x}").json()
    assert shape(tree) == [(0, "internal", "invoke_agent"), (1, "chat", "chat gpt-4o")]
    assert tree["spans"][1]["data"]["attributes"]["gen_ai.usage.input_tokens"] == 120
    assert tree["spans"][1]["data"]["resource"]["service.name"] == "shop"


def test_otlp_is_answered_as_otlp(client: httpx2.Client) -> None:
    good = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "x", "startTimeUnixNano": "1777636800000000000"}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [good, {"name": "no ids"}]}]}]}
    answer = client.post("/v1/traces", json=body)
    assert answer.json() == {
        "partialSuccess": {"rejectedSpans": "1", "errorMessage": "span 1: traceId is missing"}
    }
    assert client.post("/v1/traces", json={"resourceSpans": []}).json() == {"partialSuccess": {}}
    assert client.post("/ingest", json=body).json()["count"] == 1
    headers = {"Content-Type": "application/x-protobuf"}
    assert client.post("/v1/traces", content=b"\xff\xff\xff", headers=headers).status_code == 400


@pytest.mark.parametrize("path", ["", "/ingest"])
def test_a_managers_events_arrive(client: httpx2.Client, tmp_path: Path, path: str) -> None:
    url = str(client.base_url).rstrip("/") + path
    config = CompactConfig(
        max_context_tokens=2_000,
        preset="chat",
        counter="chars4",
        policy={"hard_cap_buffer": 100},
        archive={"adapter": "none"},
        tracing={"ariadne_url": url},
    )
    manager = CompactManager(config)
    manager.preflight("parcels", [*pairs(16), user("the newest")])
    manager.close()
    [listed] = client.get("/traces", params={"group": "parcels"}).json()["traces"]
    names = {shown["name"] for shown in client.get(f"/traces/{listed['trace_id']}").json()["spans"]}
    assert {"compact.token_estimate", "compact.trigger_decision", "compact.summary_created"} <= names


def start(*options: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
    )


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    process = start("--port", "0", cwd=tmp_path)
    assert process.stdout is not None
    url = process.stdout.readline().split()[-1]
    lines = list(iter(process.stdout.readline, "Ctrl-C stops it.\n"))
    greeting = "".join(lines)
    assert all(len(line) <= 81 or str(tmp_path) in line for line in lines)
    httpx2.post(f"{url}/ingest", json=span(), timeout=30).raise_for_status()
    taken = start("--port", url.rpartition(":")[2], cwd=tmp_path)
    _, problem = taken.communicate(timeout=60)
    assert taken.returncode == 2 and "cannot be used" in problem and "--port" in problem
    tail = start("--tail", "--json", "--url", url, "--since", "365000h", cwd=tmp_path)
    assert tail.stdout is not None
    assert json.loads(tail.stdout.readline())["span_id"] == "s1"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0 and "stopped" in err and "Traceback" not in err
    for told in (f"{url}/v1/traces/ingest", f"{url}/v1/traces", "compact traces --tail", str(tmp_path)):
        assert told in greeting
    assert (tmp_path / ".compact" / "traces.db").exists()
    tail.send_signal(signal.SIGINT)
    _, err = tail.communicate(timeout=30)
    assert tail.returncode == 0 and "following" in err and "Traceback" not in err


def test_the_tail_goes_on_when_the_service_comes_back(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    with ExitStack() as stack:
        with trace_service(database) as client:
            line = stack.enter_context(cable(*address(client)))
            tail = start("--tail", "--url", line.url, cwd=tmp_path)
            assert tail.stdout is not None and tail.stderr is not None
            assert f"following {line.url}" in tail.stderr.readline()
            client.post("/ingest", json=span("t", "a", name="first", started_at=1, ended_at=3))
            assert "ok          2.00 s  first > first" in tail.stdout.readline()
        assert "gone" in tail.stderr.readline()
        with trace_service(database) as client:
            line.lead_to(*address(client))
            # Also what came before the tail was back.
            client.post("/ingest", json=span("t", "b", parent_id="a", name="second", started_at=3))
            assert f"following {line.url} again" in tail.stderr.readline()
            assert tail.stdout.readline().split()[1:] == ["running", "first", ">", "second"]
            tail.send_signal(signal.SIGINT)
            out, err = tail.communicate(timeout=30)
    assert (tail.returncode, out) == (0, "") and "Traceback" not in err


@pytest.mark.parametrize("kind", ["application/json", "application/x-protobuf"])
def test_metrics_and_logs_are_let_go_with_a_word(client: httpx2.Client, kind: str) -> None:
    for path in ("/v1/metrics", "/v1/logs"):
        answer = client.post(path, content=b"{}", headers={"Content-Type": kind})
        assert answer.status_code == 200 and answer.headers["content-type"] == kind
        assert b"Only spans are kept here." in answer.content
    assert client.get("/stats").json()["events"] == 0
    assert "compact traces --tail" in client.get("/").text


def test_a_terminal_shows_a_tree_that_lives(client: httpx2.Client, tmp_path: Path) -> None:
    import pexpect
    import pyte

    screen = pyte.Screen(90, 24)
    stream = pyte.Stream(screen)
    url = str(client.base_url).rstrip("/")
    tail = pexpect.spawn(
        COMMAND[0], [*COMMAND[1:], "--tail", "--url", url], dimensions=(24, 90), encoding="utf-8", timeout=60
    )

    def shown_within(*wanted: str) -> list[str]:
        for _ in range(400):
            with suppress(pexpect.TIMEOUT):
                stream.feed(tail.read_nonblocking(10_000, timeout=0.1))
            if all(any(part in line for line in screen.display) for part in wanted):
                return [line.rstrip() for line in screen.display]
        raise AssertionError("\n".join(screen.display))

    shown_within(f"following {url}")
    now = int(time.time() * 1_000)
    batch = [
        {"type": "trace", "trace_id": "t", "name": "Parcels", "group_id": "session-1"},
        span("t", "root", name="coder", kind="agent", started_at=now),
        span(
            "t",
            "call",
            parent_id="root",
            name="read_file",
            kind="function",
            started_at=now,
            ended_at=now + 250,
        ),
    ]
    client.post("/ingest", json={"batch": batch})
    lines = shown_within("● coder", "└─ ✓ read_file", "250 ms")
    assert any("Parcels  session-1 · 2 spans" in line for line in lines)
    client.post(
        "/ingest", json=span("t", "root", ended_at=now + 1_500, status="error", data={"error": "gave up"})
    )
    shown_within("✗ coder", "1.50 s  gave up")
    tail.sendintr()
    tail.expect(pexpect.EOF)
    tail.close()
    assert tail.exitstatus == 0
