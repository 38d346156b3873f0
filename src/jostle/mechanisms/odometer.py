"""An odometer: how much an account has lost so far, as a bound that holds at any time one chooses to look.

A cap says what will never be exceeded. An odometer says what was lost until now, also if "now" was chosen because of what
was released.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from jostle.kernel.budget import PURE, exact
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account

STEP: Final = Fraction(5, 4)
"""The ratio of neighbouring levels of ρ."""

LEAST: Final = Fraction(1, 2**20)
"""The lowest level of ρ."""


class SpentSoFar(NamedTuple):
    """The loss so far: at most ε, except with probability δ."""

    epsilon: Fraction
    delta: Fraction

    def __str__(self) -> str:
        return f"ε = {float(self.epsilon):.6g}" + (f", δ = {float(self.delta):.6g}" if self.delta else "")


def spent_so_far(account: Account, delta: object = None) -> SpentSoFar:
    """A bound on what an account has lost until now, valid at any time, however the charges and the time were chosen.

    An account of pure ε needs no `delta`. One of (ε, δ) or ρ does, as soon as it paid for Gaussian noise. With `delta`, the
    bound may also be smaller than the sum of all ε.

    Privacy: it reads only the ledger. The sum of all ε bounds the loss of every transcript, so it holds at all times
    (Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters, NIPS 2016, Section 3). For ρ, fix levels
    ρ_j = LEAST·STEP^j. The computation that is stopped before its charges exceed ρ_j is ρ_j-zCDP, also if charges are chosen
    adaptively (Feldman,
    Zrnic: Individual privacy accounting via a Rényi filter, NeurIPS 2021), so its loss exceeds ρ_j + 2·√(ρ_j·ln(1/δ_j)) with
    probability δ_j at most (Bun, Steinke 2016, Lemma 3.5). With δ_j = δ/((j + 1)(j + 2)), which add up to δ, all levels
    hold at once; the one reported is the lowest that was not exceeded.

    >>> import jostle, tempfile
    >>> people = jostle.Ledger(tempfile.mkdtemp() + "/budget.db").account("people", cap=1)
    >>> _ = jostle.release([12, 40, 31, 8], epsilon=0.25, account=people, algorithm="Laplace")
    >>> print(spent_so_far(people))
    ε = 0.25
    """
    if not hasattr(account, "purse"):
        raise BadInput("account", "must be an account of a ledger", "pass for instance ledger.account('people', cap=1)")
    spending = account.ledger.balance(account.name).spending
    chance = Fraction(0) if delta is None else exact(delta, "delta")
    if chance >= 1:
        raise BadInput("delta", "must be below 1", "pass for instance 1e-6")
    if account.measure == PURE:  # its ledger keeps no ρ
        return SpentSoFar(spending.epsilon or Fraction(0), Fraction(0))
    plain = None if spending.epsilon is None else SpentSoFar(spending.epsilon, spending.delta)
    if not chance:
        if plain is None:
            raise BadInput("delta", "is needed: the account paid for Gaussian noise", "pass for instance delta=1e-6")
        return plain
    by_rho = SpentSoFar(_level_bound(spending.rho, chance), chance + spending.delta)
    return by_rho if plain is None or by_rho.epsilon < plain.epsilon else plain


def _level_bound(rho: Fraction, delta: Fraction) -> Fraction:
    """The loss that the lowest level of at least ρ stands for, rounded up.

    >>> round(float(_level_bound(Fraction(1, 2), Fraction(1, 10**6))), 2)
    8.03
    """
    if not rho:
        return Fraction(0)
    level, number = LEAST, 0
    while level < rho:
        level, number = level * STEP, number + 1
    log = math.log(float((number + 1) * (number + 2) / delta))
    return Fraction(math.ceil((float(level) + 2 * math.sqrt(float(level) * log)) * (1 + 1e-9) * 2**40), 2**40)
