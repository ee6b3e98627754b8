"""Finds the parts of a text that must not leave the process."""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from compact.errors import ConfigError
from compact.redaction import commands, plausible, prose, separators
from compact.redaction.blocks import BlockScalars, block_scalars
from compact.redaction.calls import CALLS
from compact.redaction.decode import Decoded
from compact.redaction.engine import (
    Span,
    compile_bytes,
    compile_pattern,
    matcher,
    options,
    re2_module,
    unanchored,
)
from compact.redaction.grammar import API_KEY, PASSWORD, WS, Check, Rule
from compact.redaction.named import NAMED
from compact.redaction.places import PLACES
from compact.redaction.plain import PLAIN
from compact.redaction.shapes import PII, SHAPES
from compact.redaction.tables import Tables, tables

_MAY_LEAD_ON = b" \t\"'`*]\\"
_BLANK = ord(" ")
_GAP = b" \t\xc2\xa0"
_LETTERS = string.ascii_letters.encode()
# Everything that may be in the head of a quoted value, from its opening quote back to its name; rather too
# much.
_HEAD_FROM_ITS_END = (
    b"bfruBFRU",
    _GAP,
    b":=>`*\xef\xbc\x9a\x9d",
    _LETTERS + b"_.|[]" + _GAP,  # A type: `token: str = "..."`.
    b":?",
    _GAP,
    b"\"'`*]",
    _LETTERS + string.digits.encode() + b"_- ",
)


class CompiledRule:
    """One pattern, ready to list what it finds."""

    def __init__(self, rule: Rule) -> None:
        self._match = matcher(rule.pattern)
        # Heads are short and simple enough for the standard engine, which starts faster.
        self._head = re.compile(rule.head.encode("latin-1")) if rule.head else None
        self._unless = re.compile(rule.unless.encode("latin-1")) if rule.unless else None
        self._until = rule.until.encode()
        self._holds = matcher(rule.holds) if rule.holds else None
        self._tail = 1 if rule.tail else 0
        self._secret = re.compile(rule.secret.encode("latin-1")) if rule.followed else None
        self._check: Check | None = rule.check
        self._retry_inside = rule.retry_inside
        self._quoted = bool(rule.whole)

    def find(self, data: bytes, found: list[Span]) -> None:
        """Adds the rule's findings, in order and without overlap."""
        if self._until and self._check is None:
            self._find_unchecked(data, found)
            return
        match, head, tail, check = self._match, self._head, self._tail, self._check
        until, holds, held, line = self._until, self._holds, -1, 0
        secret, quoted = self._secret, self._quoted
        anchor, length, position = unanchored(), len(data), 0
        while True:
            begin, stop = match(anchor, data, position, length)[0]
            if begin < 0:
                return
            start, end = begin, stop - tail
            if holds is not None:
                if held < begin:
                    # What the next secret must contain; if that is on a later line, no secret is on this one.
                    sign = holds(anchor, data, begin, length)[0][0]
                    if sign < 0:
                        return
                    line, held = max(line, data.rfind(b"\n", max(held, 0), sign) + 1), sign
                    if quoted and held >= end:
                        line = max(line, _earliest(data, begin, held))
                if held >= end:
                    # No name is shorter than three characters, and a value may contain another name.
                    position = line if line > begin + 3 else begin + 3
                    continue
            if until:
                start = data.find(until, begin + 3) + 1
            elif head is not None:
                kept = head.match(data, begin, end)
                start = kept.end() if kept is not None else begin
            if secret is not None and (value := secret.match(data, start, end)) is not None:
                end = value.end()
            # Spaces before a closing quote; in a decoded text one of them is the backslash that escaped it.
            while end > start and data[end - 1] == _BLANK:
                end -= 1
            position = stop
            if self._unless is not None and self._unless.match(data, begin):
                continue
            if check is None or check(data[start:end], data[max(0, begin - 16) : begin], data[end : end + 1]):
                found.append((start, end))
            elif self._retry_inside and (quoted or _leads_on(data, end)):
                position = max(start, begin + 1)

    def _find_unchecked(self, data: bytes, found: list[Span]) -> None:
        """The same if every match counts and its head ends at a known character: the shortest loop."""
        match, until, tail, anchor = self._match, self._until, self._tail, unanchored()
        length, position = len(data), 0
        while True:
            begin, position = match(anchor, data, position, length)[0]
            if begin < 0:
                return
            found.append((data.find(until, begin + 3) + 1, position - tail))


