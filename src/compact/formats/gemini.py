"""Gemini `contents`: a user role, a model role, and parts with one field that names their type.

Calls may have no id. Those are paired by name within their step, as `function:<name>`, and the second call of
the same name as `function:<name>#2`. Both spellings of field names (`functionCall`, `function_call`) are
read, and rebuilt objects keep their spelling. Objects of the google-genai package are returned as such.
Volatile: the place of thought signatures, `id`, nulls, and every field not named here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from compact.errors import MalformedMessage
from compact.formats.base import Fragment, Kept, Place, SourceFormat, fragment, rebuilt_array
from compact.formats.fields import as_mapping, is_array, opaque, part_mapping, plain_text, required_text
from compact.formats.media import file_or_image
from compact.formats.recognition import fits
from compact.model.message import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult, json_kind

_ROLES = {
    None: Role.USER,
    "user": Role.USER,
    "model": Role.ASSISTANT,
    "function": Role.USER,
    "system": Role.SYSTEM,
}
_UNNAMED = "function:"
# The only key of a response that holds just text.
_TEXT_KEYS = ("output", "result", "error")


class Gemini(SourceFormat):
    name = "gemini"
    provider = "openai"
    has_system = False

    def recognizes(self, messages: Sequence[Any]) -> bool:
        return fits(messages, self.name)

    def fragments(self, fields: Mapping[str, Any], index: int) -> Sequence[Fragment]:
        raw_role = fields.get("role")
        if raw_role not in _ROLES:
            raise MalformedMessage(index, f"unknown role {raw_role!r}")
        role, raw = _ROLES[raw_role], fields.get("parts")
        if not is_array(raw):
            raise MalformedMessage(index, "parts must be an array" if raw is not None else "no parts")
        results: list[tuple[Part, Place]] = []
        rest: list[tuple[Part, Place]] = []
        seen: Counter[str] = Counter()
        for at, entry in enumerate(raw):
            where = f"parts[{at}]"
            found = _part(part_mapping(entry, index, where), seen, index, where)
            aside = results if isinstance(found[0], ToolResult) else rest
            aside += [(part, Place("parts", at)) for part in found]
        messages = [fragment(Role.TOOL, results)] if results else []
        if rest or not results:
            messages.append(fragment(role, rest))
        return messages

    def rebuild(
        self, fields: Mapping[str, Any], kept: Sequence[Kept], repeated: int | None
    ) -> dict[str, Any]:
        return {**fields, "parts": rebuilt_array(fields["parts"], "parts", kept, _edited, _text_part)}

    def create(self, role: Role, text: str, message: Message) -> dict[str, Any]:
        # Instructions are separate from the contents here, so our own are sent with the user role.
        return {"role": "model" if role is Role.ASSISTANT else "user", "parts": [_text_part(text)]}

    def create_result(self, result: ToolResult, call: Message) -> dict[str, Any]:
        name = next(made.name for made in call.calls if made.call_id == result.call_id)
        response: dict[str, Any] = {"name": name, "response": _answer(result)}
        if result.call_id != _UNNAMED + name:
            response["id"] = result.call_id
        return {"role": "user", "parts": [{"functionResponse": response}]}

    def settle_results(self, encoded: list[Any], created: Sequence[int]) -> list[Any]:
        """Put all answers to the calls of one message into one content, right after it."""
        ours, out = set(created), list[Any]()
        for position, content in enumerate(encoded):
            if out and _is_answers(content) and _is_answers(out[-1]) and ({position, position - 1} & ours):
                before = as_mapping(out[-1], position)
                parts = [*before["parts"], *as_mapping(content, position)["parts"]]
                out[-1] = self.restore({**before, "parts": parts}, content)
            else:
                out.append(content)
        return out

    def restore(self, fields: dict[str, Any], like: Any) -> Any:
        validate = getattr(type(like), "model_validate", None)
        return fields if validate is None else validate(fields)


def _is_answers(content: Any) -> bool:
    parts = as_mapping(content, 0).get("parts")
    return is_array(parts) and all(
        _named(part_mapping(part, 0, "part"), "functionResponse") is not None for part in parts
    )


def _named(part: Mapping[str, Any], key: str) -> Any:
    """A field under its JSON name or its Python name."""
    found = part.get(key)
    if found is None:
        found = part.get("".join(f"_{one.lower()}" if one.isupper() else one for one in key))
    return found


def _part(part: Mapping[str, Any], seen: Counter[str], index: int, where: str) -> tuple[Part, ...]:
    signature = _named(part, "thoughtSignature")
    signature = signature if isinstance(signature, str) else None
    if (call := _named(part, "functionCall")) is not None:
        call = part_mapping(call, index, f"{where}.functionCall")
        name = required_text(call, "name", index, f"{where}.functionCall")
        return (ToolCall(_call_id(call, name, seen), name, call.get("args") or {}),)
    if (answer := _named(part, "functionResponse")) is not None:
        answer = part_mapping(answer, index, f"{where}.functionResponse")
        name = required_text(answer, "name", index, f"{where}.functionResponse")
        text, failed = _said(answer.get("response"))
        return (ToolResult(_call_id(answer, name, seen), text, name, failed),)
    if isinstance(said := part.get("text"), str):
        return (Reasoning(said, signature) if part.get("thought") is True else Text(said),)
    for key, held in (("inlineData", "data"), ("fileData", "fileUri")):
        if isinstance(media := _named(part, key), Mapping) and isinstance(_named(media, held), str | bytes):
            return (
                file_or_image(_named(media, held), _named(media, "mimeType"), _named(media, "displayName")),
            )
    if not part:
        raise MalformedMessage(index, f"{where} is empty")
    if "type" in part:
        raise MalformedMessage(
            index, f"{where} has a type ({json_kind(part['type'])}); Gemini's parts have none"
        )
    return (opaque(part, next(iter(part))),)


def _call_id(fields: Mapping[str, Any], name: str, seen: Counter[str]) -> str:
    if isinstance(identity := fields.get("id"), str) and identity:
        return identity
    seen[name] += 1
    return f"{_UNNAMED}{name}" + (f"#{seen[name]}" if seen[name] > 1 else "")


def _said(response: Any) -> tuple[str, bool]:
    if isinstance(response, Mapping) and len(response) == 1:
        key, value = next(iter(response.items()))
        if key in _TEXT_KEYS and isinstance(value, str):
            return value, key == "error"
    return ("" if response is None else plain_text(response)), False


def _answer(result: ToolResult) -> dict[str, str]:
    return {"error" if result.is_error else "output": result.text}


def _edited(entry: Any, kept: list[Kept]) -> Any:
    result = kept[0].before
    if not isinstance(result, ToolResult):
        return entry
    part = part_mapping(entry, 0, "part")
    key = "functionResponse" if "functionResponse" in part else "function_response"
    changed: dict[str, Any] = {}
    if (new := kept[0].new_result) is not None:
        changed["response"] = _answer(new)
    if result.call_id.startswith(_UNNAMED) and "#" in result.call_id:
        # The answers before it may be gone, so counting no longer finds it.
        changed["id"] = result.call_id
    return {**part, key: {**part_mapping(part[key], 0, key), **changed}} if changed else entry


def _text_part(text: str) -> dict[str, Any]:
    return {"text": text}
