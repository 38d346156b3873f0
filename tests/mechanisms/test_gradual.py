"""Gradual release: the mixture behind it, the loss of prefixes and of all releases together, and the charges."""

from __future__ import annotations

import itertools
import math
import threading
from decimal import Context, Decimal, getcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from jostle import mechanisms
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import ExactNoise, SimulatedNoise
from jostle.mechanisms.gradual import chain, stays
from jostle.mechanisms.sampling import happens
from jostle.mechanisms.sensitivity import Sensitivity
from jostle.mechanisms.threshold import scales
from tests.kernel.helpers import RELATIONS
from tests.mechanisms.helpers import discrete_pmf, discrete_tail, hoeffding, recorded

PAIRS = [
    (Fraction(3), Fraction(1)),
    (Fraction(10), Fraction(9)),
    (Fraction(20), Fraction(1, 5)),
    (Fraction(7, 3), Fraction(2)),
]


def stay(scale, finer):
    return float(stays(scale, finer)(getcontext()))


@pytest.mark.parametrize(("scale", "finer"), PAIRS)
def test_coarse_noise_is_fine_noise_plus_an_independent_number(scale, finer):
    """Discrete Laplace(finer) * (stays·δ₀ + (1 − stays)·discrete Laplace(scale)) = discrete Laplace(scale)."""
    width = round(40 * scale)
    fine, coarse = discrete_pmf(float(finer), width), discrete_pmf(float(scale), width)
    chance = stay(scale, finer)
    more = (1 - chance) * coarse
    more[width] += chance
    mixed = np.convolve(fine, more)[width : 3 * width + 1]
    middle = slice(width - round(15 * scale), width + round(15 * scale) + 1)
    assert mixed[middle] == pytest.approx(coarse[middle], rel=1e-9)


def test_it_stays_as_the_paper_says_where_scales_are_large():
    assert stay(Fraction(2 * 10**6), Fraction(10**6)) == pytest.approx(0.25, rel=1e-6)


@pytest.mark.parametrize(("first", "second"), [(Fraction(1, 2), Fraction(1)), (Fraction(1), Fraction(3, 2))])
def test_both_releases_lose_the_second_epsilon_and_the_first_alone_the_first(first, second):
    """All pairs of answers for a value of 0 and of 1, where one record moves it by 1."""
    coarse, fine, chance, width = float(1 / first), float(1 / second), stay(1 / first, 1 / second), 30
    a, b = (lambda k: discrete_pmf(coarse, 200)[200 + k]), (lambda k: discrete_pmf(fine, 200)[200 + k])

    def joint(value):
        found = {}
        for one, two in itertools.product(range(-width, width), repeat=2):
            found[one, two] = b(two - value) * (chance * (one == two) + (1 - chance) * a(one - two))
        return found

    zero, unit = joint(0), joint(1)
    assert max(abs(math.log(zero[pair] / unit[pair])) for pair in zero) == pytest.approx(second, rel=1e-9)
    alone = [[sum(table[one, two] for two in range(-width, width)) for one in range(-8, 8)] for table in (zero, unit)]
    assert max(abs(math.log(p / q)) for p, q in zip(*alone, strict=True)) == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize("exact", [True, False])
def test_every_step_has_its_own_noise(exact):
    scales = [Fraction(8), Fraction(4), Fraction(1)]
    size = 2000 if exact else 5000
    parts = chain(size, scales, ExactNoise() if exact else SimulatedNoise(seed=0))
    ladder = np.arange(-60, 61)
    for part, scale in zip(parts, scales, strict=True):
        expected = stats.dlaplace(float(1 / scale)).cdf(ladder)
        assert np.abs((part[:, None] <= ladder).mean(axis=0) - expected).max() < hoeffding(size)
    same = (parts[0] == parts[1]).mean()
    also = (1 - stay(scales[0], scales[1])) * discrete_pmf(8.0, 1)[1]  # it moved, by 0
    assert same == pytest.approx(stay(scales[0], scales[1]) + also, abs=hoeffding(size))


