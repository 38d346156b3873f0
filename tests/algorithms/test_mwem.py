"""MWEM against a literal transcription of the paper, and what its fit and its choice of rounds promise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import algorithms, simulate, workloads
from jostle.algorithms.mwem import _first_of_two, fit_densities, rounds_for
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Partition
from jostle.kernel.source import SimulatedSource
from tests.algorithms.asking import asked_of

NOISELESS = 10**9  # of ε: noise and choices are exact then


def transcribed(x, rows, rounds, sweeps):
    """Figure 1 of the paper with exact choices and answers, its history replayed: plain and slow."""
    total = x.sum()
    estimate = np.full(x.size, total / x.size)
    history = []
    for _ in range(rounds):
        worst = int(np.argmax(np.abs(rows @ x - rows @ estimate)))
        history.append((rows[worst], rows[worst] @ x))
        for _ in range(sweeps):
            for query, answer in history:
                estimate = estimate * np.exp(query * (answer - query @ estimate) / (2 * total))
                estimate = estimate * (total / estimate.sum())
    return estimate


def run(name, x, workload, epsilon, seed=0, neighbours="add_remove", **tunables):
    source = SimulatedSource(x, seed=seed, neighbours=neighbours)
    return algorithms.get(name).run(source, workload, source.grant(epsilon), **tunables)


def small_cases():
    rng = np.random.default_rng(3)
    line, grid = rng.permutation(50)[:9], rng.permutation(50)[:12].reshape(3, 4)  # no two alike: no ties to break
    weighted = rng.choice([0.0, 0.25, 1.0], size=(7, 9))
    return [
        (line, workloads.identity(9)),
        (line, workloads.prefix(9)),
        (line, workloads.ranges(9, [0, 2, 5, 1], [3, 7, 9, 2])),
        (line, workloads.matrix(weighted)),
        (grid, workloads.identity((3, 4))),
        (grid, workloads.rectangles((3, 4), [[0, 0], [1, 1], [0, 2]], [[2, 2], [3, 4], [3, 3]])),
        (grid.reshape(2, 6), workloads.marginals((2, 6), (1,))),
    ]


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("x", "workload"), small_cases())
@pytest.mark.parametrize(("rounds", "sweeps"), [(1, 1), (4, 3), (3, 100)])
def test_replayed_it_is_the_paper_s(x, workload, rounds, sweeps, neighbours):
    expected = transcribed(x.reshape(-1), workload.queries.dense(), rounds, sweeps)
    found = run("MWEM", x, workload, NOISELESS, neighbours=neighbours, rounds=rounds, sweeps=sweeps)
    assert np.allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("x", "workload"), [case for case in small_cases() if case[1].kind not in ("matrix", "marginals")])
def test_the_fit_is_where_replaying_leads(x, workload, neighbours):
    rounds = min(4, workload.shape[0])
    found = run("MWEM", x, workload, NOISELESS, neighbours=neighbours, rounds=rounds)
    # The transcription converges slowly: it chooses like the fit once its earlier rounds have gone far enough.
    expected = transcribed(x.reshape(-1), workload.queries.dense(), rounds, 3_000)
    assert np.abs(found - expected).max() < 2e-3 * x.sum()


@pytest.mark.parametrize("seed", range(20))
def test_a_fit_meets_its_conditions(seed):
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 6)), int(rng.integers(2, 9)))
    number = int(rng.integers(1, 8))
    corners = [np.sort(rng.integers(0, n, size=(number, 2)), axis=1) for n in shape]
    lows = np.stack([c[:, 0] for c in corners], axis=1)
    highs = np.stack([c[:, 1] for c in corners], axis=1) + 1
    sizes = rng.integers(1, 9, size=shape).astype(float)
    total = float(10 ** rng.uniform(0, 6))
    answers = rng.uniform(-0.2, 1.2, size=number) * total
    doubts = 10 ** rng.uniform(-3, 0, size=number) * total / 10
    multipliers = np.zeros(number)
    density = fit_densities(sizes, lows, highs, answers, doubts, multipliers, total, 1e-9 * total)
    inside = np.array([[low[0] <= r < high[0] for r in range(shape[0])] for low, high in zip(lows, highs, strict=True)])
    across = np.array([[low[1] <= c < high[1] for c in range(shape[1])] for low, high in zip(lows, highs, strict=True)])
    boxes = inside[:, :, None] & across[:, None, :]
    logs = np.tensordot(multipliers, boxes.astype(float), axes=1)
    plain = np.exp(logs - logs.max())
    plain *= total / (plain * sizes).sum()
    assert np.allclose(density, plain, rtol=1e-6, atol=1e-9 * total)
    assert np.allclose((boxes * density * sizes).sum(axis=(1, 2)) + doubts * multipliers, answers, atol=1e-7 * total)


def test_on_large_sparse_data_the_fit_gets_further_than_replaying():
    x = (10**6 * np.random.default_rng(1).dirichlet(np.full(64, 0.1))).astype(int)
    fitted, replayed = (
        simulate.errors("MWEM", x, workloads.identity(64), 1, trials=5, seed=2, sweeps=s).mean() for s in (None, 100)
    )
    assert fitted < 0.85 * replayed


def test_on_small_data_the_fit_does_not_chase_noise():
    x = np.full(64, 10)
    fitted, replayed = (
        simulate.errors("MWEM", x, workloads.identity(64), 0.1, trials=40, seed=2, sweeps=s).mean() for s in (None, 100)
    )
    assert fitted < 0.9 * replayed


def test_the_total_is_paid_for_unless_it_is_public():
    x, workload = np.arange(16), workloads.identity(16)
    paid = asked_of("MWEM", x, workload, rounds=2)
    assert [what for what, *_ in paid] == ["Total", "choose", "Identity", "choose", "Identity"]
    assert {epsilon for *_, epsilon in paid} == {Fraction(1, 5)}
    public = asked_of("MWEM", x, workload, neighbours="replace", rounds=2)
    assert [what for what, *_ in public] == ["choose", "Matrix", "choose", "Matrix"]
    assert {epsilon for *_, epsilon in public} == {Fraction(1, 4)}


def test_a_replaced_record_moves_one_query_by_no_more_than_an_added_one():
    x = np.arange(16)
    variances = []
    for neighbours in ("add_remove", "replace"):
        source = SimulatedSource(x, seed=0, neighbours=neighbours)
        variances.append(source.reduce(Partition.of(x == 0)).noise_variance(_first_of_two(), source.grant(1)))
    assert variances[0] == variances[1]


def test_a_public_total_is_kept_exactly():
    x = np.random.default_rng(0).integers(0, 9, size=20)
    for name in ("MWEM", "MWEM-adaptive"):
        estimate = run(name, x, workloads.prefix(20), 0.5, neighbours="replace")
        assert np.isclose(estimate.sum(), x.sum(), rtol=1e-9)
        assert (estimate >= 0).all()


def test_rounds_follow_the_table():
    assert [rounds_for(10.0**k, 1) for k in (-3, 2, 3, 4, 5, 6, 7, 9)] == [4, 4, 8, 12, 60, 80, 140, 140]
    assert [rounds_for(10.0**k, 2) for k in (2, 3, 4, 5, 6, 7)] == [12, 12, 32, 60, 140, 140]


@pytest.mark.parametrize(("neighbours", "first"), [("add_remove", ["Total", "Total"]), ("replace", ["choose"])])
def test_the_adaptive_rounds_come_from_a_total_that_was_paid_for(neighbours, first):
    x = np.full(16, 1000)  # 16,000 records: about 22 rounds at ε = 1, between the table's 12 and 60
    asked = [what for what, *_ in asked_of("MWEM-adaptive", x, workloads.identity(16), neighbours=neighbours)]
    assert asked[: len(first)] == first
    assert abs(asked.count("choose") - 22) <= 1


def test_a_workload_of_the_total_alone_is_answered():
    x = np.arange(12)
    estimate = run("MWEM", x, workloads.total(12), NOISELESS, rounds=2)
    assert np.allclose(estimate, x.sum() / 12)


@pytest.mark.parametrize("tunables", [{"rounds": 0}, {"sweeps": 0}])
def test_no_rounds_are_refused(tunables):
    with pytest.raises(BadInput, match=f"^{next(iter(tunables))}: "):
        run("MWEM", np.arange(4), workloads.identity(4), 1, **tunables)
