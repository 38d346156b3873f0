"""Exact amounts of ε or ρ, as tokens that are spent once.

A token is a right to lose some privacy. Handing it to an operator of a source *is* the charge: the amount goes to
the token's purse, and the purse writes it down before any noise is drawn. Amounts are fractions, so what is split
adds up to what there was, exactly.

A token has a measure: pure ε, or ρ, that of zero-concentrated differential privacy. So have its purse and the ledger's
events, so that one is never added to the other by mistake. What both mean to an account is in `measures`.
"""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Final, NoReturn, final

from jostle.kernel.decimals import root_down
from jostle.kernel.errors import BadInput, Overdraft, PlanError, show
from jostle.kernel.neighbours import Neighbours

if TYPE_CHECKING:
    from jostle.kernel.ledger.events import Event
    from jostle.kernel.noise import Noise

PURE: Final = "pure"
"""The measure of pure ε-differential privacy."""

CONCENTRATED: Final = "concentrated"
"""The measure of ρ-zero-concentrated differential privacy (Bun, Steinke: Concentrated differential privacy, TCC 2016)."""

KEYS: Final = "keys"
"""The measure of a selection of keys: ε, beside a δ."""

SYMBOLS: Final = {PURE: "ε", CONCENTRATED: "ρ", KEYS: "ε"}

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


def in_unit_interval(value: object) -> Fraction:
    """A δ: an exact number above 0 and below 1."""
    small = "pass a small number such as 1e-6"
    try:
        amount = exact(value, "delta")
    except BadInput as refused:
        raise BadInput("delta", refused.problem, small) from None
    if amount >= 1:
        raise BadInput("delta", f"must be below 1, got {value!r}", small)
    return amount


@final
@dataclass(frozen=True)
class Cost:
    """What one mechanism loses, in each currency.

    >>> Cost.pure(0.1).rho, Cost.exponential(0.1).rho, Cost.gaussian(0.1).epsilon
    (Fraction(1, 200), Fraction(1, 800), None)
    """

    epsilon: Fraction | None
    """Its pure ε; None if it has no pure ε, as Gaussian noise. Of a selection of keys, the ε beside its δ."""

    rho: Fraction
    """Its ρ. Of a selection of keys, that of the ε-private part of it."""

    delta: Fraction = Fraction(0)
    """The δ of a selection of keys; no other mechanism has one."""

    @classmethod
    def pure(cls, epsilon: object) -> Cost:
        """Any ε-differentially private mechanism: ρ = ε²/2."""
        amount = exact(epsilon)
        return cls(amount, amount**2 / 2)

    @classmethod
    def exponential(cls, epsilon: object) -> Cost:
        """A mechanism of bounded range ε, such as the exponential mechanism with exp(ε·score/range): ρ = ε²/8."""
        amount = exact(epsilon)
        return cls(amount, amount**2 / 8)

    @classmethod
    def gaussian(cls, rho: object) -> Cost:
        """Gaussian noise, continuous or discrete: ρ = (L2 sensitivity / σ)² / 2."""
        return cls(None, exact(rho, "rho"))

    @classmethod
    def key_selection(cls, epsilon: object, delta: object) -> Cost:
        """Any (ε, δ)-differentially private mechanism: an ε-private one that fails with probability δ."""
        return cls(exact(epsilon), exact(epsilon) ** 2 / 2, in_unit_interval(delta))

    @property
    def measure(self) -> str:
        """What it is paid in."""
        return KEYS if self.delta else CONCENTRATED if self.epsilon is None else PURE

    @property
    def amount(self) -> Fraction:
        """How much of that."""
        return self.rho if self.epsilon is None else self.epsilon


