"""What became of files: by patches, by commands, and by those that failed."""

from __future__ import annotations

from typing import Any

import pytest

from compact import summarize
from compact.core.evidence import Step, extract
from compact.core.evidence.patches import patched
from compact.summarizers.extractive.steps import describe
from support.conversations import call, result, user

PATCH = """*** Begin Patch
*** Update File: lib/tariff.rb
@@ def rate
-  0.19
+  0.21
*** Update File: lib/fees.rb
*** Move to: lib/charges.rb
-FEE = 2
+FEE = 3
*** Delete File: lib/legacy.rb
*** Add File: lib/levy.rb
+module Levy
+end
*** End Patch"""
PATCHED = [
    ("lib/tariff.rb", "edited"),
    ("lib/charges.rb", "moved"),
    ("lib/legacy.rb", "removed"),
    ("lib/levy.rb", "added"),
]
DIFF = """--- a/web/menu.ts
+++ b/web/menu.ts
@@ -1 +1 @@
-let open = false
+const open = false
--- /dev/null
+++ b/web/drawer.ts
@@ -0,0 +1 @@
+export {}
"""


def step_of(tool: str, arguments: dict[str, Any], output: str = "") -> Step:
    [step] = extract((call("c1", tool, arguments), result("c1", output))).steps
    return step


def done_by(command: str, output: str = "") -> list[tuple[str, str, bool]]:
    step = step_of("bash", {"command": command}, output)
    return [(change.path, change.effect.value, change.done) for change in step.changes]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", {"input": PATCH}),
        ("apply_patch", {"patch": PATCH}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}),
        ("exec", {"cmd": f"cd app && apply_patch <<'PATCH'\n{PATCH}\nPATCH"}),
    ],
)
def test_a_patch_tells_what_becomes_of_each_file(tool: str, arguments: dict[str, Any]) -> None:
    step = step_of(tool, arguments, "Success. Updated the following files:\nM lib/tariff.rb")
    assert [(change.path, change.effect.value) for change in step.changes] == PATCHED
    assert all(change.done for change in step.changes)
    told = describe(step, 300)
    assert told.startswith(
        "edited lib/tariff.rb: `0.21`; moved lib/charges.rb: from lib/fees.rb; removed lib/legacy"
    )


def test_a_patch_that_was_refused_changed_nothing() -> None:
    step = step_of("apply_patch", {"input": PATCH}, "Error: invalid context at line 3")
    assert step.failed and not any(change.done for change in step.changes)
    assert describe(step, 300).startswith("tried to edit lib/tariff.rb")


def test_values_in_a_patch_stand_in_the_file_of_their_section() -> None:
    body = PATCH.replace("FEE = 3", "FEE_PER_CASE = late_fee(3)").replace("0.21", "base_rate_2031")
    items = extract((call("c1", "apply_patch", {"input": body}), result("c1", "ok"))).items
    where = {item.value: item.context for item in items}
    assert where["base_rate_2031"] == "in tariff.rb" and where["FEE_PER_CASE"] == "in charges.rb"
    assert where["lib/legacy.rb"] == "removed" and where["lib/tariff.rb"] == "edited"


