"""Budgets are exact, add up, and are spent once."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.budget import Budget, Cost, CountingPurse, PartPurse, Purse, exact, round_down, round_up
from jostle.kernel.errors import BadInput, BudgetError, InternalError, Overdraft, PlanError, show
from jostle.kernel.neighbours import Neighbours

amounts = st.fractions(min_value=Fraction(1, 10**9), max_value=10**6, max_denominator=10**9)
HERE = {"operator": "laplace", "neighbours": Neighbours()}


class Refusing(Purse):
    """A purse whose ledger is out of reach."""

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        raise BudgetError("the ledger is out of reach")


# ------------------------------------------------------------------------------------------------------ amounts


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
        (" 1/3 ", Fraction(1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (2, Fraction(2)),
        (Fraction(7, 11), Fraction(7, 11)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (1e-300, Fraction(1, 10**300)),
    ],
)
def test_an_amount_is_the_number_that_was_written(written: object, meant: Fraction) -> None:
    amount = exact(written)
    assert amount == meant
    assert type(amount.numerator) is type(amount.denominator) is int  # NumPy's integers would wrap around in products


@given(st.floats(min_value=1e-280, max_value=1e280))
def test_an_amount_differs_from_its_float_by_less_than_rounding(number: float) -> None:
    assert float(exact(number)) == number
    assert exact(repr(number)) == exact(number) == exact(Decimal(repr(number)))


NO_NUMBERS = [math.nan, math.inf, -math.inf, True, False, np.True_, "nan", "inf", "", "much", "1/0", None, [1], 1j]
NO_DECIMALS = [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")]
TOO_SMALL = [0, -1, 0.0, -0.5, "-1/2", 1e-320, "1e-999999999", Fraction(1, 10**301), "0." + "1" * 400]
TOO_LARGE = ["1e400", 10**301, "1e999999999", Decimal("1e999999"), "9" * 5_000]


@pytest.mark.parametrize("bad", [*NO_NUMBERS, *NO_DECIMALS, *TOO_SMALL, *TOO_LARGE])
def test_a_bad_amount_is_refused_with_its_argument_and_a_remedy(bad: object) -> None:
    with pytest.raises(BadInput, match=r"^epsilon: .+\. Remedy: .+\.$"):
        exact(bad)
    purse = CountingPurse()
    with pytest.raises(BadInput):
        purse.grant(bad)
    assert purse.granted == 0


def test_zero_is_an_amount_only_where_it_is_asked_for() -> None:
    assert exact(0, zero=True) == 0
    with pytest.raises(BadInput, match="at least 0"):
        exact(-1, "cap", zero=True)


@given(st.fractions(min_value=-(10**12), max_value=10**12))
def test_rounding_goes_against_the_spender(amount: Fraction) -> None:
    up, down = round_up(amount), round_down(amount)
    assert Fraction(down) <= amount <= Fraction(up)
    if Fraction(up) != amount:
        assert Fraction(math.nextafter(up, -math.inf)) < amount < Fraction(math.nextafter(down, math.inf))
        assert math.nextafter(down, math.inf) == up
    else:
        assert up == down


def test_rounding_up_never_gives_zero_noise() -> None:
    assert round_up(Fraction(1, 10**400)) > 0


# ------------------------------------------------------------------------------------------------------- tokens


@given(amounts, st.lists(amounts, min_size=1, max_size=8))
def test_what_is_split_adds_up_exactly_in_proportion(epsilon: Fraction, weights: list[Fraction]) -> None:
    parts = CountingPurse().grant(epsilon).split(*weights)
    assert sum(part.epsilon for part in parts) == epsilon
    assert [part.epsilon * sum(weights) for part in parts] == [weight * epsilon for weight in weights]


@given(amounts, st.integers(1, 50))
def test_even_parts_are_even(epsilon: Fraction, parts: int) -> None:
    assert {token.epsilon for token in CountingPurse().grant(epsilon).split_evenly(parts)} == {epsilon / parts}


@given(amounts, st.lists(st.lists(amounts, min_size=1, max_size=3), min_size=1, max_size=4))
def test_spending_all_tokens_of_a_tree_of_splits_spends_the_grant(epsilon: Fraction, tree: list[list[Fraction]]) -> None:
    purse = CountingPurse()
    tokens = [purse.grant(epsilon)]
    for weights in tree:
        first, *others = tokens
        tokens = [*others, *first.split(*weights)]
    for token in tokens:
        token.spend(purse, **HERE)
    assert purse.spent == purse.granted == epsilon
    assert purse.unspent == 0


@pytest.mark.parametrize("bad", [(), (0,), (1, -1), (1, math.nan), (1, "x"), (True,)])
def test_a_bad_split_leaves_the_token_as_it_was(bad: tuple[object, ...]) -> None:
    token = CountingPurse().grant(1)
    with pytest.raises(BadInput, match=r"^weights: "):
        token.split(*bad)
    assert token.split(1, 1)[0].epsilon == Fraction(1, 2)


def test_splitting_stops_before_numbers_grow_without_bound() -> None:
    token = CountingPurse().grant(1)
    with pytest.raises(BadInput, match="split it fewer times"):  # noqa: PT012  # which of the splits is refused does not matter
        while True:
            token, _ = token.split(1, 10**20)
    assert token.epsilon.denominator <= 10**300


@pytest.mark.parametrize("first", ["spend", "split", "draw"])
@pytest.mark.parametrize("second", ["spend", "split", "draw"])
def test_a_token_is_used_once(first: str, second: str) -> None:
    purse = CountingPurse(noise=object())  # type: ignore[arg-type]
    token = purse.grant(1)
    use = {
        "spend": lambda: token.spend(purse, **HERE),
        "split": lambda: token.split(1, 1),
        "draw": lambda: token.draw(operator="laplace"),
    }
    use[first]()
    spent = purse.spent
    with pytest.raises(PlanError, match=r"^this budget of ε = 1 was (spent|split) already; a token is spent or split once$"):
        use[second]()
    assert purse.spent == spent
    assert token.epsilon == 1  # a public number, also afterwards


@pytest.mark.parametrize("way", ["spend", "split"])
def test_of_eight_threads_exactly_one_uses_a_token(way: str) -> None:
    for _ in range(20):
        purse = CountingPurse()
        purse.grant(100)  # so that nothing but the token itself stands in the way
        token, barrier, outcomes = purse.grant(1), threading.Barrier(8), []

        def use(
            token: Budget = token, purse: Purse = purse, barrier: threading.Barrier = barrier, to: list = outcomes
        ) -> None:
            barrier.wait()
            try:
                token.spend(purse, **HERE) if way == "spend" else token.split(1, 1)
                to.append("used")
            except PlanError:
                to.append("refused")

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["refused"] * 7 + ["used"]
        assert purse.spent == (1 if way == "spend" else 0)


def test_grants_and_charges_from_many_threads_add_up() -> None:
    purse = CountingPurse()

    def work() -> None:
        for _ in range(200):
            purse.grant("1/7").spend(purse, **HERE)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert purse.granted == purse.spent == Fraction(1_600, 7)


def test_a_token_is_worth_nothing_at_another_purse() -> None:
    mine, other = CountingPurse(), CountingPurse()
    token = mine.grant(1)
    with pytest.raises(PlanError, match="not granted for"):
        token.spend(other, **HERE)
    assert mine.spent == other.spent == 0
    assert token.spend(mine, **HERE) == 1  # the attempt did not use it


def test_a_failed_charge_wastes_the_token_and_returns_nothing() -> None:
    purse = Refusing()
    token = purse.grant(1)
    with pytest.raises(BudgetError, match="out of reach"):
        token.spend(purse, **HERE)
    assert purse.spent == 0
    with pytest.raises(PlanError, match="was spent already"):
        token.spend(purse, **HERE)


def test_a_forged_token_cannot_overdraw_a_counting_purse() -> None:
    purse = CountingPurse()
    purse.grant("1/2")
    with pytest.raises(Overdraft) as caught:
        Budget(Fraction(2), purse).spend(purse, **HERE)
    assert (caught.value.requested, caught.value.remaining, caught.value.difference) == (2, Fraction(1, 2), Fraction(3, 2))
    assert purse.spent == 0


def test_a_part_has_the_token_that_it_came_with_and_no_other() -> None:
    purse = PartPurse()
    token = purse.grant(1)
    with pytest.raises(PlanError, match="split that token"):
        purse.grant("1/1000")
    assert purse.granted == token.epsilon == 1


def test_noise_is_drawn_only_where_there_is_an_engine_and_after_the_charge() -> None:
    token = CountingPurse().grant(1)
    with pytest.raises(PlanError, match="counted but not drawn on"):
        token.draw(operator="laplace")
    assert "spent" not in repr(token)
    engine = object()
    purse = CountingPurse(noise=engine)  # type: ignore[arg-type]
    assert purse.grant(1).draw(operator="laplace") is engine
    assert purse.spent == 1
    refusing = Refusing(noise=engine)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="out of reach"):
        refusing.grant(1).draw(operator="laplace")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_token_cannot_be_duplicated(duplicate: object) -> None:
    with pytest.raises(PlanError, match="cannot be"):
        duplicate(CountingPurse().grant(1))  # type: ignore[operator]


def test_a_token_has_no_room_for_other_attributes() -> None:
    with pytest.raises(AttributeError):
        CountingPurse().grant(1).epsilon = Fraction(5)  # type: ignore[misc]
    with pytest.raises(AttributeError):
        CountingPurse().grant(1).extra = 1  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------------ messages


def test_an_overdraft_says_what_was_requested_and_what_can_be() -> None:
    error = Overdraft(requested=Fraction(1, 2), remaining=Fraction(1, 3), of="account 'people'")
    assert str(error) == (
        "account 'people': requested ε = 0.5, remaining 1/3 (about 0.333333). "
        "Request at most 1/3 (about 0.333333); `jostle budget` lists what was spent."
    )
    assert error.difference == Fraction(1, 6)


@given(amounts)
def test_an_amount_that_is_shown_in_decimals_is_that_number(amount: Fraction) -> None:
    text = show(amount)
    assert Fraction(text.split(" ")[0]) == amount


@pytest.mark.parametrize(
    "error",
    [
        BadInput("epsilon", "is bad", "pass a better one"),
        Overdraft(requested=Fraction(1), remaining=Fraction(1, 3), of="account 'a'"),
        PlanError("no"),
        BudgetError("no"),
        InternalError("no"),
    ],
)
def test_errors_reach_other_processes_whole(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # made in this test
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


# -------------------------------------------------------------------------------------------------------------- ρ


def test_a_token_of_rho_splits_like_one_of_epsilon() -> None:
    purse = CountingPurse()
    whole = purse.grant(rho="1/50")
    first, rest = whole.split(1, 3)
    assert (first.amount, rest.amount, first.measure) == (Fraction(1, 200), Fraction(3, 200), "concentrated")
    assert repr(rest) == "Budget(ρ = 0.015)"
    first.spend(purse, **HERE)
    assert purse.unspent == Fraction(3, 200)


def test_a_token_of_rho_has_no_epsilon_but_a_rate() -> None:
    token = CountingPurse().grant(rho="1/50")
    with pytest.raises(PlanError, match="has no ε: use `rate`"):
        token.epsilon  # noqa: B018
    assert token.rate == pytest.approx(2 * math.sqrt(0.02))
    assert (token.pure, token.exponential) == (Fraction(1, 5), Fraction(2, 5))
    assert token.cost == Cost(None, Fraction(1, 50))
    assert CountingPurse().grant("1/3").cost == Cost(Fraction(1, 3), Fraction(1, 18))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**3, max_denominator=10**12))
def test_the_epsilon_of_a_token_of_rho_costs_no_more_than_it(rho: Fraction) -> None:
    token = CountingPurse().grant(rho=rho)
    assert Cost.pure(token.pure).rho <= rho
    assert Cost.exponential(token.exponential).rho <= rho
    assert float(Cost.pure(token.pure).rho) == pytest.approx(float(rho), rel=1e-12)
    assert float(Cost.exponential(token.exponential).rho) == pytest.approx(float(rho), rel=1e-12)


def test_a_token_of_one_measure_is_not_paid_from_a_purse_of_another() -> None:
    purse = CountingPurse()
    purse.grant(1)
    with pytest.raises(Overdraft, match="requested ρ = 0.5"):
        Budget(Fraction(1, 2), purse, "concentrated").spend(purse, **HERE)
