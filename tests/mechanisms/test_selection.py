"""Exponential mechanism, noisy maximum, permute-and-flip: exact probabilities on small sets, and calibration."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jostle import mechanisms
from jostle.kernel.budget import CountingPurse
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import ExactNoise, SimulatedNoise
from jostle.mechanisms import selection
from jostle.mechanisms.sampling import ROUNDING, exponential_scale, exponential_weights, pick
from jostle.mechanisms.sensitivity import Lattice, Sensitivity
from tests.kernel.helpers import RELATIONS
from tests.mechanisms.helpers import (
    discrete_pmf,
    discrete_tail,
    exact_shares,
    frequencies,
    hoeffding,
    loss,
    permute_and_flip_probabilities,
    recorded,
)

SELECTIONS = [mechanisms.exponential, mechanisms.report_noisy_max, mechanisms.permute_and_flip]
LUNCH = [27, 23, 9, 0]


def shares(scores, *, epsilon=1, sensitivity=1, monotone=False, neighbours="add_remove", lengths=None):
    """The exact probabilities of the exponential mechanism, from the integers that it draws from."""
    moves, relation = Sensitivity.of(sensitivity, monotone=monotone), Neighbours.of(neighbours)
    lattice = Lattice.for_sensitivity(moves, relation)
    scale = exponential_scale(lattice.sensitivity.reach(relation, monotone=monotone), Fraction(epsilon))
    return exact_shares(exponential_weights(lattice.gaps(np.array(scores, dtype=float), lengths), scale, lengths))


# --------------------------------------------------------------------------------------------------- worked examples


def test_the_lunch_vote():
    assert [round(float(p), 2) for p in shares(LUNCH, epsilon="0.1")] == [0.4, 0.33, 0.16, 0.1]  # the talk has 0.11
    large = [float(p) for p in shares(LUNCH, epsilon=1)]
    assert [round(p, 2) for p in large[:2]] == [0.88, 0.12]
    assert large[2:] == pytest.approx([1e-4, 1e-6], rel=0.25)


def test_four_nationalities():
    """The lecture has 6.8/ε; 2(ln 4 + 3) is 8.8, and counts are monotone, so half of it is enough."""
    confidence = 1 - math.exp(-3)
    error = mechanisms.utility.exponential_error(1, candidates=4, confidence=confidence)
    assert error == pytest.approx(2 * (math.log(4) + 3))
    assert mechanisms.utility.exponential_error(1, candidates=4, confidence=confidence, monotone=True) == error / 2
    for counts in ([100, 100, 0, 0], [50, 45, 42, 40], [20, 11, 11, 11], [9, 0, 0, 0]):
        chance = sum(p for p, count in zip(shares(counts), counts, strict=True) if count <= max(counts) - error)
        assert chance <= math.exp(-3)


SEVEN_EDGES, SEVEN_SCORES = [0, 2, 3, 5, 7, 10, 11, 12], [3, 4, 5, 4, 3, 4, 3]


def test_seven_ranges_as_in_the_talk_where_a_record_is_added_or_removed():
    found = mechanisms.utility.exponential_probabilities(
        SEVEN_SCORES, epsilon=1, monotone=True, lengths=np.diff(SEVEN_EDGES)
    )
    assert found == pytest.approx([0.063, 0.085, 0.467, 0.172, 0.095, 0.086, 0.032], abs=0.001)


def test_seven_ranges_where_a_record_is_replaced():
    settings = {"epsilon": 1, "monotone": True, "neighbours": "replace", "lengths": np.diff(SEVEN_EDGES)}
    weights = np.exp(np.array(SEVEN_SCORES) / 2) * np.diff(SEVEN_EDGES)
    assert mechanisms.utility.exponential_probabilities(SEVEN_SCORES, **settings) == pytest.approx(weights / weights.sum())


@pytest.mark.parametrize("exact", [True, False])
def test_seven_ranges_are_drawn_so(exact):
    noise = ExactNoise() if exact else SimulatedNoise(seed=0)
    purse = CountingPurse(noise=noise)

    def draw():
        settings = {"bounds": (0, 12), "sensitivity": 1, "monotone": True}
        return mechanisms.exponential_line(SEVEN_EDGES[1:-1], SEVEN_SCORES, **settings, budget=purse.grant(1))

    points = np.sort([draw() for _ in range(3000)])
    weights = np.exp(SEVEN_SCORES) * np.diff(SEVEN_EDGES)
    expected = np.interp(points, SEVEN_EDGES, np.concatenate([[0], np.cumsum(weights / weights.sum())]))
    steps = np.arange(1, points.size + 1) / points.size
    assert np.abs(steps - expected).max() < hoeffding(points.size) + 1 / points.size


def test_a_bit_by_the_exponential_mechanism_is_randomized_response_at_half_of_epsilon():
    for bit, expected in ((0, [1, 0]), (1, [0, 1])):
        found = shares(expected, sensitivity=(1, 1), neighbours="replace")
        assert float(found[bit]) == pytest.approx(math.exp(0.5) / (1 + math.exp(0.5)))


# ------------------------------------------------------------------------------------------------- privacy, exactly


def neighbouring_counts(cells, most):
    """All histograms with up to so many records in a cell, with all that have one more."""
    for counts in itertools.product(range(most + 1), repeat=cells):
        for cell in range(cells):
            more = list(counts)
            more[cell] += 1
            yield list(counts), more


@pytest.mark.parametrize("epsilon", ["0.001", "1/2", "3"])
def test_counts_lose_epsilon_and_no_more(epsilon):
    limit = Fraction(epsilon)
    seen = max(
        loss(shares(a, epsilon=epsilon, monotone=True), shares(b, epsilon=epsilon, monotone=True))
        for a, b in neighbouring_counts(3, 3)
    )
    assert 0.5 * limit < seen <= limit


def test_replaced_records_need_twice_the_scale():
    def worst(neighbours):
        settings = {"monotone": True, "neighbours": neighbours}
        moved = [([5, 0, 2], [4, 1, 2]), ([9, 8, 0], [8, 9, 0]), ([0, 40, 41], [0, 41, 40])]
        return max(loss(shares(a, **settings), shares(b, **settings)) for a, b in moved)

    assert worst("replace") <= 1
    assert worst("add_remove") > 1.8  # the same noise is not enough there: two scores move apart by 2


@given(
    st.lists(st.integers(-30, 30), min_size=2, max_size=6),
    st.data(),
    st.sampled_from([Fraction(1, 1000), Fraction(1, 3), Fraction(20)]),
    st.sampled_from([1, 3, "1/3", 0.1]),
    st.booleans(),
)
def test_any_neighbours_lose_at_most_epsilon(scores, data, epsilon, sensitivity, monotone):
    low = 0.0 if monotone else -1.0
    moves = data.draw(st.lists(st.floats(low, 1), min_size=len(scores), max_size=len(scores)))
    size = float(Fraction(sensitivity)) if isinstance(sensitivity, str) else sensitivity
    one = [score * size * 0.77 for score in scores]
    # Sums of floats are rounded: a little less than the sensitivity stays within it.
    other = [score + move * size * (1 - 1e-9) for score, move in zip(one, moves, strict=True)]
    found = [shares(s, epsilon=epsilon, sensitivity=sensitivity, monotone=monotone) for s in (one, other)]
    assert loss(*found) <= epsilon


def test_scores_far_apart_lose_at_most_epsilon():
    """Beyond 256 scales the weights are capped, and no candidate ever becomes impossible."""
    far = [0.0, 1000.0, 1e15]
    for move in itertools.product((0.0, 1.0), repeat=3):
        assert loss(shares(far, monotone=True), shares(np.add(far, move), monotone=True)) <= 1


def split_scores(rows):
    """Cuts at the values, and how many records are in the majority class of their side: monotone, of sensitivity 1."""
    cuts = sorted({value for value, _ in rows})
    sides = [[[kind for value, kind in rows if (value <= cut) == left] for left in (True, False)] for cut in (-99, *cuts)]
    return cuts, [sum(max(side.count(0), side.count(1)) for side in pair) for pair in sides]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_private_cuts_lose_at_most_epsilon(relation, monkeypatch):
    """Through `exponential_line` itself, on a line of eleven cells, where many cuts share one and some are outside."""
    seen = {}

    def kept(starts, lengths, weights, _):
        seen["weights"] = weights
        return int(starts[np.argmax(weights)])

    monkeypatch.setattr(selection, "CELLS", 11)
    monkeypatch.setattr(selection, "pick_cell", kept)

    def cells(rows):
        cuts, scores = split_scores(rows)
        budget, _ = recorded(1, relation)
        mechanisms.exponential_line(cuts, scores, bounds=(-0.1, 0.7), sensitivity=1, monotone=True, budget=budget)
        edges = np.floor((np.clip([-0.1, *cuts, 0.7], -0.1, 0.7) + 0.1) / (0.7 + 0.1) * 11).astype(int)
        found = exact_shares(seen["weights"])
        pieces = zip(found, np.diff(edges).tolist(), strict=True)
        return [share / length for share, length in pieces for _ in range(length)]

    points = list(itertools.product((-5, 0.05, 0.0501, 0.3, 0.7, 2), (0, 1)))
    worst = 0.0
    for rows in itertools.combinations_with_replacement(points, 2):
        base, fixed = (rows, None) if relation == "add_remove" else (rows, rows[:1])
        for point in points:
            other = [*base, point] if fixed is None else [*fixed, point]
            worst = max(worst, loss(cells(list(base)), cells(other)))
    assert 0.5 < worst <= 1


def test_a_piece_of_no_length_says_nothing():
    """Its score belongs to no point, so no sensitivity holds it; it must not decide how the others are weighed."""
    lengths = np.array([5, 0, 5])
    assert loss(shares([3, 1e12, 4], lengths=lengths)[::2], shares([3, 0, 4], lengths=lengths)[::2]) == 0
    budget = mechanisms.simulation(seed=0).grant(100)
    assert 0 < mechanisms.exponential_line([0.5, 0.5], [9, 1e12, 0], bounds=(0, 1), sensitivity=1, budget=budget) < 0.5


def test_weights_are_within_the_rounding_that_is_paid_for():
    gaps = np.unique(np.geomspace(1, 2**40, 400).astype(np.int64))
    for scale in (Fraction(1, 3), Fraction(2**20), Fraction(2**41, 3)):
        weights = exponential_weights(gaps, scale)
        with localcontext() as context:
            context.prec = 60
            slowest = (
                Decimal(float(scale)) if Fraction(float(scale)) >= scale else Decimal(math.nextafter(float(scale), math.inf))
            )
            for gap, weight in zip(gaps.tolist(), weights.tolist(), strict=True):
                true = (-min(Decimal(gap) / slowest, Decimal(256))).exp()
                assert abs(Decimal(weight) / true - 1) < Decimal(2) ** -43
    assert 4 * Fraction(1, 2**43) < ROUNDING


@pytest.mark.parametrize("epsilon", [10**3, 10**9, 10**30])
def test_the_best_wins_where_epsilon_is_large(epsilon):
    """The cap on the weights is where they are exp(−256), not at the lattice point before it, which is 0 here."""
    assert exponential_weights(np.array([0, 1]), Fraction(1, epsilon)).tolist() == pytest.approx([1, math.exp(-256)])
    for seed in range(20):
        budget = mechanisms.simulation(seed=seed).grant(epsilon)
        assert mechanisms.exponential("abc", [0, 1, 0.5], sensitivity=1, budget=budget) == "b"


def test_the_scale_leaves_the_rounding_unused():
    assert exponential_scale(Fraction(2), Fraction(1)) == 2 / (1 - ROUNDING)


@pytest.mark.parametrize("monotone", [True, False])
def test_a_noisy_maximum_loses_epsilon_at_the_reach_and_nearly_twice_that_at_half_of_it(monotone):
    def winners(scores, scale):
        """P(each wins), discrete Laplace noise, the first of equals: summed over the noise of the winner."""
        width = round(120 * scale)
        at, found = np.arange(-width, width + 1), []
        for i, mine in enumerate(scores):
            chance = discrete_pmf(scale, width)
            for j, other in enumerate(scores):
                if j != i:
                    chance = chance * (1 - discrete_tail(scale, mine + at - other + (j > i)))
            found.append(chance.sum())
        return found

    unit = 8  # one record moves a score by so many points of the lattice
    for scores in ([0, 0, 0], [0, 3 * unit, 5 * unit], [40 * unit, 0, 39 * unit], [0, 9 * unit, 9 * unit]):
        for move in itertools.product((0, 1) if monotone else (-1, 0, 1), repeat=3):
            other = [score + unit * step for score, step in zip(scores, move, strict=True)]
            reach = unit if monotone else 2 * unit
            assert loss(winners(scores, reach), winners(other, reach)) <= 1 + 1e-9
    apart = [0, 9 * unit, 9 * unit], [unit, 8 * unit, 8 * unit]
    assert loss(winners(apart[0], unit), winners(apart[1], unit)) > 1.8  # what monotone noise does to scores that are not


# ---------------------------------------------------------------------------------------------------- calibration


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("mechanism", [mechanisms.report_noisy_max, mechanisms.permute_and_flip])
def test_the_scale_is_reach_times_neighbours_over_epsilon(mechanism, monotone, neighbours):
    budget, recorder = recorded("1/7", neighbours)
    mechanism("ab", [1, 2], sensitivity=1, monotone=monotone, budget=budget)
    moves = (1, 1) if monotone else (1, 2)
    unit = Fraction(2) ** Lattice.for_sensitivity(Sensitivity.of(moves), neighbours).exponent
    assert recorder.scales == [neighbours.sensitivity(1 if monotone else 2, 2 * moves[1]) * 7 / unit]


@pytest.mark.parametrize("exact", [True, False])
def test_candidates_are_drawn_with_their_probabilities(exact):
    noise, samples, scores = ExactNoise() if exact else SimulatedNoise(seed=0), 4_000, [0, 2, 3, 3]
    weights = np.exp(np.array(scores) / 2)
    expected = {
        mechanisms.exponential: weights / weights.sum(),
        mechanisms.permute_and_flip: permute_and_flip_probabilities(scores, 2),
    }
    for mechanism, chances in expected.items():
        seen = frequencies(
            lambda choose=mechanism: choose("abcd", scores, sensitivity=1, budget=CountingPurse(noise=noise).grant(1)),
            "abcd",
            samples,
        )
        assert np.abs(seen - chances).max() < hoeffding(samples, comparisons=4)


def test_report_noisy_max_is_drawn_with_its_probabilities():
    noise, samples = SimulatedNoise(seed=0), 5_000
    seen = frequencies(
        lambda: mechanisms.report_noisy_max("ab", [0, 3], sensitivity=1, budget=CountingPurse(noise=noise).grant(1)),
        "ab",
        samples,
    )
    behind = math.exp(-1.5) * (2 + 1.5) / 4  # the difference of two Laplace variables of scale 2 is above 3
    assert seen[0] == pytest.approx(behind, abs=hoeffding(samples))


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism():
    for scores in itertools.product(range(0, 9, 2), repeat=3):
        weights = np.exp(np.array(scores) / 2)
        expected = weights @ scores / weights.sum()
        assert np.dot(permute_and_flip_probabilities(scores, 2), scores) >= expected - 1e-12


@pytest.mark.parametrize("mechanism", SELECTIONS)
def test_one_candidate_wins(mechanism, account):
    assert mechanism(["only"], [-3.5], sensitivity=1, budget=account.grant(1)) == "only"
    assert account.spent == 1


@pytest.mark.parametrize("mechanism", SELECTIONS)
def test_extreme_scores_are_no_trouble(mechanism, account):
    for scores in ([1e308, -1e308], [2**62, -(2**62)], [0.0, -5e-324 - 1e300]):
        assert mechanism("ab", scores, sensitivity=1, budget=account.grant(10)) == "a"


@pytest.mark.parametrize("mechanism", SELECTIONS)
def test_without_any_move_the_best_wins(mechanism):
    budget = mechanisms.simulation(seed=0, neighbours="replace").grant(1)
    assert mechanism("abc", [1, 3, 2], sensitivity=(1, 0), budget=budget) == "b"
    budget = mechanisms.simulation(seed=0, neighbours="replace").grant(1)
    assert mechanism("abc", [0.1, 0.9, 0.5], sensitivity=(1, 0), budget=budget) == "b"


@pytest.mark.parametrize("mechanism", SELECTIONS)
def test_candidates_are_taken_by_position(mechanism):
    """A dictionary and its values; a column of a table, whose labels are other numbers."""
    votes = {"pizza": 1, "salad": 99}
    settings = {"sensitivity": 1, "budget": mechanisms.simulation(seed=0).grant(10)}
    assert mechanism(votes, votes.values(), **settings) == "salad"
    settings["budget"] = mechanisms.simulation(seed=0).grant(10)
    assert mechanism(pd.Series(["pizza", "salad"], index=[1, 0]), pd.Series([1, 99], index=[1, 0]), **settings) == "salad"


@pytest.mark.parametrize("mechanism", SELECTIONS)
def test_a_dictionary_brings_its_scores(mechanism, account):
    assert mechanism({"DE": 120, "FR": 900, "IT": 7}, sensitivity=1, budget=account.grant(1)) == "FR"
    assert account.spent == 1
    with pytest.raises(BadInput, match=r"^scores: are missing\. Remedy: .*dictionary"):
        mechanism(["DE", "FR"], sensitivity=1, budget=account.grant(1))
    with pytest.raises(BadInput, match="^candidates: are empty"):
        mechanism({}, sensitivity=1, budget=account.grant(1))
    assert account.spent == 1


def test_a_dictionary_brings_its_scores_to_the_large_margin():
    settings = {"sensitivity": 1, "budget": mechanisms.simulation(seed=0).grant(1, delta=1e-6)}
    assert mechanisms.large_margin({"DE": 120, "FR": 90_000}, **settings) == "FR"
    with pytest.raises(BadInput, match="^scores: are missing"):
        mechanisms.large_margin(["DE"], **settings)


def test_cuts_outside_of_the_bounds_are_clipped(account):
    for _ in range(20):
        settings = {"bounds": (0, 1), "sensitivity": 1, "budget": account.grant(5)}
        assert 0 <= mechanisms.exponential_line([-7, 0.5, 99], [0, 0, 9, 0], **settings) <= 1


def test_a_cut_that_falls_counts_as_the_one_before_it(account):
    """And the piece between the two has no length, so nothing of it is drawn, however good its score."""
    for _ in range(20):
        settings = {"bounds": (0, 1), "sensitivity": 1, "budget": account.grant("1/20")}
        point = mechanisms.exponential_line([0.5, 0.1], [-(2**40), 2**50, 0], **settings)
        assert 0.5 <= point <= 1


# ------------------------------------------------------------------------------------------------------- the sampler


@given(st.lists(st.floats(0, 1e30), min_size=1, max_size=30), st.integers(0, 2**40))
def test_what_has_no_weight_is_never_drawn(weights, seed):
    array = np.array(weights)
    if not array.any():
        return
    assert array[pick(array, SimulatedNoise(seed=seed))] > 0


class Scripted:
    """An engine that gives the numbers that it was told to."""

    def __init__(self, *fractions: Fraction) -> None:
        self.fractions = list(fractions)

    def below(self, bound: int) -> int:
        return math.floor(self.fractions.pop(0) * bound)

    def outcome(self, law, how, private, draw):
        return draw()


@pytest.mark.parametrize(
    ("weights", "parts"),
    [
        ([1.0, 1.5, 1.25, 0.0], [4, 6, 5, 0]),  # one power of two: the second draw decides
        ([1.0, 2.0, 0.0, 4.0], [1, 2, 0, 4]),  # a power each: the first draw decides
        ([2.0**-900, 2.0**-899], [1, 2]),
        ([1 + 2.0**-30], [1]),  # in both halves of its digits
    ],
)
def test_the_sampler_is_exact(weights, parts):
    """On a grid that resolves the random numbers, each index comes out exactly as often as it should."""
    grid = [Fraction(2 * point + 1, 2 * sum(parts)) for point in range(sum(parts))]
    found = [pick(np.array(weights), Scripted(one, other)) for one in grid for other in grid]
    assert np.bincount(found, minlength=len(parts)).tolist() == [part * sum(parts) for part in parts]


@pytest.mark.parametrize(("point", "index"), [(0, 1), (2**16 - 1, 1), (2**16, 3), (2**16 + 3 * 2**15 - 1, 3)])
def test_each_index_has_its_whole_numbers_to_the_last_one(point, index):
    """The second draw is below 2^16 + 1.5 · 2^16: the first of them is not for an index without weight."""
    total = 2**16 + 3 * 2**15
    second = Fraction(2 * point + 1, 2 * total)
    assert pick(np.array([0.0, 1.0, 0.0, 1.5, 0.0]), Scripted(Fraction(1, 2), second)) == index


def test_many_weights_of_many_sizes():
    weights = np.random.default_rng(0).random(10**5) * 2.0 ** np.random.default_rng(1).integers(-300, 40, 10**5)
    counts = np.bincount([pick(weights, SimulatedNoise(seed=seed)) for seed in range(200)], minlength=weights.size)
    heavy = weights >= np.sort(weights)[-2000]
    assert counts[heavy].sum() >= 200 * (weights[heavy].sum() / weights.sum() - hoeffding(200))


# -------------------------------------------------------------------------------------------------------- the claims


def test_a_claim_of_monotone_scores_is_checked_on_public_data():
    def counts(votes):
        return [votes.count(option) for option in "abc"]

    mechanisms.check_scores(counts, list("aabbc"), sensitivity=1, monotone=True)

    def distances(votes):
        return [-abs(len(votes) - option) for option in (3, 5, 7)]

    mechanisms.check_scores(distances, list("aabbc"), sensitivity=1)

    def balances(signs):  # one record raises them all, another lowers them all: not monotone
        return [sum(signs), sum(signs) / 2]

    with pytest.raises(ValueError, match="monotone: is claimed"):
        mechanisms.check_scores(balances, [1, 1, -1], sensitivity=(1, 1), monotone=True, others=[1])
    with pytest.raises(ValueError, match="monotone: is claimed, but added records move some scores up and others down"):
        mechanisms.check_scores(distances, list("aabbc"), sensitivity=1, monotone=True)
    with pytest.raises(ValueError, match="sensitivity: is stated as 0.5"):
        mechanisms.check_scores(counts, list("aabbc"), sensitivity=0.5)
    with pytest.raises(ValueError, match="sensitivity: is stated as 0,"):
        mechanisms.check_scores(counts, list("aabbc"), sensitivity=(1, 0), others="d")


def test_the_talks_scores_are_monotone():
    """The largest class count of each side of a split, added up; attribute values and classes as pairs."""

    def max_scores(rows):
        found = []
        for cut in (2, 3, 5):
            sides = [[c for v, c in rows if (v < cut) == left] for left in (True, False)]
            found.append(sum(max((side.count(c) for c in "+-"), default=0) for side in sides))
        return found

    rows = [(1, "+"), (2, "-"), (3, "+"), (4, "+"), (5, "-"), (6, "-")]
    mechanisms.check_scores(max_scores, rows, sensitivity=1, monotone=True)


@pytest.mark.parametrize("name", ["exponential", "report_noisy_max", "permute_and_flip"])
def test_choices_that_are_made_at_once_are_each_like_one(name):
    """20,000 at once, from an array of candidates, beside 4,000 one by one."""
    select, scores = getattr(mechanisms, name), [0, 1.5, 3, 1]
    budget = mechanisms.simulation(seed=1, trials=20_000).grant(1)
    once = select(np.arange(4), scores, sensitivity=1, budget=budget)
    purse = mechanisms.simulation(seed=2)
    single = [select(range(4), scores, sensitivity=1, budget=purse.grant(1)) for _ in range(4_000)]
    assert stats.chi2_contingency([np.bincount(once), np.bincount(single)]).pvalue > 1e-9


def test_points_of_a_line_that_are_drawn_at_once_are_each_like_one():
    how = {"bounds": (0, 10), "sensitivity": 1}
    once = mechanisms.exponential_line(
        [1, 9], [0, 1, 3], budget=mechanisms.simulation(seed=1, trials=20_000).grant(1), **how
    )
    purse = mechanisms.simulation(seed=2)
    single = [mechanisms.exponential_line([1, 9], [0, 1, 3], budget=purse.grant(1), **how) for _ in range(4_000)]
    assert stats.ks_2samp(once, single).pvalue > 1e-9


def test_large_margins_that_are_looked_for_at_once_are_each_like_one():
    scores, purse = [60, 58, 20, 0], mechanisms.simulation(seed=2)
    token = mechanisms.simulation(seed=1, trials=20_000).grant(1, delta=0.05)
    once = mechanisms.large_margin(np.arange(4), scores, sensitivity=1, budget=token)
    tokens = [purse.grant(1, delta=0.05) for _ in range(4_000)]
    single = [mechanisms.large_margin(range(4), scores, sensitivity=1, budget=token) for token in tokens]
    seen = np.array([np.bincount(once, minlength=4), np.bincount(single, minlength=4)])
    assert stats.chi2_contingency(seen[:, seen.sum(axis=0) > 0]).pvalue > 1e-9


def test_weights_far_apart_are_picked_from_at_once_too():
    """The whole numbers below are longer than 64 bits."""
    weights = np.array([1.0, 2.0**-80, 1.0])
    picked = pick(weights, SimulatedNoise(0, trials=4_000))
    assert stats.binomtest(int((picked == 0).sum()), 4_000).pvalue > 1e-9
    assert set(picked.tolist()) == {0, 2}
