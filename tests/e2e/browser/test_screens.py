"""Pictures of each main state, light and dark, wide and narrow, in build/screenshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from compact.server.studio.sample import sample_turns
from support.browser import Stage, Writer, watched
from support.providers import providing
from support.studio import RuleModel, config, said, studio
from support.trace_service import trace_service

FOLDER = Path(__file__).parents[3] / "build" / "screenshots"
SIZES = {"wide": (1440, 900), "narrow": (390, 844)}


def shoot(page: Page, name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(250)
    page.screenshot(path=FOLDER / f"{name}.png")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pictures_of_every_main_state(browser: Browser, tmp_path: Path, size: str, scheme: Any) -> None:
    writer, model = Writer(), RuleModel(lambda messages: "Open: the test booking and the feed address.")
    end = f"{size}-{scheme}"
    database = tmp_path / "traces.db"
    with providing(writer) as provider, trace_service(tmp_path / "t.db") as traces:
        summarizer = {"name": "openai", "model": "gpt-4o-mini", "base_url": f"{provider.url}/v1"}
        tracing = {"ariadne_url": str(traces.base_url).rstrip("/")}
        settings = config(max_context_tokens=20_000, summarizer=summarizer, tracing=tracing)
        with studio(tmp_path, model, config=settings, traces=database) as client:
            stage = Stage(client, model, writer)
            session = stage.session(list(sample_turns()), title="Moving the booking service")
            width, height = SIZES[size]
            with watched(browser, stage.url, width, height, color_scheme=scheme) as found:
                page = found.page
                page.goto(f"/s/{session}")
                expect(page.get_by_role("article").last).to_be_visible()
                shoot(page, f"chat-full-{end}")
                page.goto(f"/s/{session}/what-if")
                expect(page.get_by_role("region", name="Comparison")).to_be_visible()
                shoot(page, f"what-if-{end}")
                page.goto(f"/s/{session}")
                writer.gate.clear()
                page.get_by_label("Message Compact").fill("What is still open?")
                page.keyboard.press("Enter")
                expect(page.get_by_role("group", name="Compaction")).to_be_visible()
                shoot(page, f"compacting-{end}")
                writer.gate.set()
                expect(page.get_by_role("log")).to_contain_text("Open: the test booking and")
                page.goto(f"/s/{session}")
                expect(page.get_by_role("article").last).to_be_visible()
                page.wait_for_timeout(500)
                page.keyboard.press("e")
                expect(page.get_by_role("button", name="Collapse summary")).to_be_visible()
                page.wait_for_timeout(400)
                shoot(page, f"summary-{end}")
                for turn in range(4):
                    said(client, session, f"And what about point {turn}?")
                page.goto(f"/s/{session}/figures")
                expect(page.get_by_role("heading", name="Context size over turns")).to_be_visible()
                shoot(page, f"figures-{end}")
                page.goto(f"/s/{session}?panel=debug")
                expect(page.get_by_role("tabpanel")).to_contain_text("Compacted")
                shoot(page, f"debug-{end}")
                page.goto("/settings")
                expect(page.get_by_role("heading", name="Presets")).to_be_visible()
                shoot(page, f"settings-{end}")
        with watched(browser, str(traces.base_url).rstrip("/"), width, height, color_scheme=scheme) as found:
            found.page.goto("/traces")
            found.page.get_by_label("Trace list").get_by_role("link").first.click()
            row = found.page.get_by_role("row").filter(has_text="compact.summary_created").first
            row.click()
            expect(found.page.get_by_role("complementary", name="Inspector")).to_be_visible()
            shoot(found.page, f"traces-{end}")
