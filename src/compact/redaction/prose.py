"""Secrets stated in a sentence, in the languages of `data/words.toml`, PINs and one-time codes.

These rules read the decoded text (`decode.py`), so they need not handle escapes.
"""

from __future__ import annotations

import functools
import re

from compact.redaction import plausible
from compact.redaction.grammar import COLON, GAP, SEED_VALUE, Rule
from compact.redaction.separators import BLANK, CLOSE, MARK, SUFFIX, TRAILING, is_typed
from compact.redaction.words import either, words

# A word between the name and its value, possibly in parentheses: "the password *for the staging database*
# is".
_WORD = r"[^\s:=,;.!?\"'`()\[\]{}<>|]{1,24}"
_FILLER = rf"{BLANK}{{1,4}}(?:{_WORD}|[(\[]{_WORD}[)\]])"
_OPENING = rf"{MARK}?"
_VALUE = r"[^\s\"'`,;\xe3\xef]+"
# A value on the line below its name, after at most one empty line.
_BREAK = r"[ \t]*(?:\r?\n[ \t]*){1,2}"
_ASCII = r"[!#-&(-+.-:<-_a-~-]{4,}"
_NO_SENTENCE = re.compile(rb"[a-z]+(?:[-./][a-z]+)*|[A-Z][a-z]+")
_TYPED_HOLDS = "[0-9!@#$%^&*+~]"


def _typed(value: bytes, before: bytes, after: bytes) -> bool:
    return after != b"(" and is_typed(value)


def _read_out(value: bytes, before: bytes, after: bytes) -> bool:
    """A plain word that a verb announces literally; "as follows:" does not count."""
    word = value.rstrip(b".,!?)\"'`")
    return len(word) >= 5 and not word.endswith(b":") and not plausible.is_placeholder(word)


def _read_on(value: bytes, before: bytes, after: bytes) -> bool:
    """The same if neither a colon nor a quotation mark separates it from the sentence ("lautet anders")."""
    if not _read_out(value, before, after):
        return False
    return value.rstrip(b".,!?)\"'`").decode("utf-8", "replace").lower() not in _adverbs()


@functools.cache
def _adverbs() -> frozenset[str]:
    return frozenset(words("between", False))


def _random(value: bytes, before: bytes, after: bytes) -> bool:
    value = value.rstrip(TRAILING)
    if len(value) < 10 or after == b"(" or value.startswith(b"//"):
        return False
    return plausible.is_random(value) and plausible.has_key_run(value)


def _stated(value: bytes, before: bytes, after: bytes) -> bool:
    """Latin letters in a script without spaces, right after "the password is"."""
    if plausible.is_placeholder(value) or plausible.is_code(value) or after == b"(":
        return False
    return len(value) >= 8 or _NO_SENTENCE.fullmatch(value) is None


def _given(value: bytes, before: bytes, after: bytes) -> bool:
    return not plausible.is_reference(value)


def _digits(value: bytes, before: bytes, after: bytes) -> bool:
    return not (after.isalnum() or after in (b"-", b":", b"/", b"_", b"%"))


def _only_foreign(kind: str) -> list[str]:
    english = words(kind, False, "en")
    return [word for word in words(kind, False) if word not in english]


@functools.cache
def foreign_passwords() -> str:
    """Words for password that the requirement's own patterns do not cover."""
    return either([*_only_foreign("password"), *words("password", True)])


def _says() -> str:
    """Between a name and its value: "is", "is:"."""
    return rf",?{BLANK}+(?:{either(words('is', False))}){BLANK}*(?:{COLON}|{BLANK})"


# Needs are simple patterns, because the search for the rules that a text needs reads every text.
_GOES_ON = r"[\"'`* ]*,?[ \t]+[a-z0-9([#\x80-\xff]"


def _password_sentences() -> tuple[Rule, ...]:
    """Languages with spaces between words."""
    said = _says()
    says = rf"(?:{said}|{GAP}{COLON})"
    # At the end of a line "is" needs no colon.
    announced = rf"(?:(?:{said})?{GAP}{COLON}|,?{BLANK}+(?:{either(words('is', False))}))"
    some = rf"(?:{_FILLER}){{0,6}}?"
    named = rf"(?i)(?:{either(words('password', False))}){SUFFIX}{CLOSE}"
    english = either(words("password", False, "en"))
    needs = rf"(?:{english})s?(?:{_GOES_ON}|[\"'`* ]*[:=\xef])|{either(_only_foreign('password'))}"
    between = rf"(?:{BLANK}+(?:{either(words('between', False))}))*"
    reads = rf"{BLANK}+(?:{either(words('reads', False))}){between}"
    to = rf"{BLANK}+(?:{either(words('to', False))}){BLANK}+"
    return (
        Rule(
            "prose",
            rf"{named}{some}{reads}{GAP}(?:{COLON}{GAP}{_OPENING}|{MARK})",
            _VALUE,
            needs,
            _read_out,
        ),
        Rule("prose", rf"{named}{some}{reads}{BLANK}+", _VALUE, needs, _read_on),
        Rule(
            "password",
            rf"(?i)(?:{foreign_passwords()}){CLOSE}{GAP}{COLON}{GAP}{_OPENING}",
            SEED_VALUE,
            foreign_passwords(),
            _given,
        ),
        Rule("prose", rf"{named}{to}{_OPENING}", _VALUE, needs, _typed, holds=_TYPED_HOLDS),
        Rule("prose", rf"{named}{some}{says}{GAP}{_OPENING}", _VALUE, needs, _typed, holds=_TYPED_HOLDS),
        Rule("prose", rf"{named}{some}{announced}{_BREAK}{_OPENING}", _VALUE, needs, _typed),
    )


