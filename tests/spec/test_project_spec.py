"""What the project as a whole must have: kinds of tests, coverage, documents, examples."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {
    "unit": "unit",
    "integration": "e2e",
    "contracts": "contracts",
    "golden": "golden",
    "property": "properties",
    "security": "security",
    "faults": "faults",
}


def sources_in(folder: str) -> list[str]:
    found = (ROOT / "tests" / folder).rglob("test_*.py")
    return [path.read_text(encoding="utf-8") for path in found]


@pytest.mark.spec("S4.21")
def test_line_coverage_below_85_per_cent_fails_the_tests() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]
    assert settings["report"]["fail_under"] >= 85
    assert settings["run"]["source"] == ["compact"] and "omit" not in settings["run"] | settings["report"]
    recipe = re.search(
        r"^test:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert recipe is not None and "pytest" in recipe[1] and "--coverage" in recipe[1]


@pytest.mark.spec("S4.21")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_test_is_there(kind: str) -> None:
    assert any(
        "\ndef test_" in source or "\nasync def test_" in source or "Contract" in source
        for source in sources_in(KINDS[kind])
    )


@pytest.mark.spec("S4.21")
def test_there_is_a_soak_of_a_thousand_runs() -> None:
    assert any("def test_1000_runs_without_a_context_limit_error" in text for text in sources_in("spec"))


@pytest.mark.spec("S4.22")
def test_the_readme_leads_from_an_overview_to_everything_else() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)", readme, re.MULTILINE)
    assert readme.index("# Compact") < readme.index("## Install"), "what it is comes first"
    order = ["Install", "Quick start", "API", "Configuration"]
    assert [section for section in sections if section in order] == order
    for document in ("ARCHITECTURE", "SECURITY", "OBSERVABILITY", "AGENTS_SDK", "configuration"):
        assert f"(docs/{document}.md)" in readme and (ROOT / "docs" / f"{document}.md").is_file()
    for example in ("agents_sdk_minimal.py", "coding_session.py", "long_research.py"):
        assert example in readme and (ROOT / "examples" / example).is_file()


@pytest.mark.spec("S4.22")
def test_observability_tells_events_the_viewer_otlp_and_a_timeline() -> None:
    guide = (ROOT / "docs" / "OBSERVABILITY.md").read_text(encoding="utf-8")
    for word in (
        "compact.token_estimate",
        "compact.summary_created",
        "compaction-complete",
        "Ariadne",
        "OTLP",
    ):
        assert word in guide
    assert "imeline" in guide
