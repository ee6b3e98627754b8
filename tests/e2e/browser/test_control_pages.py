"""Undo, what if and figures, on the live session."""

from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import Stage, drawn, talk, to_the_top, watched
from support.studio import body_of, said


@pytest.mark.spec("S5.10", part="page")
def test_a_compaction_is_undone_from_the_records_after_later_turns(page: Page, stage: Stage) -> None:
    session = stage.session(talk(12), title="The lake house")
    stage.post(session, "/compact", {})
    for turn in range(3):
        said(stage.client, session, f"Later turn {turn}.")
    step = stage.get(session, "/records")["records"][0]["step"]
    preview = stage.get(session, f"/records/{step}/restore")
    page.goto(f"/s/{session}?panel=records")
    page.get_by_role("button", name="Undo Summary v1").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{preview['messages_back']} messages come back word for word")
    expect(dialog).to_contain_text("The turns since then stay.")
    usage = stage.get(session)["usage"]
    # Half a percent is rounded up, as JavaScript does.
    share = math.floor(100 * preview["tokens_after"] / usage["window"] + 0.5)
    expect(dialog).to_contain_text(f"{share}%")
    dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("Summary v1 undone").first).to_be_visible()
    record = next(one for one in stage.get(session, "/records")["records"] if one["step"] == step)
    assert record["undone"] and stage.get(session)["message_count"] == 30
    expect(page.get_by_role("log")).to_contain_text("You said: Later turn 2.")
    expect(page.get_by_role("separator")).to_have_count(0)
    # What was undone no longer counts, and its number is not given again.
    row = page.get_by_label("Session list").get_by_role("listitem").filter(has_text="The lake house")
    expect(row).to_be_visible()
    expect(row).not_to_contain_text("compaction")
    stage.post(session, "/compact", {})
    expect(page.get_by_role("button", name="Undo Summary v2")).to_be_visible()
    expect(row).to_contain_text("1 compaction")
    expect(page.get_by_role("tabpanel").get_by_text("Summary v1")).to_have_count(1)


def test_a_compaction_whose_messages_were_edited_away_offers_no_undo(page: Page, stage: Stage) -> None:
    session = stage.session(talk(12), title="The lake house")
    stage.post(session, "/compact", {})
    edited = {**body_of(session, "Another question entirely."), "messageId": "m2"}
    assert stage.client.post("/api/chat", json=edited).status_code == 200
    stage.post(session, "/import", {"messages": talk(12)})
    stage.post(session, "/compact", {})
    page.goto(f"/s/{session}?panel=records")
    panel = page.get_by_role("tabpanel")
    expect(panel.get_by_text("its messages were edited or removed")).to_have_count(1)
    expect(panel.get_by_role("button", name="Undo Summary v1")).to_have_count(1)
    gone, _ = stage.get(session, "/records")["records"]
    page.goto(f"/s/{session}?m={gone['last_position']}")
    expect(page.locator(f"article[data-position='{gone['last_position']}']")).to_be_visible()
    expect(page.locator(f"[data-record='{gone['step']}']")).to_have_count(0)


