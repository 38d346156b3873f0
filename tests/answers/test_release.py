"""Releases of data vectors: charged exactly, refused before any charge, with margins that mean something."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import jostle
from jostle import simulate, workloads
from jostle.kernel.errors import BadInput, LedgerError, Overdraft
from jostle.simulate import margins


@pytest.fixture
def ledger(tmp_path):
    with jostle.Ledger(tmp_path / "ledger.db") as opened:
        yield opened


@pytest.mark.parametrize(
    ("shape", "workload", "expected"),
    [
        ((8,), None, "Pythia"),
        ((32,), workloads.prefix(32), "Pythia"),
        ((32,), workloads.total(32), "OPT"),
        ((4, 4), workloads.marginals((4, 4)), "OPT"),
        ((8, 8), workloads.random_rectangles((8, 8), 40, seed=0), "Pythia"),
    ],
)
def test_the_usual_algorithm_fits_the_question(ledger, shape, workload, expected):
    account = ledger.account("d", cap=1)
    released = jostle.release(np.ones(shape, dtype=int), workload, epsilon=0.25, account=account, note="why")
    assert released.algorithm.name == expected
    assert (released.trace is not None) == (expected == "Pythia")
    assert released.estimate.shape == shape
    assert released.spent == Fraction(1, 4)
    assert released.remaining == account.remaining == Fraction(3, 4)
    charges = [event for event in ledger.events("d") if event.kind == "charge"]
    assert sum(event.amount for event in charges) == Fraction(1, 4)
    assert all(event.note.startswith(f"{expected}: why: ") for event in charges)
    assert "ε = 0.25" in released.explain()
    assert "because" in released.reason
    assert ("chosen by Pythia" if expected == "Pythia" else "because") in released.explain()


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"x": [1, -1]}, "x"),
        ({"x": [0.5, 1]}, "x"),
        ({"x": []}, "x"),
        ({"x": ["a", "b"]}, "x"),
        ({"workload": workloads.prefix(3)}, "workload"),
        ({"algorithm": "Nobody"}, "algorithm"),
        ({"algorithm": "HB", "depth": 3}, "depth"),
        ({"algorithm": "AdaptiveGrid"}, "algorithm"),
        ({"algorithm": "laplace"}, "algorithm"),
        ({"algorithm": "Laplace", "seed": 1}, "seed"),
        ({"x": {"a": 3}}, "x"),
        ({"x": 5}, "x"),
        ({"workload": "prefix"}, "workload"),
        ({"account": "people"}, "account"),
        ({"note": "n" * 600}, "note"),
        ({"filtered": "yes"}, "filtered"),
    ],
)
def test_bad_input_names_the_argument_and_charges_nothing(ledger, changes, argument):
    account = ledger.account("d", cap=1)
    asked = {"x": [3, 4], "epsilon": 0.1, "account": account} | changes
    with pytest.raises(BadInput, match="Remedy") as refused:
        jostle.release(asked.pop("x"), asked.pop("workload", None), **asked)
    assert refused.value.argument == argument
    assert account.spent == 0


def test_an_overdraft_is_refused_before_anything_is_measured(ledger):
    account = ledger.account("d", cap="1/3")
    with pytest.raises(Overdraft, match=r"requested ε = 0\.5, remaining 1/3"):
        jostle.release([1, 2], epsilon=0.5, account=account)
    assert [event.kind for event in ledger.events("d")] == ["open"]


def test_a_plan_that_fails_keeps_its_charge(ledger, monkeypatch):
    account = ledger.account("d", cap=1)
    monkeypatch.setattr("jostle.kernel.noise.ExactNoise.discrete_laplace", _broken)
    with pytest.raises(RuntimeError, match="no entropy"):
        jostle.release([1, 2], epsilon=0.5, account=account, algorithm="Laplace")
    assert account.spent == Fraction(1, 2)


def _broken(*_):
    raise RuntimeError("no entropy")


def test_no_charge_means_no_noise(ledger, monkeypatch):
    account = ledger.account("d", cap=1)
    drawn = []
    monkeypatch.setattr("jostle.kernel.noise.ExactNoise.discrete_laplace", lambda *_: drawn.append(1))
    monkeypatch.setattr(type(ledger), "charge_and_balance", _refused)
    with pytest.raises(LedgerError):
        jostle.release([1, 2], epsilon=0.5, account=account, algorithm="Laplace")
    assert not drawn


def _refused(*_, **__):
    raise LedgerError("the disk is full")


def test_replace_neighbours_keep_the_public_total(ledger):
    account = ledger.account("d", cap=1, neighbours="replace")
    x = np.array([5, 0, 9, 1])
    released = jostle.release(x, workloads.total(4), epsilon=1, account=account, algorithm="Uniform")
    assert released.answers == pytest.approx([15])


def test_the_total_of_some_of_the_records_gets_noise(ledger):
    """Where a condition or a histogram's range left some out, one that is replaced may begin or cease to count."""
    account = ledger.account("d", cap=100, neighbours="replace")
    asked = {"workload": workloads.total(4), "epsilon": 0.1, "account": account, "algorithm": "Uniform"}
    answers = [jostle.release([5, 0, 9, 1], filtered=True, **asked).answers[0] for _ in range(12)]
    assert any(abs(answer - 15) > 0.5 for answer in answers)
    released = jostle.release([5, 0, 9, 1], filtered=True, **asked)
    assert released.neighbours.filtered
    assert released.margins[0] > 10
    promise = {"workload": workloads.total(4), "within": 5, "account": account}
    assert jostle.release([5, 0, 9, 1], filtered=True, **promise).spent > 0.1


