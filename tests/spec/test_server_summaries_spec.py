"""Summaries that a model writes, over HTTP against a running `compact studio` on SQLite and PostgreSQL.

The writer is a server of its own, so that it can fail, say too little, or be slow.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from compact.stores import open_store
from support.postgres import new_schema
from support.providers import Provider, providing
from support.studio import compactions, new_session, said, stored_events
from support.studio_process import Served, studio_process

FILLER = "The cottage by the lake needs a new roof before the winter. " * 10
GOOD = (
    "The user wants the roof of the cottage mended before the winter. Carpenter Ola does it for 8,460. " * 4
)


@dataclass
class Scene:
    served: Served
    writer: Provider

    @property
    def client(self) -> Any:
        return self.served.client

    def prompt(self) -> str:
        """What the chat's model was sent last."""
        return json.dumps(self.served.provider.prompts[-1].body["messages"], ensure_ascii=False)

    def talked(self, session: str, turns: int, first: int = 0) -> None:
        for number in range(first, first + turns):
            said(self.client, session, f"Message {number} of {session}: house {number}. {FILLER}")

    def until(self, event: str, session: str, first: int = 0) -> tuple[int, list[dict[str, Any]]]:
        """Talk until such an event comes: the number of the message, and the chunks of its reply."""
        for number in range(first, first + 12):
            found = said(self.client, session, f"Message {number} of {session}: house {number}. {FILLER}")
            if event in compactions(found):
                return number, found
        raise AssertionError(f"no {event} came")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("summaries")
    url, workers = f"sqlite:///{folder}/studio.db", 1
    if request.param == "postgresql":
        url, workers = new_schema(request.getfixturevalue("postgres_server")), 2
        open_store(url).close()
    with providing(window=100_000) as writer:
        # Nobody else writes where the model does not.
        settings = {
            "summarizer.name": "openai",
            "summarizer.model": "writer",
            "summarizer.base_url": f"{writer.url}/v1",
            "summarizer.fallback": "none",
        }
        options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        with studio_process(url, folder, *options, workers=workers) as served:
            yield Scene(served, writer)


@pytest.fixture
def scene(started: Scene) -> Scene:
    started.served.provider.reply = lambda messages, tools: "Noted."
    started.writer.reply = lambda messages, tools: GOOD
    started.writer.window = 100_000
    started.writer.asked.clear()
    return started


@pytest.mark.spec("S3.5", part="engine")
@pytest.mark.spec("S5.3")
def test_a_summary_that_fails_leaves_the_earlier_one_and_the_turn_goes_on(scene: Scene) -> None:
    session = new_session(scene.client, preset="rolling")
    number, _ = scene.until("compaction-complete", session)
    before = scene.client.get(f"/api/sessions/{session}").json()
    assert "Ola does it for 8,460" in scene.prompt() and "Ola" in before["summary"]
    scene.writer.window = 0  # it refuses every prompt
    failed, found = scene.until("compaction-error", session, number + 1)
    assert found[-1]["finishReason"] == "stop"
    [warning] = [
        one["data"]
        for one in found
        if one["type"] == "data-compaction" and one["data"]["event"] == "compaction-error"
    ]
    assert "could not be updated" in warning["error"] and warning["canRetry"]
    assert not warning["suggestNewSession"]
    # The earlier summary, and every message that it does not stand for.
    [record] = scene.client.get(f"/api/sessions/{session}/records").json()["records"]
    assert "Ola does it for 8,460" in scene.prompt()
    for position in range(record["last_position"] + 1, 2 * failed, 2):
        assert f"house {position // 2}. The cottage" in scene.prompt()
    kept = scene.client.get(f"/api/sessions/{session}").json()
    assert kept["summary"] == before["summary"] and kept["compaction_count"] == 1
    scene.writer.window = 100_000
    scene.until("compaction-complete", session, failed + 1)


