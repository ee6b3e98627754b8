"""What a step did and how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from compact.core.evidence import Step, StepKind, extract
from compact.summarizers.extractive.steps import describe
from support.conversations import call, result


def step_of(tool: str, arguments: dict[str, Any], output: str = "ok") -> Step:
    [step] = extract((call("c1", tool, arguments), result("c1", output))).steps
    return step


EDIT = {"path": "src/a.py", "old_string": "a", "new_string": "b"}


@pytest.mark.parametrize(
    "output",
    [
        "Error: old_string not found",
        "ValueError: old_string occurs twice",
        "Failed to edit: permission denied",
        "<tool_use_error>File has not been read yet</tool_use_error>",
        '{"success": false, "reason": "locked"}',
        '{"error": "no such file"}',
        '{"status": "error", "detail": "locked"}',
        '{"status": 500}',
        "No match found for old string",
        "old_str not found in file; no changes made",
        "File has not been read yet. Read it first.",
        "The user rejected the edit",
        "[Request interrupted by user]",
        "Tool execution rejected by policy",
        "Aborted.",
        "HTTP 404 Not Found",
        "Traceback (most recent call last):\n  File x\nKeyError: 'a'",
        "Fehler: Datei nicht gefunden",
        "エラー: ファイルが見つかりません",
    ],
)
def test_an_edit_that_failed_is_not_told_as_done(output: str) -> None:
    step = step_of("edit_file", EDIT, output)
    assert step.failed and step.status == "failed"
    assert describe(step).startswith("tried to edit src/a.py") and describe(step).endswith("→ failed")
    [path] = [
        item
        for item in extract((call("c1", "edit_file", EDIT), result("c1", output))).items
        if item.value == "src/a.py"
    ]
    assert path.context == "failed"


@pytest.mark.parametrize(
    "output",
    [
        "The file was edited.",
        '{"message": "No errors found"}',
        "No error was found.",
        "0 error: fine",
        '{"status": "cancelled", "user_note": "errors"}',
        "Your request was cancelled.",
        "Edited src/a.py.\nBefore: 2 tests failed, command not found",
        "Replaced the text: “User rejected the edit” is now said.",
    ],
)
def test_an_edit_that_worked_is_told_as_done(output: str) -> None:
    assert not step_of("edit_file", EDIT, output).failed


def test_a_text_about_errors_was_read_well() -> None:
    assert not step_of("read_file", {"path": "src/a.py"}, "Error handling is described here.").failed
    assert not step_of("read_file", {"path": "a.md"}, "Fehler: so heißen sie\nund mehr").failed
    assert not step_of("grep", {"pattern": "x"}, "No matches found").failed
    for command in ("tail -2 app.log", "docker compose logs web", "cat a.log"):
        assert not step_of("bash", {"command": command}, "started\nKilled").failed


def test_a_file_that_was_not_found_was_not_read() -> None:
    arguments, output = {"path": "src/a.py"}, "Fehler: Datei nicht gefunden"
    assert step_of("read_file", arguments, output).failed
    items = extract((call("c1", "read_file", arguments), result("c1", output))).items
    assert [item.context for item in items if item.value == "src/a.py"] == ["failed"]


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Traceback (most recent call last):\n  File x\nKeyError: 'a'", True),
        ("FAILED tests/test_a.py::test_b", True),
        ("== 2 failed, 10 passed in 0.3s ==", True),
        ("== 10 passed, 0 failed in 0.3s ==", False),
        ("[exit code: 3]", True),
        ('{"stdout": "", "exit_code": 2}', True),
        ("10 passed", False),
        ("bash: pytset: command not found", True),
        ("building\nmake: *** [all] Error 2", True),
        ("npm ERR! code ELIFECYCLE\nnpm ERR! errno 1", True),
        ("Segmentation fault (core dumped)", True),
        ("collecting\nKilled", True),
        ("Command timed out after 120s", True),
        ("The user declined to run this tool.", True),
        ("exit 0\nKilled", False),
        ("foo: command not found\ninstalling foo\nfoo 1.2 installed\nall good", False),
    ],
)
def test_a_command_fails_by_what_it_prints_or_by_its_code(output: str, failed: bool) -> None:
    assert step_of("bash", {"command": "pytest -q"}, output).failed is failed


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("write_file", {"path": "a.py", "content": "x = 1"}, "wrote a.py: x = 1"),
        ("edit_file", {"path": "a.py", "old_string": "x", "new_string": "y"}, "edited a.py: `y`"),
        ("delete_file", {"path": "a.py"}, "delete_file(a.py)"),
        ("bash", {"command": "mv a.py b/a.py"}, "ran `mv a.py b/a.py`"),
    ],
)
def test_a_step_is_told_by_what_it_did(tool: str, arguments: dict[str, Any], told: str) -> None:
    assert describe(step_of(tool, arguments)) == told


@pytest.mark.parametrize(
    ("tool", "arguments", "writes"),
    [
        ("bash", {"command": "mv a.py b/a.py"}, False),
        ("move_file", {"path": "b/a.py"}, False),
        ("bash", {"command": "sed -i s/a/b/ b/a.py"}, True),
        ("write_file", {"path": "b/a.py", "content": "x"}, True),
    ],
)
def test_only_what_writes_to_a_file_makes_it_a_written_one(
    tool: str, arguments: dict[str, Any], writes: bool
) -> None:
    seen = extract((call("c1", tool, arguments), result("c1", "b/a.py:3: warning"))).items
    [path] = [item for item in seen if item.value == "b/a.py"]
    assert path.context.startswith("edited") is writes
    assert path.message == 0 or not writes


def test_runs_with_different_endings_are_told_apart() -> None:
    good = step_of("bash", {"command": "pytest -q"}, "3 passed")
    bad = step_of("bash", {"command": "pytest -q"}, "1 failed, 2 passed")
    assert describe(good) != describe(bad)


@pytest.mark.parametrize(
    "output",
    ["The docs say: exit code: 3 means that\nnothing was found", "if status: return exit code 1\nmore text"],
)
def test_an_exit_code_amid_a_text_is_not_the_commands(output: str) -> None:
    assert step_of("bash", {"command": "cat README.md"}, output).status == ""


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        *(
            (name, StepKind.READ)
            for name in ("get_settings", "list_orders", "search_payments", "fetch_changes")
        ),
        *((name, StepKind.READ) for name in ("read_address_book", "getOrder", "mcp__shop__list_orders")),
        *((name, StepKind.READ) for name in ("order_status", "readFile", "settings_get")),
        *(
            (name, StepKind.WROTE)
            for name in ("update_order", "book_flight", "str_replace_editor", "file_edit")
        ),
        *((name, StepKind.WROTE) for name in ("find_and_replace", "writefile", "get_or_create", "setConfig")),
        *((name, StepKind.CALLED) for name in ("calculate", "payment_check", "additional_help")),
    ],
)
def test_the_first_word_of_a_tools_name_tells_what_it_does(tool: str, kind: StepKind) -> None:
    assert step_of(tool, {"a": "b"}).kind is kind


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("awk '$3 > 5' data.csv", StepKind.RAN),
        ('python -c "print(3 > 2)"', StepKind.RAN),
        ("echo '>' && ls", StepKind.RAN),
        ("echo 'a' > out.txt", StepKind.WROTE),
        ("bash -c 'echo a > out.txt'", StepKind.WROTE),
        ("python - <<'EOF'\nif a > b: pass\nEOF", StepKind.RAN),
        ("cat > src/a.py <<'EOF'\nit's\nEOF", StepKind.WROTE),
    ],
)
def test_what_a_command_quotes_is_no_redirect(command: str, kind: StepKind) -> None:
    assert step_of("bash", {"command": command}).kind is kind
