"""What the page shows before, during and after a compaction, and when it fails."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from compact.archives.fs import FsArchive
from compact.server.studio.turn import Turn
from support.browser import Stage, Writer, replied, send, talk, to_the_top, until, watched, work
from support.providers import providing
from support.studio import RuleModel, config, new_session, studio

BUSY = "Session is currently being optimized. Please wait a moment."


def debug(page: Page, session: str) -> None:
    page.goto(f"/s/{session}?panel=debug")
    expect(page.get_by_role("heading", name="Context Management")).to_be_visible()


@pytest.mark.spec("S2.19", part="page")
def test_every_sign_of_a_compaction_appears_changes_and_goes(page: Page, stage: Stage) -> None:
    session = stage.session(talk(21))
    stage.writer.gate.clear()
    debug(page, session)
    bar = page.get_by_role("meter", name="Context used")
    expect(bar).to_have_attribute("data-level", "full")
    expect(page.get_by_role("region", name="Context").first).to_contain_text("Almost full")
    send(page, "What is still open?")
    row = page.get_by_role("group", name="Compaction")
    expect(row).to_contain_text("Summarizing context...")
    expect(row).to_contain_text("Clearing outputs")
    expect(row).to_contain_text(re.compile(r"\d+ s"))
    expect(row.get_by_role("button", name="Cancel")).to_be_visible()
    page.get_by_label("Message Compact").fill("typing stays possible")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    expect(page.get_by_text("Send is off while compacting")).to_be_visible()
    expect(page.get_by_role("button", name="Compact now")).to_be_disabled()
    expect(page.get_by_label("Session list")).to_contain_text("Compacting…")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("Compacting")
    expect(panel).to_contain_text("Summarizing")
    stage.writer.gate.set()
    expect(page.get_by_role("main").get_by_text(re.compile(r"^\d+% reduced$"))).to_be_visible()
    expect(page.get_by_role("log")).to_contain_text("You said: What is still open?")
    expect(panel.get_by_text("Compacted", exact=True)).to_be_visible()
    done = stage.get(session, "/records")["records"][0]
    expect(panel).to_contain_text(f"Before: {done['tokens_before']:,} tokens")
    expect(panel).to_contain_text(f"After: {done['tokens_after']:,} tokens")
    saved = round((1 - done["tokens_after"] / done["tokens_before"]) * 100)
    expect(panel).to_contain_text(f"Saved: {saved}%")
    expect(page.get_by_label("Session list")).to_contain_text("1 compaction")
    expect(bar).to_have_attribute("data-level", "normal")
    expect(page.get_by_role("main").get_by_text(re.compile(r"^\d+% reduced$"))).to_be_hidden()
    expect(page.get_by_role("button", name="Send")).to_be_enabled()


@pytest.mark.spec("S2.19", part="page")
def test_the_amber_card_has_its_figures_and_its_citations_lead_to_the_source(
    page: Page, stage: Stage
) -> None:
    session = stage.session(talk(20))
    stage.post(session, "/compact", {})
    page.goto(f"/s/{session}")
    expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
    page.keyboard.press("e")
    card = page.get_by_role("region", name="Conversation Summarized")
    expect(card.get_by_role("heading", name="Conversation Summarized")).to_be_visible()
    record = stage.get(session, "/records")["records"][0]
    saved = round((1 - record["tokens_after"] / record["tokens_before"]) * 100)
    expect(card).to_contain_text(f"{saved}% saved")
    expect(card).to_contain_text(f"{record['tokens_before']:,} → {record['tokens_after']:,} tokens")
    cited = card.get_by_role("button", name=re.compile(r"^m\d+, go to message")).first
    position = cited.inner_text()
    cited.click()
    source = page.get_by_role("article", name=re.compile(f", {position}$"))
    expect(source).to_be_in_viewport()
    page.get_by_role("button", name="Back to summary").click()
    expect(card).to_be_in_viewport()
    card.get_by_role("button", name="Show exact text").click()
    expect(card.get_by_label("Exact summary text")).to_contain_text("##")
    card.get_by_role("button", name="Collapse summary").click()
    expect(card.get_by_role("button", name="Open summary")).to_be_visible()


def test_what_is_clicked_in_a_card_stays_in_view_when_the_card_shrinks(
    browser: Browser, tmp_path: Path
) -> None:
    with studio(tmp_path, RuleModel(), config=config(max_context_tokens=20_000)) as client:
        session = new_session(client, demo=True)
        assert client.post(f"/api/sessions/{session}/compact", json={}).status_code == 200
        with watched(browser, str(client.base_url)) as found:
            page = found.page
            page.goto(f"/s/{session}")
            expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
            page.keyboard.press("e")
            expect(page.get_by_role("button", name="Collapse summary")).to_be_focused()
            card = page.get_by_role("region", name="Conversation Summarized")
            exact = card.get_by_role("button", name="Show exact text")
            exact.scroll_into_view_if_needed()
            before = card.bounding_box()
            exact.click()
            expect(card.get_by_label("Exact summary text")).to_be_in_viewport()
            expect(card.get_by_role("button", name="Show sections")).to_be_in_viewport(ratio=1)
            after = card.bounding_box()
            assert before and after and after["height"] < before["height"] - 400, "it shrank by little"


@pytest.mark.spec("S2.19", part="page")
def test_cleared_outputs_are_shown_as_such_with_their_original(page: Page, stage: Stage) -> None:
    session = stage.session([*work(40), *talk(4, 10)], preset="agent", policy={"output_reserve": 200})
    stage.post(session, "/compact", {"mode": "prune"})
    debug(page, session)
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("Pruning")
    expect(panel).to_contain_text(re.compile(r"Pruned [\d,]+ tool outputs \([\d,]+ tokens\)"))
    to_the_top(page)
    cleared = page.get_by_text("[Tool output cleared - see conversation summary]").first
    expect(cleared).to_be_visible()
    page.get_by_role("button", name="Show original").first.click()
    expect(page.get_by_text("Original, not in the prompt")).to_be_visible()
    expect(page.get_by_role("region", name="Original output of read_file")).to_contain_text("value_")


def test_cancel_leaves_everything_as_it_was(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20))
    before = stage.get(session)["usage"]["tokens"]
    page.goto(f"/s/{session}")
    stage.writer.gate.clear()
    page.get_by_role("button", name="Compact now").click()
    page.get_by_label("Keep in view").fill("The night of November 29")
    page.get_by_role("dialog").get_by_role("button", name="Compact now").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Compaction canceled")).to_be_visible()
    stage.writer.gate.set()
    expect(page.get_by_role("group", name="Compaction")).to_be_hidden()
    assert stage.get(session)["usage"]["tokens"] == before
    assert stage.get(session, "/records")["records"] == []


def test_a_message_whose_compaction_is_canceled_goes_back_to_the_composer(page: Page, stage: Stage) -> None:
    session = stage.session(talk(23))
    stage.writer.gate.clear()
    debug(page, session)
    with watched(page.context.browser, stage.url) as other:  # type: ignore[arg-type]
        other.page.goto(f"/s/{session}")
        expect(other.page.get_by_role("article", name="Assistant, m45")).to_be_visible()
        send(page, "What is still open?")
        expect(other.page.get_by_role("group", name="Compaction")).to_be_visible()
        page.get_by_label("Message Compact").fill("And the prices?")
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Compaction canceled")).to_be_visible()
        stage.writer.gate.set()
        # Nothing failed, in no tab; what was sent stands before what was typed since.
        field = page.get_by_label("Message Compact")
        expect(field).to_have_value("What is still open?\n\nAnd the prices?")
        expect(page.get_by_role("tabpanel").get_by_text("Canceled", exact=True)).to_be_visible()
        for tab in (page, other.page):
            expect(tab.get_by_role("group", name="Compaction")).to_be_hidden()
            expect(tab.get_by_role("alert")).to_have_count(0)
            expect(tab.get_by_label("Session list")).not_to_contain_text("Compaction failed")
    assert stage.get(session, "/messages")["total"] == 46


@pytest.mark.spec("S2.19", part="page")
def test_clearing_and_checking_are_phases_of_their_own(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive is written between the change and its end: held there, the phase stays on the page."""
    held, write = threading.Event(), FsArchive.put

    def slow(*given: Any) -> str:
        held.wait(120)
        return write(*given)

    monkeypatch.setattr(FsArchive, "put", slow)
    settings = config(archive={"adapter": "fs", "path": str(tmp_path / "archive")})
    with (
        studio(tmp_path, RuleModel(), config=settings) as client,
        watched(browser, str(client.base_url)) as found,
    ):
        stage, page = Stage(client, RuleModel(), Writer()), found.page
        row = page.get_by_role("group", name="Compaction")
        session = stage.session(
            [*work(40), *talk(4, 10)], preset="agent", policy={"output_reserve": 200}, title="Prune"
        )
        debug(page, session)
        page.evaluate(
            "path => void fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'},"
            " body: JSON.stringify({mode: 'prune'})})",
            f"/api/sessions/{session}/compact",
        )
        expect(row).to_contain_text("Optimizing conversation...")
        expect(row.get_by_role("listitem").first).to_have_attribute("aria-current", "step")
        held.set()
        expect(row).to_be_hidden()
        held.clear()
        session = stage.session(talk(23), title="Summarize")
        page.goto(f"/s/{session}")
        send(page, "What is still open?")
        expect(row).to_contain_text("Summarizing context...")
        checking = row.get_by_role("listitem").filter(has_text="Checking")
        expect(checking).to_have_attribute("aria-current", "step")
        expect(row).to_contain_text(re.compile(r"\d+% reduced"))
        shown = re.search(r"(\d+)% reduced", row.inner_text())
        held.set()
        replied(page, "You said: What is still open?")
        record = stage.get(session, "/records")["records"][0]
        saved = round((1 - record["tokens_after"] / record["tokens_before"]) * 100)
        assert shown and int(shown[1]) == saved


