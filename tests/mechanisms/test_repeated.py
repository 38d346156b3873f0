"""The best of several runs: its price by its law, its charge, and that a run gets no more than its share."""

from __future__ import annotations

import copy
import math
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import jostle
from jostle import mechanisms
from jostle.kernel.budget import Cost, RunPurse
from jostle.kernel.errors import BadInput, Overdraft, PlanError
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Approximate
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource
from jostle.kernel.strategies import identity
from jostle.learn import PrivateMajority
from jostle.mechanisms.repeated import MOST_RUNS, ROUNDING, numbers_of_runs
from jostle.schema import Boolean, Integer

LAWS = {"geometric": 3, "logarithmic": 2}


def best_law(chances: np.ndarray, law: str, runs: float) -> np.ndarray:
    """The law of the best of a random number of draws, where outputs are in the order of their scores."""
    table = np.array([float(Fraction(one, numbers_of_runs(law, runs)[-1])) for one in numbers_of_runs(law, runs)])
    weights = np.diff(table, prepend=0.0)
    number = np.arange(1, weights.size + 1)
    upto = np.concatenate([[0.0], np.cumsum(chances)])
    return np.diff([(weights * x**number).sum() for x in np.minimum(upto, 1)])


@given(
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    st.floats(0.05, 2),
    st.sampled_from(["geometric", "logarithmic"]),
    st.sampled_from([1.5, 4.0, 30.0]),
)
def test_all_runs_together_lose_no_more_than_twice_or_thrice_the_epsilon_of_one(base, tilt, epsilon, law, runs):
    one = np.array(base) / sum(base)
    other = one * np.exp(np.array(tilt[: one.size]) * epsilon / 2)
    other /= other.sum()
    each = np.abs(np.log(one / other)).max()
    together = np.abs(np.log(best_law(one, law, runs) / best_law(other, law, runs))).max()
    assert together <= LAWS[law] * each + 1e-9


@pytest.mark.parametrize(("law", "price"), LAWS.items())
def test_a_fixed_number_of_runs_would_lose_more(law, price):
    """That all of twenty runs have the worst output is twenty times as telling as that one has."""
    one, other = np.array([0.5, 0.5]), np.array([0.6, 0.4])
    each = np.abs(np.log(one / other)).max()
    assert 20 * math.log(0.6 / 0.5) > price * each
    assert np.abs(np.log(best_law(one, law, 20) / best_law(other, law, 20))).max() <= price * each


@pytest.mark.parametrize("law", LAWS)
def test_the_number_of_runs_has_its_law_and_its_mean(law):
    table = numbers_of_runs(law, 10)
    weights = np.diff([0, *(float(Fraction(one, table[-1])) for one in table)])
    number = np.arange(1, weights.size + 1)
    assert (weights * number).sum() == pytest.approx(10)
    keep = 0.9 if law == "geometric" else 2 * weights[1] / weights[0]
    expected = keep**number / (1 if law == "geometric" else number)
    assert weights[:400] == pytest.approx((expected / expected.sum())[:400], rel=1e-9)
    seen = []
    for seed in range(600):
        seen.append(0)

        def attempt(run: mechanisms.repeated.Attempt) -> tuple[float, None]:
            seen[-1] += 1
            return 0.0, None

        budget = mechanisms.simulation(seed=seed).grant(1)
        mechanisms.best_of(attempt, budget=budget, runs=10, law=law)
    expected_counts = np.array([*weights[:4], weights[4:].sum()]) * len(seen)
    counted = np.bincount(np.minimum(seen, 5), minlength=6)[1:]
    assert stats.chisquare(counted, expected_counts).pvalue > 1e-7


def test_the_best_is_returned_and_between_equals_either():
    rng, names = np.random.default_rng(0), ["a", "b", "c"]

    def attempt(run):
        name = names[rng.integers(3)]
        return {"a": 1.0, "b": 1.0, "c": float("nan")}[name], name

    found = [
        mechanisms.best_of(attempt, budget=mechanisms.simulation(seed=seed).grant(1), runs=40, law="geometric")
        for seed in range(300)
    ]
    counts = {name: found.count(name) for name in names}
    assert counts["c"] < 30  # only where nothing else was tried
    assert abs(counts["a"] - counts["b"]) < 90  # five standard deviations


