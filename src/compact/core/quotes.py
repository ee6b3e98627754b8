"""Words put into the user's mouth: quotes that a text attributes to the user and the user never wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compact.core.seeming import plain

_MIN_WORDS = 4
_MIN_IDEOGRAPHS = 8

_QUOTED = r'"([^"\n]{8,600})"|“([^”\n]{8,600})”|„([^“”\n]{8,600})[“”]|«([^»\n]{8,600})»|「([^」\n]{4,600})」'
_QUOTE = re.compile(_QUOTED)
# Short ones are read too, or what stands between two of them would seem to be a quote.
_PAIRED = r'(?<!\w)"(?=\S)([^"\n]{0,600})(?<=\S)"(?!\w)|' + _QUOTED.partition("|")[2].replace("{8,", "{0,")
_CODE_OR_QUOTE = re.compile(rf"```.*?(?:```|\Z)|`[^`\n]+`|{_PAIRED}", re.DOTALL)

_USER = (
    r"(?:\b(?:users?|customers?|clients?|benutzer(?:in)?|nutzer(?:in)?|kund(?:e|in)|utilisat(?:eur|rice)|"
    r"usuari[oa]|utente|cliente|gebruiker|användaren|użytkownik|пользователь|заказчик)\b|用户|用戶|ユーザー|사용자)"
)
_SPEECH = (
    r"(?:sa(?:id|ys)|ask(?:ed|s)|want(?:ed|s)|request(?:ed|s)|stat(?:ed|es)|instruct(?:ed|s)|t(?:old|ells)|"
    r"wr(?:ote|ites)|confirm(?:ed|s)|insist(?:ed|s)|demand(?:ed|s)|repl(?:ied|ies)|answer(?:ed|s)|approv(?:ed|es)|"
    r"reject(?:ed|s)|forb(?:ade|ids)|rule|words|instruction|preference|"
    r"sagt|sagte|bat|bittet|verlangt|verlangte|schrieb|schreibt|will|wollte|dit|demande|demandé|écrit|veut|"
    r"dijo|dice|pidió|pide|quiere|escribió|disse|dice|chiede|ha chiesto|vuole|pediu|quer|zei|vroeg|wil|"
    r"сказал|попросил|просит|написал|хочет|说|說|要求|表示|希望|言|求め|말|요청)"
)
# The user is the subject, a word of speech follows, and nothing between it and the quote changes the subject.
_BEFORE = re.compile(
    rf"{_USER}(?:['’]s)?(?:\s*\[m\d+\])?\s*(?:[:：,]\s*|[^.;!?\n\"“„«「]{{0,30}}{_SPEECH}[^.;!?\n\"“„«「]{{0,30}})$",
    re.IGNORECASE,
)
_NOT_SPEECH = re.compile(
    r"\b(?:error|output|log|file|tests?|titled?|named?|called|label|button|message|heading|saw|got|sees|gets|"
    r"reported|reports)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"^\s*[,—–-]?\s*(?:\((?:the\s+)?{_USER}\b|(?:said|says|asked|wrote)\s+the\s+{_USER})", re.IGNORECASE
)
_GAP = re.compile(r"\[?(?:…|\.\.\.)\]?|\[[^\]]*\]|\(\.\.\.\)")
_IDEOGRAPH = re.compile(r"[぀-ヿ㐀-鿿가-힯]")


@dataclass(frozen=True, slots=True)
class Said:
    """Who said what, for quotes to be looked up in."""

    user: Sequence[str]
    others: Sequence[str] = ()
    """What the user may have agreed to: the assistant's words and calls."""
    tools: Sequence[str] = ()
    """What tools returned: never the user's word, also where the assistant repeats it."""


def invented_quotes(text: str, said: Said) -> list[str]:
    """Quotes of four words and more that `text` attributes to the user and that are not the user's."""
    look_up = _LookUp(said)
    return [quote for quote in _user_quotes(text) if not look_up.may_be_the_users(quote)]


def quote_others_apart(text: str, said: Said) -> str:
    """The text with backticks for quotation marks around what nobody said in the conversation.

    A later summary may take the user's words from quotation marks in this one, so what tools returned, or
    nobody at all, must not stand in any.
    """
    look_up = _LookUp(said)

    def marked(match: re.Match[str]) -> str:
        quote = _content(match)
        if not _is_long(quote) or look_up.may_be_the_users(quote):
            return match.group()
        return quote if "`" in quote else f"`{quote}`"

    return _CODE_OR_QUOTE.sub(marked, text)


def quotes_in(text: str) -> Iterator[str]:
    """All that stands in quotation marks, but for those in code."""
    return filter(None, map(_content, _CODE_OR_QUOTE.finditer(text)))


class _LookUp:
    """Reads each kind of source when it is first asked for: most summaries quote nothing."""

    def __init__(self, said: Said) -> None:
        self._said = said
        self._read: dict[str, str] = {}

    def may_be_the_users(self, quote: str) -> bool:
        if self._holds("user", quote):
            return True
        return self._holds("others", quote) and not self._holds("tools", quote)

    def _holds(self, whose: str, quote: str) -> bool:
        if whose not in self._read:
            self._read[whose] = "\n".join(map(_normalize, getattr(self._said, whose)))
        return _holds(self._read[whose], quote)


def _content(match: re.Match[str]) -> str:
    """What is quoted; nothing where the match is code."""
    return next((group for group in match.groups() if group is not None), "")


def _user_quotes(text: str) -> Iterator[str]:
    for line in text.splitlines():
        last = 0
        for match in _QUOTE.finditer(line):
            quote = _content(match)
            before, last = line[last : match.start()], match.end()
            attributed = _BEFORE.search(before[-140:])
            if attributed and _NOT_SPEECH.search(attributed.group()):
                attributed = None
            if (attributed or _AFTER.match(line[match.end() :])) and _is_long(quote):
                yield quote


def _is_long(quote: str) -> bool:
    return len(quote.split()) >= _MIN_WORDS or len(_IDEOGRAPH.findall(quote)) >= _MIN_IDEOGRAPHS


def _holds(source: str, quote: str) -> bool:
    """Every stretch between ellipses or insertions stands in the source, in this order."""
    at = 0
    for piece in _GAP.split(quote):
        wanted = _normalize(piece).strip()
        if len(wanted) < 3:
            continue
        found = source.find(wanted, at)
        if found < 0:
            return False
        at = found + len(wanted)
    return True


def _normalize(text: str) -> str:
    """Words only: case, blanks, punctuation, kinds of quote and of letters do not make a quote false."""
    return " ".join(re.findall(r"\w+", plain(text).replace("’", "'").replace("'", "")))
