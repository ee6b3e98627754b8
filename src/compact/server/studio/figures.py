"""A session in figures: size over turns, what it cost, what compaction saved."""

from __future__ import annotations

from collections import OrderedDict

from compact.chat.conversation import Conversation
from compact.chat.turns import Turn, number_in, usage_of, was_sent
from compact.core.measure import PRIMING
from compact.functions import count_tokens
from compact.model.message import Usage
from compact.model.record import Record, RecordKind
from compact.models.prices import cost
from compact.ports import RecordIndex
from compact.server.studio import schemas
from compact.server.studio.messages import grouped, record_in_force, seconds_of
from compact.server.studio.prompt_contents import PromptContents, survived
from compact.server.studio.showing import shown_parts

_SHOWN_SURVIVAL = 5
"""Compactions whose survival is measured: each means a search through all that was said."""
_COMPACTIONS = (RecordKind.COMPACTION, RecordKind.PRUNE, RecordKind.TRIM)


class KnownFigures:
    """The figures of the most recently viewed sessions; they change only with the session."""

    def __init__(self, most: int = 50) -> None:
        self._most = most
        self._known: OrderedDict[str, tuple[object, schemas.Figures]] = OrderedDict()

    def of(self, conversation: Conversation) -> schemas.Figures:
        """Called from several threads; the last one to count wins."""
        state = _state_of(conversation)
        known = self._known.pop(conversation.id, None)
        if known is None or known[0] != state:
            known = state, figures_of(conversation)
        self._known[conversation.id] = known
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return known[1]


def _state_of(conversation: Conversation) -> object:
    """Equal as long as nothing was said, compacted or undone, and the model is the same."""
    turns = conversation.turns
    newest = turns[-1].get("timestamp") if turns else None
    store = conversation.chats.store
    records = store.record_state(conversation.id) if isinstance(store, RecordIndex) else object()
    return len(turns), newest, records, conversation.agent, conversation.manager.config.policy.hash


def figures_of(conversation: Conversation) -> schemas.Figures:
    records = [r for r in conversation.log.standing_records() if r.kind in _COMPACTIONS]
    turns = _turns(conversation, records)
    contents = PromptContents(conversation)
    reported = (usage_of(turn) for turn in conversation.turns if was_sent(turn))
    known = [usage for usage in reported if usage is not None]
    prices = cost(conversation.agent, Usage(input=1_000)) is not None
    saved = sum(max(0, one.tokens_without - one.tokens) for one in turns if one.sent)
    paid = [one.cost for one in turns if one.cost is not None]
    return schemas.Figures(
        turns=turns,
        totals=schemas.FigureTotals(
            turns=len(turns),
            compactions=len(records),
            input_tokens=sum(usage.input for usage in known),
            output_tokens=sum(usage.output for usage in known),
            cached_tokens=sum(usage.cache_read for usage in known),
            cost=sum(paid) if prices and paid else None,
            tokens_saved=saved,
            cost_saved=_price(conversation.agent, saved) if prices else None,
        ),
        survival=_survival(contents, records[-_SHOWN_SURVIVAL:]),
        now=contents.kinds(contents.items(record_in_force(conversation))),
        prices_known=prices,
    )


def _survival(contents: PromptContents, records: list[Record]) -> list[schemas.SurvivalFigure]:
    """What the prompt held right after each compaction, of all that was said until then."""
    found = []
    for record in records:
        reached = record.reached or record.source_length
        kinds = contents.kinds(contents.items(record, reached), reached)
        found.append(
            schemas.SurvivalFigure(
                step=record.step, version=record.version, kinds=kinds, **survived(kinds).model_dump()
            )
        )
    return found


def _turns(conversation: Conversation, records: list[Record]) -> list[schemas.Figure]:
    """One figure per reply. `tokens_without` is what the whole history would have taken there."""
    config = conversation.manager.config
    figures: list[schemas.Figure] = []
    whole = _fixed(conversation)
    for group in grouped(conversation.turns):
        turn = group.turns[0]
        is_sent = was_sent(turn)
        usage = usage_of(turn) if is_sent else None
        if turn.get("role") == "assistant":
            compactions = _compactions_before(records, seconds_of(turn.get("timestamp")), figures)
            sent = _sent(turn, whole)
            figures.append(
                schemas.Figure(
                    turn=group.number,
                    position=group.position,
                    at=seconds_of(turn.get("timestamp")),
                    tokens=sent,
                    tokens_without=max(whole, sent),
                    sent=is_sent,
                    cost=number_in(turn, "cost") if is_sent else None,
                    cached_tokens=usage.cache_read if usage is not None else 0,
                    compaction=compactions[-1].step if compactions else None,
                )
            )
        said = count_tokens(group.turns, config.model, counter=config.counter, format="openai-chat")
        whole += said - PRIMING
    return figures


def _sent(turn: Turn, whole: int) -> int:
    """By the provider's count, else by ours at that time: a later undo doesn't change what was sent."""
    if not was_sent(turn):
        return 0
    usage, counted = usage_of(turn), number_in(turn, "prompt_estimate")
    return usage.input if usage is not None else int(counted) if counted is not None else whole


def _fixed(conversation: Conversation) -> int:
    """What every prompt has besides its messages."""
    parts = shown_parts(conversation.usage.breakdown)
    return PRIMING + parts.system + parts.tools


def _compactions_before(
    records: list[Record], at: float | None, earlier: list[schemas.Figure]
) -> list[Record]:
    """Those between the previous reply and this one."""
    if at is None:
        return []
    since = next((one.at for one in reversed(earlier) if one.at is not None), 0.0)
    return [record for record in records if since < record.created_at <= at]


def _price(model: str, tokens: int) -> float | None:
    found = cost(model, Usage(input=tokens))
    return float(found) if found is not None else None
