"""S5.11: the gateway passes what fits byte for byte, compacts the rest, keeps the prefix, stores no key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from compact.server.gateway.running import serving
from compact.stores import open_store
from support.gateway import HTTP, KEY, WINDOW, Client, gateway_settings, manager
from support.providers import CHAT, COUNT, MESSAGES, RESPONSES, Calls, Provider, prompt_text, providing


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing(window=WINDOW) as made:
        yield made


@pytest.fixture
def gateway(provider: Provider) -> Iterator[str]:
    with serving(gateway_settings(f"{provider.url}/v1"), manager()) as url:
        yield url


every_api = pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])


@pytest.mark.spec("S5.11")
@every_api
def test_what_fits_goes_through_byte_for_byte(gateway: str, provider: Provider, path: str) -> None:
    client = Client(gateway, path)
    client.messages = [{"role": "user", "content": "Is the ledger right? " * 600}]
    raw = json.dumps(client.body(), indent=3, ensure_ascii=False).encode() + b"\n"
    answer = client.send(raw, headers={"x-custom": "kept"})
    assert answer.status_code == 200
    assert provider.asked[-1].raw == raw
    assert provider.asked[-1].headers["x-custom"] == "kept"
    assert provider.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    assert not [name for name in provider.asked[-1].headers if name.startswith("x-compact")]
    assert answer.headers["x-compact-compacted"] == "0"
    assert int(answer.headers["x-compact-tokens-before"]) == int(answer.headers["x-compact-tokens-after"]) > 0
    assert float(answer.headers["x-compact-overhead-ms"]) >= 0


@pytest.mark.spec("S5.11")
@every_api
def test_five_windows_go_through_and_the_prefix_stays(gateway: str, provider: Provider, path: str) -> None:
    client = Client(gateway, path)
    for number in range(300):
        assert client.say(number).status_code == 200
    assert len(json.dumps(client.messages)) / 4 > 5 * WINDOW
    prompts = provider.prompts
    assert len(prompts) == 300 and all(one.tokens <= WINDOW for one in prompts)
    # Between compactions each prompt begins with the one before it, but for the answer that closes it.
    breaks = sum(
        not prompt_text(path, later.body).startswith(prompt_text(path, earlier.body))
        for earlier, later in pairwise(prompts)
    )
    assert 3 <= breaks <= 40
    cached = sum(one.cached for one in prompts) / sum(one.tokens for one in prompts)
    assert cached > 0.8
    # The headers say what the client's own prompt would have been, not what earlier compactions left of it.
    own = len(json.dumps(client.messages)) / 4
    last = client.send()
    assert 0.8 * own < int(last.headers["x-compact-tokens-before"]) < 1.2 * own
    assert int(last.headers["x-compact-tokens-after"]) <= WINDOW
    # Without the gateway the same conversation is refused.
    bare = Client(provider.url, path)
    bare.messages = client.messages[:-1]
    assert bare.send().status_code == 400


@pytest.mark.spec("S5.11")
def test_a_restart_and_a_second_gateway_send_the_same_bytes(provider: Provider, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gateway.db"
    settings = gateway_settings(provider.url)
    client = Client("", CHAT)
    with open_store(url) as store, serving(settings, manager(store)) as client.url:
        for number in range(90):
            client.say(number)
        last = provider.prompts[-1]
    assert b"COMPACT-SUMMARY" in last.raw
    with open_store(url) as store, serving(settings, manager(store)) as client.url:
        client.say(90)
    with open_store(url) as store, serving(settings, manager(store)) as client.url:
        client.messages = client.messages[:-2]
        client.say(90)
    again, twin = provider.prompts[-2:]
    assert again.raw == twin.raw
    assert prompt_text(CHAT, again.body).startswith(prompt_text(CHAT, last.body))


@pytest.mark.spec("S5.11")
def test_no_key_is_stored(provider: Provider, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gateway.db"
    with (
        open_store(url) as store,
        serving(gateway_settings(provider.url), manager(store)) as at,
    ):
        client = Client(at, MESSAGES)
        for number in range(60):
            client.say(number, headers={"x-api-key": KEY + "-too"})
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
    with create_engine(url).connect() as connection:
        assert connection.execute(text("select count(*) from messages")).scalar()


@pytest.mark.spec("S5.11")
def test_a_wrong_session_name_never_mixes_two_conversations(gateway: str, provider: Provider) -> None:
    one, other = Client(gateway, CHAT, "harbor"), Client(gateway, CHAT, "orchard")
    for number in range(80):
        for client in (one, other):
            assert client.say(number, headers={"x-compact-session": "the-same"}).status_code == 200
    for asked in provider.prompts:
        assert (b"harbor" in asked.raw) != (b"orchard" in asked.raw)
    assert b"COMPACT-SUMMARY" in provider.prompts[-1].raw


@pytest.mark.spec("S5.11")
def test_bypass_and_preset_headers(gateway: str, provider: Provider) -> None:
    client = Client(gateway, CHAT)
    client.messages = [{"role": "user", "content": f"Page {n} agrees. " * 40} for n in range(60)]
    refused = client.send(headers={"x-compact-bypass": "1"})
    assert refused.status_code == 400 and refused.json()["error"]["code"] == "context_length_exceeded"
    trimmed = client.send(headers={"x-compact-preset": "window"})
    assert trimmed.status_code == 200 and b"COMPACT-SUMMARY" not in provider.asked[-1].raw
    unknown = client.send(headers={"x-compact-preset": "no-such"})
    assert unknown.status_code == 400 and "no-such" in unknown.headers["x-compact-problem"]
    assert unknown.headers["x-compact-compacted"] == "0", "forwarded unchanged"
    assert not [name for name in unknown.headers if name.startswith("x-compact-tokens")], "and not counted"


@pytest.mark.spec("S5.11")
@every_api
def test_a_stream_arrives_as_it_was_sent(gateway: str, provider: Provider, path: str) -> None:
    client = Client(gateway, path)
    client.messages = [{"role": "user", "content": "Is the ledger right? " * 600}]
    direct = Client(provider.url, path)
    direct.messages = client.messages
    through, straight = client.send(stream=True), direct.send(stream=True)
    assert through.headers["content-type"] == "text/event-stream"
    # Only the numbers that the provider gives its answers differ, and what it had cached.
    numbers = re.compile(r'(?<=[_-])\d+|(?<="cached_tokens": )\d+|(?<=input_tokens": )\d+')
    assert numbers.sub("N", through.text) == numbers.sub("N", straight.text)


def test_an_overflow_that_our_count_missed_leads_to_one_compaction_and_one_retry(provider: Provider) -> None:
    provider.window = 2_000
    with serving(gateway_settings(provider.url), manager()) as url:
        client = Client(url, CHAT)
        client.messages = [
            {"role": ("user", "assistant")[n % 2], "content": f"Page {n} agrees. " * 30} for n in range(21)
        ]
        answer = client.send()
        assert answer.status_code == 200
        assert [bool(one.refused) for one in provider.asked] == [True, False]
        hopeless = Client(url, CHAT)
        hopeless.messages = [{"role": "user", "content": "one long word " * 900}]
        assert hopeless.send().status_code == 400
        assert len(provider.asked) == 3


def test_counting_goes_on_with_the_compacted_body_and_compacts_nothing(
    gateway: str, provider: Provider
) -> None:
    client = Client(gateway, MESSAGES)
    for number in range(70):
        client.say(number)
    sent = provider.prompts[-1].tokens
    counting = Client(gateway, COUNT)
    counting.messages = client.messages[:-1]
    assert abs(counting.send().json()["input_tokens"] - sent) < 20


def test_models_and_unknown_paths_are_passed_on(gateway: str) -> None:
    assert HTTP.get(f"{gateway}/v1/models").json()["data"][0]["id"] == "scripted"
    assert HTTP.get(f"{gateway}/v1/nothing").status_code == 404
    assert HTTP.get(f"{gateway}/healthz").json() == {"status": "ok"}
    assert "compact_gateway_requests_total 2" in HTTP.get(f"{gateway}/metrics").text


@pytest.mark.parametrize(("path", "kind"), [(CHAT, "error"), (MESSAGES, "type")])
def test_an_upstream_that_is_gone_is_an_error_in_the_providers_words(path: str, kind: str) -> None:
    with serving(gateway_settings("http://127.0.0.1:9"), manager()) as url:
        client = Client(url, path)
        client.messages = [{"role": "user", "content": "hi"}]
        answer = client.send()
    assert answer.status_code == 502 and kind in answer.json()
    assert "upstream" in answer.json()["error"]["message"] and KEY not in answer.text


def test_a_token_keeps_others_out_and_does_not_go_on(provider: Provider) -> None:
    settings = gateway_settings(provider.url, token="gate-secret")
    with serving(settings, manager()) as url:
        client = Client(url, CHAT)
        client.messages = [{"role": "user", "content": "hi"}]
        assert client.send().status_code == 401
        assert client.send(headers={"x-compact-token": "wrong"}).status_code == 401
        assert client.send(headers={"x-compact-token": "gate-secret"}).status_code == 200
    assert "x-compact-token" not in provider.asked[-1].headers
    assert provider.asked[-1].headers["authorization"] == f"Bearer {KEY}"


@every_api
@pytest.mark.parametrize("stream", [False, True])
def test_the_recall_tool_is_offered_and_answered_here(path: str, stream: bool) -> None:
    def reply(messages: list[Any], tools: list[Any]) -> Any:
        offered = json.dumps(tools)
        said = json.dumps(messages)
        if "compact_recall" in offered and "cormorant" not in said:
            return Calls([("compact_recall", {"query": "which ship hid"})])
        return "It was the cormorant." if "cormorant" in said and "compact_recall" in said else "Noted."

    with providing(reply, WINDOW) as provider:
        settings = gateway_settings(provider.url, recall_tool=True)
        with serving(settings, manager()) as url:
            client = Client(url, path)
            client.messages = [
                {"role": "user", "content": "Check the fees."},
                {
                    "role": "assistant",
                    "content": "x " * 900 + "a note on which ship hid its cargo: cormorant",
                },
            ]
            for number in range(60):
                answer = client.say(number, stream=stream)
                if "cormorant" in answer.text:
                    break
            assert "cormorant" in answer.text and "compact_recall" not in answer.text
