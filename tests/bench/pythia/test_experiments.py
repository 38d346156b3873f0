"""The paper's experiments on a made-up table: regrets by hand, partial tables, what is trained on what, and the report."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from jostle import plots, simulate
from jostle.choice.delphi import ErrorTable
from jostle.choice.regret_tree import CRITERIA
from jostle.choice.training import PAPER
from jostle.kernel.errors import BadInput
from jostle.simulate import grid
from jostle.simulate.grid import SUITE, WORKLOADS
from jostle_bench.pythia import deployed, numbers, pictures
from jostle_bench.pythia.evaluation import leave_one_out
from jostle_bench.pythia.experiments import AS_PUBLISHED, OURS, RHOS, THETAS, VARIANTS, Experiment, experiment
from jostle_bench.pythia.report import sections
from jostle_bench.reports import pages
from tests.choice.tables import folder_of_shapes

OPTIONS = [*SUITE["range-1d"], "OPT", "Bayes"]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    folder = folder_of_shapes(tmp_path_factory.mktemp("shapes"))
    return grid.cells("range-1d", folder, sides=(32, 128), exponents=(5, 8, 12, 16, 20))


def table_of(cells, errors, options=OPTIONS):
    errors = np.array(errors, dtype=float)
    return ErrorTable(
        task="range-1d",
        inputs=list(cells),
        options=list(options),
        errors=errors,
        stderrs=np.zeros_like(errors),
        seconds=np.zeros_like(errors),
    )


@pytest.fixture(scope="module")
def found(cells) -> Experiment:
    """Laplace wins on small scales, HB on large ones and on prefixes; OPT is a tenth better than HB; Bayes is for cells."""
    rows = []
    for cell in cells:
        prefix = cell.queries == "prefix"
        hb = 6.0 if cell.exponent > 10 and prefix else 14.0
        rows.append([10.0, hb, 20.0, 2.0 ** (cell.exponent - 4), 12.0, 90.0, 15.0, 0.9 * hb, 30.0 if prefix else 5.0])
    return experiment(table_of(cells, rows), seed=3)


def judged(found, name):
    return next(one for one in (*found.blind, *found.informed) if one.name == name)


def test_regrets_are_errors_over_the_least_of_the_suite_and_of_all(found):
    errors = found.table.errors
    suite, best = errors[:, : len(SUITE["range-1d"])].min(axis=1), errors.min(axis=1)
    for name in OPTIONS:
        mine = errors[:, OPTIONS.index(name)]
        assert judged(found, name).to_suite == pytest.approx(mine / suite)
        assert judged(found, name).to_all == pytest.approx(mine / best)
    assert judged(found, "informed decision over the suite").to_suite == pytest.approx(1)
    assert judged(found, "informed decision over all options").to_all == pytest.approx(1)
    assert judged(found, "informed decision over all options").to_suite == pytest.approx(best / suite)
    means = [one.to_suite.mean() for one in found.blind]
    assert means == sorted(means)


@pytest.mark.parametrize("what", ["queries", "dataset", "side", "exponent"])
def test_means_by_groups_are_those_of_their_inputs(found, what):
    one = judged(found, "HB")
    for queries in (None, "prefix"):
        for key, mean in one.by(what, queries, of_all=True).items():
            rows = [
                regret
                for cell, regret in zip(found.table.inputs, one.to_all, strict=True)
                if getattr(cell, what) == key and queries in (None, cell.queries)
            ]
            assert mean == pytest.approx(np.mean(rows))
    assert len(one.by("side", "prefix")) == 2


def test_a_choice_with_one_winner_costs_nothing(cells):
    rows = np.tile([4.0, 5, 6, 7, 8, 9, 10, 2.0, 3.0], (len(cells), 1))
    found = experiment(table_of(cells, rows))
    for one in (found.ours, found.constant, *found.prices.values()):
        assert one.spent == 0
        assert one.to_all == pytest.approx(1)
        assert one.to_suite == pytest.approx(0.5)
    assert found.published.to_suite == pytest.approx(1), "it may not choose OPT, and Laplace is the best of the suite"
    assert list(found.prices) == list(RHOS)


def test_features_that_are_at_hand_change_nothing(found):
    plain = leave_one_out(found.table, seed=3, features=PAPER)
    again = found.outcome(OURS.but("five", features=PAPER))
    assert (again.errors == plain.errors).all()
    assert again.choices == plain.choices


def test_a_selector_is_trained_without_the_data_set_that_it_is_judged_on(found):
    for name in found.table.datasets:
        assert name not in found.selector(OURS, without=name).about.provenance["data"]
    assert found.selector(OURS).about.provenance["data"] == sorted(found.table.datasets)


def test_the_papers_way_has_the_papers_settings(found):
    about = found.selector(found.as_published).about
    assert about.options == SUITE["range-1d"]
    assert about.rho == 0.1
    assert about.provenance["criterion"] == "group-regret"
    assert (about.provenance["copies"], about.provenance["features"]) == (0, list(PAPER))


def test_every_criterion_is_tried_on_the_suite_alone(found):
    assert [one.name for one in found.criteria] == [*CRITERIA, "ours"]
    for one in found.criteria:
        assert tuple(one.table.options) == SUITE["range-1d"]
        assert (one.to_all >= 1 - 1e-12).all()
        assert one.to_suite == pytest.approx(one.to_all)


def test_every_other_setting_is_one_that_training_knows(found):
    names = [one.name for one in found.variants()]
    assert names[: len(VARIANTS)] == list(VARIANTS)
    assert len(set(names)) == len(VARIANTS) + 3
    assert list(found.thetas) == list(THETAS)


def test_the_luck_of_the_least_of_noisy_means(cells, found):
    assert found.luck == 0, "the means of that table have no errors"
    rows = np.full((len(cells), len(OPTIONS)), 100.0)
    table = table_of(cells, rows)
    table.stderrs = np.ones_like(rows)
    least_of_nine = 1.48501  # the expected distance of the least of nine standard normal values from their mean
    assert experiment(table).luck == pytest.approx(least_of_nine / 100, rel=0.05)


def test_gaps_are_those_of_the_data_sets_means(found):
    one, other = judged(found, "HB"), judged(found, "Laplace")
    mine, its = one.by("dataset"), other.by("dataset")
    assert one.beyond(other) == pytest.approx([mine[name] - its[name] for name in found.table.datasets])
    assert one.beyond(one) == pytest.approx(0)


# ------------------------------------------------------------------------------------------------------ partial tables


def test_of_a_partial_table_whole_inputs_are_used_and_rare_options_left_out(cells):
    rows = np.tile(np.arange(1.0, 10.0), (len(cells), 1))
    rows[::4, OPTIONS.index("OPT")] = np.nan  # three of four are there
    rows[6:, OPTIONS.index("Bayes")] = np.nan  # six are there
    rows[1, OPTIONS.index("AHP")] = np.nan
    found = experiment(table_of(cells, rows))
    assert found.left_out == {"Bayes": 5}, "one of the six is no input of the suite"
    assert found.whole == len(cells)
    assert len(found.suite.inputs) == len(cells) - 1
    assert len(found.table.inputs) == len(cells) - len(cells[::4]) - 1
    assert np.isfinite(found.table.errors).all()
    text = pages.markdown(sections(found), command="made")
    assert f"The table is partial: {len(found.table.inputs)} of {len(cells)} inputs" in text
    assert "Left out, as too few inputs were measured: Bayes (5)." in text
    with pytest.raises(BadInput, match="too few to leave a data set out"):
        experiment(table_of(cells, rows), named=["Bayes"])


def test_a_table_without_the_suite_is_refused(cells):
    with pytest.raises(BadInput, match="AHP of the paper's suite is missing"):
        experiment(table_of(cells, np.ones((len(cells), 6)), OPTIONS[:6]))


# ------------------------------------------------------------------------------------------------------------ deployed


def test_deployed_pythia_errs_as_the_table_says(cells):
    """Where one option wins everywhere, Pythia is that option: its errors are the table's, but for chance."""
    small = [cell for cell in cells if cell.side == 32]
    rows = []
    for cell in small:
        error = simulate.errors("Laplace", cell.vector(), cell.workload(), 1.0, trials=400, seed=1).mean()
        rows.append([error, *(error * np.arange(2.0, 10.0))])
    found = experiment(table_of(small, rows))
    todo = deployed.works(found, OURS, inputs=8, trials=60)
    assert len({row for row, *_ in todo}) == 8
    assert todo[0][0] == deployed.works(found, OURS, inputs=8)[0][0], "the same seed draws the same inputs"
    for _, cell, selector, *_ in todo:
        assert cell.dataset not in selector.about.provenance["data"]
    one = deployed.Deployed(way=OURS, runs=list(deployed.runs(todo, workers=1)), trials=60)
    assert {choice for run in one.runs for choice in run.choices} == {"Laplace"}
    assert one.spent == 0
    assert one.ratios == pytest.approx(1, abs=0.25)
    assert one.ratios.mean() == pytest.approx(1, abs=0.06)
    regrets, projected = one.regrets(found, found.table.options)
    assert projected == pytest.approx(1)
    assert regrets == pytest.approx(one.ratios)


