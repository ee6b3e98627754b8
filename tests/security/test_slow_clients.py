"""Senders that stall, headers that never end, readers beyond the promised number: nobody else waits."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from support.trace_service import span, trace_service


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx2.Client]:
    with trace_service(tmp_path / "traces.db", read_timeout=600.0, max_readers=10) as client:
        yield client


@contextmanager
def connected(client: httpx2.Client, text: str) -> Iterator[socket.socket]:
    address = urlsplit(str(client.base_url))
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=60) as connection:
        connection.sendall(text.encode())
        yield connection


def test_senders_that_stall_keep_no_other_waiting(client: httpx2.Client) -> None:
    head = (
        f"POST /ingest HTTP/1.1\r\nHost: {client.base_url.netloc.decode()}\r\nContent-Length: 100\r\n\r\n{{"
    )
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(connected(client, head))
        # The client waits for 30 seconds, the service for the others for ten minutes.
        assert client.post("/ingest", json=span()).json() == {"success": True, "count": 1}


def test_large_bodies_that_stall_give_way_to_one_that_comes(tmp_path: Path) -> None:
    """Together they would fill the memory for bodies; the one that stalls longest is dropped."""
    size = 8 * 1024 * 1024
    with trace_service(tmp_path / "traces.db", read_timeout=600.0) as client, ExitStack() as stack:
        host = client.base_url.netloc.decode()
        head = f"POST /ingest HTTP/1.1\r\nHost: {host}\r\nContent-Length: {size}\r\n\r\n"
        stalled = [stack.enter_context(connected(client, head)) for _ in range(9)]
        for connection in stalled:
            connection.sendall(b" " * (size - 100_000))
        time.sleep(1.2)  # until they have a speed that can be compared
        answer = client.post("/ingest", json=span(data={"text": "x" * 4_000_000}))
        assert answer.json() == {"success": True, "count": 1}


@pytest.mark.parametrize("beginning", ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_headers_that_never_end_are_not_waited_for(tmp_path: Path, beginning: str) -> None:
    with trace_service(tmp_path / "traces.db", header_timeout=0.4) as client:
        with connected(client, beginning) as connection:
            ends = time.monotonic() + 60
            with pytest.raises((BrokenPipeError, ConnectionResetError)):
                # One byte now and then must not buy more time.
                while time.monotonic() < ends:
                    connection.sendall(b"x" if beginning.endswith(" ") else b"")
                    time.sleep(0.1)
                    connection.setblocking(False)
                    try:
                        if connection.recv(1_000) == b"":
                            raise BrokenPipeError
                    except BlockingIOError:
                        pass
                    connection.setblocking(True)
        # A second request on a connection that lived is watched too.
        whole = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with connected(client, whole) as connection:
            answer = b""
            while not answer.endswith(b"}"):
                answer += connection.recv(1_000)
            assert answer.startswith(b"HTTP/1.1 200")
            connection.sendall(b"GET /healthz HT")
            connection.settimeout(60)
            assert connection.recv(1_000).startswith(b"HTTP/1.1 408")


def test_no_more_readers_than_promised_are_let_in_at_once(client: httpx2.Client) -> None:
    start = threading.Barrier(40)
    release = threading.Event()

    def follow(_: int) -> int:
        start.wait()
        own = httpx2.Client(base_url=client.base_url, trust_env=False, timeout=120)
        with own, own.stream("GET", "/events") as response:
            if response.status_code == 200:
                release.wait(120)
            return response.status_code

    with ThreadPoolExecutor(40) as pool:
        answers = [pool.submit(follow, number) for number in range(40)]
        ends = time.monotonic() + 60
        while sum(answer.done() for answer in answers) < 30 and time.monotonic() < ends:
            time.sleep(0.02)
        assert client.get("/stats").json()["readers"] == 10
        release.set()
        codes = sorted(answer.result() for answer in answers)
    assert codes == [200] * 10 + [503] * 30
    ends = time.monotonic() + 60
    while client.get("/stats").json()["readers"] and time.monotonic() < ends:
        time.sleep(0.02)
    assert client.get("/stats").json()["readers"] == 0