@pytest.mark.parametrize(("law", "price"), LAWS.items())
def test_a_release_is_charged_once_and_each_run_gets_its_share(law, price, tmp_path):
    shares = []

    def attempt(run):
        shares.append(run.epsilon)
        noisy = mechanisms.discrete_laplace(7, sensitivity=1, budget=run.grant())
        with pytest.raises(Overdraft, match="this run"):
            run.grant("1/1000")
        return noisy, run

    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=Approximate(epsilon=1, delta=1e-6))
        last = mechanisms.best_of(attempt, budget=people.grant("1/2"), law=law, runs=5, note="which")
        assert set(shares) == {(Fraction(1, 2) - ROUNDING) / price}
        (charge,) = ledger.events("people")[1:]
        assert (charge.operator, charge.cost) == ("best_of", Cost.pure("1/2"))
        assert last.neighbours == people.neighbours
        for ask in (last.grant, lambda: last.purse().grant("1/1000")):
            with pytest.raises(PlanError, match="only while it lasts"):
                ask()


def test_a_token_that_a_run_leaves_behind_is_worth_nothing(account):
    def attempt(run):
        return 0.0, run.grant()

    left = mechanisms.best_of(attempt, budget=account.grant(1), runs=2)
    with pytest.raises(PlanError, match="only while it lasts"):
        mechanisms.discrete_laplace(7, sensitivity=1, budget=left)


def test_a_part_that_a_run_leaves_behind_is_worth_nothing(account):
    def attempt(run):
        source = ReleaseSource([1, 2, 3, 4], purse=run.purse())
        first, (others, token) = source.split(Partition.intervals([0, 2], 4), source.grant(run.epsilon))
        return 0.0, (first, others.split(Partition.intervals([0, 1], 2), token)[0])

    for part, token in mechanisms.best_of(attempt, budget=account.grant(1), runs=2):
        with pytest.raises(PlanError, match="only while it lasts"):
            part.measure(identity(part.shape), token)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_run_grants_nothing_more(copied):
    """As scikit-learn makes of an estimator's account, for each fold."""

    def attempt(run):
        twin, purse = copied(run), copied(run.purse())
        run.grant(run.epsilon / 2)
        twin.grant(run.epsilon / 2)
        for ask in (twin.grant, lambda: purse.grant("1/1000")):
            with pytest.raises(Overdraft):
                ask()
        return 0.0, None

    mechanisms.best_of(attempt, budget=mechanisms.simulation(seed=0).grant(1), runs=2)


def test_threads_of_a_run_get_no_more_than_it_may_spend():
    class Slow(RunPurse):
        def check(self, cost):
            super().check(cost)
            time.sleep(0.02)  # time for the others to check, too

    purse = Slow(Neighbours(), None, Fraction(1), [])
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(purse.grant, 1) for _ in range(4)]
    assert sorted(type(one.exception()) is Overdraft for one in asked) == [False, True, True, True]
    assert purse.granted == 1


def test_a_run_may_fit_a_model_or_release_counts(account):
    """It is an account to whatever takes one."""
    schema = {"age": Integer(0, 9), "sick": Boolean()}
    rows, labels = [[age] for age in range(10)] * 20, [age > 4 for age in range(10)] * 20

    def attempt(run):
        half = run.epsilon / 2
        model = PrivateMajority(epsilon=half, schema=schema, label="sick", account=run).fit(rows, labels)
        noisy = jostle.release([90, 110], epsilon=half, account=run, algorithm="Laplace")
        return float(noisy.answers[0]), model

    assert mechanisms.best_of(attempt, budget=account.grant(1), runs=2).spent_ == (1 - ROUNDING) / 4
    assert account.spent == 1


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"law": "fixed"}, "law: 'fixed' is unknown"),
        ({"runs": 1}, "runs: must be above 1, and at most 200"),
        ({"runs": MOST_RUNS + 1}, "runs: must be above 1"),
        ({"runs": "many"}, "runs: must be a number above 0"),
        ({"budget": 1}, "must be a budget token"),
        ({"budget": mechanisms.simulation(seed=0).grant(rho=1)}, "budget: must be of pure ε"),
        ({"budget": mechanisms.simulation(seed=0).grant(1, delta=1e-6)}, "budget: must be of pure ε"),
        ({"budget": mechanisms.simulation(seed=0).grant("1e-20")}, "too small for several runs"),
    ],
)
def test_what_cannot_be_run_is_refused(changed, match):
    with pytest.raises((BadInput, PlanError), match=match):
        mechanisms.best_of(lambda run: pytest.fail("it ran"), **{"budget": mechanisms.simulation(seed=0).grant(1)} | changed)
