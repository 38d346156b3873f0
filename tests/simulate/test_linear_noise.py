"""Closed forms of errors that do not depend on the data, beside simulations."""

from fractions import Fraction

import numpy as np
import pytest

import jostle
from jostle import algorithms, workloads
from jostle.kernel.budget import Price
from jostle.kernel.neighbours import Neighbours
from jostle.simulate import estimates, linear_noise
from jostle.simulate.margins import exact_margins, within_95

ROWS = Neighbours("add_remove")
ON_A_LINE = [name for name in algorithms.names(task="range-1d") if not algorithms.get(name).data_dependent]
ON_A_GRID = [name for name in algorithms.names(task="range-2d") if not algorithms.get(name).data_dependent]


def exact(name: str, asked: workloads.Workload, epsilon: str = "0.3", neighbours: Neighbours = ROWS) -> np.ndarray | None:
    run = (algorithms.get(name), np.zeros(asked.domain), asked, Fraction(epsilon), neighbours, {})
    return exact_margins(asked, *run)


@pytest.mark.parametrize(
    ("name", "asked"),
    [(name, asked) for name in ON_A_LINE for asked in (workloads.identity(40), workloads.prefix(40))]
    + [(name, workloads.identity((6, 8))) for name in ON_A_GRID],
)
def test_exact_margins_cover_as_often_as_they_say(name: str, asked: workloads.Workload) -> None:
    """One answer of each of 4,000 runs, which are independent: off by 0.043 with a chance below 10⁻⁶ (Hoeffding)."""
    found = exact(name, asked)
    assert found is not None
    runs = np.concatenate(list(estimates(name, np.zeros(asked.domain, int), asked, 0.3, trials=4000, seed=1)))
    rng = np.random.default_rng(2)
    at = rng.integers(asked.shape[0], size=4000)
    off = np.abs(asked @ runs)[np.arange(4000), at]
    covered = (off <= found[at]).mean()
    # Sums of whole numbers may be covered somewhat more often than 95 %.
    assert 0.95 - 0.043 < covered < 0.95 + 0.043
    assert (np.abs(asked @ runs) <= found).mean() == pytest.approx(0.955, abs=0.012)


@pytest.mark.parametrize(("name", "rho"), [("Laplace", "1/50"), ("Laplace", "1"), ("HB", "1/200"), ("OPT", "1/50")])
def test_gaussian_noise_has_exact_margins_too(name: str, rho: str) -> None:
    """As above: off by 0.043 with a chance below 10⁻⁶."""
    asked, price = workloads.prefix(40), Price.of(None, rho)
    found = exact_margins(asked, algorithms.get(name), np.zeros(40), asked, price, ROWS, {})
    assert found is not None
    runs = asked @ np.concatenate(list(estimates(name, np.zeros(40, int), asked, price, trials=4000, seed=3)))
    at = np.random.default_rng(4).integers(40, size=4000)
    covered = (np.abs(runs)[np.arange(4000), at] <= found[at] + 1e-9).mean()
    assert 0.95 - 0.043 < covered < 0.98 + 0.043  # whole numbers of a small variance are covered more often


def test_equal_cells_get_equal_margins_whatever_was_released() -> None:
    for name, size in (("Laplace", 11), ("HB", 256), ("OPT", 30), ("Privelet", 64)):
        assert len(set(exact(name, workloads.identity(size)).tolist())) == 1
    run = (algorithms.get("HB"), workloads.prefix(20), Fraction(1, 2), ROWS, {})
    zeros, others = (within_95(run[0], estimate, *run[1:]) for estimate in (np.zeros(20), np.arange(20.0) ** 3))
    assert zeros.tolist() == others.tolist()


def test_millions_of_cells_take_no_time() -> None:
    assert set(exact("Laplace", workloads.identity(2**20), "0.1").tolist()) == {30.0}
    assert set(exact("Laplace", workloads.identity(2**20), "0.1", Neighbours("replace")).tolist()) == {60.0}


def test_weights_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = exact("H", workloads.prefix(37), "1")
    monkeypatch.setattr(linear_noise.LinearError, "_one_by_one", None)
    again = exact("H", workloads.prefix(37), "0.1")
    assert np.all(again > 9 * first)


def test_what_is_too_large_or_not_linear_or_mostly_nought_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert exact("H", workloads.prefix(30), "20") is None
    monkeypatch.setattr(linear_noise, "LARGEST", 10)
    assert exact("H", workloads.prefix(31)) is None
    found = within_95(algorithms.get("H"), np.zeros(31), workloads.prefix(31), Fraction(3, 10), ROWS, {})
    monkeypatch.undo()
    linear_noise.forget()
    assert found == pytest.approx(exact("H", workloads.prefix(31)), rel=0.25)
    clipped = jostle.algorithm(
        name="Clipped", tasks=("range-1d",), cite="dwork2006calibrating", data_dependent=False, batched=True
    )

    def plan(x, workload, budget):  # type: ignore[no-untyped-def]
        return np.maximum(x.measure(workload.queries, budget), 0)

    plan.__doc__ = "Noisy cells of at least 0.\n\nPrivacy: one Laplace measurement of the cells."
    try:
        assert exact_margins(w := workloads.identity(5), clipped(plan), np.zeros(5), w, Fraction(1, 9), ROWS, {}) is None
    finally:
        algorithms.registry._registry.pop("Clipped", None)
