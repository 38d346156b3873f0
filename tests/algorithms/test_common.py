"""What every registered algorithm must do; a new file is tested without touching these tests."""

from __future__ import annotations

import inspect
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import jostle
from jostle import algorithms, simulate, workloads
from jostle.algorithms.registry import TASKS
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import hierarchy, identity, wavelet

NAMES = algorithms.names()
SHAPES = {1: [(1,), (2,), (3,), (7,), (64,), (100,)], 2: [(1, 1), (1, 5), (2, 2), (3, 7), (8, 8), (16, 5)]}
CASES = [(name, shape) for name in NAMES for task in algorithms.get(name).tasks for shape in SHAPES[TASKS[task]]]


def asked(shape: tuple[int, ...]) -> list[workloads.Workload]:
    boxes = workloads.rectangles(shape, np.zeros((1, len(shape)), dtype=int), np.array([shape]))
    return [workloads.identity(shape), boxes] + ([workloads.prefix(*shape)] if len(shape) == 1 else [])


def data(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(5).poisson(3.0, size=shape)


@pytest.mark.parametrize(("name", "shape"), CASES)
@pytest.mark.parametrize("neighbours", [Neighbours("add_remove"), Neighbours("replace"), Neighbours("add_remove", rows=3)])
def test_budget_is_spent_whole_and_once_on_every_domain(name, shape, neighbours):
    for workload in asked(shape):
        source = SimulatedSource(data(shape), seed=1, neighbours=neighbours)
        estimate = algorithms.get(name).run(source, workload, source.grant(Fraction(1, 2)))
        assert source.unspent == 0
        assert estimate.shape == (source.size,)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_an_empty_table_is_as_good_as_any(name, shape):
    errors = simulate.errors(name, np.zeros(shape, dtype=int), workloads.identity(shape), 0.1, trials=2, seed=0)
    assert np.isfinite(errors).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 10, 10**6])
def test_extreme_budgets_still_give_finite_answers(name, epsilon):
    shape = SHAPES[TASKS[algorithms.get(name).tasks[0]]][3]
    assert np.isfinite(simulate.errors(name, data(shape), workloads.identity(shape), epsilon, trials=2, seed=0)).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_determines_a_simulation_and_another_seed_changes_it(name):
    shape = SHAPES[TASKS[algorithms.get(name).tasks[0]]][4]
    runs = [simulate.errors(name, data(shape), workloads.identity(shape), 0.5, trials=5, seed=s) for s in (3, 3, 4)]
    assert (runs[0] == runs[1]).all()
    assert (runs[0] != runs[2]).any()
    assert np.unique(runs[0]).size > 1


@pytest.mark.parametrize("name", [name for name in NAMES if algorithms.get(name).batched])
def test_batches_and_single_runs_agree_in_distribution(name):
    found = algorithms.get(name)
    shape = SHAPES[TASKS[found.tasks[0]]][4]
    workload = workloads.identity(shape)
    together = simulate.errors(name, data(shape), workload, 0.5, trials=400, seed=1)
    alone = []
    for seed in range(400):
        source = SimulatedSource(data(shape), seed=seed)
        estimate = found.run(source, workload, source.grant(0.5))
        alone.append(np.linalg.norm(estimate - data(shape).reshape(-1)))
    gap = abs(together.mean() - np.mean(alone))
    # The means of 400 runs each; six standard errors are passed by chance once in 10^8.
    assert gap <= 6 * np.hypot(together.std(), np.std(alone)) / 20 + 1e-9


@pytest.mark.parametrize("name", [name for name in NAMES if not algorithms.get(name).data_dependent])
def test_an_error_that_does_not_depend_on_data_is_the_same_on_other_data(name):
    """Under the same noise: each estimate is off by the same amounts on both, but for rounding."""
    found = algorithms.get(name)
    for task in found.tasks:
        shape = SHAPES[TASKS[task]][4]
        empty, peak = np.zeros(shape, dtype=int), data(shape) * 1000
        off = []
        for x in (empty, peak):
            source = SimulatedSource(x, seed=2)
            off.append(found.run(source, workloads.identity(shape), source.grant(Fraction(1, 2))) - x.reshape(-1))
        assert off[0] == pytest.approx(off[1], rel=1e-6, abs=1e-6), "say data_dependent=True"


