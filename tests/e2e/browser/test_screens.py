"""Each main state is reached and drawn, light and dark, from 360 to 1,600 pixels.

COMPACT_SCREENSHOTS=1 also saves a picture of each in build/screenshots, for people to look at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from compact.server.studio.sample import sample_turns
from support.browser import Stage, Writer, drawn, replied, send, talk, until, watched, work
from support.providers import providing
from support.studio import RuleModel, config, said, studio
from support.trace_service import trace_service

FOLDER = Path(__file__).parents[3] / "build" / "screenshots"
LOOKS: tuple[tuple[int, int, Any], ...] = (
    (1440, 900, "light"),
    (1440, 900, "dark"),
    (360, 800, "light"),
    (360, 800, "dark"),
    (768, 900, "light"),
    (1024, 768, "dark"),
    (1600, 900, "light"),
)


FITS = """() => {
  const all = document.documentElement;
  return innerWidth >= all.scrollWidth && innerHeight >= all.scrollHeight;
}"""


def look(page: Page, name: str, looks: tuple[tuple[int, int, Any], ...] = LOOKS) -> None:
    """One state at every size, in both themes where that differs."""
    for width, height, scheme in looks:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        drawn(page)
        # Panes scroll, the page itself never does.
        until(page, lambda: bool(page.evaluate(FITS)), f"{name} in {width} x {height}")
        if os.environ.get("COMPACT_SCREENSHOTS"):
            page.screenshot(path=FOLDER / f"{name}-{width}-{scheme}.png")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1440, "height": 900})


@pytest.fixture(scope="module")
def _screens(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[tuple[Stage, str]]:
    writer, model = Writer(), RuleModel(lambda messages: "Open: the test booking and the feed address.")
    folder = tmp_path_factory.mktemp("screens")
    with providing(writer) as provider, trace_service(folder / "t.db") as traces:
        summarizer = {"name": "openai", "model": "gpt-4o-mini", "base_url": f"{provider.url}/v1"}
        url = str(traces.base_url).rstrip("/")
        settings = config(max_context_tokens=20_000, summarizer=summarizer, tracing={"ariadne_url": url})
        with studio(folder, model, config=settings) as client:
            yield Stage(client, model, writer), url


@pytest.fixture
def screen(_screens: tuple[Stage, str], browser: Browser) -> Iterator[Page]:
    with watched(browser, _screens[0].url) as found:
        yield found.page


def test_a_compaction_from_the_full_window_to_its_undo(
    _screens: tuple[Stage, str], screen: Page, browser: Browser
) -> None:
    (stage, traces), page = _screens, screen
    session = stage.session(list(sample_turns()), title="Moving the booking service")
    page.goto(f"/s/{session}")
    expect(page.get_by_role("article").last).to_be_visible()
    look(page, "chat-full")
    page.goto(f"/s/{session}/what-if")
    expect(page.get_by_role("region", name="Comparison")).to_be_visible()
    look(page, "what-if")
    page.goto(f"/s/{session}")
    stage.writer.gate.clear()
    send(page, "What is still open?")
    expect(page.get_by_role("group", name="Compaction")).to_contain_text("Summarizing context...")
    look(page, "compacting")
    stage.writer.gate.set()
    expect(page.get_by_role("main").get_by_text(re.compile(r"^\d+% reduced$"))).to_be_visible()
    look(page, "reduced", LOOKS[:3])
    replied(page, "Open: the test booking and the feed address.")
    page.goto(f"/s/{session}")
    expect(page.get_by_role("tabpanel")).to_contain_text("Summary v1")
    page.keyboard.press("e")
    expect(page.get_by_role("button", name="Collapse summary")).to_be_in_viewport()
    look(page, "summary")
    for turn in range(4):
        said(stage.client, session, f"And what about point {turn}?")
    page.goto(f"/s/{session}/figures")
    expect(page.get_by_role("region", name="What survived")).to_be_visible()
    look(page, "figures")
    page.goto(f"/s/{session}?panel=debug")
    expect(page.get_by_role("tabpanel")).to_contain_text("Compacted")
    look(page, "debug")
    page.goto(f"/s/{session}?panel=records")
    page.get_by_role("button", name="Undo Summary v1").click()
    expect(page.get_by_role("dialog")).to_contain_text("come back")
    look(page, "undo", LOOKS[:3])
    with watched(browser, traces) as found:
        found.page.goto("/traces?status=compacted")
        found.page.get_by_label("Trace list").get_by_role("link").first.click()
        found.page.get_by_role("row").filter(has_text="compact.summary_created").first.click()
        expect(found.page.get_by_role("complementary", name="Inspector")).to_be_visible()
        look(found.page, "traces")


def test_the_other_states(_screens: tuple[Stage, str], screen: Page) -> None:
    (stage, _), page = _screens, screen
    page.goto(f"/s/{stage.session(title='')}")
    expect(page.get_by_role("heading", name="New session").first).to_be_visible()
    look(page, "new-session", LOOKS[:3])
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    look(page, "palette", LOOKS[:3])
    page.goto("/settings")
    expect(page.get_by_role("region", name="Presets")).to_be_visible()
    look(page, "settings")
    pruned = stage.session([*work(40), *talk(4, 10)], preset="agent", policy={"output_reserve": 200})
    stage.post(pruned, "/compact", {"mode": "prune"})
    page.goto(f"/s/{pruned}?m=5")
    expect(page.get_by_role("button", name="Show original").first).to_be_visible()
    look(page, "cleared", LOOKS[:4])
    full = stage.session(talk(76), title="Everything pinned")
    for position in range(152):
        stage.client.put(f"/api/sessions/{full}/pins/{position}", json={"pinned": True})
    page.goto(f"/s/{full}")
    send(page, "And the prices of the winter season? " * 300)
    expect(page.get_by_role("alert")).to_contain_text("no longer fits")
    look(page, "error", LOOKS[:4])
