"""Reading conversations: good lines are taken, bad ones are named and skipped."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from compact.errors import FormatError
from compact.evaluation import load_cases
from compact.evaluation.loading import Identifier, Question


def test_a_line_becomes_a_case(write: Any, harbor_line: Any) -> None:
    cases, problems = load_cases([write("runs.jsonl", harbor_line)])
    [case] = cases
    assert problems == []
    assert (case.id, case.source, case.cut) == ("harbor-1", "runs", len(harbor_line["messages"]) - 1)
    assert case.identifiers[0] == Identifier("old tar", True)
    assert case.questions == ()
    assert case.horizon == case.cut


def test_questions_without_keys_are_left_out_and_others_need_the_end(write: Any, letters_line: Any) -> None:
    letters_line["probe_cut_index"] = 4
    [case], _ = load_cases([write("letters.jsonl.gz", letters_line)])
    assert case.questions == (Question(("Green house", "lake")),)
    assert case.horizon == len(letters_line["messages"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{not json", "not valid JSON (column 2"),
        ("[1, 2]", "a JSON array"),
        ('{"messages": []}', "must be an array that is not empty"),
        ('{"messages": [{}], "probe_cut_index": 7}', "a number from 1 to 1 (got 7)"),
        ('{"messages": [{}], "probes": ["x"]}', "an array of objects"),
        ('{"messages": [{}], "probes": [{"kind": "reused_identifier"}]}', "without its value"),
        ('{"messages": [{}], "probes": [{"kind": "q", "answer_keys": [3]}]}', "an array of strings"),
        ('{"messages": [{}], "tools": "hammer"}', '"tools" must be an array'),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(
    write: Any, harbor_line: Any, line: str, told: str
) -> None:
    path = write("runs.jsonl", harbor_line, "", line, harbor_line)
    cases, [problem] = load_cases([path])
    assert len(cases) == 2
    assert problem.where == f"{path}:3"
    assert told in problem.message


def test_a_file_of_another_kind_is_told_once(tmp_path: Path, harbor_line: Any) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(harbor_line, indent=1))
    cases, [problem] = load_cases([path])
    assert cases == [] and problem.where == str(path)
    assert 'one object with "messages" a line' in problem.message


def test_text_that_is_not_utf8_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"messages": ["\xff"]}\n')
    assert "UTF-8" in load_cases([path])[1][0].message


def test_a_cut_off_gzip_file_gives_what_it_has(write: Any, harbor_line: Any) -> None:
    whole = write(
        "runs.jsonl.gz", *[{**harbor_line, "id": str(n), "pad": str(n) * 40_000} for n in range(40)]
    )
    data = whole.read_bytes()
    whole.write_bytes(data[: len(data) - 40])
    cases, [problem] = load_cases([whole])
    assert 0 < len(cases) < 40
    assert "could not be read further" in problem.message


def test_folders_limits_and_sources(write: Any, harbor_line: Any, letters_line: Any) -> None:
    folder = write("all/harbor.jsonl.gz", harbor_line, harbor_line, harbor_line).parent
    write("all/letters.jsonl", letters_line, letters_line)
    write("all/notes.txt", "not ours")
    cases, _ = load_cases([folder], limit=2)
    assert [case.source for case in cases] == ["harbor", "harbor", "letters", "letters"]
    cases, _ = load_cases([folder], sources=["letters"])
    assert [case.source for case in cases] == ["letters", "letters"]


def test_a_folder_of_json_files_is_read(write: Any, harbor_line: Any) -> None:
    folder = write("all/one.json", harbor_line).parent
    write("all/two.jsonl", harbor_line)
    write("all/settings.json", {"color": "blue"})
    cases, problems = load_cases([folder])
    assert [case.source for case in cases] == ["one", "two"]
    assert problems == []  # a folder may hold other JSON, too
    assert load_cases([folder / "settings.json"])[1]


def test_a_mixed_file_keeps_the_names_of_its_lines(write: Any, harbor_line: Any, letters_line: Any) -> None:
    cases, _ = load_cases([write("mixed.jsonl", harbor_line, letters_line)])
    assert [case.source for case in cases] == ["example/harbor", "example/letters"]


def test_a_packed_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(gzip.compress(b'{"messages": [{"role": "user", "content": "hi"}]}'))
    assert len(load_cases([path])[0]) == 1


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="does not exist"):
        load_cases([tmp_path / "none.jsonl"])
    with pytest.raises(FormatError, match=r"holds no conversation"):
        load_cases([tmp_path])
