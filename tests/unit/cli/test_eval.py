"""`compact eval` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from compact.console.exits import ExitCode
from compact.evaluation import evaluate
from compact.policies import PRESETS
from support.cli import Compact

FILLER = "The lamp turns, the fog lifts a little, and the keeper writes it down. " * 4


def conversation(name: str, turns: int = 20) -> dict[str, Any]:
    messages = []
    for turn in range(turns):
        note = "The relay is LH-2044." if turn == 1 else f"Watch {turn}."
        messages.append({"role": "user", "content": f"{note} {FILLER}"})
        messages.append({"role": "assistant", "content": f"Noted for watch {turn}. {FILLER}"})
    probe = {"kind": "reused_identifier", "value": "LH-2044", "hard": True}
    return {"id": name, "messages": messages, "probe_cut_index": len(messages) - 1, "probes": [probe]}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "lighthouse.jsonl"
    lines = [conversation("night-1"), conversation("night-2", turns=24)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_table_of_every_preset_and_the_baseline(compact: Compact, runs: Path) -> None:
    ended = compact("eval", runs, "--windows", "30%", "--counter", "chars4")
    assert ended.code == ExitCode.OK
    lines = ended.out.splitlines()
    assert lines[0] == "lighthouse"
    rows = {line.split()[0]: line.split() for line in lines[2 : 3 + len(PRESETS)]}
    assert set(rows) == {*PRESETS, "tail"}
    assert rows["tail"][4] == "0.0%", "the newest messages do not have it"
    assert rows["budget"][4] == "100.0%", "the summary does"
    assert "2 conversations · extractive summaries · tokens by chars4" in lines


def test_json_is_one_document_and_repeats(compact: Compact, runs: Path) -> None:
    options = ("--presets", "budget,tail", "--windows", "30%,2000", "--json")
    result = compact("eval", runs, *options).json
    assert [row["window"] for row in result["rows"]] == ["30%", "30%", "2,000", "2,000"]
    assert result["presets"] == ["budget", "tail"]
    assert result["summarizer"] == "extractive"
    assert result["interrupted"] is False
    first = result["rows"][0]
    assert first["hard"] == {"kept": 2, "of": 2, "share": 1.0}
    assert 0 < first["ratio"] < 0.6
    assert 0 < first["cache_hits"] < 1
    assert (first["violations"], first["failed"]) == (0, 0)

    def timeless(value: dict[str, Any]) -> list[dict[str, Any]]:
        return [{**row, "seconds": 0} for row in value["rows"]]

    assert timeless(compact("eval", runs, *options).json) == timeless(result)


def test_one_preset_one_window_and_other_settings(compact: Compact, runs: Path) -> None:
    def tokens_kept(*more: str) -> int:
        result = compact("eval", runs, "--preset", "budget", "--window", "3k", "--once", "--json", *more).json
        assert [(row["preset"], row["window"]) for row in result["rows"]] == [
            ("budget", "3,000"),
            ("tail", "3,000"),
        ]
        return int(result["rows"][0]["tokens_after"])

    assert tokens_kept("--set", "policy.keep_recent_turns=1") < tokens_kept()


def test_keys_in_the_environment_call_no_model(compact: Compact, runs: Path) -> None:
    keys = {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x"}
    ended = compact("eval", runs, "--presets", "chat", "--windows", "30%", "--json", environ=keys)
    assert ended.json["summarizer"] == "extractive"


def test_bad_lines_are_named_and_end_with_1(compact: Compact, runs: Path) -> None:
    with runs.open("a", encoding="utf-8") as file:
        file.write('{"messages": oops}\n' + json.dumps({"messages": [{"role": "pirate"}]}) + "\n")
    ended = compact("eval", runs, "--presets", "tail", "--windows", "30%", "--json")
    assert ended.code == ExitCode.FINDINGS
    assert ended.json["conversations"] == 2
    assert [problem["where"] for problem in ended.json["problems"]] == [f"{runs}:3", f"{runs}:4"]
    assert f"{runs}:3: not valid JSON" in ended.err


def test_what_fits_is_left_out_and_said(compact: Compact, runs: Path) -> None:
    ended = compact("eval", runs, "--presets", "budget", "--windows", "64k", "--limit", "1")
    assert ended.code == ExitCode.OK
    assert "1 conversation " in ended.out
    assert "64,000: 1 conversation skipped, because the whole of it fits this window." in ended.out


def test_the_picture_is_drawn(compact: Compact, runs: Path, tmp_path: Path) -> None:
    ended = compact("eval", runs, "--presets", "budget,tail", "--windows", "30%,60%", "--picture", "out.svg")
    assert "drawn: out.svg" in ended.err
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    assert root.tag.endswith("svg")
    assert any((text.text or "") == "budget" for text in root.iter())


def test_a_picture_replaces_only_one_of_its_kind(compact: Compact, runs: Path, tmp_path: Path) -> None:
    options = ("--presets", "tail", "--windows", "30%", "--limit", "1", "--picture")
    (tmp_path / "mine.svg").write_text("<svg>drawn by hand</svg>")
    kept = compact("eval", runs, *options, "mine.svg")
    assert kept.code == ExitCode.USAGE and "mine.svg already exists" in kept.err and kept.out == ""
    assert (tmp_path / "mine.svg").read_text() == "<svg>drawn by hand</svg>"
    for _ in range(2):
        assert compact("eval", runs, *options, "ours.svg").code == ExitCode.OK


def test_a_picture_without_probes_is_said_to_be_empty(compact: Compact, tmp_path: Path) -> None:
    bare = {"id": "bare", "messages": conversation("bare")["messages"]}
    (tmp_path / "bare.jsonl").write_text(json.dumps(bare) + "\n")
    ended = compact("eval", "bare.jsonl", "--presets", "tail", "--windows", "30%", "--picture", "out.svg")
    assert "drawn: out.svg, but empty: nothing that could be measured" in ended.err


def test_conversations_too_short_for_a_smaller_window_are_said(compact: Compact, runs: Path) -> None:
    ended = compact("eval", runs, "--presets", "tail", "--windows", "10%,20%,80%", "--counter", "chars4")
    assert "10%: for 2 short conversations the window is the same as at 20%" in ended.out
    assert "the same as at 80%" not in ended.out


def test_words_and_conclusions_are_measured_without_probes_and_without_a_cut(
    compact: Compact, tmp_path: Path
) -> None:
    filler = "The harbor master walks along the quay and notes which boats came in with the tide. " * 4
    messages = []
    for turn in range(24):
        asked = f"Report number {turn}, please."
        if turn in (2, 22):
            asked = "The copper lantern hangs in the north tower."
        messages.append({"role": "user", "content": f"{asked} {filler}"})
        messages.append({"role": "assistant", "content": f"All is well. {filler}"})
    (tmp_path / "harbor.json").write_text(json.dumps(messages))
    options = ("harbor.json", "--presets", "budget,tail", "--windows", "30%", "--counter", "chars4")
    budget, tail = compact("eval", *options, "--json").json["rows"]
    assert budget["words"]["share"] == 1.0, "the summary has what was said at the start"
    assert (tail["words"]["kept"], tail["words"]["of"]) == (0, budget["words"]["of"])
    shown = compact("eval", *options).out
    assert "preset window convs words kept" in " ".join(shown.split()), (
        "columns that would be empty are left out"
    )
    assert "No column for all, hard, quest: there are no such probes" in shown
    assert "words: share of the phrases of the user that come up again after the cut" in shown
    assert f"({budget['words']['of']} in harbor)" in shown
    assert "No column for concl: no phrase of the assistant comes up again after the cut." in shown
    once = compact("eval", *options, "--once").out
    assert "No column for words" in once and "with --once there is no other" in once


def test_an_unknown_preset_is_told_with_the_baseline_among_the_known(compact: Compact, runs: Path) -> None:
    ended = compact("eval", runs, "--presets", "agent,budgie")
    assert f"--presets must be among {', '.join(PRESETS)}, tail, head-tail" in ended.err
    assert "(got 'budgie')" in ended.err


def test_interrupted_it_shows_what_it_has(
    compact: Compact, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def stops_in_the_second(case: Any, trial: Any) -> Any:
        for result in evaluate(case, trial):
            seen.append(case.id)
            if len(seen) == 4:
                raise KeyboardInterrupt
            yield result

    monkeypatch.setattr("compact.evaluation.evaluate", stops_in_the_second)
    options = ("--presets", "window,tail", "--windows", "30%", "--json")
    ended = compact("eval", runs, *options)
    assert seen == ["night-1", "night-1", "night-2", "night-2"]
    assert ended.code == ExitCode.INTERRUPTED
    assert ended.json["interrupted"] is True
    assert [row["conversations"] for row in ended.json["rows"]] == [1, 1], "the same for every preset"


@pytest.mark.parametrize(
    "options",
    [
        ["--presets", "budgie"],
        ["--windows", "huge"],
        ["--picture", "out.png"],
        ["--picture", "nowhere/out.svg"],
        ["--sources"],
        ["--limit", "0"],
    ],
)
def test_a_wrong_option_ends_with_2_before_anything_is_done(
    compact: Compact, runs: Path, options: list[str]
) -> None:
    try:
        code = compact("eval", runs, *options).code
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == ExitCode.USAGE


def test_a_source_that_is_not_there_is_said(compact: Compact, runs: Path) -> None:
    ended = compact("eval", runs, "--sources", "lighthouses")
    assert ended.code == ExitCode.USAGE
    assert "lighthouse" in ended.err


def test_also_where_something_cannot_be_read(compact: Compact, runs: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{no json\n", encoding="utf-8")
    ended = compact("eval", runs, broken, "--sources", "lighthouses")
    assert ended.code == ExitCode.USAGE
    assert "No source is named lighthouses" in ended.err


@pytest.mark.parametrize("shape", ["one", "several", "messages"])
def test_a_json_file_is_a_conversation_too(compact: Compact, tmp_path: Path, shape: str) -> None:
    one = conversation("night-1")
    value = {"one": one, "several": [one, conversation("night-2")], "messages": one["messages"]}[shape]
    file = tmp_path / "lighthouse.json"
    file.write_text(json.dumps(value, indent=1), encoding="utf-8")
    ended = compact("eval", file, "--presets", "tail", "--windows", "30%", "--json")
    assert ended.code == ExitCode.OK
    assert ended.json["conversations"] == (2 if shape == "several" else 1)


def test_a_file_of_one_message_a_line_is_a_conversation(compact: Compact, tmp_path: Path) -> None:
    messages = conversation("bare")["messages"]
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(one) + "\n" for one in messages))
    ended = compact("eval", "talk.jsonl", "--presets", "tail", "--windows", "30%", "--json")
    assert ended.code == ExitCode.OK and ended.json["conversations"] == 1
    with (tmp_path / "talk.jsonl").open("a") as file:
        file.write("{oops\n")
    broken = compact("eval", "talk.jsonl", "--presets", "tail", "--json").json
    assert [one["where"] for one in broken["problems"]] == [f"talk.jsonl:{len(messages) + 1}"]


def test_the_example_session_can_be_evaluated(compact: Compact, sample: Path) -> None:
    ended = compact("eval", sample, "--presets", "tail", "--windows", "20%")
    assert ended.code == ExitCode.OK and "sample_session" in ended.out


def test_a_missing_path_ends_with_2(compact: Compact) -> None:
    assert compact("eval", "nothing.jsonl").code == ExitCode.USAGE


def test_a_terminal_sees_progress(runs: Path) -> None:
    import io

    from compact.cli import main

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    err = Terminal()
    argv = ["eval", str(runs), "--presets", "tail", "--windows", "30%"]
    assert main(argv, io.StringIO(), io.StringIO(), err, {}) == ExitCode.OK
    assert "1/2 lighthouse" in err.getvalue() and "2/2 lighthouse" in err.getvalue()
