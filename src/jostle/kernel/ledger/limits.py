"""What an account may lose, what it has lost, and how both stand in a ledger's columns.

A pure account has one number for each, as in the first ledgers. Others have further ones, which follow the name of the
measure as `; name=fraction`: a jostle that does not know the measure refuses them. The columns `cap`, `spent` and `amount`
are single fractions in any case: ε, or ρ; what an (ε, δ) account has spent is its ρ there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from typing import Final, TypeAlias

from jostle.kernel.budget import CONCENTRATED, KEYS, PURE, Cost, exact
from jostle.kernel.decimals import decimal
from jostle.kernel.errors import BadInput, LedgerError, show
from jostle.kernel.measures import Approximate, Concentrated, Pure, Spending

Limit: TypeAlias = Fraction | Approximate | Concentrated
"""What an account may lose: pure ε as a number, which may be 0, or one of the other measures."""

LARGEST: Final = 10**100
FINEST: Final = 10**1_000  # far beyond what a plan's tokens need, and far below the digits that Python agrees to print
NOTHING: Final = "none"


def limit_of(cap: object, argument: str = "cap", *, zero: bool = False) -> Limit:
    """What somebody passed as a cap.

    >>> limit_of(Pure(0.5)), limit_of("1/3"), limit_of(Concentrated("1/50"))
    (Fraction(1, 2), Fraction(1, 3), Concentrated(rho=Fraction(1, 50)))
    """
    if isinstance(cap, (Approximate, Concentrated)):
        amount(amount_of(cap), argument)
        return cap
    if isinstance(cap, (type, tuple)):
        raise BadInput(argument, "must be a number, or a measure", "pass 1, or jostle.Approximate(epsilon=1, delta=1e-6)")
    return amount(cap.epsilon if isinstance(cap, Pure) else cap, argument, zero=zero)


def amount(value: object, argument: str, *, zero: bool = False) -> Fraction:
    """An exact number that a ledger keeps."""
    number = exact(value, argument, zero=zero)
    if number > LARGEST:
        raise BadInput(argument, "is above 10^100", "pass a number that means something for privacy, such as 1")
    return number


def amount_of(limit: Limit) -> Fraction:
    """Its ε, or its ρ."""
    if isinstance(limit, Fraction):
        return limit
    return limit.rho if isinstance(limit, Concentrated) else limit.epsilon


def name_of(limit: Limit) -> str:
    """The name of its measure."""
    return PURE if isinstance(limit, Fraction) else limit.name


def words(limit: Limit) -> str:
    """For people.

    >>> words(Approximate(1, 1e-6)), words(Fraction(1, 2)), words(Concentrated("1/50"))
    ('ε = 1, δ = 1e-06', '0.5', 'ρ = 0.02')
    """
    if isinstance(limit, Approximate):
        return f"ε = {show(limit.epsilon)}, δ = {show(limit.delta)}"
    return show(limit) if isinstance(limit, Fraction) else f"ρ = {show(limit.rho)}"


def how_to_pass(limit: Limit) -> str:
    """What to pass for a cap of the same measure."""
    return {PURE: "a number", Approximate.name: "jostle.Approximate(epsilon=…, delta=…)"}.get(
        name_of(limit), "jostle.Concentrated(rho=…)"
    )


def allowed(limit: Limit, spending: Spending) -> bool:
    """Whether an account may stand so."""
    if isinstance(limit, Fraction):
        return spending.epsilon is not None and 0 <= spending.epsilon <= limit
    return spending.allowed(limit)


def same(limit: Limit, one: Spending, other: Spending) -> bool:
    """Whether two totals are the same, of those that such an account keeps."""
    return totals(limit, one) == totals(limit, other)


def check_payable(limit: Limit, cost: Cost, name: str) -> None:
    """Raise if an account of this measure never pays for such a thing."""
    if cost.measure == CONCENTRATED and isinstance(limit, Fraction):
        remedy = "pass epsilon=…, or make an account of another name: cap=jostle.Approximate(epsilon=1, delta=1e-6)"
        raise BadInput("rho", f"the account {name!r} is of pure ε, of which Gaussian noise has none", remedy)
    if cost.delta and not isinstance(limit, Approximate):
        remedy = "make an account of another name: cap=jostle.Approximate(epsilon=1, delta=1e-6)"
        raise BadInput("delta", f"the account {name!r} has no δ", remedy)


def after(limit: Limit, spending: Spending, cost: Cost) -> Spending:
    """The totals with one more charge: exact, or rounded up where a denominator grows too large.

    A pure account's total is rounded to its cap at most; it has no other.
    """
    if isinstance(limit, Fraction):
        total = (spending.epsilon or Fraction(0)) + (cost.epsilon or Fraction(0))
        return Spending(min(limit, bounded(total)) if total <= limit else total)
    total_ = spending.after(cost)
    return Spending(None if total_.epsilon is None else bounded(total_.epsilon), bounded(total_.rho), bounded(total_.delta))


def bounded(total: Fraction) -> Fraction:
    """The total, or the next larger number of bounded size."""
    return total if total.denominator <= FINEST else Fraction(math.ceil(total * FINEST), FINEST)


def left(limit: Limit, spending: Spending, measure: str = PURE) -> Fraction:
    """The most that the next question may cost, paid in this measure.

    >>> left(Fraction(1), Spending(Fraction(1, 4))), left(Concentrated("1/50"), Spending(), "concentrated")
    (Fraction(3, 4), Fraction(1, 50))
    """
    if isinstance(limit, Fraction):
        return limit - (spending.epsilon or Fraction(0)) if measure == PURE else Fraction(0)
    found = spending.left(limit)
    return found.rho if measure == CONCENTRATED else found.pure


def shown(limit: Limit, rest: Fraction) -> Fraction:
    """For a message: what is left, rounded down to nine digits where it is a root or a converted amount."""
    if isinstance(limit, Fraction):
        return rest
    return Fraction(decimal(rest, Context(prec=9, rounding=ROUND_FLOOR)))


# ----------------------------------------------------------------------------------------------------------- columns


def limit_text(limit: Limit) -> str:
    """The column `measure` of an event that sets a cap.

    >>> limit_text(Approximate(1, 1e-6))
    'approximate; delta=1/1000000; for_keys=1/2000000'
    """
    if isinstance(limit, Approximate):
        return _joined(limit.name, delta=limit.delta, for_keys=limit.for_keys)
    return name_of(limit)


def read_limit(measure: str, found: Fraction) -> Limit | None:
    """The cap from `measure` and `amount` or `cap`; None if this jostle does not know the measure."""
    name, numbers = _parts(measure)
    if measure == PURE:
        return found
    try:
        if measure == CONCENTRATED:
            return Concentrated(found)
        if name == Approximate.name and {"delta", "for_keys"} <= numbers.keys() <= {"delta", "for_keys", "epsilon", "keys"}:
            return Approximate(found, text_number(numbers["delta"]), text_number(numbers["for_keys"]))
    except BadInput:
        raise LedgerError("a cap in the ledger is damaged. Restore it from a backup") from None
    return None


def cost_text(cost: Cost) -> str:
    """The column `measure` of a charge.

    >>> cost_text(Cost.pure(1)), cost_text(Cost.key_selection(1, 1e-6))
    ('pure', 'keys; delta=1/1000000')
    """
    return _joined(KEYS, delta=cost.delta) if cost.delta else cost.measure


def read_cost(measure: str, found: Fraction) -> Cost | None:
    """The cost of a charge from `measure` and `amount`; None if this jostle does not know the measure."""
    name, numbers = _parts(measure)  # an amount that was rounded up is finer than what one may pass: it is not checked again
    if measure in (PURE, CONCENTRATED):
        return Cost(found, found**2 / 2) if measure == PURE else Cost(None, found)
    known = name == KEYS and numbers.keys() == {"delta"}
    return Cost(found, found**2 / 2, text_number(numbers["delta"])) if known else None


def totals(limit: Limit, spending: Spending) -> dict[str, str]:
    """The columns of an account that change with a charge."""
    if isinstance(limit, Approximate):
        numbers = {"delta": limit.delta, "for_keys": limit.for_keys, "epsilon": spending.epsilon, "keys": spending.delta}
        return {"measure": _joined(limit.name, **numbers), "spent": number_text(spending.rho)}
    spent = spending.epsilon if isinstance(limit, Fraction) else spending.rho
    return {"spent": number_text(spent or Fraction(0))}


def read_totals(limit: Limit, measure: str, spent: Fraction) -> Spending:
    """The totals from the columns of an account."""
    if isinstance(limit, Fraction):
        return Spending(spent)
    numbers = _parts(measure)[1]
    if isinstance(limit, Concentrated):
        return Spending(None, spent)  # its ε and δ count for nothing
    epsilon = numbers.get("epsilon", "0")
    return Spending(None if epsilon == NOTHING else text_number(epsilon), spent, text_number(numbers.get("keys", "0")))


def number_text(number: Fraction) -> str:
    """An exact number as a ledger has it."""
    return f"{number.numerator}/{number.denominator}"


def text_number(text: str) -> Fraction:
    """The number that a ledger has."""
    try:
        return Fraction(text)
    except (TypeError, ValueError, ZeroDivisionError):
        raise LedgerError("an amount in the ledger is damaged. Restore it from a backup") from None


def _joined(name: str, **numbers: Fraction | None) -> str:
    shown = [f"{key}={NOTHING if value is None else number_text(value)}" for key, value in numbers.items()]
    return "; ".join([name, *shown])


def _parts(measure: str) -> tuple[str, Mapping[str, str]]:
    name, *numbers = measure.split("; ")
    return name, {key: value for key, _, value in (number.partition("=") for number in numbers)}
