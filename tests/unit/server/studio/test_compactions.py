"""Compacting by hand, cancelling, clearing, looking: over HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact.stores.sql import SqlStore
from support.studio import RuleModel, body_of, new_session, said, stored_events, studio

FILLER = "The cottage by the lake needs a new roof before the winter. " * 6


class HeldSummarizer:
    """Writes its summary when it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.go.set()

    def summarize(self, request: Any) -> str:
        self.begun.set()
        self.go.wait(120)
        return "## Goals\n- The user wants the roof mended before the winter, by carpenter Ola.\n" * 3


SUMMARIZER = HeldSummarizer()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    model = RuleModel(lambda _: "Noted.")
    with studio(tmp_path_factory.mktemp("compactions"), model, summarizer=SUMMARIZER) as client:
        yield client


def talked(client: httpx2.Client, turns: int = 9) -> str:
    session = new_session(client, preset="chat")
    for number in range(turns):
        said(client, session, f"{session}, message {number}: house {number}. {FILLER}")
    return session


def test_a_manual_compaction_reports_its_record_and_its_progress(client: httpx2.Client) -> None:
    session = talked(client)
    before = client.get(f"/api/sessions/{session}/usage").json()
    done = client.post(
        f"/api/sessions/{session}/compact", json={"focus": "the roof", "note": "by hand"}
    ).json()
    record = done["record"]
    assert (done["outcome"], record["reason"], record["kind"]) == ("compacted", "manual", "summary")
    assert record["note"] == "the roof\nby hand" and record["in_force"] and record["summarizer"]
    assert record["duration"] is not None and record["duration"] >= 0
    assert done["usage"]["tokens"] < before["tokens"] and done["usage"]["parts"]["summary"] > 0
    happened = [one["data"].get("event") for one in stored_events(client, session)]
    assert [name for name in happened if name] == [
        "compaction-start",
        "compaction-summarize",
        "compaction-check",
        "compaction-complete",
    ]
    assert {one["type"] for one in stored_events(client, session)} >= {"data-context-usage", "message"}
    again = client.post(f"/api/sessions/{session}/compact", json={}).json()
    assert (again["outcome"], again["record"]) == ("unchanged", None)
    listed = client.get(f"/api/sessions/{session}").json()
    assert listed["compaction_count"] == 1 and listed["last_compaction_at"] == record["created_at"]


def test_a_compaction_is_cancelled_and_meanwhile_messages_are_refused(client: httpx2.Client) -> None:
    session = talked(client)
    before = client.get(f"/api/sessions/{session}/usage").json()
    SUMMARIZER.begun.clear()
    SUMMARIZER.go.clear()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: client.post(f"/api/sessions/{session}/compact", json={}))
        assert SUMMARIZER.begun.wait(60)
        refused = client.post("/api/chat", json=body_of(session, "now?"))
        assert refused.status_code == 409
        assert refused.json()["detail"] == "Session is currently being optimized. Please wait a moment."
        assert client.get(f"/api/sessions/{session}/messages").json()["total"] == 18
        assert client.post(f"/api/sessions/{session}/compact/cancel").json() == {"cancelled": True}
        answer = asked.result(60)
        SUMMARIZER.go.set()
    assert answer.status_code == 409 and answer.json()["code"] == "cancelled"
    assert client.get(f"/api/sessions/{session}/records").json() == {"records": []}
    assert client.get(f"/api/sessions/{session}/usage").json() == before
    assert client.post(f"/api/sessions/{session}/compact/cancel").json() == {"cancelled": False}
    deadline = time.monotonic() + 60
    while client.get(f"/api/sessions/{session}").json()["compacting"]:
        assert time.monotonic() < deadline, "the lease was not given back"
    assert client.post(f"/api/sessions/{session}/compact", json={}).json()["outcome"] == "compacted"


def test_a_clear_starts_fresh_and_can_be_undone(client: httpx2.Client) -> None:
    session = talked(client, 2)
    cleared = client.post(f"/api/sessions/{session}/clear").json()
    assert cleared["record"]["kind"] == "clear" and cleared["usage"]["parts"]["messages"] < 50
    listed = client.get(f"/api/sessions/{session}/messages").json()
    assert [one["state"] for one in listed["messages"]] == ["dropped"] * 4
    step = cleared["record"]["step"]
    restored = client.post(f"/api/sessions/{session}/records/{step}/restore").json()
    assert restored["usage"]["parts"]["messages"] > 100
    assert client.post(f"/api/sessions/{new_session(client)}/clear").json()["outcome"] == "unchanged"


