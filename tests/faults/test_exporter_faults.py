"""A trace service that is down, slow or wrong: the conversation does not notice, stderr does."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.tracing.ariadne import AriadneExporter
from compact.tracing.spans import trace_id_of
from support.ariadne import MANY, records, spans, takes, wait_for
from support.closed_port import closed_port
from support.wire_servers import Behavior, cut_body, garbage, hang, serving, status, trickle


def history(turns: int = 30) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"message {n} " + "word " * 150} for n in range(2 * turns)]


def manager(url: str | None, timeout: float = 2.0) -> CompactManager:
    tracing = {"ariadne_url": url, "ariadne_timeout": timeout}
    config = CompactConfig(
        max_context_tokens=6_000, counter="chars4", archive={"adapter": "none"}, tracing=tracing
    )
    return CompactManager(config)


@pytest.fixture
def plain() -> Iterator[list[Any]]:
    """What comes out with no exporter at all."""
    with manager(None) as without:
        yield without.preflight("s", history())


def converse(url: str, plain: list[Any], timeout: float = 2.0) -> None:
    with manager(url, timeout) as traced:
        for _ in range(3):
            assert traced.preflight("s", history()) == plain
            traced.flush()


FAULTS: dict[str, tuple[Behavior, str]] = {
    "500": (status(500, {"error": "out of order"}), "it answered 500"),
    "404": (status(404, {}), "it answered 404"),
    "garbage": (garbage, "not Ariadne"),
    "slow": (hang, "TimeoutError"),
    "trickling": (trickle, "TimeoutError"),
    "cut off": (cut_body, "IncompleteRead"),
    "refused in part": (
        status(200, {"success": False, "errors": [{"index": 0}]}),
        "it refused 1 of the records",
    ),
}


@pytest.mark.spec("S4.13", part="service")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_service_that_answers_wrongly(
    kind: str, plain: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    behavior, said = FAULTS[kind]
    # Only where no answer comes is the wait short; elsewhere a busy machine must not look like that.
    with serving(*[behavior] * 100) as server:
        converse(server.url, plain, 0.1 if said == "TimeoutError" else 2.0)
    lines = capsys.readouterr().err.splitlines()
    assert said in lines[0] and all(line.startswith("[Ariadne] ") for line in lines)
    # Told once, and at the end what it cost.
    assert len(lines) <= 2


@pytest.mark.spec("S4.13", part="service")
@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_a_service_that_is_not_there(
    host: str, plain: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo

    def without_name_server(asked: Any, *given: Any, **named: Any) -> Any:
        # One that does not answer would hold the test up.
        if asked == "no-such-host.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(asked, *given, **named)

    monkeypatch.setattr(socket, "getaddrinfo", without_name_server)
    with closed_port() as port:
        converse(f"http://user:horsestaple@{host}:{port}", plain)
    said = capsys.readouterr().err
    assert said.startswith(f"[Ariadne] http://{host}:") and "horsestaple" not in said
    assert "records were not delivered" in said


@pytest.mark.spec("S4.13", part="service")
def test_preflights_go_on_while_the_service_keeps_its_answer_back(plain: list[Any]) -> None:
    def late(handler: Any) -> None:
        assert handler.server.released.wait(300)
        takes(handler)

    with serving(late, *MANY) as server:
        exporter = AriadneExporter(server.url)
        exporter._poster._timeout = 300.0  # Longer than this test can take, however busy the machine.
        config = CompactConfig(max_context_tokens=6_000, counter="chars4", archive={"adapter": "none"})
        traced = CompactManager(config, exporters=[exporter])
        traced.preflight("s", history())
        wait_for(lambda: server.received)
        # The answer is still out, and stays so until we let go: none of these can have waited for it.
        for number in range(10):
            assert traced.preflight(f"s{number}", history()) == plain
        assert len(server.received) == 1
        server.released.set()
        traced.close(timeout=60)
        # Five of the compaction, and as many of each session that took its record over.
        assert len(spans(server)) == 5 + 5 * 10


@pytest.mark.spec("S4.13", part="service")
def test_what_could_not_be_sent_goes_out_when_the_service_is_back_and_only_then() -> None:
    now = [0.0]
    with serving(status(503, {}), *MANY) as server:
        exporter = AriadneExporter(server.url, clock=lambda: now[0])
        for event in events_of_a_compaction():
            exporter.export(event)
        exporter.flush()
        assert len(server.received) == 1
        exporter.flush()
        assert len(server.received) == 1, "a service that just failed is left alone for a moment"
        now[0] = 10.0
        exporter.flush()
        assert records(server)[: len(records(server)) // 2] == server.received[1].body["batch"]
        exporter.close()


@pytest.mark.spec("S4.13", part="service")
@pytest.mark.parametrize("moment", ["rest", "close"])
def test_what_waits_does_not_need_another_event_to_go_out(moment: str) -> None:
    now = [0.0]
    with serving(*[status(503, {})] * 4, *MANY) as server:
        exporter = AriadneExporter(server.url, clock=lambda: now[0])
        for event in events_of_a_compaction():
            exporter.export(event)
        for _ in range(4):
            now[0] += 10.0
            exporter.flush()
        # The pause is five seconds now; at the end there is no later.
        now[0] += 6.0 if moment == "rest" else 1.0
        getattr(exporter, moment)()
        assert len(server.received) == 5 and not exporter._waiting
        exporter.close()


@pytest.mark.spec("S4.13", part="service")
def test_a_quiet_process_tries_again_until_the_service_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compact.tracing.queue.IDLE", 0.01)
    monkeypatch.setattr("compact.tracing.ariadne._PAUSES", (0.01, 0.02))
    with serving(*[status(503, {})] * 5, *MANY) as server, manager(server.url, 2.0) as traced:
        traced.preflight("s", history())
        # Nothing more is said, and nobody leaves.
        wait_for(lambda: len(spans(server)) >= 5 and len(server.received) > 5)


@pytest.mark.spec("S4.13", part="service")
def test_a_quiet_process_does_not_try_forever() -> None:
    now = [0.0]
    with serving(*[status(503, {})] * 300) as server:
        exporter = AriadneExporter(server.url, clock=lambda: now[0])
        for event in events_of_a_compaction():
            exporter.export(event)
        exporter.flush()
        waits = []
        while (wait := exporter.rest()) is not None:
            waits.append(wait)
            now[0] += wait
        assert waits[:6] == [0.5, 1.0, 2.0, 5.0, 10.0, 30.0] and set(waits[6:]) == {30.0}
        assert 3_000 < sum(waits) < 4_000 and exporter._waiting
        # The next event begins anew.
        exporter.export(events_of_a_compaction()[0])
        assert exporter.rest() == 30.0
        exporter.close()


@pytest.mark.spec("S4.13", part="service")
def test_a_token_that_no_header_can_hold_is_told_like_any_failure(capsys: pytest.CaptureFixture[str]) -> None:
    exporter = AriadneExporter("http://127.0.0.1:9", token="schlüssel→")
    for event in events_of_a_compaction():
        exporter.export(event)
    exporter.flush()
    said = capsys.readouterr().err
    assert said.startswith("[Ariadne] ") and "schlüssel" not in said


def events_of_a_compaction() -> list[Any]:
    with manager(None) as told:
        told.preflight("s", history())
        return list(told.events)


@pytest.mark.spec("S4.13", part="service")
def test_memory_is_bounded_while_the_service_is_away(capsys: pytest.CaptureFixture[str]) -> None:
    told = events_of_a_compaction()
    with closed_port() as port:
        exporter = AriadneExporter(f"http://127.0.0.1:{port}")
        for _ in range(400):
            for event in told:
                exporter.export(event)
            exporter.flush()
        assert len(exporter._waiting) == 2_000
        exporter.close()
    assert "were dropped" not in capsys.readouterr().err.splitlines()[0]


@pytest.mark.spec("S4.13", part="service")
def test_the_process_ends_though_the_service_hangs() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from faults.test_exporter_faults import history, manager\n"
        "manager(sys.argv[1], 2.0).preflight('s', history())\n"
    )
    with serving(hang, hang) as server:
        tests = __file__.rsplit("/faults/", 1)[0]
        done = subprocess.run(
            [sys.executable, "-c", code, server.url, tests], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 0
    assert "[Ariadne] " in done.stderr or "events were not exported" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.spec("S4.12")
@pytest.mark.spec("S4.13", part="service")
def test_what_arrives_is_a_trace_of_the_session_with_its_compactions() -> None:
    with serving(*MANY) as server:
        with manager(server.url) as traced:
            traced.preflight("s", history(2))
            traced.preflight("s", history())
        assert server.received[0].path == "/ingest"
        trace, *_ = records(server)
        assert trace["type"] == "trace" and trace["trace_id"] == trace_id_of("s")
        found = spans(server)
        assert {span["trace_id"] for span in found} == {trace["trace_id"]}
        assert all(span["status"] == "ok" and span["started_at"] <= span["ended_at"] for span in found)
        (whole,) = [span for span in found if span["name"] == "compact.compaction"]
        beneath = [span["name"] for span in found if span.get("parent_id") == whole["span_id"]]
        assert beneath == [
            "compact.token_estimate",
            "compact.trigger_decision",
            "compact.summary_created",
            "compact.pruned_messages",
        ]
        assert [span["name"] for span in found if "parent_id" not in span][:2] == [
            "compact.token_estimate",
            "compact.trigger_decision",
        ]
        assert whole["data"]["tokensAfter"] < whole["data"]["tokensBefore"]


def test_connections_are_kept_and_made_anew_when_the_server_closed_them() -> None:
    def closes(handler: Any) -> None:
        takes(handler)
        handler.close_connection = True  # Without saying so.

    with serving(takes, closes, *MANY) as server:
        exporter = AriadneExporter(server.url, token="a-token")
        for event in events_of_a_compaction():
            exporter.export(event)
            exporter.flush()
        exporter.close()
        assert len({json.dumps(request.body) for request in server.received}) == len(server.received)
        assert all(request.headers["authorization"] == "Bearer a-token" for request in server.received)
