"""No serious axe violation on any page; nothing runs and nothing is loaded from what others wrote."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import COUNT_READS, LEAPS, SCROLL, Stage, send, talk, until, watched, work
from support.studio import said
from support.trace_service import span, trace_service

AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
# All rules in the light theme; in the dark one only colors can differ.
RUN = """async () => {
  const look = async options => {
    const found = await axe.run(document, {resultTypes: ["violations"], ...options});
    return found.violations.filter(one => ["serious", "critical"].includes(one.impact))
      .map(one => `${one.id}: ${one.nodes.slice(0, 4).map(node => node.html.slice(0, 200)).join(" | ")}`);
  };
  const root = document.documentElement, before = root.dataset.theme;
  root.dataset.theme = "light";
  const light = await look({});
  root.dataset.theme = "dark";
  const dark = await look({runOnly: ["color-contrast"]});
  if (before) root.dataset.theme = before; else delete root.dataset.theme;
  return [...light, ...dark.map(one => `dark: ${one}`)];
}"""
CORPUS = (
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "<img src='https://evil.example/a.png'>",
    "![pixel](https://evil.example/b.png)",
    "[click](javascript:window.ran=1)",
    "<iframe src='https://evil.example/'></iframe>",
    "<svg onload='window.ran=1'><use href='https://evil.example/x#y'/></svg>",
    "<style>@import url(https://evil.example/c.css)</style>",
    "</textarea><script>window.ran = 1</script>",
    '"><a href="javascript:window.ran=1" autofocus onfocus="window.ran=1">x</a>',
    "<link rel=stylesheet href=https://evil.example/d.css><base href=https://evil.example/>",
    "{{constructor.constructor('window.ran=1')()}} ${window.ran=1}",
)


def check_axe(page: Page) -> None:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.evaluate(RUN) == []


@pytest.fixture(scope="module")
def _full(_server: Stage) -> str:
    """A session with everything in it: a summary, cleared outputs, pins, several turns."""
    session = _server.session([*work(12), *talk(14)], title="Everything")
    _server.post(session, "/compact", {})
    said(_server.client, session, "What is still open?")
    _server.client.put(f"/api/sessions/{session}/pins/1", json={"pinned": True})
    return session


@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing_serious_on_any_page(
    stage: Stage, browser: Browser, _full: str, width: int
) -> None:
    with watched(browser, stage.url, width, 900) as found:
        page = found.page
        for path, shown in (
            (f"/s/{_full}", page.get_by_role("article").first),
            (f"/s/{_full}/what-if", page.get_by_role("region", name="Comparison")),
            (f"/s/{_full}/figures", page.get_by_role("region", name="What survived")),
            ("/settings", page.get_by_role("region", name="Presets")),
            (f"/s/{stage.session(title='')}", page.get_by_role("heading", name="New session").first),
        ):
            page.goto(path)
            expect(shown).to_be_visible()
            check_axe(page)
        if width == 360:
            page.goto(f"/s/{_full}?panel=context")
            expect(page.get_by_role("dialog")).to_contain_text("If compacted now")
            check_axe(page)
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Sessions").click()
            expect(page.get_by_role("dialog").get_by_label("Session list")).to_be_visible()
            check_axe(page)


def test_axe_finds_nothing_serious_in_any_state(page: Page, stage: Stage, _full: str) -> None:
    dialog = page.get_by_role("dialog")
    page.goto(f"/s/{_full}?panel=debug")
    expect(page.get_by_role("tabpanel")).to_contain_text("Compacted")
    check_axe(page)
    for key in ("Control+k", "?", "Shift+C"):
        page.keyboard.press(key)
        expect(dialog).to_be_visible()
        check_axe(page)
        page.keyboard.press("Escape")
    page.get_by_role("tab", name="Context").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
    page.keyboard.press("e")
    expect(page.get_by_role("button", name="Collapse summary")).to_be_visible()
    check_axe(page)
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("menu")).to_be_visible()
    check_axe(page)
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Records").click()
    page.get_by_role("button", name="Undo Summary v1").click()
    expect(dialog).to_contain_text("come back")
    check_axe(page)
    page.keyboard.press("Escape")
    page.goto(f"/s/{_full}/what-if?p=budget,window")
    page.get_by_role("button", name=re.compile(r"^\d+ items?$")).last.click()
    expect(dialog).to_be_visible()
    check_axe(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Apply window").click()
    expect(dialog).to_contain_text("You can undo")
    check_axe(page)
    page.goto("/s/20200101-000000-00000000")
    expect(page.get_by_role("heading", name="This session cannot be shown")).to_be_visible()
    check_axe(page)
    page.get_by_role("button", name="Open the newest session").click()
    expect(page.get_by_label("Message Compact")).to_be_visible()


def test_axe_while_a_compaction_runs_and_after_it_failed(page: Page, stage: Stage) -> None:
    session = stage.session(talk(23))
    stage.writer.gate.clear()
    page.goto(f"/s/{session}")
    send(page, "What is still open?")
    expect(page.get_by_role("group", name="Compaction")).to_contain_text("Summarizing context...")
    check_axe(page)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Compaction canceled")).to_be_visible()
    stage.writer.gate.set()
    expect(page.get_by_label("Message Compact")).to_have_value("What is still open?")
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    check_axe(page)
    for position in range(46):
        pin = stage.client.put(f"/api/sessions/{session}/pins/{position}", json={"pinned": True})
        assert pin.status_code == 200, pin.text
    send(page, "And the prices of the winter season? " * 60)
    expect(page.get_by_role("alert")).to_contain_text("no longer fits")
    check_axe(page)


def test_axe_on_the_trace_viewer(browser: Browser, tmp_path: Path) -> None:
    with trace_service(tmp_path / "traces.db") as client:
        with watched(browser, str(client.base_url).rstrip("/")) as found:
            found.page.goto("/traces")
            expect(found.page.get_by_text("No traces yet. Send one:")).to_be_visible()
            check_axe(found.page)
        client.post("/ingest", json=span("t1", "s1", name="turn", status="error", data={"t_est": 10}))
        client.post("/ingest", json=span("t1", "s2", parent_id="s1", name="compact.pruned_messages"))
        for width in (1440, 360):
            with watched(browser, str(client.base_url).rstrip("/"), width) as found:
                for path in ("/traces?status=error", "/traces/t1?span=s1&q=turn&only=errors"):
                    found.page.goto(path)
                    expect(found.page.get_by_text("turn").first).to_be_visible()
                    check_axe(found.page)


def test_nothing_runs_and_nothing_is_loaded_from_what_others_wrote(
    page: Page, stage: Stage, tmp_path: Path, browser: Browser
) -> None:
    evil = "\n\n".join(CORPUS)
    call = {"name": "<b>tool</b>", "arguments": '{"path": "<script>window.ran=1</script>"}'}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": evil},
        {
            "role": "assistant",
            "content": evil,
            "tool_calls": [{"id": "c1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": evil},
        {"role": "assistant", "content": f"Decided: {evil}"},
    ]
    session = stage.session([*messages, *talk(14)], title=CORPUS[1])
    stage.client.put(f"/api/spaces/{'x' * 8}", json={"title": CORPUS[0], "custom_instructions": evil})
    stage.post(session, "/compact", {})
    stage.model.rule = lambda _: evil
    try:
        said(stage.client, session, evil)
    finally:
        stage.model.rule = RULE
    for path, shown in (
        ("", page.get_by_role("article").last),
        ("?m=0", page.get_by_role("article", name="You, m0")),
        ("/what-if", page.get_by_role("region", name="Comparison")),
        ("/figures", page.get_by_role("region", name="What survived")),
    ):
        page.goto(f"/s/{session}{path}")
        expect(shown).to_be_visible()
    page.goto(f"/s/{session}?m=1")
    page.get_by_role("button", name="tool").first.click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
    page.keyboard.press("e")
    expect(page.get_by_role("button", name="Collapse summary")).to_be_visible()
    page.get_by_role("button", name="Show exact text").click()
    for action in ("Rename", "Delete"):
        page.get_by_role("button", name="More", exact=True).click()
        page.get_by_role("menuitem", name=action).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name=CORPUS[1])).to_be_visible()
    page.keyboard.press("Escape")
    assert page.evaluate("window.ran") is None
    page.goto("/settings")
    expect(page.get_by_label(f"{CORPUS[0]}: custom instructions")).to_have_value(evil)
    assert page.evaluate("window.ran") is None
    with trace_service(tmp_path / "traces.db") as client:
        client.post("/ingest", json=span("t", "s", name=evil[:400], kind=CORPUS[0], data={"summary": evil}))
        with watched(browser, str(client.base_url).rstrip("/")) as found:
            found.page.goto("/traces")
            expect(found.page.get_by_label("Trace list").get_by_role("link")).to_have_count(1)
            found.page.goto("/traces/t?span=s&q=%3Cscript%3E")
            expect(found.page.get_by_role("complementary", name="Inspector")).to_contain_text("<script>")
            assert found.page.evaluate("window.ran") is None


def RULE(messages: Any) -> str:
    return f"You said: {str(messages[-1]['content'])[:60]}"


def test_ten_thousand_messages_scroll(page: Page, stage: Stage) -> None:
    """A frame has as much to read, build and draw as with 200 messages: only those on the screen count."""
    page.add_init_script(COUNT_READS)
    frames, leaps = {}, {}
    for turns in (100, 5_000):
        session = stage.session(talk(turns, 12))
        start = time.monotonic()
        page.goto(f"/s/{session}")
        newest = page.get_by_role("article", name=f"Assistant, m{2 * turns - 1}")
        expect(newest).to_be_visible()
        painted = time.monotonic() - start
        leaps[turns] = page.evaluate(LEAPS, '[role="log"]')
        frames[turns] = page.evaluate(SCROLL, '[role="log"]')
        assert page.get_by_role("article").count() < 80
        print(f"\n{2 * turns} messages: newest after {painted:.2f} s, {frames[turns]}, {leaps[turns]}")
    assert frames[5_000]["elements"] < 1.5 * frames[100]["elements"]
    assert leaps[5_000]["built"] < 1.5 * leaps[100]["built"]
    # Where frames are late, the list is drawn again as soon as it rests: twice the reads, not fifty times.
    assert leaps[5_000]["reads"] < 3 * leaps[100]["reads"]
    page.goto(f"/s/{session}?m=4321")
    expect(page.get_by_role("article", name="m4321")).to_be_in_viewport()


def test_the_watch_sees_what_a_policy_refuses_on_any_page(browser: Browser, stage: Stage) -> None:
    """What the tests above rely on: a violation and a foreign request are kept across navigations."""
    with pytest.raises(AssertionError), watched(browser, stage.url) as found:
        found.page.goto("/settings")
        found.page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=https://evil.example/a.png>')"
        )
        expect(found.page.get_by_role("heading", name="Settings")).to_be_visible()
        # It is reported a moment later, and not by a page that was left.
        until(found.page, lambda: bool(found.refused), "the report")
        found.page.goto("/")
        expect(found.page.get_by_role("navigation", name="Session list")).to_be_visible()
    assert any("img-src https://evil.example" in one for one in found.refused)
