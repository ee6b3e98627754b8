"""Frameworks that cannot be installed next to the others have their own environments: `make
test-frameworks`."""

from __future__ import annotations

from importlib.util import find_spec

_APART = {
    "litellm": "test_litellm.py",
    "strands": "test_strands.py",
    "google.adk": "test_google_adk.py",
    "llama_index": "test_llama_index.py",
    "crewai": "test_crewai.py",
}


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


collect_ignore = [file for module, file in _APART.items() if not _is_there(module)]