@pytest.mark.spec("S5.9", part="page")
def test_presets_are_compared_and_one_is_applied(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20))
    before = stage.get(session)
    page.goto(f"/s/{session}/what-if?p=budget,window")
    table = page.get_by_role("region", name="Comparison")
    for name in ("Now", "budget", "window"):
        expect(table.get_by_role("columnheader", name=re.compile(f"^{name}"))).to_be_visible()
    rows = ("Next prompt", "In short", "Saved", "Turns until the next one", "To do it", "Next 10 turns")
    for row in (*rows, "Cached prefix kept", "Your words", "Kept word for word", "Dropped"):
        expect(table.get_by_role("rowheader", name=re.compile(f"^{row}")).first).to_be_visible()
    answer = stage.post(session, "/what-if", {"columns": [{"preset": "window"}]})
    for kind in answer["columns"][0]["survival_kinds"]:
        if kind["total"]:
            line = table.get_by_role("row", name=re.compile(f"^{kind['title']}"))
            expect(line.get_by_role("cell").nth(2)).to_contain_text(f"{kind['kept']} of {kind['total']}")
    # The sentence and the total count what the rows count.
    gone = {kind["kind"]: kind["missing_count"] for kind in answer["columns"][0]["survival_kinds"]}
    short = table.get_by_role("row", name=re.compile("^In short")).get_by_role("cell").nth(2)
    expect(short).to_have_text(f"Most room, loses {gone['words']} of your words")
    button = table.get_by_role("button", name=f"{sum(gone.values())} items")
    button.click()
    listed = page.get_by_role("dialog").get_by_role("listitem")
    expect(listed.filter(has_text=f"Your words: and {gone['words'] - 5} more")).to_have_count(1)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(table).to_contain_text(f"{answer['columns'][0]['tokens_after']:,}")
    # The small bars have the same parts as the large one: a summary where one would be written.
    for name, summary in (("now", 0), ("budget", 1), ("window", 0)):
        bar = table.get_by_role("meter", name=f"Context with {name}")
        expect(bar.locator('[data-part="summary"]')).to_have_count(summary)
    after = stage.get(session)
    assert (before["usage"], before["compaction_count"]) == (after["usage"], after["compaction_count"])
    blocks = page.get_by_role("slider", name="Message")
    blocks.focus()
    page.keyboard.press("ArrowRight")
    expect(blocks).to_have_attribute("aria-valuenow", "1")
    expect(page.get_by_text(re.compile(r"^m1 · assistant · \d+ tokens$"))).to_be_visible()
    expect(page.get_by_text(re.compile("^Answer 0: talk"))).to_be_visible()
    page.get_by_role("button", name="Apply window").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply window").click()
    expect(page.get_by_text("Applied window:")).to_be_visible()
    assert stage.get(session)["usage"]["tokens"] < before["usage"]["tokens"]
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("come back")


@pytest.mark.spec("S5.9", part="page")
def test_a_preset_that_was_applied_is_undone_with_its_compaction(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20), preset="budget")
    stage.post(session, "/compact", {})
    before = stage.get(session)
    page.goto(f"/s/{session}/what-if?p=budget,window")
    column = stage.post(session, "/what-if", {"columns": [{"preset": "window"}]})["columns"][0]
    sizes = [f"{size:,}" for size in (before["usage"]["tokens"], column["tokens_after"])]
    # What cannot be applied says why.
    expect(page.get_by_role("button", name="Apply budget")).to_be_disabled()
    expect(page.get_by_role("button", name="Apply budget")).to_have_accessible_description(
        re.compile("^It would ")
    )
    page.get_by_role("button", name="Apply window").click()
    asking = page.get_by_role("dialog")
    expect(asking).to_contain_text(f"from {sizes[0]} to about {sizes[1]} tokens and loses")
    expect(asking).to_contain_text("This session's preset becomes window.")
    asking.get_by_role("button", name="Apply window").click()
    expect(page.get_by_text(f"Applied window: {sizes[0]} → {sizes[1]} tokens.")).to_be_visible()
    expect(page.get_by_text("Nothing has been changed")).to_have_count(0)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("The preset goes back to budget.")
    page.get_by_role("dialog").get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("columnheader", name="budget").get_by_text("In use")).to_be_visible()
    after = stage.get(session)
    assert (after["preset"], after["usage"]) == (before["preset"], before["usage"])
    page.goto(f"/s/{session}?panel=records")
    expect(page.get_by_role("tabpanel").get_by_text("Context trimmed")).to_be_visible()
    expect(page.get_by_role("tabpanel").get_by_text("no longer in force")).to_have_count(0)


def test_what_apply_did_comes_into_view_and_its_undo_compares_with_the_old_preset(
    page: Page, stage: Stage
) -> None:
    session = stage.session(talk(20), preset="budget")
    page.goto(f"/s/{session}/what-if")
    page.get_by_role("button", name="Apply window").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Apply window").press("Enter")
    expect(page.get_by_text("Applied window:")).to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_focused()
    expect(page.get_by_role("columnheader", name="window").get_by_text("In use")).to_be_visible()
    asked: list[str] = []
    page.on(
        "request", lambda one: asked.append(one.post_data or "") if one.url.endswith("/what-if") else None
    )
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("columnheader", name="budget").get_by_text("In use")).to_be_visible()
    assert [words for words in asked if '"budget"' not in words] == [], "its answer could come last"


