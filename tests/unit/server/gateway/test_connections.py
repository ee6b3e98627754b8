"""Clients that leave, and upstreams that break off."""

from __future__ import annotations

import json
import socket
import threading

import httpx2
import pytest

from compact.server.gateway.running import serving
from compact.server.gateway.settings import GatewaySettings
from support.ariadne import wait_for
from support.gateway import HTTP, manager
from support.providers import CHAT
from support.wire_servers import serving as scripted
from support.wire_servers import then, until_left

ASKED = {"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "hi"}]}


def test_a_client_that_leaves_in_mid_stream_ends_the_call_to_the_upstream() -> None:
    left = threading.Event()
    with (
        scripted(until_left(left, "first")) as provider,
        serving(GatewaySettings(upstream=provider.url, port=0), manager()) as url,
    ):
        with HTTP.stream("POST", url + CHAT, json=ASKED) as answer:
            pieces = answer.iter_text()  # held, because a reader that is dropped hangs up
            assert "first" in next(pieces)
            assert not left.is_set()
        assert left.wait(60)


def test_a_client_that_leaves_before_the_first_byte_ends_the_call_too() -> None:
    left = threading.Event()
    with (
        scripted(until_left(left)) as provider,
        serving(GatewaySettings(upstream=provider.url, port=0), manager()) as url,
    ):
        address, body = httpx2.URL(url), json.dumps(ASKED)
        with socket.create_connection((address.host, address.port or 80)) as client:
            head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            wait_for(lambda: provider.received)
            assert not left.is_set()
        assert left.wait(60)


def test_a_stream_that_the_upstream_breaks_off_is_broken_off_for_the_client() -> None:
    with (
        scripted(then("first", silence=None)) as provider,
        serving(GatewaySettings(upstream=provider.url, port=0), manager()) as url,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        HTTP.post(url + CHAT, json=ASKED)
