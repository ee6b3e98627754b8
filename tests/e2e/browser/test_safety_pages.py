"""No serious axe violation on any page; nothing runs and nothing is loaded from what others wrote."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import SCROLL, Stage, talk, watched, work
from support.studio import said
from support.trace_service import span, trace_service

AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes.slice(0, 4).map(node => node.html.slice(0, 200)).join(" | ")}`);
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing_serious_on_any_page(
    stage: Stage, browser: Browser, _full: str, width: int, scheme: Any
) -> None:
    with watched(browser, stage.url, width, 900, color_scheme=scheme) as found:
        page = found.page
        for path in (f"/s/{_full}", f"/s/{_full}/what-if", f"/s/{_full}/figures", "/settings"):
            page.goto(path)
            expect(page.get_by_role("heading").first).to_be_visible()
            page.wait_for_load_state("networkidle") if "/s/" not in path else page.wait_for_timeout(600)
            check_axe(page)
        if width == 1440:
            page.goto(f"/s/{_full}?panel=debug")
            expect(page.get_by_role("tabpanel")).to_contain_text("Compacted")
            check_axe(page)
            for key in ("Control+k", "?"):
                page.keyboard.press(key)
                expect(page.get_by_role("dialog")).to_be_visible()
                check_axe(page)
                page.keyboard.press("Escape")
            page.keyboard.press("e")
            expect(page.get_by_role("button", name="Collapse summary")).to_be_visible()
            check_axe(page)
        else:
            page.goto(f"/s/{_full}?panel=context")
            expect(page.get_by_role("dialog")).to_be_visible()
            check_axe(page)


def test_axe_on_the_trace_viewer(browser: Browser, tmp_path: Path) -> None:
    with trace_service(tmp_path / "traces.db") as client:
        client.post("/ingest", json=span("t1", "s1", name="turn", data={"t_est": 10}))
        for width in (1440, 360):
            with watched(browser, str(client.base_url).rstrip("/"), width) as found:
                for path in ("/traces", "/traces/t1?span=s1"):
                    found.page.goto(path)
                    expect(found.page.get_by_role("heading").first).to_be_visible()
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
    for path in ("", "?m=0", "/what-if", "/figures"):
        page.goto(f"/s/{session}{path}")
        expect(page.get_by_role("heading").first).to_be_visible()
        page.wait_for_timeout(500)
    page.goto(f"/s/{session}?m=1")
    page.get_by_role("button", name="tool").first.click()
    page.goto("/settings")
    expect(page.get_by_label(f"{CORPUS[0]}: custom instructions")).to_have_value(evil)
    assert page.evaluate("window.ran") is None
    with trace_service(tmp_path / "traces.db") as client:
        client.post("/ingest", json=span("t", "s", name=evil[:400], kind=CORPUS[0], data={"summary": evil}))
        with watched(browser, str(client.base_url).rstrip("/")) as found:
            found.page.goto("/traces/t?span=s")
            expect(found.page.get_by_role("complementary", name="Inspector")).to_contain_text("<script>")
            assert found.page.evaluate("window.ran") is None


def RULE(messages: Any) -> str:
    return f"You said: {str(messages[-1]['content'])[:60]}"


def test_ten_thousand_messages_scroll(page: Page, stage: Stage) -> None:
    """Frames while scrolling take as long as with 200 messages: only those on the screen exist."""
    frames = {}
    for turns in (100, 5_000):
        session = stage.session(talk(turns, 12))
        start = time.monotonic()
        page.goto(f"/s/{session}")
        newest = page.get_by_role("article", name=f"Assistant, m{2 * turns - 1}")
        expect(newest).to_be_visible(timeout=20_000)
        painted = time.monotonic() - start
        frames[turns] = page.evaluate(SCROLL, '[role="log"]')
        assert page.get_by_role("article").count() < 80
        print(f"\n{2 * turns} messages: newest after {painted:.2f} s, {frames[turns]}")
    assert frames[5_000]["median"] < 2 * frames[100]["median"] + 20
    page.goto(f"/s/{session}?m=4321")
    expect(page.get_by_role("article", name="m4321")).to_be_in_viewport(timeout=20_000)
