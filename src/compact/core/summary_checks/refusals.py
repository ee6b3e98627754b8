"""Recognize answers that are not summaries: the model declined, saw nothing, or called a tool.

They are recognized at the start of a short answer (a refusal also after one short sentence that says nothing
about the session) and in the first person, because a real summary may mention a refusal ("I can't open that
file", said the assistant) without being one. Other wordings are left to `declining`.
"""

from __future__ import annotations

import json
import re

from compact.core.summary_checks.citations import cited_positions
from compact.core.summary_checks.declining import declines

_CANNOT = r"(?:can(?:no|['’]?)t|unable|not able|won['’]?t|must decline)"
_HELP = r"(?:help|assist|comply|summari[sz]|fulfil|provid|do that|continu|creat|generat|process)"

_ONE_VOICE = r"(?:(?!\b(?:wrote|said|says|she|he|they|users?)\b)[^\n;])"

_REFUSALS = (
    rf"(?:i['’]?m|i am) (?:so |very |really |truly )?sorry\b{_ONE_VOICE}{{0,40}}\b{_CANNOT}",
    rf"(?:sorry|apologies|i apologi[sz]e|unfortunately)[,. ]+(?:but )?i(?:['’]m| am)? {_CANNOT}",
    r"i (?:must|have to|need to|will have to) (?:\w+ )?(?:decline|refuse)\b",
    rf"i (?:\w+ )?(?:decline|refuse) to {_HELP}",
    rf"i (?:can(?:no|['’]?)t|won['’]?t|will not|must decline to) (?:\w+ ){{0,2}}{_HELP}",
    rf"i(?:['’]m| am) (?:unable|not able|not comfortable|not allowed) (?:to )?(?:\w+ )?{_HELP}",
    r"i do(?: not|n['’]t) feel comfortable",
    r"as an ai\b",
    r"(?:this|your) (?:request|conversation|content|transcript) (?:violates|breaches|goes against|is against)"
    r"\b[^.\n]{0,40}\b(?:polic|guideline|terms)",
    r"(?:es )?tut mir leid\b[^.\n]{0,30}\b(?:kann|darf)",
    r"ich kann (?:dabei|dir|ihnen|das) (?:leider )?nicht",
    r"(?:leider )?(?:ich )?kann (?:ich )?(?:\w+ ){0,3}nicht (?:\w+ )?(?:zusammenfassen|bearbeiten|helfen)",
    r"(?:je suis )?désolée?\b[^.\n]{0,30}\bne (?:peux|puis)",
    r"je ne (?:peux|puis) pas (?:vous )?(?:aider|répondre|résumer)",
    r"lo siento\b[^.\n]{0,30}\bno puedo",
    r"no puedo (?:ayudar|resumir|cumplir)",
    r"mi dispiace\b[^.\n]{0,30}\bnon posso",
    r"non posso (?:aiutar|riassumere)",
    r"(?:desculpe|sinto muito|lamento)\b[^.\n]{0,30}\bnão posso",
    r"não posso (?:ajudar|resumir)",
    r"het spijt me\b[^.\n]{0,30}\bkan",
    r"(?:извините|простите|к сожалению)\b[^.\n]{0,30}\bне могу",
    r"я не могу (?:помочь|выполнить)",
    r"(?:对不起|抱歉|很抱歉)[^。\n]{0,20}(?:不能|无法)",
    r"我(?:不能|无法)(?:协助|帮助|提供|总结)",
    r"(?:申し訳(?:ありません|ございません)|ごめんなさい|すみません|残念ながら)[^。\n]{0,40}"
    r"(?:できません|いたしかねます|できかねます)",
    r"(?:この|その)?(?:会話|内容)[^。\n]{0,4}要約[^。\n]{0,6}できません",
    r"죄송(?:합니다|하지만)[^\n]{0,40}(?:없습니다|어렵습니다)",
)
_REFUSAL_CHARS = 700
# "I have looked at it." before the refusal itself; a sentence that cites a message is about the session.
_PREAMBLE = re.compile(
    r"\A[\W_]*(?:(?:i(?:['’]ve| have)|thank(?:s| you)|sure|okay|ok|certainly|of course|i (?:understand|see)|"
    r"i appreciate|let me)\b[^.!?\n\[\]]{0,120}[.!?]+\s+){1,2}",
    re.IGNORECASE,
)
_LEAD_TO_CALL = re.compile(r"\A[^\n{}\[\]]{0,200}\n\s*(?:```[a-z_]*\s*)?(?=[{\[])", re.IGNORECASE)

