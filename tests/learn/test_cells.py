"""What histograms of classes share: bins, leads, and posterior means."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from jostle import learn
from jostle.kernel import records as kernel_records
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.learn import cells, grids
from jostle.learn.cells import (
    FEW_CELLS,
    CellModel,
    NoisyClasses,
    class_strategy,
    coarse,
    known_total,
    measure,
)
from jostle.learn.smoothing import _one_sided, posterior_leads
from jostle.learn.task import SMALL, Task, once_per_task
from jostle.schema import Boolean, Category, Integer

TASK = Task(("age", "sex"), "sick", {"age": Integer(0, 99), "sex": Category(["F", "M"]), "sick": Boolean()})


@given(st.integers(1, 120))
def test_bins_are_intervals_and_what_is_not_foreseen_shares_one(bins: int) -> None:
    table = coarse(TASK, "age", bins)
    assert table.size == TASK.sizes["age"] == 101
    assert (np.diff(table) >= 0).all()
    assert (np.diff(table) <= 1).all()
    assert table[-1] == min(bins, 100) == table[-2] + 1
    assert coarse(TASK, "sex", bins).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_record_is_in_one_row_once(classes: int) -> None:
    strategy = class_strategy(4, classes)
    assert strategy.norm == 1
    assert strategy.diameter == 2
    assert np.abs(strategy.dense()).sum(axis=0).tolist() == [1.0] * (4 * classes)


@pytest.mark.parametrize("b", [1.0, 2.5])
@pytest.mark.parametrize("s", [0.4, 1.0, 7.0])
@pytest.mark.parametrize("u", [-4.0, 0.0, 0.7, 9.0])
def test_the_closed_forms_are_the_integrals(u: float, b: float, s: float) -> None:
    def weight(d: float) -> float:
        return float(np.exp(-d / s) / s * np.exp(-abs(u - d) / b) / (2 * b))

    pieces = [(0.0, max(u, 0.0)), (max(u, 0.0), np.inf)]
    expected = [sum(quad(lambda d, k=k: d**k * weight(d), *piece)[0] for piece in pieces) for k in (0, 1)]
    found = [part.item() for part in _one_sided(np.array([u]), b, [s])]
    assert found == pytest.approx(expected, rel=2e-2)  # where b = s, the code moves s by a thousandth


def test_posterior_means_are_nearer_to_the_truth_than_noisy_leads() -> None:
    draw = np.random.default_rng(0)
    truth = np.concatenate([np.zeros(300), draw.integers(-80, 20, size=60)]).astype(float)
    noisy = truth + draw.laplace(scale=10, size=truth.size)
    found = posterior_leads(noisy, 10.0)
    assert np.abs(found - truth).mean() < 0.5 * np.abs(noisy - truth).mean()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(0.1, 1e4))
def test_posterior_means_are_finite_and_do_not_overshoot(noisy: list[float], scale: float) -> None:
    found = posterior_leads(np.array(noisy), scale)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= np.abs(noisy).max() + 4 * scale).all()


@pytest.mark.parametrize("classes", [1, 2, 3, 5])
def test_shares_are_probabilities(classes: int) -> None:
    draw = np.random.default_rng(classes)
    noisy = draw.normal(size=50) if classes == 2 else draw.normal(size=(50, classes))
    shares = NoisyClasses(noisy * 30, 10.0).shares()
    assert shares.shape == (50, classes)
    assert (shares >= 0).all()
    assert shares.sum(axis=1) == pytest.approx(1)


def test_a_model_looks_its_cells_up() -> None:
    table = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7]])
    model = CellModel(("a", "b"), (np.array([0, 1, 1]), np.array([0, 1])), table, "")
    codes = {"a": np.array([0, 2, 1]), "b": np.array([1, 0, 1])}
    assert model.scores(codes).tolist() == table[[1, 2, 3]].tolist()


def records(neighbours: str = "add_remove", *, filtered: bool = True) -> SimulatedRecords:
    codes = {"age": np.arange(60) % 10, "sex": np.arange(60) % 2, "sick": np.repeat([0, 1], 30)}
    columns = ArrayColumns.having("sick", codes, TASK.sizes) if filtered else ArrayColumns(codes, TASK.sizes)
    return SimulatedRecords(columns, seed=0, neighbours=neighbours)


def test_measured_leads_are_those_of_the_cells_at_a_huge_epsilon() -> None:
    source = records()
    leaves = measure(source, ["sex"], "sick", source.grant(10**4))
    assert leaves.noisy.tolist() == [0, 0, 0, 0]
    assert leaves.scale == pytest.approx(1e-4)


def test_the_number_of_records_is_paid_for_unless_it_is_known() -> None:
    source = records()
    _, rest = known_total(source, source.grant(1))
    assert rest.epsilon == pytest.approx(0.97)
    public = records("replace", filtered=False)
    assert known_total(public, budget := public.grant(1)) == (60.0, budget)
    assert known_total(source, budget := source.grant(1), 50.0) == (50.0, budget)


@pytest.mark.parametrize(("name", "numbers"), [("Joint", 5), ("Single", 5), ("Sparse", 12), ("Grid", 1), ("Grid", 3)])
def test_many_classes_leave_fewer_cells(name: str, numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    classes, most = 30, 30 * (27 if name == "Grid" else 5)
    for module in (kernel_records, cells, grids):
        monkeypatch.setattr(module, "LARGEST_VECTOR", most)
    task = Task.over({f"a{i}": Integer(0, 99) for i in range(numbers)} | {"class": Category(list(range(classes)))}, "class")
    draw = np.random.default_rng(0)
    codes = {name: draw.integers(0, size, 1_000) for name, size in task.sizes.items()}
    source = SimulatedRecords(ArrayColumns.having("class", codes, task.sizes), seed=0, neighbours="replace")
    for column in task.attributes:  # a histogram of one attribute would be too large by itself
        assert task.sizes[column] * classes > most
    learn.get(name).run(source, task, source.grant(9))
    assert source.unspent == 0


def test_what_follows_from_a_small_task_is_computed_once_and_stays_in_its_process() -> None:
    asked = []

    @once_per_task
    def doubled(task: Task, times: int = 2) -> int:
        asked.append(times)
        return times * task.sizes["age"]

    small = Task(TASK.attributes, TASK.label, TASK.columns)
    assert [doubled(small), doubled(small), doubled(small, 3), doubled(small, times=3)] == [202, 202, 303, 303]
    assert len(asked) == 3  # one that is named is another question
    again = pickle.loads(pickle.dumps(small))  # noqa: S301 (our own bytes)
    assert again == small
    assert "memory" not in vars(again)
    large = Task(("age",), "sick", {"age": Category(list(range(SMALL))), "sick": Boolean()})
    assert doubled(large) == doubled(large)
    assert len(asked) == 5


def test_what_is_shared_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        coarse(TASK, "age", 4)[0] = 9
    assert class_strategy(3, 2) is class_strategy(3, 2)
    assert class_strategy(FEW_CELLS + 1, 2) is not class_strategy(FEW_CELLS + 1, 2)
