"""Whatever cannot be used is refused before any charge, in words that name the argument and the remedy."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from jostle import mechanisms
from jostle.kernel.errors import BadInput, JostleError
from jostle.kernel.ledger import Account
from jostle.mechanisms.arguments import column as column_of
from jostle.mechanisms.arguments import numbers, whole_numbers
from tests.mechanisms.helpers import recorded

NAN, INF = math.nan, math.inf


def chosen(mechanism):
    def call(budget, candidates=("a", "b"), scores=(1, 2), sensitivity=1, **settings):
        return mechanism(candidates, scores, sensitivity=sensitivity, budget=budget, **settings)

    return call


def line(budget, cuts=(3, 5), scores=(1, 2, 3), bounds=(0, 10), sensitivity=1, **settings):
    return mechanisms.exponential_line(cuts, scores, bounds=bounds, sensitivity=sensitivity, budget=budget, **settings)


def laplace(budget, value=1.0, sensitivity=1):
    return mechanisms.laplace(value, sensitivity=sensitivity, budget=budget)


def discrete(budget, value=1, sensitivity=1):
    return mechanisms.discrete_laplace(value, sensitivity=sensitivity, budget=budget)


def threshold(budget, threshold=3, sensitivity=1, **settings):
    return mechanisms.AboveThreshold(threshold, sensitivity=sensitivity, budget=budget, **settings)


def gradual(budget, value=1, sensitivity=1, epsilons=(1,)):
    return mechanisms.GradualRelease(value, sensitivity=sensitivity, epsilons=epsilons, budget=budget).next()


def column(mechanism):
    def call(budget, values=(1, 2, 3), bounds=(0, 10), **settings):
        return mechanism(values, bounds=bounds, budget=budget, **settings)

    return call


def quantiles(budget, values=(1, 2, 3), probabilities=(0.25, 0.5), bounds=(0, 10), **settings):
    return mechanisms.quantiles(values, probabilities, bounds=bounds, budget=budget, **settings)


SELECTIONS = {name: chosen(getattr(mechanisms, name)) for name in ("exponential", "report_noisy_max", "permute_and_flip")}
COLUMNS = {name: column(getattr(mechanisms, name)) for name in ("clipped_sum", "clipped_mean", "median")} | {
    "quantiles": quantiles
}
STATED = {**SELECTIONS, "line": line, "laplace": laplace, "discrete": discrete, "threshold": threshold, "gradual": gradual}
ALL = {**STATED, **COLUMNS}

SENSITIVITIES = [0, -1, NAN, INF, "x", None, (1,), (1, 2, 3), (0, 0), (1, NAN), (1, 3), True, 1e-300, 1e300]
BOUNDS = [(0, INF), (-INF, 0), (NAN, 1), (3, 3), (5, 2), (0,), None, 7, ("a", "b"), (0, 1e200), (1e6, 1e6 + 1e-9), (1, 2, 3)]

CASES = [
    *[(name, {"sensitivity": value}, "sensitivity") for name in STATED for value in SENSITIVITIES],
    *[(name, {"bounds": value}, "bounds") for name in (*COLUMNS, "line") for value in BOUNDS],
    *[(name, {"scores": value}, "scores") for name in SELECTIONS for value in ([1], [1, 2, 3])],
    *[(name, {"scores": [[1], [2]]}, "scores") for name in SELECTIONS],
    *[(name, {"candidates": [], "scores": []}, "candidates") for name in SELECTIONS],
    *[(name, {"candidates": value}, "candidates") for name in SELECTIONS for value in ({"a", "b"}, 2)],
    *[(name, {"monotone": True, "sensitivity": (1, 2)}, "monotone") for name in (*SELECTIONS, "threshold", "line")],
    *[(name, {"monotone": "yes"}, "monotone") for name in (*SELECTIONS, "threshold", "line")],
    *[("line", {"cuts": value}, "cuts") for value in ([[1, 2]], 5)],
    *[("line", {"scores": value}, "scores") for value in ([1, 2], [])],
    *[("laplace", {"value": value}, "value") for value in ("x", [[1], [1, 2]], np.array(1j), np.datetime64(0, "D"), {})],
    *[
        ("discrete", {"value": value}, "value")
        for value in (1.5, "x", np.array([1.0]), [[1], [1, 2]], np.timedelta64(5, "s"))
    ],
    *[("threshold", {"threshold": value}, "threshold") for value in (NAN, INF, [1, 2], "x")],
    *[("threshold", {"positives": value}, "positives") for value in (0, -1, 1.5, True)],
    *[
        (name, {"values": value}, "values")
        for name in COLUMNS
        for value in ("abc", np.array([[1, 2]]), 5, np.array([1j]), iter([1]))
    ],
    *[
        ("quantiles", {"probabilities": value}, "probabilities")
        for value in ([], [0.5, 0.25], [0.5, 0.5], [0], [1], [1.5], [NAN])
    ],
    *[(name, {"step": value}, "step") for name in ("quantiles", "median") for value in (0, -1, 11, NAN, INF, 1e-12)],
]


@pytest.mark.parametrize(("name", "settings", "argument"), CASES)
def test_it_is_refused_before_any_charge(name, settings, argument, account: Account):
    budget = account.grant(1)
    with pytest.raises(BadInput, match=rf"^{argument}: .+\. Remedy: .+\.$"):
        ALL[name](budget, **settings)
    assert account.spent == 0
    budget.split(1)  # and the token is still good


ODD_SCORES = [[NAN, 1, 2], [1, INF, -INF], [NAN, NAN, NAN], ["a", None, 1j], [10**400, -(10**400), 0]]
ODD_CUTS = [[5, 3], [NAN, 5], [INF, -INF], ["a", "b"], [123456789, 1]]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *[(name, {"candidates": ["a", "b", "c"], "scores": odd}) for name in SELECTIONS for odd in ODD_SCORES],
        *[("line", {"scores": odd}) for odd in ODD_SCORES],
        *[("line", {"cuts": odd}) for odd in ODD_CUTS],
    ],
)
def test_no_score_and_no_cut_is_refused(name, settings, account: Account):
    """Refused before the charge, one record's value would be told for nothing."""
    ALL[name](account.grant(1), **settings)
    assert account.spent == 1


