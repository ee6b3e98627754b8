"""Every code block of every document runs as it is pasted, or is a fragment that runs in its place."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr
from pathlib import Path

import pytest
import yaml

from compact.cli import main
from compact.cli.app import _parsed, _parser
from support.documents import DOCUMENTS, ROOT, all_blocks, commands_of

IN_SEQUENCE = {
    "docs/AGENTS_SDK.md": "tests/unit/test_docs.py",
    "docs/INTEGRATIONS.md": "tests/frameworks/test_guide.py",
}
"""The tests that run the fragments of a document in their place. EXTENDING.md has a test of its own."""
_RUNNER = """
import json, os, sys
for heading, source in json.load(sys.stdin):
    try:
        exec(compile(source, heading, "exec"), {"__name__": "pasted"})
    except Exception as error:
        sys.exit(f"{heading}: {type(error).__name__}: {error}")
os._exit(0)  # exporters in the blocks would try to reach their servers at exit
"""


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    """A block without a language is a picture; the page's own tests are for TypeScript."""
    assert {block.language for block in all_blocks()} <= {"python", "yaml", "json", "toml", "ts", ""}


def test_fragments_run_where_their_document_is_read_in_sequence() -> None:
    assert {block.document for block in all_blocks() if block.is_fragment} == set(IN_SEQUENCE)
    for document, test in IN_SEQUENCE.items():
        assert document in (ROOT / test).read_text(encoding="utf-8")


def test_python_runs_as_it_is_pasted(tmp_path: Path) -> None:
    """In a process of its own, in a folder with a conversation and settings, without anybody's keys."""
    (tmp_path / "conversations").mkdir()
    sample = json.loads((ROOT / "examples" / "sample_session.json").read_text(encoding="utf-8"))
    (tmp_path / "conversations" / "sample.jsonl").write_text(json.dumps(sample) + "\n", encoding="utf-8")
    (tmp_path / "compact.yaml").write_text(all_blocks("yaml")[0].source, encoding="utf-8")
    sources = [
        (f"{block.document}, {block.heading}", block.source)
        for block in all_blocks("python")
        if not block.is_fragment and block.document != "docs/EXTENDING.md"
    ]
    done = subprocess.run(
        [sys.executable, "-c", _RUNNER],
        input=json.dumps(sources),
        env={key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]


def test_data_can_be_read() -> None:
    for block in all_blocks("yaml"):
        assert yaml.safe_load(block.source), block
    for block in all_blocks("toml"):
        assert tomllib.loads(block.source), block
    for block in all_blocks("json"):
        decoder, rest = json.JSONDecoder(), block.source.strip()
        while rest:
            _, end = decoder.raw_decode(rest)
            rest = rest[end:].strip()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_are_written_as_the_command_line_takes_them(document: Path) -> None:
    for line in commands_of(document):
        argv = shlex.split(line)[1:]
        if argv and not argv[0].isupper():
            said = io.StringIO()
            try:
                with redirect_stderr(said):
                    _parsed(_parser(argv, io.StringIO()), argv)
            except SystemExit as ended:
                assert ended.code == 0, f"{line}: {said.getvalue()}"


@pytest.mark.parametrize("command", ["plan", "count"])
def test_the_output_shown_is_what_the_command_prints(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines that are left out stand as one "…"."""
    text = (ROOT / "docs" / "CLI.md").read_text("utf-8")
    found = re.search(rf"^    \$ compact ({command} examples/.*)\n((?:(?:    .*)?\n)+)", text, re.M)
    assert found is not None
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(found[1].split()) == 0
    printed = capsys.readouterr().out.splitlines()
    shown = [line.removeprefix("    ") for line in found[2].rstrip().splitlines()]
    assert [line for line in shown if line.strip() not in ("", "…") and line not in printed] == []