FROM_END = "box => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight)"


def test_the_reply_after_a_compaction_is_in_view(page: Page, stage: Stage) -> None:
    """The card grows above the reader, the reply below: whoever was at the end stays there."""
    session = stage.session(talk(23))
    page.goto(f"/s/{session}")
    expect(page.get_by_role("article", name="Assistant, m45")).to_be_in_viewport(ratio=1)
    send(page, "What is still open?")
    expect(page.get_by_role("main").get_by_text(re.compile(r"^\d+% reduced$"))).to_be_visible()
    expect(page.get_by_role("article", name="Assistant, m47")).to_be_in_viewport(ratio=1)
    at_end = partial(page.get_by_role("log").evaluate, FROM_END)
    until(page, lambda: at_end() == 0, "the end")
    # An open card is several screens high; closing it moves the end by as much.
    expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.get_by_role("button", name="Collapse summary")).to_be_in_viewport()
    page.get_by_role("button", name="Go to the newest message").click()
    expect(page.get_by_role("article", name="Assistant, m47")).to_be_in_viewport(ratio=1)
    until(page, lambda: at_end() == 0, "the end again")


WATCH_ROW = """label => {
  window.gone = false;
  const look = () => {
    if (!document.querySelector(`[aria-label="${label}"]`)) window.gone = true;
    window.looking = requestAnimationFrame(look);
  };
  look();
}"""


