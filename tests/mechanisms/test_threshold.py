"""Above threshold: the loss of whole transcripts, by enumeration, and of a variant that is known to be wrong."""

from __future__ import annotations

import copy
import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from jostle import mechanisms
from jostle.kernel.errors import PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms.sensitivity import Lattice, Sensitivity
from jostle.mechanisms.threshold import scales
from tests.kernel.helpers import RELATIONS
from tests.mechanisms.helpers import discrete_pmf, discrete_tail, hoeffding, loss, recorded


def transcripts(queries, positives, threshold_scale, query_scale):
    """The probability of every list of answers, summed over the noise on the threshold; queries are relative to it."""
    width = round(60 * threshold_scale)
    offsets, chances = np.arange(-width, width + 1), discrete_pmf(threshold_scale, width)
    yes = [discrete_tail(query_scale, offsets - query) for query in queries]
    found = []
    for answers in itertools.product((0, 1), repeat=len(queries)):
        stops = sum(answers) == positives and answers[-1]
        if sum(answers) < positives or stops:
            product = chances.copy()
            for chance, answer in zip(yes, answers, strict=True):
                product = product * (chance if answer else 1 - chance)
            found.append(product.sum())
    return found


@pytest.mark.parametrize(("positives", "monotone"), [(1, False), (1, True), (2, False), (2, True)])
def test_every_transcript_loses_at_most_epsilon(positives, monotone):
    unit, epsilon = 3, Fraction(2)
    sizes = scales(Sensitivity.of(unit, monotone=monotone), Neighbours(), epsilon, positives, monotone)
    worst = 0.0
    for queries in ([0, 0, 0], [-6, 3, 0], [9, -9, 1], [-20, -20, 20]):
        start = transcripts(queries, positives, *map(float, sizes))
        for move in itertools.product((0, unit) if monotone else (-unit, unit), repeat=3):
            other = transcripts(np.add(queries, move), positives, *map(float, sizes))
            worst = max(worst, loss(start, other))
    assert 0.25 * epsilon < worst <= epsilon + 1e-9


@pytest.mark.parametrize("neighbours", RELATIONS, ids=repr)
@pytest.mark.parametrize("monotone", [True, False])
def test_every_transcript_loses_at_most_epsilon_whoever_the_neighbours_are(neighbours, monotone):
    unit, epsilon, queries = 2, Fraction(2), [0, -4, 2]
    start = transcripts(
        queries, 1, *map(float, scales(Sensitivity.of(unit, monotone=monotone), neighbours, epsilon, 1, monotone))
    )
    added = list(itertools.product((0, 1) if monotone else (-1, 1), repeat=3))
    changed = list(itertools.product((-1, 1) if monotone else (-2, 2), repeat=3))
    one = added if neighbours.relation == "add_remove" else changed
    for move in one:
        sizes = scales(Sensitivity.of(unit, monotone=monotone), neighbours, epsilon, 1, monotone)
        moved = transcripts(np.add(queries, np.multiply(move, unit * neighbours.rows)), 1, *map(float, sizes))
        assert loss(start, moved) <= epsilon + 1e-9
    if neighbours.part:  # a record that leaves for another part loses half here, and half there
        for move in added:
            moved = transcripts(np.add(queries, np.multiply(move, unit)), 1, *map(float, sizes))
            assert loss(start, moved) <= epsilon / 2 + 1e-9


def test_monotone_under_replace_needs_one_direction_for_all_records():
    """Where one record raises all queries and another lowers them all, a replaced one moves them by 2Δ: too far."""
    sizes = list(map(float, scales(Sensitivity.of(4, monotone=True), Neighbours("replace"), Fraction(4), 1, True)))
    start, other = ([0] * 6, [8] * 5 + [0])
    assert loss(transcripts(start, 1, *sizes), transcripts(other, 1, *sizes)) > 5
    both = list(map(float, scales(Sensitivity.of(4), Neighbours("replace"), Fraction(4), 1, False)))
    assert loss(transcripts(start, 1, *both), transcripts(other, 1, *both)) <= 4