@pytest.mark.parametrize("name", ALL)
def test_the_same_call_with_good_arguments_is_charged(name, account):
    ALL[name](account.grant(1))
    assert account.spent == 1


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("budget", [None, 1, 0.5, "1"])
def test_a_number_is_no_budget(name, budget):
    with pytest.raises(BadInput, match=r"^budget: must be a budget token"):
        ALL[name](budget)


@pytest.mark.parametrize("name", ["exponential", "line", "median", "quantiles", "discrete", "clipped_sum"])
def test_an_epsilon_that_nothing_can_be_drawn_with_is_refused(name, account):
    with pytest.raises(BadInput, match="epsilon"):
        ALL[name](account.grant("1e-200"))
    assert account.spent == 0


def test_messages_do_not_show_private_values(account):
    for call in (
        lambda: laplace(account.grant(1), value=np.array(["123456789"])),
        lambda: COLUMNS["clipped_sum"](account.grant(1), values=np.array([["123456789"]])),
        lambda: COLUMNS["clipped_sum"](account.grant(1), values=np.array(["x" * 1234])),  # NumPy's <U1234
        lambda: discrete(account.grant(1), value=np.array(["x" * 1234])),
        lambda: line(account.grant(1), cuts=range(1234), scores=[1]),  # the number of cuts may be that of records
    ):
        with pytest.raises(JostleError) as refused:
            call()
        assert "1234" not in str(refused.value)


@pytest.mark.parametrize("mechanism", ["clipped_sum", "clipped_mean", "median"])
@pytest.mark.parametrize(
    "stray",
    [
        "n/a",
        None,
        Decimal("sNaN"),
        np.longdouble("1e4000"),
        [3],
        (),
        {},
        np.ones(2),
        1j,
        b"3",
        np.timedelta64(1, "D"),
        object(),
    ],
    ids=lambda stray: type(stray).__name__ if type(stray) is object else repr(stray),
)
def test_one_stray_value_is_no_error(mechanism, stray, account):
    """It would say that somebody has it."""
    objects = np.empty(3, dtype=object)
    objects[:] = [1, 2, None]
    objects[2] = stray
    for values in ([1, 2, stray], objects, {1: 1, 2: 2, 3: stray}.values(), [stray, 1, 2]):
        assert 0 <= COLUMNS[mechanism](account.grant(1000), values=values) <= 15
    COLUMNS[mechanism](account.grant(1000), values=[stray])


