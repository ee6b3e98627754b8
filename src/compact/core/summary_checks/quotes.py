"""Find words put into the user's mouth: quotes attributed to the user that the user never wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from compact.core.seeming import plain
from compact.core.summary_checks.citations import cited_positions
from compact.core.summary_checks.scripts import HAN, HANGUL, KANA
from compact.core.summary_checks.support import share_spoken, vocabulary

_MIN_WORDS = 4
_MIN_IDEOGRAPHS = 8

_QUOTED = r'"([^"\n]{8,600})"|“([^”\n]{8,600})”|„([^“”\n]{8,600})[“”]|«([^»\n]{8,600})»|「([^」\n]{4,600})」'
# Single quotes may be apostrophes: they open after no letter and close before none.
_SINGLE = (
    r"(?<![\w'’])'(?=\S)((?:[^'\n]|(?<=\w)'(?=\w)){8,600}?)(?<=\S)'(?!\w)|"
    r"‘((?:[^‘’\n]|’(?=\w)){8,600}?)’(?!\w)|‚([^‘’\n]{8,600})[‘’]|‹([^›\n]{8,600})›|『([^』\n]{4,600})』"
)
_QUOTE = re.compile(f"{_QUOTED}|{_SINGLE}")
# Short quotes are read too, or the text between two of them would look like a quote.
_PAIRED = r'(?<!\w)"(?=\S)([^"\n]{0,600})(?<=\S)"(?!\w)|' + f"{_QUOTED.partition('|')[2]}|{_SINGLE}".replace(
    "{8,", "{0,"
)
_CODE_OR_QUOTE = re.compile(rf"```.*?(?:```|\Z)|`[^`\n]+`|{_PAIRED}", re.DOTALL)

_USER = (
    r"(?:\b(?:users?|customers?|clients?|benutzer(?:in)?|nutzer(?:in)?|kund(?:e|in)|utilisat(?:eur|rice)|"
    r"usuari[oa]|utente|cliente|gebruiker|användaren|użytkownik|пользователь|заказчик)\b|用户|用戶|ユーザー|사용자)"
)
NAMES_USER = re.compile(_USER, re.IGNORECASE)
APPROVES = re.compile(
    r"\b(?:approv|agree|confirm|accept|allow|permit|reject|declin|refus|forb|cho[so]|pick|genehmig|erlaub|bestätig|"
    r"approuv|accord|aprob|aprueb|approva|одобр|разреш)|zugestimmt|批准|同意|承認|許可|승인",
    re.IGNORECASE,
)
_SPEECH = (
    r"(?:sa(?:id|ys)|ask(?:ed|s)|want(?:ed|s)|request(?:ed|s)|stat(?:ed|es)|instruct(?:ed|s)|t(?:old|ells)|"
    r"wr(?:ote|ites)|confirm(?:ed|s)|insist(?:ed|s)|demand(?:ed|s)|repl(?:ied|ies)|answer(?:ed|s)|approv(?:ed|es)|"
    r"reject(?:ed|s)|forb(?:ade|ids)|add(?:ed|s)|explain(?:ed|s)|declar(?:ed|es)|remark(?:ed|s)|stress(?:ed|es)|"
    r"point(?:ed|s) out|emphasi[sz](?:ed|es)|clarif(?:ied|ies)|order(?:ed|s)|warn(?:ed|s)|promis(?:ed|es)|"
    r"complain(?:ed|s)|puts? (?:it|this|that)|verbatim|quot(?:e[ds]?|ing)|rule|words|instruction|preference|"
    r"sagt|sagte|bat|bittet|verlangt|verlangte|schrieb|schreibt|will|wollte|dit|demande|demandé|écrit|veut|"
    r"dijo|dice|pidió|pide|quiere|escribió|disse|dice|chiede|ha chiesto|vuole|pediu|quer|zei|vroeg|wil|"
    r"сказал|попросил|просит|написал|хочет|说|說|要求|表示|希望|言|求め|말|요청)"
)
# The user is the subject, a verb of speech follows, and nothing before the quote changes the subject.
_BEFORE = re.compile(
    rf"{_USER}(?:['’]s)?(?:\s*\[m\d+\])?\s*(?:[:：,]\s*|[^.;!?\n\"“„«「‘‚‹『]{{0,30}}{_SPEECH}[^.;!?\n\"“„«「‘‚‹『]{{0,30}})$",
    re.IGNORECASE,
)
# After these, even a short quotation follows; "wants “dark mode”" may only name a thing.
_SAYS = re.compile(
    r"\b(?:sa(?:id|ys)|wr(?:ote|ites)|repl(?:ied|ies)|answer(?:ed|s)|insist(?:ed|s)|demand(?:ed|s)|order(?:ed|s)|"
    r"t(?:old|ells)|instruct(?:ed|s)|puts? it|words|sagte?|schr(?:ieb|eibt)|dit|écrit|dijo|escribió|"
    r"disse|zei)\b|说|說|言",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:^| )(?:never|not|dont|doesnt|wont|cannot|cant|mustnt|shouldnt|nicht|nie|niemals|kein|keine|jamais|"
    r"nunca|nooit|niet)(?: ever| again| to| just)? $"
)
_DENIES = re.compile(
    r"\b(?:not|never|no|without|against|forb\w+|refus\w+|reject\w*|ban(?:ned|s)?|nicht|nie|kein\w*|pas|jamais|nunca)\b|"
    r"n['’]t\b",
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
# A block quotation, with the user named before or below it.
_SIGNED = re.compile(
    rf"(?P<above>^[^\n]{{0,80}}{_USER}[^\n]{{0,60}}[:：]\s*\n+)?(?P<quote>(?:^[ \t]*>[^\n]*\n?)+)"
    rf"(?P<below>\s*(?:>\s*)?(?:[—–~]|--?)\s*(?:the\s+)?{_USER})?",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNED_BELOW = re.compile(rf"^\s*\n\s*(?:[—–~]|--?)\s*(?:the\s+)?{_USER}", re.IGNORECASE)
# "User: delete it all" has the user speak; "User: wants it deleted" speaks about the user.
_USER_LINE = re.compile(
    rf"^\s*(?:[-*•]\s+)?(?:\[m\d[^\]]*\]\s*)?[*_]*(?:the\s+)?{_USER}\s*[*_]*\s*[:：]\s*[*_]*"
    r"(?!\w+(?:s|ed)\b|[\"“„«「'‘‚‹『`])(\S[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_OWN_SHARE = 0.6
"""The share of the words attributed to the user that must be the user's."""
_NOT = r"\b(?:not|never|without|refus|reject|declin|den(?:y|ied)|instead|except|only)|n['’]t\b"
_APPROVED = re.compile(
    rf"^(?!.*(?:{_NOT})).*(?:{_USER}[^.;!?\n]{{0,30}}\b(?:approv|agree|allow|permit|accept)(?:ed|s)\b|"
    rf"\b(?:approved|allowed|permitted|accepted)\s+by\s+the\s+{_USER})",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\W*(?:(?:absolutely|definitely|certainly|of course|please|hell|oh|well)[, ]+)?"
    r"(?:no(?:pe)?\b(?!\s+(?:worries|problem|objection|need|doubt))|not\b(?!\s+(?:bad|only))|never\b(?!\s+mind)|"
    r"do(?:n['’]?t|\s+not)\b|under no circumstances)",
    re.IGNORECASE,
)
_OTHER_WAY = re.compile(
    r"\b(?:instead|rather|but|use|take|go|try|yes|ok(?:ay)?|fine|may|can|do(?!n['’]?t|\s+not))\b",
    re.IGNORECASE,
)
_GAP = re.compile(r"\[?(?:…|\.\.\.)\]?|\[[^\]]*\]|\(\.\.\.\)")
_IDEOGRAPH = re.compile(f"[{KANA}{HAN}{HANGUL}]")


