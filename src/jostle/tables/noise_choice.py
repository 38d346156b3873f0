"""Laplace or Gaussian noise: what a question in an (ε, δ) account is paid with, by its expected error.

The choice is public: it depends on the question, the unit, and what the account has left.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from jostle.answers.prices import rounded_down
from jostle.kernel.budget import CONCENTRATED, PURE, Price
from jostle.kernel.measures import Approximate, largest_rho

if TYPE_CHECKING:
    from jostle.tables.table import Table

AS_PRICED: ContextVar[bool] = ContextVar("as_priced", default=False)
"""Whether a price is paid in its own measure, and no better one is looked for: a batch has decided that for all."""


def least_error(table: Table, price: Price | None, expected: Callable[[Price], float]) -> Price | None:
    """What to pay: in an (ε, δ) account, pure ε, or the ρ that is worth as much at the account's δ."""
    limit = table._budget.limit
    if AS_PRICED.get() or price is None or price.measure != PURE or not isinstance(limit, Approximate):
        return price
    rest = limit.delta - limit.for_keys
    rho = Price(rounded_down(largest_rho(price.amount, rest)), CONCENTRATED) if rest else price
    able = [one for one in (price, rho) if one.amount and table._budget.pays(one)]
    return min(able, key=expected, default=price)
