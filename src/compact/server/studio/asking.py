"""Turn what `useChat` sends into an exchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compact.chat.conversation import Conversation
from compact.chat.exchange import Exchange
from compact.server.http.problems import Problem
from compact.server.studio.schemas import ChatRequest


def exchange_of(asked: ChatRequest) -> Callable[[Conversation], Exchange]:
    """What to do with the conversation; a Problem if the request asks for nothing that can be done."""
    if asked.trigger == "regenerate-message":
        replaced = _position(asked.messageId)
        return lambda conversation: conversation.retry(replaced)
    message = asked.message or (asked.messages[-1] if asked.messages else None)
    if message is None or message.get("role") != "user":
        raise Problem(422, "no-message", "There is no user message in the request. Nothing was sent.")
    content = content_of(message)
    position = _position(asked.messageId)
    if position is not None:
        return lambda conversation: _edited(conversation, position, content)
    return lambda conversation: conversation.send(content)


def content_of(message: Mapping[str, Any]) -> Any:
    """Text, or parts in OpenAI's chat format if there are images."""
    parts: list[dict[str, Any]] = []
    given = message.get("parts") or [{"type": "text", "text": message.get("content")}]
    if not isinstance(given, list):
        raise Problem(422, "not-valid", "The parts of a message are a list. Nothing was sent.")
    for part in given:
        match part:
            case {"type": "text", "text": str(text)} if text:
                parts.append({"type": "text", "text": text})
            case {"type": "file", "mediaType": str(kind), "url": str(url)} if kind.startswith("image/"):
                if not url.startswith("data:"):
                    raise Problem(
                        422, "remote-file", "Files come with the message, as data: URLs. Nothing was sent."
                    )
                parts.append({"type": "image_url", "image_url": {"url": url}})
            case {"type": "file"}:
                raise Problem(422, "unknown-file", "Only images can be attached. Nothing was sent.")
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if not any(text.strip() for text in texts) and len(texts) == len(parts):
        raise Problem(422, "empty-message", "The message is empty. Nothing was sent.")
    return parts if len(texts) < len(parts) else "\n".join(texts)


def _position(message_id: str | None) -> int | None:
    """Of one of our own messages: `m12`. A new message has an id that the client made up."""
    digits = (message_id or "")[1:]
    ours = bool(message_id) and str(message_id).startswith("m") and digits.isascii() and digits.isdigit()
    return int(digits) if ours and len(digits) < 9 else None


def _edited(conversation: Conversation, position: int, content: Any) -> Exchange:
    conversation.notices.waiting += conversation.catch_up()
    if position >= len(conversation.turns):
        return conversation.send(content)
    return conversation.edit(position, content)