def test_a_diff_is_a_patch_too() -> None:
    assert [(change.path, change.effect.value) for change in patched(DIFF)] == [
        ("web/menu.ts", "edited"),
        ("web/drawer.ts", "added"),
    ]
    assert [path for path, _, _ in done_by(f"git apply - <<'END'\n{DIFF}END")] == [
        "web/menu.ts",
        "web/drawer.ts",
    ]


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("rm -f conf/a.ini conf/b.ini", [("conf/a.ini", "removed"), ("conf/b.ini", "removed")]),
        ("git rm conf/a.ini", [("conf/a.ini", "removed")]),
        ("git rm --cached conf/a.ini", []),
        ("mv conf/a.ini etc/", [("etc/a.ini", "moved")]),
        ("git mv conf/a.ini conf/z.ini", [("conf/z.ini", "moved")]),
        ("git checkout -- conf/a.ini", [("conf/a.ini", "reverted")]),
        ("git restore conf/a.ini", [("conf/a.ini", "reverted")]),
        ("git checkout HEAD~2 conf/a.ini && make", [("conf/a.ini", "reverted")]),
        ("git restore --staged conf/a.ini", []),
        ("git checkout -b fix/a.ini", []),
        ("sed -i 's/x/y/' conf/a.ini conf/b.ini", [("conf/a.ini", "edited"), ("conf/b.ini", "edited")]),
        ("sed -Ei.bak 's#x#y#' conf/a.ini", [("conf/a.ini", "edited")]),
        ("echo 'rm conf/a.ini'", []),
        ("rm -f conf/a.ini; make > conf/a.ini", [("conf/a.ini", "edited")]),
        ("make > conf/a.ini; ./try conf/a.ini; rm conf/a.ini", []),
        ("sudo tee conf/a.ini < input", [("conf/a.ini", "edited")]),
        ("bash -c 'rm conf/a.ini'", [("conf/a.ini", "removed")]),
    ],
)
def test_a_command_tells_what_becomes_of_files(command: str, changes: list[tuple[str, str]]) -> None:
    assert done_by(command) == [(path, effect, True) for path, effect in changes]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("mv a.toml b.toml", "mv: cannot stat 'a.toml': No such file or directory"),
        ("cp a.toml /srv/b.toml", "cp: cannot create regular file '/srv/b.toml': Permission denied"),
        ("printf x >> /etc/fstab.conf", "/bin/sh: 1: cannot create /etc/fstab.conf: Permission denied"),
        ("printf x >> /etc/fstab.conf", "zsh: permission denied: /etc/fstab.conf"),
        ("perl -pi -e 's/a/b/' x.toml", "Can't open x.toml: No such file or directory."),
        ("sed -i s/a/b/ x.toml", "sed: -e expression #1, char 3: unterminated `s' command"),
        ("sed -i s/a/b/ x.toml", "sed: kann x.toml nicht lesen: Datei oder Verzeichnis nicht gefunden"),
        ("touch ro/x.toml", "touch: cannot touch 'ro/x.toml': Read-only file system"),
        ("rm x.toml", "rm: cannot remove 'x.toml': Operation not permitted"),
        ("git checkout -- x.toml", "error: pathspec 'x.toml' did not match any file(s) known to git"),
        ("cp a.toml b.toml", "The user rejected this command."),
        ("cp a.toml b.toml", "[exit code: 1]"),
    ],
)
def test_a_change_that_failed_is_told_as_failed(command: str, output: str) -> None:
    step = step_of("bash", {"command": command}, output)
    assert step.failed and step.changes and not any(change.done for change in step.changes)
    messages = [user("Put the settings in order, please."), call("c1", "bash", {"command": command})]
    text = summarize([*messages, result("c1", output)], 500, "code_delta", counter="chars4").text
    [line] = [line for line in text.splitlines() if line.startswith(f"- {step.changes[0].path}: ")]
    assert "(failed)" in line


def test_of_several_commands_only_what_failed_is_told_as_failed() -> None:
    denied = "cp: cannot create regular file 'two.ini': Permission denied\n"
    assert done_by("cp x.ini one.ini; cp x.ini two.ini; echo end", f"{denied}end") == [
        ("one.ini", "copied", True),
        ("two.ini", "copied", False),
    ]
    assert done_by("sed -i s/a/b/ app.py && pytest -q", "1 failed, 3 passed\n[exit code: 1]") == [
        ("app.py", "edited", True)
    ]
    write_and_run = "cat > probe.py <<'EOF'\nraise KeyError\nEOF\npython probe.py"
    trace = "Traceback (most recent call last):\n  File x\nKeyError"
    assert done_by(write_and_run, trace) == [("probe.py", "edited", True)]
    assert describe(step_of("bash", {"command": write_and_run}, trace)) == "wrote probe.py → failed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("python run.py", "worker: cannot reach mirror, using the other\ndone"),
        ("cat notes.txt", "cp: cannot stat 'x': No such file or directory\nwas what I saw"),
        ("./deploy.sh", "2 notices\ncp: cannot stat 'x': No such file or directory\nall is well"),
    ],
)
def test_words_of_others_do_not_make_a_command_fail(command: str, output: str) -> None:
    assert not step_of("bash", {"command": command}, output).failed


def test_lines_belong_to_the_file_of_the_very_command() -> None:
    both = "echo hi | tee out/note.txt; sed -n 3,9p src/main.go"
    assert step_of("bash", {"command": both}, "hi").lines == ""
    assert step_of("bash", {"command": "nl -ba src/main.go | sed -n '3,9p'"}, "3 x").lines == "3-9"


def test_a_value_is_in_a_file_only_where_it_stood_there() -> None:
    command = "cat > doc/todo.md <<'EOF'\ncheck parse_header\nEOF\ncat src/main.go"
    items = extract((call("c1", "bash", {"command": command}), result("c1", "func readBody() {}"))).items
    where = {item.value: item.context for item in items}
    assert where["parse_header"] == "in todo.md"
    assert where["src/main.go"] == "" and where["readBody"] == ""


def test_files_that_come_and_go_are_no_changes_and_those_removed_are_named() -> None:
    steps = [
        ("write_file", {"path": "try_it.py", "content": "print(1)\nprint(2)"}),
        ("bash", {"command": "rm try_it.py"}),
        ("read_file", {"path": "old/api.py"}),
        ("bash", {"command": "rm old/api.py"}),
    ]
    messages = [user("Clear out the old interface.")]
    for number, (tool, arguments) in enumerate(steps):
        messages += [call(f"c{number}", tool, arguments), result(f"c{number}", "")]
    text = summarize(messages, 500, "code_delta", counter="chars4").text
    assert "- old/api.py: removed [m7]" in text and "- try_it.py" not in text


def test_a_command_of_one_endless_word_stalls_nothing() -> None:
    ran = call("c1", "bash", {"command": "a" * 400_000})
    assert [step.command[:3] for step in extract([ran]).steps] == ["aaa"]