def test_plan_recall_and_figures_only_look(client: httpx2.Client) -> None:
    session = talked(client)
    client.post(f"/api/sessions/{session}/compact", json={})
    said(client, session, "One more.")
    before = stored_events(client, session)
    plan = client.post(f"/api/sessions/{session}/plan", json={"preset": "window"}).json()
    assert plan["triggered"] is False and plan["limits"]["window"] == 4_000
    assert {step["action"] for step in plan["steps"]} <= {"kept", "pinned", "dropped", "injected", "warning"}
    hits = client.get(f"/api/sessions/{session}/recall", params={"q": "house 0"}).json()["hits"]
    assert hits[0]["position"] == 0 and "house 0" in hits[0]["text"]
    figures = client.get(f"/api/sessions/{session}/figures").json()
    assert (figures["totals"]["turns"], figures["totals"]["compactions"]) == (10, 1)
    assert figures["turns"][-1]["tokens_without"] > figures["turns"][-1]["tokens"]
    assert [one["compaction"] for one in figures["turns"]] == [None] * 9 + [1]
    assert figures["totals"]["tokens_saved"] > 0 and figures["prices_known"]
    assert client.get(f"/api/sessions/{session}/originals/t-none").status_code == 404
    assert stored_events(client, session) == before


def test_the_local_model_answers_through_the_server(local_model: Any, tmp_path: Path) -> None:
    from compact.models.openai_chat import OpenAIChatModel

    # A client of its own: a studio closes its models when it ends, and others still need the server.
    model = OpenAIChatModel("smollm2", f"{local_model.url}/v1", label="SmolLM2")
    with studio(tmp_path, models={"local": model}) as client:
        session = new_session(client)
        found = said(client, session, "Say hello in one word.")
        assert found[-1]["finishReason"] in ("stop", "length")
        [reply] = client.get(f"/api/sessions/{session}/messages").json()["messages"][1:]
        assert reply["parts"][-1]["text"].strip() and reply["usage"]["input"] > 0


