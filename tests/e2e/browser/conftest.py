"""One server and one browser for the tests of a file, and a new page for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from support.browser import Stage, Watched, Writer, chromium, watched
from support.providers import providing
from support.studio import RuleModel, config, studio


# Not for the whole run: Playwright gives this thread an event loop, and async tests start their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Stage]:
    writer = Writer()
    with providing(writer) as provider:
        summarizer = {
            "name": "openai",
            "model": "gpt-4o-mini",
            "base_url": f"{provider.url}/v1",
            "timeout": 90,  # held back by a test, not by a slow machine
        }
        model = RuleModel()
        with studio(tmp_path_factory.mktemp("studio"), model, config=config(summarizer=summarizer)) as client:
            yield Stage(client, model, writer)


@pytest.fixture
def stage(_server: Stage) -> Iterator[Stage]:
    yield _server
    _server.writer.broken = False
    _server.writer.gate.set()
    if _server.model.gate is not None:
        _server.model.gate.set()
    _server.model.gate = None
    _server.model.half.clear()


@pytest.fixture
def watch(stage: Stage, browser: Browser) -> Iterator[Watched]:
    with watched(browser, stage.url) as found:
        yield found


@pytest.fixture
def page(watch: Watched) -> Page:
    return watch.page
