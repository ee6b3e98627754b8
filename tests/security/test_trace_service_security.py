"""The trace service against pages, strangers, bombs and odd input."""

from __future__ import annotations

import gzip
import json
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import pytest

from compact.errors import ConfigError
from compact.server.traces import TraceSettings
from support.trace_service import followed, span, trace_service

from .secret_corpus import SECRETS

TOKEN = "correct horse battery staple"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PATHS = ("/traces", "/traces/t1", "/spans/s1", "/events", "/stats", "/openapi.json")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx2.Client]:
    with trace_service(tmp_path / "traces.db", max_body_bytes=100_000, read_timeout=1.0) as client:
        yield client


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """For what is turned away: nothing ever comes in."""
    with trace_service(tmp_path_factory.mktemp("untouched") / "traces.db") as client:
        yield client
        assert count(client) == 0


def count(client: httpx2.Client, **headers: str) -> int:
    found: int = client.get("/stats", headers=headers).json()["events"]
    return found


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:5175", "127.0.0.1.evil.example", "localhost.evil.example"),
        *("10.0.0.1", "0.0.0.0", "a@localhost", "localhost/x", "localhost:x", "[::1", ""),
        *("localhost, evil.example", "127.1", "2130706433"),
    ],
)
def test_a_page_that_rebinds_its_name_is_turned_away(untouched: httpx2.Client, host: str) -> None:
    for path in (*PATHS, "/healthz"):
        answer = raw(untouched, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        assert answer.split()[1] in (b"421", b"400"), (path, answer)
    body = json.dumps(span())
    head = f"POST /ingest HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    assert raw(untouched, head + body).split()[1] in (b"421", b"400")
    assert count(untouched) == 0


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "127.8.8.8", "[::1]:9", "app.localhost."]
)
def test_names_of_this_machine_are_answered(untouched: httpx2.Client, host: str) -> None:
    assert untouched.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "file://"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_pages_can_neither_post_nor_read(untouched: httpx2.Client, headers: dict[str, str]) -> None:
    plain = {**headers, "Content-Type": "text/plain"}
    assert untouched.post("/ingest", json=span(), headers=plain).status_code == 403
    assert untouched.get("/traces", headers=headers).status_code == 403
    assert untouched.get("/events", headers=headers).status_code == 403
    assert untouched.options("/ingest", headers=headers).status_code in (403, 405)
    assert count(untouched) == 0


def test_the_services_own_page_and_allowed_ones_may(tmp_path: Path) -> None:
    page = "http://localhost:5173"
    with trace_service(tmp_path / "traces.db", allowed_origins=[page]) as client:
        own = str(client.base_url).rstrip("/")
        assert client.post("/ingest", json=span(), headers={"Origin": own}).status_code == 200
        assert "access-control-allow-origin" not in client.get("/traces", headers={"Origin": own}).headers
        asked = {"Origin": page, "Access-Control-Request-Method": "POST"}
        assert client.options("/ingest", headers=asked).headers["access-control-allow-origin"] == page
        allowed = client.get("/traces", headers={"Origin": page})
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, page)
        assert client.get("/traces", headers={"Origin": f"{page}.evil.example"}).status_code == 403


def test_with_a_token_nothing_goes_without_it(tmp_path: Path) -> None:
    wrong: list[dict[str, str]] = [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
    ]
    wrong += [
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer " + "x" * 9_000},
    ]
    with trace_service(tmp_path / "traces.db", token=TOKEN) as client:
        for headers in wrong:
            for path in PATHS:
                assert client.get(path, headers=headers).status_code == 401
            assert client.post("/ingest", json=span(), headers=headers).status_code == 401
        assert client.get("/healthz").json() == {"status": "ok", "service": "compact-traces"}
        assert client.post("/ingest", json=span(), headers=BEARER).status_code == 200
        assert count(client, **BEARER) == 1
        # A proxy may have any name, since the token is what counts.
        assert client.get("/traces", headers={**BEARER, "Host": "traces.example"}).status_code == 200
        assert client.get("/traces", headers={**BEARER, "Origin": "https://evil.example"}).status_code == 403


def test_other_machines_are_served_only_with_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.7", "traces.example", ""):
        with pytest.raises(ConfigError, match="token"):
            TraceSettings(host=host)
        assert TraceSettings(host=host, token=TOKEN).host == host
    with pytest.raises(ConfigError, match="empty"):
        TraceSettings(token="  ")


