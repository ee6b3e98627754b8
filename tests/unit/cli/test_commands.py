"""The commands as a user calls them: what stands on which stream, and how they end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from compact import CompactConfig, CompactManager, count_tokens, lint
from compact.cli import main
from compact.cli.registry import SUMMARIES, command
from compact.console.exits import ExitCode
from compact.errors import MissingExtra
from compact.policies import PRESETS
from support.cli import Compact
from support.wire_servers import OpenAIWire, serving, status

BROKEN = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "ok"},
    {"role": "tool", "tool_call_id": "c9", "content": "nobody asked"},
]

TALK = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def body(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_command_has_a_file_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for name in SUMMARIES:
        assert callable(command(name).run)
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        assert ended.value.code == 0
        assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        ["frobnicate"],
        ["count", "--no-such-option"],
        ["run", "--window", "big"],
        ["recall", "s", "x", "--limit", "0"],
        ["history", "--limit", "-1"],
    ],
)
def test_a_wrong_command_line_ends_with_2(argv: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == ExitCode.USAGE


def test_it_can_be_run_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "compact", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("compact ")


def test_alone_it_shows_the_help(compact: Compact) -> None:
    ended = compact()
    assert ended.code == ExitCode.USAGE and ended.out == ""
    assert all(name in ended.err for name in SUMMARIES)


def test_a_note_without_a_compaction_that_is_asked_for_is_refused(compact: Compact, sample: Path) -> None:
    ended = compact("run", sample, "--note", "billing")
    assert ended.code == ExitCode.USAGE and ended.out == "" and "works only with --force" in ended.err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--window", "0"], "max_context_tokens must be more than 0 (got 0 from --window)"),
        (["--preset", "foo"], "(got 'foo' from --preset)"),
        (["--set", "preset=foo"], "(got 'foo')"),
        (["--config", "wrong.yaml"], "(got 'bogus' in wrong.yaml)"),
        # A setting that an option replaces is not the file's any more.
        (["--config", "wrong.yaml", "--set", "preset=agent", "--set", "policy.trigger_pct=7"], "(got 7)"),
    ],
)
def test_a_wrong_setting_is_traced_to_where_it_stands(
    compact: Compact, sample: Path, tmp_path: Path, argv: list[str], told: str
) -> None:
    (tmp_path / "wrong.yaml").write_text("preset: bogus\n")
    ended = compact("plan", sample, *argv)
    assert ended.code == ExitCode.USAGE and told in ended.err
    ended = compact("plan", sample, environ={"COMPACT_PRESET": "bogus"})
    assert "(got 'bogus' from COMPACT_PRESET)" in ended.err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["run", "s.json", "--window", "abc"], "--window"),
        (["run", "s.json", "--set", "foo"], "KEY=VALUE"),
        (["run", "s.json", "--set", "preset=["], "not valid YAML"),
        (["run", "s.json", "--modle", "x"], "--modle"),
        (["lint", "--provider", "bogus"], "bogus"),
        (["summarize", "--max-tokens", "0"], "1 or more"),
        (["restore", "talk", "x"], "argument STEP: expected a whole number, got 'x'"),
        (["restore", "talk", "2.5"], "argument STEP: expected a whole number, got '2.5'"),
        (["frobnicate"], "frobnicate"),
        (["plann", "s.json"], "there is no command 'plann'; did you mean plan?"),
        (["plan", "s.json", "--wndow", "8k"], "--wndow 8k; did you mean --window?"),
    ],
)
def test_scripts_read_of_a_wrong_command_line_as_json(
    argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*argv, "--json"])
    shown = capsys.readouterr()
    error = json.loads(shown.out)["error"]
    assert ended.value.code == ExitCode.USAGE == error["exit_code"] and error["type"] == "UsageError"
    assert told in error["message"] and error["message"] in shown.err


def test_help_and_version_load_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from compact.cli import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'tiktoken', 'yaml', 'openai', 'anthropic', 'genai_prices', 'httpx'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == ["compact 0.1.0", "[]"]


def test_ctrl_c_while_a_command_is_loaded_ends_without_a_traceback() -> None:
    program = (
        "import sys\n"
        "class Struck:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'pydantic': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Struck())\n"
        "from compact.cli import main\n"
        "sys.exit(main(['plan', 'a.json']))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == ExitCode.INTERRUPTED and ended.stderr == "\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_an_output_that_cannot_be_written_is_told_in_a_sentence(sample: Path) -> None:
    with open("/dev/full", "w") as full:
        asked = [sys.executable, "-m", "compact.cli", "run", str(sample), "--window", "8k"]
        ended = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == ExitCode.FAILED and "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[-1] == "compact: the output cannot be written: No space left on device"


def test_one_conversation_that_does_not_fit_costs_the_others_nothing(compact: Compact) -> None:
    huge = {"role": "user", "content": "word " * 9_000, "meta": {"protected": True}}
    bodies = [{"id": "a", "messages": [BROKEN[0]]}, {"id": "b", "messages": [huge]}]
    given = "".join(json.dumps(body) + "\n" for body in (*bodies, *bodies[:1]))
    ended = compact("run", "-", "--window", "8k", stdin=given)
    assert ended.code == ExitCode.INSUFFICIENT_BUDGET
    assert [json.loads(line) for line in ended.out.splitlines()] == [*bodies, *bodies[:1]]
    assert "warning: b: InsufficientBudget" in ended.err
    told = compact("run", "-", "--window", "8k", "--json", stdin=given).json["conversations"]
    assert [one["reason"] for one in told] == ["below-trigger", "insufficient-budget", "below-trigger"]


def test_an_encoding_that_lacks_a_character_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    plain = TextIOWrapper(BytesIO(), encoding="ascii")
    given = StringIO(json.dumps([{"role": "user", "content": "日本語"}]))
    assert main(["run", "-"], stdin=given, stdout=plain, environ={}) == ExitCode.FAILED
    told = capsys.readouterr().err
    assert "its encoding, ascii, has no '\\u65e5'" in told and "PYTHONIOENCODING=utf-8" in told


def test_a_reader_that_has_seen_enough_is_no_error(sample: Path) -> None:
    command_line = f"{sys.executable} -m compact.cli plan {sample} --window 8k | head -n 1"
    ended = subprocess.run(["bash", "-c", command_line], capture_output=True, text=True, check=True)
    assert ended.stdout.count("\n") == 1 and ended.stderr == ""


def test_ctrl_c_ends_with_130(compact: Compact, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("compact.console.context.Context.transcript", interrupted)
    assert compact("count").code == ExitCode.INTERRUPTED


def test_other_failures_end_with_4(compact: Compact, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> None:
        raise MissingExtra("boto3", "s3")

    monkeypatch.setattr("compact.console.context.Context.transcript", missing)
    ended = compact("count")
    assert ended.code == ExitCode.FAILED and "pip install 'compact-context[s3]'" in ended.err


class TestCount:
    def test_the_parts_add_up_to_what_the_engine_counts(self, compact: Compact, sample: Path) -> None:
        ended = compact("count", sample, "--json")
        given = body(sample)
        found = ended.json["conversations"][0]
        assert ended.code == ExitCode.OK and ended.err == ""
        assert found["tokens"] == count_tokens(given["messages"], tools=given["tools"])
        usage = CompactManager(CompactConfig()).usage("s", given["messages"], given["tools"])
        assert found["tokens"] == usage.tokens
        assert found["breakdown"]["tool"]["count"] == sum(m["role"] == "tool" for m in given["messages"])
        assert ended.json["exact"] and ended.json["window"] == 128_000

    def test_a_system_prompt_beside_the_messages_counts(self, compact: Compact) -> None:
        request = {"system": "be kind", "messages": [{"role": "user", "content": "hi"}]}
        found = compact("count", "--json", stdin=json.dumps(request)).json["conversations"][0]
        assert found["breakdown"]["system prompt"]["count"] == 1

    def test_a_table_for_people(self, compact: Compact, sample: Path) -> None:
        shown = compact("count", sample).out
        assert "of a window of 128,000" in shown and "exact (tiktoken:o200k_base)" in shown
        assert max(map(len, shown.splitlines())) <= 80

    def test_several_conversations_are_listed(self, compact: Compact, sample: Path) -> None:
        lines = [
            json.dumps({"id": name, "messages": body(sample)["messages"][:5]}) for name in ("one", "two")
        ]
        shown = compact("count", "-", stdin="\n".join(lines)).out
        assert "one" in shown and "two" in shown and "2 conversations" in shown

    def test_an_unknown_model_is_warned_of_on_standard_error(self, compact: Compact, sample: Path) -> None:
        ended = compact("count", sample, "--model", "frob-9", "--json")
        assert ended.json["window"] == 16_000 and not ended.json["exact"]
        assert "warning: " in ended.err and "frob-9" in ended.err

    def test_no_count_is_exact_for_a_model_that_nobody_knows(self, compact: Compact, sample: Path) -> None:
        made_up = ("--model", "gpt-99-made-up")
        assert not compact("count", sample, *made_up, "--json").json["exact"]
        assert "assumed (tiktoken:o200k_base)" in compact("count", sample, *made_up).out
        assert "assumed, tiktoken:o200k_base" in compact("doctor", "--offline", *made_up).out


class TestLint:
    def test_a_sound_conversation(self, compact: Compact, sample: Path) -> None:
        ended = compact("lint", sample, "--provider", "anthropic")
        assert ended.code == ExitCode.OK
        assert "149 messages checked for anthropic: no violations" in ended.out

    def test_violations_end_with_1(self, compact: Compact) -> None:
        ended = compact("lint", stdin=json.dumps(BROKEN))
        assert ended.code == ExitCode.FINDINGS
        assert "messages[2] orphan-result" in ended.out and "--fix repairs it" in ended.out
        assert ended.err == ""

    def test_messages_that_nobody_can_read_are_violations_too(self, compact: Compact) -> None:
        text = json.dumps(
            [{"role": "user"}, {"role": "user", "content": "hi"}, {"role": "user", "content": 5}]
        )
        ended = compact("lint", stdin=text)
        assert ended.code == ExitCode.FINDINGS
        missing, wrong, verdict = ended.out.splitlines()
        assert missing.startswith("messages[0] malformed: content must be") and "missing or null" in missing
        assert wrong.startswith("messages[2] malformed: ") and wrong.endswith("got number")
        assert verdict.endswith("2 violations")
        # A repair would have to invent what they say.
        assert compact("lint", "--fix", stdin=text).code == ExitCode.USAGE

    def test_json(self, compact: Compact) -> None:
        ended = compact("lint", "--json", stdin=json.dumps(BROKEN))
        assert ended.code == ExitCode.FINDINGS
        [found] = ended.json["conversations"]
        assert [violation["code"] for violation in found["violations"]] == ["orphan-result"]
        assert found["provider"] == "openai" and "messages" not in found

    def test_fix_writes_the_repaired_conversation(self, compact: Compact) -> None:
        ended = compact("lint", "--fix", stdin=json.dumps(BROKEN))
        assert ended.code == ExitCode.OK
        assert json.loads(ended.out) == BROKEN[:2]
        assert "(repaired)" in ended.err and "1 repaired" in ended.err

    def test_fix_as_json(self, compact: Compact) -> None:
        [found] = compact("lint", "--fix", "--json", stdin=json.dumps(BROKEN)).json["conversations"]
        assert found["messages"] == BROKEN[:2] and len(found["repaired"]) == 1 and found["violations"] == []

    def test_a_rule_is_set_off_from_its_source(self, compact: Compact) -> None:
        for line in compact("lint", "--rules").out.splitlines():
            rule, source = line.split(" · ")
            assert rule.split()[1] in ("chat", "responses", "messages") and source


class TestPlan:
    @pytest.mark.parametrize("preset", PRESETS)
    def test_one_line_a_message_within_80_columns(self, compact: Compact, sample: Path, preset: str) -> None:
        ended = compact("plan", sample, "--all", "--window", "8k", "--preset", preset)
        assert ended.code == ExitCode.OK
        lines = ended.out.splitlines()
        assert max(map(len, lines)) <= 80
        drawn = re.findall(r"^ +m(\d+) ", ended.out, re.MULTILINE)
        assert [int(number) for number in drawn] == list(range(148)), "the system prompt has no number"
        assert "\x1b" not in ended.out

    def test_long_runs_of_one_action_are_folded_and_add_up(self, compact: Compact, sample: Path) -> None:
        shown = compact("plan", sample).out.splitlines()
        rows = [line for line in shown if re.match(r"      system| +m\d+ |    … ", line)]
        assert len(rows) == 6
        (hidden,) = [line for line in rows if "…" in line[:6]]
        assert "144 more (run_command 43" in hidden
        tokens = [int(line[16:24].replace(",", "")) for line in rows]
        [found] = compact("plan", sample, "--json").json["conversations"]
        assert sum(tokens) == sum(message["tokens"] for message in found["messages"])

    def test_a_tool_row_names_its_tool(self, compact: Compact, sample: Path) -> None:
        assert "run_command: Switched to a new bra" in compact("plan", sample).out
        [found] = compact("plan", sample, "--json").json["conversations"]
        tools = [message["tool"] for message in found["messages"] if message["role"] == "tool"]
        assert all(tools) and "read_file" in tools

    @pytest.mark.parametrize("window", ["8k", "128k"])
    def test_the_summary_it_would_write(self, compact: Compact, sample: Path, window: str) -> None:
        shown = compact("plan", sample, "--window", window, "--summary").out
        assert "PT-318" in shown.partition("tokens (messages)")[2]
        assert "No summary would be written." in compact("plan", "--summary", stdin=json.dumps(TALK)).out

    def test_its_summary_is_the_one_that_a_run_writes(self, compact: Compact, sample: Path) -> None:
        planned = compact("plan", sample, "--window", "8k", "--summary").out
        written = json.loads(compact("run", sample, "--window", "8k").out)
        sent = "\n".join(str(one["content"]) for one in written["messages"])
        cited = {line.strip() for line in planned.splitlines() if re.search(r"\[m\d+", line)}
        assert cited and all(line in sent for line in cited)

    def test_its_table_numbers_messages_as_its_summary_cites_them(
        self, compact: Compact, sample: Path
    ) -> None:
        table, _, summary = compact("plan", sample, "--window", "8k", "--summary", "--all").out.partition(
            "tokens (messages)"
        )
        quoted = dict(re.findall(r"^- “(.{20}).*” \[(m\d+)\]$", summary, re.MULTILINE))
        assert quoted, "the user's words are cited"
        for begins, number in quoted.items():
            assert re.search(rf"^ +{number} user .* {re.escape(begins)}", table, re.MULTILINE), number
        [found] = compact("plan", sample, "--window", "8k", "--json").json["conversations"]
        first, second = found["messages"][:2]
        assert (first["index"], first["cited_as"]) == (0, None), "the system prompt is cited nowhere"
        assert (second["index"], second["cited_as"]) == (1, "m0")

    def test_below_the_trigger_it_says_what_would_happen_at_it(self, compact: Compact, sample: Path) -> None:
        shown = " ".join(compact("plan", sample).out.split())
        assert re.search(r"At the trigger, as it is now: summarizes .*\d summarized.* → [\d,]+ tokens", shown)

    def test_json_says_the_same_as_the_manager(self, compact: Compact, sample: Path) -> None:
        [found] = compact("plan", sample, "--window", "8000", "--json").json["conversations"]
        given = body(sample)
        manager = CompactManager(CompactConfig(max_context_tokens=8_000))
        plan = manager.plan("s", given["messages"], given["tools"])
        assert (found["tokens_before"], found["tokens_after"]) == (plan.before, plan.after)
        assert found["mode"] == plan.mode.value
        actions = {message["action"] for message in found["messages"]}
        assert actions == {"pinned", "kept", "cleared", "summarized", "injected"}
        assert sum(message["index"] is not None for message in found["messages"]) == 149

    def test_below_the_trigger_everything_is_kept(self, compact: Compact, sample: Path) -> None:
        shown = compact("plan", sample).out
        assert "nothing to do (below-trigger)" in shown and "\nafter " not in shown

    def test_what_cannot_fit_ends_with_3(self, compact: Compact) -> None:
        huge = [{"role": "user", "content": "word " * 4_000}]
        ended = compact("plan", "--window", "2000", stdin=json.dumps(huge))
        assert ended.code == ExitCode.INSUFFICIENT_BUDGET
        assert "budget of 1,700 tokens" in ended.err and "newest turn: 4,0" in ended.err

    def test_every_kind_of_part_is_recognizable(self, compact: Compact) -> None:
        talk = [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                    {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
                    {"type": "text", "text": "look\x1b[2J here"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "let me see", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "zoom", "input": {"factor": 2}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "larger"}]},
        ]
        ended = compact("plan", "--json", "--model", "claude-sonnet-4-5", stdin=json.dumps(talk))
        assert [message["text"] for message in ended.json["conversations"][0]["messages"]] == [
            "(image) (file) look here",
            '(thinking) let me see zoom {"factor":2}',
            "larger",
        ]

    def test_of_an_empty_conversation_nothing_is_said_about_the_trigger(self, compact: Compact) -> None:
        ended = compact("plan", "-", stdin="[]")
        assert ended.code == ExitCode.OK and "At the trigger" not in ended.out


class TestRun:
    def test_a_summary_that_cannot_be_had_is_told_of(self, compact: Compact, sample: Path) -> None:
        nobody = "summarizer.base_url=http://127.0.0.1:9/v1"
        asked = ("run", sample, "--window", "8k", "--set", "summarizer.name=openai", "--set", nobody)
        ended = compact(*asked, "--set", "summarizer.fallback=none")
        assert ended.code == ExitCode.FINDINGS and json.loads(ended.out)["messages"]
        assert "No summary could be made" in ended.err and "messages left out" in ended.err
        embedded = compact(*asked)
        assert "The embedded summarizer wrote this summary instead" in embedded.err
        assert "<COMPACT-SUMMARY v1>" in embedded.out

    @pytest.mark.parametrize("preset", PRESETS)
    def test_the_result_fits_and_is_valid(self, compact: Compact, sample: Path, preset: str) -> None:
        ended = compact("run", sample, "--window", "8k", "--preset", preset)
        assert ended.code == ExitCode.OK
        given, result = body(sample), json.loads(ended.out)
        assert result["tools"] == given["tools"]
        assert lint(result["messages"], "openai") == []
        assert count_tokens(result["messages"], tools=result["tools"]) <= 6_500
        assert "15,646 → " in ended.err and "saved" in ended.err

    def test_json_reports_what_was_done(self, compact: Compact, sample: Path) -> None:
        [found] = compact("run", sample, "--window", "8k", "--json", "-q").json["conversations"]
        assert found["changed"] and found["reason"] == "overflow"
        assert found["tokens"]["before"] == 15_646
        assert found["tokens"]["final"] == count_tokens(found["messages"], tools=body(sample)["tools"])
        assert found["messages_compacted"] > 100

    def test_below_the_trigger_nothing_changes_unless_forced(self, compact: Compact, sample: Path) -> None:
        ended = compact("run", sample)
        assert json.loads(ended.out) == body(sample)
        assert "unchanged, 15,646 tokens: below-trigger (--force compacts anyway)" in ended.err
        forced = compact("run", sample, "--force", "--note", "billing")
        assert len(json.loads(forced.out)["messages"]) < 60
        assert "(manual)" in forced.err

    def test_explain_draws_the_plan_on_standard_error(self, compact: Compact, sample: Path) -> None:
        ended = compact("run", sample, "--window", "8k", "--explain")
        assert json.loads(ended.out)
        assert "summarizes (overflow)" in ended.err and " m147 user " in ended.err

    def test_lines_in_lines_out(self, compact: Compact, sample: Path) -> None:
        given = "".join(json.dumps(message) + "\n" for message in body(sample)["messages"])
        ended = compact("run", "--window", "8k", "-q", stdin=given)
        assert ended.err == ""
        roles = [json.loads(line)["role"] for line in ended.out.splitlines()]
        assert roles[0] == "system" and len(roles) < 60

    def test_what_cannot_fit_ends_with_3_and_shows_the_sum(self, compact: Compact) -> None:
        huge = json.dumps([{"role": "user", "content": "word " * 4_000}])
        ended = compact("run", "--window", "2000", stdin=huge)
        assert ended.code == ExitCode.INSUFFICIENT_BUDGET
        assert ended.out == "" and ended.err.startswith("compact: ")
        told = compact("run", "--window", "2000", "--json", stdin=huge)
        assert told.json["error"]["type"] == "InsufficientBudget"
        assert told.json["error"]["budget"] == 1_700

    def test_nothing_is_written_beside_the_result(
        self, compact: Compact, sample: Path, tmp_path: Path
    ) -> None:
        compact("run", sample, "--window", "8k")
        assert list(tmp_path.iterdir()) == []


class TestSettings:
    def test_file_variables_and_options_in_that_order(self, compact: Compact, sample: Path) -> None:
        Path("compact.yaml").write_text(
            "model: gpt-4.1\nmax_context_tokens: 30000\npolicy: {trigger_pct: 0.5}\n"
        )
        assert compact("plan", sample, "--json").json["conversations"][0]["trigger"] == 15_000
        environ = {"COMPACT_TRIGGER_PCT": "0.6"}
        found = compact("plan", sample, "--json", environ=environ).json["conversations"][0]
        assert found["trigger"] == 18_000
        option = ("--set", "policy.trigger_pct=0.7", "--window", "20_000")
        found = compact("plan", sample, "--json", *option, environ=environ).json["conversations"][0]
        assert found["trigger"] == 14_000

    @pytest.mark.parametrize(
        ("text", "tokens"), [("8000", 8_000), ("8,000", 8_000), ("8k", 8_000), ("1M", 10**6)]
    )
    def test_windows_as_people_write_them(
        self, compact: Compact, sample: Path, text: str, tokens: int
    ) -> None:
        assert compact("count", sample, "--window", text, "--json").json["window"] == tokens

    def test_a_wrong_setting_ends_with_2_and_its_path(self, compact: Compact, sample: Path) -> None:
        ended = compact("plan", sample, "--set", "policy.trigger_pct=2")
        assert ended.code == ExitCode.USAGE
        assert ended.err == "compact: policy.trigger_pct must be 0.0-1.0 (got 2)\n"
        assert compact("plan", sample, "--preset", "bugdet").code == ExitCode.USAGE

    def test_an_unknown_variable_is_warned_of(self, compact: Compact, sample: Path) -> None:
        ended = compact("count", sample, environ={"COMPACT_PRESETT": "chat"})
        assert ended.code == ExitCode.OK and "Did you mean COMPACT_PRESET?" in ended.err


class TestInput:
    def test_a_missing_file_ends_with_2(self, compact: Compact) -> None:
        ended = compact("count", "nowhere.json")
        assert ended.code == ExitCode.USAGE
        assert ended.err.startswith("compact: nowhere.json could not be read: No such file or directory. ")
        assert "Name a file that holds a conversation" in ended.err

    def test_a_malformed_message_is_named_by_its_index(self, compact: Compact) -> None:
        ended = compact("count", "--json", stdin='[{"role": "user", "content": "a"}, 7]')
        assert ended.code == ExitCode.USAGE
        assert "messages[1]" in ended.json["error"]["message"]

    def test_a_person_at_the_keyboard_is_told_what_to_type(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        assert main(["count"]) == ExitCode.USAGE
        assert "Try: compact count FILE" in capsys.readouterr().err

    def test_pick_takes_one_conversation(self, compact: Compact) -> None:
        lines = [json.dumps({"id": name, "messages": [{"role": "user", "content": name}]}) for name in "ab"]
        ended = compact("run", "--pick", "b", "-q", stdin="\n".join(lines))
        assert json.loads(ended.out)["id"] == "b"

    def test_the_format_can_be_named(self, compact: Compact) -> None:
        message = '[{"role": "user", "content": "hi"}]'
        assert compact("lint", "--format", "anthropic", stdin=message).out.startswith(
            "1 message checked for anthropic"
        )
        assert compact("lint", "--format", "nonsense", stdin=message).code == ExitCode.USAGE


class TestDoctor:
    def test_a_sound_set_up(self, compact: Compact, sample: Path) -> None:
        ended = compact("doctor", sample, "--window", "16k")
        assert ended.code == ExitCode.OK
        assert "everything is in order" in ended.out
        assert max(map(len, ended.out.splitlines())) <= 80

    def test_a_missing_key_is_a_problem(self, compact: Compact) -> None:
        named = ("--offline", "--json", "--set", "summarizer.name=openai")
        ended = compact("doctor", *named)
        assert ended.code == ExitCode.FINDINGS
        [check] = [check for check in ended.json["checks"] if check["name"] == "key"]
        assert check["found"] == "OPENAI_API_KEY is not set"
        set_up = compact("doctor", *named, environ={"OPENAI_API_KEY": "sk-1"}).json["checks"]
        assert "key" not in [check["name"] for check in set_up]

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ((), "extractive, the embedded one (auto: no vendor's key is set)"),
            (
                ("--set", "summarizer.name=openai", "--set", "summarizer.model=gpt-4o"),
                "openai, model gpt-4o at https://api.openai.com/v1",
            ),
        ],
    )
    def test_it_says_who_summarizes(self, compact: Compact, options: tuple[str, ...], told: str) -> None:
        checks = compact("doctor", "--json", "--offline", *options).json["checks"]
        assert [check["found"] for check in checks if check["name"] == "summarizer"] == [told]

    @pytest.mark.parametrize(
        ("options", "level", "name", "advice"),
        [
            (("--model", "frob"), "warning", "model", "max_context_tokens"),
            (("--set", "policy.trigger_pct=2"), "problem", "configuration", "Correct it"),
            (
                ("--set", "policy.summary_max_pct=1.0", "--window", "4k"),
                "problem",
                "policy",
                "summary_max_tokens",
            ),
            (("--set", "summarizer.api_key_env=NO_SUCH"), "problem", "summarizer", "Set NO_SUCH"),
            (("--set", "archive.path=file/inside"), "problem", "archive", "writable"),
            (("--set", "enabled=false"), "warning", "enabled", "enabled: true"),
            (("--preset", "agent", "--set", "policy.prune_minimum_pct=0.6"), "warning", "policy", "prune"),
            (
                ("--window", "8k", "--set", "policy.trigger_pct=0.99"),
                "info",
                "policy",
                "starts at the budget",
            ),
        ],
    )
    def test_what_is_wrong_and_what_to_do(
        self, compact: Compact, tmp_path: Path, options: tuple[str, ...], level: str, name: str, advice: str
    ) -> None:
        (tmp_path / "file").write_text("not a folder")
        ended = compact("doctor", "--json", *options)
        [found] = [c for c in ended.json["checks"] if (c["level"], c["name"]) == (level, name)]
        assert advice in found["advice"]
        assert ended.code == (ExitCode.FINDINGS if level == "problem" else ExitCode.OK)

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux's /proc")
    @pytest.mark.parametrize(
        ("on_failure", "until"), [("abort", "every compaction fails"), ("queue", "wait in .compact/spool")]
    )
    def test_an_archive_where_no_folder_can_be_created(
        self, compact: Compact, on_failure: str, until: str
    ) -> None:
        """Also for root, whom permissions do not stop."""
        options = ("--set", "archive.path=/proc/nope", "--set", f"archive.on_failure={on_failure}")
        ended = compact("doctor", "--json", *options)
        [found] = [check for check in ended.json["checks"] if check["name"] == "archive"]
        assert (ended.code, found["level"]) == (ExitCode.FINDINGS, "problem")
        assert found["found"].startswith("no folder can be created in /proc (")
        assert "set archive.path" in found["advice"] and until in found["advice"]

    def test_it_leaves_nothing_where_the_archive_will_be(self, compact: Compact, tmp_path: Path) -> None:
        (tmp_path / "archive").mkdir()
        for folder in ("archive", "archive/of/agents"):
            found = compact("doctor", "--json", "--set", f"archive.path={tmp_path / folder}").json["checks"]
            assert [check["level"] for check in found if check["name"] == "archive"] == ["ok"]
            assert list((tmp_path / "archive").iterdir()) == []

    def test_every_wrong_setting_is_a_problem_of_its_own(self, compact: Compact) -> None:
        wrong = ("policy.trigger_pct=2", "summarizer.modle=x", "archive.adapter=s3", "preset=bugdet")
        options = [part for setting in wrong for part in ("--set", setting)]
        ended = compact("doctor", "--json", *options)
        assert ended.code == ExitCode.FINDINGS
        assert [check["found"].split()[0] for check in ended.json["checks"]] == [
            "preset",
            "policy.trigger_pct",
            "summarizer.modle",
            "archive.bucket",
        ]
        drawn = compact("doctor", *options).out
        assert "4 problems" in drawn and "Correct them; nothing else was checked." in drawn

    def test_settings_that_no_manager_can_be_made_with(self, compact: Compact) -> None:
        wrong = (
            "policy.strategy=task-state",
            "redaction.patterns=['(', 'ok', 'a*']",
            "storage.url=mysql://h/d",
        )
        options = [part for setting in wrong for part in ("--set", setting)]
        checks = compact("doctor", "--json", *options).json["checks"]
        found = [check["found"].split()[0].rstrip(":") for check in checks if check["level"] == "problem"]
        assert found == ["policy.strategy", "redaction.patterns[0]", "redaction.patterns[2]", "storage.url"]

    def test_the_floor_of_a_conversation(self, compact: Compact) -> None:
        request = {"system": "word " * 1_800, "messages": [{"role": "user", "content": "hi"}]}
        text = json.dumps(request)
        assert "Half of the trigger" in compact("doctor", "-", "--window", "4k", stdin=text).out
        huge = json.dumps([{"role": "user", "content": "word " * 4_000}])
        ended = compact("doctor", "-", "--window", "2000", stdin=huge)
        assert ended.code == ExitCode.FINDINGS
        assert "does not fit the budget of 1,700" in " ".join(ended.out.split())
        assert "1 problem" in ended.out
        assert compact("doctor", "-", stdin="nonsense").code == ExitCode.FINDINGS

    def test_a_mistyped_variable_is_a_warning(self, compact: Compact) -> None:
        ended = compact("doctor", environ={"COMPACT_MODLE": "x"})
        assert "Did you mean COMPACT_MODEL?" in ended.out and "1 warning" in ended.out

    def test_which_chat_models_can_be_used(self, compact: Compact) -> None:
        out = compact("doctor", "--offline", environ={"OPENAI_API_KEY": "sk-secret-key"}).out
        assert "can be used: openai, local" in out
        assert "ANTHROPIC_API_KEY" in out and "sk-secret-key" not in out

    def test_the_address_of_the_summarizer_is_named_and_tried(self, compact: Compact) -> None:
        named = {"OPENAI_API_KEY": "sk-secret-key", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        ended = compact("doctor", environ=named)
        told = " ".join(ended.out.split())
        assert ended.code == ExitCode.FINDINGS
        assert "openai at http://127.0.0.1:9/v1" in told and "cannot be reached" in told
        with serving(OpenAIWire().answer("hello")) as server:
            answered = compact("doctor", environ={**named, "OPENAI_BASE_URL": server.url})
        assert answered.code == ExitCode.OK and f"{server.url} answers" in " ".join(answered.out.split())

    @pytest.mark.parametrize(
        ("url", "told"),
        [
            ("http://me:SECRET@127.0.0.1:9/v1", "openai at http://me:***@127.0.0.1:9/v1"),
            ("http://me:SEC/RET@127.0.0.1:x", "openai at http://me:***@127.0.0.1:x"),
            ("http://me:9/SEC@RET@box", "is not an http:// or https:// address without an @ after the host"),
            ("SECRET", "openai at (no address)"),
        ],
    )
    def test_an_address_is_shown_without_password_or_key(self, compact: Compact, url: str, told: str) -> None:
        ended = compact("doctor", environ={"OPENAI_API_KEY": "sk-secret-key", "OPENAI_BASE_URL": url})
        assert told in " ".join(ended.out.split())
        assert "SEC" not in ended.out and "RET" not in ended.out

    @pytest.mark.parametrize(("code", "ends"), [(401, ExitCode.OK), (500, ExitCode.FINDINGS)])
    def test_a_server_in_trouble_is_a_problem_one_that_wants_a_key_is_not(
        self, compact: Compact, code: int, ends: ExitCode
    ) -> None:
        with serving(status(code, {"error": {"message": "no"}})) as server:
            named = {"OPENAI_API_KEY": "sk-secret-key", "OPENAI_BASE_URL": server.url}
            ended = compact("doctor", environ=named)
        assert ended.code == ends
        assert ("status 500" in " ".join(ended.out.split())) is (code == 500)

    def test_a_missing_extra_that_is_needed(self, compact: Compact, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("compact.cli.checks.extras", lambda: {"s3": ["no-such-package"]})
        options = ("--set", "archive.adapter=s3", "--set", "archive.bucket=b")
        checks = compact("doctor", "--json", *options).json["checks"]
        assert "pip install 'compact-context[s3]'" in [check["advice"] for check in checks]


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_every_command_is_completed(self, compact: Compact, shell: str) -> None:
        script = compact("completion", shell).out
        assert all(name in script for name in SUMMARIES) and "keep" not in script.split()[0]

    def test_bash_completes_commands_and_their_options(self, compact: Compact, tmp_path: Path) -> None:
        script = tmp_path / "completion.bash"
        script.write_text(compact("completion", "bash").out, encoding="utf-8")
        asked = 'source "$0"; COMP_WORDS=(compact {0}); COMP_CWORD={1}; _compact; echo "${{COMPREPLY[@]}}"'
        for words, place, found in (("doc", 1, "doctor"), ("plan --summ", 2, "--summary")):
            done = subprocess.run(
                ["bash", "-c", asked.format(words, place), str(script)], capture_output=True, text=True
            )
            assert done.stdout.split() == [found]


@pytest.mark.parametrize("argv", [("--color", "always", "count"), ("count", "--color", "always")])
def test_output_options_work_before_and_after_the_command(compact: Compact, argv: tuple[str, ...]) -> None:
    assert "\x1b[" in compact(*argv, stdin=json.dumps(TALK)).out
    assert "\x1b[" not in compact("count", stdin=json.dumps(TALK)).out


def test_a_body_names_the_model_that_counts(compact: Compact) -> None:
    body = json.dumps({"model": "gpt-4", "messages": [{"role": "user", "content": "hello"}]})
    assert json.loads(compact("count", "--json", stdin=body).out)["model"] == "gpt-4"
    named = compact("count", "--json", "--model", "gpt-4o", stdin=body, environ={"COMPACT_MODEL": "o3"})
    assert json.loads(named.out)["model"] == "gpt-4o"
    assert "gpt-4" in compact("plan", stdin=body).out
