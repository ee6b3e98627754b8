"""`demo`: a chat partner without a model, for trying the chat and the studio, and for tests.

It answers only from the conversation and says so. It looks up a question with the recall tool if that is
available, else in the prompt. A message that names another tool calls that tool.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from compact.evidence.reading import sentences
from compact.model.chat import CallMade, FinishReason, ReplyEnd, ReplyPiece, TextPiece
from compact.model.message import ToolCall
from compact.models._client import assistant, new_call_id

NAME = "demo"
MODEL = "compact-demo"
LABEL = "demo assistant (no model)"
RECALL = "recall_history"
_PACE = 0.01
"""Seconds between two words, so that a reply can be watched and stopped."""
_SHOWN = 3
_OWN_WEIGHT = 2.0
_LABEL_WEIGHT = 4.0
"""For a sentence that begins with a label from the question: "Open: …" is all about what is open."""
_WORD = re.compile(r"\w[\w'-]*")
_QUESTION = re.compile(r"[?？؟]")
_FRAME = re.compile(r"--- message (\d+), (\w+)[^\n]*\n(.*?)(?=\n--- message |\n\[|\Z)", re.DOTALL)
_QUOTED = re.compile(r"[\"“'‘]([^\"”'’]+)[\"”'’]")
_LABEL = re.compile(r"\W*([^\W\d_]+)\W*:\s")
_PAIR = re.compile(r"(\w+)\s*[=:]\s*(\"[^\"]*\"|[^\s,;]+)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class _Said:
    where: str
    text: str


class DemoChatModel:
    """A ChatModel without a model. `pace` is the seconds between two words."""

    model = MODEL
    label = LABEL

    def __init__(self, pace: float = _PACE) -> None:
        self._pace = pace

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Iterator[ReplyPiece]:
        for piece in _reply(messages, tools or (), max_tokens):
            if isinstance(piece, TextPiece) and self._pace:
                time.sleep(self._pace)
            yield piece

    async def astream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[ReplyPiece]:
        for piece in _reply(messages, tools or (), max_tokens):
            if isinstance(piece, TextPiece) and self._pace:
                await asyncio.sleep(self._pace)
            yield piece


def _reply(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], max_tokens: int | None
) -> Iterator[ReplyPiece]:
    asked = next((_text(m) for m in reversed(messages) if m.get("role") == "user"), "")
    results = _results(messages)
    call = None if results else _call(asked, tools)
    if call is not None:
        sent = {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        yield CallMade(call)
        yield ReplyEnd(FinishReason.TOOL_CALLS, assistant("", "", [sent]))
        return
    words = (_answer(asked, results) if results else _remark(asked, messages)).split(" ")
    most = max(1, max_tokens // 2) if max_tokens else len(words)
    for number, word in enumerate(words[:most]):
        yield TextPiece(word if number == 0 else f" {word}")
    reason = FinishReason.STOP if len(words) <= most else FinishReason.LENGTH
    yield ReplyEnd(reason, assistant(" ".join(words[:most]), "", []), None)


# -- tools ---------------------------------------------------------------------------------------------------


def _results(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Name and output of the calls that were just answered."""
    names: dict[str, str] = {}
    outputs: list[tuple[str, str]] = []
    for message in messages:
        match message.get("role"):
            case "tool":
                outputs.append((names.get(str(message.get("tool_call_id")), "the tool"), _text(message)))
            case _:
                outputs = []
        for call in message.get("tool_calls") or ():
            names[str(call["id"])] = str(call["function"]["name"])
    return outputs


def _call(asked: str, tools: Sequence[Mapping[str, Any]]) -> ToolCall | None:
    """The tool that the message names; for a question, recall."""
    offered = {str(tool["function"]["name"]): tool["function"] for tool in tools}
    # "roll dice" names roll_dice as well.
    spoken = f"_{'_'.join(_WORD.findall(asked.casefold()))}_"
    named = [name for name in offered if name != RECALL and f"_{name.casefold()}_" in spoken]
    if named:
        arguments = _arguments(asked, named[0], offered[named[0]].get("parameters") or {})
        return ToolCall(new_call_id(), named[0], json.dumps(arguments, ensure_ascii=False))
    if RECALL in offered and _QUESTION.search(asked):
        query = " ".join(_WORD.findall(asked))
        return ToolCall(new_call_id(), RECALL, json.dumps({"query": query}, ensure_ascii=False))
    return None


