"""The contract of an integration: a real agent handles three times its window, and fails without Compact."""

from __future__ import annotations

from typing import Any

from compact import CompactConfig, CompactManager, count_tokens
from compact.archives.memory import MemoryArchive
from support.strict_provider import ANSWER, PAGES, WINDOW, StrictProvider, page_text, strict_provider


def manager_for(window: int = WINDOW, **options: Any) -> CompactManager:
    """A manager with this window."""
    store = options.pop("store", None)
    config = CompactConfig(model="gpt-4o", max_context_tokens=window, **options)
    return CompactManager(config, None, store, MemoryArchive())


class IntegrationContract:
    """Subclass it with `run`: an agent of the framework that reads all pages; returns its last message.

    `manager` is None if the framework runs without Compact.
    """

    def run(self, server: StrictProvider, manager: CompactManager | None) -> str:
        raise NotImplementedError

    def test_an_agent_goes_through_three_windows(self) -> None:
        with strict_provider() as server:
            manager = manager_for()
            said = self.run(server, manager)
        assert said == ANSWER
        assert server.refusals == [] and server.read > PAGES
        assert sum(count_tokens(page_text(number)) for number in range(PAGES)) > 3 * WINDOW
        assert "COMPACT-SUMMARY" in str(server.requests[-1])
        assert any(event.name == "compact.summary_created" for event in manager.events)

    def test_without_us_the_same_run_fails(self) -> None:
        with strict_provider() as server:
            try:
                said = self.run(server, None)
            except Exception:
                said = ""
        assert said != ANSWER
        assert any("maximum" in refusal for refusal in server.refusals)

    def test_what_fits_goes_out_as_it_came(self) -> None:
        requests = []
        for manager in (manager_for(), None):
            with strict_provider(pages=2) as server:
                assert self.run(server, manager) == ANSWER
            requests.append(server.requests)
        assert [self.cached(request) for request in requests[0]] == [self.cached(one) for one in requests[1]]

    def cached(self, request: dict[str, Any]) -> Any:
        """The part of a request that the provider's cache depends on."""
        return request.get("messages") or request.get("input") or request.get("contents")