@pytest.mark.parametrize("probability", ["0.3", "0.0000001", "0.9999999"])
def test_events_have_their_probability(probability):
    noise, samples = SimulatedNoise(seed=0), 4000
    seen = sum(happens(lambda context: Decimal(probability), noise) for _ in range(samples)) / samples
    assert seen == pytest.approx(float(probability), abs=hoeffding(samples))


def test_a_close_call_is_decided_by_more_digits():
    asked = []

    class Close:
        """Random digits that agree with one third for a long time, and then are larger."""

        def below(self, bound):
            return bound // 3 if len(asked) < 3 else bound // 2

    def third(context: Context) -> Decimal:
        asked.append(context.prec)
        return context.divide(Decimal(1), Decimal(3))

    assert happens(third, Close()) is False
    assert len(asked) >= 4
    assert asked == sorted(set(asked))


def test_a_longer_prefix_costs_its_last_epsilon(account):
    release = mechanisms.GradualRelease(500, sensitivity=1, epsilons=("0.1", "0.5", 2), budget=account.grant(2), note="g")
    assert account.spent == 0
    spent = []
    for answer in release:
        assert type(answer) is int
        spent.append(account.spent)
    assert spent == [Fraction(1, 10), Fraction(1, 2), Fraction(2)]
    assert [event.amount for event in account.ledger.events(account.name) if event.kind == "charge"] == [
        Fraction(1, 10),
        Fraction(2, 5),
        Fraction(3, 2),
    ]
    with pytest.raises(PlanError, match="all 3 releases were made"):
        release.next()


def test_what_is_not_reached_is_not_charged(account):
    release = mechanisms.GradualRelease(500, sensitivity=1, epsilons=("0.1", 1), budget=account.grant(1))
    assert release.spent == 0
    release.next()
    assert account.spent == release.spent == Fraction(1, 10)
    assert repr(release) == "<GradualRelease: 1 of 2 releases, ε = 0.1 spent>"


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
def test_the_scales_are_sensitivity_times_neighbours_over_epsilon(neighbours):
    budget, recorder = recorded(1, neighbours)
    release = mechanisms.GradualRelease([5, 6], sensitivity=3, epsilons=("1/4", 1), budget=budget, whole=True)
    list(release)
    size = neighbours.sensitivity(3, 6)
    assert [s for name, s, _ in recorder.asked if name == "discrete_laplace"] == [size, 4 * size]


