"""`check_bounds`: counts that are right but for the noise, noise of the right scale, charges, and refusals."""

from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle import Approximate, BadInput, Concentrated, Overdraft
from jostle.tables.check_bounds import check_bounds

LOTS = 10_000
"""So large an ε that counts are exact."""


@pytest.fixture
def visits(tmp_path):
    return partial(_visits, tmp_path)


def _visits(folder, unit="who:2", budget=10**6, **more):
    """1,000 persons: 400 with one row, 500 with three, 100 with forty; costs below 0, above 100, missing."""
    rows = np.repeat(np.arange(1000), np.repeat([1, 3, 40], [400, 500, 100]))
    frame = pd.DataFrame({"who": rows, "cost": np.resize([-5.0, 50.0, 100.0, 100.5, np.nan], rows.size)})
    frame["ward"] = np.resize(["A", "B", "C", None], rows.size)
    schema = {"cost": jostle.Real(0, 100, bins=4), "ward": jostle.Category(["A", "B"])}
    return jostle.open(
        frame, schema=schema, unit=unit, ledger=folder / f"{unit}{more}.db", budget=budget, name="visits", **more
    )


def test_counts_are_right_but_for_the_noise(visits):
    found = check_bounds(visits(), epsilon=LOTS)
    assert found.persons is not None
    assert found.persons.beyond == (600, 0)
    assert found.persons.persons.sum() == 1000
    assert [found.persons.enough_for(share) for share in (0.3, 0.9, 0.95)] == [1, 3, 50]
    assert found.persons.left_out == 500 * 1 + 100 * 29  # the 40 rows of the latter are known to be 31 at the least
    cost, ward = found.columns
    kept = 400 + 600 * 2
    assert cost.counts.sum() == ward.counts.sum() == kept
    in_rows = check_bounds(visits(unit=None), epsilon=LOTS)
    cost, ward = in_rows.columns
    n = 400 + 1500 + 4000
    by_place = dict(zip(cost.places, cost.counts, strict=True))
    assert (by_place["below 0"], by_place["above 100"], by_place["missing or not a number"]) == (n / 5, n / 5, n / 5)
    assert by_place["part 8 of 8 of 0 – 100"] == n / 5  # 100 itself is between the bounds
    assert dict(zip(ward.places, ward.counts, strict=True)) == {"listed": n / 2, "not listed": n / 4, "missing": n / 4}


def test_the_noise_has_the_scale_of_what_one_person_moves(visits):
    """Somebody moves one cell of the persons by 1, and with two rows each column's cells by 2; three parts share ε."""
    found = check_bounds(visits(), epsilon="0.3")
    assert found.persons is not None
    assert found.persons.scale == pytest.approx(1 / 0.1)
    assert [one.scale for one in found.columns] == [pytest.approx(2 / 0.1)] * 2
    replaced = check_bounds(visits(neighbours="replace"), epsilon="0.3")
    assert replaced.persons is not None
    assert replaced.persons.scale == pytest.approx(2 / 0.1)
    assert [one.scale for one in replaced.columns] == [pytest.approx(4 / 0.1)] * 2


def test_everything_is_charged_and_said(visits):
    table = visits(budget=1)
    found = check_bounds(table, epsilon="0.1", columns=["cost"])
    assert found.spent == Fraction(1, 10)
    assert table.remaining == Fraction(9, 10)
    assert sum(event.amount for event in found.charges) == Fraction(1, 10)
    assert "more than 2 rows" in found.explain()
    assert list(found.to_pandas()) == ["column", "values", "count", "low", "high"]
    assert "cost: " in str(found)
    assert found.plot().data
    with pytest.raises(Overdraft):
        check_bounds(table, epsilon=1)
    assert table.remaining == Fraction(9, 10)


def test_what_cannot_be_checked_is_refused_before_the_charge(visits):
    table = visits(budget=1)
    for changed in (table.where("ward = 'A'"), table.derive("half", "cost / 2", jostle.Real(0, 50, bins=2)), "visits"):
        with pytest.raises(BadInput, match="table: "):
            check_bounds(changed, epsilon=0.1)
    with pytest.raises(BadInput, match="columns: "):
        check_bounds(table, epsilon=0.1, columns=[])
    with pytest.raises(BadInput, match="not in the schema"):
        check_bounds(table, epsilon=0.1, columns=["who"])
    with pytest.raises(BadInput, match="epsilon"):
        check_bounds(table, epsilon=0)
    assert table.remaining == 1


def test_bounds_of_all_kinds_of_columns(tmp_path):
    frame = pd.DataFrame({"n": [-1, 0, 7, 8, 99], "d": ["2023-12-31", "2024-01-01", "2024-06-01", "x", "2025-01-01"]})
    frame.to_csv(tmp_path / "kinds.csv", index=False)
    schema = {"n": jostle.Integer(0, 7), "d": jostle.Date("2024-01-01", "2024-12-31")}
    found = check_bounds(
        jostle.open(tmp_path / "kinds.csv", schema=schema, ledger=tmp_path / "budget.db", budget=LOTS), epsilon=LOTS
    )
    assert found.columns[0].counts.tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0]
    assert found.columns[1].counts.tolist() == [2, 2, 1]


@pytest.mark.parametrize("first", ["check", "count"])
def test_a_check_and_a_question_read_a_column_each_in_its_own_cells(tmp_path, first):
    """Both ask for columns of the same names from one base, and what is kept of one reading must not serve the other.

    It did: after a check, one value beyond the bounds made a histogram fail, which its absence did not.
    """
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.9, 7.0], "g": ["a", "b", "zz", None]})
    schema = {"x": jostle.Real(0, 1, bins=2), "g": jostle.Category(["a", "b"], outside="drop")}
    table = jostle.open(frame, schema=schema, ledger=tmp_path / "b.db", budget=10**6, name="t")
    asked = {"check": lambda: check_bounds(table, epsilon=LOTS), "count": lambda: _counts(table)}
    order = [first, *asked.keys() - {first}]
    found = {name: asked[name]() for name in order}
    assert found["count"] == ([2, 2], [1, 1, 1])
    x, g = found["check"].columns
    assert (x.counts.sum(), x.counts[-2]) == (4, 1)
    assert g.counts.tolist() == [2, 1, 1]


def _counts(table):
    return tuple(table.histogram(name, epsilon=LOTS, algorithm="Laplace").answers.tolist() for name in ("x", "g"))


@pytest.mark.parametrize("cap", [Concentrated("1/2"), Approximate(1, 1e-6)])
def test_what_an_account_has_left_is_compared_in_its_own_measure(tmp_path, cap):
    """ε = 1 has ρ = 1/8 for each of both measurements here: an account of ρ = 1/2 has enough for it."""
    people = pd.DataFrame({"who": [1, 2, 3], "cost": [1.0, 2.0, 3.0]})
    private = jostle.open(
        people,
        schema={"cost": jostle.Real(0, 100, bins=10)},
        unit=jostle.Unit("who", max_rows=2),
        ledger=tmp_path / "budget.db",
        budget=cap,
        name="people",
    )
    found = jostle.check_bounds(private, epsilon=1)
    assert (found.spent, [charge.amount for charge in found.charges]) == (1, [Fraction(1, 2)] * 2)
    with pytest.raises(Overdraft):
        jostle.check_bounds(private, epsilon="3/2")