@pytest.mark.parametrize("values", [["n/a"], ["n/a", None], np.array(["n/a", NAN], dtype=object), [], ["n/a", "7"], [7]])
def test_whether_anything_is_a_number_is_no_error(values, account):
    """One person more, with a number among texts, made the difference between an answer and an error that costs nothing."""
    for call in COLUMNS.values():
        assert np.all(np.abs(call(account.grant(1), values=values)) < 1e9)
    assert COLUMNS["clipped_sum"](account.grant(1000), values=["3", " 4.0", "n/a", None]) == pytest.approx(7, abs=1)


def test_an_array_of_texts_is_refused_before_any_charge(account):
    for call in COLUMNS.values():
        with pytest.raises(BadInput, match=r"^values: must be numbers\. Remedy"):
            call(account.grant(1), values=np.array(["34", "51"]))
    assert account.spent == 0


SIGNALLING = np.array([0x7FA00000, 0x3F800000], dtype=np.uint32).view(np.float32)
MASKED = np.ma.array([1.0, -999.0, 2.0], mask=[0, 1, 0], fill_value=-7)
WHOLE = np.ma.array([1, -999, 2], mask=[0, 1, 0], fill_value=-7)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("stray", [np.ma.masked, 1j, np.complex128(1j), np.timedelta64(3, "s"), np.datetime64("2020-01-01")])
def test_no_value_in_a_list_warns_or_is_refused(stray):
    for others in ([1.0, 2.0], [1, 2], []):
        assert np.isnan(numbers([*others, stray], "value")).tolist() == [False] * len(others) + [True]
        assert np.isnan(column_of([*others, stray])).tolist() == [False] * len(others) + [True]
        assert whole_numbers([*others, stray], "value").tolist() == [*others, 0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("read", [lambda values: numbers(values, "value"), column_of])
def test_a_nan_that_signals_is_one_like_others(read):
    for values in (SIGNALLING, list(SIGNALLING), [*SIGNALLING, 1.0]):
        assert np.isnan(read(values)[0])
        assert read(values)[1] == 1


@pytest.mark.filterwarnings("error")
def test_what_is_masked_is_missing_whatever_stands_below(account):
    for values in (MASKED, WHOLE, MASKED.astype(object), [*MASKED], [*WHOLE]):
        assert np.array_equal(numbers(values, "value"), [1, np.nan, 2], equal_nan=True)
        assert np.array_equal(column_of(values), [1, np.nan, 2], equal_nan=True)
    assert whole_numbers(WHOLE, "value").tolist() == whole_numbers([*WHOLE], "value").tolist() == [1, 0, 2]
    assert whole_numbers(WHOLE.reshape(1, 3), "value").tolist() == whole_numbers([WHOLE], "value").tolist() == [[1, 0, 2]]
    assert whole_numbers(np.ma.array(-999, mask=True), "value") == 0
    assert whole_numbers(MASKED, "value") is None
    assert WHOLE.data.tolist() == [1, -999, 2]
    (found,) = mechanisms.quantiles(MASKED, [0.5], bounds=(-1000, 10), budget=account.grant(100))
    assert found > 0


def test_one_number_that_is_missing_is_answered_as_another(account):
    missing = [None, np.ma.masked, np.ma.array([1, 2], mask=True).sum(), pd.NA]
    for value in [*missing, 3]:
        budget, recorder = recorded(1)
        assert isinstance(mechanisms.discrete_laplace(value, sensitivity=1.5, budget=budget), int)
        assert recorder.asked[0][1] == 1.5
        release = mechanisms.GradualRelease(value, sensitivity=1, epsilons=(1,), budget=recorded(1)[0], whole=True)
        assert isinstance(release.next(), int)
    assert isinstance(mechanisms.laplace((-8) ** 0.5, sensitivity=1, budget=account.grant(1)), float)
    search = mechanisms.AboveThreshold(10**6, sensitivity=1, budget=account.grant(1))
    assert search.above((-8) ** 0.5) is False


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_a_sparse_matrix_is_refused_before_any_charge(kind, account):
    for call in (laplace, discrete, gradual):
        with pytest.raises(BadInput, match="toarray"):
            call(account.grant(1), value=kind([[100.0, 200.0]]))
    assert account.spent == 0


def test_decisions_run_one_trial_at_a_time():
    for name in (*SELECTIONS, "gradual", "median", "quantiles"):
        with pytest.raises(JostleError, match="one trial at a time"):
            ALL[name](mechanisms.simulation(seed=0, trials=3).grant(1))
