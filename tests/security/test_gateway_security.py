"""What a caller of the gateway cannot do: choose where a request goes, send without end, guess tokens."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from compact.errors import ConfigError
from compact.server.gateway.running import serving
from compact.server.gateway.settings import GatewaySettings
from compact.server.gateway.upstream import Upstream
from compact.server.http import guard
from compact.server.http.problems import Problem
from support.gateway import HTTP, manager
from support.wire_servers import Server, status
from support.wire_servers import serving as scripted

OK = status(200, {"ok": True})


@contextmanager
def gateway(upstream: str, **more: object) -> Iterator[str]:
    with serving(GatewaySettings(upstream=upstream, port=0, **more), manager()) as url:  # type: ignore[arg-type]
        yield url


def raw(url: str, text: bytes) -> bytes:
    address = httpx2.URL(url)
    with socket.create_connection((address.host, address.port or 80), timeout=10) as connection:
        connection.sendall(text)
        return connection.recv(65_536)


@pytest.fixture
def upstream() -> Iterator[Server]:
    with scripted(OK, OK) as server:
        yield server


# -- where requests go ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["@{there}/latest", ".localhost:{port}/x", "x@{there}/latest"])
def test_no_target_of_a_request_leads_to_another_host(upstream: Server, target: str) -> None:
    with scripted(OK) as elsewhere, gateway(upstream.url) as url:
        there = elsewhere.url.removeprefix("http://")
        line = f"GET {target.format(there=there, port=elsewhere.server_port)} HTTP/1.1"
        answer = raw(url, f"{line}\r\nHost: localhost\r\nAuthorization: Bearer sk-x\r\n\r\n".encode())
        assert answer.split()[1] == b"400"
        assert not elsewhere.received and not upstream.received


@pytest.mark.parametrize(
    "base", ["https://api.example", "https://api.example:8443", "https://api.example/v1"]
)
@pytest.mark.parametrize(
    "target",
    [
        *("@evil.example/x", ".evil.example/x", ":22/x", "x", "", "*", "evil.example:443"),
        *("http://evil.example/x", "\\\\evil.example/x"),
    ],
)
def test_what_is_no_path_is_refused(base: str, target: str) -> None:
    with pytest.raises(Problem) as refused:
        Upstream(base, 1.0).url(target.encode(), b"")
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "base", ["https://api.example", "https://api.example:8443", "https://api.example/v1"]
)
@pytest.mark.parametrize("target", ["//evil.example/x", "/@evil.example/x", "/v1//evil.example", "/v1/a:b@c"])
@pytest.mark.parametrize("query", [b"", b"@evil.example/", b"a=b#c"])
def test_every_path_stays_on_the_upstreams_host(base: str, target: str, query: bytes) -> None:
    made, wanted = httpx2.URL(Upstream(base, 1.0).url(target.encode(), query)), httpx2.URL(base)
    assert (made.scheme, made.host, made.port) == (wanted.scheme, wanted.host, wanted.port)
    assert not made.userinfo and not made.fragment


@pytest.mark.parametrize("target", ["/v1/../admin", "/../../admin", "/v1/x/../../../../admin"])
def test_no_path_leads_out_of_the_upstreams(target: str) -> None:
    with pytest.raises(Problem) as refused:
        Upstream("https://api.example/tenant/v1", 1.0).url(target.encode(), b"")
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("base", "path", "anthropic", "made"),
    [
        ("", "/v1/chat/completions", False, "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions", False, "/v1/chat/completions"),
        ("/v1/", "/v1/files/v1/a%2Fb", False, "/v1/files/v1/a%2Fb"),
        ("/v1beta/openai/", "/v1/chat/completions", False, "/v1beta/openai/chat/completions"),
        ("/api/paas/v4", "/v1/chat/completions", False, "/api/paas/v4/chat/completions"),
        ("/api/paas/v4", "/chat/completions", False, "/api/paas/v4/chat/completions"),
        # Anthropic's SDK adds /v1 to its base address, OpenAI's does not.
        ("/anthropic", "/v1/messages", True, "/anthropic/v1/messages"),
        ("/v1", "/v1/messages", True, "/v1/messages"),
        ("", "/v1/messages", True, "/v1/messages"),
    ],
)
def test_an_upstream_is_the_base_address_of_its_api(base: str, path: str, anthropic: bool, made: str) -> None:
    upstream = Upstream(f"https://api.example{base}", 1.0)
    assert upstream.url(path.encode(), b"a=%20", anthropic) == f"https://api.example{made}?a=%20"


@pytest.mark.parametrize(
    "url", ["https://api.example/v1?key=x", "https://api.example/v1#x", "https://a:x/v1"]
)
def test_an_upstream_is_an_address_without_more(url: str) -> None:
    with pytest.raises(ConfigError, match="Nothing was started"):
        GatewaySettings(upstream=url)


# -- sizes and speeds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PROPFIND", "POST"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_has_its_limit_whatever_the_method(upstream: Server, method: str, chunked: bool) -> None:
    body = b"x" * 3_000
    sent = b"bb8\r\n" + body + b"\r\n0\r\n\r\n" if chunked else body
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    with gateway(upstream.url, max_body_bytes=1_000) as url:
        head = f"{method} /v1/models HTTP/1.1\r\nHost: localhost\r\n{length}\r\n\r\n"
        assert raw(url, head.encode() + sent).split()[1] == b"413"
    assert not upstream.received


def test_tokens_cannot_be_guessed_without_end(upstream: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_GUESSES_PER_SECOND", 0.0001)
    monkeypatch.setattr(guard, "_GUESSES_AT_ONCE", 5)
    with gateway(upstream.url, token="right", requests_per_second=0) as url:
        asked = [*(f"wrong-{n}" for n in range(6)), "right"]
        answers = [HTTP.get(f"{url}/v1/models", headers={"x-compact-token": token}) for token in asked]
        # Also for the right one, which would show itself otherwise.
        assert [answer.status_code for answer in answers] == [401] * 5 + [429, 429]
        assert HTTP.get(f"{url}/healthz").status_code == 200
    assert not upstream.received