def _earliest(data: bytes, begin: int, held: int) -> int:
    """Nothing that begins between `begin` and this position has `held` inside its quotes.

    A value without escapes ends at the next quote of its own kind, so it opens at the last quote of some kind
    before `held`, after what may be its head. Each call has a `begin` after the previous `held`, so all calls
    together read the text once.
    """
    if data.find(b"\\", begin, held) >= 0:
        return begin
    opening = min(at for quote in (b'"', b"'", b"`") if (at := data.rfind(quote, begin, held)) >= 0)
    head = data[begin:opening]
    for piece in _HEAD_FROM_ITS_END:
        head = head.rstrip(piece)
    return begin + len(head)


def _leads_on(data: bytes, end: int) -> bool:
    """Whether the bare value that ends here may itself be a name with a value."""
    return data[end : end + 16].lstrip(_MAY_LEAD_ON)[:1] in (b"=", b":", b"\xef")


class LazyRule:
    """A rule that is compiled when the first text needs it: there are many, and most texts need few."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def find(self, data: bytes, found: list[Span]) -> None:
        _compiled(self._rule).find(data, found)


@functools.cache
def _compiled(rule: Rule) -> CompiledRule:
    return CompiledRule(rule)


class RuleSet:
    """All built-in rules, and one pass over a text that finds which of them it needs at all."""

    def __init__(self, rules: Sequence[Rule], finders: Sequence[BlockScalars | Tables] = ()) -> None:
        re2 = re2_module()
        self._rules = [*map(LazyRule, rules), *finders]
        self._needed = re2.Set.SearchSet(options(latin=True))
        needs = [rule.pattern if rule.needs is None else f"(?i:{rule.needs})" for rule in rules]
        for pattern in (*needs, *(f"(?i:{finder.needs})" for finder in finders)):
            self._needed.Add(pattern.encode("latin-1"))
        # Matches every text: if it is missing from the matches, the set ran out of memory, and all rules run.
        # It matches only at the end: a pattern that matches at every byte would make the pass half as fast.
        self._canary = self._needed.Add(rb"\z")
        self._needed.Compile()

    def find(self, data: bytes, found: list[Span], needed: Sequence[int] | None = None) -> bool:
        """Adds the findings of all rules; returns whether several rules matched, so that they may overlap."""
        of_several = False
        for index in self.needed(data) if needed is None else needed:
            if index != self._canary:
                before = len(found)
                self._rules[index].find(data, found)
                of_several = of_several or 0 < before < len(found)
        return of_several

    def needed(self, data: bytes) -> Sequence[int]:
        """The rules that may find something; if there are none, there are none for a part between quotes."""
        needed: Sequence[int] = self._needed.Match(data) or ()
        if self._canary not in needed:
            return range(len(self._rules))
        return needed if len(needed) > 1 else ()

    def may_find(self, data: bytes) -> bool:
        """Whether `data` contains what any rule needs."""
        return bool(self.needed(data))


class Scanner:
    """Runs all rules over one text and merges their findings, so that no rule sees another's output."""

    def __init__(self, pii: frozenset[str], user: Sequence[Any]) -> None:
        self._rules = plain_rules(pii)
        self._user = user

    def spans(self, data: bytes) -> list[Span]:
        return self.search(data) or []

    def search(self, data: bytes) -> list[Span] | None:
        """The spans; None if nothing occurs that a rule needs.

        Then a text between quotes in it has nothing either, unless it is escaped.
        """
        plain, others, decoded = self._rules.needed(data), decoded_rules().needed(data), Decoded(data)
        if not (plain or others or self._user or decoded.data is not data):
            return None
        found: list[Span] = []
        of_several = self._rules.find(data, found, plain)
        of_several = decoded_rules().find(data, found, others) or of_several
        if decoded.data is not data:
            before = len(found)
            self._find_decoded(decoded, found)
            of_several = of_several or before < len(found)
        for pattern in self._user:
            find_user(pattern, data, found)
        if found:
            # A quote at the end of a line opens no value.
            found = [(a, b) for a, b in found if a < b and not plausible.is_hidden(data[a:b])]
        return merged(found) if of_several or self._user else found

    def _find_decoded(self, decoded: Decoded, found: list[Span]) -> None:
        seen: list[Span] = []
        decoded_rules().find(decoded.data, seen)
        if decoded.had_hidden:
            self._rules.find(decoded.plain, seen)
        # A space at the end is the backslash of an escaped quote or line break.
        ends = [(start, start + len(decoded.data[start:end].rstrip())) for start, end in merged(seen)]
        found += decoded.back([(start, end) for start, end in ends if start < end])


