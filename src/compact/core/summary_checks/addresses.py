"""Find hosts, addresses and commands in a text, by what they contain rather than how they are spelled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from compact.core.seeming import plain

_ESCAPED = re.compile(r"%(?:25)*([2-7][0-9a-f])")
_JOINED = re.compile(r"[\"']\s?\+\s?[\"']")
"""Between two strings that code concatenates."""
_DOT = re.compile(
    r"[。｡．]|\s?[\[({]\s?(?:\.|dot)\s?[\])}]\s?|(?<=\w) (?:dot|\.) (?=\w)|(?<=\w)(?: |\\+)\.(?=\w)"
)
# Each begins at a word start, so that a long run of letters is read once.
_DOTTED = re.compile(r"(?<![\w-])[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
_TOP = re.compile(r"[^\W\d_][\w-]*[^\W_]")
_BARE = re.compile(r"(?:(?<=//)|(?<=\w@))[\w-]++(?!\.\w)|(?<![\w.-])[\w-]++(?=:\d{2,5}\b)")
"""A host of one label, recognized by its surroundings; a number before a colon is a time."""
_LONGEST = 253
"""Characters allowed in a host name, by the rules of DNS."""
_LONGEST_NUMBER = 16
_CODE = re.compile(r"(?<!`)`++([^`\n]+)`")
_SHELL = re.compile(r"[ \t]*(?:[-*][ \t]+)?[$#>%][ \t]+(\S.*)")
_WORD = re.compile(r"[^\s\"'`;|&<>()]+")


def addresses_in(text: str) -> set[str]:
    """The hosts that a text names, bare or inside an address, a link or a command."""
    shown = _ESCAPED.sub(lambda code: chr(int(code[1], 16)), plain(text))
    shown = _DOT.sub(".", _JOINED.sub("", shown))
    found = {host for dotted in _DOTTED.findall(shown) if (host := _host(dotted))}
    return found.union(filter(None, map(_bare_host, _BARE.findall(shown))))


def _bare_host(name: str) -> str:
    return _numeric([name]) if _NUMBER.fullmatch(name) else name


def _numeric(labels: Sequence[str]) -> str:
    """An IPv4 address in its usual form; the input may be a single number, octal or hexadecimal."""
    if not all(map(_NUMBER.fullmatch, labels)) or max(map(len, labels)) > _LONGEST_NUMBER:
        return ""
    bases = [
        16 if label.startswith("0x") else 8 if re.fullmatch("0[0-7]+", label) else 10 for label in labels
    ]
    *leading, last = (int(label, base) for label, base in zip(labels, bases, strict=True))
    behind = 4 - len(leading)
    if len(labels) > 4 or last >= 256**behind or any(one > 255 for one in leading):
        return ""
    number = sum(one << 8 * (3 - at) for at, one in enumerate(leading)) + last
    # A small number is a count or a time, never a host.
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0)) if number >> 24 else ""


def _host(dotted: str) -> str:
    """Which dotted words are hosts: those that end in a word, or are a number of four bytes."""
    if len(dotted) > _LONGEST:
        return ""
    host = ".".join(label.strip("_-") for label in dotted.split(".")).removeprefix("www.")
    labels = host.split(".")
    if len(labels) == 4 and (numeric := _numeric(labels)):
        return numeric
    return host if _TOP.fullmatch(labels[-1]) else ""


def parent_addresses(hosts: Iterable[str]) -> Iterator[str]:
    """Each host and its parents: naming `a.b.example` also names `b.example`."""
    for host in hosts:
        yield host
        labels = host.split(".")
        if not labels[-1].isdigit():
            yield from (".".join(labels[at:]) for at in range(1, len(labels) - 1))


def commands_in(line: str) -> list[tuple[str, ...]]:
    """Commands that a line gives as code, as lists of words."""
    code = _CODE.findall(line)
    if prompt := _SHELL.fullmatch(line):
        code.append(prompt[1])
    return [words for one in code if len(words := command_words(one)) > 1]


def command_words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(plain(text)))
