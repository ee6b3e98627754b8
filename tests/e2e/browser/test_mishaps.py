"""What goes wrong outside the page: addresses, tokens, a session deleted elsewhere, a lost connection."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from compact.chat import Chats
from compact.stores import open_store
from support.browser import (
    CHROMIUM,
    OPTIONS,
    Stage,
    replied,
    send,
    set_hidden,
    talk,
    until,
    until_half,
    watched,
)
from support.cable import cable
from support.studio import RuleModel, config, said, studio


@pytest.mark.parametrize("path", ["/s/%zz", "/s/%E0%A4%A/figures", "/traces/%E0", "/#token=%zz"])
def test_an_address_that_is_no_text_leaves_the_page_usable(page: Page, stage: Stage, path: str) -> None:
    stage.session()
    page.goto(path)
    expect(page.get_by_role("main")).to_be_visible()
    expect(page.get_by_text("stopped working")).to_have_count(0)


def test_a_session_of_any_name_is_opened(browser: Browser, tmp_path: Path) -> None:
    """The terminal and the library give sessions names that an address has to encode."""
    names, model = ("team/7", "100%", "a%41b", "ü & ?x=1#y"), RuleModel()
    with open_store(f"sqlite:///{tmp_path}/studio.db") as store:
        chats = Chats(config(), store, lambda _: model)
        for name in names:
            list(chats.open(name).send(f"This is {name}."))
    with studio(tmp_path, model) as client, watched(browser, str(client.base_url)) as found:
        found.page.goto("/settings")
        for name in names:
            found.page.get_by_role("link", name=f"This is {name}.").click()
            expect(found.page.get_by_role("log")).to_contain_text(f"You said: This is {name}.")


def test_a_reply_goes_on_after_the_connection_was_lost(stage: Stage, browser: Browser) -> None:
    session = stage.session()
    place = stage.client.base_url
    with cable(place.host, place.port or 80) as line, watched(browser, line.url) as found:
        page = found.page
        page.goto(f"/s/{session}")
        expect(page.get_by_label("Message Compact")).to_be_visible()
        stage.model.gate = threading.Event()
        send(page, "Name the harbor, the ferry and the last boat.")
        until_half(page, stage.model)
        expect(page.get_by_role("log")).to_contain_text("You said")
        line.cut()
        expect(page.get_by_text("Not connected. Your text is kept.")).to_be_visible()
        line.mend()
        expect(page.get_by_text("Not connected. Your text is kept.")).to_have_count(0)
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        stage.model.gate.set()
        reply = page.get_by_role("article", name="Assistant, m1")
        expect(reply).to_contain_text("the ferry and the last boat.")
        # It was answered after all: the page does not offer to send it again, nor show it twice.
        expect(page.get_by_label("Message Compact")).to_have_value("")
        expect(page.get_by_role("article")).to_have_count(2)
        assert stage.get(session)["message_count"] == 2


def test_tabs_in_the_background_leave_the_others_their_connections(page: Page, stage: Stage) -> None:
    """A browser opens six connections to one server, for all its tabs."""
    session = stage.session(talk(1))
    for _ in range(8):
        tab = page.context.new_page()
        tab.goto(f"/s/{session}")
        expect(tab.get_by_role("article")).to_have_count(2)
        set_hidden(tab, True)


def test_pages_that_are_all_seen_take_turns_and_miss_nothing(page: Page, stage: Stage) -> None:
    sessions = [stage.session(talk(1)) for _ in range(8)]
    tabs = [page.context.new_page() for _ in sessions]
    for tab, session in zip(tabs, sessions, strict=True):
        tab.goto(f"/s/{session}")
        expect(tab.get_by_role("article")).to_have_count(2)
    for words in ("Name the harbor.", "Name the last boat."):
        for session in sessions:
            said(stage.client, session, words)
        for tab in tabs:
            expect(tab.get_by_role("log")).to_contain_text(f"You said: {words}")
    send(tabs[-1], "Name the ferry.")
    replied(tabs[-1], "You said: Name the ferry.")


def test_pages_kept_for_the_back_button_leave_the_others_their_connections(
    stage: Stage, browser: Browser
) -> None:
    sessions = [stage.session(talk(1)) for _ in range(8)]
    session = sessions[-1]
    # With this switch, which Playwright sets, no page is kept.
    keeping = browser.browser_type.launch(
        executable_path=str(CHROMIUM), args=OPTIONS, ignore_default_args=["--disable-back-forward-cache"]
    )
    try:
        with watched(keeping, stage.url) as found:
            page = found.page
            for one in sessions:
                page.goto(f"/s/{one}")
                expect(page.get_by_role("article")).to_have_count(2)
            stage.model.gate = threading.Event()
            send(page, "Name the harbor, the ferry and the last boat.")
            until_half(page, stage.model)
            page.goto("/settings")
            stage.model.gate.set()
            until(page, lambda: bool(stage.get(session)["message_count"] == 4), "the reply")
            page.go_back(wait_until="commit")
            reply = page.get_by_role("article", name="Assistant, m3")
            expect(reply).to_contain_text("the ferry and the last boat.")
            expect(page.get_by_role("article")).to_have_count(4)
    finally:
        keeping.close()


def test_what_happened_in_the_background_is_there_once_when_the_tab_is_looked_at(
    page: Page, stage: Stage
) -> None:
    session = stage.session(talk(1))
    page.goto(f"/s/{session}")
    expect(page.get_by_role("article")).to_have_count(2)
    streams: list[str] = []
    page.on("request", lambda one: streams.append(one.url) if one.url.endswith("/events") else None)
    stage.model.gate = threading.Event()
    send(page, "Name the harbor.")
    until_half(page, stage.model)
    set_hidden(page, True)
    stage.model.gate.set()
    # The reply comes to its end in the background.
    expect(page.get_by_role("article", name="Assistant, m3")).to_contain_text("Name the harbor.")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    # Then somebody else goes on, and is still being answered when the tab is looked at again.
    said(stage.client, session, "Name the ferry.")
    stage.model.gate, stage.model.half = threading.Event(), threading.Event()
    with ThreadPoolExecutor() as other:
        asked = other.submit(said, stage.client, session, "Name the last boat.")
        until_half(page, stage.model)
        expect(page.get_by_role("article")).to_have_count(4)
        assert streams == []
        set_hidden(page, False)
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        stage.model.gate.set()
        asked.result()
    expect(page.get_by_role("article", name="Assistant, m7")).to_contain_text("Name the last boat.")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(8)
    assert len(streams) == 1


def test_a_message_that_did_not_arrive_stands_only_where_it_was_typed(stage: Stage, browser: Browser) -> None:
    session = stage.session(talk(1))
    place = stage.client.base_url
    with cable(place.host, place.port or 80) as line, watched(browser, line.url) as found:
        page, field = found.page, found.page.get_by_label("Message Compact")
        page.goto(f"/s/{session}")
        expect(page.get_by_role("article")).to_have_count(2)
        line.cut()
        send(page, "The ferry leaves at seven.")
        expect(page.get_by_text("Not connected. Your text is kept.")).to_be_visible()
        expect(field).to_have_value("The ferry leaves at seven.")
        expect(page.get_by_role("article")).to_have_count(2)
        line.mend()
        expect(page.get_by_text("Not connected. Your text is kept.")).to_have_count(0)
        expect(field).to_have_value("The ferry leaves at seven.")


def test_what_failed_while_the_server_was_away_is_tried_again(stage: Stage, browser: Browser) -> None:
    session = stage.session(talk(12))
    place = stage.client.base_url
    with cable(place.host, place.port or 80) as line, watched(browser, line.url) as found:
        page = found.page
        page.goto(f"/s/{session}")
        panel = page.get_by_role("tabpanel")
        expect(panel).to_contain_text("If compacted now")
        line.cut()
        panel.get_by_label("Keep recent turns").fill("2")
        expect(panel).to_contain_text("The server is not answering.")
        line.mend()
        expect(panel).to_contain_text("If compacted now")
        page.goto(f"/s/{session}/what-if?p=budget")
        comparison = page.get_by_role("region", name="Comparison")
        expect(comparison).to_contain_text("budget")
        line.cut()
        page.get_by_label("Add preset").select_option("window")
        expect(page.get_by_role("alert")).to_contain_text("The server is not answering.")
        line.mend()
        expect(comparison).to_contain_text("window")
        expect(page.get_by_role("alert")).to_have_count(0)


def test_a_server_without_traces_says_so(page: Page) -> None:
    page.goto("/traces")
    expect(page.get_by_role("alert")).to_contain_text("This server keeps no traces")
    expect(page.get_by_role("status").filter(has_text="Pause")).to_contain_text("Not connected")


def test_text_typed_for_a_session_that_was_deleted_elsewhere_is_kept(page: Page, stage: Stage) -> None:
    session = stage.session(talk(1))
    page.goto(f"/s/{session}")
    page.get_by_label("Message Compact").fill("The ferry leaves at seven.")
    assert stage.client.delete(f"/api/sessions/{session}").status_code == 204
    expect(page.get_by_role("alert")).to_contain_text("was deleted")
    page.get_by_role("button", name="Start a new session with your text").click()
    expect(page.get_by_label("Message Compact")).to_have_value("The ferry leaves at seven.")
    assert session not in page.url


def test_a_server_that_wants_a_token_is_asked_with_one(browser: Browser, tmp_path: Path) -> None:
    with (
        studio(tmp_path, RuleModel(), tokens={"open-sesame": "default"}) as client,
        watched(browser, str(client.base_url)) as found,
    ):
        page = found.page
        page.goto("/")
        dialog = page.get_by_role("dialog", name="This server needs a token")
        dialog.get_by_label("Token").fill("wrong")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        dialog.get_by_label("Token").fill("open-sesame")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="New session").first.click()
        expect(page.get_by_label("Message Compact")).to_be_visible()
        assert "open-sesame" not in page.content()