@pytest.mark.parametrize("row", [40, 190])
def test_a_compaction_leaves_the_reader_where_they_read(page: Page, stage: Stage, row: int) -> None:
    """Above the new card and below it nothing moves, and no message turns into a gray box."""
    session = stage.session(talk(100, 60))
    page.goto(f"/s/{session}?m={row}")
    read = page.get_by_role("article", name=f"You, m{row}")
    expect(read).to_be_focused()
    expect(read).to_be_in_viewport(ratio=1)
    before = read.bounding_box()
    page.evaluate(WATCH_ROW, f"You, m{row}")
    stage.post(session, "/compact", {})
    if row == 40:
        expect(read).to_contain_text("in summary")
    else:
        expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
        expect(page.get_by_role("separator")).to_have_count(1)
    assert before is not None
    until(page, lambda: abs(before["y"] - read.bounding_box()["y"]) < 2, "the message at its place")
    assert not page.evaluate("cancelAnimationFrame(window.looking), window.gone")


def test_every_view_shows_the_number_that_the_engine_acts_on(page: Page, stage: Stage) -> None:
    session = stage.session(talk(12))
    page.goto(f"/s/{session}?panel=context")
    send(page, "What is still open?")
    replied(page, "You said: What is still open?")
    usage = stage.get(session, "/usage")
    share = f"{round(usage['tokens'] / usage['window'] * 100)}%"
    words = page.get_by_role("region", name="Context").first
    expect(words).to_contain_text(f"about {share} used · {usage['tokens']:,} of {usage['window']:,}")
    expect(words).to_contain_text(f"Compacts at {round(usage['trigger'] / usage['window'] * 100)}%")
    expect(page.get_by_role("meter", name="Context used")).to_have_attribute(
        "aria-valuenow", str(usage["tokens"])
    )
    row = (
        page.get_by_label("Session list").get_by_role("listitem").filter(has_text="Moving the cottages").first
    )
    expect(row).to_contain_text(share)
    parts = page.get_by_role("table", name="Tokens in the next prompt")
    for name in ("system", "tools", "summary", "messages"):
        expect(parts.get_by_role("row", name=re.compile(name, re.IGNORECASE))).to_contain_text(
            f"{usage['parts'][name]:,}"
        )
    page.goto(f"/s/{session}/what-if")
    now = (
        page.get_by_role("region", name="Comparison")
        .get_by_role("row", name=re.compile("^Next prompt"))
        .first
    )
    expect(now.get_by_role("cell").first).to_contain_text(f"{usage['tokens']:,}")


