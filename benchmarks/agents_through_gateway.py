"""Real coding agents from the registries through the gateway, for three times their window and more.

    python benchmarks/agents_through_gateway.py [mini-swe-agent aider codex claude-code llm] [--window 16000]

Codex brings 10,000 tokens of instructions and tools, Claude Code 29,000: they need a larger window.
Each agent is installed on demand into its own folder and works on a real task, unmodified except for its
base URL. The model behind it is scripted: it says what to do next and rejects what a provider rejects
(overlong prompts, orphaned results, wrong roles). Each agent runs twice, through `compact gateway` and
without it. The exit code is 1 if a rejection reached the agent in the first run, or none did in the second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.providers import Answer, Calls, Provider, providing

PAGE = 4_000
"""Bytes of a source file that one step reads; a thousand tokens or so."""
SECONDS = 240
SOURCES = Path(__file__).parents[1] / "src" / "compact"


@dataclass(frozen=True)
class Run:
    """What an agent is started with: in which folder, against which address."""

    folder: Path
    url: str
    binaries: Path


@dataclass(frozen=True)
class CodingAgent:
    name: str
    packages: tuple[str, ...]
    command: Callable[[Run], list[str]]
    script: Callable[[int], Answer]
    finished: Callable[[Path, int], bool]
    environment: Callable[[Run], dict[str, str]] = lambda run: {}
    stdin: Callable[[int], str] = lambda steps: ""
    files: Mapping[str, str] = field(default_factory=dict)
    from_npm: bool = False


# -- what the model says ------------------------------------------------------------------------------------


def reads_files(tool: str, argument: str, last: Any) -> Callable[[int], Answer]:
    """A model that reads the sources page by page with the agent's shell tool, then ends the task."""

    def scripted(steps: int) -> Answer:
        files = sorted(path for path in SOURCES.rglob("*.py") if path.stat().st_size > PAGE)
        asked: list[int] = []

        def reply(messages: list[Any], tools: list[Any]) -> Any:
            names = [one.get("name") or one.get("function", {}).get("name") for one in tools]
            if tool not in names:  # a side question of the agent: a title, a topic
                return "Reading sources"
            asked.append(len(asked))
            if len(asked) > steps:
                return last
            path = files[len(asked) % len(files)]
            what = f"Next I read {path.name}, step {len(asked)}."
            return Calls([(tool, {argument: f"head -c {PAGE} {path} && echo {len(asked)} >> seen"})], what)

        return reply

    return scripted


def edits_a_file(steps: int) -> Answer:
    """A model that raises one number a turn with a search-and-replace block, and explains it at length."""
    done: list[int] = []

    def reply(messages: list[Any], tools: list[Any]) -> str:
        done.append(len(done))
        number = len(done)
        why = "".join(f"Check {n} of step {number} holds, since STEP is only read. " for n in range(130))
        block = f"<<<<<<< SEARCH\nSTEP = {number - 1}\n=======\nSTEP = {number}\n>>>>>>> REPLACE"
        return f"{why}\n\ncounter.py\n```python\n{block}\n```\n"

    return reply


def explains(steps: int) -> Answer:
    said: list[int] = []

    def reply(messages: list[Any], tools: list[Any]) -> str:
        said.append(len(said))
        return "".join(f"Point {n} of answer {len(said)}: the ledger agrees. " for n in range(60))

    return reply


def all_seen(folder: Path, steps: int) -> bool:
    seen = folder / "seen"
    return seen.exists() and seen.read_text().split() == [str(n) for n in range(1, steps + 1)]


# -- the agents ---------------------------------------------------------------------------------------------

TASK = "Read the sources one after another, then finish."