@pytest.mark.spec("S3.6")
@pytest.mark.parametrize("short", ["", "The roof."])
def test_an_empty_or_short_summary_is_not_used(scene: Scene, short: str) -> None:
    session = new_session(scene.client, preset="rolling")
    number, _ = scene.until("compaction-complete", session)
    before = scene.client.get(f"/api/sessions/{session}").json()
    scene.writer.reply = lambda messages, tools: short
    _, found = scene.until("compaction-error", session, number + 1)
    assert found[-1]["finishReason"] == "stop"
    shown = scene.client.get(f"/api/sessions/{session}").json()
    assert shown["compaction_count"] == 1 and shown["summary"] == before["summary"]
    assert "Ola does it" in scene.prompt()


@pytest.mark.spec("S3.7")
def test_a_very_long_message_skips_the_cycle(scene: Scene) -> None:
    session = new_session(scene.client, preset="rolling")
    scene.talked(session, 7)
    found = said(scene.client, session, "A whole file: " + "line of the log, all is well. " * 400)
    assert compactions(found) == [] and scene.writer.asked == []
    assert "house 0." in scene.prompt()
    # The next message makes up for it.
    assert "compaction-complete" in compactions(said(scene.client, session, "And now?"))
    assert "Ola does it" in scene.prompt()


@pytest.mark.spec("S3.8", part="page")
@pytest.mark.spec("S2.16", part="server")
def test_while_the_summary_is_updated_a_follower_sees_it_and_others_are_refused(scene: Scene) -> None:
    session = new_session(scene.client, preset="rolling")
    scene.talked(session, 7)
    begun, go = threading.Event(), threading.Event()

    def slow(messages: list[Any], tools: list[Any]) -> str:
        begun.set()
        go.wait(120)
        return GOOD

    scene.writer.reply = slow
    asking = threading.Thread(target=scene.talked, args=(session, 1, 7))
    asking.start()
    try:
        assert begun.wait(60)
        while "compaction-summarize" not in [
            one["data"].get("event") for one in stored_events(scene.client, session)
        ]:
            assert asking.is_alive()
        assert scene.client.get(f"/api/sessions/{session}").json()["preset"] == "rolling"
        again = {"id": session, "message": {"role": "user", "content": "me too"}}
        refused = scene.client.post("/api/chat", json=again)
        assert refused.status_code == 409
        assert refused.json()["detail"] == "Session is currently being optimized. Please wait a moment."
    finally:
        go.set()
        asking.join()
    happened = [one["data"].get("event") for one in stored_events(scene.client, session)]
    steps = [name for name in happened if name]
    assert (steps[0], steps[-1]) == ("compaction-start", "compaction-complete")
    assert steps.count("compaction-summarize") == 1


@pytest.mark.spec("S5.13")
def test_a_summary_is_prepared_ahead_and_used_only_while_its_source_matches(scene: Scene) -> None:
    def near(session: str) -> None:
        """Talk until the summary of the coming compaction was asked for."""
        asked = len(scene.writer.asked)
        for number in range(60):
            found = said(scene.client, session, f"Message {number} of {session}: house {number}. {FILLER}")
            assert compactions(found) == [], "the trigger was crossed before anything was prepared"
            usage = scene.client.get(f"/api/sessions/{session}/usage").json()
            if usage["tokens"] >= 0.8 * usage["trigger"]:
                break
        while len(scene.writer.asked) == asked:
            time.sleep(0.02)
            scene.client.get(f"/api/sessions/{session}/usage")

    def crossed(session: str) -> None:
        for number in range(40):
            if "compaction-complete" in compactions(said(scene.client, session, f"Next {number}. {FILLER}")):
                return
        raise AssertionError("no compaction came")

    session = new_session(scene.client, preset="chat")
    near(session)
    crossed(session)
    assert len(scene.writer.prompts) == 1, "the summary was written twice"
    assert "Ola does it" in scene.prompt()
    other = new_session(scene.client, preset="chat")
    near(other)
    scene.writer.reply = lambda messages, tools: GOOD.replace("Ola", "Nils")
    scene.client.post(f"/api/sessions/{other}/messages/2/edit", json={"text": f"Something else. {FILLER}"})
    scene.talked(other, 8)
    near(other)
    crossed(other)
    assert "Nils does it" in scene.prompt() and "Ola" not in scene.prompt(), "a stale summary was used"
