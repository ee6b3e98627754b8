"""Every shipped format keeps the contract."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compact.formats import FORMAT_NAMES, by_name, decode_all
from compact.ports import Format
from compact.testing.formats import FormatContract, cleared
from compact.testing.strategies import FORMATS, conversations
from unit.formats.samples import SAMPLES


class TestFormats(FormatContract):
    name: str

    @pytest.fixture(autouse=True, params=FORMAT_NAMES)
    def each_format(self, request: pytest.FixtureRequest) -> None:
        self.name = request.param

    def make_format(self) -> Format:
        return by_name(self.name)

    def sample(self) -> list[Any]:
        return list(SAMPLES[self.name]())


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
@settings(max_examples=25)
def test_generated_conversations_keep_objects_and_read_back(name: str, data: st.DataObject) -> None:
    items = data.draw(conversations(name, max_turns=4, protected=True))
    before = copy.deepcopy(items)
    format = by_name(name)
    assert format.recognizes(items)
    messages = decode_all(items, format)
    assert all(out is given for out, given in zip(format.encode(messages), items, strict=True))

    # Some messages cleared, some gone, one of ours between: what goes out says exactly that.
    kept = [message for message in messages if data.draw(st.booleans()) or not message.calls]
    asked = {call.call_id for message in kept for call in message.calls}
    kept = [message for message in kept if all(result.call_id in asked for result in message.results)]
    answered = {result.call_id for message in kept for result in message.results}
    kept = [message for message in kept if all(call.call_id in answered for call in message.calls)]
    kept = [cleared(message) if message.results and data.draw(st.booleans()) else message for message in kept]
    again = decode_all(format.encode(kept), format)
    assert [message.digest for message in again] == [message.digest for message in kept]
    assert items == before
