"""The fragments of docs/INTEGRATIONS.md run with the classes of the frameworks that are installed."""

from __future__ import annotations

import ast
import inspect
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager
from support.documents import ROOT, Block, blocks_of
from support.providers import providing
from support.strict_provider import ANSWER, PAGES, TASK, page_text, strict_provider

FRAGMENTS = [block for block in blocks_of(ROOT / "docs" / "INTEGRATIONS.md") if block.language == "python"]
BEFORE = {
    "OpenAI and Anthropic clients": ("openai", ""),
    "LangChain and LangGraph": (
        "langchain",
        """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
model = ChatOpenAI(model="gpt-4o")
""",
    ),
    "Pydantic AI": (
        "pydantic_ai",
        """
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
model = TestModel()
""",
    ),
    "LiteLLM": ("litellm", "import litellm"),
    "Strands": (
        "strands",
        """
from strands import Agent
from strands.models.openai import OpenAIModel
model = OpenAIModel(model_id="gpt-4o")
""",
    ),
    "Google ADK": ("google.adk", 'from google.adk.agents import LlmAgent; model = "gemini-2.5-flash"'),
    "LlamaIndex": (
        "llama_index",
        """
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
model = OpenAILike("gpt-4o", api_base=f"{url}/v1", is_chat_model=True, is_function_calling_model=True)
agent = FunctionAgent(llm=model, tools=[], streaming=False)
""",
    ),
    "CrewAI": ("crewai", "from crewai.hooks import register_before_llm_call_hook"),
}
"""What the reader's own program has before a fragment: the framework, and a model of it."""


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def test_every_framework_of_the_guide_has_its_fragment_run() -> None:
    assert {block.heading for block in FRAGMENTS} <= BEFORE.keys()


@pytest.mark.parametrize(
    "block",
    [block for block in FRAGMENTS if _is_there(BEFORE[block.heading][0])],
    ids=lambda block: block.heading,
)
async def test_a_fragment_runs_in_its_place(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(key, "none")
    if "Anthropic()" in block.source:
        pytest.importorskip("anthropic")  # The environments of single frameworks have only openai.
    if block.heading == "LiteLLM":
        monkeypatch.setattr("litellm.callbacks", [])
    manager = CompactManager(CompactConfig(archive={"adapter": "none"}))
    source = f"{BEFORE[block.heading][1]}\n{block.source}"
    code = compile(source, block.heading, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with providing() as provider:
        names: dict[str, Any] = {"manager": manager, "tools": [], "url": provider.url}
        done = eval(code, names)
        if inspect.isawaitable(done):
            await done


@pytest.mark.parametrize("client", ["OpenAI", "Anthropic"])
def test_the_loops_of_the_guide_go_through_three_windows(
    client: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip(client.lower())
    (block,) = (block for block in FRAGMENTS if f"wrap({client}())" in block.source)
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    tools = {
        "OpenAI": [{"type": "function", "function": {"name": "read_page", "parameters": schema}}],
        "Anthropic": [{"name": "read_page", "input_schema": schema}],
    }
    monkeypatch.chdir(tmp_path)
    with strict_provider() as server:
        for name, value in {
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_API_KEY": "none",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "ANTHROPIC_BASE_URL": server.url,
            "COMPACT_MAX_CONTEXT_TOKENS": str(server.window),
            "COMPACT_SUMMARIZER__NAME": "extractive",
        }.items():
            monkeypatch.setenv(name, value)
        names: dict[str, Any] = {}
        exec(compile(block.source, block.heading, "exec"), names)
        said = names["work"](TASK, tools[client], lambda name, given: page_text(given["number"]))
    assert said == ANSWER
    assert server.refusals == [] and server.read > PAGES
    assert "COMPACT-SUMMARY" in str(server.requests[-1])
