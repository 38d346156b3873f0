"""What a release is to cost, as people say it: in ε, in (ε, δ), or in ρ."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from jostle.kernel.budget import PURE, Price
from jostle.kernel.errors import BadInput
from jostle.kernel.measures import Cap, Concentrated, Pure, largest_rho


def price_of(epsilon: Any, delta: Any, rho: Any) -> Any:
    """What to charge: with a δ, the ρ that (ε, δ) allows.

    >>> price_of(1, None, None), price_of(1, "1e-9", None).measure, round(float(price_of(1, "1e-9", None).amount), 4)
    (1, 'concentrated', 0.015)
    """
    if delta is None:
        return epsilon if rho is None else Price.of(epsilon, rho)
    if rho is not None or epsilon is None:
        raise BadInput("delta", "stands beside epsilon", "pass epsilon and delta, or only rho")
    return Price.of(None, rounded_down(largest_rho(epsilon, delta)))


def cap_for(price: Price) -> Cap:
    """The smallest account that pays for it.

    >>> cap_for(Price.of(1)), cap_for(Price.of(None, "1/50"))
    (Pure(epsilon=Fraction(1, 1)), Concentrated(rho=Fraction(1, 50)))
    """
    return Pure(price.amount) if price.measure == PURE else Concentrated(price.amount)


def rounded_down(amount: Fraction) -> Fraction:
    """To twelve digits."""
    down = Context(prec=12, rounding=ROUND_FLOOR)
    return Fraction(down.divide(Decimal(amount.numerator), Decimal(amount.denominator)))