@pytest.mark.parametrize(
    ("name", "kind", "least"),
    [("HB", "prefix", 0.85), ("Adaptive", "prefix", 0.85), ("Laplace", "identity", 0.9), ("Bayes", "identity", 0.85)],
)
@pytest.mark.parametrize("data", ["smooth", "rough"])
def test_margins_cover_the_truth_about_as_often_as_they_say(name, kind, least, data):
    """Of the nominal 95 %; the bounds leave room for margins that are themselves simulated, and for few releases."""
    at = np.linspace(0, 1, 128)
    smooth = np.floor(3000 * np.exp(-(((at - 0.4) / 0.2) ** 2))).astype(int)
    x = smooth if data == "smooth" else np.random.default_rng(4).poisson(3, size=128)
    workload = getattr(workloads, kind)(128)
    covered = []
    for seed in range(12):
        estimate = next(simulate.estimates(name, x, workload, 0.1, trials=1, seed=seed))[0]
        off = margins.within_95(
            jostle.algorithms.get(name), estimate, workload, Fraction(1, 10), jostle.Neighbours("add_remove"), {}
        )
        covered.append((np.abs((workload @ estimate) - (workload @ x)) <= off).mean())
    assert np.mean(covered) > least


def test_margins_of_many_answers_are_the_same_order_statistics_in_little_memory(monkeypatch):
    cells = 2**14
    run = (jostle.algorithms.get("Uniform"), np.full(cells, 9.0), workloads.identity(cells))
    run = (*run, Fraction(1, 10), jostle.Neighbours("add_remove"), {})
    monkeypatch.setattr(margins, "MANY", cells - 1)
    monkeypatch.setattr(margins, "BLIND", ())
    errors = np.concatenate(list(margins.simulated_errors(run[2], *run)))
    assert len(errors) == 50
    tracemalloc.start()
    try:
        found = margins.within_95(*run)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, margins.order_statistic(np.abs(errors)))
    assert peak < 80 * 8 * cells  # all errors of 200 runs, three times over, would be 600


def test_intervals_say_of_which_kind_they_are(ledger):
    account = ledger.account("d", cap=9)
    cells = jostle.release([50, 3, 0, 9], epsilon=1, account=account, algorithm="HB")
    assert cells.interval_kind == "exact"
    shrunk = jostle.release([50, 3, 0, 9], epsilon=1, account=account, algorithm="Bayes")
    assert shrunk.interval_kind == "calibrated"
    wider = shrunk.margins_together / shrunk.margins
    np.testing.assert_allclose(wider, wider[0])
    assert wider[0] > 1


