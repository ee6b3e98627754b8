"""Classify a run of characters: a path, an id, a symbol, a date, an amount, or just a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import filterfalse
from pathlib import Path

from compact.evidence.words import EASTERN, listed
from compact.model.summary import EvidenceKind as Kind

_BREAKS, _OTHER_BREAKS = "\"'(){}[];<>|=`*\\", "“”‘’«»「」，。、；：（）！？"
_MARKS = ".,:;!?…/+-@#~$€£&^"
CODE = listed(Path(__file__).with_name("code.txt"))
_EXTENSIONS, _NOISE = CODE["extensions"], CODE["noise"]
_EVERYBODYS, _METHODS = CODE["roots"], CODE["methods"]  # names that every model knows: `os.path.join`
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DATE = re.compile(
    r"\d{4}-\d\d?-\d\d?(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?|\d\d?[/.]\d\d?[/.](?:\d{4}|\d\d)|"
    r"\d{4}/\d\d?/\d\d?"
)
_NUMBER = re.compile(
    r"[#$€£+]?\d[\d.,:]*(?:%|[kKMBGT]?[bB]|[kKMBx]|ms|[smhd]|px|em|pt|k?g|lbs?|[kcm]?m|mi|ft|am|pm|AM|PM|"
    r"st|nd|rd|th|[€£円元원])?"
)
_PHONE = re.compile(r"\+?\d{1,4}(?:-\d{2,5}){2,4}")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")
_COMMON_ERROR = re.compile(r"(?:[A-Z][a-z]+){1,2}(?:Error|Warning)|assert[A-Z]\w*|TestCase|NotImplemented")
_LINES = re.compile(r":(\d+)(?:[:-](\d+))?$")
_SEGMENT = re.compile(r"[\w.@+~$-]+")
_HIDDEN = re.compile(r"\.[a-z][a-z\d_-]+(?:/[\w.-]*[A-Za-z]|\.[a-z\d_]+$|$)")
_UNNAMED = re.compile(  # types, options, bytes, hunks of a diff, formats, measures
    r"(?:u?int|float|complex|datetime)\d{1,3}|-\w|0\d?[a-z]|000\d+|[1-9]\d{0,3}(?:,\d+)?[acd]\d{1,4}|[\w.]+%\d+|"
    r"%\S+|\d+-[a-z]|\d{1,4}-[a-z]{2,}|[a-z]\w?-\w{1,3}|[a-z]-[\d.]+"
)
_SIDE = re.compile(r"^(?:[ab]/(?=[\w.-]+/)|\./)")
_OWN = re.compile(r"^(?:self|this)\.(?=\w)")
_KEY = re.compile(r'"[A-Za-z_][\w-]*"\s*:')
_ESCAPED = re.compile(r'\\[nrt"]')
_LONGEST, _SHORT_NUMBER, _LONG_NUMBER = 200, 3, 7
_PLAIN_LIMIT, _KNOWN_LIMIT = 200_000, 50_000

Values = tuple[tuple[str, Kind], ...]
_plain: set[str] = set()
_known: dict[str, Values] = {}


def values_in(text: str, from_tool: bool = False, runs: Sequence[str] = ()) -> dict[str, Kind]:
    """Every value of a text and its kind. `runs`: the text, split at spaces, if it already is."""
    if text[:2].lstrip()[:1] in ("{", "["):
        text, runs = _KEY.sub(" ", text), ()
    rest: Iterable[str] = filterfalse(_plain.__contains__, runs or text.split())  # Most are ordinary words.
    if from_tool:  # Its decimals mean nothing by themselves.
        rest = [run for run in rest if run.strip("0123456789") != "."]
    found: dict[str, Kind] = {}
    unread: list[str] = []
    for run in rest:
        known = _known.get(run)
        if known is not None:
            found.update(known)
        elif run.isdecimal() and run.isascii():
            if len(run) < _SHORT_NUMBER:
                _plain.add(run)
            elif len(run) <= _LONGEST and run[:3] != "000":
                found[run] = Kind.ID if len(run) >= _LONG_NUMBER else Kind.NUMBER
        else:
            unread.append(run)
    if unread:
        _read(list(dict.fromkeys(unread)), found)
    return found


def _read(runs: Sequence[str], found: dict[str, Kind]) -> None:
    """Adds what these hold, and remembers it: most runs come up again."""
    if len(_plain) > _PLAIN_LIMIT or len(_known) > _KNOWN_LIMIT:
        _plain.clear()
        _known.clear()
    text = "\n".join(runs)
    if "\\" in text:
        text = _ESCAPED.sub(" ", text)
    for mark in filter(text.__contains__, _BREAKS if text.isascii() else _BREAKS + _OTHER_BREAKS):
        text = text.replace(mark, " ")
    for run, inside in zip(runs, text.split("\n"), strict=True):
        values: list[tuple[str, Kind]] = []
        for word in filterfalse(_plain.__contains__, inside.split()):
            values += _known.get(word) or _remembered(word, _judge(word))
        found.update(_remembered(run, tuple(values)))


def _remembered(run: str, values: Values) -> Values:
    if values and len(run) <= _LONGEST:
        _known[run] = values
    elif len(run) <= _LONGEST:
        _plain.add(run)
    return values


def _judge(word: str) -> Values:
    bare = word.strip(_MARKS)
    plain = bare.isalpha() and (bare[1:].islower() or not bare.isascii())
    if plain or len(bare) < 2 or len(word) > _LONGEST:
        return ()
    pieces = [word]
    if not word.isascii() and EASTERN.search(word):
        pieces = EASTERN.sub(" ", word).split()
    elif "," in bare and not _NUMBER.fullmatch(bare):
        pieces = list(filter(None, bare.split(",")))
    return tuple([value for value in map(_value_of, pieces) if value])


def _value_of(run: str) -> tuple[str, Kind] | None:
    value = run.rstrip(".,:;!?…/+-@#~$&^")
    if value[:1] in ".,:;!?@&^~" and not value.startswith(("./", "../", "~/")) and not _HIDDEN.match(value):
        value = value.lstrip(".,:;!?@&^~")
    value = _OWN.sub("", value)
    kind = classify(value)
    if ":" in value and kind in (Kind.ID, Kind.SYMBOL) and "::" not in value:
        kind = None
    if kind is Kind.PATH:
        path = _SIDE.sub("", _LINES.sub("", value))
        return (path, kind) if "$" not in path and (path == value or classify(path) is kind) else None
    if kind is None and ":" in value and "://" not in value:
        # "34:TOTAL_ROWS" is a search hit, "id:4711" a label: what counts is next to the colon.
        parts = [(part, found) for part in value.split(":") if (found := classify(part.strip(_MARKS)))]
        return (parts[-1][0].strip(_MARKS), parts[-1][1]) if parts else None
    return (value, kind) if kind is not None else None


def classify(value: str) -> Kind | None:
    """The kind of a trimmed value, or None if it is an ordinary word, a small number or noise."""
    size = len(value)
    if size < 2 or size > _LONGEST or value in _NOISE or "..." in value or _UNNAMED.fullmatch(value):
        return None
    if value.isalpha():
        camel = value.isascii() and not value.islower() and _CAMEL.search(value)
        return Kind.SYMBOL if camel and not _COMMON_ERROR.fullmatch(value) else None
    if "://" in value:
        return Kind.URL if size > 10 else None
    if "@" in value:
        return Kind.ID if _EMAIL.fullmatch(value) else None
    if value[0] == "-":
        return Kind.SYMBOL if value[:2] == "--" and size > 4 else None
    if (value[0].isdigit() or value[0] in "$€£+#") and (found := _of_digits(value)):
        return found
    if "/" in value:
        return _of_slashes(value)
    if "." in value:
        return _of_dots(value)
    return _of_plain(value)


def _of_digits(value: str) -> Kind | None:
    if _DATE.fullmatch(value):
        return Kind.DATE
    digits = sum(map(str.isdigit, value))
    if _PHONE.fullmatch(value) and digits >= 7:
        return Kind.ID
    if _NUMBER.fullmatch(value):
        if value.isdigit():
            return Kind.ID if digits >= _LONG_NUMBER else Kind.NUMBER if digits >= _SHORT_NUMBER else None
        return Kind.NUMBER
    return None


def _of_slashes(value: str) -> Kind | None:
    body = _LINES.sub("", value)
    segments = [segment for segment in body.split("/") if segment]
    if len(segments) < 2 or not all(_SEGMENT.fullmatch(segment.replace(":", "")) for segment in segments):
        return None
    if (body[-1] == "/" and body[0] not in "/~.") or body.startswith("s/"):
        return None  # a folder in passing, or a sed expression
    host, ending = segments[0], segments[0].rpartition(".")[2]
    if "." in host[1:-1] and host.islower() and ending not in _EXTENSIONS:
        return Kind.URL if ending.isalpha() else None
    last = segments[-1]
    dotted = "." in last.strip(".")
    if dotted and body[0] not in "/~." and last.rsplit(".", 1)[1].split(":")[0].lower() not in _EXTENSIONS:
        return None  # "foo.bar/self.baz" is code or a pattern
    if dotted or body[0] in "/~." or "_" in body or (len(segments) > 2 and body.islower()):
        return Kind.PATH if any(map(str.isalpha, body)) else None
    # "AZ-11/2024/17" is a file's number, "Q3/Q4" is none.
    numbered = all(any(map(str.isdigit, segment)) for segment in segments) and any(map(str.isupper, body))
    return Kind.ID if numbered and sum(map(str.isdigit, body)) > _SHORT_NUMBER else None


def _of_dots(value: str) -> Kind | None:
    if value[0] == ".":
        return Kind.PATH if _HIDDEN.match(value) else None
    stem, _, extension = value.rpartition(".")
    bare = extension.split(":")[0].lower()
    if bare in _EXTENSIONS and stem and "." not in stem[1:].replace(".", "", 1):
        return None if bare in ("log", "json", "text") and stem in _EVERYBODYS else Kind.PATH
    calls = stem.isalpha() and stem.islower() and extension in _METHODS
    if calls or value.partition(".")[0] in _EVERYBODYS:
        return None
    if _DOTTED.fullmatch(value.split("::")[0].rstrip(":")):
        # "e.g" and "f.read" are ordinary words of prose and code; "Model.save" and "q.as_sql" are names.
        first, second = value.split(".")[:2]
        named = len(first) > 1 or "_" in second or _CAMEL.search(second)
        return Kind.SYMBOL if len(second) > 1 and named else None
    return Kind.ID if any(map(str.isdigit, value)) and any(map(str.isalpha, value)) else None


def _of_plain(value: str) -> Kind | None:
    has_digit = any(map(str.isdigit, value))
    if not any(map(str.isalpha, value)) or "+" in value or "%" in value:
        return None
    if "_" in value:
        if not value.strip("_") or len(value) < 4:
            return None
        return Kind.ID if has_digit else Kind.SYMBOL
    if has_digit:
        # "2550p" in a sed command is an address, not an id.
        return Kind.ID if len(value) > 3 and (len(value) > 6 or not value[:-1].isdigit()) else None
    return Kind.SYMBOL if value[0] == "#" else None
