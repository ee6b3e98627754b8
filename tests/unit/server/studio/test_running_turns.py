"""What is done to a session while a reply is written in it: renaming, moving, deleting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact.errors import ChatError
from compact.model.chat import FinishReason
from compact.server.http.settings import TENANT
from compact.server.studio.turn import Turn
from compact.stores import open_store
from support.studio import RuleModel, body_of, chunks, new_session, said, studio

Reply = Future[list[dict[str, Any]]]


def texts(client: httpx2.Client, session: str) -> list[str]:
    listed = client.get(f"/api/sessions/{session}/messages").json()["messages"]
    return [part["text"] for one in listed for part in one["parts"] if "text" in part]


@contextmanager
def replying(client: httpx2.Client, model: RuleModel, session: str, text: str) -> Iterator[Reply]:
    """While the block runs, the reply is half out; it goes on when the block is left."""
    model.gate = threading.Event()
    model.half.clear()
    with ThreadPoolExecutor(1) as pool:
        reply = pool.submit(lambda: chunks(client.post("/api/chat", json=body_of(session, text)).text))
        try:
            assert model.half.wait(60)
            yield reply
        finally:
            model.gate.set()
            model.gate = None


def test_a_session_that_is_renamed_keeps_its_reply(tmp_path: Path) -> None:
    model = RuleModel()
    with studio(tmp_path, model) as client:
        session = new_session(client)
        with replying(client, model, session, "hello") as reply:
            renamed = client.patch(f"/api/sessions/{session}", json={"title": "Mine"}).json()
            assert (renamed["title"], renamed["streaming"]) == ("Mine", True)
            refused = client.post("/api/chat", json=body_of(session, "at the same time"))
            assert refused.status_code == 409
            assert client.post(f"/api/sessions/{session}/stop").json() == {"stopped": True}
        assert reply.result()[-1]["type"] == "abort"
        # The title that the user gave is not replaced by one after the question.
        assert client.get(f"/api/sessions/{session}").json()["title"] == "Mine"


def test_a_session_that_is_renamed_and_deleted_stays_deleted(tmp_path: Path) -> None:
    model = RuleModel()
    with studio(tmp_path, model) as client:
        session = new_session(client)
        with replying(client, model, session, "hello") as reply:
            client.patch(f"/api/sessions/{session}", json={"title": "Mine"})
            assert client.delete(f"/api/sessions/{session}").status_code == 204
        reply.result()
        assert client.get(f"/api/sessions/{session}").status_code == 404
        assert client.get("/api/sessions").json()["sessions"] == []


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_session_that_another_process_deletes_stays_deleted(kind: str, new_database: Any) -> None:
    url, model = new_database(kind), RuleModel()
    with studio(url, model) as here, studio(url) as there:
        session = new_session(here)
        said(here, session, "an old message")
        with replying(here, model, session, "a new message") as reply:
            assert there.delete(f"/api/sessions/{session}").status_code == 204
        ended = reply.result()
        if kind == "sqlite":  # nobody stopped it; it finds out where it stores the reply
            assert any("deleted" in one.get("errorText", "") for one in ended)
        for client in (here, there):
            assert client.get(f"/api/sessions/{session}").status_code == 404
            assert client.get(f"/api/sessions/{session}/messages").status_code == 404
            assert client.post("/api/chat", json=body_of(session, "again")).status_code == 404
            assert client.get("/api/sessions").json()["sessions"] == []


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("before", [(), ("an old message",)], ids=["first", "later"])
def test_a_session_that_is_made_again_gets_nothing_of_the_earlier_one(
    kind: str, before: tuple[str, ...], new_database: Any
) -> None:
    url, model = new_database(kind), RuleModel()
    with studio(url, model) as here, open_store(url, TENANT) as elsewhere:
        session = new_session(here)
        for text in before:
            said(here, session, text)
        with replying(here, model, session, "a question") as reply:
            assert elsewhere.delete_session(session)
            elsewhere.put_session(session, title="Anew")
        assert any("deleted" in one.get("errorText", "") for one in reply.result())
        assert here.get(f"/api/sessions/{session}/messages").json()["messages"] == []
        events = here.get(f"/api/sessions/{session}/events", params={"format": "json"}).json()["events"]
        shown = here.get(f"/api/sessions/{session}").json()
        assert (events, shown["title"], shown["streaming"]) == ([], "Anew", False)
        # It is a session like any other, also in the process that had the earlier one open.
        assert said(here, session, "hello")[-1]["finishReason"] == "stop"
        assert texts(here, session) == ["hello", "You said: hello"]


def system_sent(model: RuleModel) -> list[Any]:
    return [message["content"] for message in model.prompts[-1] if message["role"] == "system"]


def test_the_next_message_goes_by_what_its_space_says_since(tmp_path: Path) -> None:
    model = RuleModel()
    with studio(tmp_path, model) as client:
        client.put("/api/spaces/work", json={"title": "Work", "custom_instructions": "Old rule."})
        session = new_session(client, space="work")
        with replying(client, model, session, "hello"):
            client.put("/api/spaces/work", json={"title": "Work", "custom_instructions": "New rule."})
        said(client, session, "again")
        assert system_sent(model) == ["New rule."]
        assert len(texts(client, session)) == 4
        with replying(client, model, session, "hello"):
            client.delete("/api/spaces/work")
        said(client, session, "again")
        assert system_sent(model) == []


def test_a_changed_space_reaches_sessions_that_other_processes_hold_open(new_database: Any) -> None:
    url, model = new_database("postgresql"), RuleModel()
    with studio(url, model) as here, studio(url) as there:
        here.put("/api/spaces/work", json={"title": "Work", "custom_instructions": "Old rule."})
        session = new_session(here, space="work")
        said(here, session, "hello")
        for _ in range(200):
            # Again and again: a server that is not listening yet hears nothing.
            there.put("/api/spaces/work", json={"title": "Work", "custom_instructions": "New rule."})
            said(here, session, "again")
            if system_sent(model) == ["New rule."]:
                break
        assert system_sent(model) == ["New rule."]


@pytest.mark.parametrize("how", ["stopped", "cut short", "deleted"])
def test_a_reader_in_another_process_learns_how_the_reply_ended(how: str, new_database: Any) -> None:
    url, model = new_database("postgresql"), RuleModel()
    with studio(url, model) as here, studio(url, poll_seconds=0.1) as there, ThreadPoolExecutor(1) as pool:
        session = new_session(here)
        path = f"/api/chat/{session}/stream"
        if how == "cut short":
            model.end = FinishReason.LENGTH
        with replying(here, model, session, "hello"), there.stream("GET", path) as response:
            lines = response.iter_lines()
            assert '"start"' in next(line for line in lines if line)
            following = pool.submit(lambda: [line for line in lines if line])
            if how == "stopped":
                while not there.post(f"/api/sessions/{session}/stop").json()["stopped"]:
                    pass  # it was not listening yet
            elif how == "deleted":
                there.delete(f"/api/sessions/{session}")
            else:
                assert model.gate is not None
                model.gate.set()
            ended = chunks("\n".join(following.result(20)))
        if how == "cut short":
            assert ended[-1] == {"type": "finish", "finishReason": "length"}
        else:
            # One that is deleted is stopped first; the reader may see either.
            assert ended[-1]["type"] == "abort" and ended[-1]["reason"] in ("stopped", how)


@pytest.mark.parametrize("answer", ["all went well", ChatError("the model is down")], ids=["reply", "error"])
def test_whoever_sees_the_end_of_a_reply_can_send_the_next_message(
    answer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end takes its time on the server; until it is over, the reply has none for its readers either."""
    begun, ending, close, turns = threading.Event(), threading.Event(), Turn._ended, []

    def slowly(turn: Turn) -> None:
        turns.append(turn)
        begun.set()
        assert ending.wait(60)
        close(turn)

    monkeypatch.setattr(Turn, "_ended", slowly)
    with studio(tmp_path, RuleModel(lambda _: answer)) as client, ThreadPoolExecutor(1) as pool:
        session = new_session(client)
        reply = pool.submit(said, client, session, "hello")
        try:
            assert begun.wait(60)
            shown = b"".join(turns[0].live._chunks)
        finally:
            ending.set()
        assert b'"start-step"' in shown and b'"finish"' not in shown and b'"error"' not in shown
        assert reply.result()[-1]["type"] == "finish"
        assert client.post("/api/chat", json=body_of(session, "again")).status_code == 200


def test_while_a_reply_is_written_the_usage_is_that_of_the_compacted_prompt(tmp_path: Path) -> None:
    model = RuleModel(lambda _: "A reply that takes a while.")
    with studio(tmp_path, model) as client:
        session = new_session(client, preset="chat")
        history = [
            {"role": role, "content": f"{role} {number}: " + "the week in May costs 210 euros. " * 20}
            for number in range(10)
            for role in ("user", "assistant")
        ]
        client.post(f"/api/sessions/{session}/import", json={"messages": history})
        with replying(client, model, session, "And in June?") as reply:
            during = client.get(f"/api/sessions/{session}").json()["usage"]
        stream = reply.result()
        kinds = [one["type"] for one in stream]
        reported = stream[kinds.index("data-context-usage")]["data"]
        assert kinds.index("data-context-usage") < kinds.index("text-delta")
        events = [one["data"] for one in stream if one["type"] == "data-compaction"]
        [done] = [one for one in events if one["event"] == "compaction-complete"]
        assert during["tokens"] == reported["tokens"] == done["tokensAfter"]
        assert during["parts"]["summary"] == reported["parts"]["summary"] > 0
