"""Sums, table and picture."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from compact.evaluation import TAIL, Outcome, rows_of
from compact.evaluation.picture import draw, panels_of
from compact.evaluation.scoring import Score
from compact.evaluation.table import duration, table_lines


def outcome(source: str = "harbor", preset: str = "budget", window: str = "20%", **fields: Any) -> Outcome:
    given: dict[str, Any] = {
        "window_tokens": 4_000,
        "tokens_before": 10_000,
        "tokens_after": 2_000,
        "identifiers": Score(8, 10),
        "hard": Score(3, 5),
        "prompts": 4,
        "prompt_tokens": 1_000,
        "cached_tokens": 750,
        "compactions": 2,
        "seconds": 0.25,
    }
    return Outcome("c", source, preset, window, **{**given, **fields})


def test_rows_are_sums_with_one_for_all_sources() -> None:
    rows = rows_of(
        [outcome(), outcome(hard=Score(5, 5), tokens_after=4_000), outcome("letters", hard=Score())]
    )
    assert [(row.source, row.conversations) for row in rows] == [("harbor", 2), ("letters", 1), ("all", 3)]
    harbor, letters, everything = rows
    assert harbor.hard == Score(8, 10)
    assert harbor.ratio == 0.3
    assert harbor.cache_hits == 0.75
    assert letters.hard.share is None
    assert everything.compactions == 6


def test_one_source_is_not_summed_again() -> None:
    assert [row.source for row in rows_of([outcome(), outcome()])] == ["harbor"]


def test_a_failed_conversation_loses_its_probes_but_not_the_ratio() -> None:
    lost = outcome(error="InsufficientBudget: no", tokens_after=0, hard=Score(0, 5))
    [row] = rows_of([outcome(), lost])
    assert (row.failed, row.ratio, row.hard) == (1, 0.2, Score(3, 10))


def test_json_has_shares_and_nulls() -> None:
    [row] = rows_of([outcome(prompt_tokens=0, cached_tokens=0)])
    shown = row.as_json()
    assert shown["hard"] == {"kept": 3, "of": 5, "share": 0.6}
    assert shown["questions"] == {"kept": 0, "of": 0, "share": None}
    assert shown["ratio"] == 0.2
    assert shown["cache_hits"] is None


def test_the_table_lines_up() -> None:
    rows = rows_of([outcome(), outcome(preset="rolling", seconds=120), outcome("letters", window="40%")])
    lines = list(table_lines(rows))
    assert [line for line, heading in lines if heading and not line.startswith(" ")] == [
        "harbor",
        "letters",
        "all",
    ]
    body = [line for line, _ in lines if line.startswith("  ")]
    assert len({len(line) for line in body}) == 1
    assert body[0].split() == "preset window convs all hard kept tokens cache comp lint fail time".split()
    assert body[1].split() == "budget 20% 1 80.0% 60.0% 20.0% 2,000 75.0% 2 0 0 250ms".split()
    assert body[2].endswith("2.0m")
    assert duration(2.34) == "2.3s"


def test_a_column_stays_where_one_row_has_something_in_it() -> None:
    rows = rows_of([outcome(questions=Score(1, 4)), outcome("letters")])
    heading, *body = [line.split() for line, _ in table_lines(rows) if line.startswith("  ")]
    assert heading[3:6] == ["all", "hard", "quest"]
    assert (body[0][5], body[2][5]) == ("25.0%", "–")


def test_points_are_means_over_probes() -> None:
    heavy = outcome(tokens_after=1_000, hard=Score(9, 9))
    light = outcome(tokens_after=9_000, hard=Score(0, 1))
    [panel] = panels_of([heavy, light])
    [point] = panel.lines["budget"]
    assert panel.title == "Hard identifiers"
    assert panel.probes == 10
    assert (round(point.kept, 6), point.survival) == (0.18, 0.9)


def test_each_kind_of_fact_has_a_panel() -> None:
    kinds = {"questions": Score(1, 2), "words": Score(3, 4), "conclusions": Score(1, 4)}
    panels = panels_of([outcome(hard=Score(1, 2), **kinds)])
    assert [panel.title for panel in panels] == [
        "Hard identifiers",
        "Questions",
        "User's words",
        "Conclusions",
    ]
    drawn = draw([outcome(hard=Score(1, 2), **kinds)])
    assert all(
        title in drawn for title in ("Hard identifiers", "Questions", "User&#x27;s words", "Conclusions")
    )


def test_the_picture_has_a_line_a_preset_and_a_point_a_window() -> None:
    drawn = draw(
        [
            outcome(preset=preset, window=window, tokens_after=tokens, questions=Score(1, 4))
            for preset in ("budget", "chat", TAIL)
            for window, tokens in (("10%", 1_000), ("20%", 2_000), ("40%", 4_000))
        ],
        "one < two",
    )
    root = ElementTree.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    lines = [line for line in root.iter(f"{space}polyline") if len(line.attrib["points"].split()) == 3]
    assert len(lines) == 2 * 3
    told = [title.text or "" for title in root.iter(f"{space}title")]
    assert "budget, window 10%: 60.0% survive with 10.0% of the tokens" in told
    texts = [text.text for text in root.iter(f"{space}text")]
    assert {"budget", "chat", "share of tokens kept", "probes that survive", "one < two"} <= set(texts)
    assert {"Hard identifiers (5 probes)", "Questions (4 probes)"} <= set(texts)
    width = float(root.attrib["width"])
    for line in lines:
        across = [float(point.split(",")[0]) for point in line.attrib["points"].split()]
        assert across == sorted(across) and across[0] > 0 and across[-1] < width


def test_a_picture_without_probes_says_so() -> None:
    drawn = draw([outcome(hard=Score(), identifiers=Score())])
    assert re.search("Nothing that could be measured", drawn)
    assert ElementTree.fromstring(drawn) is not None


def test_without_hard_identifiers_all_are_drawn() -> None:
    [panel] = panels_of([outcome(hard=Score())])
    assert panel.title == "Identifiers"
