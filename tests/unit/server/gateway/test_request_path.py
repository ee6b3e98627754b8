"""What a request waits for, and what it does not."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from compact import CompactConfig, CompactManager
from compact.server.gateway.compacting import Compaction
from compact.server.gateway.exchange import Exchange
from compact.server.gateway.running import serving
from compact.server.gateway.wire import CHAT as CHAT_API
from compact.stores import open_store
from compact.stores.sql import SqlStore
from support.gateway import gateway_settings
from support.providers import CHAT, providing

WINDOW = 6_000
LONG = "every ship paid its fee in full, nothing is open here. " * 6


def talk(turns: int) -> list[dict[str, str]]:
    said = [{"role": ("user", "assistant")[n % 2], "content": f"Page {n}: {LONG}"} for n in range(2 * turns)]
    return [*said, {"role": "user", "content": "Go on."}]


def manager(summarizer: Any = None, store: Any = None) -> CompactManager:
    config = CompactConfig(
        max_context_tokens=WINDOW,
        counter="chars4",
        archive={"adapter": "none"},
        strip_meta=True,
        policy={"trigger_pct": 0.6},
    )
    return CompactManager(config, summarizer, store)


def post(url: str, messages: list[Any], **more: str) -> httpx2.Response:
    body = json.dumps({"model": "gpt-4o", "messages": messages})
    headers = {"content-type": "application/json", **more}
    return httpx2.post(url + CHAT, content=body, headers=headers, timeout=30, trust_env=False)


class Slow:
    """A model that writes its summary when it is let."""

    def __init__(self) -> None:
        self.asked, self.may = threading.Event(), threading.Event()

    def summarize(self, request: Any) -> str:
        self.asked.set()
        assert self.may.wait(60)
        return "The pages were read one after the other, and all of them agree. " * 5


@pytest.mark.spec("S5.11")
def test_a_request_that_fits_does_not_wait_for_a_summary() -> None:
    slow = Slow()
    held = manager(slow)
    with (
        providing(window=WINDOW) as provider,
        serving(gateway_settings(provider.url, fitting_seconds=0), held) as url,
    ):
        messages = talk(25)
        first = post(url, messages)
        assert slow.asked.wait(60) and not slow.may.is_set()
        assert first.headers["x-compact-compacted"] == "0" and not first.headers.get("x-compact-problem")
        assert provider.prompts[-1].body["messages"] == messages
        slow.may.set()
        held_until(held, "compact.summary_created")
        messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "And now?"}]
        assert post(url, messages).headers["x-compact-compacted"] == "1"
        assert "all of them agree" in json.dumps(provider.prompts[-1].body)


def test_a_request_that_is_not_even_read_says_that_it_was_not_compacted() -> None:
    with providing(window=WINDOW) as provider, serving(gateway_settings(provider.url), manager()) as url:
        answer = post(url, talk(1)[:1])
        told = {name: value for name, value in answer.headers.items() if name.startswith("x-compact-")}
        assert told.pop("x-compact-overhead-ms") and told == {"x-compact-compacted": "0"}


def test_one_that_does_not_fit_waits() -> None:
    slow = Slow()
    with (
        providing(window=WINDOW) as provider,
        serving(gateway_settings(provider.url, fitting_seconds=0), manager(slow)) as url,
    ):
        threading.Thread(target=lambda: slow.asked.wait(60) and slow.may.set(), daemon=True).start()
        assert post(url, talk(60)).headers["x-compact-compacted"] == "1"
        assert not [one.refused for one in provider.asked if one.refused]


def test_what_fits_is_sent_before_it_is_stored(tmp_path: Path) -> None:
    """A database that answers late delays no request; what was sent is stored all the same."""
    may = threading.Event()

    class Late(SqlStore):
        def append(self, *given: Any, **named: Any) -> Any:
            assert may.wait(60)
            return super().append(*given, **named)

    held = manager(store=Late(f"sqlite:///{tmp_path}/g.db"))
    with (
        providing(window=WINDOW) as provider,
        serving(gateway_settings(provider.url), held) as url,
    ):
        answer = post(url, talk(12))
        assert answer.status_code == 200 and not may.is_set() and len(provider.prompts) == 1
        session = answer.headers["x-compact-session"]
        may.set()
    with open_store(f"sqlite:///{tmp_path}/g.db") as store:
        assert len(list(store.originals(session))) == len(talk(12)), "a stop waits for what is to be stored"


def test_where_a_preset_keeps_too_much_another_one_compacts() -> None:
    """The first two messages are `window`'s to keep, however large they are."""
    messages = [{"role": "user", "content": "Here is the log. " + LONG * 75}, *talk(12)[1:]]
    with (
        providing(window=WINDOW) as provider,
        serving(gateway_settings(provider.url), manager()) as url,
    ):
        answers = [post(url, messages, **{"x-compact-preset": "window"}) for _ in range(2)]
        assert [one.headers["x-compact-problem"] for one in answers] == ["compacted with preset budget"] * 2
        assert not [one.refused for one in provider.asked if one.refused]
        assert provider.prompts[0].raw == provider.prompts[1].raw


