"""A prompt that adds a little to one that passed goes on unread; everything else is read first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from compact.core.measure import FILE_BY_REFERENCE
from compact.server.gateway.compacting import Compaction
from compact.server.gateway.exchange import Exchange
from compact.server.gateway.known_prompts import KnownPrompt, KnownPrompts, added_to, most_tokens
from compact.server.gateway.wire import CHAT
from compact.stores.sql import SqlStore

WINDOW = 20_000
SAID = "every ship paid its fee in full, nothing is open here. " * 6


def talk(messages: int) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"Page {n}: {SAID}"} for n in range(messages)]


def sent(messages: list[Any], **more: Any) -> Exchange:
    body = json.dumps({"model": "gpt-4o", "messages": messages, "stream": False})
    given = {"session_name": "ledger", "owners": ("tenant", "key"), **more}
    return Exchange("POST", "", [], body.encode(), CHAT, **given)


def compaction(store: Any = None, **more: Any) -> Compaction:
    config = CompactConfig(
        max_context_tokens=WINDOW,
        counter="chars4",
        archive={"adapter": "none"},
        strip_meta=True,
        **more,
    )
    return Compaction(CompactManager(config, store=store), 20.0, 20.0)


async def exchanged(gateway: Compaction, exchange: Exchange, usage: Any = None) -> None:
    gateway.answered(exchange, await gateway.ready(exchange), usage)
    await gateway.settled()


def known_after(first: Exchange, then: Exchange, usage: Any = None, **more: Any) -> bool:
    async def run() -> bool:
        gateway = compaction(**more)
        await exchanged(gateway, first, usage)
        ready = gateway.grown(then)
        await gateway.close()
        return ready is not None and ready.body is then.raw and ready.session == then.session

    return asyncio.run(run())


NEXT = [{"role": "user", "content": "Go on."}]
FIRST = talk(40)


@pytest.mark.spec("S5.11")
def test_a_turn_more_is_known_to_fit() -> None:
    assert known_after(sent(FIRST), sent(FIRST + NEXT))


def by_reference(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}] * count}]


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(sent([*FIRST, {"role": "user", "content": "x" * 60_000}]), id="too much for sure"),
        pytest.param(sent(FIRST + by_reference(5)), id="a few bytes that stand for many tokens"),
        pytest.param(sent([{"role": "system", "content": "Other."}, *FIRST[3:], *NEXT]), id="another list"),
        pytest.param(sent(FIRST[:-1]), id="less"),
        pytest.param(sent(FIRST + NEXT, owners=("tenant", "other")), id="another key"),
        pytest.param(sent(FIRST + NEXT, session_name="b"), id="another session"),
        pytest.param(sent(FIRST + NEXT, preset="agent"), id="another preset"),
        pytest.param(sent(FIRST + NEXT, counts_only=True), id="a count"),
        pytest.param(sent(FIRST + NEXT, bypasses=True), id="a bypass"),
    ],
)
def test_what_may_need_more_is_read(then: Exchange) -> None:
    assert not known_after(sent(FIRST), then)


def test_a_policy_that_counts_turns_reads_every_request() -> None:
    assert not known_after(sent(FIRST), sent(FIRST + NEXT), preset="rolling")


def test_the_providers_count_decides_how_much_fits() -> None:
    """Ours says a quarter of the window; the provider says that it is nearly full."""
    assert not known_after(sent(FIRST), sent(FIRST + talk(10)), {"prompt_tokens": 15_000})
    assert known_after(sent(FIRST), sent(FIRST + talk(10)), {"prompt_tokens": 4_000})


@pytest.mark.parametrize("compact", ["due", "refused"])
def test_a_compaction_ends_it(compact: str) -> None:
    async def run() -> None:
        gateway = compaction()
        await exchanged(gateway, sent(FIRST))
        grown = sent(FIRST + NEXT)
        assert gateway.grown(grown) is not None
        if compact == "due":
            await exchanged(gateway, sent(talk(250)))
        else:
            refused = await gateway.ready(grown)
            smaller = await gateway.smaller(grown, refused)
            assert smaller is not None
            gateway.answered(grown, smaller)
            await gateway.settled()
        assert gateway.grown(sent(FIRST + NEXT * 2)) is None
        assert (await gateway.ready(sent(FIRST + NEXT * 2))).body != grown.raw
        await gateway.close()

    asyncio.run(run())


def test_neither_the_store_nor_the_body_is_read_before_it_goes_on(tmp_path: Any) -> None:
    class Watched(SqlStore):
        asked = 0

        def __getattribute__(self, name: str) -> Any:
            if name in ("append", "find", "memory", "records", "record_state", "remember"):
                Watched.asked += 1
            return super().__getattribute__(name)

    async def run() -> None:
        gateway = compaction(Watched(f"sqlite:///{tmp_path}/g.db"))
        await exchanged(gateway, sent(FIRST))
        asked, grown = Watched.asked, sent(FIRST + NEXT)
        ready = gateway.grown(grown)
        assert ready is not None and Watched.asked == asked and "request" not in vars(grown)
        assert ready.before == ready.after > 0
        gateway.answered(grown, ready)
        await gateway.settled()
        assert Watched.asked > asked, "it is stored afterwards"
        manager = gateway._manager
        assert len(list(manager._engine.store.originals(ready.session))) == len(FIRST) + 1
        await gateway.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("before", "now", "added"),
    [
        (b'{"a":[1],"t":2}', b'{"a":[1,3],"t":2}', b",3"),
        (b'{"a":[1]}', b'{"a":[1]}', b""),
        (b'{"a":[\n1\n]}', b'{"a":[\n1,\n1\n]}', b",\n1"),
        (b'{"m":"gpt-4","a":[1]}', b'{"m":"gpt-4o","a":[1]}', None),
        (b'{"a":[1]}', b'{"a":[2,1]}', None),
        (b'{"a":[1,2]}', b'{"a":[1]}', None),
        (b'{"a":[1],"t":2}', b'{"a":[1,3],"t":4}', None),
    ],
)
def test_only_whole_items_behind_what_was_there_are_an_addition(
    before: bytes, now: bytes, added: bytes | None
) -> None:
    assert added_to(before, now) == added


def test_the_bound_is_above_every_count() -> None:
    assert most_tokens(b"x" * 100) == 100
    assert most_tokens(b'{"type":"file"}') > FILE_BY_REFERENCE


def known(session: str, size: int) -> KnownPrompt:
    return KnownPrompt(b"caller", session, session.encode() * size, 1, 100)


def test_memory_is_bounded() -> None:
    prompts = KnownPrompts(most_bytes=100)
    is_kept: Callable[[str], bool] = lambda name: prompts.grown_to(b"caller", name.encode() * 40) is not None  # noqa: E731
    for name in "abc":
        prompts.keep(known(name, 40))
    assert [is_kept(name) for name in "abc"] == [False, True, True]
    prompts.keep(replace(known("b", 40), room=0))
    assert not is_kept("b") and is_kept("c")
    prompts.keep(known("d", 200))
    assert prompts._bytes == 0 and not prompts._kept
