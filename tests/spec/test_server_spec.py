"""The requirements that the chat server proves, over HTTP against a running `compact studio`.

On SQLite with one process, and on PostgreSQL with two worker processes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from compact.stores import open_store
from support.postgres import new_schema
from support.providers import Calls
from support.studio import compactions, new_session, said, stored_events
from support.studio_process import WINDOW, Served, studio_process

FILLER = "The cottage by the lake needs a new roof before the winter. " * 40


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    if request.param == "sqlite":
        with studio_process(f"sqlite:///{folder}/studio.db", folder) as found:
            yield found
    else:
        url = new_schema(request.getfixturevalue("postgres_server"))
        open_store(url).close()
        with studio_process(url, folder, workers=2) as found:
            yield found


@pytest.fixture(autouse=True)
def quiet(served: Served) -> None:
    served.provider.reply = lambda messages, tools: "Noted."
    served.provider.asked.clear()


def until_compacted(served: Served, session: str, most: int = 60) -> tuple[int, list[dict[str, Any]]]:
    """Talk until a compaction comes: the number of the message that caused it, and its chunks."""
    for number in range(most):
        found = said(served.client, session, f"Message {number}: house {number} of {session}. {FILLER}")
        if "compaction-complete" in compactions(found):
            return number, found
    raise AssertionError("no compaction came")


def last_prompt(served: Served) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = served.provider.prompts[-1].body["messages"]
    return found


def text(message: dict[str, Any]) -> str:
    return json.dumps(message["content"], ensure_ascii=False)


@pytest.mark.spec("S0.1")
@pytest.mark.spec("S0.7")
def test_below_80_percent_every_message_goes_out_as_it_is(served: Served) -> None:
    session = new_session(served.client, preset="chat")
    told: list[str] = []
    while True:
        asked = f"Message {len(told) // 2} of {session}. {FILLER}".rstrip()
        found = said(served.client, session, asked)
        usage = served.client.get(f"/api/sessions/{session}/usage").json()
        assert compactions(found) == [] and usage["parts"]["summary"] == 0
        told.append(asked)
        assert [one["content"].rstrip() for one in last_prompt(served)] == told
        told.append("Noted.")
        if usage["tokens"] > 0.5 * usage["window"]:
            break
    assert not any(one["type"] == "data-compaction" for one in stored_events(served.client, session))


@pytest.mark.spec("S0.3")
@pytest.mark.spec("S0.5")
@pytest.mark.spec("S0.7")
def test_decisions_of_the_summarized_part_are_in_later_prompts_and_on_the_record(served: Served) -> None:
    client = served.client
    session = new_session(client, preset="chat")
    decided = f"We decided to use slate from Otta, and the port of {session} must stay 8460."
    said(client, session, decided)
    until_compacted(served, session)
    said(client, session, "Which slate did we choose, and which port?")
    prompt = json.dumps(last_prompt(served), ensure_ascii=False)
    assert "slate from Otta" in prompt and "must stay 8460" in prompt
    stored = client.get(f"/api/sessions/{session}").json()
    [record] = client.get(f"/api/sessions/{session}/records").json()["records"]
    assert "slate from Otta" in stored["summary"] and stored["summary"] == record["summary"]
    with open_store(served.store) as store:
        [kept] = store.records(session)
        thread = store.session(session)
    assert thread is not None and thread.summary == kept.summary == record["summary"]


@pytest.mark.spec("S0.2", part="server")
@pytest.mark.spec("S2.18", part="server")
def test_at_80_percent_older_messages_are_summarized_and_an_event_is_on_the_stream(served: Served) -> None:
    session = new_session(served.client, preset="chat")
    number, found = until_compacted(served, session)
    assert number > 3, "it came too early to be the trigger"
    prompt = [text(one).strip('"') for one in last_prompt(served)]
    assert sum("house 0" in one for one in prompt) == 1 and "COMPACT-SUMMARY" in "".join(prompt[:3])
    # The last six messages as they were, then the new one.
    tail = [f"Message {n}: house {n}" for n in range(number - 3, number + 1)]
    assert [one.partition(" of ")[0] for one in prompt[-7::2]] == tail
    assert [one.strip() for one in prompt[-6::2]] == ["Noted."] * 3
    events = {one["data"]["event"]: one["data"] for one in found if one["type"] == "data-compaction"}
    assert events["compaction-start"].keys() >= {"tokensBefore", "modelLimit", "reason"}
    assert events["compaction-start"]["reason"] == "overflow"
    # The limit is shown as the provider counts, which may round it.
    assert abs(events["compaction-start"]["modelLimit"] - WINDOW) <= 1
    assert events["compaction-summarize"]["messagesCount"] > 0
    done = events["compaction-complete"]
    assert done["tokensAfter"] < done["tokensBefore"] and done["messagesCompacted"] > 0
    assert (done["wasSummarized"], done["wasPruned"]) == (True, False) and done["summary"]
    stored = [
        one["data"]["event"]
        for one in stored_events(served.client, session)
        if one["type"] == "data-compaction"
    ]
    assert stored == [one["data"]["event"] for one in found if one["type"] == "data-compaction"]


@pytest.mark.spec("S0.6", part="server")
def test_what_was_summarized_once_is_used_again_without_a_summarizer(served: Served) -> None:
    session = new_session(served.client, preset="chat")
    until_compacted(served, session)
    before = [text(one) for one in last_prompt(served) if "COMPACT-SUMMARY" in text(one)]
    assert len(before) == 1
    # With two workers the next messages reach processes that have never seen the session.
    for number in range(3):
        found = said(served.client, session, f"More {number}.")
        assert compactions(found) == []
        assert [text(one) for one in last_prompt(served) if text(one) in before] == before
    history = served.client.get(f"/api/sessions/{session}/messages", params={"limit": 1000}).json()
    assert history["messages"][0]["parts"][0]["text"].startswith("Message 0: house 0")
    assert history["messages"][0]["state"] == "summarized"
    assert served.client.get(f"/api/sessions/{session}").json()["compaction_count"] == 1


@pytest.mark.spec("S2.6", part="server")
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_a_tool_loop_of_sixty_steps_overflows_mid_turn_and_goes_on(served: Served, model: str) -> None:
    """The API refuses any prompt over its window: checked before each call, none is ever sent."""
    session = new_session(served.client, preset="agent", model=model)
    said(served.client, session, f"The code word is Osprey. {FILLER}")
    served.provider.asked.clear()

    def reply(messages: list[Any], tools: list[Any]) -> Any:
        calls = len(served.provider.prompts)
        if calls <= 60:
            return Calls([("recall_history", {"query": f"roof winter lake step {calls}"})])
        return "Sixty steps are done."

    served.provider.reply = reply
    found = said(served.client, session, "Look sixty times.")
    assert found[-1]["finishReason"] == "stop"
    assert [one.refused for one in served.provider.asked] == [""] * 61
    assert sum(one["type"] == "tool-output-available" for one in found) == 60
    assert "compaction-complete" in compactions(found)
    assert max(one.tokens for one in served.provider.asked) <= WINDOW
    listed = served.client.get(f"/api/sessions/{session}/messages", params={"limit": 1000}).json()
    assert sum(part["type"] == "dynamic-tool" for one in listed["messages"] for part in one["parts"]) == 60


@pytest.mark.spec("S2.9", part="server")
def test_old_outputs_are_cleared_at_the_end_of_a_turn_that_failed(served: Served) -> None:
    # Lower than the preset's, so that eight outputs are worth a prune before they overflow.
    policy = {"prune_protect": 500, "prune_minimum": 300}
    session = new_session(served.client, preset="agent", policy=policy)
    said(served.client, session, "We look at the log of the night.")
    steps = iter(range(8))

    def reply(messages: list[Any], tools: list[Any]) -> Any:
        if next(steps, None) is None:
            raise ConnectionResetError
        return Calls([("sample_log", {"lines": 24})])

    served.provider.reply = reply
    found = said(served.client, session, "Look, then fail.")
    assert found[-1]["finishReason"] == "error" and found[-2]["type"] == "error"
    pruned = [
        one["data"]
        for one in stored_events(served.client, session)
        if one["data"].get("event") == "compaction-prune"
    ]
    assert pruned and pruned[0]["outputsPruned"] > 0 and pruned[0]["tokensSaved"] > 0
    assert pruned[0]["prunedTools"] == ["sample_log"]
    listed = served.client.get(f"/api/sessions/{session}/messages").json()["messages"]
    cleared = [part["compact"] for one in listed for part in one["parts"] if "compact" in part]
    assert cleared and all(one["state"] == "cleared" for one in cleared)
    handle = cleared[0]["handle"]
    original = served.client.get(f"/api/sessions/{session}/originals/{handle}").json()
    assert "line 0001" in original["text"] and original["tokens"] > cleared[0]["tokens"]


@pytest.mark.spec("S2.16", part="server")
def test_a_message_while_its_session_is_compacting_is_refused_at_once(served: Served) -> None:
    session = new_session(served.client)
    said(served.client, session, "hello")
    with open_store(served.store) as store, store.lease(session, 20) as granted:
        assert granted
        refused = served.client.post(
            "/api/chat", json={"id": session, "message": {"role": "user", "content": "x"}}
        )
        assert refused.status_code == 409
        assert refused.json()["detail"] == "Session is currently being optimized. Please wait a moment."
        assert served.client.post(f"/api/sessions/{session}/compact", json={}).status_code == 409
        assert served.client.get(f"/api/sessions/{session}").json()["compacting"] is True
    assert said(served.client, session, "again")[-1]["finishReason"] == "stop"
    assert served.client.get(f"/api/sessions/{session}/messages").json()["total"] == 4


@pytest.mark.spec("S2.18", part="server")
def test_what_cannot_be_made_to_fit_is_an_overflow_and_an_error_on_the_stream(served: Served) -> None:
    session = new_session(served.client)
    found = said(served.client, session, "word " * 15_000)
    events = {one["data"]["event"]: one["data"] for one in found if one["type"] == "data-compaction"}
    assert events["context-overflow"].keys() >= {"currentTokens", "limit", "percentUsed"}
    assert events["context-overflow"]["percentUsed"] > 100
    assert events["compaction-error"].keys() >= {"error", "canRetry", "suggestNewSession"}
    assert found[-2]["type"] == "error" and served.provider.prompts == []
    # It is no turn; it goes back to its writer.
    shown = served.client.get(f"/api/sessions/{session}").json()
    assert shown["draft"].startswith("word word")
    assert said(served.client, session, "short")[-1]["finishReason"] == "stop"


@pytest.mark.spec("S2.21", part="server")
def test_working_memory_enters_as_conversation(served: Served) -> None:
    session = new_session(served.client, system="Be brief.", memory="The user lives in Oslo.")
    said(served.client, session, "hello")
    first = last_prompt(served)
    served.client.patch(f"/api/sessions/{session}", json={"memory": "The user moved to Bergen."})
    said(served.client, session, "hello again")
    second = last_prompt(served)
    for prompt in (first, second):
        assert prompt[0] == {"role": "system", "content": "Be brief."}
        assert not any(
            "Oslo" in text(one) or "Bergen" in text(one) for one in prompt if one["role"] == "system"
        )
    assert any("Oslo" in text(one) for one in first)
    assert any("Bergen" in text(one) for one in second)
    # What went out before is a prefix of what goes out now.
    assert second[: len(first)] == first


@pytest.mark.spec("S3.3", part="server")
@pytest.mark.spec("S3.9")
def test_instructions_of_the_space_come_first_then_the_summary(served: Served) -> None:
    client = served.client
    client.put("/api/spaces/lake", json={"custom_instructions": "Prices are in crowns.", "preset": "rolling"})
    session = new_session(client, space="lake")
    assert client.get(f"/api/sessions/{session}").json()["preset"] == "rolling"
    for number in range(9):
        said(client, session, f"We take roof {number}: it is dry. The carpenter is Ola{number}. {FILLER}")
    prompt = last_prompt(served)
    assert prompt[0] == {"role": "system", "content": "Prices are in crowns."}
    assert prompt[1]["role"] == "system" and "Ola0" in text(prompt[1])
    assert prompt[-1]["role"] == "user" and "Ola8" in text(prompt[-1])
    assert [one["role"] for one in prompt[2:]].count("system") == 0
    shown = client.get(f"/api/sessions/{session}").json()
    assert "Ola0" in shown["summary"] and shown["summary_updated_at"] == shown["last_compaction_at"]
    listed = client.get(f"/api/sessions/{session}/messages").json()["messages"]
    assert not any(
        "roof number 0" in part["text"] for one in listed[2:] for part in one["parts"] if "text" in part
    )


@pytest.mark.spec("S5.9", part="server")
def test_several_policies_are_tried_side_by_side_and_one_is_applied(served: Served) -> None:
    client = served.client
    session = new_session(client, preset="budget")
    for number in range(9):
        said(client, session, f"Message {number}: house {number} costs {9_000 + number}. {FILLER}")
    before = looked_at(client, session)
    columns = [{"preset": "window"}, {"preset": "chat"}, {"policy": {"keep_recent_turns": 2}, "label": "two"}]
    columns.append({"policy": {"trigger_pct": 9}, "label": "wrong"})
    tried = client.post(f"/api/sessions/{session}/what-if", json={"columns": columns}).json()
    assert looked_at(client, session) == before, "trying out changed something"
    window, chat, two, wrong = tried["columns"]
    assert tried["now"]["tokens_after"] == tried["now"]["tokens_before"]
    assert (window["mode"], chat["mode"], two["mode"]) == ("discard", "summarize", "summarize")
    assert all(one["tokens_after"] < one["tokens_before"] for one in (window, chat, two))
    assert two["tokens_after"] < chat["tokens_before"] and two["summary"] and not window["summary"]
    assert {one["action"] for one in window["fates"]} == {"dropped", "kept"}
    assert "trigger_pct" in wrong["problem"]
    late = client.post(f"/api/sessions/{session}/what-if/apply", json={"preset": "chat", "at_message": 3})
    assert late.status_code == 409 and looked_at(client, session) == before
    wanted = {"preset": "chat", "at_message": tried["at_message"]}
    applied = client.post(f"/api/sessions/{session}/what-if/apply", json=wanted).json()
    assert applied["outcome"] == "compacted" and applied["record"]["kind"] == "summary"
    assert applied["usage"]["tokens"] < before["usage"]["tokens"]
    assert client.get(f"/api/sessions/{session}").json()["preset"] == "chat"


@pytest.mark.spec("S5.10", part="server")
def test_a_compaction_is_undone_after_later_turns(served: Served) -> None:
    client = served.client
    session = new_session(client, preset="chat")
    until_compacted(served, session)
    for number in range(2):
        said(client, session, f"Later {number}.")
    [record] = client.get(f"/api/sessions/{session}/records").json()["records"]
    assert record["in_force"] and not record["undone"] and record["first_position"] == 0
    path = f"/api/sessions/{session}/records/{record['step']}/restore"
    before = looked_at(client, session)
    preview = client.get(path).json()
    assert looked_at(client, session) == before, "the preview changed something"
    assert preview["messages_back"] == record["messages_replaced"]
    assert preview["tokens_after"] > preview["tokens_now"] and preview["compacts_again"]
    restored = client.post(path).json()["usage"]
    assert restored["tokens"] > preview["tokens_now"] and restored["parts"]["summary"] == 0
    [undone] = client.get(f"/api/sessions/{session}/records").json()["records"]
    assert undone["undone"] and not undone["in_force"]
    listed = client.get(f"/api/sessions/{session}/messages", params={"limit": 1000}).json()["messages"]
    assert {one["state"] for one in listed} == {"sent"}
    assert client.post(path).status_code == 409
    assert client.get(f"/api/sessions/{session}/records/99/restore").status_code == 404


def looked_at(client: Any, session: str) -> dict[str, Any]:
    """All that a client can see of a session but the time."""
    paths = ("", "/messages?limit=1000", "/records", "/usage", "/plan")
    found = {
        path: (client.post if path == "/plan" else client.get)(
            f"/api/sessions/{session}{path}", **({"json": {}} if path == "/plan" else {})
        ).json()
        for path in paths
    }
    return {**found, "usage": found["/usage"], "events": stored_events(client, session)}
