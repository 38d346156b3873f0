"""Gaps of histograms: how far one record moves two of them apart, and the noise on the choice among them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.errors import BadInput
from jostle.kernel.functions.gaps import GRAIN, MarginalGap, gap_sensitivities
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from tests.kernel.helpers import RELATIONS, Recorder, with_custody

SIZES = {"a": 2, "b": 2}
EVERY_ROW = list(itertools.product(range(2), range(2)))
SETS = (("a",), ("b",), ("a", "b"))


def columns(rows: list[tuple[int, int]]) -> ArrayColumns:
    table = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return ArrayColumns(dict(zip(SIZES, table.T, strict=True)), SIZES)


def recorded(rows: list[tuple[int, int]], neighbours: Neighbours) -> tuple[SimulatedRecords, Recorder]:
    source, recorder = SimulatedRecords(columns(rows), seed=0, neighbours=neighbours), Recorder()
    with_custody(source, noise=recorder)
    return source, recorder


def scores(rows: list[tuple[int, int]], gaps: list[MarginalGap]) -> list[int]:
    table = columns(rows)
    return [gap.score(table.counts(gap.names)) for gap in gaps]


estimates = st.lists(st.floats(-3, 6), min_size=8, max_size=8)


@given(
    rows=st.lists(st.sampled_from(EVERY_ROW), max_size=5),
    guess=estimates,
    weights=st.lists(st.integers(1, 9), min_size=3, max_size=3),
)
def test_one_record_moves_two_scores_apart_by_no_more_than_stated(rows, guess, weights) -> None:
    places = (slice(0, 2), slice(2, 4), slice(4, 8))
    gaps = [
        MarginalGap(names, np.array(guess[place]), weight, handicap=1.7)
        for names, place, weight in zip(SETS, places, weights, strict=True)
    ]
    added, replaced = gap_sensitivities(gaps)
    before = np.array(scores(rows, gaps))
    for new in EVERY_ROW:
        moved = np.array(scores([*rows, new], gaps)) - before
        assert np.ptp(moved) <= added
        for place in range(len(rows)):
            other = np.array(scores([*rows[:place], new, *rows[place + 1 :]], gaps)) - before
            assert np.ptp(other) <= replaced


def test_the_bounds_are_attained() -> None:
    """A new record comes nearer to one estimate and goes away from the other, at the largest weights."""
    gaps = [
        MarginalGap(("a",), np.array([9.0, 9.0]), 5),
        MarginalGap(("b",), np.zeros(2), 3),
        MarginalGap(("a", "b"), np.zeros(4)),
    ]
    moved = np.array(scores([(0, 0)], gaps)) - np.array(scores([], gaps))
    assert np.ptp(moved) == gap_sensitivities(gaps)[0] == 8 * GRAIN
    start = [(0, 0)]
    gaps = [MarginalGap(("a",), np.array([0.0, 9.0]), 5), MarginalGap(("b",), np.array([9.0, 0.0]), 3)]
    replaced = np.array(scores([(1, 1)], gaps)) - np.array(scores(start, gaps))
    assert np.ptp(replaced) == gap_sensitivities(gaps)[1]


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
def test_noise_is_weights_times_neighbours_over_epsilon(neighbours: Neighbours) -> None:
    gaps = [
        MarginalGap(("a",), np.zeros(2), 5),
        MarginalGap(("b",), np.zeros(2), 2),
        MarginalGap(("a", "b"), np.zeros(4), 3),
    ]
    source, recorder = recorded([(0, 0)], neighbours)
    source.choose_marginal(gaps, source.grant("1/3"))
    wanted = neighbours.sensitivity(8 * GRAIN, 16 * GRAIN) * 3
    assert [asked[:2] for asked in recorder.asked] == [("noisy_max", wanted)]
    source, recorder = recorded([(0, 0)], neighbours)
    source.choose_marginal(gaps, source.grant(rho="1/50"))
    assert [asked[:2] for asked in recorder.asked] == [
        ("gumbel_max", neighbours.sensitivity(8, 16) * GRAIN / Fraction(2, 5))
    ]


def test_the_worst_histogram_is_chosen_and_the_charge_says_among_how_many() -> None:
    source = SimulatedRecords(columns([(0, 1)] * 500), seed=0)
    good, bad = MarginalGap(("a",), np.array([500.0, 0.0])), MarginalGap(("b",), np.array([250.0, 250.0]))
    assert source.choose_marginal([good, bad], source.grant(1)) == 1
    handicapped = MarginalGap(("b",), np.array([250.0, 250.0]), handicap=900)
    assert source.choose_marginal([good, handicapped], source.grant(1)) == 0
    assert source.unspent == 0


@pytest.mark.parametrize(
    "make",
    [
        list,
        lambda: ["a"],
        lambda: [MarginalGap(("a",), np.zeros(3))],
        lambda: [MarginalGap(("c",), np.zeros(2))],
    ],
)
def test_what_does_not_fit_is_refused_before_any_charge(make) -> None:
    for rows in ([], [(0, 1)]):
        source = SimulatedRecords(columns(rows), seed=0)
        token = source.grant(1)
        with pytest.raises(BadInput):
            source.choose_marginal(make(), token)
        assert source.unspent == 1
        source.choose_marginal([MarginalGap(("a",), np.zeros(2))], token)


@pytest.mark.parametrize(
    "wrong",
    [
        {"estimate": np.array([np.nan, 0])},
        {"estimate": np.array([1e13, 0])},
        {"weight": 0},
        {"weight": 1.5},
        {"handicap": np.inf},
    ],
)
def test_impossible_gaps_are_refused(wrong) -> None:
    with pytest.raises(BadInput):
        MarginalGap(**({"names": ("a",), "estimate": np.zeros(2)} | wrong))


def test_each_trial_chooses() -> None:
    source = SimulatedRecords(columns([(0, 1)]), seed=0, trials=3)
    assert source.choose_marginal([MarginalGap(("a",), np.zeros(2))], source.grant(1)).tolist() == [0, 0, 0]


def test_the_law_of_a_choice_in_rho_is_the_exponential_mechanisms() -> None:
    """The share of 200,000 draws is off by more than 0.006 with a probability below 1e-6 (Hoeffding)."""
    gaps = [MarginalGap(("a",), np.array([1.0, 0.0]), 2), MarginalGap(("b",), np.array([0.0, 0.0]), 1)]
    source = SimulatedRecords(columns([(0, 1)]), seed=0, trials=200_000)
    drawn = source.choose_marginal(gaps, source.grant(rho="1/2"))
    epsilon, scores_in_records = 2.0, np.array([0.0, 1.0])
    law = np.exp(scores_in_records * epsilon / 3)
    assert abs(np.mean(drawn) - law[1] / law.sum()) < 0.006
