"""What a text holds is looked up in its words, with the same answer as a search of the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compact.evidence.holder import Holder
from compact.model.summary import Evidence, EvidenceKind

WORDS = st.sampled_from(
    ["the", "cause", "is", "src/a.py", "a", "open,", "“open", "1.5", "end…", "日本", "b\u00a0c"]
)
SAID = st.lists(WORDS, min_size=1, max_size=9).map(lambda words: " ".join(" ".join(words).split()))
TEXTS = st.lists(st.one_of(WORDS, SAID.map(lambda said: f"\n- “{said}” so,\n")), max_size=12).map(" ".join)


def searched(text: str, value: str) -> bool:
    """The same by a search for all words of a unit in a row."""
    words = text.split()
    flat = " ".join(words)
    bare = "".join(" " if letter in ",“”" else letter for letter in flat)
    if value in {*words, *bare.split()}:
        return True
    if " " not in value:
        return value in flat
    return " ".join(value.split()).rstrip("…") in flat


@given(TEXTS, SAID)
def test_a_text_holds_what_a_search_finds_in_it(text: str, value: str) -> None:
    unit = Evidence(EvidenceKind.SAID, value, 0)
    assert Holder(text).among([unit]) == ({0} if searched(text, value) else set())


@given(TEXTS, SAID, TEXTS)
def test_a_unit_is_found_wherever_it_stands(before: str, value: str, after: str) -> None:
    held = Holder(f"{before}\n- “{value}” {after}")
    assert " " not in value or held.among([Evidence(EvidenceKind.SAID, value, 0)])


@pytest.mark.parametrize("value", ["我们用“北门”这个名字,不要改。", "请改成“开始”", "foo,bar"])
def test_a_saying_without_spaces_is_found_among_its_quotes_also_roughly(value: str) -> None:
    """Chinese has the quotation marks that stand around a saying: a ledger must not drop what is held."""
    for text in (f"- “{value}” [m1]", f"- “first” “{value}” [m1]", f"- “{value}”, “last” [m1]"):
        assert Holder(text).among([Evidence(EvidenceKind.SAID, value, 0)], roughly=True), text
