"""Private cuts: what they cost, where they fall, and when they are made at all."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import learn
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.kernel.strategies import identity
from jostle.learn.cuts import CELLS, DEAREST, Recut, _spread, measured_numbers, price, recut
from jostle.learn.registry import IntArray
from jostle.learn.task import Task
from jostle.schema import Boolean, Category, Real

COLUMNS = {"pay": Real(0, 1_000_000, bins=1_000, null="own"), "few": Category(list(range(10))), "sick": Boolean()}
TASK = Task(("pay", "few"), "sick", COLUMNS)


def skewed(rows: int) -> dict[str, IntArray]:
    """Nearly all are in the first hundredth."""
    draw = np.random.default_rng(0)
    pay = TASK.encode("pay", np.minimum(draw.exponential(5_000, size=rows), 1e6))
    return {"pay": pay, "few": draw.integers(0, 10, rows), "sick": (pay > 3).astype(np.int64)}


def source(codes: dict[str, IntArray], neighbours: str = "add_remove") -> SimulatedRecords:
    return SimulatedRecords(ArrayColumns(codes, TASK.sizes), seed=0, neighbours=neighbours)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_cuts_spend_their_budget_whole_in_two_counts_of_each_number(neighbours: str) -> None:
    records = source(skewed(50), neighbours)
    token = records.grant(1)
    found = recut(records, TASK, token)
    assert records.unspent == 0
    assert list(found.tables) == list(measured_numbers(TASK)) == ["pay"]


def test_the_noise_of_each_count_follows_its_share() -> None:
    """Two fifths and three fifths of ε: Laplace noise of scale 1 over that."""
    records = source(skewed(50))
    first, second = records.grant(1).split(2, 3)
    cells = records.vector("pay")
    assert cells.noise_scale(identity(cells.shape), first) == pytest.approx(2.5)
    assert cells.noise_scale(identity(cells.shape), second) == pytest.approx(5 / 3)


def test_new_cells_are_where_the_records_are() -> None:
    codes = skewed(20_000)
    found = _recut(codes)
    counts = np.bincount(found.tables["pay"][codes["pay"]])
    assert (counts > 200).sum() > 8  # evenly wide cells would hold nearly all in one
    edges = found.task.columns["pay"].edges  # type: ignore[attr-defined]
    assert edges[0] == 0
    assert edges[-1] == 1_000_000
    assert (np.diff(edges) > 0).all()
    assert found.task.sizes["pay"] == found.tables["pay"].max() + 1 <= CELLS + 2


def _recut(codes: dict[str, IntArray], epsilon: float = 1) -> Recut:
    records = source(codes)
    return recut(records, TASK, records.grant(epsilon))


def test_new_columns_sort_values_as_the_tables_do() -> None:
    """A value's new cell is the same whether it is read by the new column, or by the old one and the table."""
    found = _recut(skewed(5_000))
    values = np.array([0.0, 999.9, 12_345.6, 1e6, 2e6, -1, np.nan])
    assert found.tables["pay"][TASK.encode("pay", values)].tolist() == found.task.encode("pay", values).tolist()


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_next_to_no_records_do_no_harm(rows: int) -> None:
    found = _recut({name: codes[:rows] for name, codes in skewed(10).items()}, 0.01)
    assert found.task.sizes["pay"] == found.tables["pay"].max() + 1


@pytest.mark.parametrize("known", [17, 18, 31, 64, 1_000])
def test_the_first_cells_lie_within_the_schemas(known: int) -> None:
    starts = _spread(known)
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()
    assert starts[-1] < known


def test_cuts_cost_nothing_where_they_are_not_worth_it() -> None:
    assert price(TASK, 50.0, 1.0) == 0
    assert price(TASK, 100.0, 1.0) == DEAREST
    grid = Task(("pay",), "sick", {name: COLUMNS[name] for name in ("pay", "sick")})
    assert price(grid, 2_900.0, 1.0) == 0 < price(grid, 3_100.0, 1.0)
    words = Task(("word",), "sick", {"word": Category([*"abc"]), "sick": Boolean()})
    assert price(words, 1e6, 1.0) == 0


def test_a_chosen_model_of_skewed_numbers_is_right() -> None:
    codes = skewed(4_000)
    records = source(codes)
    model = learn.get("Chosen").run(records, TASK, records.grant(2))
    assert records.unspent == 0
    assert "Cut where the records are, by noisy counts: pay." in model.describe()
    wrong = model.scores(codes).argmax(axis=1) != codes["sick"]
    assert wrong.mean() < 0.1  # with evenly wide cells it is the smaller class' share, a half
