"""Check a summary before it is used. What fails is rejected with a reason and never used."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache, partial

from compact.core.render import TOOLS_HEADING, UNTRUSTED_HEADING, neutralize, request_positions
from compact.core.seeming import whole
from compact.core.sentences import limit_sentences
from compact.core.summary_checks.citations import cited_positions, drop_false_citations, order_ledger
from compact.core.summary_checks.cutting import look_at_most
from compact.core.summary_checks.language import is_other_language
from compact.core.summary_checks.quotes import (
    LookUp,
    Said,
    denied_approval,
    invented_quotes,
    quote_others_apart,
    quotes_in,
    turns_down,
    user_lines,
)
from compact.core.summary_checks.refusals import is_refusal, is_tool_call, only_muses, says_nothing
from compact.errors import SummaryRefused
from compact.evidence.ledger import WORDS
from compact.evidence.said import SHOWN
from compact.model.message import MessageKind, Opaque, Role, arguments_text
from compact.model.summary import RefusalReason, SummaryRequest

BRIEF_SENTENCES = 5
_READ_CHARS = 500_000
"""As much as a model may think (about 128,000 tokens) before it answers; the rest is not read."""
_LAYERS = 8
"""Nesting of wrappers and thoughts; an answer has two or three."""
_LEAST_LETTERS = 0.1
"""Share of letters and digits among visible characters; below it a text is noise, in any language."""

_TAGS = (
    r"(?:think|thinking|thoughts?|reasoning|scratch_?pad|analysis|reflections?|deliberation|monologue|"
    r"inner_monologue|chain_of_thought|internal_reasoning)"
)
_LEADING_REASONING = re.compile(
    rf"\A\s*(?:<((?:\w+:)?{_TAGS})\b[^>\n]*>.*?(?:</\1>|\Z)|\[think\].*?(?:\[/think\]|\Z)|◁think▷.*?(?:◁/think▷|\Z)|"
    r"<\|begin_of_thought\|>.*?(?:<\|end_of_thought\|>|\Z))",
    re.DOTALL | re.IGNORECASE,
)
# Servers that pass a model's channels on as text: what it thought, then what it says.
_CHANNEL = re.compile(
    r"\A\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*(?:analysis\s*<\|message\|>.*?(?:<\|end\|>|\Z)|"
    r"final\s*<\|message\|>)",
    re.DOTALL | re.IGNORECASE,
)
_UNOPENED_REASONING = re.compile(
    rf"\A(?:(?!<{_TAGS}>).)*?(?:^|[^`\"'\n])</{_TAGS}>[ \t]*$", re.DOTALL | re.MULTILINE | re.I
)
_FENCE = re.compile(r"\A```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)
_WRAPPER = re.compile(
    r"\A<(summary|compact-summary|answer|output)\b[^>]*>(.*?)(?:</\1>\s*)?\Z", re.DOTALL | re.I
)
_LEAD_IN = re.compile(
    r"\A(?:(?:sure|certainly|of course|okay)[,.!]?\s+)?(?:here(?:['’]s| is)|below is|this is)\s+"
    r"(?:a|an|the|my|your)?\s*[\w -]{0,40}(?:summary|ledger|log|list)[^\n]{0,60}:\s*\n+",
    re.IGNORECASE,
)


def check_summary(
    text: str,
    request: SummaryRequest,
    count: Callable[[str], int],
    *,
    instructions: str = "",
    min_chars: int = 1,
) -> str:
    """The cleaned text, or SummaryRefused with a `RefusalReason`.

    `count` counts tokens; `instructions` are what the model was given, with their examples. Citations of
    messages that do not exist are dropped, not rejected.
    """
    cleaned = clean_summary(look_at_most(_without_thoughts(text[:_READ_CHARS]), request.max_tokens))
    _refuse_what_is_no_summary(cleaned, had_text=bool(text.strip()))
    if _repeats_example(cleaned, instructions):
        raise _refused(
            RefusalReason.EMPTY, "it repeats the example of the prompt and says nothing about the session"
        )
    if request.strategy == "brief":
        cleaned = limit_sentences(cleaned, BRIEF_SENTENCES)
    elif request.strategy == "decision_log":
        cleaned = order_ledger(cleaned)
    citable = _citable(request) if cited_positions(cleaned) else set[int]()
    cleaned = drop_false_citations(cleaned, citable).strip()
    if len(cleaned) < min_chars:
        raise _refused(RefusalReason.TOO_SHORT, f"it has {len(cleaned)} characters, {min_chars} are required")
    if (tokens := count(cleaned)) > request.max_tokens:
        problem = f"it has {tokens:,} tokens, {request.max_tokens:,} are allowed"
        raise _refused(RefusalReason.TOO_LONG, problem)
    if is_other_language(cleaned, _spoken(request)):
        raise _refused(RefusalReason.OTHER_LANGUAGE, "it is in another language than the conversation")
    look_up = LookUp(partial(_said, request))
    invented = invented_quotes(cleaned, look_up)
    if invented:
        shown = invented[0] if len(invented[0]) <= 80 else invented[0][:80] + "…"
        raise _refused(RefusalReason.INVENTED_QUOTE, f"the user never wrote “{shown}”")
    if denied := denied_approval(cleaned, _turned_down(request, cited_positions(cleaned))):
        raise _refused(
            RefusalReason.INVENTED_QUOTE, f"the user turned down what it has approved: {denied[:80]}"
        )
    return quote_others_apart(cleaned, look_up)


def clean_summary(text: str) -> str:
    """`text` without reasoning, fences, wrappers and lead-ins, and unable to close our delimiters."""
    text = whole(text)  # Streams cut in the wrong place leave half a character.
    for _ in range(_LAYERS):
        before = text
        text = _without_thoughts(text).strip()
        text = _FENCE.sub(r"\1", text).strip()
        text = _WRAPPER.sub(r"\2", text).strip()
        text = _LEAD_IN.sub("", text).strip()
        if text == before:
            break
    return neutralize(text)


def _without_thoughts(text: str) -> str:
    if "</" in text:  # looking for the end of a thought reads all of a long answer
        text = _UNOPENED_REASONING.sub("", text)
    return _LEADING_REASONING.sub("", _CHANNEL.sub("", text))


def _refuse_what_is_no_summary(cleaned: str, *, had_text: bool) -> None:
    if not cleaned:
        reason = RefusalReason.REASONING_ONLY if had_text else RefusalReason.EMPTY
        raise _refused(reason, "only reasoning came back" if had_text else "it is empty")
    if is_tool_call(cleaned):
        raise _refused(RefusalReason.TOOL_CALL, "a tool call came back instead of text")
    if is_refusal(cleaned):
        raise _refused(RefusalReason.REFUSAL, "the model refused")
    if only_muses(cleaned):
        raise _refused(RefusalReason.REASONING_ONLY, "only reasoning came back")
    if says_nothing(cleaned) or _hardly_a_letter(cleaned):
        raise _refused(RefusalReason.EMPTY, "it has no content")


def _hardly_a_letter(text: str) -> bool:
    seen = len("".join(text.split()))
    return sum(map(str.isalnum, text)) < seen * _LEAST_LETTERS


def _repeats_example(text: str, instructions: str) -> bool:
    """Small models return the few-shot example; half of the lines in common is no accident."""
    lines = _content_lines(text)
    repeated = _lines_of_instructions(instructions).intersection(lines) if lines else ()
    return bool(repeated) and 2 * len(repeated) >= len(lines)


@lru_cache(maxsize=8)
def _lines_of_instructions(instructions: str) -> frozenset[str]:
    return frozenset(_content_lines(instructions))


def _content_lines(text: str) -> list[str]:
    """The words of each line with content; headings come from the template."""
    lines = (line.strip() for line in text.splitlines())
    words = (re.findall(r"\w+", line.casefold()) for line in lines if not line.startswith("#"))
    return [" ".join(line) for line in words if len(line) >= 5]


def _citable(request: SummaryRequest) -> set[int]:
    """What is in the request, and what earlier summaries and evidence already rest on."""
    positions = set(request_positions(request))
    positions.update(item.message for item in request.previous_evidence)
    positions |= cited_positions(request.previous_summary or "")
    for message in request.messages:
        if message.kind is MessageKind.SUMMARY:
            positions |= cited_positions(message.text)
    return positions


def _spoken(request: SummaryRequest) -> Iterator[str]:
    """What was said in the conversation, by speaker: an answer in either's language is fine."""
    trigger = MessageKind.SUMMARY_TRIGGER
    for role in (Role.USER, Role.ASSISTANT):
        said = [one.text for one in request.messages if one.role is role and one.kind is not trigger]
        yield "\n".join(said)


