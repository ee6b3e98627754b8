"""The trace viewer on the trace service itself, with real events of a compaction."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from compact import CompactConfig, CompactManager
from support.browser import COUNT_READS, LEAPS, SCROLL, drawn, set_hidden, talk, until, watched
from support.trace_service import span, trace_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with trace_service(tmp_path_factory.mktemp("traces") / "traces.db") as client:
        url = str(client.base_url).rstrip("/")
        config = CompactConfig(
            model="gpt-4o",
            max_context_tokens=4_000,
            archive={"adapter": "none"},
            tracing={"ariadne_url": url},
        )
        with CompactManager(config) as manager:
            manager.preflight("cottages", talk(26))
            manager.flush()
        yield client


@pytest.fixture
def page(service: httpx2.Client, browser: Browser) -> Iterator[Page]:
    with watched(browser, str(service.base_url).rstrip("/")) as found:
        refused: list[str] = []
        found.page.on("response", lambda one: refused.append(one.url) if one.status >= 400 else None)
        yield found.page
        assert refused == [], "the page asked for something that this server does not have"


def many(count: int, trace: str) -> list[dict[str, Any]]:
    now = time.time()
    spans: list[dict[str, Any]] = [{"type": "trace", "trace_id": trace, "name": f"Many spans: {trace}"}]
    for number in range(count):
        spans.append(
            span(
                trace,
                f"n{number}",
                parent_id=None if number == 0 else f"n{(number - 1) // 8}",
                name=f"step {number}",
                kind="generation" if number % 3 else "function",
                started_at=now + number * 0.01,
                ended_at=now + number * 0.01 + 0.4,
                status="error" if number % 97 == 5 else "ok",
                data={"usage": {"input_tokens": number * 10}, "note": "x" * 200},
            )
        )
    return spans


def ingest(service: httpx2.Client, events: list[dict[str, Any]]) -> None:
    for start in range(0, len(events), 1_000):
        assert service.post("/ingest", json={"batch": events[start : start + 1_000]}).status_code == 200


@pytest.mark.spec("S4.13", part="page")
def test_spans_bars_and_an_inspector_with_summary_decision_and_counts(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Trace list").get_by_role("link").filter(has_text="compact cottages").click()
    tree = page.get_by_role("treegrid", name="Spans")
    for name in ("compact.token_estimate", "compact.trigger_decision", "compact.summary_created"):
        expect(tree.get_by_role("row").filter(has_text=name).first).to_be_visible()
    row = tree.get_by_role("row").filter(has_text="compact.summary_created").first
    took = row.get_by_role("gridcell").nth(1)
    expect(took).to_have_attribute("aria-label", re.compile(r"took [\d.]+ (ms|s)"))
    bar = took.locator("i").bounding_box()
    assert bar and bar["width"] >= 3
    row.click()
    inspector = page.get_by_role("complementary", name="Inspector")
    expect(inspector).to_contain_text("Summary")
    expect(inspector.get_by_label("Summary", exact=True).last).to_contain_text("##")
    expect(inspector).to_contain_text("Policy decision")
    expect(inspector).to_contain_text("yes, overflow")
    expect(inspector).to_contain_text("Token counts")
    expect(inspector).to_contain_text("Before")
    inspector.get_by_role("tab", name="Raw").click()
    expect(inspector.get_by_label("Raw span")).to_contain_text('"summary_tokens"')
    page.wait_for_url(re.compile("span="))
    address = page.url
    page.goto("/traces")
    page.goto(address)
    expect(page.get_by_role("row", selected=True)).to_contain_text("compact.summary_created")


@pytest.mark.spec("S4.13", part="page")
def test_keys_search_filters_and_the_live_tail(page: Page, service: httpx2.Client) -> None:
    ingest(service, many(40, "keys"))
    page.goto("/traces/keys")
    tree = page.get_by_role("treegrid", name="Spans")
    expect(tree.get_by_role("row").first).to_be_visible()
    tree.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("row", selected=True)).to_contain_text("step 0")
    page.keyboard.press("ArrowLeft")
    expect(tree.get_by_role("row")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("w")
    page.wait_for_url(re.compile("t1="))
    page.keyboard.press("f")
    page.wait_for_url(lambda url: "t1=" not in url)
    page.get_by_label("Search in this trace").fill("step 39")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 1")).to_be_visible()
    expect(page.get_by_role("row", selected=True)).to_contain_text("step 39")
    page.get_by_label("Search in this trace").fill("")
    page.get_by_role("region", name="Trace", exact=True).get_by_role("button", name="Errors 1").click()
    expect(tree.get_by_role("row").filter(has_text="step 5")).to_be_visible()
    expect(tree.get_by_role("row")).to_have_count(2)
    # Choosing a span paused the tail: new events are counted, nothing moves.
    expect(page.get_by_text("Paused")).to_be_visible()
    service.post("/ingest", json=span("later", "s1", name="Later"))
    expect(page.get_by_text("1 new event", exact=True)).to_be_visible()
    expect(page.get_by_label("Trace list")).not_to_contain_text("Later")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_label("Trace list")).to_contain_text("Later")


@pytest.mark.spec("S4.13", part="page")
def test_the_list_is_filtered_and_stays_so_beside_a_trace(page: Page, service: httpx2.Client) -> None:
    now = time.time()
    ingest(
        service,
        [
            span("slow", "1", name="A slow one", started_at=now, ended_at=now + 12),
            span("failed", "1", name="A failed one", started_at=now, ended_at=now + 1, status="error"),
        ],
    )
    page.goto("/traces")
    found = page.get_by_label("Trace list").get_by_role("link")
    chips = page.get_by_role("group", name="Status")
    chips.get_by_role("button", name="Slow").click()
    expect(found.filter(has_text="A slow one")).to_be_visible()
    expect(found.filter(has_text="A failed one")).to_have_count(0)
    chips.get_by_role("button", name=re.compile("^Errors")).click()
    expect(found.filter(has_text="A failed one")).to_be_visible()
    expect(found.filter(has_text="A slow one")).to_have_count(0)
    chips.get_by_role("button", name="Compacted").click()
    expect(found).to_have_count(1)
    expect(found).to_contain_text("compact cottages")
    expect(found).to_contain_text("1 compaction")
    found.click()
    page.wait_for_url(re.compile("status=compacted"))
    expect(found).to_have_count(1)
    page.reload()
    expect(chips.get_by_role("button", name="Compacted")).to_have_attribute("aria-pressed", "true")


@pytest.mark.spec("S4.13", part="page")
def test_zoom_pan_brush_filters_search_and_a_link_that_reopens_it_all(
    page: Page, service: httpx2.Client
) -> None:
    ingest(service, many(24, "view"))
    page.goto("/traces/view")
    tree = page.get_by_role("treegrid", name="Spans")
    rows = tree.get_by_role("row")
    inside = page.get_by_role("region", name="Trace", exact=True)
    expect(rows).to_have_count(24)
    expect(rows.filter(has=page.get_by_text("step 3", exact=True))).to_contain_text("30")  # its input tokens

    def asked(name: str) -> float:
        return float(re.search(rf"[?&]{name}=([\d.]+)", page.url)[1])  # type: ignore[index]

    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url(re.compile("t1="))
    width = asked("t1") - asked("t0")
    page.keyboard.press("a")
    page.wait_for_url(lambda url: "t0=" not in url or float(re.search(r"t0=([\d.]+)", url)[1]) < 150)  # type: ignore[index]
    page.get_by_role("button", name="Zoom out").click()
    page.get_by_role("button", name="Fit").click()
    page.wait_for_url(lambda url: "t1=" not in url)
    strip = page.get_by_role("img", name="Overview of the whole trace")
    box = strip.bounding_box()
    assert box and width > 0
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile("t0="))
    whole = 630.0  # 23 steps of 10 ms and the last one's 400
    assert abs(asked("t0") - whole * 0.25) < 20 and abs(asked("t1") - whole * 0.5) < 20
    tree.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_url(lambda url: float(re.search(r"t1=([\d.]+)", url)[1]) < whole * 0.5)  # type: ignore[index]
    page.get_by_label("Search in this trace").fill("step 1")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 11")).to_be_visible()
    page.get_by_role("button", name="Next hit").click()
    expect(page.get_by_text("2 of 11")).to_be_visible()
    page.get_by_role("button", name="Previous hit").click()
    expect(page.get_by_text("1 of 11")).to_be_visible()
    expect(page.get_by_role("row", selected=True).locator("mark")).to_have_text("step 1")
    rows.filter(has=page.get_by_text("step 2", exact=True)).get_by_role("button", name="Collapse").click()
    before = rows.count()
    inside.get_by_role("button", name=re.compile("^Slow")).click()
    page.get_by_label("Kind").select_option("tool")
    page.wait_for_url(re.compile("closed=n2.*kind=tool|kind=tool.*closed=n2"))
    until(page, lambda: 0 < rows.count() < before, "fewer rows")
    shown, address, others = tree.inner_text(), page.url, rows.count()
    page.goto("/traces")
    page.goto(address)
    expect(rows).to_have_count(others)
    expect(page.get_by_text("1 of 11")).to_be_visible()
    expect(inside.get_by_role("button", name=re.compile("^Slow"))).to_have_attribute("aria-pressed", "true")
    until(page, lambda: tree.inner_text() == shown, "the same rows")
    assert page.url == address


def test_an_answer_to_an_earlier_question_does_not_replace_a_later_one(
    page: Page, service: httpx2.Client
) -> None:
    now = time.time()
    ingest(service, [span("late", "1", name="A late one", started_at=now, ended_at=now + 1, status="error")])
    held: list[Route] = []
    page.route("**/traces?limit=100", lambda route: held.append(route))
    page.goto("/traces")
    until(page, lambda: bool(held), "the whole list to be asked for")
    page.get_by_role("group", name="Status").get_by_role("button", name="Compacted").click()
    found = page.get_by_label("Trace list").get_by_role("link")
    expect(found).to_have_count(1)
    with page.expect_response("**/traces?limit=100"):
        held[0].continue_()
    drawn(page)
    expect(found).to_have_count(1)


def test_what_arrives_before_the_tail_is_open_is_listed_too(page: Page, service: httpx2.Client) -> None:
    held: list[Route] = []
    page.route("**/events", lambda route: held.append(route))
    page.goto("/traces")
    until(page, lambda: bool(held), "the tail to be asked for")
    ingest(service, [span("early", "1", name="An early one", started_at=time.time())])
    held[0].continue_()
    expect(page.get_by_label("Trace list")).to_contain_text("An early one")


@pytest.mark.spec("S4.13", part="page")
def test_what_arrives_in_the_background_is_listed_when_the_tab_is_looked_at(
    page: Page, service: httpx2.Client
) -> None:
    page.goto("/")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    ingest(service, many(1, "seen"))
    listed = page.get_by_label("Trace list").get_by_role("link")
    expect(listed.filter(has_text="Many spans: seen")).to_have_count(1)
    asked: list[Request] = []
    page.on("request", lambda one: asked.append(one) if one.url.endswith("/events") else None)
    set_hidden(page, True)
    ingest(service, many(1, "unseen"))
    set_hidden(page, False)
    expect(listed.filter(has_text="Many spans: unseen")).to_have_count(1)
    # It goes on behind what it had got.
    assert [int(one.headers["last-event-id"]) > 0 for one in asked] == [True]


def test_scrolling_pauses_the_tail_and_resume_shows_what_waited(page: Page, service: httpx2.Client) -> None:
    ingest(service, many(200, "tail"))
    page.goto("/traces/tail")
    tree = page.get_by_role("treegrid", name="Spans")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_text("200 spans").first).to_be_visible()
    tree.hover()
    page.mouse.wheel(0, 600)
    expect(page.get_by_text("Paused")).to_be_visible()
    for number in range(24):
        service.post("/ingest", json=span("tail", f"late{number}", parent_id="n0", name=f"late {number}"))
    expect(page.get_by_text("24 new events")).to_be_visible()
    expect(page.get_by_text("200 spans").first).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_text("224 spans").first).to_be_visible()


def test_five_thousand_spans_stay_fluid(page: Page, service: httpx2.Client) -> None:
    """A frame has as much to read, build and draw as with 300 spans: only the rows on the screen count."""
    page.add_init_script(COUNT_READS)
    ingest(service, many(300, "few"))
    ingest(service, many(5_000, "many"))
    frames, leaps, zooms = {}, {}, {}
    for name in ("few", "many"):
        start = time.monotonic()
        page.goto(f"/traces/{name}")
        tree = page.get_by_role("treegrid", name="Spans")
        expect(tree.get_by_role("row").first).to_be_visible()
        painted = time.monotonic() - start
        assert tree.get_by_role("row").count() < 120
        frames[name] = page.evaluate(SCROLL, '[role="treegrid"]')
        leaps[name] = page.evaluate(LEAPS, '[role="treegrid"]')
        tree.get_by_role("row").last.click()
        expect(page.get_by_role("complementary", name="Inspector")).to_be_visible()
        before = page.evaluate("window.reads")
        for key in "wdsawdsa":
            page.keyboard.press(key)
        page.wait_for_url(lambda url: "t1=" not in url)
        drawn(page)
        zooms[name] = page.evaluate("window.reads") - before
        print(
            f"\n{name} spans: first rows after {painted:.2f} s, {frames[name]}, {leaps[name]}, {zooms[name]}"
        )
    assert frames["many"]["elements"] < 1.5 * frames["few"]["elements"]
    assert leaps["many"]["built"] < 1.5 * leaps["few"]["built"]
    # See the list of messages: where frames are late, a list that rests is drawn again.
    assert leaps["many"]["reads"] < 3 * leaps["few"]["reads"]
    assert zooms["many"] < 1.5 * zooms["few"]


def test_the_tail_can_be_paused_on_a_telephone(service: httpx2.Client, browser: Browser) -> None:
    with watched(browser, str(service.base_url).rstrip("/"), 400, 800) as found:
        found.page.goto("/traces")
        expect(found.page.get_by_role("button", name="Pause")).to_be_in_viewport(ratio=1)
