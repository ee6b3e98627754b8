"""`POST /api/compact`: messages in, messages out."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact.engine.state.session import Session
from compact.server.studio import message_lists
from support.studio import config, studio

SAID = "The pier of this dock is two hundred meters long, and the crane is due for an inspection. "


def chat(turns: int, name: str = "Dock") -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"{name} {n}: {SAID * 4}"} for n in range(2 * turns)]


def anthropic(turns: int) -> list[dict[str, Any]]:
    return [
        {"role": one["role"], "content": [{"type": "text", "text": one["content"]}]}
        for one in chat(turns, "Quay")
    ]


def ui(turns: int) -> list[dict[str, Any]]:
    return [
        {"id": f"m{n}", "role": one["role"], "parts": [{"type": "text", "text": one["content"]}]}
        for n, one in enumerate(chat(turns, "Berth"))
    ]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with studio(tmp_path_factory.mktemp("lists"), config=config(archive={"adapter": "none"})) as made:
        yield made


def asked(client: httpx2.Client, messages: list[Any], **more: Any) -> Any:
    answer = client.post("/api/compact", json={"messages": messages, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("make", "format"), [(chat, "openai-chat"), (anthropic, "anthropic"), (ui, "ai-sdk-ui")]
)
def test_what_does_not_fit_is_compacted_in_its_own_format(
    client: httpx2.Client, make: Any, format: str
) -> None:
    short = asked(client, make(3), session=f"{format} short", format=format)
    assert short["messages"] == make(3) and short["kept"] == list(range(6)) and not short["compacted"]
    messages = make(40)
    found = asked(client, messages, session=format, format=format)
    assert found["compacted"] and found["format"] == format
    assert found["tokens"]["after"] < found["tokens"]["window"] < found["tokens"]["before"]
    assert "COMPACT-SUMMARY" in json.dumps(found["messages"])
    for made, place in zip(found["messages"], found["kept"], strict=True):
        assert place is None or made == messages[place]
    assert found["kept"][-1] == len(messages) - 1 and None in found["kept"]
    again = asked(client, messages, session="a name of its own", format=format)
    assert again["messages"] == found["messages"] and not again["compacted"], "found again by its content"


def test_window_model_and_preset_come_with_the_call(client: httpx2.Client) -> None:
    messages = chat(30)
    found = asked(client, messages, window=50_000, model="claude-sonnet-4-5")
    assert found["messages"] == messages and found["tokens"]["window"] == 50_000
    trimmed = asked(client, messages, preset="window")
    assert "COMPACT-SUMMARY" not in json.dumps(trimmed["messages"]) and len(trimmed["messages"]) < 60


def test_a_count_of_the_provider_is_taken_into_account(client: httpx2.Client) -> None:
    messages = chat(10)
    plain = asked(client, messages, session="plain", model="unheard-of", window=8_000)
    counted = {"messages": 18, "input_tokens": 2 * plain["tokens"]["before"]}
    found = asked(client, messages, session="counted", model="unheard-of", window=8_000, observed=counted)
    assert found["tokens"]["before"] > 1.5 * plain["tokens"]["before"]


def test_half_a_character_comes_back(client: httpx2.Client) -> None:
    raw = b'{"messages": [{"role": "user", "content": "broken \\ud83d"}], "format": "openai-chat"}'
    answer = client.post("/api/compact", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == 200 and answer.json()["messages"][0]["content"] == "broken \ud83d"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"messages": []}, "not-valid"),
        ({"messages": chat(1), "windows": 5}, "not-valid"),
        ({"messages": [{"role": "nobody"}]}, "not-valid"),
        ({"messages": chat(1), "format": "telegram"}, "not-valid"),
        ({"messages": chat(1), "preset": "none such"}, "not-valid"),
        ({"messages": [{"role": "user", "content": "x " * 9_000}]}, "insufficient-budget"),
    ],
)
def test_what_cannot_be_done_is_said(client: httpx2.Client, body: dict[str, Any], code: str) -> None:
    answer = client.post("/api/compact", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text


def test_tenants_do_not_meet(tmp_path: Path) -> None:
    tokens = {"one-secret": "one", "other-secret": "other"}
    with studio(tmp_path, tokens=tokens) as client:
        body = {"messages": chat(40), "session": "s"}
        made = []
        for token in tokens:
            answer = client.post("/api/compact", json=body, headers={"authorization": f"Bearer {token}"})
            made.append(answer.json()["compacted"])
        assert made == [True, True], "neither finds the other's record"
        assert client.post("/api/compact", json=body).status_code == 401


def test_users_of_one_application_have_sessions_of_their_own(client: httpx2.Client) -> None:
    leading = {"role": "system", "content": "You are a shop bot."}
    ada = asked(client, [leading, {"role": "user", "content": "I am Ada."}])["session"]
    bob = asked(client, [leading, {"role": "user", "content": "I am Bob."}])["session"]
    again = asked(client, [{**leading, "content": "It is noon."}, {"role": "user", "content": "I am Ada."}])
    assert ada == again["session"] != bob


def test_sessions_that_nobody_uses_leave_the_memory(
    client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_lists, "_SESSIONS_KEPT", 2)
    names = [f"held {n}" for n in range(5)]
    for name in names:
        asked(client, chat(2, name), session=name)
    gc.collect()
    assert {one.id for one in gc.get_objects() if isinstance(one, Session)} & {*names} == {*names[-2:]}
    # One that comes back goes on.
    longer = asked(client, chat(3, names[0]), session=names[0])
    assert longer["messages"] == chat(3, names[0])