def test_deployed_pythia_pays_what_was_projected(found):
    way = AS_PUBLISHED.among("Laplace", "HB", "Uniform").but("paid", least=2.0)
    todo = deployed.works(found, way, inputs=6, trials=2)
    one = deployed.Deployed(way=way, runs=list(deployed.runs(todo, workers=1)), trials=2)
    assert 0 < one.spent <= 0.1 + 1e-12
    assert all(0 <= run.spent <= 0.1 + 1e-12 for run in one.runs)


@pytest.mark.parametrize("wrong", [{"inputs": 0}, {"trials": 1}])
def test_a_check_of_nothing_is_refused(found, wrong):
    with pytest.raises(BadInput, match="deployed"):
        deployed.works(found, OURS, **wrong)


# -------------------------------------------------------------------------------------------------------------- report


@pytest.fixture(scope="module")
def report(found):
    todo = deployed.works(found, OURS, inputs=3, trials=2)
    checked = [deployed.Deployed(way=OURS, runs=list(deployed.runs(todo, workers=1)), trials=2)]
    variants = [found.judge(OURS.but("depth 2", depth=2))]
    parts = sections(found, deployed=checked, variants=variants)
    return parts, checked, numbers.numbers(found, deployed=checked, variants=variants)


def test_every_section_has_rows_as_wide_as_its_headings_and_a_picture_that_is_drawn(found, report):
    parts, checked, _ = report
    drawn = pictures.pictures(found, checked)
    assert {part.figure for part in parts if part.figure} == set(drawn)
    assert {figure.layout.font.family for figure in drawn.values()} == {plots.FONT}, "one theme"
    for part in parts:
        assert all(len(row) == len(grid.headings) for grid in part.grids for row in grid.rows), part.title


