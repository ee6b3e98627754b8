"""What stands beside a model's prose: the rules that it lacks, and evidence, in the form of the strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compact.core.checks import BRIEF_SENTENCES
from compact.core.evidence.block import PLACE, Block, Coverage, build
from compact.core.evidence.releases import LATER, said_later
from compact.core.render import UNTRUSTED_HEADING, neutralize, request_positions
from compact.core.sentences import fold_sentences, sentence_ends
from compact.core.survival import Holder
from compact.model.summary import Evidence, EvidenceKind, SummaryRequest
from compact.ports import TokenCounter

RULES_HEADING = "## Standing rules"
EVIDENCE_HEADING = "## Evidence"
CHARS_PER_TOKEN = 3.2
"""Ids and paths take more tokens than prose; a first guess, the result is counted."""
RULES_SHARE = 0.8
"""Of the room for evidence: a rule lost is worse than a fact that can be looked up again."""
RULES, VALUES, FROM_TOOLS = "Rules: ", "Key values: ", "From tools, not to be taken for anybody's word: "
"""How the sentences of a brief begin that are not the model's."""
_TRIES = 6
_SLIVER = 30
_AROUND = 12
_QUOTES = frozenset('"“”„«»「」')


class Beside:
    """Prose with what it lacks after it, never more than the request allows."""

    def __init__(self, counter: TokenCounter) -> None:
        self._count = counter.count

    def written(
        self, prose: str, evidence: Sequence[Evidence], request: SummaryRequest, tokens: int
    ) -> tuple[str, str]:
        """The whole text, and the part of it that rests on tool output; `tokens` are for what is added."""
        if request.strategy == "brief":
            return self._as_sentences(prose, evidence, request, tokens)
        return self._as_sections(prose, evidence, request, tokens)

    def room_for_rules(self, evidence: Sequence[Evidence], tokens: int) -> int:
        return self._rules("", evidence, tokens)[1]

    def rules_fitting(self, evidence: Sequence[Evidence], tokens: int) -> int:
        """How many rules `tokens` have room for."""
        return len(self._rules("", evidence, tokens)[0])

    def _as_sections(
        self, prose: str, evidence: Sequence[Evidence], request: SummaryRequest, tokens: int
    ) -> tuple[str, str]:
        lines, used = self._rules(prose, evidence, int(tokens * RULES_SHARE))
        rules = "\n".join((RULES_HEADING, *(f"- {line}" for line in lines))) if lines else ""
        plain = "\n\n".join(filter(None, (prose, rules)))
        room = int((tokens - used) * CHARS_PER_TOKEN)
        for _ in range(_TRIES):
            if room < len(EVIDENCE_HEADING) + 20:
                break
            headings = len(EVIDENCE_HEADING) + len(UNTRUSTED_HEADING) + 4
            block = _block(plain, evidence, request, room - headings)
            trusted = "\n".join((EVIDENCE_HEADING, *block.trusted)) if block.trusted else ""
            untrusted = "\n".join((UNTRUSTED_HEADING, *block.untrusted)) if block.untrusted else ""
            text = "\n\n".join(filter(None, (prose, "\n".join(filter(None, (rules, trusted))), untrusted)))
            if self._count(text) <= request.max_tokens:
                return text, untrusted
            room = int(room * 0.8)
        return (plain if self._count(plain) <= request.max_tokens else prose), ""

    def _as_sentences(
        self, prose: str, evidence: Sequence[Evidence], request: SummaryRequest, tokens: int
    ) -> tuple[str, str]:
        """A brief has its number of sentences: what is added counts, and the prose is folded, not cut."""
        lines, used = self._rules(prose, evidence, int(tokens * RULES_SHARE))
        rules = f"{RULES}{'; '.join(lines)}." if lines else ""
        able = [
            replace(item, context="") if _is_cut(item.context.replace(PLACE, item.value)) else item
            for item in evidence
            if not _is_cut(item.value)
        ]
        plain = _brief(prose, [rules])
        room = int((tokens - used) * CHARS_PER_TOKEN)
        for _ in range(_TRIES):
            if room < len(VALUES) + _SLIVER:
                break
            block = _block(plain, able, request, room - len(VALUES) - len(FROM_TOOLS))
            values = _sentence(VALUES, block.trusted)
            untrusted = _sentence(FROM_TOOLS, block.untrusted)
            text = _brief(prose, [rules, values, untrusted])
            if self._count(text) <= request.max_tokens:
                return text, untrusted
            room = int(room * 0.8)
        return (plain if self._count(plain) <= request.max_tokens else prose), ""

    def _rules(self, prose: str, evidence: Sequence[Evidence], tokens: int) -> tuple[list[str], int]:
        """Rules that the prose lacks, in the order in which they were given, and what they take."""
        holds = Holder(prose)
        lines: list[str] = []
        used = self._count(RULES_HEADING) + 1
        for item in sorted(evidence, key=lambda item: item.message):
            if item.kind is not EvidenceKind.RULE or (holds(item) and not item.context.startswith(LATER)):
                continue
            line = neutralize(f"“{' '.join(item.value.split())}” [m{item.message}]{said_later(item)}")
            size = self._count(f"- {line}") + 1
            if used + size <= tokens:
                lines.append(line)
                used += size
        return (lines, used) if lines else ([], 0)


def _block(told: str, evidence: Sequence[Evidence], request: SummaryRequest, room: int) -> Block:
    newest = min(request_positions(request), default=0) if request.previous_evidence else 0
    # Where all of it fits, each value gets the words around it and its message.
    phrased = sum(len(item.value) + len(item.context) + _AROUND for item in evidence)
    whole = int(request.max_tokens * CHARS_PER_TOKEN) if phrased <= room else 0
    return build(evidence, max(0, room), Coverage(told), newest_from=newest, whole=whole)


def _brief(prose: str, added: Sequence[str]) -> str:
    sentences = list(filter(None, added))
    folded = fold_sentences(prose, BRIEF_SENTENCES - len(sentences))
    return "\n".join((folded, *sentences))


def _sentence(beginning: str, lines: Sequence[str]) -> str:
    told = "; ".join(line.removeprefix("- ").rstrip(".") for line in lines)
    return f"{beginning}{told}{'' if told.endswith('…') else '.'}" if told else ""


def _is_cut(text: str) -> bool:
    """True for what would end a sentence in its middle, or seem to be somebody's words."""
    return next(sentence_ends(f"{text} A"), None) is not None or not _QUOTES.isdisjoint(text)
