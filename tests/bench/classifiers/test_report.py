"""Lines, pages and pictures of the experiments with classifiers."""

from __future__ import annotations

import pytest

from jostle.kernel.errors import BadInput
from jostle.simulate.results import MeasuredError, Results
from jostle_bench.classifiers.report import FIGURES, Line, lines, markdown, overview, picture, reached


def test_lines_pages_and_pictures() -> None:
    figure = FIGURES["classifiers"].quick()
    results = Results()
    for trial in figure.trials(["Majority", "Joint"]):
        name, version, cell, digest, draws, seed, neighbours = trial.key
        results.add(
            MeasuredError(
                algorithm=name, version=version, cell=cell, digest=digest, trials=draws, seed=seed, neighbours=neighbours,
                mean=0.2 if name == "Joint" else 0.3, stderr=0.01, seconds=0.1,
            )
        )  # fmt: skip
    found = lines(figure, results, ["Majority", "Joint"])
    assert [line.learner for line in found] == ["Joint", "Majority"]
    page = markdown({"classifiers": found}, command="jostle bench learn")
    assert "| Joint | – | – | – | .2000 ±.0100 | – | 1 |" in page
    assert "1 draws of the noise on each split" in page
    assert "<!-- picture: classifiers -->" in page
    assert "*goal*" in page
    assert len(picture(figure, found).data) == 2
    with pytest.raises(BadInput, match="'Jiont' is unknown"):
        figure.trials(["Jiont"])


def test_a_page_says_which_goals_were_missed() -> None:
    line = Line("hiv", "Chosen", {0.1: 0.224, 0.5: 0.13}, {0.1: 0.001, 0.5: 0.001})
    page = markdown({"classifiers": [line]}, command="jostle bench learn")
    assert "Chosen reaches 1 of 2 goals within two standard errors. Missed: hiv at 0.5." in page


def test_a_page_begins_with_a_story_and_one_picture() -> None:
    errors = {"hiv": (0.4, 0.2, 0.1), "adult": (0.2, 0.1, 0.1)}
    shown = [
        Line(table, name, {1.0: share}, {1.0: 0.01})
        for table, shares in errors.items()
        for name, share in zip(("Majority", "Chosen", "Joint"), shares, strict=True)
    ]
    page = markdown({"classifiers": shown}, command="jostle bench learn")
    assert "makes 50 % to 50 % of the errors" in page
    assert "On 1 of 2 tables" in page
    assert "the best fixed choice, Joint, achieves that on 2" in page
    assert "errs 1.41 times as much in the geometric mean, and 2.00 times on hiv" in page
    assert page.index("picture: overview") < page.index("How it was measured") < page.index("| learner |")
    assert [list(trace.x) for trace in overview(shown).data] == [[0.4, 0.2], [0.1, 0.1], [0.2, 0.1]]


def test_a_goal_is_reached_within_two_standard_errors() -> None:
    line = Line("hiv", "Chosen", {0.1: 0.224, 0.5: 0.13}, {0.1: 0.001, 0.5: 0.001})
    assert reached(line) == {0.1: True, 0.5: False}
