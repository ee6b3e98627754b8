"""The gateway as an ASGI application: requests that fit pass byte for byte, the others are compacted."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from compact.errors import CompactError
from compact.manager import CompactManager
from compact.models._http import Trouble
from compact.server.gateway import recalling
from compact.server.gateway.compacting import Compaction, Ready
from compact.server.gateway.connection import while_connected
from compact.server.gateway.delivery import Delivery
from compact.server.gateway.exchange import Exchange
from compact.server.gateway.metrics import Metrics
from compact.server.gateway.originals import recalled_text
from compact.server.gateway.replies import trouble_in
from compact.server.gateway.settings import GatewaySettings
from compact.server.gateway.upstream import Answer, Arriving, Headers, Upstream, forwarded, readable
from compact.server.gateway.wire import ROUTES, error_body, spoken_at
from compact.server.http.guard import App, Guard, Message, Receive, Send, as_problem
from compact.server.http.problems import Problem
from compact.server.http.settings import JSON

_JSON = (b"content-type", JSON.encode())
_OWN_PATHS = ("/healthz", "/metrics")
_MOST_USAGE_BYTES = 2_000_000


def create_app(settings: GatewaySettings, manager: CompactManager) -> App:
    """The gateway behind the guard; it closes the manager when it ends."""
    return Guard(Gateway(settings, manager), settings.guard, _refusal)


def _refusal(scope: Message, problem: Problem) -> tuple[str, bytes]:
    """In the envelope of the client's provider; our own pages have the usual one."""
    if scope["path"] in _OWN_PATHS:
        return as_problem(scope, problem)
    api = spoken_at(scope["path"], scope["headers"])
    return JSON, error_body(api, problem.status, str(problem), problem.code)


