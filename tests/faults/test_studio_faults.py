"""The chat server when clients leave, models fail and processes end: nothing said is lost, nothing stays."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact.chat.chats import Chats
from compact.chat.tools import Tool, Toolbox
from compact.errors import ContextOverflow
from compact.models.openai_chat import OpenAIChatModel
from compact.stores import open_store
from support.chat_server import Answer, chat_server
from support.studio import (
    RuleModel,
    body_of,
    chunks,
    compactions,
    config,
    new_session,
    reply_text,
    said,
    stored_events,
    studio,
)
from support.studio_process import studio_process

REPLY = "The port is 8460, and that is what we agreed on last week. " * 4


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def half_read(client: httpx2.Client, session: str, text: str = "hello") -> tuple[str, str]:
    """Read until half of the reply is out, then leave: what came, and the id of the last chunk."""
    with client.stream("POST", "/api/chat", json=body_of(session, text)) as response:
        came = ""
        for piece in response.iter_text():
            came += piece
            if "text-delta" in came:
                break
    return came, re.findall(r"^id: (\S+)$", came, re.MULTILINE)[-1]


def gauge(client: httpx2.Client, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_a_client_that_leaves_loses_nothing_and_resumes_without_gap_or_repeat(tmp_path: Path) -> None:
    model = RuleModel(lambda _: REPLY)
    model.gate = threading.Event()
    with studio(tmp_path, model) as client:
        session = new_session(client)
        came, last = half_read(client, session)
        assert client.get(f"/api/sessions/{session}").json()["streaming"] is True
        refused = client.post("/api/chat", json=body_of(session, "at the same time"))
        assert refused.status_code == 409 and refused.json()["code"] == "session-replying"
        with client.stream("GET", f"/api/chat/{session}/stream", headers={"Last-Event-ID": last}) as response:
            assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
            model.gate.set()
            rest = "".join(response.iter_text())
        ids = re.findall(r"^id: \S+-(\d+)$", came + rest, re.MULTILINE)
        assert ids == [str(n) for n in range(1, len(ids) + 1)]
        assert reply_text(chunks(came + rest)) == REPLY
        assert client.get(f"/api/chat/{session}/stream").status_code == 204
        # Who comes back after the end still gets the end.
        late = client.get(f"/api/chat/{session}/stream", headers={"Last-Event-ID": last})
        assert late.text == rest
        stored = client.get(f"/api/sessions/{session}/messages").json()["messages"]
        assert stored[-1]["parts"][-1]["text"] == REPLY


def test_a_hundred_clients_that_leave_leave_nothing_behind(tmp_path: Path) -> None:
    model = RuleModel(lambda _: REPLY)
    model.gate = threading.Event()
    with studio(tmp_path, model, burst=10_000) as client:
        sessions = [new_session(client) for _ in range(100)]

        def leave(session: str) -> None:
            with httpx2.Client(base_url=client.base_url, trust_env=False, timeout=30) as own:
                half_read(own, session)

        with ThreadPoolExecutor(20) as pool:
            list(pool.map(leave, sessions))
        assert gauge(client, "compact_turns_running") == 100
        wait_until(lambda: gauge(client, "compact_streams_open") == 0)
        model.gate.set()
        wait_until(lambda: gauge(client, "compact_turns_running") == 0)
        for session in sessions:
            shown = client.get(f"/api/sessions/{session}").json()
            assert (shown["message_count"], shown["streaming"], shown["compacting"]) == (2, False, False)
        # The pool for the store stays; threads that read replies do not.
        wait_until(lambda: not any("reply" in thread.name for thread in threading.enumerate()))
        assert said(client, sessions[0], "again")[-1]["finishReason"] == "stop"


def test_stop_keeps_what_came_and_a_hanging_model_can_be_stopped(tmp_path: Path) -> None:
    model = RuleModel(lambda _: REPLY)
    model.gate = threading.Event()
    with studio(tmp_path, model) as client, ThreadPoolExecutor(1) as pool:
        session = new_session(client)
        reply = pool.submit(lambda: client.post("/api/chat", json=body_of(session, "hello")).text)
        assert model.half.wait(60)
        assert client.post(f"/api/sessions/{session}/stop").json() == {"stopped": True}
        assert chunks(reply.result())[-1] == {"type": "abort", "reason": "stopped"}
        stored = client.get(f"/api/sessions/{session}/messages").json()["messages"][-1]
        assert REPLY.startswith(stored["parts"][-1]["text"]) and stored["finish_reason"] == "interrupted"
        assert client.post(f"/api/sessions/{session}/stop").json() == {"stopped": False}
        model.gate.set()
        assert said(client, session, "go on")[-1]["finishReason"] == "stop"
    with hanging_server() as url, studio(tmp_path / "..", OpenAIChatModel("gpt-4o", url, None)) as client:
        with ThreadPoolExecutor(1) as pool:
            session = new_session(client)
            reply = pool.submit(lambda: client.post("/api/chat", json=body_of(session, "hello")).text)
            wait_until(lambda: client.get(f"/api/sessions/{session}").json()["streaming"])
            assert client.post(f"/api/sessions/{session}/stop").json() == {"stopped": True}
            assert "abort" in reply.result()
        assert client.get(f"/api/sessions/{session}").json()["draft"] == "hello"


@contextmanager
def hanging_server(answer: bytes = b"") -> Iterator[str]:
    """Takes requests and says nothing, or this much and hangs up."""
    listening = socket.create_server(("127.0.0.1", 0))
    open_ones: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            if answer:
                connection.recv(65_536)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_RDWR)
                connection.close()
            else:
                open_ones.append(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in open_ones:
            connection.close()
        thread.join(5)


def test_a_stream_that_is_cut_keeps_its_beginning_and_says_so(tmp_path: Path) -> None:
    event = json.dumps({"choices": [{"index": 0, "delta": {"content": "The port is 84"}}]})
    cut = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {event}\n\n".encode()
    with hanging_server(cut) as url, studio(tmp_path, OpenAIChatModel("gpt-4o", url, None)) as client:
        session = new_session(client)
        found = said(client, session, "Which port?")
        assert (found[-2]["type"], found[-1]["finishReason"]) == ("error", "error")
        assert "broke off" in found[-2]["errorText"]
        stored = client.get(f"/api/sessions/{session}/messages").json()["messages"][-1]
        assert stored["parts"][-1]["text"] == "The port is 84" and "broke off" in stored["error"]


def test_a_model_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    answers = iter([Answer("slow down", status=429), Answer("Here I am.")])
    with (
        chat_server(lambda _: next(answers)) as server,
        studio(tmp_path, OpenAIChatModel("gpt-4o", server.url, None)) as client,
    ):
        found = said(client, new_session(client), "hello")
        assert reply_text(found) == "Here I am." and len(server.requests) == 2


def test_an_overflow_error_leads_to_one_hard_compaction_and_one_retry(tmp_path: Path) -> None:
    model = RuleModel()
    with studio(tmp_path, model) as client:
        session = new_session(client, preset="chat")
        for number in range(6):
            said(client, session, f"Message {number}. {REPLY}")
        overflow = ContextOverflow("The prompt is too long.", tokens=None, window=None)
        model.prompts.clear()
        model.rule = lambda _: overflow if len(model.prompts) == 1 else "Now it fits."
        found = said(client, session, "Does it fit?")
        assert "compaction-complete" in compactions(found) and reply_text(found) == "Now it fits."
        assert len(model.prompts) == 2 and len(str(model.prompts[1])) < len(str(model.prompts[0]))
        model.prompts.clear()
        model.rule = lambda _: overflow
        found = said(client, session, "And now?")
        assert found[-2]["type"] == "error" and len(model.prompts) <= 2, "never a loop"


def test_events_are_replayed_without_gap_or_repeat_while_more_come(tmp_path: Path) -> None:
    with studio(tmp_path) as client:
        session = new_session(client)
        said(client, session, "one")
        before = [event["id"] for event in stored_events(client, session)]
        seen: list[int] = []
        more = threading.Thread(target=lambda: [said(client, session, f"more {n}") for n in range(5)])
        with httpx2.Client(base_url=client.base_url, trust_env=False, timeout=30) as reader:
            path, headers = f"/api/sessions/{session}/events", {"Last-Event-ID": str(before[0])}
            with reader.stream("GET", path, headers=headers) as stream:
                lines = stream.iter_lines()
                more.start()
                for line in lines:
                    if line.startswith("id: "):
                        seen.append(int(line[4:]))
                    if len(seen) >= len(before) + 10:
                        break
        more.join()
        wait_until(lambda: len(stored_events(client, session)) >= len(before) + 10)
        stored = [event["id"] for event in stored_events(client, session)]
        # The first one is where it begins.
        assert seen == stored[: len(seen)]


def test_terminal_and_server_go_on_with_each_others_sessions(tmp_path: Path) -> None:
    """Preset, pins and undo come along."""
    url = f"sqlite:///{tmp_path}/studio.db"
    with studio(tmp_path) as client:
        session = new_session(client, preset="chat")
        for number in range(8):
            said(client, session, f"Message {number}. {REPLY}")
        client.put(f"/api/sessions/{session}/pins/0", json={"pinned": True})
        assert client.post(f"/api/sessions/{session}/compact", json={}).json()["outcome"] == "compacted"
        model = RuleModel()
        with open_store(url) as store:
            # What `compact chat` holds.
            chats = Chats(config(), store, lambda _: model, delays_trim=True)
            conversation = chats.open(session)
            assert conversation.manager.config.preset == "chat" and conversation.compactions == 1
            assert conversation.turns[0]["meta"] == {"protected": True}
            list(conversation.send("from the terminal"))
            assert "Message 1." not in str(model.prompts[-1][-3:])
            assert conversation.undo() is not None
            chats.close()
        listed = client.get(f"/api/sessions/{session}/messages").json()["messages"]
        assert listed[-2]["parts"][-1]["text"] == "from the terminal" and listed[0]["pinned"]
        [record] = client.get(f"/api/sessions/{session}/records").json()["records"]
        assert record["undone"] and {one["state"] for one in listed} == {"sent"}
        assert said(client, session, "and back")[-1]["finishReason"] == "stop"


class Discovering(Toolbox):
    """Every tool is one that the agent found on the way."""

    @property
    def schemas(self) -> Any:
        return [{**tool, "meta": {"discovered": True}} for tool in super().schemas]

    def with_tools(self, *tools: Tool) -> Toolbox:
        return Discovering([*self._tools.values()])


def a_finder() -> tuple[RuleModel, Toolbox]:
    answers = iter([("find_port", {}), *["Noted. " + REPLY] * 40])
    tools = Discovering([Tool("find_port", "Finds the port.", lambda: "8460")])
    return RuleModel(lambda _: next(answers)), tools


@pytest.mark.spec("S2.17", part="server")
def test_discovered_tools_are_sent_only_while_a_kept_message_refers_to_them(store_url: str) -> None:
    model, tools = a_finder()
    with studio(store_url, model, tools) as client:
        session = new_session(client, preset="chat")
        said(client, session, "Find the port.")
        assert "find_port" in str(model.tools[-1])
        for number in range(25):
            if "compaction-complete" in compactions(said(client, session, f"Message {number}. {REPLY}")):
                break
        said(client, session, "Anything left?")
        assert "find_port" not in str(model.tools[-1])


@pytest.mark.spec("S2.17", part="server")
def test_two_workers_agree_on_discovered_tools(new_database: Callable[[str], str]) -> None:
    model, tools = a_finder()
    url = new_database("postgresql")
    with studio(url, model, tools) as one, studio(url, model, tools) as other:
        session = new_session(one, preset="chat")
        said(one, session, "Find the port.")
        said(other, session, "And now?")
        assert "find_port" in str(model.tools[-1])
        for number in range(25):
            # The other one has the session open too, and its own idea of the tools.
            worker = (one, other)[number % 2]
            if "compaction-complete" in compactions(said(worker, session, f"Message {number}. {REPLY}")):
                break
        for worker in (one, other):
            said(worker, session, "Anything left?")
            assert "find_port" not in str(model.tools[-1])
        said(one, session, "Use find_port again.")
        for worker in (other, one):
            said(worker, session, "Please.")
            assert "find_port" in str(model.tools[-1])


def test_a_stop_of_the_server_parks_open_turns(tmp_path: Path) -> None:
    model = RuleModel(lambda _: REPLY)
    model.gate = threading.Event()
    with httpx2.Client(trust_env=False, timeout=60) as reader, ThreadPoolExecutor(1) as pool:
        with studio(tmp_path, model, stop_seconds=0.3) as client:
            session = new_session(client)
            url = f"{str(client.base_url).rstrip('/')}/api/chat"
            reply = pool.submit(lambda: reader.post(url, json=body_of(session, "hello")).text)
            assert model.half.wait(60)
        model.gate.set()
        assert "text-delta" in reply.result()
    with open_store(f"sqlite:///{tmp_path}/studio.db") as store:
        last = list(store.originals(session))[-1]
        assert last.role.value == "assistant" and REPLY.startswith(last.text[:10])


def test_a_stop_of_the_server_ends_the_streams_of_open_turns(tmp_path: Path) -> None:
    """Their readers learn what became of the reply, and the stop does not wait for them twice."""
    model = RuleModel(lambda _: REPLY)
    model.gate = threading.Event()
    with httpx2.Client(trust_env=False, timeout=60) as reader, ThreadPoolExecutor(1) as pool:
        with studio(tmp_path, model, stop_seconds=0.1) as client:
            session = new_session(client)
            url = f"{str(client.base_url).rstrip('/')}/api/chat"
            reply = pool.submit(lambda: reader.post(url, json=body_of(session, "hello")).text)
            assert model.half.wait(60)
        model.gate.set()
        assert [one["type"] for one in chunks(reply.result())][-1] == "abort"


def test_a_killed_server_keeps_what_it_acknowledged_and_locks_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/studio.db"
    with studio_process(url, tmp_path) as served:
        session = new_session(served.client, title="kept")
        said(served.client, session, "first")
        hold = threading.Event()

        def slow(messages: list[Any], tools: list[Any]) -> str:
            hold.wait(120)
            return "late"

        served.provider.reply = slow

        def ask() -> None:
            with suppress(httpx2.TransportError):
                served.client.post("/api/chat", json=body_of(session, "second"))

        threading.Thread(target=ask).start()
        # The model is asked once the message is stored.
        wait_until(lambda: len(served.provider.asked) >= 2)
        served.process.send_signal(signal.SIGKILL)
        served.process.wait(60)
        hold.set()
    with studio(tmp_path) as client:
        shown = client.get(f"/api/sessions/{session}").json()
        assert (shown["draft"], shown["streaming"], shown["title"]) == ("second", False, "kept")
        assert said(client, session, "second")[-1]["finishReason"] == "stop"
        assert client.get(f"/api/sessions/{session}/messages").json()["total"] == 4