@pytest.mark.spec("S5.15", part="page")
def test_figures_show_size_compactions_cost_cache_and_survival(page: Page, stage: Stage) -> None:
    session = stage.session(talk(10))
    for turn in range(2):
        said(stage.client, session, f"Turn {turn}: what does the week in May cost?")
    stage.post(session, "/compact", {})
    said(stage.client, session, "And the week in June?")
    page.goto(f"/s/{session}/figures")
    for name in ("Context size over turns", "Prompt tokens, cached and not", "What survived", "Compactions"):
        expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile("Cost"))).to_be_visible()
    figures = stage.get(session, "/figures")
    sizes = page.get_by_role("table", name="Context size over turns")
    expect(sizes.get_by_role("row")).to_have_count(len(figures["turns"]) + 1)
    expect(sizes).to_contain_text(f"{figures['turns'][-1]['tokens']:,} tokens")
    record = stage.get(session, "/records")["records"][0]
    expect(page.get_by_role("region", name="Compactions")).to_contain_text(f"{record['tokens_before']:,}")
    survived = page.get_by_role("region", name="What survived")
    expect(survived).to_contain_text("Not in the prompt now")
    for kind in figures["now"]:
        if kind["total"]:
            line = survived.get_by_role("row", name=re.compile(f"^{kind['title']}"))
            after = next(one for one in figures["survival"][-1]["kinds"] if one["kind"] == kind["kind"])
            expect(line).to_contain_text(f"{100 * after['kept'] // after['total']}%")
            if kind["missing_count"]:
                expect(line).to_contain_text(kind["missing"][0]["text"][:60])
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export CSV").click()
    assert saved.value.suggested_filename == "figures.csv"


def test_a_message_is_pinned_and_a_policy_is_previewed_before_it_is_applied(page: Page, stage: Stage) -> None:
    session = stage.session(talk(12))
    page.goto(f"/s/{session}?panel=context")
    last = page.get_by_role("article", name="Assistant, m23")
    last.hover()
    last.get_by_role("button", name="Pin message").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("1 message ·")
    assert stage.get(session, "/messages", limit=1)["messages"][0]["pinned"]
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("If compacted now:")
    panel.get_by_label("Keep recent turns").fill("2")
    plan = stage.post(session, "/plan", {"now": True, "preset": "budget", "policy": {"keep_recent_turns": 2}})
    assert plan["after"] < plan["before"]
    expect(panel).to_contain_text(f"→ at most {plan['after']:,} tokens")
    panel.get_by_label("Trigger, % of the window").fill("60")
    panel.get_by_role("button", name="Apply").click()
    # The bar counts with it at once, and the words say so.
    expect(page.get_by_text("In force now. Nothing is compacted before the next message.")).to_be_visible()
    expect(page.get_by_role("region", name="Context")).to_contain_text("Compacts at 60%")
    assert stage.get(session)["compaction_count"] == 0
    page.reload()
    expect(panel.get_by_label("Keep recent turns")).to_have_value("2")


def test_what_is_typed_in_the_panel_stays_until_it_is_stored(page: Page, stage: Stage) -> None:
    session, path = stage.session(talk(12)), "**/api/sessions/*"
    page.goto(f"/s/{session}?panel=context")
    panel = page.get_by_role("tabpanel")
    turns, steps = panel.get_by_label("Keep recent turns"), panel.get_by_label("Keep tool steps")
    turns.fill("3")
    # Another door changes the session meanwhile: what is being edited is not taken over by that.
    stage.client.patch(f"/api/sessions/{session}", json={"preset": "agent", "title": "Elsewhere"})
    expect(page.get_by_role("heading", level=1)).to_have_text("Elsewhere")
    expect(turns).to_have_value("3")
    # The server refuses: nothing is called saved, and nothing typed is gone.
    page.route(path, lambda route: route.fulfill(status=503, json={"detail": "The disk is full."}))
    panel.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("The disk is full.")).to_be_visible()
    expect(page.get_by_text("In force now.")).to_have_count(0)
    expect(turns).to_have_value("3")
    page.unroute(path)
    panel.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("In force now.")).to_be_visible()
    # One number after the other: the second does not undo the first.
    steps.fill("2")
    panel.get_by_role("button", name="Apply").click()
    expect(panel.get_by_role("button", name="Apply")).to_have_count(0)
    assert stage.get(session)["preset"] == "budget"
    assert stage.get(session)["policy_changes"] == {"keep_recent_turns": 3, "keep_tool_io_pairs": 2}


