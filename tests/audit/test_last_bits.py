"""The attack on the last bits of floats succeeds on textbook Laplace noise, and fails on whatever releases a real number."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import mechanisms
from jostle.audit import Audited, Pair, catalogue, examine
from jostle.audit.entries import FreePurse
from jostle.audit.entries.operators import CELLS, statistics, strategies
from jostle.audit.examine import lowest_bits, with_lowest_bits
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import ReleaseSource
from jostle.mechanisms.aggregates import STEPS
from jostle.mechanisms.selection import CELLS as LINE_CELLS

REAL = [
    "laplace",
    "clipped_sum",
    "clipped_mean",
    "median",
    "exponential_line",
    "laplace: real matrix",
    "statistic: Derived, standard deviation",
]


def textbook(side, epsilon, neighbours, samples, seed):
    noise = np.random.default_rng(seed).laplace(scale=1 / float(epsilon), size=(samples, 1))
    return with_lowest_bits(side + noise)


def test_textbook_noise_is_broken_by_its_last_bits():
    entry = Audited(name="textbook", family="mechanism", run=textbook, pairs=lambda neighbours: [Pair("0 and 1", 0.0, 1.0)])
    for epsilon in ("1/10", "1"):
        verdict = examine(entry, epsilon=epsilon, neighbours="add_remove", samples=4_000, seed=0)
        assert verdict.finding
        assert verdict.bound > 1.5


def test_the_last_bit_tells_which_number_noise_was_added_to():
    """1 + noise is a multiple of 2⁻⁵³ near 0, and 0 + noise nearly never is."""
    noise = np.random.default_rng(0).laplace(size=20_000)
    near = {value: lowest_bits((value + noise)[np.abs(value + noise) < 0.25]) for value in (0.0, 1.0)}
    assert (near[1.0] >= -54).all()
    assert (near[0.0] < -54).mean() > 0.5


@pytest.mark.parametrize("name", REAL)
def test_the_attack_fails_on_ours(name):
    verdict = examine(
        catalogue.get(name), epsilon="1/2", neighbours="add_remove", samples=600, seed=0, engine="exact", confidence=1 - 1e-6
    )
    assert not verdict.finding


def source(x=(3, 0, 4, 1)) -> ReleaseSource:
    return ReleaseSource(np.array(x), purse=FreePurse(Neighbours()))


@pytest.mark.parametrize("name", strategies())
def test_answers_lie_on_the_lattice_of_their_strategy(name):
    strategy = strategies()[name]
    released = source()
    answers = np.concatenate([released.measure(strategy, released.grant(Fraction(1, 3))) for _ in range(20)])
    assert (answers * strategy.unit == np.round(answers * strategy.unit)).all()


@pytest.mark.parametrize("name", statistics())
def test_statistics_lie_on_their_lattice(name):
    statistic, released = statistics()[name], source()
    unit = statistic.unit(CELLS)
    for _ in range(20):
        value = float(released.statistic(statistic, released.grant(Fraction(1, 3))))
        assert value == round(value * unit) / unit


def test_mechanisms_answer_on_their_lattices():
    purse = FreePurse(Neighbours())
    for _ in range(20):
        total = mechanisms.clipped_sum([1.5, 2.25], bounds=(0, 8), budget=purse.grant(1))
        assert (total * STEPS / 16).is_integer()
        point = mechanisms.exponential_line([3.0], [1, 2], bounds=(0, 1), sensitivity=1, budget=purse.grant(1))
        assert (point * LINE_CELLS - 0.5).is_integer()
        middle = mechanisms.median([1, 2, 3], bounds=(0, 10), step=0.25, budget=purse.grant(1))
        assert (middle * 4).is_integer()
        steps = list(mechanisms.GradualRelease(0.3, sensitivity=1, epsilons=(0.5, 1), budget=purse.grant(1)))
        assert all((step * 2**20).is_integer() for step in steps)
