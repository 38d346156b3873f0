"""Exact amounts of ε, as tokens that are spent once.

A token is a right to lose some privacy. Handing it to an operator of a source *is* the charge: the amount goes to
the token's purse, and the purse writes it down before any noise is drawn. Amounts are fractions, so what is split
adds up to what there was, exactly.

Pure ε is the one measure there is now. It is named in every token and every ledger event, so that zCDP (ρ) and
(ε, δ) can join as measures of their own, and are never added to ε by mistake.
"""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Final, NoReturn, final

from jostle.kernel.errors import BadInput, Overdraft, PlanError, show
from jostle.kernel.neighbours import Neighbours

if TYPE_CHECKING:
    from jostle.kernel.ledger.events import Event
    from jostle.kernel.noise import Noise

PURE: Final = "pure"
"""The measure of pure ε-differential privacy."""

_LARGEST: Final = 10**300  # amounts, and their denominators: beyond it they are slips, and no float can show them
_lock = threading.Lock()


def exact(value: object, argument: str = "epsilon", *, zero: bool = False) -> Fraction:
    """An amount of ε as the number that was written: 0.1 is one tenth, not the float nearest to it.

    The same exact number is charged and calibrates the noise, so nothing is gained or lost on the way in.

    >>> exact(0.1), exact("1/3"), exact(2)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2, 1))
    >>> exact(float("nan"))
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: epsilon: must be a finite number, got nan. Remedy: pass a positive number such as 0.5.
    >>> exact(0)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: epsilon: must be above 0, got 0. Remedy: pass a positive number such as 0.5.
    """
    remedy = "pass a positive number such as 0.5"
    try:
        if type(value).__name__ in ("bool", "bool_"):  # Python's and NumPy's
            raise TypeError
        if isinstance(value, Rational):
            amount = Fraction(int(value.numerator), int(value.denominator))  # NumPy's integers would wrap around later
        elif isinstance(value, (str, Decimal)):
            amount = _written(value)
        else:
            number = float(value)  # type: ignore[arg-type]
            if not math.isfinite(number):
                raise BadInput(argument, f"must be a finite number, got {number}", remedy)
            amount = Fraction(repr(number))
    except BadInput:
        raise
    except (TypeError, ValueError, ArithmeticError):
        raise BadInput(argument, f"must be a finite number, got {value!r}", remedy) from None
    if amount < 0 and zero:
        raise BadInput(argument, f"must be at least 0, got {value!r}", remedy)
    if amount <= 0 and not zero:
        raise BadInput(argument, f"must be above 0, got {value!r}", remedy)
    if amount.denominator > _LARGEST:
        raise BadInput(argument, "is finer than exact arithmetic keeps: a denominator beyond 10^300", "use a rounder one")
    if amount.numerator > _LARGEST * amount.denominator:
        raise BadInput(argument, "is beyond 10^300", remedy)
    return amount


def _written(value: str | Decimal) -> Fraction:
    """The number that a text or a decimal stands for. One like 1e999999999 is refused before its digits are written out."""
    if isinstance(value, str) and "/" in value:
        return Fraction(value)
    number = Decimal(value)
    if number.is_finite() and abs(number.adjusted()) > 1_000:
        raise OverflowError
    return Fraction(number)


def round_up(amount: Fraction) -> float:
    """The smallest float that is not below: for noise scales and for what was spent.

    >>> Fraction(round_up(Fraction(1, 10))) >= Fraction(1, 10)
    True
    """
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)


def round_down(amount: Fraction) -> float:
    """The largest float that is not above: for what is left.

    >>> Fraction(round_down(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    return -round_up(-amount)


class Home:
    """The process in which something was charged once and for all: its copy in a forked process is worth nothing.

    >>> Home().check()
    """

    def __init__(self) -> None:
        self._process = os.getpid()

    def check(self) -> None:
        """Raise in any other process."""
        if os.getpid() != self._process:
            raise PlanError("this was charged in another process, which has it still: charge it in the process that uses it")


class Purse(ABC):
    """Where the charges of one source go. A token is worth something only at the purse that granted it."""

    durable = False
    """Whether charges outlive the process: only such a purse can stand behind a release."""

    def __init__(self, neighbours: Neighbours | None = None, noise: Noise | None = None) -> None:
        self.neighbours = neighbours or Neighbours()
        self.noise = noise
        self.granted = Fraction(0)
        self.spent = Fraction(0)
        self.charges: list[Event] = []  # what a ledger has about what was paid from here
        self.left: Fraction | None = None  # of a ledger's account, when it was last read, less what was paid from here since
        self.lock = threading.Lock()

    def grant(self, epsilon: object) -> Budget:
        """A token for a computation on this purse's data. Granting charges nothing; spending does."""
        amount = exact(epsilon)
        self.check(amount)
        with self.lock:
            self.granted += amount
        return Budget(amount, self)

    def check(self, amount: Fraction) -> None:
        """Raise if it is already certain that the amount is not there, so that nobody starts what cannot be paid."""

    @abstractmethod
    def pay(self, amount: Fraction, *, operator: str, neighbours: Neighbours, note: str) -> None:
        """Record the charge durably, or raise and leave everything as it was."""

    def part(self, neighbours: Neighbours, noise: Noise, charges: Sequence[Event]) -> PartPurse:
        """The purse of one part of data that are split."""
        return PartPurse(neighbours, noise, charges)

    @property
    def unspent(self) -> Fraction:
        """What was granted and not spent."""
        return self.granted - self.spent


