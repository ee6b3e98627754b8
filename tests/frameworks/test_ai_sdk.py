"""The AI SDK with the npm package: `prepareStep` asks the server's `/api/compact` what to send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compact import count_tokens
from support.ai_sdk import ai_sdk
from support.strict_provider import ANSWER, PAGES, TASK, WINDOW, page_text, strict_provider
from support.studio import config, studio


@pytest.mark.spec("S5.12")
@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_goes_through_three_windows(tmp_path: Path, stream: bool) -> None:
    settings = config(max_context_tokens=WINDOW, counter="auto", policy=None)
    with studio(tmp_path, config=settings) as client, strict_provider() as server:
        url = str(client.base_url).rstrip("/")
        found = ai_sdk(server.url, task=TASK, stream=stream, compact={"url": url, "session": "s"})
        listed = client.get("/api/sessions").json()["sessions"]
    assert (found["text"], found["error"], found["problems"]) == (ANSWER, None, [])
    assert server.refusals == [] and server.read > PAGES
    assert sum(count_tokens(page_text(number)) for number in range(PAGES)) > 3 * WINDOW
    assert "COMPACT-SUMMARY" in str(server.requests[-1])
    assert found["compactions"] and all(one["after"] < one["before"] for one in found["compactions"])
    assert found["messages"] == 2 * PAGES + 1, "the caller keeps every message"
    assert listed == [], "what a program keeps itself is not among the chat's sessions"


@pytest.mark.spec("S5.12")
def test_without_us_the_same_run_fails() -> None:
    with strict_provider() as server:
        found = ai_sdk(server.url, task=TASK)
    assert found["text"] != ANSWER and "maximum context length" in found["error"]


def test_what_fits_goes_out_as_it_came_and_so_does_everything_when_the_server_is_down(tmp_path: Path) -> None:
    requests: list[Any] = []
    with studio(tmp_path, config=config(max_context_tokens=WINDOW)) as client:
        url = str(client.base_url).rstrip("/")
        for options in (None, {"url": url}):
            with strict_provider(pages=2) as server:
                found = ai_sdk(server.url, task=TASK, compact=options)
                assert (found["text"], found["problems"]) == (ANSWER, [])
            requests.append(server.requests)
    with strict_provider(pages=2) as server:
        found = ai_sdk(server.url, task=TASK, compact={"url": url})
        assert found["text"] == ANSWER and len(found["problems"]) == 3
    assert requests[0] == requests[1] == server.requests