def _key_sentences() -> tuple[Rule, ...]:
    """The same for keys: what follows must look random, because "the key is …" may say anything."""
    key, foreign = either(words("key", False)), either(_only_foreign("key"))
    said = _says()
    some = rf"(?:{_FILLER}){{1,4}}?(?:{said}|{GAP}{COLON})"
    needs = rf"(?:{either(words('key', False, 'en'))})s?{_GOES_ON}|{foreign}"
    random = "[0-9]|[A-Za-z]{20}"
    return (
        Rule(
            "prose",
            rf"(?i)(?:{key}){SUFFIX}{CLOSE}(?:{some}|{said}){GAP}{_OPENING}",
            _VALUE,
            needs,
            _random,
            holds=random,
        ),
        Rule(
            "prose",
            rf"(?i)(?:{foreign}){SUFFIX}{CLOSE}{GAP}{COLON}{GAP}{_OPENING}",
            _VALUE,
            foreign,
            _random,
            holds=random,
        ),
    )


def _joined() -> tuple[Rule, ...]:
    """Languages without spaces between words: the ASCII text after the word is the value."""
    password, key = either(words("password", True)), either(words("key", True))
    said = either(words("is", True))
    return (
        Rule(
            "prose",
            rf"(?i)(?:{password})[\x80-\xff]{{0,12}}?(?:{said}){GAP}{COLON}?{GAP}{_OPENING}",
            _ASCII,
            password,
            _stated,
        ),
        Rule(
            "prose",
            rf"(?i)(?:{password}|{key})[\x80-\xff]{{0,24}}[ \t:=\"'`]{{0,4}}",
            _ASCII,
            rf"{password}|{key}",
            _typed,
        ),
    )


def _pins() -> tuple[Rule, ...]:
    pin, joined = either(words("pin", False)), either(words("pin", True))
    says = rf"(?:{BLANK}+(?:{either(words('is', False))}){BLANK}*{COLON}?|{GAP}{COLON})"
    long_name = rf"\b(?:{pin}|(?-i:PIN|Pin))\b{CLOSE}(?:{_FILLER}){{0,5}}?"
    digits = "[0-9]{4,8}"
    return (
        Rule(
            "pin",
            rf"(?i)(?:{long_name}|\bpin\b{CLOSE}){says}{GAP}{_OPENING}",
            digits,
            rf"\bpin\b|{pin}",
            _digits,
            holds="[0-9]{4}",
            # "Pin the version: 1234": before an article it is a verb.
            unless=rf"(?i)pin[ \t]+(?:{either(words('article', False))})\b",
        ),
        Rule("pin", rf"(?:\bPIN|(?i:{pin})){BLANK}", "[0-9]{4,8}", rf"\bpin[ \t]|{pin}", _digits),
        Rule("pin", rf"(?i)(?:{joined})[\x80-\xff]{{0,12}}[ \t:=\"'`]{{0,4}}", digits, joined, _digits),
    )


def _one_time_codes() -> tuple[Rule, ...]:
    listed, joined = words("one_time", False), either(words("one_time", True))
    sent_for = either(word.removesuffix(" code") for word in listed if word.endswith(" code"))
    turned = rf"\bcode (?:for )?(?:(?:{either(words('article', False))}) )?\(?(?:{sent_for})"
    # The short ones first: of the names that match, most texts have these.
    name = rf"(?:\b(?:t?otp|2fa)|{either(listed)}|{turned})s?\b\)?{CLOSE}"
    says = rf"(?:{BLANK}+(?:{either(words('is', False))})|{GAP}{COLON})"
    value = rf"{GAP}{COLON}?{GAP}{_OPENING}"
    digits = "[0-9]{3}[ -][0-9]{3}|[0-9]{6,8}"
    return (
        Rule("one-time-code", rf"(?i){name}{says}?{value}", digits, name, _digits),
        Rule("one-time-code", rf"(?i){name}(?:{_FILLER}){{1,3}}?{says}{value}", digits, name, _digits),
        Rule(
            "one-time-code",
            rf"(?i)(?:{joined})[\x80-\xff]{{0,12}}[ \t:=\"'`]{{0,4}}",
            digits,
            joined,
            _digits,
        ),
    )


@functools.cache
def rules() -> tuple[Rule, ...]:
    return (*_password_sentences(), *_key_sentences(), *_joined(), *_pins(), *_one_time_codes())