@final
@dataclass(frozen=True)
class Price:
    """What a computation is to cost: an amount of ε or of ρ. Wherever an ε is asked for inside jostle, a price may stand.

    >>> Price.of(0.5).amount, Price.of(None, "1/50").measure
    (Fraction(1, 2), 'concentrated')
    """

    amount: Fraction
    measure: str = PURE
    delta: Fraction = Fraction(0)
    """Beside the ε of a selection of keys."""

    @classmethod
    def of(cls, epsilon: object, rho: object = None, delta: object = None) -> Price:
        """From the one of the first two that was passed; with a δ, for a selection of keys."""
        if (epsilon is None) == (rho is None):
            raise BadInput("epsilon, rho", "must be one of the two", "pass epsilon for pure ε, or rho")
        if isinstance(epsilon, Price):
            return epsilon
        if delta is not None:
            return cls(exact(epsilon), KEYS, in_unit_interval(delta))
        return cls(exact(epsilon)) if rho is None else cls(exact(rho, "rho"), CONCENTRATED)

    @property
    def rate(self) -> float:
        """The ε at which Laplace noise has the same standard deviation on one count; for heuristics."""
        return float(self.amount) if self.measure == PURE else 2 * math.sqrt(self.amount)

    @property
    def pure(self) -> Fraction:
        """The ε of the pure mechanism that it pays for: any ε-private one has ρ = ε²/2. Rounded down.

        >>> Price.of(None, "1/50").pure
        Fraction(1, 5)
        """
        return self.amount if self.measure != CONCENTRATED else root_down(2 * self.amount)

    @property
    def exponential(self) -> Fraction:
        """The ε of the exponential mechanism that it pays for, which has a bounded range, and so ρ = ε²/8. Rounded down.

        >>> Price.of(None, "1/50").exponential
        Fraction(2, 5)
        """
        return self.amount if self.measure != CONCENTRATED else root_down(8 * self.amount)

    @property
    def cost(self) -> Cost:
        """What it loses."""
        if self.measure == KEYS:
            return Cost.key_selection(self.amount, self.delta)
        return Cost.pure(self.amount) if self.measure == PURE else Cost.gaussian(self.amount)

    def times(self, share: Fraction) -> Price:
        """A share of it: ε adds up, and so does ρ."""
        return Price(self.amount * share, self.measure)

    def __str__(self) -> str:
        return f"{SYMBOLS[self.measure]} = {show(self.amount)}"


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

    left_in: str = ""
    """The measure of what its account has left: ρ or pure ε; empty if it has no account."""

    by_path = True
    """Whether all that counts is the sum of ε on every path; not so where ρ is derived from every single ε."""

    def __init__(self, neighbours: Neighbours | None = None, noise: Noise | None = None) -> None:
        self.neighbours = neighbours or Neighbours()
        self.noise = noise
        self.measure: str | None = None  # of all its tokens: that of the first one
        self.granted = Fraction(0)
        self.spent = Fraction(0)
        self.charges: list[Event] = []  # what a ledger has about what was paid from here
        self.left: Fraction | None = None  # of a ledger's account, right after the last charge
        self.lock = threading.Lock()

    def grant(self, epsilon: object = None, *, rho: object = None, delta: object = None) -> Budget:
        """A token of ε or of ρ for a computation on this purse's data. Granting charges nothing; spending does.

        A token with a δ pays for a selection of keys and nothing else, beside tokens of either measure.
        """
        price = Price.of(epsilon, rho, delta)
        token = Budget(price.amount, self, price.measure, price.delta)
        with self.lock:  # the check too: of threads that ask at once, each must see what the others were granted
            self.check(token.cost)
            if price.delta:
                return token
            if self.measure not in (None, token.measure):
                raise PlanError("one computation is paid for in one measure: grant ε and ρ from purses of their own")
            self.measure = token.measure
            self.granted += token.amount
        return token

    def check(self, cost: Cost) -> None:
        """Raise if it is already certain that the amount is not there, so that nobody starts what cannot be paid."""

    @abstractmethod
    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        """Record the charge durably, or raise and leave everything as it was."""

    def part(self, neighbours: Neighbours, noise: Noise, charges: Sequence[Event]) -> PartPurse:
        """The purse of one part of data that are split."""
        return PartPurse(neighbours, noise, charges)

    @property
    def unspent(self) -> Fraction:
        """What was granted and not spent."""
        return self.granted - self.spent

    def __copy__(self, _: object = None) -> Purse:
        """The same: another one would grant once more what this one may."""
        return self

    __deepcopy__ = __copy__


class CountingPurse(Purse):
    """A purse that writes nothing down: for simulations, and for parts whose budget was charged when they were split.

    >>> purse = CountingPurse()
    >>> token = purse.grant("1/2")
    >>> purse.unspent
    Fraction(1, 2)
    """

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        """Nothing to write: the amount was paid for when the token was made, or is simulated."""
        if not cost.delta and (cost.measure != self.measure or self.spent + cost.amount > self.granted):
            raise Overdraft(requested=cost.amount, remaining=self.unspent, of="this computation", measure=cost.measure)