class Gateway:
    """Forwards requests. Keys pass through; they are neither stored nor logged."""

    def __init__(self, settings: GatewaySettings, manager: CompactManager) -> None:
        self._settings = settings
        self._compaction = Compaction(
            manager, settings.wait_seconds, settings.fitting_seconds, settings.memory_bytes
        )
        self._upstream = Upstream(settings.upstream, settings.first_byte_seconds)
        self._metrics = Metrics()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["path"] == "/healthz":
            await Delivery(send, []).answer(200, b'{"status":"ok"}', [_JSON])
        elif scope["path"] == "/metrics":
            text = (b"content-type", b"text/plain; version=0.0.4")
            await Delivery(send, []).answer(200, self._metrics.text().encode(), [text])
        else:
            await self._pass_on(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.startup":
                # The tokenizer's tables take a second to load: before the first request, not during it.
                await asyncio.to_thread(self._compaction.warm)
            if event == "lifespan.shutdown":
                await self._upstream.close()
                await self._compaction.close()
            await send({"type": f"{event}.complete"})
            if event == "lifespan.shutdown":
                return

    async def _pass_on(self, scope: Message, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        exchange = self._read(scope, await _body(receive))
        await while_connected(partial(self._exchanged, exchange, began), receive, send)

    async def _exchanged(self, exchange: Exchange, began: float, send: Send) -> None:
        ready = self._compaction.grown(exchange) or await self._ready(exchange)
        overhead = time.perf_counter() - began
        self._metrics.took(overhead, ready)
        report = _report_headers(exchange, ready, overhead)
        usage, delivery = None, Delivery(send, report)
        try:
            ready, usage = await self._send(exchange, ready, delivery)
        except self._upstream.failures as error:
            self._metrics.unreachable += 1
            if delivery.begun:
                raise CompactError("The upstream broke off in the middle of its answer.") from error
            message = (
                f"The gateway could not reach its upstream ({type(error).__name__}). Nothing was changed; "
                "try again, or check --upstream."
            )
            await delivery.answer(502, error_body(exchange.api, 502, message), [_JSON])
        finally:
            self._compaction.answered(exchange, ready, usage)

    def _read(self, scope: Message, raw: bytes) -> Exchange:
        headers = {
            name.lower().decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        path = scope["path"]
        raw_path, query = scope.get("raw_path") or path.encode(), scope.get("query_string", b"")
        is_anthropic = spoken_at(path, scope["headers"]).error == "anthropic"
        api = ROUTES.get(path) if scope["method"] == "POST" else None
        bypass = headers.get("x-compact-bypass", "").lower() not in ("", "0", "false", "no")
        preset = headers.get("x-compact-preset", "")
        key = headers.get("authorization") or headers.get("x-api-key") or headers.get("api-key") or ""
        return Exchange(
            scope["method"],
            self._upstream.url(raw_path, query, is_anthropic),
            forwarded(scope["headers"]) if api is None else readable(forwarded(scope["headers"])),
            raw,
            api,
            preset=preset,
            session_name=headers.get("x-compact-session", ""),
            owners=(str((scope.get("state") or {}).get("tenant") or ""), key),
            counts_only=path.endswith("/count_tokens"),
            bypasses=bypass,
            smallest=self._compaction.smallest(preset),
        )

    async def _ready(self, exchange: Exchange) -> Ready:
        return await (self._compaction.shown if exchange.counts_only else self._compaction.ready)(exchange)

    async def _send(self, exchange: Exchange, ready: Ready, delivery: Delivery) -> tuple[Ready, Any]:
        """The reply, and the provider's count of it if known."""
        refusal: Answer | None = None
        for last_try in (False, True):
            # Behind announcements that the client has, a stream passes unread: nobody would answer our tool.
            recalls = self._recalls(exchange, ready) and not delivery.begun
            body = recalling.offered(exchange.api, ready.body) if recalls and exchange.api else ready.body
            asking = exchange.asking_unpacked if recalls else exchange.asking
            async with self._upstream.answered(*asking, body) as arriving:
                if refusal is not None and delivery.begun:
                    await self._stream_on(arriving, refusal, delivery)
                    return ready, None
                may_retry = ready.session != "" and not last_try
                if not recalls and not (may_retry and await self._is_refused(arriving, delivery)):
                    return ready, await self._stream(exchange, ready, arriving, delivery)
                answer = await self._upstream.whole(arriving)
            smaller = None if last_try else await self._after_overflow(exchange, ready, answer)
            if smaller is None:
                if recalls:
                    answer = await self._recalled(exchange, ready, answer)
                await delivery.whole(answer)
                return ready, None
            refusal, ready = answer, smaller
        raise AssertionError("the last try returns")

    def _recalls(self, exchange: Exchange, ready: Ready) -> bool:
        is_compacted = ready.prepared is not None and ready.prepared.record is not None
        may_offer = exchange.request is not None and recalling.may_offer(exchange.request)
        return self._settings.recall_tool and is_compacted and may_offer and not exchange.counts_only

    async def _is_refused(self, arriving: Arriving, delivery: Delivery) -> bool:
        """Whether to read it completely. Headers wait for a stream's first chunk, which may be an error."""
        if arriving.response.status_code >= 400:
            return True

        async def forward(announcements: bytes) -> None:
            await delivery.begin(arriving)
            await delivery.part(announcements)

        opening = await self._upstream.opening(arriving, forward) if arriving.is_stream else None
        return opening is not None and trouble_in(opening) is Trouble.TOO_LONG

    async def _after_overflow(self, exchange: Exchange, ready: Ready, answer: Answer) -> Ready | None:
        """If the provider says the prompt is too long: one hard compaction, sent once."""
        if exchange.request is None or trouble_in(answer) is not Trouble.TOO_LONG:
            return None
        self._metrics.overflows += 1
        return await self._compaction.smaller(exchange, ready)

    async def _stream(self, exchange: Exchange, ready: Ready, arriving: Arriving, delivery: Delivery) -> Any:
        await delivery.begin(arriving)
        kept: bytearray | None = bytearray() if _has_usage(exchange, ready, arriving.response) else None
        async for chunk in arriving.chunks():
            if kept is not None and len(kept) < _MOST_USAGE_BYTES:
                kept += chunk
            await delivery.part(chunk)
        await delivery.end()
        return None if kept is None else _usage_in(bytes(kept))

    async def _stream_on(self, arriving: Arriving, refusal: Answer, delivery: Delivery) -> None:
        """A second answer behind the announcements of the first one, which the client has: without its own.

        If that is none, the refusal of the first one follows.
        """
        if arriving.response.status_code >= 400 or not arriving.can_be_spliced:
            await delivery.whole(refusal)
            return
        await self._upstream.opening(arriving, _drop)
        arriving.taken_announcements()
        async for chunk in arriving.chunks():
            await delivery.part(chunk)
        await delivery.end()

    async def _recalled(self, exchange: Exchange, ready: Ready, first: Answer) -> Answer:
        """The reply after the model looked things up in this request."""
        request, record = exchange.request, ready.prepared.record if ready.prepared else None
        assert request is not None and record is not None

        def look_up(query: str) -> str:
            self._metrics.recalls += 1
            return recalled_text(request, record, query)

        ask = partial(self._upstream.ask, *exchange.asking_unpacked)
        return await recalling.answered(request.api, ready.body, first, ask, look_up)


def _has_usage(exchange: Exchange, ready: Ready, response: Any) -> bool:
    """Streams pass unread; a complete, uncompressed reply has the provider's count."""
    return (
        ready.session != ""
        and not exchange.counts_only
        and response.status_code == 200
        and "application/json" in response.headers.get("content-type", "")
        and "content-encoding" not in response.headers
    )


def _usage_in(raw: bytes) -> Any:
    try:
        usage = json.loads(raw).get("usage")
    except (ValueError, AttributeError):
        return None
    return usage if isinstance(usage, Mapping) else None


def _report_headers(exchange: Exchange, ready: Ready, overhead: float) -> Headers:
    unchanged = ready.body is exchange.raw
    facts = {
        "x-compact-overhead-ms": f"{overhead * 1000:.1f}",
        "x-compact-compacted": "0" if unchanged else "1",
    }
    if ready.session:
        facts["x-compact-session"] = ready.session
    if ready.before:  # Otherwise a problem came before the count.
        facts["x-compact-tokens-before"] = str(ready.before)
        facts["x-compact-tokens-after"] = str(ready.after)
    if ready.problem:
        facts["x-compact-problem"] = ready.problem
    return [(name.encode(), _header(value)) for name, value in facts.items()]


async def _drop(announcements: bytes) -> None: ...


def _header(value: str) -> bytes:
    return " ".join(value.split()).encode("ascii", "replace")[:500]


async def _body(receive: Receive) -> bytes:
    """The guard has already read it, so it arrives in one piece."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise CompactError("The client went away.")
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body
