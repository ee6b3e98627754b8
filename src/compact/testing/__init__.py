"""Contracts, scripted doubles and generated conversations for use in other projects' tests.

Submodules: `scripted` (doubles), `formats` and `policies` (the contracts of both) and `strategies`
(conversations for Hypothesis, which must be installed).
"""

from __future__ import annotations

from compact.testing.scripted import CollectingExporter, EchoSummarizer, FakeClock, ScriptedSummarizer

__all__ = ["CollectingExporter", "EchoSummarizer", "FakeClock", "ScriptedSummarizer"]
