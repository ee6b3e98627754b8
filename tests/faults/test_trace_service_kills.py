"""The trace service killed, restarted, and followed by many: what was acknowledged is there."""

from __future__ import annotations

import http.client
import json
import signal
import sqlite3
import threading
import time
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from compact.server.traces.tail.client import TraceClient
from support.cable import cable
from support.trace_load import event, send, service_process
from support.trace_service import address, followed, messages, span, trace_service

READERS = 10
EVENTS = 5_000


@pytest.mark.parametrize("after", [3, 12])
def test_killed_while_it_takes_events_it_has_all_it_acknowledged(tmp_path: Path, after: int) -> None:
    database = tmp_path / "traces.db"
    acknowledged: set[int] = set()
    enough = threading.Event()

    def post(url: str, first: int) -> None:
        with httpx2.Client(base_url=url, trust_env=False, timeout=60) as client:
            for start in range(first, first + 100_000, 20):
                try:
                    answer = client.post(
                        "/ingest", json={"batch": [event(n) for n in range(start, start + 20)]}
                    )
                except httpx2.TransportError:
                    return
                assert answer.json() == {"success": True, "count": 20}
                acknowledged.update(range(start, start + 20))
                if len(acknowledged) >= after * 20:
                    enough.set()

    with service_process(database) as service:
        senders = [threading.Thread(target=post, args=(service.url, n * 1_000_000)) for n in range(3)]
        for sender in senders:
            sender.start()
        assert enough.wait(60)
        service.process.send_signal(signal.SIGKILL)
        for sender in senders:
            sender.join(60)
    with sqlite3.connect(database) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    # A new service takes over what the old one left, and goes on where it was.
    with trace_service(database) as client:
        counts = client.get("/stats").json()
        stored = {seen["data"]["number"] for _, seen in followed(client, counts["events"], after=0)}
        assert acknowledged <= stored and len(stored) == counts["events"] == counts["spans"]
        # Batches are whole or not there at all.
        assert {n // 20 for n in stored} == {
            n // 20 for n in stored if {n // 20 * 20 + i for i in range(20)} <= stored
        }
        first = min(acknowledged)
        again = client.post("/ingest", json={"batch": [event(first), span("new", "new")]}).json()
        assert again == {"success": True, "count": 2, "duplicates": 1}


