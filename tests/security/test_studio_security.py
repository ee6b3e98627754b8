"""The chat server against pages, strangers, other tenants, bombs and odd input: the list in SECURITY.md."""

from __future__ import annotations

import gzip
import json
import socket
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from compact.errors import ChatError, ConfigError
from compact.model.chat import TextPiece
from compact.models.openai_chat import OpenAIChatModel
from compact.server.studio.settings import StudioSettings
from compact.server.studio.upstreams import GuardedModel, check_upstream
from support.providers import providing
from support.studio import RuleModel, body_of, new_session, said, stored_events, studio

OPENAPI = Path(__file__).parents[2] / "docs/openapi.json"
ADA, BOB = "token-of-ada", "token-of-bob"
HTML = {"Accept": "text/html"}
TENANTS = {ADA: "ada", BOB: "bob"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with studio(tmp_path_factory.mktemp("open"), max_body_bytes=200_000, body_seconds=1.5) as client:
        yield client


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with studio(tmp_path_factory.mktemp("tenants"), tokens=TENANTS) as client:
        yield client


def paths() -> list[tuple[str, str]]:
    document = json.loads(OPENAPI.read_text(encoding="utf-8"))
    return [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]


def filled(path: str, session: str = "s") -> str:
    made = path.replace("{session_id}", session).replace("{name}", "n").replace("{handle}", "h-1")
    return made.replace("{step}", "1").replace("{position}", "0")


# -- who may ask ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "a@localhost"])
def test_a_page_that_rebinds_its_name_is_turned_away(client: httpx2.Client, host: str) -> None:
    for path in ("/", "/api/sessions", "/api/settings", "/metrics", "/api/openapi.json"):
        answer = raw(client, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        assert answer.split()[1] in (b"421", b"400"), (path, answer)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_pages_can_neither_send_nor_read(client: httpx2.Client, headers: dict[str, str]) -> None:
    session = new_session(client)
    for method, path in paths():
        refused = client.request(method, filled(path, session), headers=headers, json={})
        assert refused.status_code == 403, (method, path)
        assert "access-control-allow-origin" not in refused.headers
    assert client.get(f"/api/sessions/{session}").status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_a_body_that_is_not_json_is_refused(client: httpx2.Client, kind: str | None) -> None:
    session = new_session(client)
    content = json.dumps(body_of(session, "x")).encode()
    headers = {"Content-Type": kind} if kind else {}
    refused = client.post("/api/chat", content=content, headers=headers)
    assert refused.status_code == 415 and refused.headers["content-type"] == "application/problem+json"
    assert client.get(f"/api/sessions/{session}/messages").json()["total"] == 0


def test_without_its_token_nothing_is_answered(tenants: httpx2.Client) -> None:
    wrong: list[dict[str, str]] = [
        {},
        {"Authorization": "Bearer"},
        bearer(ADA[:-1]),
        {"Authorization": ADA},
        bearer("x" * 9_000),
    ]
    for headers in wrong:
        for method, path in paths():
            if path not in ("/api/health", "/api/ready"):
                assert tenants.request(method, filled(path), headers=headers, json={}).status_code == 401, (
                    path
                )
    assert tenants.get("/api/health").status_code == 200
    # A browser gets the page, which can ask for the token, and nothing else, whatever it asks for.
    page = tenants.get("/", headers=HTML).text
    assert "<!doctype html>" in page
    for path in ("/s/some-session", "/settings", "/traces", "/metrics", "/spans/x"):
        assert tenants.get(path, headers=HTML).text == page
        assert tenants.get(path, headers={"Accept": "application/json"}).status_code == 401
    assert tenants.get("/api/sessions", headers=HTML).status_code == 401


def test_other_machines_are_served_only_with_a_token() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.7", "studio.example"):
        with pytest.raises(ConfigError, match="token"):
            StudioSettings(store="sqlite://", host=host)
        assert StudioSettings(store="sqlite://", host=host, tokens=TENANTS).host == host


# -- tenants and sessions ------------------------------------------------------------------------------------


def test_a_tenants_sessions_are_not_there_for_another(tenants: httpx2.Client) -> None:
    made = tenants.post("/api/sessions", json={"title": "secret plan"}, headers=bearer(ADA)).json()["id"]
    said_to = tenants.post("/api/chat", json=body_of(made, "the code is Osprey"), headers=bearer(ADA))
    assert said_to.status_code == 200
    for method, path in paths():
        if "{session_id}" in path:
            kept = {
                "/edit": {"text": "x"},
                "/usage": {"draft": "x"},
                "/pins/0": {"pinned": True},
                "/apply": {"at_message": 1},
                "/what-if": {"columns": [{}]},
                "/import": {"messages": [{"role": "user", "content": "x"}]},
            }
            body = next((value for end, value in kept.items() if filled(path).endswith(end)), {})
            answer = tenants.request(
                method, filled(path, made), headers=bearer(BOB), json=body, params={"q": "Osprey"}
            )
            assert answer.status_code == 404, (method, path, answer.text)
            assert "Osprey" not in answer.text
    assert tenants.post("/api/chat", json=body_of(made, "x"), headers=bearer(BOB)).status_code == 404
    assert made not in tenants.get("/api/sessions", headers=bearer(BOB)).text
    assert made in tenants.get("/api/sessions", headers=bearer(ADA)).text


def test_events_of_another_session_are_never_replayed(tmp_path: Path) -> None:
    model = RuleModel()
    with studio(tmp_path, model) as client:
        one, two = new_session(client), new_session(client)
        said(client, one, "the code is Osprey")
        said(client, two, "the code is Heron")
        [last] = [event["id"] for event in stored_events(client, one)][-1:]
        seen = client.get(f"/api/sessions/{two}/events", params={"format": "json", "after": 0}).text
        assert "Osprey" not in seen
        turn = (
            client.post("/api/chat", json=body_of(one, "again")).text.partition("\n")[0].removeprefix("id: ")
        )
        # A chunk id of one session says nothing in another, and nothing runs there.
        resumed = client.get(f"/api/chat/{two}/stream", headers={"Last-Event-ID": turn})
        assert resumed.status_code == 204 and last > 0
        own = client.get(f"/api/chat/{one}/stream", headers={"Last-Event-ID": turn})
        assert own.status_code == 200 and '"type":"start"' not in own.text and "[DONE]" in own.text


# -- sizes and speeds ----------------------------------------------------------------------------------------


def test_huge_chunked_and_endless_bodies_are_refused(client: httpx2.Client) -> None:
    session = new_session(client)
    large = json.dumps(body_of(session, "x" * 200_001))
    json_type = {"Content-Type": "application/json"}
    assert client.post("/api/chat", content=large, headers=json_type).status_code == 413
    sent: list[int] = []

    def endless() -> Iterator[bytes]:
        for number in range(100_000):
            sent.append(number)
            yield b" " * 5_000

    with suppress(httpx2.TransportError):
        assert client.post("/api/chat", content=endless(), headers=json_type).status_code == 413
    assert len(sent) < 20_000
    head = "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += "Content-Length: 50\r\n\r\n{"
    assert raw(client, head).split()[1] == b"408"
    assert client.get(f"/api/sessions/{session}/messages").json()["total"] == 0


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_noticed_before_it_swells(client: httpx2.Client, encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
    bomb = pack(b'{"title":"' + b"0" * 30_000_000 + b'"}')
    assert len(bomb) < 200_000
    assert client.post("/api/sessions", content=bomb, headers=headers).status_code == 413
    good = pack(b'{"title":"packed"}')
    assert client.post("/api/sessions", content=good, headers=headers).json()["title"] == "packed"


def test_one_caller_cannot_ask_without_end(tmp_path: Path) -> None:
    # So few a second that no machine is slow enough to earn another one.
    with studio(tmp_path, requests_per_second=0.001, burst=10) as client:
        codes = [client.get("/api/health").status_code for _ in range(15)]
        assert codes == [200] * 10 + [429] * 5
        refused = client.get("/api/health")
        assert refused.json()["code"] == "too-many-requests" and int(refused.headers["retry-after"]) >= 1


def test_no_more_streams_than_allowed(tmp_path: Path) -> None:
    with studio(tmp_path, max_streams=2) as client:
        session = new_session(client)
        path = f"/api/sessions/{session}/events"
        with client.stream("GET", path) as one, client.stream("GET", path) as two:
            assert (one.status_code, two.status_code) == (200, 200)
            assert client.get(path).status_code == 503
            assert client.post("/api/chat", json=body_of(session, "x")).status_code == 503


def raw(client: httpx2.Client, text: str) -> bytes:
    address = urlsplit(str(client.base_url))
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=20) as connection:
        connection.sendall(text.encode())
        return connection.recv(65_536)


# -- where the server asks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "addresses", "refused"),
    [
        ("https://api.openai.com/v1", ["93.184.216.34"], False),
        ("https://rebound.example/v1", ["10.0.0.7"], True),
        ("https://rebound.example/v1", ["93.184.216.34", "127.0.0.1"], True),
        ("https://rebound.example/v1", ["fd00::1"], True),
        ("http://metadata.example", ["169.254.169.254"], True),
        ("http://169.254.169.254/latest", ["169.254.169.254"], True),
        ("http://127.0.0.1:8080/v1", ["127.0.0.1"], False),
        ("http://localhost:11434/v1", ["127.0.0.1"], False),
    ],
)
def test_a_models_host_does_not_lead_into_the_private_network(
    url: str, addresses: list[str], refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    plain = StudioSettings(store="sqlite://")
    if refused:
        with pytest.raises(ChatError, match="Nothing was sent"):
            check_upstream(url, plain)
    else:
        check_upstream(url, plain)
    check_upstream(url, StudioSettings(store="sqlite://", private_upstreams=True))
    with pytest.raises(ChatError, match="not an allowed host"):
        check_upstream(url, StudioSettings(store="sqlite://", upstream_hosts=["other.example"]))


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is public when it is checked and private a moment later."""
    answers = iter([["93.184.216.34", "2606:2800:220:1::1"], ["127.0.0.1"], ["127.0.0.1"]])
    connected: list[str] = []

    def resolved(host: Any, *_: Any, **__: Any) -> Any:
        assert host == "rebound.example"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 0)) for one in next(answers)]

    def connect(address: tuple[str, int], *_: Any, **__: Any) -> Any:
        connected.append(address[0])
        raise OSError("no route")

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr(socket, "create_connection", connect)
    model = OpenAIChatModel("gpt-4o", "http://rebound.example/v1", retries=0)
    guarded = GuardedModel(model, StudioSettings(store="sqlite://", upstream_hosts=["rebound.example"]))
    with pytest.raises(ChatError, match="could not be reached"):
        list(model.stream([{"role": "user", "content": "hello"}]))
    assert connected == ["93.184.216.34", "2606:2800:220:1::1"]
    with pytest.raises(ChatError, match="private address"):
        list(guarded.stream([{"role": "user", "content": "hello"}]))
    assert len(connected) == 2


def test_a_pinned_connection_still_names_its_host() -> None:
    with providing(lambda messages, tools: "Here.") as provider:
        port = provider.server_port
        model = OpenAIChatModel("gpt-4o", f"http://model.example:{port}/v1", retries=0)
        model.connect_only_to(lambda host: ["127.0.0.1"] if host == "model.example" else [])
        pieces = list(model.stream([{"role": "user", "content": "hello"}]))
        assert "".join(one.text for one in pieces if isinstance(one, TextPiece)).strip() == "Here."
        assert provider.asked[0].headers["host"] == f"model.example:{port}"


def test_no_client_can_name_a_host(client: httpx2.Client) -> None:
    session = new_session(client)
    for name in ("http://10.0.0.1/v1", "ollama/x", "openrouter/evil"):
        assert client.patch(f"/api/sessions/{session}", json={"model": name}).status_code == 422
    parts = [{"type": "file", "mediaType": "image/png", "url": "http://169.254.169.254/latest"}]
    message: dict[str, Any] = {"role": "user", "parts": parts}
    refused = client.post("/api/chat", json={"id": session, "message": message})
    assert refused.status_code == 422 and refused.json()["code"] == "remote-file"


# -- what it answers -----------------------------------------------------------------------------------------


def test_every_answer_has_a_strict_policy_and_no_internals(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = RuleModel(lambda _: RuntimeError("/srv/secret/path and password=hunter22 in a traceback"))
    with studio(tmp_path, model) as client:
        session = new_session(client)
        failed = client.post("/api/chat", json=body_of(session, "x"))
        assert "hunter22" not in failed.text and "/srv/secret" not in failed.text
        assert '"finishReason":"error"' in failed.text
        assert "/srv/secret/path" in caplog.text and "RuntimeError" in caplog.text
        assert "hunter22" not in caplog.text
        page = client.get("/", headers=HTML)
        assert "script-src 'self'" in page.headers["content-security-policy"]
        for answer in (page, client.get("/api/health"), client.get("/api/sessions/none"), failed):
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/..%2f..%2fpyproject.toml",
        "/assets/..%2f..%2f..%2fsettings.py",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/%00",
        f"/assets/{'a' * 5_000}",
    ],
)
def test_only_files_of_the_studio_are_served(tmp_path: Path, path: str) -> None:
    static = tmp_path / "a/b/static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html>the studio")
    (static / "assets/app-1a.js").write_text("1")
    (tmp_path / "a/settings.py").write_text("outside")
    with studio(tmp_path, static=static) as client:
        asset = client.get("/assets/app-1a.js")
        assert asset.status_code == 200 and "immutable" in asset.headers["cache-control"]
        assert "the studio" in client.get("/s/some-session", headers=HTML).text
        found = raw(client, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"outside" not in found and b"root:" not in found and b"[project]" not in found
        assert b" 500 " not in found[:20]


# -- whatever the description allows -------------------------------------------------------------------------

schema = schemathesis.openapi.from_dict(json.loads(OPENAPI.read_text(encoding="utf-8")))
QUICK = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@schema.exclude(path_regex="/events$|/stream$").parametrize()
@QUICK
def test_nothing_that_the_description_allows_breaks_the_server(case: Any, client: httpx2.Client) -> None:
    kept = case.as_transport_kwargs(base_url=str(client.base_url).rstrip("/"))
    answer = client.request(
        kept["method"],
        kept["url"],
        params=kept.get("params"),
        headers={"Content-Type": "application/json"},
        content=json.dumps(kept["json"]).encode("utf-8", "replace") if "json" in kept else None,
    )
    assert answer.status_code < 500, (kept, answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "detail", "code"} <= answer.json().keys()


@pytest.mark.parametrize("tokens", [{}, TENANTS])
def test_tenants_do_not_learn_where_the_database_is(
    tmp_path: Path, tokens: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever runs the server does: on their own machine from the error, else from the log."""
    headers = {"authorization": f"Bearer {next(iter(tokens))}"} if tokens else {}
    with studio(tmp_path, tokens=tokens) as client, sqlite3.connect(tmp_path / "studio.db") as other:
        client.headers.update(headers)
        session = new_session(client)
        other.execute("ALTER TABLE sessions RENAME TO gone")
        failed = client.get(f"/api/sessions/{session}")
        other.execute("ALTER TABLE gone RENAME TO sessions")
    shown = failed.json()["detail"]
    assert failed.status_code == 503 and "The session is unchanged." in shown
    assert (str(tmp_path) in shown, "no such table" in shown) == (not tokens, not tokens)
    assert ("no such table" in caplog.text) == bool(tokens)


def test_a_tenant_who_comes_while_the_database_is_damaged_does_not_learn_where_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A tenant's store is opened with their first request, long after the start of the server."""
    with studio(tmp_path, tokens=TENANTS) as client:
        client.get("/api/sessions", headers=bearer(ADA)).raise_for_status()
        for path in tmp_path.glob("studio.db*"):
            path.rename(path.with_name(f"moved-{path.name}"))
        (tmp_path / "studio.db").write_bytes(b"not a database " * 100)
        for path in ("/api/sessions", "/api/settings"):
            failed = client.get(path, headers=bearer(BOB))
            assert failed.status_code == 503
            shown = failed.json()["detail"]
            assert str(tmp_path) not in shown and "not a database" not in shown
            assert "Nothing was changed." in shown and "its log has the reason" in shown
    assert "not a database" in caplog.text
