"""What an account may lose, as people type it: `1`, `1,1e-6`, or `rho=0.02`."""

from __future__ import annotations

from typing import Any

from jostle.kernel.errors import BadInput


def cap_of(budget: str | None, delta: str | None = None, rho: str | None = None) -> Any:
    """The cap that these texts describe; None if there is none.

    >>> cap_of("1"), cap_of("1,1e-6") == cap_of("1", "1e-6"), cap_of("rho=0.02")
    ('1', True, Concentrated(rho=Fraction(1, 50)))
    """
    from jostle.kernel.measures import Approximate, Concentrated

    if budget is not None and budget.replace(" ", "").startswith("rho="):
        rho, budget = budget.partition("=")[2].strip(), None
    if rho is not None:
        if budget is not None or delta is not None:
            raise BadInput("budget", "is in ρ, and in ε or δ, too", "pass one of them")
        return Concentrated(rho)
    if budget is not None and "," in budget:
        budget, _, second = budget.partition(",")
        if delta is not None:
            raise BadInput("delta", "is named twice", "write it once: 1,1e-6")
        delta = second.strip()
    if delta is None:
        return budget
    if budget is None:
        raise BadInput("delta", "goes with an ε, which is missing", "pass --budget 1 --delta 1e-6")
    return Approximate(budget.strip(), delta)
