"""What can go wrong, by who has to act: the caller, the author of a plan, or us.

No message in jostle contains a private value, and none is raised because of one.
"""

from __future__ import annotations

from fractions import Fraction


class JostleError(Exception):
    """Everything that jostle raises on purpose."""


class BadInput(JostleError, ValueError):
    """An argument cannot be used. The message names the argument and the remedy.

    >>> raise BadInput("epsilon", "must be above 0, got -1", "pass a positive number such as 0.5")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: epsilon: must be above 0, got -1. Remedy: pass a positive number such as 0.5.
    """

    def __init__(self, argument: str, problem: str, remedy: str) -> None:
        self.argument, self.problem, self.remedy = argument, problem, remedy
        super().__init__(f"{argument}: {problem}{'' if problem.endswith('?') else '.'} Remedy: {remedy}.")

    def __reduce__(self) -> tuple[object, ...]:
        return (BadInput, (self.argument, self.problem, self.remedy))


class BudgetError(JostleError):
    """A charge that may not be made."""


class Overdraft(BudgetError):
    """More was requested than is left. Nothing was charged and no noise was drawn.

    >>> raise Overdraft(requested=Fraction(1, 2), remaining=Fraction(1, 5), of="account 'people'")
    Traceback (most recent call last):
    jostle.kernel.errors.Overdraft: account 'people': requested ε = 0.5, remaining 0.2. Request at most
    0.2; `jostle budget` lists what was spent.
    """

    def __init__(self, *, requested: Fraction, remaining: Fraction, of: str, measure: str = "pure") -> None:
        self.requested, self.remaining, self.difference, self.measure = requested, remaining, requested - remaining, measure
        hint = f"Request at most {show(remaining)}" if remaining > 0 else "Nothing more can be released"
        hint += "; `jostle budget` lists what was spent."
        wish = f"{ {'concentrated': 'ρ', 'delta': 'δ'}.get(measure, 'ε') } = {show(requested)}"
        super().__init__(f"{of}: requested {wish}, remaining {show(remaining)}. {hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return (_overdraft, (self.requested, self.remaining, str(self).split(": requested ")[0], self.measure))


class PlanError(JostleError):
    """The author of a plan or an option broke a rule of the kernel (a token spent twice, a foreign strategy, …)."""


class LedgerError(JostleError):
    """The ledger cannot be read or written. Nothing is released without it."""


class InternalError(JostleError):
    """A fault of jostle itself. Please report it."""


def _overdraft(requested: Fraction, remaining: Fraction, of: str, measure: str) -> Overdraft:
    return Overdraft(requested=requested, remaining=remaining, of=of, measure=measure)


def show(amount: Fraction) -> str:
    """An exact amount for people: the decimal where it is short, else the fraction.

    >>> show(Fraction(1, 10)), show(Fraction(1, 3)), show(Fraction(2))
    ('0.1', '1/3 (about 0.333333)', '2')
    """
    if not -(10**15) < amount < 10**15:
        return f"about 10^{len(str(abs(amount.numerator) // amount.denominator)) - 1}"
    decimal = f"{float(amount):.12g}"
    if Fraction(decimal) == amount:
        return decimal
    fraction = f"{amount} (about {float(amount):.6g})"
    return fraction if len(fraction) < 60 else f"about {float(amount):.12g}"
