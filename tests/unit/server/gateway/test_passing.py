"""What passes through the gateway comes out as it went in; what it refuses, it refuses as a provider does."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from compact import CompactConfig, CompactManager
from compact.server.gateway.running import serving
from compact.server.gateway.settings import GatewaySettings
from support.gateway import CONFIG, HTTP, Client, gateway_settings, manager
from support.providers import CHAT, MESSAGES, RESPONSES, providing
from support.wire_servers import Server, status
from support.wire_servers import serving as scripted

OK = status(200, {"ok": True})


@pytest.fixture
def upstream() -> Iterator[Server]:
    with scripted(OK) as server:
        yield server


@pytest.fixture
def gateway(upstream: Server) -> Iterator[str]:
    with serving(gateway_settings(f"{upstream.url}/v1"), manager()) as url:
        yield url


def test_no_header_is_added_to_a_request(gateway: str, upstream: Server) -> None:
    body = b'{"model":"m","messages":[]}'
    address = httpx2.URL(gateway)
    with socket.create_connection((address.host, address.port or 80), timeout=10) as raw:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Own: 1\r\n"
        raw.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert raw.recv(100).startswith(b"HTTP/1.1 200")
    assert upstream.received[0].headers == {
        "host": upstream.url.removeprefix("http://"),
        "content-type": "application/json",
        "x-own": "1",
        "content-length": str(len(body)),
    }


def test_a_path_goes_on_as_it_is_escaped(gateway: str, upstream: Server) -> None:
    asked = "/v1/files/a%2Fb%20c%7Ed/content?name=x%2Fy&b=%20"
    assert HTTP.get(gateway + asked).status_code == 200
    assert upstream.received[0].path == asked


def test_files_pass_where_no_conversation_is_meant(gateway: str, upstream: Server) -> None:
    sent = HTTP.post(f"{gateway}/v1/files", files={"file": ("notes.txt", b"\x00\xff")})
    assert sent.status_code == 200
    [received] = upstream.received
    assert b"\x00\xff" in received.body
    assert received.headers["content-type"] == sent.request.headers["content-type"]


def test_an_answer_has_one_date(gateway: str) -> None:
    answer = HTTP.post(gateway + CHAT, json={"model": "m", "messages": []})
    assert len(answer.headers.get_list("date")) == 1


def test_a_short_prompt_of_many_turns_is_compacted_where_the_window_is_small() -> None:
    config = CompactConfig(**{**CONFIG, "max_context_tokens": 1_200})
    with (
        providing(window=1_200) as provider,
        serving(gateway_settings(provider.url), CompactManager(config)) as url,
    ):
        client = Client(url, CHAT)
        for n in range(11):
            client.messages.append(
                {"role": ("user", "assistant")[n % 2], "content": f"Page {n} agrees. " * 30}
            )
        assert 4_800 < len(json.dumps(client.body())) < 8_000
        answer = client.send()
        assert answer.status_code == 200 and answer.headers["x-compact-compacted"] == "1"
        assert [one.refused for one in provider.asked] == [""]


def test_rolling_counts_turns_however_short_they_are() -> None:
    with (
        providing() as provider,
        serving(gateway_settings(provider.url), manager()) as url,
    ):
        client = Client(url, CHAT)
        for number in range(30):
            said = {"role": "user", "content": f"Turn {number}: we take the roof of slate since it is dry."}
            client.messages += [said, {"role": "assistant", "content": "Noted."}]
        client.messages.append({"role": "user", "content": "Go on."})
        answer = client.send(headers={"x-compact-preset": "rolling"})
        assert answer.headers["x-compact-compacted"] == "1"


REFUSED: dict[int, dict[str, Any]] = {
    401: {"headers": {"x-compact-token": "wrong"}},
    403: {"headers": {"origin": "https://elsewhere.example"}},
    413: {"content": b'{"a":"' + b"x" * 3_000 + b'"}'},
    415: {"headers": {"content-type": "text/plain"}},
    421: {"headers": {"host": "elsewhere.example"}},
    429: {},
}
KINDS = {
    401: "authentication_error",
    403: "permission_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
@pytest.mark.parametrize("code", REFUSED)
def test_what_the_guard_refuses_comes_in_the_providers_envelope(
    upstream: Server, code: int, path: str
) -> None:
    settings = GatewaySettings(
        upstream=upstream.url,
        port=0,
        token="right" if code == 401 else None,
        max_body_bytes=2_000,
        requests_per_second=0.001,
        burst=1,
    )
    with serving(settings, manager()) as url:
        if code == 429:
            HTTP.get(url + "/v1/models")
        asked = {"content": b'{"model":"m"}', **REFUSED[code]}
        asked["headers"] = {"content-type": "application/json", **asked.get("headers", {})}
        answer = HTTP.post(url + path, **asked)
    assert answer.status_code == code
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert error["message"]
    if path == MESSAGES:
        assert answer.json()["type"] == "error"
        assert error["type"] == KINDS.get(code, "invalid_request_error")
    else:
        assert error["type"] == "invalid_request_error" and error["code"]
    assert code != 429 or int(answer.headers["retry-after"]) > 0