def raw(client: httpx2.Client, text: str) -> bytes:
    """What comes back for these very bytes."""
    address = urlsplit(str(client.base_url))
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=20) as connection:
        connection.sendall(text.encode())
        return connection.recv(65_536)


def test_the_limit_holds_for_bodies_without_a_length(client: httpx2.Client) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"batch":['
        for number in range(100_000):
            sent.append(number)
            yield b'{"type":"span","trace_id":"t","span_id":"%d"},' % number * 50

    sent: list[int] = []
    # It may hang up while we are still talking.
    with suppress(httpx2.TransportError):
        assert client.post("/ingest", content=endless()).status_code == 413
    assert len(sent) < 5_000
    assert count(client) == 0
    assert client.post("/ingest", content=b"x" * 100_001).status_code == 413
    fits = json.dumps({"batch": [span(data={"x": "y" * 90_000})]}).encode()
    assert client.post("/ingest", content=iter([fits[:50_000], fits[50_000:]])).json()["count"] == 1


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_noticed_before_it_swells(client: httpx2.Client, encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    headers = {"Content-Encoding": encoding}
    bomb = pack(b'{"batch":["' + b"0" * 20_000_000 + b'"]}')
    assert len(bomb) < 100_000
    assert client.post("/ingest", content=bomb, headers=headers).status_code == 413
    good = pack(json.dumps(span()).encode())
    assert client.post("/ingest", content=good, headers=headers).json() == {"success": True, "count": 1}
    for broken in (good[:-9], b"plain", good[:10] + b"x" * 20):
        assert client.post("/ingest", content=broken, headers=headers).status_code == 400
    assert client.post("/ingest", content=good, headers={"Content-Encoding": "br"}).status_code == 415


def test_a_body_that_never_ends_is_not_waited_for(client: httpx2.Client) -> None:
    address = urlsplit(str(client.base_url))
    head = f"POST /ingest HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 100\r\n\r\n{{"
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=20) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).split()[1] == b"408"


@pytest.mark.parametrize("body", ["[" * 99_000, '{"a":' * 19_000, '{"batch":[' + "[" * 50_000])
def test_endless_nesting_is_refused(untouched: httpx2.Client, body: str) -> None:
    answer = untouched.post("/ingest", content=body)
    assert answer.status_code == 400 and "error" in answer.json()


def test_deep_events_are_refused_alone(client: httpx2.Client) -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    body = f'{{"batch":[{json.dumps(span(id="ok"))},{json.dumps(span(id="deep"))[:-1]},"data":{deep}}}]}}'
    answer = client.post("/ingest", content=body).json()
    assert answer["count"] == 1
    assert answer["errors"] == [{"index": 1, "error": "nested deeper than 64 levels"}]
    attribute = '{"kvlistValue":{"values":[{"key":"k","value":' * 200 + "1" + "}]}}" * 200
    ids = f'"traceId":"{"a" * 32}","spanId":"{"b" * 16}"'
    spans = f'[{{{ids},"attributes":[{{"key":"a","value":{attribute}}}]}}]'
    otlp = f'{{"resourceSpans":[{{"scopeSpans":[{{"spans":{spans}}}]}}]}}'
    answer = client.post("/v1/traces", content=otlp)
    assert answer.status_code == 400 or answer.json()["partialSuccess"]["rejectedSpans"] == "1"


ODD = [
    "a/b/../c",
    "..",
    "%2e%2e%2f",
    "' OR 1=1 --",
    "100%_\\",
    "tab\tand\nline",
    "nul\0byte",
    "<script>alert(1)</script>",
    "\x1b[31mred",
    "日本 🧵",
    "?traceId=x#y",
    "s" * 512,
]


@pytest.mark.parametrize("id", ODD)
def test_odd_ids_are_only_text(client: httpx2.Client, id: str) -> None:
    client.post("/ingest", json=span("other", "other"))
    assert client.post("/ingest", json=span(id, id, name=id)).json()["count"] == 1
    tree = client.get(f"/traces/{quote(id, safe='')}")
    if id != "..":  # Clients and servers take that for a step up.
        assert tree.status_code == 200 and tree.json()["trace_id"] == id
        assert [shown["span_id"] for shown in tree.json()["spans"]] == [id]
        assert client.get(f"/spans/{quote(id, safe='')}").json()["trace_id"] == id
    [(_, event)] = followed(client, 1, after=0, traceId=id)
    assert event["span_id"] == id
    assert client.get("/traces", params={"name": id}).json()["total"] == 1