# Untagged reasoning of a model that never got to the summary: it cites nothing.
_SUMMARIZING = (
    r"(?:summari[sz]e|(?:write|produce|create|compose|draft|generate|give|provide|output)\s+(?:\w+\s+){0,3}"
    r"(?:summary|ledger|log|brief|answer))"
)
_MUSING = re.compile(
    r"\A[\W_]*(?:(?:okay|ok|alright|all right|hmm+|so|well|right|now)[,.! ]+)?"
    r"(?:(?:here['’]?s (?:a|my|the) )?(?:thinking|thought|reasoning) process\b|"
    r"let me (?:think|see|start|first|analy[sz]e|re-?read|go through|figure|consider)\b|"
    r"let['’]s (?:think|see)\b|"
    r"(?:first,? )?i (?:need|have|should|ought)(?: to)? (?:think|summari[sz]e|read|write|figure|look)\b|"
    rf"(?:first,? )?(?:i|we) (?:need to|have to|should|must|(?:are|am)(?: asked)? to) {_SUMMARIZING}\b|"
    rf"(?:the|my|our) (?:task|goal|job) (?:here )?is to {_SUMMARIZING}\b|"
    rf"(?:the )?user (?:wants|asks|asked|is asking) (?:me|us) (?:to {_SUMMARIZING}|for a summary)|"
    r"the user wants me to write)",
    re.IGNORECASE,
)
# It announces the summary, and then none follows.
_ANNOUNCED = re.compile(
    r"(?:i['’]?ll|i will|let me|let['’]s|i['’]?m going to|time to)(?: now| next| then| just)? "
    rf"(?:{_SUMMARIZING}|(?:write|draft|produce|compose|(?:begin|start) writing)"
    r"(?: it| this| that)?(?: up| now)?)"
    r"[^\w\n]*\Z",
    re.IGNORECASE,
)
_MUSING_CHARS = 1500

_TALK = r"(?:conversation|transcript|chat|history|session)"
_THING = r"(?:conversation|transcript|chat|messages?|content|text)"
_BLANKS = (
    rf"(?:the |this )?{_TALK} (?:was|is|has been|has become) "
    r"(?:too (?:long|large)|empty|not (?:provided|available)|truncated)",
    r"(?:conversation|transcript) too (?:long|large)",
    r"(?:no|empty) (?:summary|conversation|transcript|messages?)\b[^.\n]{0,40}"
    r"(?:available|provided|to summari[sz]e|generated|found|given)",
    rf"there (?:is|are|was|were) no {_THING}",
    rf"i (?:do|did)(?: not|n['’]t) (?:see|have|find)(?: any| a| the)? {_THING}",
    r"summary (?:is )?(?:not available|unavailable|omitted|could not be)",
    r"(?:unable|failed) to (?:generate|create|produce|write) (?:a |the )?summary",
    rf"(?:please|could you(?: please)?) (?:provide|share|paste|send)\b[^.\n]{{0,40}}{_THING}",
    r"(?:(?:(?:api|http|server|network)\s)?(?:error|exception)\W{0,3})?(?:\d{3}\W{1,3})?"
    r"(?:internal server error|bad gateway|service unavailable|gateway time-?out|too many requests|"
    r"rate limit(?:ed| exceeded| reached)|request timed out|(?:model|server) (?:is )?overloaded|"
    r"quota exceeded|invalid api key)",
    r"(?:the )?(?:content|response|output|message|text|answer|request|prompt) (?:was |has been |is )?"
    r"(?:filtered|removed|blocked|redacted|withheld|rejected|omitted)(?: (?:by|due to) [^.\n]{0,60})?\W*\Z",
    r"(?:insert )?summary(?: here| goes here)?\W*\Z",
)
_BLANK_CHARS = 400
_EMPTY_LINE_CHARS = 200

