"""What other numbers would do to a session, what it holds now, and its own numbers: over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact.errors import StoreError
from support.studio import RuleModel, new_session, said, stored_events, studio

FILLER = "The cottage by the lake needs a new roof before the winter. " * 6
KINDS = ["words", "conclusions", "done", "paths", "ids", "commands", "numbers", "errors"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with studio(tmp_path_factory.mktemp("what-if"), RuleModel(lambda _: "Noted.")) as client:
        yield client


def talked(client: httpx2.Client, turns: int = 14, **settings: Any) -> str:
    session = new_session(client, **settings)
    for number in range(turns):
        text = f"House {number} of {session}: never paint it red; see /srv/houses/plan_{number}.md. {FILLER}"
        said(client, session, text)
    return session


@pytest.fixture(scope="module")
def session(client: httpx2.Client) -> str:
    return talked(client, preset="budget")


def tried(client: httpx2.Client, session: str, *presets: str) -> dict[str, Any]:
    columns = [{"preset": preset} for preset in presets]
    answer = client.post(f"/api/sessions/{session}/what-if", json={"columns": columns})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return {"now": found["now"], **{one["preset"]: one for one in found["columns"]}}


def by_kind(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    assert [one["kind"] for one in found] == KINDS
    return {one["kind"]: one for one in found}


def test_a_preset_that_drops_messages_says_which_words_the_prompt_would_lose(
    client: httpx2.Client, session: str
) -> None:
    columns = tried(client, session, "budget", "window")
    now, budget, window = (by_kind(columns[name]["survival_kinds"]) for name in ("now", "budget", "window"))
    # Each house once, and the sentence that every message repeats.
    assert now["words"]["kept"] == now["words"]["total"] == budget["words"]["total"]
    assert 15 <= now["words"]["total"] < 14 * 6
    assert window["words"]["kept"] < window["words"]["total"]
    assert window["words"]["missing_count"] == window["words"]["total"] - window["words"]["kept"]
    lost = window["words"]["missing"][0]
    told = client.get(f"/api/sessions/{session}/messages", params={"limit": 100}).json()["messages"]
    source = next(one for one in told if one["position"] == lost["position"])
    assert lost["text"][:30] in source["parts"][0]["text"]
    assert window["paths"]["missing_count"] > 0 == now["paths"]["missing_count"]


def test_a_column_says_what_it_costs_to_do_and_for_how_long_it_lasts(
    client: httpx2.Client, session: str
) -> None:
    columns = tried(client, session, "budget", "window")
    now, budget, window = columns["now"], columns["budget"], columns["window"]
    assert (budget["summarizer"], window["summarizer"], now["summarizer"]) == ("extractive", None, None)
    assert budget["cost_to_do"] == window["cost_to_do"] == 0.0
    assert budget["seconds_to_do"] > 0
    assert budget["turns_until_next"] > now["turns_until_next"] >= 1
    assert 0 < budget["cost_ten_turns"] < now["cost_ten_turns"]
    # Only a compaction changes the front of the prompt: the first two turns stay with `window`.
    assert now["cached_tokens"] == now["tokens_after"]
    assert 0 < window["cached_tokens"] < window["tokens_after"]


def exports(count: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Export every table."}]
    for block in range(count):
        call = {"name": "export_table", "arguments": f'{{"table": "prices", "block": {block}}}'}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{block}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{block}", "content": f"{block + 30} rows written. {FILLER}"},
        ]
    return [*messages, {"role": "assistant", "content": "All tables are exported."}]


def test_what_was_done_is_in_the_prompt_while_its_call_is(client: httpx2.Client) -> None:
    """Of an untouched session nothing is missing; a call that was replaced is, unless the summary says it."""
    session = new_session(client, title="A run")
    client.post(f"/api/sessions/{session}/import", json={"messages": exports(12)})
    asked = {"columns": [{"preset": "agent"}, {"preset": "window"}]}
    answer = client.post(f"/api/sessions/{session}/what-if", json=asked).json()
    for column in (answer["now"], answer["columns"][0]):
        done = by_kind(column["survival_kinds"])["done"]
        assert done["kept"] == done["total"] > 1 and done["missing_count"] == 0
    dropped = by_kind(answer["columns"][1]["survival_kinds"])["done"]
    assert dropped["kept"] < dropped["total"]
    now = by_kind(client.get(f"/api/sessions/{session}/figures").json()["now"])
    assert now["done"]["missing_count"] == 0
    for column in (answer["now"], *answer["columns"]):
        assert sum(column["parts"].values()) == column["tokens_after"]


def test_a_message_that_stays_costs_what_it_did(client: httpx2.Client, session: str) -> None:
    window = tried(client, session, "window")["window"]
    for fate in window["fates"]:
        expected = 0 if fate["action"] == "dropped" else fate["tokens_before"]
        assert fate["tokens_after"] == expected, fate


def applied(client: httpx2.Client, session: str, preset: str) -> dict[str, Any]:
    at = client.get(f"/api/sessions/{session}").json()["message_count"]
    answer = client.post(f"/api/sessions/{session}/what-if/apply", json={"preset": preset, "at_message": at})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_undoing_an_applied_column_brings_back_the_preset_and_the_prompt(client: httpx2.Client) -> None:
    session = talked(client, 8, preset="budget")
    path = f"/api/sessions/{session}"
    client.post(f"{path}/compact", json={})
    before = client.get(path).json()
    step = applied(client, session, "window")["record"]["step"]
    assert client.get(path).json()["preset"] == "window"
    preview = client.get(f"{path}/records/{step}/restore").json()
    assert (preview["preset_after"], preview["tokens_after"]) == ("budget", before["usage"]["tokens"])
    assert client.post(f"{path}/records/{step}/restore").json()["usage"] == before["usage"]
    after = client.get(path).json()
    assert (after["preset"], after["policy"], after["usage"]) == (
        before["preset"],
        before["policy"],
        before["usage"],
    )
    assert [one["in_force"] for one in client.get(f"{path}/records").json()["records"]] == [True, False]


def test_a_preset_that_was_chosen_after_an_applied_column_stays(client: httpx2.Client) -> None:
    session = talked(client, 8, preset="budget")
    path = f"/api/sessions/{session}"
    step = applied(client, session, "window")["record"]["step"]
    client.patch(path, json={"preset": "agent"})
    assert client.get(f"{path}/records/{step}/restore").json()["preset_after"] == "agent"
    client.post(f"{path}/records/{step}/restore")
    assert client.get(path).json()["preset"] == "agent"


def test_a_column_that_could_not_be_applied_leaves_the_preset(
    client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = talked(client, 8, preset="budget")
    path = f"/api/sessions/{session}"
    before = client.get(path).json()

    async def failing(*_: Any) -> None:
        raise StoreError("The disk is full. Nothing was changed; free some space.")

    monkeypatch.setattr("compact.server.studio.what_if.compact_now", failing)
    asked = {"preset": "window", "at_message": before["message_count"]}
    assert client.post(f"{path}/what-if/apply", json=asked).status_code == 503
    after = client.get(path).json()
    assert (after["preset"], after["usage"]) == (before["preset"], before["usage"])


def test_a_plan_of_now_is_what_compact_does_below_the_trigger(client: httpx2.Client) -> None:
    session = talked(client, 10)
    path = f"/api/sessions/{session}/plan"
    waiting, now = client.post(path, json={}).json(), client.post(path, json={"now": True}).json()
    assert not waiting["triggered"] and waiting["after"] == waiting["before"]
    assert now["reason"] == "manual" and now["after"] < now["before"]
    record = client.post(f"/api/sessions/{session}/compact", json={}).json()["record"]
    joined = [step for step in now["steps"] if step["action"] == "summarized"]
    assert record["messages_replaced"] == len(joined)
    # The earlier summary joins the next one; it has no position, and the record does not count it.
    for number in range(8):
        said(client, session, f"Garden {number} of {session}. {FILLER}")
    steps = client.post(path, json={"now": True}).json()["steps"]
    record = client.post(f"/api/sessions/{session}/compact", json={}).json()["record"]
    joined = [step["position"] for step in steps if step["action"] == "summarized"]
    assert record["messages_replaced"] == len([at for at in joined if at is not None]) < len(joined)


def test_a_plan_previews_the_summary_only_where_that_is_asked_for(
    client: httpx2.Client, session: str
) -> None:
    path = f"/api/sessions/{session}/plan"
    assert client.post(path, json={}).json()["summary_preview"] is None
    preview = client.post(path, json={"preview": True}).json()["summary_preview"]
    assert "never paint it red" in preview
    assert client.post(path, json={"preview": True, "preset": "window"}).json()["summary_preview"] is None
    assert client.get(f"/api/sessions/{session}/records").json()["records"] == []


def test_a_session_carries_the_numbers_that_are_in_force(client: httpx2.Client) -> None:
    session = new_session(client, preset="chat")
    shown = client.get(f"/api/sessions/{session}").json()
    assert shown["policy"]["trigger_pct"] == 0.8 and shown["policy_changes"] == {}
    changes = {"trigger_pct": 0.6, "keep_recent_messages": 4}
    changed = client.patch(f"/api/sessions/{session}", json={"policy": changes}).json()
    assert changed["policy_changes"] == changes
    again = client.get(f"/api/sessions/{session}").json()
    assert {name: again["policy"][name] for name in changes} == changes
    listed = client.get("/api/sessions").json()["sessions"]
    assert next(one for one in listed if one["id"] == session)["policy"] is None


def test_figures_say_what_each_summary_kept_and_what_is_not_in_the_prompt_now(
    client: httpx2.Client,
) -> None:
    session = talked(client, 9, preset="window")
    assert client.post(f"/api/sessions/{session}/compact", json={}).json()["outcome"] == "compacted"
    for number in range(3):
        said(client, session, f"Garden {number}: the gate is {number + 3} m wide. {FILLER}")
    figures = client.get(f"/api/sessions/{session}/figures").json()
    [after] = figures["survival"]
    then, now = by_kind(after["kinds"]), by_kind(figures["now"])
    assert after["step"] == 1 and after["words"]["kept"] == then["words"]["kept"]
    # What came later is not counted as lost then, and stands in the prompt now.
    assert now["words"]["total"] > then["words"]["total"]
    assert now["words"]["missing_count"] == then["words"]["missing_count"] > 0
    messages = client.get(f"/api/sessions/{session}/messages", params={"limit": 100}).json()["messages"]
    states = {one["position"]: one["state"] for one in messages}
    assert {states[gone["position"]] for gone in now["words"]["missing"]} == {"dropped"}
    assert re.fullmatch(r"/srv/houses/plan_\d\.md", now["paths"]["missing"][0]["text"])


def test_figures_of_a_model_that_reports_no_usage(tmp_path: Path) -> None:
    """Sizes are counted here, nothing is called paid, and an undo is no longer a compaction."""
    model = RuleModel()
    model.reports_usage = False
    with studio(tmp_path, model) as client:
        session = talked(client, 9)
        client.post(f"/api/sessions/{session}/compact", json={})
        said(client, session, "And the garden?")
        [record] = client.get(f"/api/sessions/{session}/records").json()["records"]
        figures = client.get(f"/api/sessions/{session}/figures").json()
        first, last = figures["turns"][0], figures["turns"][-1]
        assert first["tokens"] == first["tokens_without"] > 0 and last["compaction"] == record["step"]
        assert last["tokens"] == pytest.approx(record["tokens_after"], rel=0.1)
        saved = last["tokens_without"] - last["tokens"]
        assert saved == pytest.approx(record["tokens_before"] - record["tokens_after"], rel=0.1)
        assert figures["totals"]["tokens_saved"] == saved
        assert figures["prices_known"] and figures["totals"]["cost"] is None
        assert {one["cost"] for one in figures["turns"]} == {None}
        assert figures["totals"]["input_tokens"] == figures["totals"]["cached_tokens"] == 0
        client.post(f"/api/sessions/{session}/records/{record['step']}/restore")
        undone = client.get(f"/api/sessions/{session}/figures").json()
        assert undone["totals"]["compactions"] == 0 and undone["survival"] == []
        # What was sent while it was in force stays as it was; from here on everything is sent.
        assert undone["turns"] == [{**one, "compaction": None} for one in figures["turns"]]
        said(client, session, "And the fence?")
        after = client.get(f"/api/sessions/{session}/figures").json()
        assert after["turns"][-1]["tokens"] == after["turns"][-1]["tokens_without"] > last["tokens_without"]
        assert after["totals"]["tokens_saved"] == saved


def test_all_figures_count_the_tools_before_the_first_message(client: httpx2.Client) -> None:
    session = new_session(client, preset="budget")
    turns = [
        {"role": role, "content": f"{role} {n}: {FILLER}"} for n in range(8) for role in ("user", "assistant")
    ]
    answer = client.post(f"/api/sessions/{session}/import", json={"messages": turns})
    assert answer.status_code == 200, answer.text
    usage = client.get(f"/api/sessions/{session}/usage").json()
    columns = tried(client, session, "budget")
    assert (
        usage["parts"]["tools"] == columns["now"]["parts"]["tools"] == columns["budget"]["parts"]["tools"] > 0
    )
    planned = client.post(f"/api/sessions/{session}/plan", json={}).json()
    assert planned["before"] == usage["tokens"] == columns["now"]["tokens_after"]


def sizes(client: httpx2.Client, session: str) -> dict[str, int]:
    """The size of the next prompt, everywhere that a page shows it."""
    listed = client.get("/api/sessions", params={"limit": 200}).json()["sessions"]
    return {
        "session": client.get(f"/api/sessions/{session}").json()["usage"]["tokens"],
        "list": next(one for one in listed if one["id"] == session)["usage"]["tokens"],
        "what if": tried(client, session, "budget")["now"]["tokens_after"],
        "plan": client.post(f"/api/sessions/{session}/plan", json={"now": True}).json()["before"],
    }


def test_one_prompt_has_one_size(client: httpx2.Client) -> None:
    sample = client.post("/api/sessions", json={"demo": True}).json()["id"]
    found = sizes(client, sample)
    assert set(found.values()) == {found["session"]}, found
    # Under another preset another record is in force.
    session = talked(client, preset="window")
    before = sizes(client, session)
    assert client.patch(f"/api/sessions/{session}", json={"preset": "budget"}).status_code == 200
    after = sizes(client, session)
    assert set(after.values()) == {after["session"]} and after["session"] != before["session"], after


def test_a_new_size_is_stored_and_followers_learn_it(tmp_path: Path) -> None:
    with studio(tmp_path, RuleModel(lambda _: "Noted.")) as client:
        session = talked(client, preset="window")

        def told() -> list[int]:
            events = stored_events(client, session)
            return [one["data"]["tokens"] for one in events if one["type"] == "data-context-usage"]

        assert client.patch(f"/api/sessions/{session}", json={"preset": "budget"}).status_code == 200
        usage, heard = client.get(f"/api/sessions/{session}").json()["usage"], told()
        assert heard[-1] == usage["tokens"]
        # A pin changes no size.
        client.put(f"/api/sessions/{session}/pins/0", json={"pinned": True})
        assert told() == heard
    with studio(tmp_path) as client:
        [listed] = client.get("/api/sessions").json()["sessions"]
        assert listed["usage"]["tokens"] == usage["tokens"]


def test_the_list_knows_what_the_settings_of_a_space_changed(client: httpx2.Client) -> None:
    client.put("/api/spaces/sizes", json={"title": "Sizes", "preset": "budget"})
    session = talked(client, turns=1, space="sizes")

    def triggers() -> tuple[int, int]:
        own = client.get(f"/api/sessions/{session}").json()["usage"]["trigger"]
        listed = client.get("/api/sessions", params={"space": "sizes"}).json()["sessions"]
        return own, listed[0]["usage"]["trigger"]

    own, listed = triggers()
    assert own == listed
    client.put("/api/spaces/sizes", json={"title": "Sizes", "preset": "agent"})
    changed, listed = triggers()
    assert changed == listed != own
