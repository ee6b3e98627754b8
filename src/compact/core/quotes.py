"""Words put into the user's mouth: quotes that a text attributes to the user and the user never wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MIN_WORDS = 4
_MIN_IDEOGRAPHS = 8

_QUOTED = r'"([^"\n]{8,600})"|“([^”\n]{8,600})”|„([^“”\n]{8,600})[“”]|«([^»\n]{8,600})»|「([^」\n]{4,600})」'
_QUOTE = re.compile(_QUOTED)

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


def invented_quotes(text: str, sources: Sequence[str]) -> list[str]:
    """Quotes of four words and more that `text` attributes to the user and none of `sources` holds."""
    normalized: str | None = None
    found = []
    for quote in _user_quotes(text):
        if normalized is None:
            normalized = "\n".join(_normalize(source) for source in sources)
        if not _holds(normalized, quote):
            found.append(quote)
    return found


def _user_quotes(text: str) -> Iterator[str]:
    for line in text.splitlines():
        last = 0
        for match in _QUOTE.finditer(line):
            quote = next(group for group in match.groups() if group is not None)
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
    """Words only: case, blanks, punctuation and kinds of quote do not make a quote false."""
    return " ".join(re.findall(r"\w+", text.casefold().replace("’", "'").replace("'", "")))
