"""What the gateway costs: a request that fits, against a bare reverse proxy; and many streams at once.

    python benchmarks/gateway_cost.py [--rounds 40] [--streams 50]

An instant upstream, a proxy built on the same libraries that reads nothing, and the gateway with its database
each run in a separate process on loopback. The conversation of 100,000 tokens grows by a turn with every
request, as in real use. Prints ratios of medians in one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from typing import Any

import httpx2
import uvicorn

from compact import CompactConfig, CompactManager
from compact.server.gateway.app import create_app
from compact.server.gateway.settings import GatewaySettings
from compact.server.http.running import Service, bound
from compact.stores import open_store

ANSWER = json.dumps(
    {"id": "1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}}]}
).encode()
PIECES = 20


async def upstream(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    more, size = True, 0
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    streams = scope["path"].endswith("/stream") or b"stream=1" in scope["query_string"]
    kind = b"text/event-stream" if streams else b"application/json"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    if streams:
        for number in range(PIECES):
            await send({"type": "http.response.body", "body": b"data: %d\n\n" % number, "more_body": True})
            await asyncio.sleep(0.01)
    await send({"type": "http.response.body", "body": b"" if streams else ANSWER})


def bare(target: str) -> Any:
    client = httpx2.AsyncClient(verify=False, trust_env=False, timeout=60)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        url = f"{target}{scope['path']}?{scope['query_string'].decode()}"
        headers = [(k, v) for k, v in scope["headers"] if k not in (b"host", b"content-length")]
        request = client.build_request("POST", url, headers=headers, content=body)
        response = await client.send(request, stream=True)
        sent = [(k.lower(), v) for k, v in response.headers.raw if k.lower() != b"transfer-encoding"]
        await send({"type": "http.response.start", "status": response.status_code, "headers": sent})
        async for chunk in response.aiter_raw():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        await response.aclose()

    return app


def run(kind: str, target: str, store: str, pipe: Any) -> None:
    listening = bound("127.0.0.1", 0)
    pipe.send(f"http://127.0.0.1:{listening.getsockname()[1]}")
    if kind == "gateway":
        config = CompactConfig(max_context_tokens=400_000, archive={"adapter": "none"}, strip_meta=True)
        manager = CompactManager(config, store=open_store(store))
        Service(create_app(GatewaySettings(upstream=target, port=0), manager), "127.0.0.1").run([listening])
        return
    app = upstream if kind == "upstream" else bare(target)
    uvicorn.Server(uvicorn.Config(app, log_level="critical", http="h11", lifespan="off")).run([listening])


def start(kind: str, target: str = "", store: str = "") -> tuple[multiprocessing.Process, str]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=run, args=(kind, target, store, theirs), daemon=True
    )
    process.start()
    return process, ours.recv()


def conversation(tokens: int) -> list[dict[str, str]]:
    words = "the harbor keeps a ledger of every ship and the fee that it paid on the day it came in "
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"{n}: {words * 10}"} for n in range(tokens // 200)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--streams", type=int, default=50)
    options = parser.parse_args()
    processes = []
    first, target = start("upstream")
    processes.append(first)
    urls = {"direct": target}
    folder = tempfile.TemporaryDirectory()
    for kind in ("bare", "gateway"):
        process, urls[kind] = start(kind, target, f"sqlite:///{folder.name}/gateway.db")
        processes.append(process)
    try:
        with folder, httpx2.Client(verify=False, trust_env=False, timeout=60) as client:
            for url in urls.values():
                wait(client, url)
            one_by_one(client, urls, options.rounds)
            asyncio.run(all_at_once(urls, options.streams))
    finally:
        for process in processes:
            process.kill()


def wait(client: Any, url: str) -> None:
    for _ in range(400):
        try:
            client.post(f"{url}/v1/chat/completions", content=b"{}", headers=JSON)
            return
        except httpx2.HTTPError:
            time.sleep(0.05)
    raise SystemExit(f"{url} did not start")


JSON = {"content-type": "application/json"}


def one_by_one(client: Any, urls: dict[str, str], rounds: int) -> None:
    talk = conversation(100_000)
    times: dict[str, list[float]] = {name: [] for name in urls}
    for number in range(rounds):
        talk += [{"role": "user", "content": f"Go on {number}."}, {"role": "assistant", "content": "Done."}]
        body = json.dumps({"model": "gpt-4o", "messages": talk}).encode()
        for name, url in urls.items():
            began = time.perf_counter()
            assert client.post(f"{url}/v1/chat/completions", content=body, headers=JSON).status_code == 200
            times[name].append(time.perf_counter() - began)
    print(f"a request of 100,000 tokens ({len(body):,} bytes), median of {rounds}:")
    middle = {name: statistics.median(found) for name, found in times.items()}
    for name, value in middle.items():
        first = times[name][0] * 1000
        print(
            f"  {name:<8} {value * 1000:7.1f} ms   {value / middle['bare']:.2f} x bare   first {first:.0f} ms"
        )


async def all_at_once(urls: dict[str, str], streams: int) -> None:
    async with httpx2.AsyncClient(verify=False, trust_env=False, timeout=60) as client:
        body = json.dumps({"model": "gpt-4o", "messages": conversation(10_000)}).encode()
        taken: dict[str, float] = {}
        for name, url in urls.items():
            began = time.perf_counter()

            async def one(url: str = url) -> int:
                answer = await client.post(f"{url}/v1/chat/completions?stream=1", content=body, headers=JSON)
                return answer.text.count("data:")

            found = await asyncio.gather(*(one() for _ in range(streams)))
            assert found == [PIECES] * streams, found
            taken[name] = time.perf_counter() - began
    print(f"{streams} streams at once, each of {PIECES} pieces:")
    for name, value in taken.items():
        print(f"  {name:<8} {value:7.2f} s    {value / taken['bare']:.2f} x bare")


if __name__ == "__main__":
    main()