def held_until(manager: CompactManager, name: str) -> None:
    """Until the manager has emitted this event."""
    seen = threading.Event()
    while not any(event.name == name for event in manager.events):
        seen.wait(0.01)


def large_first_message(turns: int) -> list[Any]:
    return [{"role": "user", "content": "Here is the log. " + LONG * 75}, *talk(turns)[1:]]


def test_after_another_preset_compacted_a_refusal_is_answered_by_that_one() -> None:
    asked = {"x-compact-preset": "window"}
    with (
        providing(window=WINDOW) as provider,
        serving(gateway_settings(provider.url), manager()) as url,
    ):
        messages = large_first_message(12)
        assert post(url, messages, **asked).headers["x-compact-problem"] == "compacted with preset budget"
        provider.window = WINDOW // 2
        answer = post(url, [*messages, {"role": "assistant", "content": "Done."}, *talk(8)], **asked)
        assert answer.status_code == 200, answer.text
        assert [bool(one.refused) for one in provider.asked] == [False, True, False]


def test_a_session_that_fits_its_preset_again_is_counted_for_it_again() -> None:
    """What the provider counts corrects the preset that made that very prompt."""

    def sent(messages: list[Any]) -> Exchange:
        body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
        return Exchange("POST", "", [], body, CHAT_API, preset="window", session_name="ledger")

    async def run() -> None:
        compaction = Compaction(manager(), 20.0, 20.0)
        made = await compaction.ready(sent(large_first_message(12)))
        assert made.preset == "budget" and made.problem
        compaction.answered(sent(large_first_message(12)), made, {"prompt_tokens": 2 * made.after})
        await compaction.settled()
        exchange = sent(talk(14))
        fits = await compaction.ready(exchange)
        assert fits.preset == "window" and not fits.problem and fits.body is exchange.raw
        compaction.answered(exchange, fits, {"prompt_tokens": 3 * fits.after})
        await compaction.settled()
        assert exchange.request is not None
        sizes = {
            preset: await compaction.manager_for(exchange.request, preset).ausage(exchange.session, talk(14))
            for preset in ("window", "budget")
        }
        assert sizes["window"].tokens == pytest.approx(3 * fits.after, rel=0.01)
        assert sizes["budget"].tokens == pytest.approx(2 * fits.after, rel=0.01)
        await compaction.close()

    asyncio.run(run())


def test_the_count_of_what_went_out_uncompacted_does_not_correct_what_was_compacted_meanwhile() -> None:
    body = json.dumps({"model": "gpt-4o", "messages": talk(25)}).encode()
    exchange = Exchange("POST", "", [], body, CHAT_API, session_name="ledger")

    async def run() -> None:
        slow = Slow()
        compaction = Compaction(manager(slow), 20.0, 0.0)
        went = await compaction.ready(exchange)
        assert went.body is exchange.raw and exchange.request is not None
        slow.may.set()
        await compaction.settled()
        compaction.answered(exchange, went, {"prompt_tokens": went.after})
        await compaction.settled()
        held = compaction.manager_for(exchange.request, "")
        usage, sent = await held.ausage(exchange.session, talk(25)), await compaction.ready(exchange)
        assert sent.body is not exchange.raw and usage.tokens == sent.after < went.after // 2
        await compaction.close()

    asyncio.run(run())