AGENTS = {
    "mini-swe-agent": CodingAgent(
        "mini-swe-agent",
        ("mini-swe-agent", "mcp"),  # LiteLLM imports it without asking for it
        lambda run: [
            *(str(run.binaries / "mini"), "-y", "--exit-immediately", "-m", "openai/gpt-4o", "-t", TASK),
            *("-c", "mini.yaml", "-c", "agent.mode=yolo", "-o", str(run.folder / "run.traj.json")),
        ],
        reads_files(
            "bash", "command", Calls([("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})])
        ),
        all_seen,
        lambda run: {
            "OPENAI_API_BASE": f"{run.url}/v1",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_GLOBAL_CONFIG_DIR": str(run.folder / "settings"),
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",
        },
    ),
    "aider": CodingAgent(
        "aider",
        ("aider-chat",),
        lambda run: [
            *(str(run.binaries / "aider"), "--model", "openai/gpt-4o", "--edit-format", "diff", "--no-git"),
            *(
                "--openai-api-base",
                f"{run.url}/v1",
                "--yes-always",
                "--no-show-model-warnings",
                "--no-pretty",
            ),
            *("--no-check-update", "--analytics-disable", "--no-fancy-input", "--no-show-release-notes"),
            *("--no-detect-urls", "--no-stream", "--no-suggest-shell-commands"),
            *("--max-chat-history-tokens", "10000000", "counter.py"),
        ],
        edits_a_file,
        lambda folder, steps: (folder / "counter.py").read_text().startswith(f"STEP = {steps}\n"),
        stdin=lambda steps: "".join(f"Raise the step to {n}.\n" for n in range(1, steps + 1)),
        files={"counter.py": "STEP = 0\n\n\ndef step() -> int:\n    return STEP\n"},
    ),
    "codex": CodingAgent(
        "codex",
        ("@openai/codex",),
        lambda run: [
            *(str(run.binaries / "codex"), "exec", "--skip-git-repo-check"),
            *("--dangerously-bypass-approvals-and-sandbox", TASK),
        ],
        reads_files("exec_command", "cmd", "All read."),
        all_seen,
        files={
            ".codex/config.toml": 'model = "gpt-4o"\nmodel_provider = "scripted"\n'
            '[model_providers.scripted]\nname = "scripted"\nbase_url = "URL/v1"\n'
            'env_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
        },
        from_npm=True,
    ),
    "claude-code": CodingAgent(
        "claude-code",
        ("@anthropic-ai/claude-code",),
        lambda run: [
            *(str(run.binaries / "claude"), "-p", TASK, "--model", "claude-sonnet-4-5"),
            "--dangerously-skip-permissions",
        ],
        reads_files("Bash", "command", "All read."),
        all_seen,
        lambda run: {
            "ANTHROPIC_BASE_URL": run.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTO_COMPACT": "1",
            "IS_SANDBOX": "1",  # it wants to know before it skips permissions as root
        },
        from_npm=True,
    ),
    "llm": CodingAgent(
        "llm",
        ("llm",),
        lambda run: [
            *(str(run.binaries / "llm"), "chat", "-m", "scripted"),
        ],
        explains,
        lambda folder, steps: True,
        lambda run: {"LLM_USER_PATH": str(run.folder)},
        stdin=lambda steps: "".join(f"Explain entry {n}.\n" for n in range(1, steps + 1)) + "exit\n",
        files={
            "extra-openai-models.yaml": "- model_id: scripted\n  model_name: gpt-4o\n  api_base: URL/v1\n"
        },
    ),
}


# -- running them -------------------------------------------------------------------------------------------


def installed(agent: CodingAgent, tools: Path) -> Path:
    """The folder of its programs, made on the first call."""
    home = tools / agent.name
    if agent.from_npm:
        home.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", home, *agent.packages], check=True)
        return home / "node_modules" / ".bin"
    if not (home / "bin" / "pip").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "-q", *agent.packages], check=True)
    return home / "bin"


@contextmanager
def gateway(upstream: str, window: int, folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "compact", "gateway", "--upstream", f"{upstream}/v1", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--window", str(window), "--json", "--set", "counter=chars4"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_DATA_HOME": str(folder)},
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait(15)


def figures(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        lines = [line.split() for line in answer.read().decode().splitlines() if not line.startswith("#")]
    prefix = "compact_gateway_"
    return {name[len(prefix) : -len("_total")]: int(n) for name, n in lines if name.endswith("_total")}


def work(agent: CodingAgent, run: Run, steps: int) -> tuple[int, str]:
    run.folder.mkdir(parents=True, exist_ok=True)
    for name, text in agent.files.items():
        (run.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (run.folder / name).write_text(text.replace("URL", run.url))
    kept = ("PATH", "LANG", "TERM")
    environment = {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "HOME": str(run.folder),
        "OPENAI_API_KEY": "none",
        "NO_PROXY": "127.0.0.1",
        **agent.environment(run),
    }
    try:
        done = subprocess.run(
            agent.command(run),
            cwd=run.folder,
            env=environment,
            input=agent.stdin(steps),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        return -1, f"did not end in {SECONDS} s: {str(error.stdout)[-600:]}"
    return done.returncode, (done.stdout + done.stderr)[-3000:]


def report(title: str, provider: Provider, ended: int, finished: bool) -> None:
    refused = [one.refused for one in provider.asked if one.refused]
    largest = max((one.tokens for one in provider.prompts), default=0)
    print(
        f"  {title:<8} {len(provider.asked)} requests, {len(refused)} refused, "
        f"largest prompt {largest:,} tokens, ended with {ended}, "
        f"task {'finished' if finished else 'NOT finished'}"
    )
    if refused:
        print(f"           first refusal at request {_first_refused(provider)}: {refused[0][:140]}")


def _first_refused(provider: Provider) -> int:
    return next(n for n, one in enumerate(provider.asked, 1) if one.refused)


def try_agent(agent: CodingAgent, binaries: Path, window: int, steps: int, show: bool) -> bool:
    print(f"{agent.name}, window {window:,}, {steps} steps")
    with tempfile.TemporaryDirectory() as made:
        with providing(agent.script(steps), window) as provider:
            with gateway(provider.url, window, Path(made) / "data") as url:
                folder = Path(made) / "with"
                ended, shown = work(agent, Run(folder, url, binaries), steps)
                found = figures(url)
            # An overflow that the gateway compacted and sent again never reached the agent.
            reached = sum(bool(one.refused) for one in provider.asked) - found["overflows"]
            good = agent.finished(folder, steps) and reached <= 0
            report("with", provider, ended, agent.finished(folder, steps))
            sent = sum(one.tokens for one in provider.prompts)
            cached = sum(one.cached for one in provider.prompts)
            print(
                f"           {found['compactions']} compactions, {found['substituted']} requests "
                f"substituted; tokens asked {sent + found['tokens_saved']:,}, sent {sent:,}, "
                f"{cached / max(sent, 1):.0%} of them cached; {found['overflows']} overflows"
            )
            if show or not good:
                print(shown)
        with providing(agent.script(steps), window) as provider:
            folder = Path(made) / "without"
            ended, shown = work(agent, Run(folder, provider.url, binaries), steps)
            fails = any(one.refused for one in provider.asked)
            report("without", provider, ended, agent.finished(folder, steps))
    return good and fails


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("agents", nargs="*", default=["mini-swe-agent", "aider"], metavar="agent")
    parser.add_argument("--window", type=int, default=16_000)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument(
        "--tools", type=Path, help="where the agents are installed (default: a temporary folder)"
    )
    parser.add_argument("--show", action="store_true", help="print the end of what each agent printed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        tools = options.tools or Path(temporary)
        results = [
            try_agent(
                AGENTS[name], installed(AGENTS[name], tools), options.window, options.steps, options.show
            )
            for name in options.agents
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
