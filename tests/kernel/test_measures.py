"""Privacy beyond pure ε: conversions in closed form, and the account's rule against adaptive analysts of small games."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.budget import exact
from jostle.kernel.decimals import context, down, normal, root_down
from jostle.kernel.errors import BadInput
from jostle.kernel.measures import (
    Approximate,
    Concentrated,
    Cost,
    Pure,
    Spending,
    epsilon_of,
    gaussian_delta,
    gaussian_sigma,
    largest_rho,
)

AMOUNTS = st.fractions(Fraction(1, 1000), 20)
DELTAS = st.integers(1, 40).map(lambda k: Fraction(1, 2**k))


# ------------------------------------------------------------------------------------------------------------- caps


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Approximate(1, 0), "delta"),
        (lambda: Approximate(1, -1e-6), "delta"),
        (lambda: Approximate(1, 1), "delta"),
        (lambda: Approximate(0, 1e-6), "epsilon"),
        (lambda: Approximate(1, 1e-6, for_keys=2e-6), "for_keys"),
        (lambda: Approximate(1, 1e-6, for_keys=-1e-7), "for_keys"),
        (lambda: Pure(float("inf")), "epsilon"),
        (lambda: Concentrated(0), "rho"),
        (lambda: largest_rho(1, 1), "delta"),
        (lambda: gaussian_sigma(1, 0), "delta"),
        (lambda: Cost.gaussian(-1), "rho"),
        (lambda: Cost.key_selection(1, 1), "delta"),
    ],
)
def test_what_cannot_be_an_amount_is_refused_by_name(make, argument):
    with pytest.raises(BadInput) as caught:
        make()
    assert caught.value.argument == argument


# ------------------------------------------------------------------------------------------------------ conversions


def gain(order, delta):
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


@pytest.mark.parametrize(("epsilon", "delta", "rho", "sigma"), [(1, 1e-6, 0.02436, 4.531)])
def test_rho_of_the_anchor(epsilon, delta, rho, sigma):
    found = float(largest_rho(epsilon, delta))
    assert found == pytest.approx(rho, abs=5e-6)
    assert math.sqrt(1 / (2 * found)) == pytest.approx(sigma, abs=5e-4)


def test_a_hundred_releases_of_a_tenth():
    assert float(epsilon_of(100 * Cost.pure(0.1).rho, 1e-6)) == pytest.approx(5.22, abs=5e-3)


@given(AMOUNTS, DELTAS)
def test_conversions_are_inverse_and_rounded_to_the_safe_side(epsilon, delta):
    rho = largest_rho(epsilon, delta)
    # No order does better than the one that was found, and it is a bound of that order.
    orders = 1 + np.exp(np.linspace(-12, 25, 4000))
    best = max((float(epsilon) - gain(order, float(delta))) / order for order in orders)
    assert float(rho) == pytest.approx(max(best, 0), rel=1e-4)
    assert float(rho) >= best * (1 - 1e-9)
    if rho:
        back = epsilon_of(rho, delta)
        assert epsilon * (1 - Fraction(1, 10**10)) <= back
        assert float(back) == pytest.approx(float(epsilon), rel=1e-9)
        assert epsilon_of(rho * 2, delta) > epsilon


@given(AMOUNTS, DELTAS)
def test_gaussian_noise_at_the_converted_rho_is_private_by_its_own_formula(epsilon, delta):
    """The conversion holds for all that is ρ-zCDP, so for Gaussian noise too, whose δ is known in closed form."""
    rho = largest_rho(epsilon, delta)
    if rho:
        sigma = 1 / root_down(2 * rho)
        assert gaussian_delta(epsilon, sigma) <= delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"), [(1, 1e-6, 4.225), (1, 1e-5, 3.731), (0.1, 1e-6, 36.305), (10, 1e-6, 0.541)]
)
def test_sigma_of_the_anchors(epsilon, delta, sigma):
    found = gaussian_sigma(epsilon, delta)
    assert float(found) == pytest.approx(sigma, abs=5e-4)
    at, a_little_less = exact(epsilon), found * (1 - Fraction(1, 10**10))
    assert gaussian_delta(at, found) <= exact(delta) < gaussian_delta(at, a_little_less)


@given(st.floats(0.01, 5), st.floats(0.2, 30))
def test_delta_is_that_of_two_error_functions(epsilon, sigma):
    below = math.erfc((epsilon * sigma - 0.5 / sigma) / math.sqrt(2)) / 2
    above = math.erfc((epsilon * sigma + 0.5 / sigma) / math.sqrt(2)) / 2
    found = float(gaussian_delta(exact(epsilon), exact(sigma)))
    assert found == pytest.approx(below - math.exp(epsilon) * above, rel=1e-6, abs=1e-15)


@given(st.decimals(-38, 38, places=6))
def test_the_normal_distribution_function_is_bounded_from_both_sides(x):
    low, high = normal(x)
    assert low <= high
    assert float(low) == pytest.approx(math.erfc(-float(x) / math.sqrt(2)) / 2, rel=1e-11)
    assert high - low <= high.scaleb(-35)


@given(st.fractions(0, 10**6))
def test_roots_are_rounded_down_and_close(value):
    root = root_down(value)
    assert root**2 <= value
    assert (root + root / 10**18 + Fraction(1, 10**40)) ** 2 >= value
    assert root_down(value**2) == value


# ---------------------------------------------------------------------------------------- every analyst of small games
#
# A mechanism is a table: the probabilities of its outcomes on the data (P) and on a neighbour (Q), exact fractions. What an
# analyst can do worst is to maximise Σ max(0, P(path) − e^ε·Q(path)), which is P(S) − e^ε·Q(S) for the worst set S. That sum
# is over leaves, so dynamic programming over (likelihood ratio, charges) finds the best of *all* adaptive analysts, among
# them those who decide by earlier outcomes whether they pay in ε or in ρ, and when they stop.


def randomised_response(odds):
    """Pure: the true bit with probability odds/(odds + 1)."""
    p = Fraction(odds) / (Fraction(odds) + 1)
    return ((p, 1 - p), (1 - p, p)), Cost.pure(above_log(odds))


def leaky_key(odds, delta):
    """The worst (ε, δ) mechanism that there is (Kairouz, Oh, Viswanath 2015): it betrays all with probability δ."""
    p = (1 - delta) * Fraction(odds) / (Fraction(odds) + 1)
    q = 1 - delta - p
    return ((delta, p, q, Fraction(0)), (Fraction(0), q, p, delta)), Cost.key_selection(above_log(odds), delta)


def pooled_gaussian(sigma, cuts):
    """Gaussian noise, of which only the interval is told: no pure ε is claimed, and ρ is that of the table itself."""
    edges = [Decimal(-50), *(Decimal(str(cut)) for cut in cuts), Decimal(50)]

    def table(mean):
        masses = [Fraction(int(1e9 * float(normal((b - mean) / sigma)[1] - normal((a - mean) / sigma)[0])) + 1, 10**9)
                  for a, b in itertools.pairwise(edges)]  # fmt: skip
        return tuple(mass / sum(masses) for mass in masses)

    tables = table(Decimal(1)), table(Decimal(0))
    return tables, Cost.gaussian(rho_of(*tables))


def rho_of(p, q):
    """The least ρ of a table: the supremum of Rényi divergence over orders, both ways, with a margin for their grid."""
    a, b = (np.array([float(mass) for mass in table]) for table in (p, q))
    orders = 1 + np.exp(np.linspace(-9, 9, 4000))[:, None]
    both = [
        np.logaddexp.reduce(orders * np.log(x) + (1 - orders) * np.log(y), axis=1) / (orders[:, 0] - 1) / orders[:, 0]
        for x, y in ((a, b), (b, a))
    ]
    return Fraction(math.ceil(float(np.max(both)) * 1.0001 * 10**6), 10**6)


def above_log(odds):
    """A fraction not below ln(odds)."""
    return Fraction(math.ceil(math.log(Fraction(odds)) * 10**9 + 1), 10**9)


def below_exp(epsilon):
    return down(context().exp(Decimal(epsilon.numerator) / Decimal(epsilon.denominator)) * (1 - Decimal("1e-25")))


def worst_case(menu, allowed, epsilon, most=60):
    """max over all adaptive analysts and sets S of P(S) − e^ε·Q(S), where charges must stay allowed. A fraction."""
    factor = below_exp(Fraction(epsilon))
    admitted = cache(allowed)

    @cache
    def value(ratio, counts):
        best = max(Fraction(0), ratio - factor)
        if sum(counts) == most:
            return best
        for k, ((p, q), _) in enumerate(menu):
            charged = (*counts[:k], counts[k] + 1, *counts[k + 1 :])
            if admitted(charged):
                total = sum((q[o] * value(ratio * p[o] / q[o], charged) if q[o] else ratio * p[o]) for o in range(len(p)))
                best = max(best, total)
        return best

    return value(Fraction(1), (0,) * len(menu))


def spending_of(menu, counts):
    spending = Spending()
    for (_, cost), times in zip(menu, counts, strict=True):
        for _ in range(times):
            spending = spending.after(cost)
    return spending


def mirrored(mechanism):
    (p, q), cost = mechanism
    return (q, p), cost


CAP = Approximate(1, "1/5", for_keys="1/20")
NOISE = pooled_gaussian(Decimal(3), (-1, 3))
MENU = [randomised_response("5/4"), NOISE, leaky_key("6/5", Fraction(1, 40))]


@pytest.mark.parametrize(
    ("cap", "menu"),
    [
        (CAP, MENU),
        (CAP, [*MENU[:1], mirrored(NOISE), *MENU[2:]]),
        (Approximate(1, "1/10", for_keys=0), [randomised_response("6/5"), randomised_response("3/2"), NOISE]),
        (Approximate("1/2", "1/10", for_keys="1/11"), [randomised_response("9/8"), leaky_key("9/8", Fraction(1, 33))]),
        (Approximate("3/2", "1/4", for_keys="1/8"), [randomised_response("4/3"), leaky_key("3/2", Fraction(1, 16))]),
        (Pure("1/2"), [randomised_response("9/8"), randomised_response("5/4"), NOISE]),
    ],
    ids=["all kinds", "mirrored", "no keys", "mostly keys", "large", "pure"],
)
def test_no_adaptive_analyst_gets_more_than_epsilon_and_delta(cap, menu):
    worst = worst_case(menu, lambda counts: spending_of(menu, counts).allowed(cap), cap.epsilon)
    assert worst <= getattr(cap, "delta", 0)


def test_no_account_by_rho_exceeds_what_its_rho_converts_to():
    menu = [randomised_response("5/4"), NOISE]
    cap = Concentrated("1/4")
    for delta in (Fraction(1, 5), Fraction(1, 50)):
        worst = worst_case(menu, lambda counts: spending_of(menu, counts).allowed(cap), epsilon_of(cap.rho, delta))
        assert worst <= delta


def separate_pots(menu, cap):
    """Wrong: pure questions from a pot of ε, and Gaussian ones from a pot of ρ beside it."""

    def allowed(counts):
        pure = sum(times * cost.epsilon for (_, cost), times in zip(menu, counts, strict=True) if cost.epsilon is not None)
        rho = sum(times * cost.rho for (_, cost), times in zip(menu, counts, strict=True) if cost.epsilon is None)
        return pure <= cap.epsilon and rho <= cap.rho

    return allowed


def keys_for_free(menu, cap):
    """Wrong: δ of keys is not counted."""
    return lambda counts: (lambda s: Spending(s.epsilon, s.rho).allowed(cap))(spending_of(menu, counts))


def keys_without_epsilon(menu, cap):
    """Wrong: keys cost their δ and no ε."""
    without = [(tables, Cost(Fraction(0), Fraction(0), cost.delta) if cost.delta else cost) for tables, cost in menu]
    return lambda counts: spending_of(without, counts).allowed(cap)


def delta_counted_twice(menu, cap):
    """Wrong: ρ* at all of δ, though part of it goes to keys."""
    rho = largest_rho(cap.epsilon, cap.delta)

    def allowed(counts):
        s = spending_of(menu, counts)
        return s.delta <= cap.for_keys and ((s.epsilon is not None and s.epsilon <= cap.epsilon) or s.rho <= rho)

    return allowed


@pytest.mark.parametrize(
    ("rule", "cap", "menu"),
    [
        (separate_pots, Approximate(1, "1/10", for_keys=0), [randomised_response("27/10"), NOISE]),
        (keys_for_free, CAP, MENU[2:]),
        (keys_without_epsilon, Approximate("1/2", "1/10", for_keys="1/20"), [leaky_key("3/2", Fraction(1, 80))]),
        (delta_counted_twice, Approximate(1, "1/5", for_keys="9/50"), [NOISE, leaky_key("21/20", Fraction(9, 50))]),
    ],
)
def test_the_games_refute_rules_that_are_wrong(rule, cap, menu):
    right = worst_case(menu, lambda counts: spending_of(menu, counts).allowed(cap), cap.epsilon)
    wrong = worst_case(menu, rule(menu, cap), cap.epsilon, most=12)
    assert right <= cap.delta < wrong


# ------------------------------------------------------------------------------------------------------------- what is left


COSTS = st.one_of(
    AMOUNTS.map(lambda a: Cost.pure(a / 40)),
    AMOUNTS.map(lambda a: Cost.exponential(a / 40)),
    AMOUNTS.map(lambda a: Cost.gaussian(a / 2000)),
    AMOUNTS.map(lambda a: Cost.key_selection(a / 100, Fraction(1, 10**7))),
)
CAPS = st.sampled_from([Pure(1), Approximate(1, 1e-6), Approximate(2, 1e-5, for_keys=0), Concentrated("1/50")])


@given(CAPS, st.lists(COSTS, max_size=6))
def test_what_is_left_can_be_spent_and_nothing_beyond(cap, costs):
    spending = Spending()
    for cost in costs:
        if spending.after(cost).allowed(cap):
            spending = spending.after(cost)
    left = spending.left(cap)
    for amount, make in (
        (left.pure, Cost.pure),
        (left.exponential, Cost.exponential),
        (left.rho, Cost.gaussian),
        (left.delta, lambda delta: Cost.key_selection(left.pure, delta) if left.pure else None),
    ):
        if amount and make(amount):
            assert spending.after(make(amount)).allowed(cap)
            assert not spending.after(make(amount * Fraction(10**9 + 1, 10**9))).allowed(cap)


def test_an_approximate_account_is_never_worse_than_a_pure_one():
    cap, spending = Approximate(1, 1e-6), Spending()
    assert spending.after(Cost.pure(1)).allowed(cap)
    assert spending.after(Cost.pure(1)).left(cap).pure == 0
    many = Spending()
    while many.after(Cost.pure(0.01)).allowed(cap):
        many = many.after(Cost.pure(0.01))
    assert many.epsilon > 4  # 458 questions, where a pure account ends after 100


def test_the_rule_ends_one_way_and_not_the_other_way_round():
    cap = Approximate(1, 1e-6)
    many = Spending(Fraction(3), cap.rho / 2)
    assert many.allowed(cap)
    assert not many.after(Cost.pure(0.5)).allowed(cap)  # within neither
    dear = Spending(Fraction(1, 2), 2 * cap.rho)
    assert dear.allowed(cap)
    assert not dear.after(Cost.gaussian("1/1000000")).allowed(cap)