def test_several_answers_of_yes_with_the_noise_of_one_lose_more():
    """A published slip: the noise on the queries does not grow with the answers of yes."""
    one = scales(Sensitivity.of(3), Neighbours(), Fraction(2), 1, False)
    start, other = ([0, -90, 0, -90, 0], [3, -93, 3, -93, 3])
    bad = loss(transcripts(start, 3, *map(float, one)), transcripts(other, 3, *map(float, one)))
    good = scales(Sensitivity.of(3), Neighbours(), Fraction(2), 3, False)
    assert bad > 2.0
    assert loss(transcripts(start, 3, *map(float, good)), transcripts(other, 3, *map(float, good))) <= 2


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize(("positives", "monotone"), [(1, False), (4, False), (8, True)])
def test_the_two_scales_add_up_to_epsilon(neighbours, positives, monotone):
    budget, recorder = recorded("1/3", neighbours)
    search = mechanisms.AboveThreshold(10, sensitivity=1, budget=budget, positives=positives, monotone=monotone)
    search.above(3)
    moves = Lattice.for_sensitivity(Sensitivity.of(1, monotone=monotone), neighbours).sensitivity
    size, reach = moves.size(neighbours), moves.reach(neighbours, monotone=monotone)
    assert size / recorder.scales[0] + positives * reach / recorder.scales[1] == Fraction(1, 3)
    assert budget.epsilon == Fraction(1, 3)


def test_the_whole_charge_is_up_front_and_there_is_no_other(account):
    search = mechanisms.AboveThreshold(100, sensitivity=1, budget=account.grant(2), positives=2, note="scan")
    assert account.spent == 2
    answers = [search.above(value) for value in (-500, float("nan"), 700, None, 900)]
    assert answers == [False, False, True, False, True]
    assert account.spent == 2
    assert repr(search) == "<AboveThreshold with 0 answers of yes left>"
    with pytest.raises(PlanError, match="all answers of yes were given"):
        search.above(0)


def test_a_copy_would_answer_for_free(account):
    search = mechanisms.AboveThreshold(100, sensitivity=1, budget=account.grant(2))
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PlanError, match="nobody paid for"):
            make(search)
    with pytest.raises(AttributeError):
        search.left = 5


def test_numpys_whole_numbers_are_whole():
    budget = mechanisms.simulation(seed=0).grant(1)
    assert mechanisms.AboveThreshold(0, sensitivity=1, positives=np.int64(2), budget=budget).left == 2


def test_threads_share_the_answers_of_yes():
    search = mechanisms.AboveThreshold(0, sensitivity=1, positives=7, budget=mechanisms.simulation(seed=0).grant(1))

    def ask(_):
        try:
            return search.above(10**6)
        except PlanError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(200))) == 7


def test_extreme_values_are_clipped(account):
    search = mechanisms.AboveThreshold(0, sensitivity=1, budget=account.grant(2), positives=2)
    assert [search.above(value) for value in (-1e308, 1e308, np.inf)] == [False, True, True]


def test_the_error_holds_as_often_as_stated():
    queries, trials, confidence = 20, 400, 0.9
    error = mechanisms.utility.above_threshold_error(1.0, queries=queries, confidence=confidence)
    purse, right = mechanisms.simulation(seed=0), 0
    for _ in range(trials):
        search = mechanisms.AboveThreshold(0, sensitivity=1, budget=purse.grant(1))
        values = [-error] * (queries - 1) + [error]
        right += all(search.left and search.above(value) == (value > 0) for value in values)
    assert right / trials >= confidence - hoeffding(trials)


def test_searches_that_are_made_at_once_are_each_like_one():
    """The answers to three questions of 20,000 searches at once, beside those of 4,000 searches one by one."""

    def answered(search):
        return np.stack([np.where(search.left, search.above(value) if np.any(search.left) else 0, 2) for value in (0, 2, 1)])

    def counted(answers):
        return np.bincount(np.array([9, 3, 1]) @ answers, minlength=27)

    once = mechanisms.AboveThreshold(1, sensitivity=1, budget=mechanisms.simulation(seed=1, trials=20_000).grant(2))
    purse = mechanisms.simulation(seed=2)
    single = [answered(mechanisms.AboveThreshold(1, sensitivity=1, budget=purse.grant(2))) for _ in range(4_000)]
    assert stats.chi2_contingency(_seen(counted(answered(once)), counted(np.array(single).T))).pvalue > 1e-9


def _seen(*counts):
    """Without what never happened."""
    return np.array(counts)[:, np.sum(counts, axis=0) > 0]


def test_a_search_that_is_used_up_answers_no_until_all_are():
    search = mechanisms.AboveThreshold(0, sensitivity=1, budget=mechanisms.simulation(seed=0, trials=5).grant(100))
    assert search.above(1_000).tolist() == [True] * 5
    assert search.left.tolist() == [0] * 5
    with pytest.raises(PlanError, match="all answers of yes were given"):
        search.above(1_000)
    search = mechanisms.AboveThreshold(0, sensitivity=1, budget=mechanisms.simulation(seed=0, trials=200).grant(1))
    first, second = search.above(0), search.above(10**6)
    assert 0 < first.sum() < 200
    assert (second == ~first).all()