def test_the_numbers_of_the_page_are_those_of_the_experiment(found, report):
    parts, _, numbers = report
    text = pages.markdown(parts, command="jostle bench pythia")
    means = found.ours.by("queries")
    line = next(line for line in text.splitlines() if line.startswith("| Pythia |"))
    assert [cell.split()[0] for cell in line.strip("| ").split(" | ")[1:3]] == [
        f"{means[q]:.3f}" for q in WORKLOADS["range-1d"]
    ]
    assert "| *the paper states for its Pythia* | 1.27–2.27 | 1.27 |" in text
    assert "Made by `jostle bench pythia`." in text
    assert "partial" not in text
    said = json.loads(json.dumps(numbers, allow_nan=False))
    assert said["compared"][0]["against_suite"]["prefix"] == pytest.approx(means["prefix"])
    assert said["inputs"] == said["grid"] == len(found.table.inputs)
    assert [one["rho"] for one in said["prices"]] == list(RHOS)


def test_the_page_with_pictures_is_whole(found, report):
    parts, checked, _ = report
    text = pages.page(parts, pictures.pictures(found, checked), command="made <here>")
    opened: list[str] = []

    class Balanced(HTMLParser):
        def handle_starttag(self, tag, attrs):
            opened.extend([tag] if tag != "meta" else [])

        def handle_endtag(self, tag):
            assert opened.pop() == tag

    Balanced().feed(text)
    assert opened == []
    assert "made &lt;here&gt;" in text
    assert text.count("Plotly.newPlot(") >= 8
    assert "cdn.plot.ly" not in text.split("<body>")[0]