@dataclass(frozen=True, slots=True)
class Said:
    """Who said what, for looking up quotes."""

    user: Sequence[str]
    others: Sequence[str] = ()
    """What the user may have agreed to: the assistant's words and calls."""
    tools: Sequence[str] = ()
    """What tools returned: never the user's word, even if the assistant repeats it."""


class LookUp:
    """Reads each kind of source when it is first needed: most summaries quote nothing."""

    def __init__(self, collect: Callable[[], Said]) -> None:
        self._collect = collect
        self._read: dict[str, str] = {}

    @cached_property
    def said(self) -> Said:
        return self._collect()

    def is_the_users(self, quote: str, *, whole: bool = False) -> bool:
        """`whole`: not only if the user denies it."""
        return self._holds("user", quote) and not (whole and _only_denied(self._read["user"], quote))

    def may_be_the_users(self, quote: str) -> bool:
        if self._holds("user", quote):
            return True
        return self._holds("others", quote) and not self._holds("tools", quote)

    def _holds(self, whose: str, quote: str) -> bool:
        if whose not in self._read:
            self._read[whose] = "\n".join(map(_normalize, getattr(self.said, whose)))
        return _holds(self._read[whose], quote)


def invented_quotes(text: str, look_up: LookUp) -> list[str]:
    """Quotes that `text` attributes to the user and that are not the user's.

    They have four words or more; after a verb of speech two are enough. A quote that leaves out the "never"
    before it is not the user's either.
    """
    quotes = [
        quote
        for quote, approved, denied in _user_quotes(text)
        if not (
            look_up.may_be_the_users(quote) if approved else look_up.is_the_users(quote, whole=not denied)
        )
    ]
    quotes += [quote for quote in _block_quotes(text) if not look_up.is_the_users(quote)]
    lines = user_lines(text)
    spoken = vocabulary(look_up.said.user) if lines else set[str]()
    return quotes + [line for line in lines if share_spoken(line, spoken) < _OWN_SHARE]