def test_what_a_failed_compaction_did_is_in_the_figures(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20))
    for position in range(40):
        stage.client.put(f"/api/sessions/{session}/pins/{position}", json={"pinned": True})
    said(stage.client, session, "What is still open? " + "And the prices of the winter season? " * 60)
    page.goto(f"/s/{session}/figures")
    expect(page.get_by_role("heading", name="Figures").first).to_be_visible()
    events = stage.get(session, "/events", after=0, format="json")["events"]
    [failed] = [one["data"] for one in events if one["data"].get("event") == "compaction-error"]
    line = page.get_by_role("region", name="Compactions").get_by_role("row", name=re.compile("failed"))
    # In words for people, as the banner says it.
    assert failed["error"].startswith("InsufficientBudget: what may")
    expect(line).to_contain_text("What may not be removed needs")
    expect(line).not_to_contain_text("InsufficientBudget")
    expect(line).to_contain_text("Nothing changed.")


def test_the_plan_counts_with_a_pin_at_once(page: Page, stage: Stage) -> None:
    session = stage.session(talk(12))
    page.goto(f"/s/{session}")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("12 messages would join the summary")
    to_the_top(page)
    first = page.get_by_role("article", name=re.compile(", m0$"))
    first.hover()
    first.get_by_role("button", name="Pin").click()
    expect(panel).to_contain_text("11 messages would join the summary")


def test_pages_about_a_session_that_is_empty_name_no_reply(page: Page, stage: Stage) -> None:
    session = stage.session()
    page.goto(f"/s/{session}/figures")
    expect(page.get_by_text("Figures appear after the first reply.")).to_be_visible()
    expect(page.get_by_text("Up to the latest reply")).to_have_count(0)
    page.goto(f"/s/{session}/what-if")
    expect(page.get_by_text("Nothing to compact yet.")).to_be_visible()
    expect(page.get_by_text("computed in")).to_have_count(0)


@pytest.mark.parametrize("width", [1024, 1280])
def test_every_compaction_can_be_undone_from_the_figures_without_scrolling_aside(
    stage: Stage, browser: Browser, width: int
) -> None:
    session = stage.session(talk(20))
    stage.post(session, "/compact", {})
    said(stage.client, session, "And the week in June?")
    with watched(browser, stage.url, width, 900) as found:
        found.page.goto(f"/s/{session}/figures")
        undo = found.page.get_by_role("button", name="Undo Summary v1")
        undo.scroll_into_view_if_needed()
        table = found.page.get_by_role("region", name="Compactions")
        expect(undo).to_be_in_viewport(ratio=1)
        assert table.evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize(
    ("path", "name", "button"),
    [("figures", "Figures", "Undo Summary v1"), ("what-if", "What if", "Apply window")],
)
def test_a_page_of_tables_scrolls_only_down_on_a_telephone(
    stage: Stage, browser: Browser, path: str, name: str, button: str
) -> None:
    session = stage.session(talk(20))
    stage.post(session, "/compact", {})
    said(stage.client, session, "And the week in June?")
    with watched(browser, stage.url, 390, 844) as found:
        page = found.page
        page.goto(f"/s/{session}/{path}")
        expect(page.get_by_role("button", name=button)).to_be_attached()
        drawn(page)
        pane = page.get_by_role("region", name=name, exact=True)
        assert pane.evaluate("box => [box.scrollWidth > box.clientWidth, box.scrollHeight > 844]") == [
            False,
            True,
        ]


def test_figures_that_failed_to_load_can_be_loaded_again(page: Page, stage: Stage) -> None:
    session = stage.session(talk(10))
    page.route(
        "**/figures", lambda route: route.abort() if "/api/" in route.request.url else route.continue_()
    )
    page.goto(f"/s/{session}/figures")
    expect(page.get_by_role("alert")).to_contain_text("The server is not answering")
    page.unroute("**/figures")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Context size over turns")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