def test_the_words_of_the_bar_are_whole_on_a_telephone(stage: Stage, browser: Browser) -> None:
    session = stage.session(talk(20))
    with watched(browser, stage.url, 360, 800) as found:
        found.page.goto(f"/s/{session}")
        words = found.page.get_by_role("region", name="Context").first
        for text in (re.compile(r"% used ·"), "Compacts before the next reply"):
            shown = words.get_by_text(text).last
            expect(shown).to_be_visible()
            assert shown.evaluate(
                "one => one.scrollWidth <= one.offsetWidth && one.getBoundingClientRect().right <= innerWidth"
            )


def test_a_reload_in_the_middle_of_a_compaction_shows_it_again(page: Page, stage: Stage) -> None:
    session = stage.session(talk(23))
    page.goto(f"/s/{session}")
    stage.writer.gate.clear()
    send(page, "What is still open?")
    expect(page.get_by_role("group", name="Compaction")).to_contain_text("Summarizing context...")
    page.reload()
    expect(page.get_by_role("group", name="Compaction")).to_contain_text("Summarizing context...")
    with watched(page.context.browser, stage.url) as other:  # type: ignore[arg-type]
        other.page.goto(f"/s/{session}")
        expect(other.page.get_by_role("group", name="Compaction")).to_be_visible()
        other.page.get_by_label("Message Compact").fill("me too")
        expect(other.page.get_by_role("button", name="Send")).to_be_disabled()
        assert (
            stage.client.post(
                "/api/chat",
                json={"id": session, "message": {"role": "user", "parts": [{"type": "text", "text": "x"}]}},
            )
            .json()["detail"]
            .startswith(BUSY)
        )
        stage.writer.gate.set()
        expect(page.get_by_role("log")).to_contain_text("You said: What is still open?")
        expect(other.page.get_by_role("log")).to_contain_text("You said: What is still open?")
        expect(other.page.get_by_role("button", name="Send")).to_be_enabled()