def _turned_down(request: SummaryRequest, cited: Collection[int]) -> dict[int, bool]:
    """Which of the cited messages are a user's, and whether they decline."""
    pairs = zip(request_positions(request), request.messages, strict=True) if cited else ()
    return {
        at: turns_down(message.text)
        for at, message in pairs
        if at in cited and message.role is Role.USER and message.kind is MessageKind.ORIGINAL
    }


_ASKS_THE_USER = re.compile(r"(?:ask|request|prompt).{0,10}(?:user|human|question|input)|human_?input", re.I)


def _said(request: SummaryRequest) -> Said:
    """Whose words quotes may be. Of an earlier summary, only what it quotes: the rest is nobody's word."""
    user, others = [request.focus], list[str]()
    for unit in request.previous_evidence:
        if unit.kind in WORDS:
            # What may be quoted is in the user's message, too: there it could be cited, so it can here.
            user += [unit.value] if unit.context != SHOWN else []
        elif not unit.untrusted:
            others.append(unit.value)
    user += _prefix_texts(request)
    tools: list[str] = []
    asking: set[str] = set()
    earlier = [request.previous_summary or ""]
    for message in request.messages:
        if message.kind is MessageKind.SUMMARY:
            earlier.append(message.text)
        elif message.role is not Role.TOOL:
            (others if message.role is Role.ASSISTANT else user).append(message.text)
        others += (arguments_text(call.arguments) for call in message.calls)
        asking.update(call.call_id for call in message.calls if _ASKS_THE_USER.search(call.name))
        for result in message.results:
            (user if result.call_id in asking else tools).append(result.text)
        tools += (part.text for part in message.parts if isinstance(part, Opaque))
    for summary in earlier:
        own = summary.partition(TOOLS_HEADING)[0].partition(UNTRUSTED_HEADING)[0]
        user += [*quotes_in(own), *user_lines(own)]
    return Said(user, others, tools)


def _prefix_texts(request: SummaryRequest) -> Iterator[str]:
    """A request on the cached prefix also shows the model messages that stay."""
    for item in request.prefix_messages or ():
        if isinstance(item, dict) and item.get("role") == "user":
            content = item.get("content")
            parts = content if isinstance(content, list) else [content]
            for part in parts:
                text = part.get("text") if isinstance(part, dict) else part
                if isinstance(text, str):
                    yield text


def _refused(reason: RefusalReason, problem: str) -> SummaryRefused:
    return SummaryRefused(
        reason.value, f"The summary was refused ({reason.value}): {problem}. It is not used."
    )