def quote_others_apart(text: str, look_up: LookUp) -> str:
    """The text with backticks instead of quotation marks around what nobody said in the conversation.

    A later summary may take the user's words from quotation marks in this one, so text that tools returned,
    or that nobody said, must not be in any.
    """

    def marked(match: re.Match[str]) -> str:
        quote = _content(match)
        if not _is_long(quote) or look_up.may_be_the_users(quote):
            return match.group()
        return quote if "`" in quote else f"`{quote}`"

    return _CODE_OR_QUOTE.sub(marked, text)


def quotes_in(text: str) -> Iterator[str]:
    """Everything in quotation marks, except in code."""
    return filter(None, map(_content, _CODE_OR_QUOTE.finditer(text)))


def user_lines(text: str) -> list[str]:
    """What the user is made to say without quotation marks: "User: delete it all"."""
    return [line for match in _USER_LINE.finditer(text) if _is_long(line := match.group(1))]


def denied_approval(text: str, turned_down: Mapping[int, bool]) -> str:
    """The first line that has the user approve of something, citing only messages that decline.

    `turned_down` has the user's messages; `turns_down` says which.
    """
    for line in text.splitlines():
        cited = cited_positions(line)
        if cited and all(turned_down.get(number) for number in cited) and _APPROVED.search(line):
            return line.strip()
    return ""


def turns_down(said: str) -> bool:
    """Whether a message is a no and nothing else; one that names an alternative may approve of that."""
    return _NO.match(said) is not None and not _OTHER_WAY.search(said)


def _content(match: re.Match[str]) -> str:
    """What is quoted; nothing if the match is code."""
    return next((group for group in match.groups() if group is not None), "")


def _user_quotes(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Quotes attributed to the user; whether the user only judged them; whether to the contrary."""
    at = 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        last = 0
        for match in _QUOTE.finditer(line):
            quote = _content(match)
            before, last = line[last : match.start()], match.end()
            attributed = _BEFORE.search(before[-140:])
            if attributed and _NOT_SPEECH.search(attributed.group()):
                attributed = None
            signed = _AFTER.match(line[match.end() :]) or _SIGNED_BELOW.match(
                line[match.end() :] + text[at : at + 80]
            )
            says = attributed and _SAYS.search(attributed.group())
            if (attributed or signed) and (_is_long(quote) or (says and " " in quote.strip())):
                phrase = attributed.group() if attributed else ""
                yield quote, bool(APPROVES.search(phrase)), bool(_DENIES.search(phrase))


def _block_quotes(text: str) -> Iterator[str]:
    if ">" not in text:
        return
    for match in _SIGNED.finditer(text):
        if match["above"] or match["below"]:
            quote = " ".join(line.strip().removeprefix(">") for line in match["quote"].splitlines())
            if _is_long(quote):
                yield quote.strip(' "“”')


def _only_denied(source: str, quote: str) -> bool:
    """True if the source has the quote only after a "never" or "not" that the quote leaves out."""
    wanted = _normalize(quote).strip()
    at, found = source.find(wanted), False
    while at >= 0:
        found = True
        if not _NEGATED.search(source[max(0, at - 24) : at]):
            return False
        at = source.find(wanted, at + 1)
    return found and len(wanted) > 2


def _is_long(quote: str) -> bool:
    return len(quote.split()) >= _MIN_WORDS or len(_IDEOGRAPH.findall(quote)) >= _MIN_IDEOGRAPHS


def _holds(source: str, quote: str) -> bool:
    """Every part between ellipses or insertions is in the source, in this order."""
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
    """Words only: case, spaces, punctuation, kinds of quotes and letters do not make a quote false."""
    return " ".join(re.findall(r"\w+", plain(text).replace("’", "'").replace("'", "")))
