"""Find where sentences end, for a form that limits their number."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(r"(?<=[.!?…])(?:\s*\[m\d[^\]]*\])*[\"”»)]*\s+(?=[\"“«(]?[^\W\da-z_])|(?<=[。！？])(?=.)")
_QUOTED = re.compile(r"“[^”\n]*”|\"[^\"\n]*\"|«[^»\n]*»|„[^“”\n]*[“”]|「[^」\n]*」|`[^`\n]*`")


def sentence_ends(text: str) -> Iterator[re.Match[str]]:
    """What separates two sentences. Separators inside a quotation belong to the quotation."""
    quoted = (match.span() for match in _QUOTED.finditer(text))
    start = stop = 0
    for end in _END.finditer(text):
        while stop < end.end() and (span := next(quoted, None)) is not None:
            start, stop = span
        if not start < end.start() < end.end() < stop:
            yield end


def limit_sentences(text: str, most: int) -> str:
    """The first `most` sentences of `text`."""
    for seen, end in enumerate(sentence_ends(text), start=1):
        if seen == most:
            return text[: end.end()].rstrip()
    return text


def fold_sentences(text: str, most: int) -> str:
    """`text` as at most `most` sentences, without losing any: those at its end become one."""
    for end in reversed(list(sentence_ends(text))[max(1, most) - 1 :]):
        before, between = text[: end.start()], end.group().strip()
        if between[:1] not in ("", "["):
            mark = "; "  # A quotation closes here; its own period is not ours to change.
        else:
            mark = "；" if before.endswith("。") else "; "
            before = before.removesuffix(".").removesuffix("。")
        text = f"{before}{' ' * between.startswith('[')}{between}{mark}{text[end.end() :]}"
    return text
