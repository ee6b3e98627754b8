"""Sessions, spaces and messages over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from compact.chat import Chats
from compact.errors import StoreError
from compact.server.studio import listing
from compact.stores import open_store
from support.studio import RuleModel, chunks, config, new_session, reply_text, said, studio


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with studio(tmp_path_factory.mktemp("studio"), RuleModel()) as client:
        yield client


def test_a_session_is_made_renamed_found_and_deleted(client: httpx2.Client) -> None:
    session = new_session(client, title="Winter move", preset="chat")
    shown = client.get(f"/api/sessions/{session}").json()
    assert (shown["title"], shown["preset"], shown["message_count"]) == ("Winter move", "chat", 0)
    changed = client.patch(f"/api/sessions/{session}", json={"title": "Spring move"}).json()
    assert (changed["title"], changed["preset"]) == ("Spring move", "chat")
    found = client.get("/api/sessions", params={"q": "spring"}).json()["sessions"]
    assert [one["id"] for one in found] == [session]
    assert client.delete(f"/api/sessions/{session}").status_code == 204
    gone = client.get(f"/api/sessions/{session}")
    assert gone.status_code == 404 and gone.headers["content-type"] == "application/problem+json"
    assert gone.json()["code"] == "no-session"


def test_a_list_is_paged_by_its_cursor(client: httpx2.Client) -> None:
    client.put("/api/spaces/pages", json={"title": "Pages"})
    made = [new_session(client, title=f"page {n}", space="pages") for n in range(5)]
    seen: list[str] = []
    cursor = None
    while True:
        params = {"space": "pages", "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = client.get("/api/sessions", params=params).json()
        seen += [one["id"] for one in page["sessions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == made[::-1]


def test_a_message_is_answered_stored_and_listed_with_its_parts(client: httpx2.Client) -> None:
    session = new_session(client)
    found = said(client, session, "The port is 8460.")
    assert [one["type"] for one in found] == [
        "start",
        "start-step",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "data-context-usage",
        "finish-step",
        "finish",
    ]
    assert found[0]["messageId"] == "m1"
    listed = client.get(f"/api/sessions/{session}/messages").json()
    assert [(one["id"], one["role"], one["state"]) for one in listed["messages"]] == [
        ("m0", "user", "sent"),
        ("m1", "assistant", "sent"),
    ]
    assert listed["messages"][1]["parts"][-1]["text"] == reply_text(found) == "You said: The port is 8460."
    assert client.get(f"/api/sessions/{session}").json()["title"] == "The port is 8460."


def test_pages_of_messages_go_by_position(client: httpx2.Client) -> None:
    session = new_session(client)
    for n in range(3):
        said(client, session, f"number {n}")
    newest = client.get(f"/api/sessions/{session}/messages", params={"limit": 2}).json()
    assert [one["position"] for one in newest["messages"]] == [4, 5]
    assert (newest["total"], newest["first"], newest["last"]) == (6, 0, 5)
    before = client.get(f"/api/sessions/{session}/messages", params={"before": 4, "limit": 2}).json()
    assert [one["position"] for one in before["messages"]] == [2, 3]
    after = client.get(f"/api/sessions/{session}/messages", params={"after": 1, "limit": 1}).json()
    assert [one["position"] for one in after["messages"]] == [2]


def test_edit_and_another_reply_leave_the_rest_behind(client: httpx2.Client) -> None:
    session = new_session(client)
    said(client, session, "first")
    said(client, session, "second")
    edited = client.post(f"/api/sessions/{session}/messages/2/edit", json={"text": "second, better"})
    assert edited.status_code == 200 and reply_text(chunks(edited.text)) == "You said: second, better"
    listed = client.get(f"/api/sessions/{session}/messages").json()["messages"]
    assert [one["parts"][-1]["text"] for one in listed if one["role"] == "user"] == [
        "first",
        "second, better",
    ]
    again = client.post("/api/chat", json={"id": session, "messages": [], "trigger": "regenerate-message"})
    assert again.status_code == 200 and '"messageId":"m3"' in again.text
    assert client.get(f"/api/sessions/{session}/messages").json()["total"] == 4
    assert client.post(f"/api/sessions/{session}/messages/1/edit", json={"text": "x"}).status_code == 404


@pytest.mark.parametrize("message", ["m0", "m1"])
def test_another_reply_is_made_in_place_of_the_one_that_is_named(client: httpx2.Client, message: str) -> None:
    session = new_session(client)
    said(client, session, "first")
    said(client, session, "second")
    asked = {"id": session, "messages": [], "trigger": "regenerate-message", "messageId": message}
    again = client.post("/api/chat", json=asked)
    assert again.status_code == 200 and reply_text(chunks(again.text)) == "You said: first"
    listed = client.get(f"/api/sessions/{session}/messages").json()["messages"]
    assert [one["parts"][-1]["text"] for one in listed] == ["first", "You said: first"]
    assert client.post("/api/chat", json={**asked, "messageId": "m7"}).status_code == 404


@pytest.mark.parametrize(
    "parts", [5, {"type": "text", "text": "x"}, "x", [5, None], [{"type": "text", "text": 5}]]
)
def test_a_message_of_another_shape_is_refused(client: httpx2.Client, parts: Any) -> None:
    session = new_session(client)
    refused = client.post("/api/chat", json={"id": session, "message": {"role": "user", "parts": parts}})
    assert refused.status_code == 422 and "Nothing was sent" in refused.json()["detail"]
    assert client.get(f"/api/sessions/{session}/messages").json()["total"] == 0


def test_after_a_defect_the_client_asks_on_a_new_connection(
    client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr(listing, "shown_session", broken)
    failed = client.post("/api/sessions", json={})
    assert failed.status_code == 500 and failed.headers["connection"] == "close"
    monkeypatch.undo()
    for _ in range(3):
        assert client.get("/api/sessions").status_code == 200


def test_pins_usage_and_export(client: httpx2.Client) -> None:
    session = new_session(client)
    said(client, session, "my api_key=sk-abc123abc123abc123abc1")
    pinned = client.put(f"/api/sessions/{session}/pins/0", json={"pinned": True}).json()
    assert pinned["pinned"] is True
    now = client.get(f"/api/sessions/{session}/usage").json()
    more = client.get(f"/api/sessions/{session}/usage", params={"draft": "word " * 200}).json()
    assert more["tokens"] == now["tokens"] + more["draft"] and more["draft"] > 100
    assert client.post(f"/api/sessions/{session}/usage", json={"draft": "word " * 200}).json() == more
    assert client.get(f"/api/sessions/{session}/usage").json() == now
    # As long as a message can be: the page says why it cannot be sent.
    huge = client.post(f"/api/sessions/{session}/usage", json={"draft": "word " * 500_000})
    assert huge.status_code == 200 and huge.json()["draft"] > now["window"]
    exported = client.get(f"/api/sessions/{session}/export")
    assert "sk-abc123" not in exported.text and "<REDACTED>" in exported.text
    other = new_session(client)
    took = client.post(f"/api/sessions/{other}/import", json={"messages": exported.json()})
    assert took.json()["imported"] == 2
    again = client.post(f"/api/sessions/{other}/import", json={"messages": exported.json()})
    assert again.status_code == 409 and again.json()["code"] == "already-there"
    broken = client.post(f"/api/sessions/{other}/import", json={"messages": [{"role": "nobody"}]})
    assert broken.status_code == 422
    assert client.get(f"/api/sessions/{other}/messages").json()["total"] == 2


@pytest.mark.parametrize(
    "change", [{"preset": "nope"}, {"model": "nope"}, {"policy": {"trigger_pct": 7}}, {"unknown": 1}]
)
def test_settings_that_cannot_be_used_are_refused_and_change_nothing(
    client: httpx2.Client, change: dict[str, object]
) -> None:
    session = new_session(client)
    before = client.get(f"/api/sessions/{session}").json()
    refused = client.patch(f"/api/sessions/{session}", json=change)
    assert refused.status_code == 422, refused.text
    assert client.get(f"/api/sessions/{session}").json() == before
    count = len(client.get("/api/sessions", params={"limit": 200}).json()["sessions"])
    assert client.post("/api/sessions", json=change).status_code == 422
    assert len(client.get("/api/sessions", params={"limit": 200}).json()["sessions"]) == count


def test_the_demo_session_is_about_to_be_compacted(client: httpx2.Client) -> None:
    session = new_session(client, demo=True, preset="budget")
    shown = client.get(f"/api/sessions/{session}").json()
    assert shown["message_count"] > 50 and shown["usage"]["compacts_next"]


@pytest.mark.parametrize(
    ("field", "held"),
    [
        ("finish_reason", 5),
        ("error", {"code": 1}),
        ("agent", ["a"]),
        ("cost", "free"),
        ("cost", 10**400),
        ("duration", []),
        ("timestamp", 5),
        ("usage", {"prompt_tokens": "many", "prompt_tokens_details": {"cached_tokens": None}}),
        ("reasoning_content", {"a": 1}),
        ("content", "half a pair: \ud83d"),
        ("content", [{"type": "text", "text": "half a pair: \ud83d"}]),
    ],
    ids=lambda held: str(held)[:20].encode("ascii", "replace").decode(),
)
def test_an_imported_message_is_shown_whatever_its_fields_hold(
    client: httpx2.Client, field: str, held: Any
) -> None:
    session = new_session(client)
    reply = {"role": "assistant", "content": "a reply", field: held}
    body = json.dumps({"messages": [{"role": "user", "content": "a question"}, reply]})
    headers = {"content-type": "application/json"}
    imported = client.post(f"/api/sessions/{session}/import", content=body, headers=headers)
    assert imported.status_code == 200, imported.text
    for look in ("", "/messages", "/figures", "/export", "/usage"):
        answer = client.get(f"/api/sessions/{session}{look}")
        assert answer.status_code == 200, (look, answer.text)
    shown = client.get(f"/api/sessions/{session}/messages").json()["messages"]
    assert [one["role"] for one in shown] == ["user", "assistant"]


def test_half_a_surrogate_pair_in_a_message_and_its_reply_is_shown(client: httpx2.Client) -> None:
    session = new_session(client)
    asked = {"id": session, "message": {"role": "user", "content": "half \ud83d"}}
    headers = {"content-type": "application/json"}
    assert client.post("/api/chat", content=json.dumps(asked), headers=headers).status_code == 200
    shown = client.get(f"/api/sessions/{session}/messages").json()["messages"]
    assert [one["parts"][-1]["text"] for one in shown] == ["half \ufffd", "You said: half \ufffd"]
    listed = client.get("/api/sessions").json()["sessions"]
    assert [one["title"] for one in listed if one["id"] == session] == ["half \ufffd"]


def test_tool_calls_that_are_no_list_are_shown_as_none(client: httpx2.Client) -> None:
    session = new_session(client)
    messages = [{"role": "user", "content": "a question", "tool_calls": 5}]
    client.post(f"/api/sessions/{session}/import", json={"messages": messages})
    shown = client.get(f"/api/sessions/{session}/messages").json()["messages"]
    assert [part["type"] for part in shown[0]["parts"]] == ["text"]


def test_new_instructions_are_read_though_the_store_failed_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = RuleModel()
    with studio(tmp_path, model) as client:
        client.put("/api/spaces/home", json={"custom_instructions": "Answer in French."})
        session = new_session(client, space="home")
        said(client, session, "hello")
        client.put("/api/spaces/home", json={"custom_instructions": "Answer in Latin."})

        def locked(*_: Any) -> None:
            raise StoreError("The database is locked.")

        with monkeypatch.context() as failing:
            failing.setattr(Chats, "open", locked)
            assert client.get(f"/api/sessions/{session}").status_code == 503
        said(client, session, "and now")
    assert model.prompts[-1][0]["content"] == "Answer in Latin."


def test_a_session_whose_name_has_a_slash_is_opened_changed_and_deleted(tmp_path: Path) -> None:
    """The terminal and the library give sessions any name."""
    with open_store(f"sqlite:///{tmp_path}/studio.db") as store:
        model = RuleModel()
        list(Chats(config(), store, lambda _: model).open("team/7").send("the lamp is lit"))
    with studio(tmp_path) as client:
        [listed] = client.get("/api/sessions").json()["sessions"]
        path = f"/api/sessions/{quote(listed['id'], safe='')}"
        assert client.get(path).json()["id"] == "team/7"
        assert client.get(f"{path}/messages").json()["total"] == 2
        assert client.patch(path, json={"title": "Lamps"}).json()["title"] == "Lamps"
        assert said(client, "team/7", "and now?")[-1]["finishReason"] == "stop"
        assert client.get("/api/sessions/team/7").status_code == 404
        assert client.delete(path).status_code == 204
        assert client.get(path).json()["detail"] == "There is no session 'team/7'."


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"\xff\xfe", "JSON decode error. Nothing was changed."),
        (b"[" * 100_000, "The body cannot be read as JSON. Nothing was changed."),
        (b'{"preset": "zzz"}', "(got 'zzz'). Nothing was changed."),
        (b'{"policy": {"trigger_pct": 9}}', "(got 9). Nothing was changed."),
    ],
)
def test_a_request_that_is_not_valid_says_that_nothing_was_changed(
    client: httpx2.Client, body: bytes, detail: str
) -> None:
    headers = {"content-type": "application/json"}
    refused = client.patch(f"/api/sessions/{new_session(client)}", content=body, headers=headers)
    assert refused.status_code in (400, 422) and refused.json()["detail"].endswith(detail)


def test_an_address_without_anything_and_a_wrong_method_say_so(client: httpx2.Client) -> None:
    lost = client.get("/api/no-such-thing").json()
    assert lost["detail"] == "There is nothing at this address; /api/openapi.json lists what there is."
    wrong = client.put(f"/api/sessions/{new_session(client)}", json={})
    assert wrong.status_code == 405
    assert wrong.json()["detail"].startswith("PUT is not possible here. Nothing was changed;")


def test_a_follower_that_left_before_anything_happened_returns_without_a_gap(client: httpx2.Client) -> None:
    session = new_session(client)
    said(client, session, "before")
    path = f"/api/sessions/{session}/events"
    with client.stream("GET", path) as response:
        seen = next(line for line in response.iter_lines() if line.startswith("id: "))
    said(client, session, "meanwhile")
    with client.stream("GET", path, headers={"Last-Event-ID": seen.removeprefix("id: ")}) as response:
        message = next(line for line in response.iter_lines() if '"type":"message"' in line)
    assert '"position":2' in message
