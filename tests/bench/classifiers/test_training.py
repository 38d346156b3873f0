"""The chooser of classifiers can be grown, and the choice points of trees taught."""

from __future__ import annotations

from pathlib import Path

import pytest

from jostle.datasets.artificial import SIGNALS
from jostle.kernel.errors import BadInput
from jostle.learn.chooser import KINDS
from jostle.learn.trees.learned import FACTS
from jostle.simulate.results import MeasuredError, Results
from jostle_bench.classifiers.experiments import run
from jostle_bench.classifiers.training import tables, teach_trees, train, trials


def test_a_chooser_can_be_grown_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    number, options = SIGNALS.index("a place") + 1, ("Majority", "Single")
    made_up = tables(number, others=False)
    todo = trials(made_up, options=options)
    with Results(tmp_path / "results") as results:
        for outcome, _ in zip(run(todo, results, workers=1), range(3), strict=False):
            assert isinstance(outcome, MeasuredError)
        done = len(results)
        assert sum(1 for _ in run(todo, results, workers=1)) == len(todo) - done
        grown = train(results, made_up, options=options)
    assert grown.options == options
    assert set(grown.trees) == set(KINDS)
    with pytest.raises(BadInput, match="results: lack some on table artificial-0"):
        train(Results(), tables(1, others=False), options=options)


def test_the_points_can_be_taught_anew() -> None:
    made = teach_trees(1, runs=1, rounds=1)
    for point in made.every():
        assert set(point.rule.needs) <= set(FACTS)
        assert point.rule.options == point.branches