def test_a_session_deleted_while_it_is_renamed_stays_deleted(
    client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new title was on its way to the store when the deletion came; it must not bring it back."""
    session = new_session(client)
    path = f"/api/sessions/{session}"
    begun, deleted = threading.Event(), threading.Event()
    put, delete = SqlStore.put_session, SqlStore.delete_session

    def slow_put(store: SqlStore, *given: Any, **more: Any) -> Any:
        begun.set()
        deleted.wait(0.3)
        return put(store, *given, **more)

    def noted_delete(store: SqlStore, *given: Any) -> Any:
        found = delete(store, *given)
        deleted.set()
        return found

    monkeypatch.setattr(SqlStore, "put_session", slow_put)
    monkeypatch.setattr(SqlStore, "delete_session", noted_delete)
    with ThreadPoolExecutor() as both:
        renamed = both.submit(client.patch, path, json={"title": "Prices"})
        assert begun.wait(60)
        assert both.submit(client.delete, path).result().status_code == 204
        renamed.result()
    assert client.get(path).status_code == 404


def test_undoing_the_second_summary_brings_back_what_the_first_did_not_hold(client: httpx2.Client) -> None:
    session = talked(client)
    compact = f"/api/sessions/{session}/compact"
    first = client.post(compact, json={}).json()["record"]
    for number in range(4):
        said(client, session, f"later message {number}. {FILLER}")
    second = client.post(compact, json={}).json()["record"]
    path = f"/api/sessions/{session}/records/{second['step']}/restore"
    preview, before = client.get(path).json(), client.get(f"/api/sessions/{session}/usage").json()
    usage = client.post(path).json()["usage"]
    states = [
        one["state"]
        for one in client.get(f"/api/sessions/{session}/messages", params={"limit": 1000}).json()["messages"]
    ]
    assert states.count("summarized") == first["messages_replaced"]
    assert preview["messages_back"] == second["last_position"] - first["last_position"] > 0
    assert (preview["tokens_now"], preview["tokens_after"]) == (before["tokens"], usage["tokens"])
    assert preview["summary_after"] == usage["parts"]["summary"] > 0


def test_a_compaction_of_messages_that_were_edited_away_is_not_in_force_and_not_undoable(
    client: httpx2.Client,
) -> None:
    session = talked(client)
    path = f"/api/sessions/{session}"
    assert client.post(f"{path}/compact", json={}).json()["record"]["undoable"]
    edit = body_of(session, "Another question entirely.")
    answer = client.post("/api/chat", json={**edit, "messageId": "m2"})
    assert answer.status_code == 200, answer.text
    (record,) = client.get(f"{path}/records").json()["records"]
    assert (record["undone"], record["in_force"], record["undoable"]) == (False, False, False)
    assert client.get(f"{path}/figures").json()["totals"]["compactions"] == 0
    refused = client.post(f"{path}/records/{record['step']}/restore")
    assert refused.status_code == 409 and "were edited or removed since" in refused.json()["detail"]
    for number in range(8):
        said(client, session, f"message {number} after the edit. {FILLER}")
    assert client.post(f"{path}/compact", json={}).json()["record"]["undoable"]
    undoable = [one["undoable"] for one in client.get(f"{path}/records").json()["records"]]
    assert undoable == [False, True]


def test_what_is_in_force_is_what_the_prompt_begins_with(client: httpx2.Client) -> None:
    """A preset does not use the summary of another; back at the first one, it is used again."""
    session = talked(client)
    path = f"/api/sessions/{session}"
    assert client.post(f"{path}/compact", json={}).json()["record"]["in_force"]

    def in_force() -> tuple[list[bool], bool, bool]:
        records = client.get(f"{path}/records").json()["records"]
        messages = client.get(f"{path}/messages").json()["messages"]
        states = {message["state"] for message in messages}
        summary = client.get(f"{path}/usage").json()["parts"]["summary"]
        return [record["in_force"] for record in records], "summarized" in states, summary > 0

    for preset, expected in (("window", False), ("chat", True)):
        assert client.patch(path, json={"preset": preset}).status_code == 200
        assert in_force() == ([expected], expected, expected)


def test_a_list_of_records_without_their_texts_and_one_with_them(client: httpx2.Client) -> None:
    session = talked(client)
    path = f"/api/sessions/{session}"
    made = client.post(f"{path}/compact", json={}).json()["record"]
    for number in range(8):
        said(client, session, f"message {number} after that. {FILLER}")
    assert client.post(f"{path}/compact", json={}).json()["outcome"] == "compacted"
    whole, in_force = client.get(f"{path}/records").json()["records"]
    brief, shown = client.get(f"{path}/records?texts=false").json()["records"]
    assert whole["summary"] and whole["sections"] and shown == in_force
    assert (brief["summary"], brief["sections"]) == ("", [])
    assert {**brief, "summary": whole["summary"], "sections": whole["sections"]} == whole
    assert client.get(f"{path}/records/{made['step']}").json() == whole
    missing = client.get(f"{path}/records/77")
    assert missing.status_code == 404 and missing.json()["code"] == "no-compaction"


REPORTED = {
    "usage": {"prompt_tokens": 700, "completion_tokens": 70, "prompt_tokens_details": {"cached_tokens": 600}},
    "finish_reason": "stop",
    "cost": 0.25,
}


@pytest.mark.parametrize("reported", [{}, REPORTED, {**REPORTED, "session_id": "other"}])
def test_nothing_counts_as_sent_for_imported_replies(client: httpx2.Client, reported: dict[str, Any]) -> None:
    session = new_session(client, preset="chat")
    turns = [
        {"role": role, "content": f"{role} {number}. {FILLER}", **(reported if role == "assistant" else {})}
        for number in range(40)
        for role in ("user", "assistant")
    ]
    client.post(f"/api/sessions/{session}/import", json={"messages": turns})
    said(client, session, "And now?")
    figures = client.get(f"/api/sessions/{session}/figures").json()
    *imported, last = figures["turns"]
    assert len(imported) == 40 and last["sent"] and last["tokens"] > 0
    told = {(one["sent"], one["tokens"], one["cached_tokens"], one["cost"]) for one in imported}
    assert told == {(False, 0, 0, None)}
    assert figures["totals"]["input_tokens"] == last["tokens"]
    assert (figures["totals"]["output_tokens"], figures["totals"]["cached_tokens"]) == (10, 0)
    assert figures["totals"]["cost"] == last["cost"]
    assert figures["totals"]["tokens_saved"] == last["tokens_without"] - last["tokens"]
