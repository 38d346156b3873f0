"""Five exercises on bounded differential privacy, worked: every number of docs/written-tasks.md, by brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from jostle import mechanisms
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import identity
from tests.mechanisms.helpers import discrete_pmf, loss

LOW, HIGH = 2.0, 7.0


def replaced(data, values):
    """All data sets in which one value is another one."""
    for index, value in itertools.product(range(len(data)), values):
        yield [*data[:index], value, *data[index + 1 :]]


def sensitivity(function, size, values=(LOW, 3.0, 5.0, HIGH)):
    """The largest change over all data sets of that size with these values, ends included, and all replacements."""
    worst = 0.0
    for data in itertools.combinations_with_replacement(values, size):
        worst = max(
            worst, *(np.abs(np.subtract(function(other), function(data))).sum() for other in replaced(list(data), values))
        )
    return worst


# ------------------------------------------------------------------------------------------------------------- task 1


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_1_sum_mean_and_median(size):
    assert sensitivity(np.sum, size) == HIGH - LOW
    assert sensitivity(np.mean, size) == pytest.approx((HIGH - LOW) / size)
    assert sensitivity(lambda data: sorted(data)[size // 2], size) == HIGH - LOW
    halved = HIGH - LOW if size % 2 else (HIGH - LOW) / 2
    assert sensitivity(np.median, size) == halved  # where the two middle values of an even number are averaged


def test_1_what_the_mechanisms_use():
    for neighbours, expected in (("add_remove", HIGH), ("replace", HIGH - LOW)):
        trials = 20_000
        purse = mechanisms.simulation(seed=0, neighbours=neighbours, trials=trials)
        noisy = mechanisms.clipped_sum([3.0, 4.0], bounds=(LOW, HIGH), budget=purse.grant(1))
        assert np.abs(noisy - 7).mean() == pytest.approx(expected, rel=0.05)  # the mean |error| is the scale


# ------------------------------------------------------------------------------------------------------------- task 2


def test_2_the_variance_of_a_mean_of_two_values():
    """Both counts get Laplace noise of scale 2/ε, since a replaced value moves both."""
    a, b, counts, epsilon, trials = LOW, HIGH, np.array([30, 70]), 0.5, 40_000
    source = SimulatedSource(counts, seed=0, neighbours="replace", trials=trials)
    noisy = source.measure(identity(2), source.grant(epsilon))
    n = counts.sum()
    plain = noisy @ [a, b] / n
    assert plain.var() == pytest.approx(8 * (a**2 + b**2) / (n**2 * epsilon**2), rel=0.05)
    agreeing = a + (b - a) * (noisy[:, 1] + n - noisy[:, 0]) / (2 * n)  # n is public: average both counts of b
    assert agreeing.var() == pytest.approx(4 * (b - a) ** 2 / (n**2 * epsilon**2), rel=0.05)
    single = mechanisms.discrete_laplace(
        70, sensitivity=(1, 1), budget=mechanisms.simulation(seed=0, neighbours="replace", trials=trials).grant(epsilon)
    )
    assert (a + (b - a) * single / n).var() == pytest.approx(2 * (b - a) ** 2 / (n**2 * epsilon**2), rel=0.05)


# ------------------------------------------------------------------------------------------------------------- task 3


def test_3_a_finer_histogram_doubles_the_variance():
    epsilon, trials = 0.2, 40_000

    def males(counts, cells):
        source = SimulatedSource(counts, seed=0, neighbours="replace", trials=trials)
        return source.measure(identity(len(counts)), source.grant(epsilon))[:, :cells].sum(axis=1)

    assert males([10, 20, 30, 40], 2).var() == pytest.approx(16 / epsilon**2, rel=0.05)
    assert males([30, 70], 1).var() == pytest.approx(8 / epsilon**2, rel=0.05)
    assert len(list(itertools.product((0, 1), repeat=10))) == 2**10


# ------------------------------------------------------------------------------------------------------------- task 4


def percentiles(data):
    ordered = sorted(data)
    return [ordered[math.ceil(len(data) * part) - 1] for part in (0.25, 0.5, 0.75)]


def test_4_one_replaced_value_moves_all_three_percentiles_together_by_the_width_at_most():
    assert sensitivity(percentiles, 9) == HIGH - LOW  # not three times the width: the gaps that they cross are disjoint
    generator, worst = np.random.default_rng(0), 0.0
    for _ in range(2000):
        data = list(generator.uniform(0, 1, 101) ** generator.integers(1, 9))
        other = list(data)
        other[generator.integers(101)] = generator.choice([0.0, 1.0, generator.random()])
        worst = max(worst, np.abs(np.subtract(percentiles(data), percentiles(other))).sum())
    assert worst <= 1


def test_4_the_least_epsilon_is_the_width_over_the_smallest_scale():
    betas, size, values = np.array([1.0, 2.0, 3.0]), 9, (LOW, 4.0, HIGH)
    worst = 0.0
    for data in itertools.combinations_with_replacement(values, size):
        for other in replaced(list(data), values):
            worst = max(worst, (np.abs(np.subtract(percentiles(other), percentiles(data))) / betas).sum())
    assert worst == (HIGH - LOW) / betas[0]


# ------------------------------------------------------------------------------------------------------------- task 5


def structures(data, part):
    """The chance of each histogram structure, if it is a plain function of a random sample: here, where the largest lies."""
    size = round(len(data) * part)
    samples = list(itertools.combinations(range(len(data)), size))
    found = Counter(max(data[index] for index in sample) for sample in samples)
    return {edge: Fraction(count, len(samples)) for edge, count in found.items()}


def test_5_a_structure_from_a_sample_has_no_finite_epsilon():
    one, other = [1.0] * 9 + [99.0], [1.0] * 10
    chances = [structures(data, 0.1) for data in (one, other)]
    assert chances[0] == {1.0: Fraction(9, 10), 99.0: Fraction(1, 10)}
    assert chances[1] == {1.0: 1}
    outcomes = sorted({*chances[0], *chances[1]})
    assert loss(*[[table.get(edge, 0) for edge in outcomes] for table in chances]) == math.inf


def test_5_the_cells_alone_lose_twice_what_was_meant():
    """Noise of scale 1/ε on a histogram in which a replaced record moves two cells: ε = 1 here."""

    def answers(counts):
        cells = [discrete_pmf(1.0, 40)[40 - count : 60 - count] for count in counts]
        return np.outer(*cells).reshape(-1)

    assert loss(answers([5, 6]), answers([4, 7])) == pytest.approx(2)
