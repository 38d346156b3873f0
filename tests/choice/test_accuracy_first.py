"""Accuracy first: what it pays for, how it compares, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle import workloads
from jostle.choice import accuracy_first as module
from jostle.choice.accuracy_first import accuracy_first, accurate_enough
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import simulation
from jostle.mechanisms.threshold import AboveThreshold
from tests.mechanisms.helpers import recorded


def test_accuracy_first_pays_for_the_last_step_and_the_tests_alone(tmp_path: Path) -> None:
    account = Ledger(tmp_path / "budget.db").account("people", cap=10)
    x = np.arange(40) * 7
    found = accuracy_first(x, workloads.identity(40), within=60, budget=account.purse().grant(8))
    assert found.enough
    assert found.spent < 8
    assert account.remaining == 10 - found.spent  # what was not reached is not charged
    # Both noises of a test, of scales 1.62 and 2.04, add up to 40 with probability 4e-9, and there are eight tests at most.
    assert np.abs(found.answers - x).max() < 60 + 40
    assert found.spent == Fraction(8) * 4 / 5 / 2 ** (8 - found.steps) + Fraction(8, 5)


@pytest.mark.parametrize(("neighbours", "moved"), [("add_remove", 1), ("replace", 2), (Neighbours("replace", 3), 6)])
def test_the_noise_of_every_step_follows_the_neighbours(neighbours: Any, moved: int) -> None:
    """A replaced record leaves one cell for another, so it moves two of the counts."""
    budget, recorder = recorded(4, neighbours)
    accuracy_first([50, 20, 90], workloads.identity(3), within=1, budget=budget, steps=3, test="1/2")
    counts = [scale for _, scale, values in recorder.asked if np.size(values) == 3]
    assert counts[:3] == [Fraction(moved, 2) * 2**step for step in range(3)]


def test_accuracy_first_compares_in_whole_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """With real weights, answers of many records lie beyond what a float tells apart; a record still moves one entry."""
    heard: list[tuple[float, Fraction, float]] = []
    estimate = np.array([2**39, 5])

    class Heard(AboveThreshold):
        def __init__(self, threshold: float, *, sensitivity: Any, budget: Budget, note: str) -> None:
            super().__init__(threshold, sensitivity=sensitivity, budget=budget, note=note)
            self.bounds = (threshold, sensitivity[0])

        def above(self, value: float) -> bool:
            heard.append((*self.bounds, value))
            return True

    monkeypatch.setattr(module, "AboveThreshold", Heard)
    monkeypatch.setattr(module.GradualRelease, "next", lambda release: setattr(release, "_steps", 1) or estimate)
    workload, within = workloads.matrix([[0.7000001, 0.1], [0.3, 1.0]]), 1.3
    for x in ([2**39 - 10**6, 0], [2**39 - 10**6 + 1, 0], [2**39 - 10**6, 1]):
        accuracy_first(x, workload, within=within, budget=simulation(seed=0).grant(1))
        threshold, sensitivity, value = heard[-1]
        rows, unit = np.round(workload.queries.dense() * workload.queries.unit).astype(int).tolist(), workload.queries.unit
        error = max(abs(sum(w * (int(a) - b) for w, a, b in zip(row, estimate, x, strict=True))) for row in rows)
        assert Fraction(value) - Fraction(threshold) == Fraction(within) * unit - error
        assert sensitivity == max(map(max, rows))
    assert max(abs(heard[0][2] - other[2]) for other in heard[1:]) <= heard[0][1]


def test_accuracy_first_answers_where_noise_is_larger_than_any_data() -> None:
    budget = simulation(seed=0).grant(Fraction(1, 2**32))
    found = accuracy_first([1, 2], workloads.matrix([[0.5, 1]]), within=2**38, budget=budget, test=0.9)
    assert np.isfinite(found.answers).all()
    assert np.abs(found.estimate).max() <= 2**39


def test_accuracy_first_stops_at_the_budget_and_says_so() -> None:
    budget = simulation(seed=0).grant(Fraction(1, 100))
    found = accuracy_first(np.zeros(64, dtype=int), workloads.prefix(64), within=1, budget=budget, steps=3, test=0.9)
    assert (found.enough, found.steps, found.spent) == (False, 3, Fraction(1, 100))
    for changed in ({"within": 0}, {"steps": 0}, {"test": 1}, {"workload": "cells"}, {"budget": 1.0}):
        usual = {"workload": workloads.identity(2), "within": 1, "budget": simulation(seed=0).grant(1)}
        with pytest.raises(BadInput):
            accuracy_first([1, 2], **(usual | changed))


@pytest.mark.parametrize("within", [np.float32(40), np.int64(40), Fraction(40), "40"])
def test_accuracy_first_takes_any_kind_of_number(within: Any) -> None:
    found = [
        accuracy_first([9, 2], workloads.identity(2), within=w, budget=simulation(seed=0).grant(1)) for w in (within, 40)
    ]
    assert found[0].spent == found[1].spent
    assert found[0].answers.tolist() == found[1].answers.tolist()


@pytest.mark.parametrize("within", [10**400, True, "far", None, np.nan, -1], ids=range(6))
def test_accuracy_first_refuses_other_wishes_before_the_budget_is_used(within: Any) -> None:
    budget = simulation(seed=0).grant(1)
    with pytest.raises(BadInput, match="^within: "):
        accuracy_first([9, 2], workloads.identity(2), within=within, budget=budget)
    budget.split(1, 1)


def wrong_records(estimate: Any, x: Any) -> float:
    """Records that a model gets wrong which predicts, for each row of a table, the class that seems larger."""
    return float(x.sum() - x[np.arange(len(x)), estimate.argmax(axis=1)].sum())


def test_a_model_is_released_as_soon_as_it_is_good_enough() -> None:
    table = np.array([[400, 30], [50, 600], [20, 3]])
    spent = []
    for within in (400, 120):
        purse = simulation(seed=3)
        found = accurate_enough(table, wrong_records, sensitivity=1, within=within, budget=purse.grant(4))
        assert found.enough
        assert wrong_records(found.estimate, table) < within + 100
        spent.append(found.spent)
    assert spent[0] <= spent[1] <= 4
    never = accurate_enough(table, wrong_records, sensitivity=1, within=1, budget=simulation(seed=3).grant(4))
    assert not never.enough  # no model gets fewer than 83 records wrong
    assert never.spent == 4


@pytest.mark.parametrize(
    ("error", "sensitivity", "message"),
    [
        (wrong_records, "1/2", "sensitivity: is not 0.5: one record moves the error by 1"),
        (lambda estimate, x: float((x**2).sum()), 1, "sensitivity: is not 1"),
        (lambda estimate, x: 1 / 0, 1, "error: raised ZeroDivisionError on public counts"),
    ],
)
def test_a_wrong_sensitivity_is_refused_before_anything_is_charged(error: Any, sensitivity: Any, message: str) -> None:
    purse = simulation(seed=0)
    token = purse.grant(1)
    with pytest.raises(BadInput, match=message):
        accurate_enough([[4, 3], [5, 6]], error, sensitivity=sensitivity, within=5, budget=token)
    assert token.split(1, 1)  # still whole


def test_a_failing_error_says_nothing_but_not_yet() -> None:
    def fails_on_these(estimate: Any, x: Any) -> float:
        if x.sum() == 181_818:
            raise KeyError("private")
        return 0.0

    token = simulation(seed=0).grant(1)
    found = accurate_enough([[181_800, 3], [9, 6]], fails_on_these, sensitivity=0.001, within=5, budget=token)
    assert not found.enough