def test_text_that_is_no_text_is_made_sound(client: httpx2.Client) -> None:
    body = rb'{"type":"span","trace_id":"t\ud800","span_id":"s","name":"\udfff",'
    body += rb'"data":{"x\udc00":["\ud83d",NaN,1e999]}}'
    assert client.post("/ingest", content=body).json()["count"] == 1
    [(_, event)] = followed(client, 1, after=0)
    assert (event["trace_id"], event["name"], event["data"]) == ("t�", "�", {"x�": ["�", "NaN", "inf"]})


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=x",
        "cursor=%00",
        "cursor=MS4x.MQ",
        "status=maybe",
        "since=soon",
        "until=1e99",
        "limit=99999999999",
    ],
)
def test_odd_questions_are_answered_with_400_or_422(untouched: httpx2.Client, query: str) -> None:
    assert untouched.get(f"/traces?{query}").status_code in (400, 422)


@pytest.mark.parametrize("after", ["-1", "x", str(2**63)])
def test_odd_places_in_the_stream_are_refused(untouched: httpx2.Client, after: str) -> None:
    assert untouched.get("/events", params={"after": after}).status_code == 422


def test_only_so_many_may_follow(tmp_path: Path) -> None:
    with trace_service(tmp_path / "traces.db", max_readers=2) as client:
        with client.stream("GET", "/events") as one, client.stream("GET", "/events") as two:
            first, second = one.iter_lines(), two.iter_lines()
            assert next(first) == next(second) == "retry: 1000"
            assert client.get("/events").status_code == 503
        wait_until(lambda: client.get("/stats").json()["readers"] == 0)
        with client.stream("GET", "/events") as again:
            assert again.status_code == 200


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_no_secret_of_the_corpus_is_stored_or_streamed(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    events: list[dict[str, Any]] = []
    for number, case in enumerate(SECRETS):
        data = {
            "text": case.text,
            "nested": [{"deep": json.dumps({"content": case.text})}],
            "args": case.text,
        }
        events.append(span("t", f"s{number}", name=case.text, kind="custom", data=data))
        events.append(
            {"type": "trace", "trace_id": f"t{number}", "name": case.text, "metadata": {"note": case.text}}
        )
        long = "word " * 197 + case.text
        events.append(span("t", f"long{number}", name=long))
    with trace_service(database) as client:
        for start in range(0, len(events), 50):
            assert client.post("/ingest", json={"batch": events[start : start + 50]}).json()["count"] > 0
        streamed = json.dumps(
            [event for _, event in followed(client, len(events), after=0)], ensure_ascii=False
        )
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir()).decode("utf-8", "replace")
    leaked = {
        case.kind for case in SECRETS for piece in pieces(case.secret) if piece in streamed or piece in stored
    }
    assert leaked == set()


def pieces(secret: str) -> list[str]:
    """Every stretch of eighteen characters holds one of these."""
    return [secret[start : start + 12] for start in range(0, max(1, len(secret) - 11), 6)]


def test_an_id_that_is_a_secret_becomes_a_hash_and_keeps_its_children(client: httpx2.Client) -> None:
    secret = next(case.secret for case in SECRETS if case.kind == "openai")
    client.post("/ingest", json={"batch": [span(secret, secret), span(secret, "child", parent_id=secret)]})
    [trace] = client.get("/traces").json()["traces"]
    assert trace["trace_id"].startswith("redacted-")
    spans = client.get(f"/traces/{trace['trace_id']}").json()["spans"]
    assert [(shown["depth"], shown["orphan"]) for shown in spans] == [(0, False), (1, False)]
    assert secret not in json.dumps(spans)


def test_patterns_of_ones_own_and_personal_data_go_too(tmp_path: Path) -> None:
    with trace_service(tmp_path / "traces.db", patterns=[r"TCK-\d+"], pii=["email"]) as client:
        client.post("/ingest", json=span(name="TCK-1234", data={"to": "ada@example.org", "n": 1}))
        found = client.get("/spans/s1").json()
        assert (found["name"], found["data"]) == ("<REDACTED>", {"to": "<REDACTED>", "n": 1})


def test_redaction_can_be_switched_off(tmp_path: Path) -> None:
    with trace_service(tmp_path / "traces.db", redact=False) as client:
        client.post("/ingest", json=span(data={"password": "hunter2"}))
        assert client.get("/spans/s1").json()["data"] == {"password": "hunter2"}