class Interrupted(mechanisms.GradualRelease):
    """Another thread asks for the next release as soon as the first is counted."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "_steps" and value == 1:
            self.second = []
            self.other = threading.Thread(target=lambda: self.second.append(self.next()))
            self.other.start()
            self.other.join(timeout=0.3)


def test_a_thread_gets_the_release_that_it_has_charged():
    budget = mechanisms.simulation(seed=0).grant(1)
    release = Interrupted(1000, sensitivity=1, epsilons=(0.01, 1), budget=budget)
    first = release.next()
    release.other.join()
    assert [first, *release.second] == [1000 + int(noise[0]) for noise in release._noise]
    assert first != release.second[0]


def test_real_numbers_and_arrays_are_put_on_a_lattice():
    purse = mechanisms.simulation(seed=0)
    number = mechanisms.GradualRelease(2.5, sensitivity=1, epsilons=(1, 100), budget=purse.grant(100))
    assert [type(answer) for answer in number] == [float, float]
    array = mechanisms.GradualRelease(
        [[1.5, math.nan], [2, 3]], sensitivity=1, epsilons=(1, 10**6), budget=purse.grant(10**6)
    )
    assert [answer.shape for answer in (array.next(),)] == [(2, 2)]
    assert array.next() == pytest.approx(np.array([[1.5, 0], [2, 3]]), abs=1e-3)


def test_each_number_of_an_array_is_rounded_on_its_own_and_that_is_paid_for():
    budget, recorder = recorded(1)
    mechanisms.GradualRelease([0.5] * 7, sensitivity=1, epsilons=(1,), budget=budget).next()
    assert recorder.scales == [2**20 + 6]


def test_large_whole_numbers_never_become_floats():
    """Above 2^53 that would round them: two neighbours would be 256 apart here, at a sensitivity of 1."""
    for value in (2**53 + 1, 2**60 + 128, 2**60 + 129, np.int64(2**60 + 129), np.array([2**60 + 129, -1])):
        budget, _ = recorded(1)
        release = mechanisms.GradualRelease(value, sensitivity=1, epsilons=(1,), budget=budget).next()
        assert np.array_equal(release, value)
    listed = [2**60 + 129, -1]
    release = mechanisms.GradualRelease(listed, sensitivity=1, epsilons=(1,), budget=recorded(1)[0], whole=True).next()
    assert np.array_equal(release, listed)
    for value in (2**63, 2**200):  # and how large they are does not decide the type of the answer
        budget, _ = recorded(1)
        assert mechanisms.GradualRelease(value, sensitivity=1, epsilons=(1,), budget=budget).next() == 2**61


@pytest.mark.parametrize("whole", [None, True])
def test_what_is_in_a_list_does_not_decide_the_type_of_the_answers(whole):
    """One of two neighbours may have a NaN, a text or a fraction where the other has a whole number."""
    kinds = set()
    for value in ([3, 1], [3, math.nan], [3, None], [3, "x"], [3, 1.5], [2**70, -1]):
        budget, _ = recorded(1)
        kinds.add(mechanisms.GradualRelease(value, sensitivity=1, epsilons=(1,), budget=budget, whole=whole).next().dtype)
    assert kinds == {np.dtype(np.int64 if whole else np.float64)}


def columns_of(kind):
    """Makers of a column whose type foresees missing values, one for each library."""
    of_arrow = {"int": pa.int64(), "uint": pa.uint8(), "bool": pa.bool_()}[kind]
    of_pandas = {"int": "Int64", "uint": "UInt8", "bool": "boolean"}[kind]
    return [
        lambda values: pd.Series(values, dtype=of_pandas, index=np.arange(len(values)) - 5.0),
        lambda values: pd.Series(values, dtype=of_pandas).array,
        lambda values: pd.Index(pd.Series(values, dtype=of_pandas)),
        lambda values: pd.Series(values, dtype=pd.ArrowDtype(of_arrow)),
        lambda values: pd.DataFrame({"a": values}, dtype=of_pandas),
        lambda values: pd.Series(pd.Categorical(values, categories=[False, True] if kind == "bool" else [1, 3])),
        lambda values: pa.array(values, of_arrow),
        lambda values: pa.chunked_array([pa.array(values, of_arrow)]),
        lambda values: pa.table({"a": pa.array(values, of_arrow), "b": pa.array(values, of_arrow)}),
    ]


@pytest.mark.parametrize("kind", ["int", "uint", "bool"])
@pytest.mark.parametrize("whole", [None, True])
def test_a_missing_value_does_not_decide_the_type_of_the_answers(kind, whole):
    present, absent = ([True, False], [True, None]) if kind == "bool" else ([3, 1], [3, None])
    for made in columns_of(kind):
        for values, expected in ((present, [int(v) for v in present]), (absent, [int(absent[0]), 0])):
            column = made(values)
            answer = mechanisms.GradualRelease(column, sensitivity=1, epsilons=(1,), budget=recorded(1)[0], whole=whole)
            assert (answer._whole, answer._private.reshape(2, -1)[:, 0].tolist()) == (True, expected), made
            noisy = mechanisms.discrete_laplace(column, sensitivity=1, budget=recorded(1)[0])
            assert (noisy.dtype, noisy.shape) == (np.int64, np.shape(column)), made
            assert noisy.reshape(2, -1)[:, 0].tolist() == expected, made


def test_a_missing_value_makes_no_floats_of_others():
    large = [2**60 + 129, None]
    ordered = pd.Categorical(large, categories=[1, large[0]])
    for column in (pd.Series(large, dtype="Int64"), pd.Series(large, dtype="int64[pyarrow]"), pa.array(large), ordered):
        assert mechanisms.discrete_laplace(column, sensitivity=1, budget=recorded(1)[0]).tolist() == [2**60 + 129, 0]


def test_a_column_of_floats_is_refused_whatever_is_missing():
    for values in ([1.0, 2.0], [1.0, None]):
        for column in (pd.Series(values, dtype="Float64"), pd.Series(values), pa.array(values)):
            with pytest.raises(BadInput, match="value: must be whole numbers"):
                mechanisms.discrete_laplace(column, sensitivity=1, budget=recorded(1)[0])


def test_whole_numbers_are_asked_for_of_what_can_be_whole():
    with pytest.raises(BadInput, match="value: must be whole numbers"):
        mechanisms.GradualRelease(np.array([0.5]), sensitivity=1, epsilons=(1,), budget=recorded(1)[0], whole=True)


@pytest.mark.parametrize("sensitivity", [0.5, "3/2", (1, "1/2")])
@pytest.mark.parametrize("value", [[0.5], [1], np.array([1]), 1])
def test_whole_answers_want_a_whole_sensitivity(account, value, sensitivity):
    with pytest.raises(BadInput, match="sensitivity: must be whole for whole numbers"):
        mechanisms.GradualRelease(value, sensitivity=sensitivity, epsilons=(1,), budget=account.grant(1), whole=True)
    assert account.spent == 0


def test_real_numbers_that_nobody_moves_keep_their_digits():
    budget = mechanisms.simulation(seed=0, neighbours="replace").grant(1)
    assert mechanisms.GradualRelease(2.75, sensitivity=(1, 0), epsilons=(1,), budget=budget).next() == 2.75


@pytest.mark.parametrize("epsilons", [(), (1, 0.5), (0.5, 0.5, 1), (0.5, 2), (0, 1), (-1, 1), ("x",)])
def test_epsilons_rise_up_to_the_budget(account, epsilons):
    with pytest.raises(BadInput, match="epsilons"):
        mechanisms.GradualRelease(5, sensitivity=1, epsilons=epsilons, budget=account.grant(1))
    assert account.spent == 0


def test_mechanisms_in_turn_lose_no_more_than_they_have_charged():
    """All transcripts of a gradual release and of a search whose question depends on its first step.

    The second step is charged 1/2, and given the first loses more than that; both together lose what both have charged.
    """
    first, second, tests, width = Fraction(1, 2), Fraction(1), Fraction(1), 60
    coarse, fine = (discrete_pmf(float(1 / epsilon), 3 * width) for epsilon in (first, second))
    on_threshold, on_query = scales(Sensitivity.of(1), Neighbours(), tests, 1, False)
    noise, at = discrete_pmf(float(on_threshold), 2 * width), np.arange(-2 * width, 2 * width + 1)
    same = float(stays(1 / first, 1 / second)(getcontext()))
    near = np.arange(-10, 12)

    def transcripts(x):
        """P(first answer, whether it is near enough, second answer)."""
        both = np.array(
            [
                [fine[y - x + 3 * width] * (same * (y == z) + (1 - same) * coarse[z - y + 3 * width]) for y in near]
                for z in near
            ]
        )
        yes = np.array([(noise * discrete_tail(float(on_query), at - 1 + abs(z - x))).sum() for z in near])
        return both[:, None, :] * np.stack([yes, 1 - yes], axis=1)[:, :, None], yes

    (here, yes_here), (there, yes_there) = (transcripts(x) for x in (0, 1))
    started = np.log(coarse[near + 3 * width] / coarse[near - 1 + 3 * width])
    asked = started[:, None] + np.log(np.stack([yes_here / yes_there, (1 - yes_here) / (1 - yes_there)], axis=1))
    ended = np.log(here / there)
    assert np.abs(started).max() <= first + 1e-9
    assert np.abs(asked).max() <= first + tests + 1e-9
    assert np.abs(ended).max() <= second + tests + 1e-9
    alone = np.abs(ended - asked[:, :, None]).max()
    assert second - first + 1e-3 < alone <= first + second + 1e-9