class CountingPurse(Purse):
    """A purse that writes nothing down: for simulations, and for parts whose budget was charged when they were split.

    >>> purse = CountingPurse()
    >>> token = purse.grant("1/2")
    >>> purse.unspent
    Fraction(1, 2)
    """

    def pay(self, amount: Fraction, *, operator: str, neighbours: Neighbours, note: str) -> None:
        """Nothing to write: the amount was paid for when the token was made, or is simulated."""
        if self.spent + amount > self.granted:
            raise Overdraft(requested=amount, remaining=self.granted - self.spent, of="this computation")


class PartPurse(CountingPurse):
    """The purse of a part of a split: it grants the one token that was charged when the data were split, and no more.

    >>> purse = PartPurse()
    >>> token = purse.grant(1)
    >>> purse.grant(1)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: a part of a split has one token, the one that it came with: split that token
    """

    def __init__(
        self, neighbours: Neighbours | None = None, noise: Noise | None = None, charges: Sequence[Event] = ()
    ) -> None:
        super().__init__(neighbours, noise)
        self.charges = list(charges)
        self._home = Home()

    def pay(self, amount: Fraction, *, operator: str, neighbours: Neighbours, note: str) -> None:
        """Nothing to write, but here alone: a forked process has a copy of every token, and nobody charged the copies."""
        self._home.check()
        super().pay(amount, operator=operator, neighbours=neighbours, note=note)

    def check(self, amount: Fraction) -> None:
        """A second token would be ε that nobody charged."""
        if self.granted:
            raise PlanError("a part of a split has one token, the one that it came with: split that token")


@final
class Budget:
    """An exact amount of ε that is spent once, whole, or split into tokens that add up to it.

    >>> whole = CountingPurse().grant(1)
    >>> first, rest = whole.split(0.05, 0.95)
    >>> first.epsilon, rest.epsilon
    (Fraction(1, 20), Fraction(19, 20))
    >>> whole.split(1, 1)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: this budget of ε = 1 was split already; a token is spent or split once
    """

    __slots__ = ("_epsilon", "_purse", "_used")

    measure: Final = PURE

    def __init__(self, epsilon: Fraction, purse: Purse) -> None:
        self._epsilon, self._purse, self._used = epsilon, purse, ""

    @property
    def epsilon(self) -> Fraction:
        """The exact amount; a public number, and readable after the token is spent."""
        return self._epsilon

    @property
    def neighbours(self) -> Neighbours:
        """What one person may change in the data that it is for."""
        return self._purse.neighbours

    @property
    def charges(self) -> tuple[Event, ...]:
        """The ledger's events of the computation that it is for, so far; in a part, those that paid for the split."""
        return tuple(self._purse.charges)

    @property
    def left(self) -> Fraction | None:
        """What the account had left by the last reading of its ledger and the charges made here since; None without one."""
        return self._purse.left

    def split(self, *weights: object) -> tuple[Budget, ...]:
        """Tokens in these proportions, which add up to this one exactly (sequential composition)."""
        if not weights:
            raise BadInput("weights", "no proportions were given", "call split(1, 1) for two halves")
        shares = [exact(w, "weights") for w in weights]
        unit = self._epsilon / sum(shares)
        parts = [unit * share for share in shares]
        if max(part.denominator for part in parts) > _LARGEST:
            raise BadInput("weights", "split this budget finer than exact arithmetic keeps", "split it fewer times")
        self._use("split")
        return tuple(Budget(part, self._purse) for part in parts)

    def split_evenly(self, parts: int) -> tuple[Budget, ...]:
        """Equal tokens, for that many steps one after the other."""
        return self.split(*[1] * parts)

    def spend(self, purse: Purse, *, operator: str, neighbours: Neighbours, note: str = "") -> Fraction:
        """For operators only: charge this token to the purse of the source that it is used on, and return its ε.

        The token counts as used from here on, whatever happens: a failed charge wastes it and returns nothing.
        """
        if purse is not self._purse:
            raise PlanError(
                f"a budget of ε = {show(self._epsilon)} was handed to a source that it was not granted for; use it on its "
                "own source, and in a part of a split only that part's own token"
            )
        self._use("spent")
        with purse.lock:
            purse.pay(self._epsilon, operator=operator, neighbours=neighbours, note=note)
            purse.spent += self._epsilon
        return self._epsilon

    def draw(self, *, operator: str, note: str = "") -> Noise:
        """For mechanisms that take numbers rather than a source: charge this token, then return the noise to use."""
        noise = self._purse.noise
        if noise is None:
            raise PlanError("this budget can be counted but not drawn on: grant it from an account or a simulation")
        self.spend(self._purse, operator=operator, neighbours=self._purse.neighbours, note=note)
        return noise

    def _use(self, how: str) -> None:
        with _lock:
            used, self._used = self._used, self._used or how
        if used:
            raise PlanError(f"this budget of ε = {show(self._epsilon)} was {used} already; a token is spent or split once")

    def __repr__(self) -> str:
        return f"Budget(ε = {show(self._epsilon)}{', ' + self._used if self._used else ''})"

    def __copy__(self) -> NoReturn:
        raise PlanError("a budget cannot be copied: split it")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> NoReturn:
        raise PlanError("a budget cannot be pickled: grant it in the process that spends it")


def check_token(budget: object) -> None:
    """Raise unless it is a token: an amount that nobody granted pays for nothing.

    >>> check_token(0.5)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: an operator is paid with a budget that was granted for its source, not with a number
    """
    if type(budget) is not Budget:
        raise PlanError("an operator is paid with a budget that was granted for its source, not with a number")
