"""Chat with the real local model: both wire formats, stopping, overflow, counting, and its server's life."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
import urllib.request
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.counters import counter_for
from compact.errors import ChatError, ContextOverflow
from compact.model.chat import FinishReason, ReplyEnd, TextPiece
from compact.models._client import ChatClient
from compact.models.anthropic_chat import AnthropicChatModel
from compact.models.local import LABEL, MODEL, WINDOW, LocalChatModel
from compact.models.openai_chat import OpenAIChatModel
from unit.counters.sample_texts import sample_texts

CAPITAL = [
    {"role": "system", "content": "Answer in one short sentence."},
    {"role": "user", "content": "What is the capital of France?"},
]
STORY = [{"role": "user", "content": "Tell me a very long story about a lighthouse."}]


@pytest.fixture(params=["openai", "anthropic"])
def client(request: pytest.FixtureRequest, local_model: LocalChatModel) -> ChatClient:
    options: dict[str, Any] = {"extra": {"temperature": 0.0}}
    if request.param == "openai":
        return OpenAIChatModel("smollm2", f"{local_model.url}/v1", **options)
    return AnthropicChatModel("smollm2", local_model.url, **options)


def asked(model: LocalChatModel, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(model.url + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def true_size(model: LocalChatModel, messages: list[Any]) -> int:
    """What the server itself makes of a prompt."""
    prompt = asked(model, "/apply-template", {"messages": messages})["prompt"]
    return len(asked(model, "/tokenize", {"content": prompt, "parse_special": True})["tokens"])


def wait_until_idle(model: LocalChatModel) -> None:
    # Seldom: it looks for readers who have left after a second in which nobody asked it anything.
    for _ in range(40):
        time.sleep(1.5)
        if not asked(model, "/slots")[0]["is_processing"]:
            return
    pytest.fail("the server goes on writing for nobody")


def test_it_says_what_it_is(local_model: LocalChatModel) -> None:
    assert local_model.label == LABEL == "SmolLM2-135M, a demo model"
    assert CompactManager(CompactConfig(model=local_model.model)).window == WINDOW


def test_an_answer_comes_in_pieces_and_ends_once(client: ChatClient) -> None:
    *pieces, end = client.stream(CAPITAL, max_tokens=40)

    assert isinstance(end, ReplyEnd)
    assert end.reason is FinishReason.STOP
    texts = [piece.text for piece in pieces if isinstance(piece, TextPiece)]
    assert len(texts) == len(pieces) > 3
    assert end.message == {"role": "assistant", "content": "".join(texts)}
    assert "Paris" in end.message["content"]
    assert end.usage is not None
    assert end.usage.input > 20
    assert 0 < end.usage.output <= 40


def test_what_was_said_is_cached_for_the_next_question(client: ChatClient) -> None:
    *_, first = client.stream(CAPITAL, max_tokens=10)
    assert isinstance(first, ReplyEnd) and first.usage is not None
    follow_up = [*CAPITAL, first.message, {"role": "user", "content": "And of Spain?"}]
    *_, second = client.stream(follow_up, max_tokens=3)

    assert isinstance(second, ReplyEnd) and second.usage is not None
    assert second.reason is FinishReason.LENGTH
    assert second.usage.cache_read >= first.usage.input - 1
    assert second.usage.input > second.usage.cache_read


def test_a_closed_reply_stops_the_server(client: ChatClient, local_model: LocalChatModel) -> None:
    reply = client.stream(STORY, max_tokens=3_000)
    assert isinstance(next(reply), TextPiece)
    assert asked(local_model, "/slots")[0]["is_processing"]
    reply.close()

    wait_until_idle(local_model)
    assert list(reply) == [], "nothing more comes out of it"
    assert isinstance([*client.stream(CAPITAL, max_tokens=3)][-1], ReplyEnd)


def test_another_thread_can_close_while_the_prompt_is_still_read(local_model: LocalChatModel) -> None:
    reply = local_model.stream([{"role": "user", "content": "word " * 4_000}], max_tokens=3)
    got: list[Any] = []
    reader = threading.Thread(target=lambda: got.extend(reply))
    reader.start()
    while not asked(local_model, "/slots")[0]["is_processing"]:
        time.sleep(0.05)
    reply.close()
    reader.join(60)

    assert not reader.is_alive()
    assert got == []
    wait_until_idle(local_model)


def test_a_prompt_beyond_the_window_is_told_with_its_counts(client: ChatClient) -> None:
    with pytest.raises(ContextOverflow) as caught:
        list(client.stream([{"role": "user", "content": "word " * 9_000}], max_tokens=5))

    assert caught.value.window == WINDOW
    assert caught.value.tokens is not None and caught.value.tokens > 9_000
    assert f"{WINDOW:,}" in str(caught.value)


def test_text_is_counted_as_the_model_does(local_model: LocalChatModel) -> None:
    counter = counter_for(MODEL)
    assert counter.exact
    odd = [
        ("blanks", "a  1\n\n   2\t\t b   \n"),
        ("emoji", "👩‍🚀 ok 🎉"),
        ("marks", "<|im_start|> x"),
        ("lone", "é\x00ß"),
    ]
    for kind, text in [*sample_texts(each=1), *odd]:
        expected = len(asked(local_model, "/tokenize", {"content": text, "parse_special": False})["tokens"])
        assert counter.count(text) == expected, kind


@pytest.mark.parametrize("kind", ["one word", "mixed", "chinese", "json"])
def test_what_preflight_lets_through_fits_the_window(local_model: LocalChatModel, kind: str) -> None:
    """Without any usage reported before, which would correct the count."""
    rng = random.Random(7)
    texts = [text for name, text in sample_texts(each=2) if kind in ("mixed", name)] or ["ok"]
    longest = 1_200 if kind == "mixed" else 400
    messages: list[Any] = []
    manager = CompactManager(CompactConfig(model=MODEL, preset="budget", archive={"adapter": "none"}))
    budget = manager.usage("s", [{"role": "user", "content": "hello"}]).budget
    while True:
        text = rng.choice(texts)
        start = rng.randrange(max(1, len(text) - longest))
        role = "assistant" if len(messages) % 2 else "user"
        grown = [*messages, {"role": role, "content": text[start : start + longest]}]
        if manager.usage("s", grown).tokens > budget:
            break
        messages = grown

    assert manager.usage("s", messages).tokens > budget * 0.85
    assert true_size(local_model, messages) <= WINDOW


def test_a_server_that_died_is_told_and_started_anew() -> None:
    with LocalChatModel() as model:
        model.wait()
        reply = model.stream(STORY)
        next(reply)
        assert model._process is not None
        model._process.kill()
        with pytest.raises(ChatError, match="broke off"):
            list(reply)
        model._process.wait()
        with pytest.raises(ChatError, match="ended with status -9"):
            model.ready()
        assert isinstance([*model.stream(CAPITAL, max_tokens=2)][-1], ReplyEnd)


def test_the_server_does_not_outlive_a_killed_parent() -> None:
    script = (
        "import os, sys\n"
        "from compact.models.local import LocalChatModel\n"
        "model = LocalChatModel().start()\n"
        "print(model.url, flush=True)\n"
        "model.wait()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert run.returncode == -9, run.stderr
    deadline = time.monotonic() + 60
    with pytest.raises(OSError):
        while time.monotonic() < deadline:
            urllib.request.urlopen(f"{run.stdout.strip()}/health", timeout=2).close()
            time.sleep(0.05)


def test_a_reply_can_be_closed_while_the_model_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def still_loading() -> bool:
        asked.set()
        return False

    with LocalChatModel() as model:
        monkeypatch.setattr(model, "_healthy", still_loading)
        reply = model.stream(STORY)
        closing = threading.Thread(target=lambda: asked.wait(60) and reply.close())
        closing.start()
        assert list(reply) == []
        closing.join()


def test_close_ends_the_server_and_may_be_called_twice() -> None:
    model = LocalChatModel().start()
    assert model._process is not None
    process = model._process
    model.close()
    model.close()
    assert process.poll() is not None
    assert not model.ready()