def test_a_restart_keeps_everything_and_readers_go_on(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    with trace_service(database) as client:
        client.post("/ingest", json=span("t", "a", name="first", started_at=1_777_636_800))
        [(sequence, _)] = followed(client, 1, after=0)
    with trace_service(database) as client:
        client.post("/ingest", json=span("t", "a", ended_at=1_777_636_802))
        [(later, seen)] = followed(client, 1, headers={"Last-Event-ID": str(sequence)})
        assert later == sequence + 1 and "ended_at" in seen
        [shown] = client.get("/traces/t").json()["spans"]
        assert (shown["name"], shown["duration_ms"]) == ("first", 2000.0)


def test_a_reader_that_comes_back_to_another_database_sees_it_whole(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with trace_service(tmp_path / "one.db") as client:
            line = stack.enter_context(cable(*address(client)))
            client.post("/ingest", json={"batch": [span(id=str(number)) for number in range(10)]})
            follow = TraceClient(line.url, None).follow({"after": "0"}, pauses=(0.05,))
            assert [told.sequence for told in islice(follow, 11)] == list(range(11))
        with trace_service(tmp_path / "two.db") as client:
            line.lead_to(*address(client))
            client.post("/ingest", json=span(id="new"))
            told = next(told for told in follow if told.event is not None)
            assert told.event is not None and (told.sequence, told.event["span_id"]) == (1, "new")


def test_a_stop_lets_followers_go_at_once(tmp_path: Path) -> None:
    lines: list[str] = []
    with trace_service(tmp_path / "traces.db") as client:
        address = urlsplit(str(client.base_url))
        connection = http.client.HTTPConnection(str(address.hostname), int(address.port or 0), timeout=60)
        connection.request("GET", "/events")
        response = connection.getresponse()
        lines.append(response.readline().decode())
        reader = threading.Thread(target=lambda: lines.append(response.read().decode()))
        reader.start()
    reader.join(60)
    connection.close()
    assert not reader.is_alive() and lines[0] == "retry: 1000\n"


class Reader(threading.Thread):
    """Follows with the least possible work of its own; a slow one sleeps between reads."""

    def __init__(self, url: str, slow: bool) -> None:
        super().__init__(daemon=True)
        self.seen: list[tuple[int, int]] = []
        self.connected = threading.Event()
        self._url, self._slow = urlsplit(url), slow

    def run(self) -> None:
        connection = http.client.HTTPConnection(str(self._url.hostname), int(self._url.port or 0), timeout=60)
        connection.request("GET", "/events?after=0")
        response = connection.getresponse()
        self.connected.set()
        for sequence, message in messages(line.decode().rstrip("\n") for line in response):
            if message["type"] == "connected":
                continue
            self.seen.append((sequence, message["data"]["number"]))
            if self._slow and len(self.seen) % 500 == 0:
                time.sleep(0.1)
            if len(self.seen) == EVENTS:
                break
        connection.close()


@pytest.mark.spec("S4.13", part="service")
def test_ten_readers_see_every_event_once_and_in_order(tmp_path: Path) -> None:
    with service_process(tmp_path / "traces.db") as service:
        send(service.url, 1, first=EVENTS)  # Warm, so that what is compared is the load itself.
        before = service.memory()
        readers = [Reader(service.url, slow=number < 2) for number in range(READERS)]
        for reader in readers:
            reader.start()
            assert reader.connected.wait(60)
        assert send(service.url, EVENTS - 1) == EVENTS - 1
        for reader in readers:
            reader.join(120)
            assert sorted(number for _, number in reader.seen) == [*range(EVENTS - 1), EVENTS]
            assert [sequence for sequence, _ in reader.seen] == list(range(1, EVENTS + 1))
        # A queue for each reader would hold 10 x 5,000 events; pages from the database are bounded.
        assert service.memory("VmHWM") < before + 64


def test_one_broken_connection_does_not_disturb_the_others(tmp_path: Path) -> None:
    with trace_service(tmp_path / "traces.db") as client:
        for _ in range(5):
            with client.stream("GET", "/events", params={"after": 0}) as response:
                next(response.iter_lines())
        client.post("/ingest", json=span())
        assert len(followed(client, 1, after=0)) == 1


def test_what_cannot_be_written_is_told_and_not_counted(tmp_path: Path) -> None:
    database = tmp_path / "traces.db"
    with trace_service(database) as client:
        client.post("/ingest", json=span(id="before"))
        other = sqlite3.connect(database, isolation_level=None)
        # Somebody else's broken tool: the table is gone while the service runs.
        other.execute("ALTER TABLE events RENAME TO gone")
        answer = client.post("/ingest", json=span(id="lost"))
        assert answer.status_code == 503 and answer.json()["success"] is False
        assert "could not be written" in answer.json()["error"]
        other.execute("ALTER TABLE gone RENAME TO events")
        other.close()
        assert client.post("/ingest", json=span(id="after")).json() == {"success": True, "count": 1}
        stored: list[dict[str, Any]] = client.get("/traces/t1").json()["spans"]
        assert {shown["span_id"] for shown in stored} == {"before", "after"}


def test_json_of_the_stream_is_one_line_each(tmp_path: Path) -> None:
    with trace_service(tmp_path / "traces.db") as client:
        client.post("/ingest", json=span(data={"text": "line\r\n\r\nline\u2028\u0085 id: 9\ndata: x"}))
        [(sequence, seen)] = followed(client, 1, after=0)
    assert sequence == 1 and json.dumps(seen["data"]["text"]).count("\\n") == 3
