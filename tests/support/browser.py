"""A real Chromium on the real studio; checks after every test what every page must satisfy."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from compact.server.http.pages import BUILT
from support.studio import RuleModel, new_session

CHROMIUM = Path("/usr/bin/chromium")
# Nothing leaves the machine: no other host has an address.
OPTIONS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
PATIENCE = 60_000
"""Milliseconds, for a busy machine; normally nothing waits this long."""
SUMMARY = (
    "## Goals\n- Move the booking service to Helsinki [m0]\n## Decisions\n- Dump and restore, because nobody "
    "looks after replication [m2]\n## Next steps\n- Test the restore before the night of November 29 [m4]\n"
    "## Key entities\n- config/booking.toml\n"
)
# Runs before every page's own scripts: reports what the content policy rejects, on any page.
_WATCH = """
addEventListener("securitypolicyviolation", e => policyRefused(`${e.violatedDirective} ${e.blockedURI}`));
"""


# Scrolls through the whole list in 60 steps, one per frame: how many elements there were, how long frames
# took. A step is a sixtieth of the list: it replaces every row of a long list, and a few rows of a short one.
SCROLL = """async selector => {
  const box = document.querySelector(selector), times = [];
  let elements = 0;
  let last = performance.now();
  for (let step = 0; step <= 60; step += 1) {
    box.scrollTop = (box.scrollHeight - box.clientHeight) * step / 60;
    await new Promise(requestAnimationFrame);
    elements = Math.max(elements, box.querySelectorAll("*").length);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  times.sort((a, b) => a - b);
  const memory = performance.memory ? Math.round(performance.memory.usedJSHeapSize / 1e6) : 0;
  return {elements, median: Math.round(times[30]), worst: Math.round(times.at(-1)), megabytes: memory};
}"""
# Runs before a page's own scripts: counts reads of spans and of maps, which hold messages and row sizes.
COUNT_READS = """
window.reads = 0;
const parse = JSON.parse, get = Map.prototype.get;
const counted = {get: (span, name) => { window.reads += 1; return span[name]; }};
JSON.parse = (...given) => {
  const value = parse(...given);
  if (Array.isArray(value?.spans)) value.spans = value.spans.map(span => new Proxy(span, counted));
  return value;
};
Map.prototype.get = function (key) { window.reads += 1; return get.call(this, key); };
"""
# Forty jumps near the end of a list, equally far in short and long lists: how many reads and new elements
# they took. The first rounds load and measure the rows; they are not counted.
LEAPS = """async selector => {
  const box = document.querySelector(selector);
  const frame = () => new Promise(requestAnimationFrame);
  const round = async () => {
    for (const away of [1, 2.5, 4, 2.5]) {
      box.scrollTop = box.scrollHeight - away * box.clientHeight;
      await frame(); await frame();
    }
  };
  let built = 0;
  const watcher = new MutationObserver(all => all.forEach(one => one.addedNodes.forEach(node => {
    if (node.querySelectorAll) built += 1 + node.querySelectorAll("*").length;
  })));
  await round(); await round();
  watcher.observe(box, {subtree: true, childList: true});
  const before = window.reads;
  for (let turn = 0; turn < 10; turn += 1) await round();
  watcher.disconnect();
  return {built, reads: window.reads - before};
}"""
_TALKS = itertools.count()


def skip_without_browser() -> None:
    if not CHROMIUM.is_file():
        pytest.skip("needs Chromium: apt-get install chromium")
    if not (BUILT / "index.html").is_file():
        pytest.skip("needs the built studio: make web")


@contextmanager
def chromium() -> Iterator[Browser]:
    skip_without_browser()
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=OPTIONS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page with a log of its requests and errors."""

    page: Page
    foreign: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def check(self) -> None:
        assert self.foreign == [], "requests left the machine"
        assert self.refused == [], "the content policy refused something"
        assert self.failures == [], "errors in the page"


@contextmanager
def watched(
    browser: Browser, url: str, width: int = 1440, height: int = 900, **options: Any
) -> Iterator[Watched]:
    """A page with its own context on this server; requests to other hosts are recorded."""
    context = browser.new_context(
        base_url=url, viewport={"width": width, "height": height}, reduced_motion="reduce", **options
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    found = Watched(page)
    context.expose_function("policyRefused", lambda text: found.refused.append(text))
    context.add_init_script(_WATCH)
    own = urlsplit(url).netloc

    def note(request: Request) -> None:
        if urlsplit(request.url).netloc not in (own, ""):
            found.foreign.append(request.url)

    context.on("request", note)
    page.on("pageerror", lambda error: found.failures.append(str(error)))
    try:
        yield found
        found.check()
    finally:
        context.close()


@dataclass
class Writer:
    """The summarizer's model: `gate` delays it, `broken` makes it fail."""

    gate: threading.Event = field(default_factory=threading.Event)
    broken: bool = False
    asked: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    def __call__(self, messages: list[Any], tools: list[Any]) -> str:
        self.asked += 1
        self.gate.wait(120)
        if self.broken:
            raise RuntimeError("the summarizer is down")
        return SUMMARY


@dataclass
class Stage:
    """The server, its model and its summarizer, as a test sets them."""

    client: httpx2.Client
    model: RuleModel
    writer: Writer

    @property
    def url(self) -> str:
        return str(self.client.base_url).rstrip("/")

    def session(self, messages: list[dict[str, Any]] | None = None, **settings: Any) -> str:
        made = new_session(self.client, **{"title": "Moving the cottages", **settings})
        if messages:
            answer = self.client.post(f"/api/sessions/{made}/import", json={"messages": messages})
            assert answer.status_code == 200, answer.text
        return made

    def get(self, session: str, rest: str = "", **params: Any) -> Any:
        return self.client.get(f"/api/sessions/{session}{rest}", params=params).json()

    def post(self, session: str, rest: str, body: Any) -> Any:
        answer = self.client.post(f"/api/sessions/{session}{rest}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()


def until(page: Page, holds: Callable[[], bool], what: str) -> None:
    """Waits for what `expect` cannot see. Held requests pass through this thread, so it must not block."""
    for _ in range(PATIENCE // 20):
        if holds():
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"waited for {what}")


def until_half(page: Page, model: RuleModel) -> None:
    until(page, model.half.is_set, "half a reply")


def send(page: Page, text: str) -> None:
    """Types and presses Enter, once the page may send: a new page first asks whether a reply is running."""
    page.get_by_label("Message Compact").fill(text)
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_enabled()
    page.get_by_label("Message Compact").press("Enter")


def set_hidden(page: Page, hidden: bool) -> None:
    """Tells the page that its tab is in the background, or not: without a screen every tab is visible."""
    state = "hidden" if hidden else "visible"
    page.evaluate(
        """state => {
          Object.defineProperty(document, "visibilityState", {configurable: true, get: () => state});
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        state,
    )


def to_the_top(page: Page) -> None:
    """Scrolls up as a hand does until the first message is there: a thread that loads stays at its end."""
    first = page.get_by_role("article", name=re.compile(", m0$"))
    up = """box => { box.dispatchEvent(new WheelEvent("wheel", {bubbles: true})); box.scrollTo(0, 0); }"""

    def is_there() -> bool:
        page.get_by_role("log").evaluate(up)
        return first.count() == 1

    until(page, is_there, "the first message")


def drawn(page: Page) -> None:
    """Waits for two frames: what the last event changed is on the screen."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def replied(page: Page, text: str) -> None:
    """Waits until the reply with this text is complete and the exchange over: the state is then final."""
    expect(page.get_by_role("log")).to_contain_text(text)
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def talk(turns: int, words: int = 80, start: int = 0) -> list[dict[str, Any]]:
    """User and assistant in turn, about `words` words each; no two calls return the same text.

    For an equal history the summary would already be known, and the summarizer would not be called.
    """
    number = next(_TALKS)
    filler = "the cottage by the lake has a price for every week of the season. " * 40
    messages: list[dict[str, Any]] = []
    for turn in range(start, start + turns):
        text = " ".join(filler.split()[:words])
        messages.append({"role": "user", "content": f"Question {turn}: talk {number}, {text}"})
        messages.append({"role": "assistant", "content": f"Answer {turn}: talk {number}, {text}"})
    return messages


def work(steps: int, lines: int = 40) -> list[dict[str, Any]]:
    """One task and many tool steps with long outputs."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the export fails."}]
    for step in range(steps):
        call = {"name": "read_file", "arguments": f'{{"path": "src/part_{step}.py"}}'}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{step}", "type": "function", "function": call}],
            }
        )
        output = "\n".join(f"{line:4} value_{step}_{line} = compute({line})" for line in range(lines))
        messages.append({"role": "tool", "tool_call_id": f"call_{step}", "content": output})
    messages.append({"role": "assistant", "content": "The export fails because part_3 reads an old path."})
    return messages
