"""The page, the server and a real model's OpenAI-compatible server behind it."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

from compact.models.local import LocalChatModel
from compact.models.openai_chat import OpenAIChatModel
from support.browser import send, watched
from support.studio import config, new_session, studio


def test_a_real_model_answers_on_the_page(
    browser: Browser, tmp_path: Path, local_model: LocalChatModel
) -> None:
    # A client of its own: a studio closes its models when it ends, and others still need the server.
    model = OpenAIChatModel("smollm2", f"{local_model.url}/v1", label="SmolLM2")
    with studio(tmp_path, models={"local": model}, config=config(max_context_tokens=8_000)) as client:
        session = new_session(client, title="A real model")
        with watched(browser, str(client.base_url).rstrip("/")) as found:
            found.page.goto(f"/s/{session}")
            send(found.page, "Answer with one word: what color is the sky?")
            reply = found.page.get_by_role("article", name=re.compile("Assistant, m"))
            expect(reply).to_be_visible(timeout=60_000)
            expect(found.page.get_by_role("button", name="Send")).to_be_visible(timeout=60_000)
            stored = client.get(f"/api/sessions/{session}/messages").json()["messages"][-1]
            said = next(part["text"] for part in stored["parts"] if part["type"] == "text")
            assert stored["role"] == "assistant" and said.strip()
            expect(reply).to_contain_text(re.compile(re.escape(said.split()[0].strip("*`_#"))))
