"""Check prose and combine it with evidence: a model's prose, the user's words, what the prose left out."""

from __future__ import annotations

from dataclasses import replace

from compact.core.seeming import whole
from compact.core.summary_checks.check import check_summary
from compact.core.summary_checks.cutting import cut_to
from compact.core.summary_checks.support import CITED
from compact.errors import SummaryRefused
from compact.evidence.ledger import WORDS
from compact.evidence.said import SHOWN
from compact.evidence.secrets import Redacts
from compact.evidence.survival import counted, survival
from compact.model.summary import RefusalReason, Summary, SummaryRequest
from compact.ports import Summarizer, TokenCounter
from compact.summarizers._running import as_summary, summarize_async
from compact.summarizers.chain import CHANGES_THE_REQUEST, Chain
from compact.summarizers.extractive import ExtractiveSummarizer, Material, fitted, kept_units
from compact.summarizers.extractive.strategies import BESIDE
from compact.summarizers.templates import instructions_for

_CHARS_PER_TOKEN = 3.4
_AROUND = 14
"""Characters of bullet, quotes and citation around a saying."""
_LEFT_OUT_SHARE = 0.15
"""Share of the room for conclusions and values that the prose may leave out."""
_MOST_WORDS_SHARE = 0.7
"""The prose gets the rest, however much the user wrote."""


class Composer:
    """Gets the prose, checks it, and adds the user's words and what it left out.

    Every summary of a session comes from here. Without `prose`, or if a chain reaches it, the embedded
    summarizer writes everything. The result fits `request.max_tokens`: the words get what they need, up to a
    share; prose that takes more than the rest is cut at the end of a section. Without `adds`, the prose is
    only checked, and gets all of it.
    """

    renders_prompt = True

    def __init__(
        self,
        prose: Summarizer | Chain | None,
        counter: TokenCounter,
        *,
        adds: bool = True,
        min_chars: int = 1,
        redactor: Redacts | None = None,
    ) -> None:
        self._prose = prose
        self._counter = counter
        self._adds = adds
        self._min_chars = min_chars
        self._redactor = redactor
        self._embedded = ExtractiveSummarizer(counter, redactor=redactor)
        self._chain = prose if isinstance(prose, Chain) else Chain([prose or self._embedded])

    def __repr__(self) -> str:
        return f"Composer({self._prose!r})"

    def summarize(self, request: SummaryRequest) -> Summary:
        return self._chain.first(request, self._by)

    async def asummarize(self, request: SummaryRequest) -> Summary:
        return await self._chain.afirst(request, self._aby)

    def _by(self, link: Summarizer, request: SummaryRequest) -> Summary:
        if isinstance(link, ExtractiveSummarizer):
            return _not_empty(self._embedded.summarize(request))
        material, asked = self._divided(request)
        try:
            return self._compose(request, asked, material, as_summary(link.summarize(asked), asked))
        except SummaryRefused as refused:
            asked = _cold(asked, refused)
        return self._compose(request, asked, material, as_summary(link.summarize(asked), asked))

    async def _aby(self, link: Summarizer, request: SummaryRequest) -> Summary:
        if isinstance(link, ExtractiveSummarizer):
            return self._by(link, request)
        material, asked = self._divided(request)
        try:
            return self._compose(request, asked, material, await summarize_async(link, asked))
        except SummaryRefused as refused:
            asked = _cold(asked, refused)
        return self._compose(request, asked, material, await summarize_async(link, asked))

    def _divided(self, request: SummaryRequest) -> tuple[Material | None, SummaryRequest]:
        """What can be added, and the request for the prose, without the room that the words need."""
        if not self._adds:
            return None, request
        material = Material(request, self._redactor)
        own = (unit for unit in material.ledger if unit.kind in WORDS and unit.context != SHOWN)
        words = sum(len(unit.value) + len(unit.context) + _AROUND for unit in own) / _CHARS_PER_TOKEN
        wanted = int(words + _LEFT_OUT_SHARE * request.max_tokens)
        reserved = min(wanted, int(request.max_tokens * _MOST_WORDS_SHARE))
        return material, replace(request, max_tokens=max(1, request.max_tokens - reserved))

    def _compose(
        self, request: SummaryRequest, asked: SummaryRequest, material: Material | None, answer: Summary
    ) -> Summary:
        count = self._counter.count
        checked = check_summary(
            answer.text,
            request,
            lambda text: 0,  # What is too long is cut.
            instructions=instructions_for(asked),
            min_chars=self._min_chars,
        )
        prose = cut_to(checked, asked.max_tokens, count) or cut_to(checked, request.max_tokens, count)
        if not prose:
            raise _too_long(count(checked), asked.max_tokens)
        if material is None:
            return replace(answer, text=prose, tokens=count(prose), strategy=request.strategy)
        left = request.max_tokens - count(prose)
        made, _ = fitted(material, BESIDE, left, count, request.focus, before=prose)
        prose, doubted = _set_apart(prose, answer.untrusted)
        trusted = whole("\n\n".join(filter(None, (prose, made.trusted))))
        text = whole("\n\n".join(filter(None, (trusted, doubted, made.untrusted))))
        tokens = count(text)
        if tokens > request.max_tokens:
            text = cut_to(text, request.max_tokens, count)
            tokens = count(text)
        kept = counted(material.ledger, text)
        return replace(
            answer,
            text=text,
            tokens=tokens,
            evidence=material.ledger,
            added=kept_units(material, len(text)),
            survival=survival(kept),
            untrusted=text.removeprefix(trusted).strip() if text.startswith(trusted) else "",
            strategy=request.strategy,
            kept=kept,
        )


def _not_empty(summary: Summary) -> Summary:
    """Short prose may have lost the thread; what the embedded summarizer wrote is all there is to say."""
    if summary.text.strip():
        return summary
    reason = RefusalReason.EMPTY.value
    raise SummaryRefused(reason, f"The summary was refused ({reason}): there is nothing to say.")


def _set_apart(text: str, untrusted: str) -> tuple[str, str]:
    """The text without the lines that its author calls untrusted, and those lines; checks may have cleaned
    them."""
    known = _letters(untrusted)
    parts: tuple[list[str], list[str]] = ([], [])
    for line in text.splitlines() if known else ():
        letters = _letters(line)
        parts[bool(letters) and letters in known].append(line)
    return ("\n".join(parts[0]).strip(), "\n".join(parts[1])) if known else (text, "")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, CITED.sub("", text)))


def _too_long(size: int, allowed: int) -> SummaryRefused:
    reason = RefusalReason.TOO_LONG.value
    return SummaryRefused(
        reason,
        f"The summary was refused ({reason}): it has {size:,} tokens, {allowed:,} are allowed, and it has no "
        "place to cut at. It is not used.",
    )


def _cold(asked: SummaryRequest, refused: SummaryRefused) -> SummaryRequest:
    """The request to send after an answer on the cached prefix failed; raises if there was none."""
    if asked.prefix_messages is None or refused.reason in CHANGES_THE_REQUEST:
        raise refused
    return asked.without_prefix()