def test_a_compaction_that_runs_before_the_page_follows_stays_on_it(page: Page, stage: Stage) -> None:
    session = stage.session(talk(23))
    held: list[Route] = []
    page.route(f"**/api/sessions/{session}/events", lambda route: held.append(route))
    stage.writer.gate.clear()
    page.goto(f"/s/{session}")
    send(page, "What is still open?")
    row = page.get_by_role("group", name="Compaction")
    expect(row).to_contain_text("Summarizing context...")
    held[0].continue_()
    expect(page.get_by_role("article", name="Assistant, m45")).to_be_visible()
    expect(row).to_contain_text("Summarizing context...")
    stage.writer.gate.set()
    replied(page, "You said: What is still open?")
    assert len(held) == 1, "one stream, from the beginning to the end"


@pytest.mark.spec("S3.8", part="page")
def test_rolling_says_updating_summary_while_it_runs(page: Page, stage: Stage) -> None:
    session = stage.session(talk(7, 20), preset="rolling")
    page.goto(f"/s/{session}")
    stage.writer.gate.clear()
    send(page, "What is still open?")
    row = page.get_by_role("group", name="Compaction")
    expect(row).to_contain_text("Updating summary…")
    stage.writer.gate.set()
    expect(page.get_by_role("log")).to_contain_text("You said: What is still open?")
    expect(row).to_be_hidden()


@pytest.mark.spec("S3.5", part="page")
def test_a_rolling_summary_that_fails_is_a_small_warning(browser: Browser, tmp_path: Path) -> None:
    writer = Writer(broken=True)
    with providing(writer) as provider:
        summarizer = {"name": "openai", "model": "m", "base_url": f"{provider.url}/v1", "fallback": "none"}
        with studio(tmp_path, RuleModel(), config=config(summarizer=summarizer)) as client:
            stage = Stage(client, RuleModel(), writer)
            session = stage.session(talk(7, 20), preset="rolling")
            with watched(browser, stage.url) as found:
                found.page.goto(f"/s/{session}")
                send(found.page, "What is still open?")
                expect(found.page.get_by_text("Summary not updated")).to_be_visible()
                # A banner would come with the end of the exchange.
                replied(found.page, "You said: What is still open?")
                expect(found.page.get_by_role("alert")).to_have_count(0)


TOO_LONG = ("And the prices of the winter season? " * 800).strip()


def type_too_long(page: Page) -> None:
    """A message that no compaction makes room for; returns when the page knows it."""
    page.get_by_label("Message Compact").fill(TOO_LONG)
    expect(page.get_by_text("tokens · too long to send")).to_be_visible()


def test_a_message_that_is_too_long_is_refused_in_rolling_too(page: Page, stage: Stage) -> None:
    session = stage.session(talk(4), preset="rolling")
    page.goto(f"/s/{session}")
    type_too_long(page)
    page.get_by_label("Message Compact").press("Enter")
    expect(page.get_by_role("alert").get_by_role("heading")).to_have_text("This message is too long")
    expect(page.get_by_label("Message Compact")).to_have_value(TOO_LONG)
    assert page.get_by_text("Summary not updated").count() == 0  # now: a toast goes by itself
    assert stage.get(session, "/messages")["total"] == 8