def find_user(pattern: Any, data: bytes, found: list[Span]) -> None:
    """A user's pattern replaces its whole match, or its group named "secret" if it has one.

    The seed's own patterns, passed by a user, must still leave `api_key=` in place. So the name and the
    separator of a named secret at the start of a match stay.
    """
    group = pattern.groupindex.get(b"secret", 0)
    for match in pattern.finditer(data):
        start, end = match.span(group)
        if start < 0 or start == end:
            continue
        if group == 0:
            kept = _named_prefix().match(data, start, end)
            if kept is not None and kept.end() < end:
                start = kept.end()
        found.append((start, end))


def merged(spans: Iterable[Span]) -> list[Span]:
    result: list[Span] = []
    last = -1
    for span in sorted(spans):
        if span[0] < last:
            last = max(span[1], last)
            result[-1] = (result[-1][0], last)
        else:
            result.append(span)
            last = span[1]
    return result


def _decoded_rules() -> tuple[Rule, ...]:
    return prose.rules() + separators.rules() + commands.rules() + CALLS


def builtin_rules(pii: frozenset[str] = frozenset()) -> tuple[Rule, ...]:
    return NAMED + PLACES + PLAIN + SHAPES + tuple(rule for rule in PII if rule.kind in pii)


@functools.cache
def decoded_rules() -> RuleSet:
    """The rules that rely on the decoded text for escapes.

    They are a separate set: combined with the others, re2 would have to build many times as many states.
    """
    return RuleSet(_decoded_rules(), (block_scalars(), tables()))


@functools.cache
def plain_rules(pii: frozenset[str]) -> RuleSet:
    return RuleSet(builtin_rules(pii))


def pii_kinds(wanted: bool | Collection[str]) -> frozenset[str]:
    """The kinds of personal data to redact; True means all, an unknown kind raises ConfigError."""
    known = frozenset(rule.kind for rule in PII)
    if isinstance(wanted, bool):
        return known if wanted else frozenset()
    kinds = frozenset((wanted,) if isinstance(wanted, str) else wanted)
    unknown = sorted(map(str, kinds - known))
    if unknown:
        raise ConfigError(
            f"redaction.pii knows {', '.join(sorted(known))}, not {', '.join(unknown)}. "
            "Nothing was started; correct the list.",
            "redaction.pii",
        )
    return kinds


def compile_user(patterns: Sequence[str], path: str = "redaction.patterns") -> tuple[Any, ...]:
    """Users' patterns on the same linear-time engine; ConfigError lists every bad one with its index."""
    compiled, wrong = [], []
    for index, pattern in enumerate(patterns):
        try:
            compiled.append(_compile_user(pattern, f"{path}[{index}]"))
        except ConfigError as error:
            wrong.append(error)
    if wrong:
        raise ConfigError("\n".join(map(str, wrong)), wrong[0].path) from wrong[0].__cause__
    return tuple(compiled)


def _compile_user(pattern: str, path: str) -> Any:
    if not isinstance(pattern, str):
        raise ConfigError(f"{path} must be a regular expression (text), not {type(pattern).__name__}.", path)
    re2 = re2_module()
    try:
        compiled = compile_pattern(pattern.encode("utf-8"), latin=False)
    except (re2.error, UnicodeEncodeError) as problem:
        complaint = problem.args[0] if problem.args else problem
        if isinstance(complaint, bytes):
            complaint = complaint.decode("utf-8", "replace")
        raise ConfigError(
            f"{path} is not a valid pattern: {complaint}. Patterns run on RE2, which has no look-around and "
            "no back-references. Nothing was started; correct the pattern.",
            path,
        ) from problem
    if compiled.fullmatch(b"") is not None:
        raise ConfigError(
            f"{path} matches the empty text, so it would match everywhere. Nothing was started; make it "
            "need at least one character.",
            path,
        )
    return compiled


@functools.cache
def _named_prefix() -> Any:
    return compile_bytes(rf"(?i)[\w-]*(?:{API_KEY}|{PASSWORD}){WS}*[:=]{WS}*")