def _arguments(asked: str, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments from the message: a JSON object, `name=value`, or whatever the schema requires."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    begin, end = asked.find("{"), asked.rfind("}")
    if 0 <= begin < end:
        try:
            found = json.loads(asked[begin : end + 1])
            if isinstance(found, dict):
                return found
        except ValueError:
            pass
    pairs = {key: value.strip('"') for key, value in _PAIR.findall(asked) if key in properties}
    arguments = {key: _typed(value, properties[key]) for key, value in pairs.items()}
    behind = re.split(re.escape(name).replace("_", r"[\s_-]+"), asked, maxsplit=1, flags=re.IGNORECASE)[-1]
    rest = (_QUOTED.search(asked) or [None, behind.strip(" .:,?!")])[1] or asked
    for key in schema.get("required") or ():
        if key not in arguments:
            arguments[key] = _typed(rest, properties.get(key) or {})
    return arguments


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    if schema.get("type") in ("number", "integer"):
        found = _NUMBER.search(text)
        number = float(found[0]) if found else 0.0
        return int(number) if schema["type"] == "integer" else number
    if schema.get("type") == "boolean":
        return text.casefold() in ("true", "yes", "1")
    return schema["enum"][0] if schema.get("enum") and text not in schema["enum"] else text


# -- what it says --------------------------------------------------------------------------------------------


def _answer(asked: str, results: Sequence[tuple[str, str]]) -> str:
    """What the tools returned, as an answer."""
    said: list[str] = []
    for name, output in results:
        if name != RECALL:
            said.append(f"The tool {name} returned: {_shortened(output, 600)}")
            continue
        found = [_Said(f"message {number}, {role}", text) for number, role, text in _FRAME.findall(output)]
        best = _best(asked, [one for one in found if one.text.strip() != asked.strip()])
        said += [_quoted(one) for one in best] or ["I looked it up in this conversation and found nothing."]
    return "\n\n".join(said)


def _remark(asked: str, messages: Sequence[Mapping[str, Any]]) -> str:
    said = [
        _Said("you" if m["role"] == "user" else str(m["role"]), _text(m))
        for m in messages
        if m.get("role") in ("user", "assistant", "system") and _text(m)
    ]
    if _QUESTION.search(asked):
        best = _best(asked, said[:-1])
        if best:
            return "\n\n".join(map(_quoted, best))
        return (
            "Nothing in what I was sent answers that. I am the demo assistant: I know this conversation only."
        )
    count = sum(m.get("role") == "user" for m in messages)
    # One sentence, so that a summary quotes all of it or nothing.
    return (
        f"Noted: “{_shortened(asked, 160)}” (from the demo assistant, not a model; "
        f"messages in the prompt: {len(messages)}, yours: {count})."
    )


def _best(asked: str, said: Sequence[_Said]) -> list[_Said]:
    """The sentences that share the rarest and longest words with the question; the user's own count more."""
    found = [
        _Said(one.where, sentence)
        for one in said
        for sentence in sentences(one.text)
        if not _QUESTION.search(sentence)
    ]
    indexed = [set(map(str.casefold, _WORD.findall(one.text))) for one in found]
    seen = Counter(word for words in indexed for word in words)
    wanted = {word.casefold() for word in _WORD.findall(asked)}
    labels = [label[1].casefold() if (label := _LABEL.match(one.text)) else "" for one in found]
    scores = [
        sum(len(word) * log(1 + len(found) / seen[word]) for word in wanted & words)
        * (_OWN_WEIGHT if one.where.endswith(("you", "user")) else 1.0)
        * (_LABEL_WEIGHT if label in wanted else 1.0)
        for one, words, label in zip(found, indexed, labels, strict=True)
    ]
    if not scores or max(scores) == 0:
        return []
    # A sentence that shares only the question's everyday words does not answer it.
    near = [n for n in range(len(scores)) if scores[n] >= 0.6 * max(scores)]
    chosen = sorted(sorted(near, key=lambda n: (-scores[n], -n))[:_SHOWN])
    return list({found[n].text: found[n] for n in chosen}.values())


def _quoted(one: _Said) -> str:
    return f"“{_shortened(one.text, 300)}” ({one.where})"


def _shortened(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