class RunPurse(CountingPurse):
    """The purse of one of several runs that were charged together, beforehand: it grants up to what one run may cost.

    >>> purse = RunPurse(Neighbours(), None, Fraction(1, 2), [])
    >>> token = purse.grant("1/4")
    >>> purse.grant("1/2")
    Traceback (most recent call last):
    jostle.kernel.errors.Overdraft: this run: requested ε = 0.5, remaining 0.25. Request at most 0.25; `jostle budget` lists
    what was spent.
    """

    durable = True  # the charge for all runs is in the ledger before the first of them begins

    def __init__(self, neighbours: Neighbours, noise: Noise | None, most: Fraction, charges: Sequence[Event]) -> None:
        super().__init__(neighbours, noise)
        self.charges, self._most, self._home, self._ended = list(charges), most, Home(), False

    def check(self, cost: Cost) -> None:
        """Pure ε, up to what is left of it; nothing after the run has ended."""
        self.check_lasts(cost)
        if cost.amount > self._most - self.granted:
            raise Overdraft(requested=cost.amount, remaining=self._most - self.granted, of="this run")

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        """Nothing to write, but here alone, and only while the run lasts."""
        self._home.check()
        self.check_lasts(cost)
        super().pay(cost, operator=operator, neighbours=neighbours, note=note)

    def part(self, neighbours: Neighbours, noise: Noise, charges: Sequence[Event]) -> PartPurse:
        """That of a part ends with the run."""
        return PartPurse(neighbours, noise, charges, self)

    def check_lasts(self, cost: Cost) -> None:
        """Raise if the run has ended, or another measure is to be paid in."""
        if self._ended or cost.measure != PURE:
            raise PlanError("a run is paid for in pure ε, and only while it lasts")

    def end(self) -> None:
        """No token of this run is worth anything from here on."""
        self._ended = True


class PartPurse(CountingPurse):
    """The purse of a part of a split: it grants the one token that was charged when the data were split, and no more.

    >>> purse = PartPurse()
    >>> token = purse.grant(1)
    >>> purse.grant(1)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: a part of a split has one token, the one that it came with: split that token
    """

    def __init__(
        self,
        neighbours: Neighbours | None = None,
        noise: Noise | None = None,
        charges: Sequence[Event] = (),
        within: RunPurse | PartPurse | None = None,
    ) -> None:
        super().__init__(neighbours, noise)
        self.charges, self._within = list(charges), within
        self._home = Home()

    def part(self, neighbours: Neighbours, noise: Noise, charges: Sequence[Event]) -> PartPurse:
        return PartPurse(neighbours, noise, charges, self)

    def check_lasts(self, cost: Cost) -> None:
        """Raise if it belongs to a run that has ended."""
        if self._within is not None:
            self._within.check_lasts(cost)

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        """Nothing to write, but here alone: a forked process has a copy of every token, and nobody charged the copies."""
        self._home.check()
        self.check_lasts(cost)
        super().pay(cost, operator=operator, neighbours=neighbours, note=note)

    def check(self, cost: Cost) -> None:
        """A second token would be a loss that nobody charged, and a δ was not charged with the split."""
        if self.granted or cost.delta:
            raise PlanError("a part of a split has one token, the one that it came with: split that token")


