"""The recall tool: offered to the model once something was compacted, and answered here.

The client never sees it: a reply that calls the tool is answered with what recall finds, and the model is
called again. For that, a reply has to be read completely before it is forwarded, so it is an option.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence

from compact.models._http import Trouble
from compact.server.gateway.replies import Call, Json, Reply, read_reply, trouble_in
from compact.server.gateway.upstream import Answer
from compact.server.gateway.wire import CHAT, MESSAGES, RESPONSES, Api, Request
from compact.server.http.bodies import json_bytes

NAME = "compact_recall"
MOST_ROUNDS = 4
_WHAT_FOR = (
    "Looks up earlier messages of this conversation that were summarized, or tool output that was cleared. "
    "Give a handle from the text (r-… or s-…), or a few words to search for."
)
_SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "A handle, or words to search for."}},
    "required": ["query"],
}
_PERHAPS_OUR_TOOL = (Trouble.BAD_REQUEST, Trouble.NOT_FOUND)
LookUp = Callable[[str], str]
"""Turns a query into what was found, as text for the model."""
_LATER = f"Not run: what {NAME} found had to come first. Call it again if you still need it."


async def answered(
    api: Api, body: bytes, first: Answer, ask: Callable[[bytes], Awaitable[Answer]], look_up: LookUp
) -> Answer:
    """The reply for the client: the first one that does not call our tool. `first` is the reply to `offered`.

    A model that keeps calling gets its last request without the tool. If that does not help, or what was
    found is too much for it, the client's own request is answered: it has nothing of ours in it. The same
    happens if the provider rejects the first one, perhaps because the model takes no tools.
    """
    if trouble_in(first) in _PERHAPS_OUR_TOOL:
        return await ask(body)
    asked, answer = offered(api, body), first
    for left in reversed(range(MOST_ROUNDS)):
        reply = _calling(api, answer)
        if reply is None:
            return answer
        asked = await asyncio.to_thread(_continued, api, asked, reply, look_up)
        answer = await ask(asked if left else _without_tool(api, asked))
        if answer.status != 200:
            break
    return answer if answer.status == 200 and _calling(api, answer) is None else await ask(body)


def may_offer(request: Request) -> bool:
    """Not if a reply has several choices, one of which may call our tool."""
    body = request.body
    return body.get("n") in (None, 1) and isinstance(body.get("tools"), list | None)


def offered(api: Api, body: bytes) -> bytes:
    """The body with our tool after the others."""
    value = json.loads(body)
    return json_bytes({**value, "tools": [*(value.get("tools") or []), _tool(api)]})


def _without_tool(api: Api, body: bytes) -> bytes:
    """The last body: the model can no longer call our tool, but can call every tool of the client.

    If the client has none, ours stays in the list, since a provider requires the tools that a prompt has
    calls of; then the model may call nothing.
    """
    value = json.loads(body)
    own = [tool for tool in value["tools"] if tool != _tool(api)]
    if own:
        return json_bytes({**value, "tools": own})
    return json_bytes({**value, "tool_choice": {"type": "none"} if api is MESSAGES else "none"})


def _tool(api: Api) -> Json:
    if api is MESSAGES:
        return {"name": NAME, "description": _WHAT_FOR, "input_schema": _SCHEMA}
    described = {"name": NAME, "description": _WHAT_FOR, "parameters": _SCHEMA}
    return {"type": "function", "function": described} if api is CHAT else {"type": "function", **described}


def _calling(api: Api, answer: Answer) -> Reply | None:
    """The reply, if it calls our tool."""
    reply = read_reply(api, answer.content_type, answer.content) if answer.status == 200 else None
    return reply if reply is not None and any(call.name == NAME for call in reply.calls) else None


def _continued(api: Api, body: bytes, reply: Reply, look_up: LookUp) -> bytes:
    """The next request: the previous one, the whole reply, and a result for each of its calls."""
    value = json.loads(body)
    found = [(call.id, look_up(_query(call)) if call.name == NAME else _LATER) for call in reply.calls]
    results: list[Json]
    if api is MESSAGES:
        blocks = [{"type": "tool_result", "tool_use_id": name, "content": text} for name, text in found]
        results = [{"role": "user", "content": blocks}]
    elif api is CHAT:
        results = [{"role": "tool", "tool_call_id": name, "content": text} for name, text in found]
    else:
        results = [{"type": "function_call_output", "call_id": name, "output": text} for name, text in found]
    unstored = api is RESPONSES and value.get("store") is False
    turn = _without_ids(reply.turn) if unstored else reply.turn
    return json_bytes({**value, api.messages: [*value[api.messages], *turn, *results]})


def _without_ids(turn: Sequence[Json]) -> list[Json]:
    """The items of a response that the provider did not keep, so that it cannot look them up."""
    kept = [item for item in turn if item.get("type") != "reasoning" or item.get("encrypted_content")]
    return [{name: value for name, value in item.items() if name != "id"} for item in kept]


def _query(call: Call) -> str:
    given = call.arguments
    try:
        return str((json.loads(given) if isinstance(given, str) else given).get("query", ""))
    except (ValueError, AttributeError):
        return str(given)