@pytest.mark.parametrize("name", NAMES)
def test_a_release_takes_no_seed_and_is_charged_exactly(name, tmp_path):
    shape = SHAPES[TASKS[algorithms.get(name).tasks[0]]][3]
    with jostle.Ledger(tmp_path / "ledger.db") as ledger:
        account = ledger.account("d", cap=1)
        with pytest.raises(BadInput, match="seed"):
            jostle.release(data(shape), epsilon=0.3, account=account, algorithm=name, seed=1)
        assert account.spent == 0
        released = jostle.release(data(shape), epsilon=0.3, account=account, algorithm=name)
        assert account.spent == released.spent == Fraction(3, 10)
        assert released.answers.shape == released.margins.shape == (int(np.prod(shape)),)
        assert sum(event.amount for event in ledger.events() if event.kind == "charge") == Fraction(3, 10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("neighbours", [Neighbours("add_remove"), Neighbours("replace"), Neighbours("replace", rows=3)])
def test_every_plan_runs_under_rho(name, neighbours):
    for task in algorithms.get(name).tasks:
        for shape in SHAPES[TASKS[task]][1:5:2]:
            source = SimulatedSource(data(shape), seed=1, neighbours=neighbours)
            estimate = algorithms.get(name).run(source, asked(shape)[-1], source.grant(rho=Fraction(1, 50)))
            assert source.unspent == 0
            assert estimate.shape == (source.size,)


@pytest.mark.parametrize("name", ["Laplace", "H", "Privelet"])
def test_under_rho_errors_are_those_of_the_gaussian_noise(name):
    """A measurement and least squares: the mean squared error of each cell, over 4,000 runs, within 6 standard errors."""
    shape, trials = (16,), 4_000
    source = SimulatedSource(data(shape), seed=1)
    strategy = {"Laplace": identity(shape), "H": hierarchy(16, 2, root=False), "Privelet": wavelet(16)}[name]
    matrix = strategy.dense()
    noise = source.noise_variance(strategy, source.grant(rho=Fraction(1, 50)))
    expected = noise * np.trace(np.linalg.inv(matrix.T @ matrix))
    found = simulate.errors(name, data(shape), workloads.identity(shape), rho="1/50", trials=trials, seed=2) ** 2
    assert abs(found.mean() - expected) < 6 * found.std() / np.sqrt(trials)


def test_rho_beside_epsilon_is_the_share_that_pythia_takes():
    for rho in (0.1, 0.4):
        found = simulate.errors("Pythia", data((64,)), workloads.identity((64,)), 0.5, trials=2, seed=0, rho=rho)
        assert np.isfinite(found).all()
    with pytest.raises(BadInput, match=r"^rho: is no tunable of HB"):
        simulate.errors("HB", data((64,)), workloads.identity((64,)), 0.5, trials=2, seed=0, rho=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_no_plan_takes_a_seed_or_an_epsilon(name):
    parameters = set(inspect.signature(algorithms.get(name).plan).parameters)
    assert not parameters & {"seed", "rng", "epsilon", "eps", "sensitivity", "scale"}


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_tunable_is_refused_with_the_known_ones(name):
    shape = SHAPES[TASKS[algorithms.get(name).tasks[0]]][3]
    with pytest.raises(BadInput, match=f"no_such_thing: is no tunable of {name}"):
        simulate.errors(name, data(shape), workloads.identity(shape), 1, trials=1, seed=0, no_such_thing=1)


def test_registration_refuses_what_is_not_said():
    def plan(x, workload, budget):
        """Privacy: nothing is asked."""

    def tell(**changes):
        said = {"name": "Test", "tasks": ("range-1d",), "cite": "dwork2006calibrating", "data_dependent": False} | changes
        return algorithms.algorithm(**said)

    with pytest.raises(PlanError, match="references"):
        tell(cite="nobody1900")(plan)
    with pytest.raises(PlanError, match="tasks"):
        tell(tasks=())(plan)
    with pytest.raises(PlanError, match="tasks"):
        tell(tasks=("range-9d",))(plan)
    with pytest.raises(PlanError, match="taken"):
        tell(name="HB")(plan)
    with pytest.raises(PlanError, match="Privacy"):
        tell()(lambda x, workload, budget: None)
    with pytest.raises(PlanError, match="by keyword"):
        tell()(lambda x, workload, budget, free: None)
    assert "Test" not in algorithms.names()


def test_a_plan_that_wastes_or_returns_nonsense_is_caught():
    def wasteful(x, workload, budget):
        """Privacy: spends half."""
        half, _ = budget.split(1, 1)
        return x.measure(workload.queries, half)

    def nonsense(x, workload, budget):
        """Privacy: one measurement."""
        x.measure(workload.queries, budget)
        return np.full(x.size, np.nan)

    for plan, complaint in ((wasteful, "unspent"), (nonsense, "finite")):
        registered = algorithms.Algorithm(
            name="Test",
            tasks=("range-1d",),
            cite="dwork2006calibrating",
            data_dependent=False,
            plan=plan,
        )
        with pytest.raises(PlanError, match=complaint):
            simulate.errors(registered, [1, 2, 3], workloads.identity(3), 1, trials=1, seed=0)


def test_a_batched_plan_that_loses_the_axis_of_trials_is_named():
    def flat(x, workload, budget):
        """Privacy: one measurement."""
        return x.measure(identity(x.shape), budget).reshape(-1)[: x.size]

    registered = algorithms.Algorithm(
        name="Flat", tasks=("range-1d",), cite="dwork2006calibrating", data_dependent=False, batched=True, plan=flat
    )
    with pytest.raises(PlanError, match=r"^Flat promises batched=True but lost the axis of trials: of 5 trials over 3"):
        simulate.errors(registered, [1, 2, 3], workloads.identity(3), 1, trials=5, seed=0)


def test_names_and_get():
    assert set(algorithms.names("range-1d")) | set(algorithms.names("range-2d")) == set(NAMES)
    with pytest.raises(BadInput, match="Use one of"):
        algorithms.get("NoSuch")
    with pytest.raises(BadInput, match="did you mean Laplace"):
        algorithms.get("lapalce")
    with pytest.raises(BadInput, match="range-1d"):
        algorithms.names("range-7d")
    with pytest.raises(BadInput, match="3 dimensions"):
        simulate.errors("HB", np.ones((2, 2, 2), dtype=int), workloads.identity((2, 2, 2)), 1, trials=1, seed=0)


def test_an_own_algorithm_may_cite_its_own_paper():
    paper = "A. Author, B. Author: Even blocks. Journal of examples, 2026."
    claimed = replace(algorithms.get("Laplace"), name="EvenBlocks", cite=paper)
    claimed.check_claims(None)
    assert str(claimed.reference) == paper
    assert claimed.reference.year == 2026