_TAG = r"(?:<|&lt;)"  # Anything that could open a role was broken up before.
_TOOL_MARKUP = re.compile(
    rf"\A\s*(?:```[a-z_]*\s*)?(?:{_TAG}(?:tool_call|function_call|function_calls|tool_use|tool_code|invoke|"
    rf"function=|function name=|\w+:tool_call|\|tool|\|python_tag|use_mcp_tool|"
    rf"execute_command)|\[TOOL_CALLS\])|"
    rf"\A\s*(?:{_TAG}\|[^|\n]{{1,30}}\|>?\s*)*(?:\w+ )?to=(?:functions|tools?)\.\w|"
    r"\A\s*(?:function|tool)[ _]call\s*:|"
    r"\A\s*```(?:tool_code|tool_call|tool_use|tool|function_call)\s",
    re.IGNORECASE,
)
# A step of an agent that writes its calls as lines, and an answer that is only a call.
_STEP = re.compile(
    r"^\s*(?:\*\*)?Action\s*:.*\n(?:.*\n)??\s*(?:\*\*)?Action[ _]Input\s*:|^\s*Action\s*:\s*\w+\[",
    re.IGNORECASE | re.MULTILINE,
)
_BARE_CALL = re.compile(r"\A\[?[\w.]{1,80}\((?:[^()\n]|\([^()\n]*\)){0,2000}\);?\]?\Z")
_NAMES = frozenset({"name", "tool", "function", "tool_name", "function_name", "action", "recipient_name"})
_ARGUMENTS = frozenset(
    {
        "arguments",
        "parameters",
        "input",
        "args",
        "kwargs",
        "params",
        "tool_input",
        "action_input",
        "tool_args",
    }
)
_CALLS = frozenset({"tool_calls", "tool_uses", "function_call"})
_HEADING = re.compile(r"^\s*(?:#{1,6}\s.*|\*\*[^*]+\*\*:?|[A-Z][\w /&-]{0,50}:)\s*$")
_NOTHING = re.compile(
    r"^[\s\-*•.:–—_(\[]*(?:none|null|nil|undefined|n/?a|nothing|empty|unknown|tbd|keine?|aucune?|ninguno?|无|なし)?[\s.)\]]*$",
    re.IGNORECASE,
)


def _at_start(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"\A[\W_]*(?:" + "|".join(phrases).replace(" ", r"\s+") + ")", re.IGNORECASE)


_REFUSAL = _at_start(_REFUSALS)
_BLANK = _at_start(_BLANKS)


def is_refusal(text: str) -> bool:
    if len(text) > _REFUSAL_CHARS:
        return False
    preamble = _PREAMBLE.match(text)
    return declines(text) or any(
        _REFUSAL.match(rest) for rest in (text, text[preamble.end() :] if preamble else "")
    )


def only_muses(text: str) -> bool:
    if len(text) > _MUSING_CHARS or cited_positions(text):
        return False
    return bool(_MUSING.match(text) or _ANNOUNCED.search(text[-160:]))


def says_nothing(text: str) -> bool:
    """True for "the conversation was too long to summarize" and the like, and for bare headings."""
    if len(text) <= _BLANK_CHARS and _BLANK.match(text):
        return True
    return all(
        len(line) <= _EMPTY_LINE_CHARS and (_HEADING.match(line) or _NOTHING.match(line))
        for line in text.splitlines()
    )


def is_tool_call(text: str) -> bool:
    """True for a tool call written out as text, in markup or as JSON."""
    if _TOOL_MARKUP.match(text) or _BARE_CALL.match(text):
        return True
    if _STEP.search(text) and not cited_positions(text):
        return True
    lead = _LEAD_TO_CALL.match(text)
    if lead is not None:
        text = text[lead.end() :].rstrip().removesuffix("```")
    if not text.startswith(("{", "[")):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return False
    if _CALLS & first.keys() or first.get("type") in ("tool_use", "function_call", "tool_call"):
        return True
    inner = first.get("function")
    return _is_call(first) or (isinstance(inner, dict) and _is_call(inner))


def _is_call(value: dict[str, object]) -> bool:
    return bool(_NAMES & value.keys()) and bool(_ARGUMENTS & value.keys())
