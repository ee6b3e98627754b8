"""Each main task with keys alone: no test here touches the mouse."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import Stage, talk, until, until_half, watched
from support.studio import said
from support.trace_service import span, trace_service

FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return "";  // its text would be that of the whole page
  const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent;
  const named = label ?? element.textContent ?? "";
  return named.trim().replace(/\\s+/g, " ");
}"""


def tab_to(page: Page, name: str, most: int = 90, back: bool = False) -> None:
    """Presses Tab until the focus is on what is named so."""
    for _ in range(most):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if re.search(name, str(page.evaluate(FOCUSED))):
            return
    raise AssertionError(f"Tab never came to {name!r}; it is on {page.evaluate(FOCUSED)!r}")


def command(page: Page, words: str) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search or run a command")).to_be_focused()
    page.keyboard.type(words)
    page.keyboard.press("Enter")


def enter(page: Page) -> None:
    """Enter in the composer, once the page may send: a new page first asks whether a reply is running."""
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    page.keyboard.press("Enter")


def chord(page: Page, keys: str) -> None:
    """Two keys that belong together if little time lies between them, however slow this machine is."""
    page.clock.set_fixed_time(time.time())
    for key in keys:
        page.keyboard.press(key)


def leave_field(page: Page) -> None:
    """Out of the composer, so that letters act; Escape leads there and back."""
    tab_to(page, "^Message Compact$")
    page.keyboard.press("Escape")
    expect(page.get_by_role("log", name="Conversation")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Message Compact")).to_be_focused()
    page.keyboard.press("Escape")


def test_a_conversation_from_the_first_word_to_its_end(page: Page, stage: Stage) -> None:
    newest = stage.session(title="The newest")
    page.goto("/")
    page.wait_for_url(re.compile(f"/s/{newest}"))
    command(page, "new session")
    page.wait_for_url(lambda url: "/s/" in url and newest not in url)
    session = page.url.rsplit("/", 1)[1]
    # Whoever creates a session writes at once; elsewhere letters are commands.
    expect(page.get_by_label("Message Compact")).to_be_focused()
    page.keyboard.type("The port is 8460.")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("Keep it in mind.")
    enter(page)
    expect(page.get_by_role("article", name="Assistant, m1")).to_contain_text("You said: The port is 8460.")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    # Stop with Escape, from the field.
    stage.model.half.clear()
    stage.model.gate = threading.Event()
    page.keyboard.type("Name every price of the winter season.")
    enter(page)
    until_half(page, stage.model)
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    with page.expect_response("**/stop"):
        page.keyboard.press("Escape")
    stage.model.gate.set()
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    # Edit the last message with the arrow, and send it again.
    expect(page.get_by_role("article", name="You, m2")).to_be_visible()
    page.get_by_label("Message Compact").focus()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("New wording")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("Name one price.")
    tab_to(page, "^Send again$")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("You said: Name one price.")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    # Rename it, then delete it.
    command(page, "rename")
    expect(page.get_by_label("Title")).to_be_focused()
    # What is typed takes the place of the old one.
    page.keyboard.type("Prices")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Prices")
    command(page, "delete session")
    expect(page.get_by_role("dialog")).to_be_visible()
    tab_to(page, "^Delete$")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: session not in url)
    assert stage.client.get(f"/api/sessions/{session}").status_code == 404


def test_a_compaction_its_card_its_source_and_its_undo(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20), title="By keys")
    page.goto(f"/s/{session}")
    expect(page.get_by_role("article", name="Assistant, m39")).to_be_visible()
    # A message is pinned: K walks up, P pins.
    leave_field(page)
    page.keyboard.press("k")
    expect(page.get_by_role("article", name="Assistant, m39")).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("p")
    expect(page.get_by_role("article", name="You, m38")).to_contain_text("Pinned")
    page.keyboard.press("j")
    expect(page.get_by_role("article", name="Assistant, m39")).to_be_focused()
    # Compact now, with a focus.
    page.keyboard.press("Shift+C")
    expect(page.get_by_label("Keep in view")).to_be_focused()
    page.keyboard.type("the week in May")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main").get_by_text(re.compile(r"^\d+% reduced$"))).to_be_visible()
    assert stage.get(session, "/records")["records"][0]["note"].startswith("the week in May")
    # The card, a citation, and the way back.
    expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
    page.keyboard.press("e")
    card = page.get_by_role("region", name="Conversation Summarized")
    expect(card.get_by_role("button", name="Collapse summary")).to_be_focused()
    expect(card.get_by_role("button", name=re.compile("go to message")).first).to_be_visible()
    tab_to(page, r"^m\d+, go to message$")
    cited = str(page.evaluate(FOCUSED)).split(",")[0]
    page.keyboard.press("Enter")
    source = page.get_by_role("article", name=re.compile(f", {cited}$"))
    expect(source).to_be_in_viewport()
    expect(source).to_be_focused()
    page.keyboard.press("b")
    expect(card).to_be_in_viewport()
    # Boundaries, the panel, and undo from the palette.
    page.keyboard.press("]")
    expect(page.get_by_role("separator")).to_be_in_viewport()
    page.keyboard.press("Control+.")
    expect(page.get_by_role("complementary", name="Panel")).to_have_count(0)
    page.keyboard.press("Control+.")
    expect(page.get_by_role("complementary", name="Panel")).to_be_visible()
    command(page, "undo last")
    expect(page.get_by_role("dialog")).to_contain_text("come back word for word")
    tab_to(page, "^Undo$")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Summary v1 undone").first).to_be_visible()
    assert stage.get(session, "/records")["records"][0]["undone"]


