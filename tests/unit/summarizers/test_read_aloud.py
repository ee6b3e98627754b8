"""Summaries as a colleague reads them: newest state, what was done, the user's words in their order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import compact
from compact.evidence.choose import Candidate, Group
from compact.model.summary import Evidence, EvidenceKind
from compact.summarizers.extractive.render import _joined

Raw = dict[str, Any]


def ran(number: int, command: str, output: str, said: str = "") -> list[Raw]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": output},
    ]


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_where_things_stand_is_what_the_assistant_stated_last() -> None:
    """The last message is the list that the user asked for: decided, open, who does what."""
    path = Path(__file__).parents[2] / "golden" / "sessions" / "move.json"
    messages = json.loads(path.read_text(encoding="utf-8"))["messages"]
    text = compact.summarize(messages, 2_000, counter="chars4").text
    wanted = (
        "Limits: 2,000 a month",
        "Dairy heating bill",
        "by 15 March: choose the place",
        "sign, order internet",
    )
    assert [part for part in wanted if part not in section(text, "Outstanding")] == []


def test_commands_that_only_show_are_not_what_was_done_and_a_test_run_stands_once() -> None:
    messages: list[Raw] = [{"role": "user", "content": "Make the import pass its tests."}]
    messages += ran(1, 'grep -n "load|save" src/load.py | head -5', "12: def load():")
    messages += ran(2, "python -m pytest 2>&1 | tail -20", "2 failed, 3 passed")
    messages += ran(3, "cd src && ls; git status", "load.py")
    messages += ran(4, "sed -i s/a/b/ src/load.py", "")
    messages += ran(5, 'python -m pytest 2>&1 | grep -E "passed|failed"', "5 passed")
    messages += ran(6, 'python tools/report.py --note "done; sent"', "ok")
    done = section(compact.summarize(messages, 600, counter="chars4").text, "Done")
    assert "edited src/load.py" in done
    assert [line.split("`")[1] for line in done.splitlines() if " ran " in line] == [
        'python -m pytest 2>&1 | grep -E "passed|failed"',
        'python tools/report.py --note "done; sent"',
    ]


def test_a_program_whose_name_begins_like_one_that_shows_is_done() -> None:
    messages: list[Raw] = [{"role": "user", "content": "Build the grammar and publish it."}]
    messages += ran(1, "tree-sitter test", "2 failed, 3 passed")
    messages += ran(2, "cut-release.sh --prod", "ok")
    done = section(compact.summarize(messages, 600, counter="chars4").text, "Done")
    assert "`tree-sitter test`" in done and "`cut-release.sh --prod`" in done


def test_handles_of_cut_outputs_are_no_values() -> None:
    messages: list[Raw] = [{"role": "user", "content": "Look at the feed."}]
    note = "[Tool output shortened: 91,000 characters, recall r-0123456789 for all of it]"
    messages += ran(1, "fetch feed", f"row kx-4471 is broken\n{note}\nrow kx-4472 too")
    text = compact.summarize(messages, 400, counter="chars4").text
    assert "kx-4471" in text and "r-0123456789" not in text


def test_sayings_that_only_share_words_stay_in_their_order() -> None:
    messages: list[Raw] = []
    for said in (
        "Adding the loss once per dough is right, and refuse bad lines as a whole.",
        "The printer has sixty columns.",
        "Leave the two trade customers where they stand in the code.",
        "No such twin customers, leave the accents of their names.",
        "Correction: the printer has seventy columns.",
    ):
        messages += [{"role": "user", "content": said}, {"role": "assistant", "content": "Done as you say."}]
    text = compact.summarize(messages, 500, counter="chars4").text
    assert text.count("— later") == 1
    assert (
        "“The printer has sixty columns.” — later [m8]: “Correction: the printer has seventy columns.”"
        in text
    )


def test_a_list_of_bare_numbers_says_nothing_and_is_left_out() -> None:
    messages: list[Raw] = [{"role": "user", "content": "Add up the days."}]
    figures = "\n".join(f"| {number * 37} | 07:{number} | {number}.50 |" for number in range(11, 40))
    messages.append({"role": "assistant", "content": f"Here it is.\n{figures}"})
    text = compact.summarize(messages, 400, counter="chars4").text
    listed = section(text, "Key entities")
    assert "12.50" in listed and "07:12" not in listed and "444" not in listed


def test_items_of_a_list_part_by_semicolons_and_sentences_as_they_are() -> None:
    said = ["North window for Renske", "The place is open.", "Brezel"]
    units = [Evidence(EvidenceKind.CONCLUDED, text, 3, "", 1.0) for text in said]
    line = [Candidate(unit, at, 10, Group.CONCLUDED) for at, unit in enumerate(units)]
    assert _joined(line) == "North window for Renske; The place is open. Brezel."


def test_lines_that_the_user_listed_are_kept_apart() -> None:
    rules = [
        "all times in anything you report are UTC, written like 14:20Z",
        "temperatures have one decimal, also in the tables of the report",
        "never overwrite or edit the raw file once it has been made",
    ]
    listed = "\n- ".join(["Rules for the whole job:", *rules])
    text = compact.summarize([{"role": "user", "content": listed}], 300, counter="chars4").text
    assert f"Rules for the whole job: {' / '.join(rules)}”" in text