@final
class Budget:
    """An exact amount of ε or ρ that is spent once, whole, or split into tokens that add up to it.

    >>> whole = CountingPurse().grant(1)
    >>> first, rest = whole.split(0.05, 0.95)
    >>> first.epsilon, rest.epsilon
    (Fraction(1, 20), Fraction(19, 20))
    >>> whole.split(1, 1)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: this budget of ε = 1 was split already; a token is spent or split once
    """

    __slots__ = ("_amount", "_delta", "_measure", "_purse", "_used")

    def __init__(self, amount: Fraction, purse: Purse, measure: str = PURE, delta: Fraction = Fraction(0)) -> None:
        self._amount, self._measure, self._purse, self._used, self._delta = amount, measure, purse, "", delta

    @property
    def measure(self) -> str:
        """What the amount is of: pure ε, or ρ."""
        return self._measure

    @property
    def amount(self) -> Fraction:
        """The exact amount; a public number, and readable after the token is spent."""
        return self._amount

    @property
    def epsilon(self) -> Fraction:
        """The exact amount of a pure token; one of ρ has none."""
        if self._measure != PURE:
            raise PlanError(f"a budget of {self} has no ε: use `rate` to compare amounts of noise, or grant ε")
        return self._amount

    @property
    def rate(self) -> float:
        """The ε at which Laplace noise has the standard deviation of this token's noise, on one count; for heuristics.

        >>> CountingPurse().grant(0.5).rate, CountingPurse().grant(rho="1/100").rate
        (0.5, 0.2)
        """
        return self.price.rate

    @property
    def pure(self) -> Fraction:
        """The ε of the pure mechanism that it pays for."""
        return self.price.pure

    @property
    def exponential(self) -> Fraction:
        """The ε of the exponential mechanism that it pays for."""
        return self.price.exponential

    @property
    def price(self) -> Price:
        """Its amount in its measure."""
        return Price(self._amount, self._measure, self._delta)

    @property
    def cost(self) -> Cost:
        """What it loses when it is spent."""
        return self.price.cost

    @property
    def delta(self) -> Fraction:
        """The δ beside its ε; 0 but for selections that have one."""
        return self._delta

    @property
    def unit(self) -> str | None:
        """Whom the account protects that it was granted from; None without one."""
        return getattr(self._purse, "unit", None)

    @property
    def left_in(self) -> str:
        """The measure of what is left: that of its account; in a part, and in a simulation, its own."""
        return self._purse.left_in or self._measure

    @property
    def by_path(self) -> bool:
        """Whether it may be charged step by step for what is private as a whole: if all that counts is the sum of ε."""
        return self._measure == PURE and self._purse.by_path

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
        """What the account had left right after the last charge, or when this was granted; None without an account."""
        return self._purse.left

    def split(self, *weights: object) -> tuple[Budget, ...]:
        """Tokens in these proportions, which add up to this one exactly (sequential composition)."""
        check_token(self)
        if not weights:
            raise BadInput("weights", "no proportions were given", "call split(1, 1) for two halves")
        shares = [exact(w, "weights") for w in weights]
        unit = self._amount / sum(shares)
        parts = [unit * share for share in shares]
        if max(part.denominator for part in parts) > _LARGEST:
            raise BadInput("weights", "split this budget finer than exact arithmetic keeps", "split it fewer times")
        self._use("split")
        return tuple(Budget(part, self._purse, self._measure) for part in parts)

    def split_evenly(self, parts: int) -> tuple[Budget, ...]:
        """Equal tokens, for that many steps one after the other."""
        return self.split(*[1] * parts)

    def spend(self, purse: Purse, *, operator: str, neighbours: Neighbours, note: str = "") -> Fraction:
        """For operators only: charge this token to the purse of the source that it is used on, and return its amount.

        The token counts as used from here on, whatever happens: a failed charge wastes it and returns nothing.
        """
        if purse is not self._purse:
            raise PlanError(
                f"a budget of {self} was handed to a source that it was not granted for; use it on its "
                "own source, and in a part of a split only that part's own token"
            )
        self._use("spent")
        with purse.lock:
            purse.pay(self.cost, operator=operator, neighbours=neighbours, note=note)
            purse.spent += 0 if self._delta else self._amount
        return self._amount

    def draw(self, *, operator: str, note: str = "", with_delta: bool = False) -> Noise:
        """For mechanisms that take numbers rather than a source: charge this token, then return the noise to use.

        One that is private only up to a δ takes a token that has a δ, and no other mechanism does.
        """
        check_token(self, of_keys=with_delta)
        noise = self._purse.noise
        if noise is None:
            raise PlanError("this budget can be counted but not drawn on: grant it from an account or a simulation")
        self.spend(self._purse, operator=operator, neighbours=self._purse.neighbours, note=note)
        return noise

    def _use(self, how: str) -> None:
        with _lock:
            used, self._used = self._used, self._used or how
        if used:
            raise PlanError(f"this budget of {self} was {used} already; a token is spent or split once")

    def __str__(self) -> str:
        return str(self.price)

    def __repr__(self) -> str:
        return f"Budget({self}{', ' + self._used if self._used else ''})"

    def __copy__(self, _: object = None) -> NoReturn:
        raise PlanError("a budget cannot be copied: split it")

    __deepcopy__ = __copy__

    def __reduce__(self) -> NoReturn:
        raise PlanError("a budget cannot be pickled: grant it in the process that spends it")


def check_token(budget: object, *, of_keys: bool = False) -> None:
    """Raise unless it is a token: an amount that nobody granted pays for nothing. Those with a δ are for keys only.

    >>> check_token(0.5)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: an operator is paid with a budget that was granted for its source, not with a number
    """
    if type(budget) is not Budget:
        raise PlanError("an operator is paid with a budget that was granted for its source, not with a number")
    if of_keys != (budget.measure == KEYS):
        raise PlanError("a budget with a δ pays for a selection that has a δ, and no other does: grant(epsilon, delta=…)")
