"""The requirement report itself: it must not call something proven that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.spec_plugin import read_ids

pytest_plugins = ["pytester"]

PLUGIN = ["-p", "support.spec_plugin", "-p", "xdist.plugin"]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    # The others have nothing to do here, and some take a second of each process to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nmarkers = spec: requirement\n")
    return pytester


def states(project: pytest.Pytester, source: str, *options: str) -> dict[str, list[str]]:
    project.makepyfile("import pytest\n" + source)
    project.runpytest_inprocess(*PLUGIN, "--spec-report=out.tsv", *options)
    lines = (project.path / "out.tsv").read_text().splitlines()
    return {columns[0]: columns[1:] for columns in (line.split("\t") for line in lines)}


def test_the_list_holds_every_requirement_once() -> None:
    ids = read_ids()
    assert len(ids) == 7 + 14 + 22 + 9 + 22 + 16
    assert ids["S2.18"].parts == ("events", "server")
    assert ids["S4.7"].parts == ()


def test_a_line_says_what_else_has_to_be_run(project: pytest.Pytester) -> None:
    found = states(project, '@pytest.mark.spec("S5.12")\ndef test_here(): pass')
    assert found["S5.12"][:2] == ["1", "passed"] and "make test-frameworks" in found["S5.12"][2]


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["serial", "parallel"])
def test_each_state_is_told_apart(project: pytest.Pytester, options: tuple[str, ...]) -> None:
    found = states(
        project,
        """
@pytest.mark.spec("S4.7")
@pytest.mark.parametrize("number", [1, 2])
def test_passes(number): pass

@pytest.mark.spec("S2.6", part="engine")
def test_one_part(): pass

@pytest.mark.spec("S4.8", "S4.9")
def test_fails(): assert False

@pytest.mark.spec("S4.8")
def test_also_passes(): pass

@pytest.mark.spec("S4.10")
def test_skipped(): pytest.skip("not here")

@pytest.fixture
def broken(): raise RuntimeError

@pytest.mark.spec("S4.11")
def test_broken_set_up(broken): pass
""",
        *options,
    )
    assert found["S4.7"] == ["2", "passed"]
    assert found["S2.6"] == ["1", "partial", "missing: server"]
    assert found["S4.8"] == ["2", "failed"]
    assert found["S4.9"] == ["1", "failed"]
    assert found["S4.10"] == ["0", "none"]
    assert found["S4.11"] == ["1", "failed"]
    assert found["S0.1"] == ["0", "none"]
    assert found["total 90"] == ["passed 1", "partial 1", "failed 3", "none 85"]


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["serial", "parallel"])
@pytest.mark.parametrize("stop", ["raise KeyboardInterrupt", "pytest.exit('enough')"])
def test_a_run_that_was_stopped_has_no_result(
    project: pytest.Pytester, stop: str, options: tuple[str, ...]
) -> None:
    (project.path / "out.tsv").write_text("of an earlier run\n")
    project.makepyfile(f"""
import pytest

@pytest.mark.spec("S4.7")
def test_passes(): pass

@pytest.mark.spec("S4.8")
def test_stops(): {stop}
""")
    project.runpytest_subprocess(*PLUGIN, "--spec-report=out.tsv", *options)
    assert not (project.path / "out.tsv").exists()


@pytest.mark.parametrize(
    ("marker", "complaint"),
    [
        ('"S9.9"', "no requirement 'S9.9'"),
        ('"S2.6"', "name one of its parts: engine, server"),
        ('"S2.6", part="page"', "name one of its parts"),
        ('"S4.7", part="engine"', "it has no parts"),
    ],
)
def test_a_marker_that_fits_no_requirement_stops_the_run(
    project: pytest.Pytester, marker: str, complaint: str
) -> None:
    project.makepyfile(f"import pytest\n@pytest.mark.spec({marker})\ndef test_it(): pass\n")
    result = project.runpytest_inprocess(*PLUGIN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert complaint in result.stderr.str()
