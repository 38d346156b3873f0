"""Sums per cell: what a record moves, by brute force; the noise as an equality; and what columns hold a person to."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.totals import (
    STEPS,
    CellTotal,
    Contribution,
    Mixture,
    RecordCount,
    Sum,
    WeightedTotals,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, SimulatedRecords

POINTS = (0, 1, STEPS // 3, STEPS // 2, STEPS - 1, STEPS)


def columns(rows: list[tuple[int, int]], cells: int, points: int) -> ArrayColumns:
    """Records with a cell and a number; a number above the points is none."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 2)
    return ArrayColumns({"g": table[:, 0], "v": table[:, 1]}, {"g": cells, "v": points + 2})


def measured(total: CellTotal, rows: list[tuple[int, int]], cells: int) -> np.ndarray:
    points = next(iter(total.points.values()), 0)
    data = columns(rows, cells, max(points, STEPS))
    return total.values(data.cell_sums(["g"], total.points, squares=True, persons=False))


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize(
    "total",
    [
        RecordCount(),
        Sum("v", 0, 10),
        Sum("v", 3, 10),
        Sum("v", -100, 10),
        Sum("v", -5, -2),
        *(Mixture("v", degree, rest) for degree in (0, 1, 2) for rest in (False, True)),
    ],
    ids=str,
)
def test_no_record_moves_a_total_further_than_its_lemma_says(total, cells):
    """All neighbours of several data sets: a record of any cell and number, also none, comes, or takes another's place."""
    points = next(iter(total.points.values()), 0)
    numbers = sorted({point for point in POINTS if point <= points} | {points // 2, points}) if points else [0]
    every = list(product(range(cells), [*numbers, max(points, STEPS) + 1]))
    add, changed = total.sensitivities(cells)
    squared_add, squared_changed = total.squared_sensitivities(cells)
    seen = {"add": 0, "replace": 0}
    for others in ([], [(0, 1)], [(0, points // 2), (cells - 1, points)] * 2):
        nobody = measured(total, others, cells)
        with_one = {new: measured(total, [*others, new], cells) for new in every}
        for new, found in with_one.items():
            assert np.abs(found - nobody).sum() <= add
            assert ((found - nobody) ** 2).sum() <= squared_add
            seen["add"] = max(seen["add"], int(np.abs(found - nobody).sum()))
            for other in every:
                moved = found - with_one[other]
                assert np.abs(moved).sum() <= max(changed, add), (new, other)
                assert (moved**2).sum() <= max(squared_changed, squared_add)
                seen["replace"] = max(seen["replace"], int(np.abs(moved).sum()))
    rounding = 3 if total.squares else 0
    assert seen["add"] >= add - rounding  # attained
    if cells > 1 or isinstance(total, Sum) or getattr(total, "degree", 0):  # a count of one cell moves by less
        assert seen["replace"] >= changed - 2 * rounding


@pytest.mark.parametrize(
    ("relation", "sum_", "mixture"),
    [
        (Neighbours(), 100, STEPS),
        (Neighbours("replace"), 200, 2 * STEPS),
        (Neighbours(rows=3), 300, 3 * STEPS),
        (Neighbours("replace", rows=3), 600, 6 * STEPS),
        (Neighbours("replace").in_part(), 200, 2 * STEPS),
    ],
)
def test_the_noise_is_what_one_person_moves_over_the_share_of_epsilon(monkeypatch, relation, sum_, mixture):
    drawn = []

    def spy(self, values, scale):
        drawn.append(scale)
        return np.asarray(values)

    monkeypatch.setattr("jostle.kernel.noise.SimulatedNoise.discrete_laplace", spy)
    data = ArrayColumns(
        {"g": np.array([0, 1]), "a": np.array([0, 110]), "b": np.array([5, STEPS])}, {"g": 2, "a": 111, "b": 9}
    )
    records = SimulatedRecords(data, seed=0, neighbours=relation)
    asked = WeightedTotals([Sum("a", -100, 10), Mixture("b")], [1, 3])
    found = records.totals(["g"], asked, records.grant(Fraction(1, 2)))
    assert drawn == [8 * sum_, Fraction(8, 3) * mixture]
    assert [one.scale for one in found] == pytest.approx([8 * sum_, 8 / 3 * mixture / STEPS])
    assert records.unspent == 0
    assert found[0].values.tolist() == [[-100.0], [10.0]]


def test_what_columns_hold_a_person_to_makes_less_noise_but_not_in_a_part(monkeypatch):
    drawn = []

    def spy(self, values, scale):
        drawn.append(scale)
        return np.asarray(values)

    monkeypatch.setattr("jostle.kernel.noise.SimulatedNoise.discrete_laplace", spy)
    monkeypatch.setattr(ArrayColumns, "contribution", lambda self, by: Contribution(records=2, cells=1, persons=True))
    data = ArrayColumns({"g": np.array([0, 1])}, {"g": 2})
    asked = WeightedTotals([RecordCount(), RecordCount(of_persons=True)], [1, 1])
    for relation, rows, persons in ((Neighbours(rows=5), 2, 1), (Neighbours("replace", rows=5), 4, 2)):
        drawn.clear()
        records = SimulatedRecords(data, seed=0, neighbours=relation)
        records.totals(["g"], asked, records.grant(1))
        assert drawn == [2 * rows, 2 * persons]
        drawn.clear()
        for part, token in records.split("g", records.grant(1)):
            part.totals(["g"], asked, token)  # a person may have five records in all parts together
        assert drawn == [2 * relation.in_part().sensitivity(1, 2)] * 4


def test_a_bound_below_the_neighbours_lets_a_person_have_none():
    assert Neighbours("replace", rows=4).bounded(1).total_is_public is False
    assert Neighbours("replace", rows=4).bounded(1).sensitivity(1, 1) == 1
    assert Neighbours(rows=2).bounded(7) == Neighbours(rows=2).bounded(None) == Neighbours(rows=2)


def test_bad_totals_are_refused_before_any_charge():
    class Foreign(RecordCount.__base__):
        pass

    data = ArrayColumns({"g": np.array([0, 1])}, {"g": 2})
    records = SimulatedRecords(data, seed=0)
    token = records.grant(1)
    Foreign.__abstractmethods__ = frozenset()
    with pytest.raises(PlanError, match="lemma is not proven"):
        WeightedTotals([Foreign()], [1])
    for totals, shares in (
        ([], []),
        ([RecordCount()], []),
        ([Sum("v", 0, 1), Mixture("v")], [1, 1]),
        ([RecordCount()], [0]),
    ):
        with pytest.raises(BadInput):
            WeightedTotals(totals, shares)
    for asked, by in (
        ([RecordCount()], ["h"]),
        ([Sum("v", 0, 1)], ["g"]),
        ([RecordCount(of_persons=True)], ["g"]),
    ):
        with pytest.raises(BadInput):
            records.totals(by, WeightedTotals(asked, [1]), token)
    with pytest.raises(PlanError):
        records.totals(["g"], [RecordCount()], token)
    with pytest.raises(BadInput):
        Sum("v", 0, 2**40)
    with pytest.raises(BadInput):
        Mixture("v", 3)
    assert records.totals([], WeightedTotals([RecordCount()], [1]), token)[0].values.shape == (1, 1)


def test_moments_come_out_of_a_mixture():
    rng = np.random.default_rng(1)
    points = rng.integers(0, STEPS + 1, 500)
    data = columns([(0, int(point)) for point in points] + [(0, STEPS + 1)] * 7, 1, STEPS)
    total = Mixture("v", 2, rest=True)
    a, b, c, rest = total.values(data.cell_sums([], total.points, squares=True, persons=False))[0] / total.unit
    x = points / STEPS
    assert [a + b + c, rest] == pytest.approx([500, 7])
    assert (a + b / 2) / (a + b + c) == pytest.approx(x.mean())
    assert a / (a + b + c) - ((a + b / 2) / (a + b + c)) ** 2 == pytest.approx(x.var())


@pytest.mark.parametrize(
    "total", [RecordCount(), Sum("v", 0, 4), Sum("v", -4, 2), Mixture("v", 0), Mixture("v", 1)], ids=str
)
def test_no_person_moves_a_total_further_in_l2_than_the_lemma_says(total):
    """Persons with up to four records, at most two in one cell of three: each comes to nobody, or takes another's place."""
    points = next(iter(total.points.values()), 0)
    extremes = [0, points] if points else [0]
    one = list(product(range(3), extremes))
    people = [
        list(rows)
        for size in range(5)
        for rows in combinations_with_replacement(one, size)
        if max(Counter(cell for cell, _ in rows).values(), default=0) <= 2
    ]
    moved = [measured(total, rows, 3).astype(float).reshape(-1) for rows in people]
    added = max(float(found @ found) for found in moved)
    vectors = np.array(moved)
    norms = (vectors**2).sum(axis=1)
    replaced = float((norms[:, None] + norms[None, :] - 2 * vectors @ vectors.T).max())
    once = Neighbours(rows=4)
    assert added == total.squared_by_person(3, once, 2)  # attained: two cells with two records each
    assert replaced <= total.squared_by_person(3, Neighbours("replace", rows=4), 2) * (1 + 1e-12)
    assert total.squared_by_person(3, once, 4) == once.squared_sensitivity(*total.squared_sensitivities(3))
    assert total.squared_by_person(3, Neighbours(rows=3), 2) == 5 * total.squared_sensitivities(3)[0]


def test_gaussian_noise_is_what_one_person_moves_over_the_share_of_rho(monkeypatch):
    drawn = []

    def spy(self, values, square):
        drawn.append(square)
        return np.asarray(values)

    monkeypatch.setattr("jostle.kernel.noise.SimulatedNoise.discrete_gaussian", spy)
    data = ArrayColumns({"g": np.array([0, 1]), "a": np.array([0, 110])}, {"g": 2, "a": 111})
    asked = WeightedTotals([Sum("a", -100, 10), RecordCount()], [1, 3])
    for held, squared in (
        (Contribution(), 25),
        (Contribution(records=4, cells=2, per_cell=2), 8),
        (Contribution(4, 4, 1), 4),
    ):
        drawn.clear()
        monkeypatch.setattr(ArrayColumns, "contribution", lambda self, by, held=held: held)
        records = SimulatedRecords(data, seed=0, neighbours=Neighbours(rows=5))
        found = records.totals(["g"], asked, records.grant(rho=Fraction(1, 8)))
        assert drawn == [squared * 100**2 * 16, Fraction(16, 3) * squared]
        assert [one.gaussian for one in found] == [True, True]
        assert found[0].scale == pytest.approx(np.sqrt(squared) * 400)
