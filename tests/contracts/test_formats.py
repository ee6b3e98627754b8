"""Every shipped format keeps the contract."""

from __future__ import annotations

from typing import Any

from compact.formats import by_name
from compact.ports import Format
from compact.testing.formats import FormatContract
from unit.formats import samples


class TestOpenAIChat(FormatContract):
    def make_format(self) -> Format:
        return by_name("openai-chat")

    def sample(self) -> list[Any]:
        return list(samples.chat())


class TestOpenAIResponses(FormatContract):
    def make_format(self) -> Format:
        return by_name("openai-responses")

    def sample(self) -> list[Any]:
        return list(samples.responses())


class TestAnthropic(FormatContract):
    def make_format(self) -> Format:
        return by_name("anthropic")

    def sample(self) -> list[Any]:
        return list(samples.anthropic())


class TestAISDKUI(FormatContract):
    def make_format(self) -> Format:
        return by_name("ai-sdk-ui")

    def sample(self) -> list[Any]:
        return list(samples.ui())


class TestAISDKModel(FormatContract):
    def make_format(self) -> Format:
        return by_name("ai-sdk-model")

    def sample(self) -> list[Any]:
        return list(samples.model())