def test_a_rolling_summary_that_is_stopped_did_not_fail(page: Page, stage: Stage) -> None:
    debug(page, stage.session(talk(7, 20), preset="rolling"))
    stage.writer.gate.clear()
    send(page, "What is still open?")
    row = page.get_by_role("group", name="Compaction")
    expect(row).to_contain_text("Updating summary…")
    page.get_by_role("button", name="Stop").click()
    stage.writer.gate.set()
    expect(page.get_by_role("tabpanel").get_by_text("Canceled", exact=True)).to_be_visible()
    expect(row).to_be_hidden()
    expect(page.get_by_label("Message Compact")).to_have_value("What is still open?")
    assert page.get_by_text("Summary not updated").count() == 0  # now: a toast goes by itself


@pytest.fixture
def blocked(browser: Browser, tmp_path: Path) -> Iterator[tuple[Stage, Page, Path]]:
    """A server whose archive cannot be written, so that every compaction fails until it can."""
    archive = tmp_path / "archive"
    archive.write_text("a file where the folder should be")
    settings = config(archive={"adapter": "fs", "path": str(archive)})
    model = RuleModel()
    with studio(tmp_path, model, config=settings) as client, watched(browser, str(client.base_url)) as found:
        yield Stage(client, model, Writer()), found.page, archive


@pytest.mark.spec("S2.19", part="page")
def test_the_banner_says_nothing_is_lost_and_retry_works(blocked: tuple[Stage, Page, Path]) -> None:
    stage, page, archive = blocked
    session = stage.session(talk(23))
    page.goto(f"/s/{session}?panel=debug")
    send(page, "What is still open?")
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("Compaction failed")
    expect(banner).to_contain_text("Nothing is lost")
    expect(page.get_by_role("tabpanel")).to_contain_text("Compact Fail")
    expect(page.get_by_label("Message Compact")).to_have_value("What is still open?")
    with page.expect_download():
        banner.get_by_role("button", name="Export").click()
    banner.get_by_role("button", name="Dismiss").click()
    expect(banner).to_be_hidden()
    page.keyboard.press("Escape")
    page.get_by_label("Message Compact").focus()
    page.keyboard.press("Enter")
    expect(banner).to_be_visible()
    archive.unlink()
    banner.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("log")).to_contain_text("You said: What is still open?")
    expect(banner).to_be_hidden()
    expect(page.get_by_label("Message Compact")).to_have_value("")