def test_a_threshold_the_comparison_and_the_figures(page: Page, stage: Stage) -> None:
    session = stage.session(talk(20))
    said(stage.client, session, "What does the week in May cost?")
    page.goto(f"/s/{session}?panel=context")
    expect(page.get_by_role("tabpanel")).to_contain_text("If compacted now:")
    tab_to(page, "^Keep recent turns")
    page.keyboard.press("Control+a")
    page.keyboard.type("3")
    tab_to(page, "^Apply$")
    page.keyboard.press("Enter")
    expect(page.get_by_text("In force now.")).to_be_visible()
    # After a reload the panel still shows what this session uses.
    page.reload()
    expect(page.get_by_label("Keep recent turns")).to_have_value("3")
    leave_field(page)
    chord(page, "gw")
    page.wait_for_url(re.compile("/what-if"))
    expect(page.get_by_role("button", name="Apply window")).to_be_visible()
    expect(page.get_by_role("slider", name="Message")).to_be_visible()
    tab_to(page, "^Message$")
    page.keyboard.press("End")
    expect(page.get_by_role("slider", name="Message")).to_have_attribute("aria-valuenow", "41")
    tab_to(page, "^Apply window$", back=True)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("You can undo")
    tab_to(page, "^Apply window$")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Applied ")).to_be_visible()
    chord(page, "gf")
    page.wait_for_url(re.compile("/figures"))
    expect(page.get_by_role("button", name=re.compile("^Undo ")).first).to_be_visible()
    tab_to(page, "^Undo ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    # Dialogs give the focus back to where it was.
    until(page, lambda: str(page.evaluate(FOCUSED)).startswith("Undo "), "the focus on Undo")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    command(page, "settings")
    expect(page.get_by_role("checkbox", name="Use letter shortcuts")).to_be_visible()
    tab_to(page, "Use letter shortcuts")
    page.keyboard.press("Space")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.fixture
def traces(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    with trace_service(tmp_path / "traces.db") as client:
        client.post(
            "/ingest",
            json=[
                span("t1", "a", name="turn", started_at=1_000.0, ended_at=1_010.0),
                span("t1", "b", parent_id="a", name="gpt-4o", started_at=1_001.0, ended_at=1_002.0),
                span("t1", "c", parent_id="a", name="run_tests", started_at=1_003.0, ended_at=1_009.0),
            ],
        )
        with watched(browser, str(client.base_url).rstrip("/")) as found:
            yield found.page


def test_a_trace_from_the_list_to_its_raw_span(traces: Page) -> None:
    page = traces
    page.goto("/traces")
    expect(page.get_by_label("Trace list").get_by_role("link")).to_have_count(1)
    tab_to(page, "^turn")
    page.keyboard.press("Enter")
    expect(page.get_by_role("treegrid", name="Spans").get_by_role("row")).to_have_count(3)
    page.keyboard.press("/")
    expect(page.get_by_label("Search in this trace")).to_be_focused()
    page.keyboard.type("tests")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", selected=True)).to_contain_text("run_tests")
    tab_to(page, "^Spans$")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("row", selected=True)).to_contain_text("gpt-4o")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("row", selected=True)).to_contain_text("turn")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("row")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("row")).to_have_count(3)
    page.keyboard.press("w")
    page.keyboard.press("d")
    page.wait_for_url(re.compile("t0="))
    page.keyboard.press("f")
    page.wait_for_url(lambda url: "t0=" not in url)
    # Choosing paused the tail; Space goes on.
    expect(page.get_by_text("Paused")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    tab_to(page, "^Summary$")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("complementary", name="Inspector").get_by_label("Raw span")).to_contain_text(
        '"turn"'
    )
