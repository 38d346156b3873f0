"""PHP: the lemma of its score on all small data, and what its cuts find."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from jostle import algorithms, simulate, workloads
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.scores import SplitScore
from jostle.kernel.noise import variance
from jostle.kernel.source import SimulatedSource
from tests.algorithms.asking import asked_of


def added(x):
    return [x + np.eye(x.size, dtype=np.int64)[i] for i in range(x.size)]


def replaced(x):
    unit = np.eye(x.size, dtype=np.int64)
    return [x - unit[i] + unit[j] for i in range(x.size) for j in range(x.size) if i != j and x[i] > 0]


def apart(here, there):
    return int(np.ptp(there - here))


def furthest(cells, largest):
    score = SplitScore(cells, 0.7)
    vectors = [np.array(x, dtype=np.int64) for x in product(range(largest + 1), repeat=cells)]
    once = max(apart(score.values(x), score.values(y)) for x in vectors for y in added(x))
    changed = max([apart(score.values(x), score.values(y)) for x in vectors for y in replaced(x)], default=0)
    return once, changed


SEARCHED = [(1, 6), (2, 6), (3, 5), (4, 3), (5, 2), (6, 2)]


@pytest.mark.parametrize(("cells", "largest"), SEARCHED)
def test_no_neighbour_moves_two_cuts_further_apart(cells, largest):
    once, changed = furthest(cells, largest)
    assert once <= SplitScore(cells, 0.7).sensitivities()[0]
    assert changed <= SplitScore(cells, 0.7).sensitivities()[1]


@pytest.mark.parametrize(("cells", "largest"), SEARCHED)
def test_the_ranges_of_cuts_are_attained(cells, largest):
    assert furthest(cells, largest) == SplitScore(cells, 0.7).sensitivities()


@pytest.mark.parametrize("seed", range(20))
def test_random_neighbours_stay_within_the_ranges(seed):
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 200))
    x = rng.integers(0, 10 ** int(rng.integers(1, 6)), size=cells)
    score = SplitScore(cells, float(rng.uniform(0, 100)))
    for y in added(x)[:: max(1, cells // 10)]:
        assert apart(score.values(x), score.values(y)) <= score.sensitivities()[0]
    for y in replaced(x)[:: max(1, cells**2 // 20)]:
        assert apart(score.values(x), score.values(y)) <= score.sensitivities()[1]


def test_scores_are_those_of_a_plain_computation():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 1000, size=17)
    plain = [abs(x[:c].sum() - x.sum() * c / 17) for c in range(1, 17)]
    found = SplitScore(17, 3.0).values(x)
    assert found.dtype == np.int64
    assert np.allclose(found / 17, [3.0, *plain])


def test_the_largest_counts_are_exact():
    k = 2**22 // 2
    x = np.zeros(k, dtype=np.int64)
    x[0] = 2**40
    SplitScore(k, 0.0).check(k, k)
    assert int(SplitScore(k, 0.0).values(x)[1]) == (k - 1) * 2**40


@pytest.mark.parametrize(
    ("score", "size"), [(SplitScore(4, 1.0), 5), (SplitScore(4.0, 1.0), 4), (SplitScore(2**23, 1.0), 2**23)]
)
def test_scores_that_do_not_fit_are_refused(score, size):
    with pytest.raises(BadInput):
        score.check(size, size)


def estimate(x, epsilon, seed=0, neighbours="add_remove", **tunables):
    source = SimulatedSource(x, seed=seed, neighbours=neighbours)
    return algorithms.get("PHP").run(source, workloads.identity(x.size), source.grant(epsilon), **tunables)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_large_steps_and_single_cells_are_found(neighbours):
    x = np.zeros(256, dtype=np.int64)
    x[37:90] = 5_000
    x[200] = 10**6
    found = estimate(x, 10, neighbours=neighbours)
    assert np.abs(found - x).max() < 100


def test_even_data_are_one_part_and_save_the_rest_for_the_count():
    """One level is spent, ε/12 of 1 at 256 cells, if the whole stays whole; its count then has noise of scale 12/11."""
    x = np.full(256, 40)
    whole = [e for e in (estimate(x, 1, seed=s) for s in range(600)) if np.ptp(e) == 0]
    assert len(whole) > 30
    errors = np.array([(e.sum() - x.sum()) ** 2 for e in whole])
    expected = variance(Fraction(12, 11))
    assert abs(errors.mean() - expected) < 6 * errors.std() / np.sqrt(errors.size)


def test_levels_share_their_part_of_the_budget():
    x = np.random.default_rng(0).integers(0, 10**6, size=256)
    asked = asked_of("PHP", x, workloads.identity(256), epsilon=100)
    assert asked[0] == ("choose", 64, Fraction(100, 12))
    assert all(epsilon == Fraction(100, 12) for what, _, epsilon in asked if what == "split")
    assert asked[-1][0] == "Identity"
    levels = sum(what in ("split", "choose") for what, *_ in asked)
    assert asked[-1][2] == 100 - levels * Fraction(100, 12)


def test_it_beats_plain_noise_on_smooth_data():
    x = np.repeat([10, 400, 30, 90], [300, 100, 400, 224])
    ours = simulate.errors("PHP", x, workloads.identity(1024), 1, trials=10, seed=1).mean()
    assert ours < 0.8 * simulate.errors("Laplace", x, workloads.identity(1024), 1, trials=10, seed=1).mean()


@pytest.mark.parametrize("tunables", [{"levels": 0}, {"to_cuts": 0.0}, {"to_cuts": 1.0}])
def test_senseless_tunables_are_refused(tunables):
    with pytest.raises(BadInput, match=f"^{next(iter(tunables))}: "):
        estimate(np.arange(8), 1, **tunables)