@pytest.fixture
def slow_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Turns end on the server only when this is set."""
    go, end = threading.Event(), Turn._ended

    def slowly(turn: Turn) -> None:
        go.wait(120)
        end(turn)

    monkeypatch.setattr(Turn, "_ended", slowly)
    yield go
    go.set()


def test_the_banner_comes_when_a_retry_is_accepted(
    slow_end: threading.Event, blocked: tuple[Stage, Page, Path]
) -> None:
    """Until the turn that failed is over, another one is refused; and the message is not back before."""
    stage, page, archive = blocked
    page.goto(f"/s/{stage.session(talk(23))}?panel=debug")
    send(page, "What is still open?")
    expect(page.get_by_role("tabpanel")).to_contain_text("Compact Fail")
    banner = page.get_by_role("alert")
    expect(banner).to_have_count(0)
    archive.unlink()
    slow_end.set()
    banner.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("log")).to_contain_text("You said: What is still open?")
    expect(page.get_by_label("Message Compact")).to_have_value("")


def test_a_retry_in_another_tab_waits_for_the_turn_that_failed(
    slow_end: threading.Event, blocked: tuple[Stage, Page, Path]
) -> None:
    stage, page, archive = blocked
    session = stage.session(talk(23))
    page.goto(f"/s/{session}")
    with watched(page.context.browser, stage.url) as found:  # type: ignore[arg-type]
        other = found.page
        other.goto(f"/s/{session}")
        expect(other.get_by_role("article", name="Assistant, m45")).to_be_visible()
        send(page, "What is still open?")
        with other.expect_response(lambda one: one.url.endswith("/compact") and one.status == 409):
            other.get_by_role("alert").get_by_role("button", name="Retry").click()
        archive.unlink()
        slow_end.set()
        expect(other.get_by_role("tabpanel")).to_contain_text("Summary v1")
        expect(other.get_by_role("alert")).to_have_count(0)


def test_a_message_that_is_too_long_by_itself_is_called_so(page: Page, stage: Stage) -> None:
    session = stage.session(talk(4))
    page.goto(f"/s/{session}")
    field = page.get_by_label("Message Compact")
    type_too_long(page)
    context = page.get_by_role("region", name="Context")
    expect(context).to_contain_text("Too long to send")
    expect(context).not_to_contain_text("Sending this compacts first")
    field.press("Enter")
    banner = page.get_by_role("alert")
    expect(banner.get_by_role("heading")).to_have_text("This message is too long")
    expect(banner).to_contain_text("what you typed is saved as a draft")
    expect(banner.get_by_role("button", name="Start New Session")).to_have_count(0)
    # Said once, in words for people, and not in the composer too.
    expect(page.get_by_text("InsufficientBudget")).to_have_count(0)
    expect(page.get_by_text("What may not be removed")).to_have_count(0)
    banner.get_by_role("button", name="Shorten it").click()
    expect(field).to_be_focused()
    expect(field).to_have_value(re.compile("^And the prices"))
    # Without it the banner is about what happened; a new session would still have refused it.
    field.fill("And the prices?")
    expect(banner.get_by_role("heading")).to_have_text("Compaction failed")
    expect(banner.get_by_role("button", name="Start New Session")).to_have_count(0)
    assert stage.get(session, "/messages")["total"] == 8


@pytest.mark.spec("S2.19", part="page")
def test_start_new_session_is_offered_where_nothing_else_helps(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20))
    for position in range(0, 40):
        stage.client.put(f"/api/sessions/{session}/pins/{position}", json={"pinned": True})
    page.goto(f"/s/{session}?panel=debug")
    send(page, "What is still open? " + "And the prices of the winter season? " * 60)
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("This conversation no longer fits")
    expect(banner.get_by_role("button", name="Retry")).to_have_count(0)
    expect(page.get_by_role("tabpanel")).to_contain_text("Overflow")
    banner.get_by_role("button", name="Start New Session").click()
    page.wait_for_url(lambda url: session not in url)
    expect(page.get_by_role("heading", name="New session").first).to_be_visible()
    send(page, "A fresh start.")
    expect(page.get_by_role("log")).to_contain_text("You said: A fresh start.")


def test_a_stored_turn_that_is_too_long_leaves_a_new_session(page: Page, stage: Stage) -> None:
    """As after the choice of a smaller model: there is no draft to shorten, and no retry can help."""
    answered = [{"role": "user", "content": TOO_LONG}, {"role": "assistant", "content": "As in summer."}]
    session = stage.session([*talk(4), *answered])
    page.goto(f"/s/{session}")
    page.get_by_role("button", name="Compact now").click()
    page.get_by_role("dialog").get_by_role("button", name="Compact now").click()
    banner = page.get_by_role("alert")
    expect(banner.get_by_role("heading")).to_have_text("This conversation no longer fits")
    expect(banner.get_by_role("button", name="Retry")).to_have_count(0)
    expect(banner.get_by_role("button", name="Review pins")).to_be_visible()
    # What is typed meanwhile was not refused.
    type_too_long(page)
    expect(banner.get_by_role("heading")).to_have_text("This conversation no longer fits")
    page.get_by_label("Message Compact").fill("")
    stored = stage.get(session, "/events", format="json")["events"]
    (error,) = [one["data"] for one in stored if one["data"].get("event") == "compaction-error"]
    assert (error["canRetry"], error["suggestNewSession"]) == (False, True)
    banner.get_by_role("button", name="Start New Session").click()
    page.wait_for_url(lambda url: session not in url)
    send(page, "A fresh start.")
    expect(page.get_by_role("log")).to_contain_text("You said: A fresh start.")
