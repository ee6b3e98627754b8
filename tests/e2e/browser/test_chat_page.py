"""Talking in the studio: streaming, stop, retry, edit, the list of sessions."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from support.browser import Stage, drawn, replied, send, talk, to_the_top, until, until_half, watched, work
from support.studio import said


def test_a_reply_streams_in_and_stays_after_a_reload(page: Page, stage: Stage) -> None:
    session = stage.session(title="")
    stage.model.gate = threading.Event()
    page.goto(f"/s/{session}")
    expect(page.get_by_role("heading", name="New session").first).to_be_visible()
    send(page, "The port is 8460.")
    log = page.get_by_role("log")
    expect(log).to_contain_text("You said")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    stage.model.gate.set()
    expect(log).to_contain_text("You said: The port is 8460.")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("The port is 8460.")
    page.reload()
    expect(page.get_by_role("log")).to_contain_text("You said: The port is 8460.")
    assert stage.get(session)["message_count"] == 2


def test_a_reload_in_the_middle_of_a_reply_goes_on_with_it(page: Page, stage: Stage) -> None:
    session = stage.session()
    stage.model.gate = threading.Event()
    page.goto(f"/s/{session}")
    send(page, "Name the harbor, the ferry and the last boat.")
    expect(page.get_by_role("log")).to_contain_text("You said")
    until_half(page, stage.model)
    page.reload()
    expect(page.get_by_role("log")).to_contain_text("You said")
    expect(page.get_by_role("article")).to_have_count(2)
    stage.model.gate.set()
    expect(page.get_by_role("log")).to_contain_text("the ferry and the last boat.")
    expect(page.get_by_role("article")).to_have_count(2)


def test_stop_keeps_what_came_and_says_so(page: Page, stage: Stage) -> None:
    session = stage.session()
    stage.model.gate = threading.Event()
    page.goto(f"/s/{session}")
    send(page, "Tell me everything about the winter season and its prices.")
    expect(page.get_by_role("log")).to_contain_text("You said")
    page.get_by_role("button", name="Stop").click()
    stopped = page.get_by_role("article", name="Assistant, m1")
    expect(stopped).to_contain_text("You said")
    expect(stopped).to_contain_text("Stopped")
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_edit_and_retry(page: Page, stage: Stage) -> None:
    session = stage.session()
    page.goto(f"/s/{session}")
    send(page, "The port is 8460.")
    expect(page.get_by_role("log")).to_contain_text("You said: The port is 8460.")
    expect(page.get_by_role("article", name="Assistant, m1")).to_be_visible()
    page.get_by_label("Message Compact").focus()
    page.keyboard.press("ArrowUp")
    page.get_by_label("New wording").fill("The port is 9000.")
    page.get_by_role("button", name="Send again").click()
    replied(page, "You said: The port is 9000.")
    expect(page.get_by_role("log")).not_to_contain_text("8460")
    expect(page.get_by_role("article")).to_have_count(2)
    asked = len(stage.model.prompts)
    page.get_by_role("article", name="Assistant, m1").hover()
    page.get_by_role("button", name="Retry").click()
    until(page, lambda: len(stage.model.prompts) > asked, "another reply")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(2)


def test_two_tabs_on_one_session_agree(page: Page, stage: Stage, browser: object) -> None:
    session = stage.session()
    page.goto(f"/s/{session}")
    with watched(page.context.browser, stage.url) as other:  # type: ignore[arg-type]
        other.page.goto(f"/s/{session}")
        expect(other.page.get_by_label("Message Compact")).to_be_visible()
        send(page, "The ferry leaves at seven.")
        replied(page, "You said: The ferry leaves at seven.")
        expect(other.page.get_by_role("log")).to_contain_text("You said: The ferry leaves at seven.")
        expect(other.page.get_by_role("article")).to_have_count(2)
        tokens = str(stage.get(session, "/usage")["tokens"])
        for tab in (page, other.page):
            bar = tab.get_by_role("meter", name="Context used")
            expect(bar).to_have_attribute("aria-valuenow", tokens)


def test_what_comes_before_the_page_can_follow_is_shown_too(page: Page, stage: Stage) -> None:
    """The stream brings what happens once it is open; all else has to be in what the page reads."""
    session = stage.session()
    held: list[Route] = []
    page.route(f"**/api/sessions/{session}/events", lambda route: held.append(route))
    page.goto(f"/s/{session}")
    expect(page.get_by_label("Message Compact")).to_be_visible()
    until(page, lambda: bool(held), "the stream to be asked for")
    said(stage.client, session, "The ferry leaves at seven.")
    held[0].continue_()
    expect(page.get_by_role("article", name="Assistant, m1")).to_contain_text("The ferry leaves at seven.")


def answered_late(page: Page, pattern: str, held: list[Callable[[], None]]) -> None:
    """The next such request is answered by the server at once, and by what is put into `held` on the page."""

    def hold(route: Route) -> None:
        answer = route.fetch()
        held.append(lambda: route.fulfill(response=answer))

    page.route(pattern, hold, times=1)


def test_an_old_answer_does_not_replace_a_newer_history(page: Page, stage: Stage) -> None:
    session = stage.session()
    late: list[Callable[[], None]] = []
    answered_late(page, f"**/api/sessions/{session}/messages**", late)
    page.goto(f"/s/{session}")
    until(page, lambda: bool(late), "the messages to be asked for")
    said(stage.client, session, "The ferry leaves at seven.")
    expect(page.get_by_role("article")).to_have_count(2)
    # The page asks for records once it has taken in what it read when it was opened.
    with page.expect_response(lambda one: "/records" in one.url):
        late.pop()()
    drawn(page)
    expect(page.get_by_role("article", name="Assistant, m1")).to_contain_text("The ferry leaves at seven.")


def test_an_old_answer_does_not_replace_newer_records(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20))
    late: list[Callable[[], None]] = []
    answered_late(page, f"**/api/sessions/{session}/records**", late)
    page.goto(f"/s/{session}")
    until(page, lambda: bool(late), "the records to be asked for")
    stage.post(session, "/compact", {})
    expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
    with page.expect_response(f"**/api/sessions/{session}/records**"):
        late.pop()()
    drawn(page)
    expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")


def test_a_late_answer_to_stop_leaves_the_next_reply_alone(page: Page, stage: Stage) -> None:
    session = stage.session()
    stage.model.gate = threading.Event()
    page.goto(f"/s/{session}")
    send(page, "Name the harbor.")
    until_half(page, stage.model)
    late: list[Callable[[], None]] = []
    answered_late(page, "**/stop", late)
    page.get_by_role("button", name="Stop").click()
    until(page, lambda: bool(late), "the stop")
    expect(page.get_by_role("article", name="Assistant, m1")).to_contain_text("Stopped")
    stage.model.half.clear()
    send(page, "Name the ferry.")
    until_half(page, stage.model)
    with page.expect_response("**/stop"):
        late.pop()()
    drawn(page)
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    stage.model.gate.set()
    replied(page, "You said: Name the ferry.")


def test_sessions_are_found_renamed_and_deleted_by_keyboard(page: Page, stage: Stage) -> None:
    session = stage.session(title="Tax letters")
    page.goto(f"/s/{session}")
    expect(page.get_by_label("Message Compact")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search or run a command")).to_be_focused()
    page.keyboard.type("tax letters")
    expect(page.get_by_role("option", name="Tax letters")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Rename").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Title").fill("Tax letters 2026")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tax letters 2026")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url(lambda url: session not in url)
    assert stage.client.get(f"/api/sessions/{session}").status_code == 404


def test_a_reply_of_several_steps_has_one_name(page: Page, stage: Stage) -> None:
    session = stage.session([*work(3), {"role": "user", "content": "And now?"}])
    page.goto(f"/s/{session}")
    steps = page.get_by_role("article", name=re.compile("^Assistant"))
    expect(steps).to_have_count(4)
    expect(steps.first).to_contain_text(re.compile(r"Assistant\s*\d+:\d\d"))
    for step in (1, 2, 3):
        expect(steps.nth(step)).not_to_contain_text(re.compile(r"Assistant\s*\d+:\d\d"))
    # Each step still has its own actions.
    steps.nth(3).hover()
    steps.nth(3).get_by_role("button", name="Pin message").click()
    expect(steps.nth(3)).to_contain_text("Pinned")


def test_messages_that_came_in_elsewhere_are_marked_until_they_are_seen(page: Page, stage: Stage) -> None:
    here, there = stage.session(title="Here"), stage.session(talk(2), title="There")
    page.goto(f"/s/{here}")
    row = page.get_by_label("Session list").get_by_role("listitem").filter(has_text="There").first
    expect(row).to_be_visible()
    expect(row.get_by_role("img", name="New messages")).to_have_count(0)
    said(stage.client, there, "The ferry leaves at seven.")
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(row.get_by_role("img", name="New messages")).to_be_visible()
    page.reload()
    expect(row.get_by_role("img", name="New messages")).to_be_visible()
    row.get_by_role("link").click()
    expect(page.get_by_role("log")).to_contain_text("The ferry leaves at seven.")
    expect(row.get_by_role("img", name="New messages")).to_have_count(0)
    page.goto(f"/s/{here}")
    expect(row.get_by_role("img", name="New messages")).to_have_count(0)


def test_a_message_that_cannot_be_sent_stays_in_the_field(page: Page, stage: Stage) -> None:
    session = stage.session()
    page.goto(f"/s/{session}")
    # Only what is sent fails: the session itself was read.
    expect(page.get_by_role("heading", name="New session")).to_be_visible()
    page.context.set_offline(True)
    send(page, "The ferry leaves at seven.")
    expect(page.get_by_text("Not connected. Your text is kept.")).to_be_visible()
    expect(page.get_by_label("Message Compact")).to_have_value("The ferry leaves at seven.")
    page.context.set_offline(False)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    page.get_by_label("Message Compact").press("Enter")
    expect(page.get_by_role("log")).to_contain_text("You said: The ferry leaves at seven.")


def test_not_connected_goes_once_the_server_answers_again(page: Page, stage: Stage) -> None:
    session = stage.session()
    page.goto(f"/s/{session}")
    expect(page.get_by_role("heading", name="New session")).to_be_visible()
    # Only the send is lost: the event stream stays open and has nothing to report.
    page.route("**/api/chat", lambda route: route.abort())
    page.route(f"**/api/sessions/{session}", lambda route: route.abort())
    send(page, "The ferry leaves at seven.")
    expect(page.get_by_text("Not connected. Your text is kept.")).to_be_visible()
    page.unroute_all()
    expect(page.get_by_text("Not connected. Your text is kept.")).to_have_count(0)
    expect(page.get_by_label("Message Compact")).to_have_value("The ferry leaves at seven.")
    assert stage.get(session)["message_count"] == 0


def test_a_page_that_could_not_read_its_session_reads_it_later(page: Page, stage: Stage) -> None:
    session = stage.session(talk(1))
    path = f"**/api/sessions/{session}/messages**"
    page.route(path, lambda route: route.abort())
    page.goto(f"/s/{session}")
    expect(page.get_by_text("The server is not answering.")).to_be_visible()
    page.unroute(path)
    expect(page.get_by_role("article", name="Assistant, m1")).to_be_visible()


@pytest.mark.spec("S0.4", part="page")
def test_an_indicator_stands_between_compacted_and_recent_messages(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20), preset="chat")
    page.goto(f"/s/{session}")
    send(page, "What is still open?")
    replied(page, "You said: What is still open?")
    line = page.get_by_role("separator")
    expect(line).to_contain_text("messages compacted")
    record = stage.get(session, "/records")["records"][0]
    shown = stage.get(session, "/messages", limit=200)["messages"]
    below = [one for one in shown if one["position"] > record["last_position"]]
    expect(line).to_contain_text(f"{record['messages_replaced']} messages compacted")
    expect(line).to_contain_text(f"{len(below)} kept word for word below")
    rows = [f'[data-position="{at}"]' for at in (record["last_position"], below[0]["position"])]
    # Together: the thread may still move between two looks.
    tops = "all => all.map(one => document.querySelector(one).getBoundingClientRect().top)"
    above, middle, under = page.evaluate(tops, [rows[0], "[role=separator]", rows[1]])
    assert above < middle < under


@pytest.mark.spec("S0.6", part="page")
def test_the_full_history_stays_and_a_reload_asks_no_summarizer(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20), preset="chat")
    page.goto(f"/s/{session}")
    send(page, "What is still open?")
    replied(page, "You said: What is still open?")
    expect(page.get_by_role("separator")).to_be_visible()
    asked = stage.writer.asked
    page.reload()
    expect(page.get_by_role("separator")).to_be_visible()
    to_the_top(page)
    first = page.get_by_role("article", name="You, m0")
    expect(first).to_contain_text("Question 0:")
    expect(first).to_contain_text("in summary")
    send(page, "And after that?")
    replied(page, "You said: And after that?")
    assert stage.writer.asked == asked


def test_a_new_page_sends_at_once_where_no_reply_runs(page: Page, stage: Stage) -> None:
    """A late answer to "is a reply running?" once took the Stop button from the reply sent for meanwhile."""
    session = stage.session()
    stage.model.gate = threading.Event()
    asked: list[Route] = []
    page.route(f"**/api/chat/{session}/stream", lambda route: asked.append(route))
    page.goto(f"/s/{session}")
    field = page.get_by_label("Message Compact")
    field.fill("The ferry leaves at seven.")
    field.press("Enter")
    until_half(page, stage.model)
    expect(page.get_by_role("log")).to_contain_text("You said")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    assert asked == [], "the page asked for a reply though none was running"
    page.unroute_all()
    stage.model.gate.set()
    replied(page, "You said: The ferry leaves at seven.")
    assert stage.get(session)["message_count"] == 2


def test_enter_waits_while_a_page_asks_for_the_running_reply(page: Page, stage: Stage) -> None:
    session = stage.session()
    stage.model.gate = threading.Event()
    sender = threading.Thread(target=said, args=(stage.client, session, "Where is the harbor?"))
    sender.start()
    until_half(page, stage.model)
    asked: list[Route] = []
    page.route(f"**/api/chat/{session}/stream", lambda route: asked.append(route), times=1)
    page.goto(f"/s/{session}")
    until(page, lambda: bool(asked), "the question for the running reply")
    field = page.get_by_label("Message Compact")
    field.fill("The ferry leaves at seven.")
    field.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(field).to_have_value("The ferry leaves at seven.")
    asked.pop().continue_()
    expect(page.get_by_role("log")).to_contain_text("You said")
    stage.model.gate.set()
    sender.join()
    replied(page, "You said: Where is the harbor?")
    field.press("Enter")
    replied(page, "You said: The ferry leaves at seven.")
    assert stage.get(session)["message_count"] == 4
