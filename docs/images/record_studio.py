"""Takes the pictures of the studio in the README: what `compact studio --demo` shows with no key.

Run `compact studio --demo --port 5181` in an empty folder, then this. Needs Chromium.
"""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

STUDIO = "http://127.0.0.1:5181"
FOLDER = Path(__file__).parent


def shoot(page: Page, name: str) -> None:
    page.wait_for_timeout(900)
    page.screenshot(path=FOLDER / f"{name}.png")


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900}, device_scale_factor=0.8)
        page.goto(f"{STUDIO}/s/sample/what-if")
        page.get_by_role("region", name="Comparison").wait_for()
        shoot(page, "what-if")
        page.goto(f"{STUDIO}/s/sample")
        page.get_by_role("article").last.wait_for()
        page.get_by_label("Message Compact").fill("What did we decide about the database?")
        page.keyboard.press("Enter")
        page.get_by_role("main").get_by_text(re.compile(r"^\d+% reduced$")).wait_for()
        page.get_by_role("article", name=re.compile(r"Assistant, m7[89]")).last.wait_for()
        shoot(page, "studio")
        page.get_by_role("button", name="View summary").click()
        page.mouse.move(700, 40)
        shoot(page, "summary-card")
        page.goto(f"{STUDIO}/traces?status=compacted")
        page.get_by_label("Trace list").get_by_role("link").first.click()
        page.get_by_role("row").filter(has_text="compact.summary_created").first.click()
        shoot(page, "traces")
        browser.close()


if __name__ == "__main__":
    main()