def test_intervals_together_hold_at_once():
    """300 runs of 20 cells: off by 0.16 with a chance below 10⁻⁶ (Hoeffding); single intervals would all hold in 36 %."""
    asked = workloads.identity(20)
    run = (jostle.algorithms.get("Laplace"), np.zeros(20), asked, Fraction(1, 10), jostle.Neighbours("add_remove"), {})
    off = margins.together_95(margins.within_95(*run), *run)
    runs = np.concatenate(list(simulate.estimates("Laplace", np.zeros(20, int), asked, 0.1, trials=300, seed=9)))
    assert (np.abs(runs) <= off).all(axis=1).mean() > 0.95 - 0.16


def test_within_takes_the_least_epsilon_that_keeps_the_promise(ledger):
    account = ledger.account("d", cap=5)
    truth = np.full(64, 40)
    released = jostle.release(truth, within=10, confidence=0.9, account=account)
    wish = jostle.epsilon_for(workloads.identity(64), 10, 0.9)
    assert released.spent == wish.epsilon
    assert released.algorithm.name == wish.algorithm
    assert "keeps each answer within ±10 with 90% confidence" in released.explain()
    # 64 answers, each beyond 10 with probability 0.1 at most: 40 of them with less than 1e-20
    assert (np.abs(released.answers - truth) > 10).sum() < 40


def test_within_is_paid_for_in_rho_where_the_account_has_only_that(ledger):
    account = ledger.account("d", cap=jostle.Concentrated(rho=1))
    released = jostle.release(np.full(64, 40), within=10, account=account)
    assert (released.measure, released.spent) == (
        "concentrated",
        jostle.epsilon_for(workloads.identity(64), 10, measure="concentrated").epsilon,
    )
    laplace = jostle.epsilon_for(workloads.identity(64), 10).epsilon
    assert released.spent < laplace**2 / 4  # in ρ, Laplace noise of that ε would cost ε²/2


def test_within_and_epsilon_are_one_or_the_other(ledger):
    account = ledger.account("d", cap=5)
    with pytest.raises(jostle.BadInput, match="^within: "):
        jostle.release([1, 2], within=1, epsilon=1, account=account)
    with pytest.raises(jostle.BadInput, match="^stand_in: "):
        jostle.release([1, 2], within=1, algorithm="Bayes", account=account)
    with pytest.raises(jostle.BadInput, match="^epsilon"):
        jostle.release([1, 2], account=account)
    assert account.remaining == 5


def test_a_release_reads_its_ledger_once_and_charges_it_once(ledger, monkeypatch):
    """On a server, every transaction is a journey there and back."""
    account, begun, transaction = ledger.account("d", cap=1), [], type(ledger._store).transaction
    monkeypatch.setattr(
        type(ledger._store), "transaction", lambda self, write=False: begun.append(write) or transaction(self, write=write)
    )
    jostle.release([1, 2], epsilon=0.5, account=account, algorithm="Laplace")
    assert begun == [False, True]


def test_a_ledger_that_fails_after_the_charge_takes_no_answer_with_it(ledger, monkeypatch):
    account, charge = ledger.account("d", cap=1), type(ledger).charge_and_balance

    def charge_then_fail(self, *args, **options):
        found = charge(self, *args, **options)
        monkeypatch.setattr(type(ledger), "balance", _refused)
        return found

    monkeypatch.setattr(type(ledger), "charge_and_balance", charge_then_fail)
    assert jostle.release([1, 2], epsilon=0.25, account=account, algorithm="Laplace").remaining == Fraction(3, 4)


def test_counts_over_three_axes(ledger):
    account, release = ledger.account("cube", cap=1000), jostle.release
    x = np.arange(24).reshape(4, 3, 2)
    cells = release(x, epsilon=100, account=account)
    assert cells.estimate.shape == x.shape
    assert np.allclose(cells.answers, x.reshape(-1), atol=2)
    margins = release(x, workloads.marginals(x.shape, (0,), (1, 2)), epsilon=100, account=account)
    assert np.allclose(margins.answers, [*x.sum(axis=(1, 2)), *x.sum(axis=0).reshape(-1)], atol=4)
    assert np.isfinite(margins.margins).all()
    with pytest.raises(BadInput, match="is over 3 axes, with 3,000 queries over 27,000 cells"):
        release(np.ones((30, 30, 30), dtype=int), random_boxes((30, 30, 30)), epsilon=1, account=account)


def random_boxes(shape):
    return workloads.random_rectangles(shape, 3_000, seed=0)
