"""Writes down all that a private computation does, and makes it do the same on a neighbour: engine, purse and account.

A plan sees private values only through noise that it pays for. A recording keeps every charge and every draw. A replay hands
out the same results on other data, and stops at the first charge or draw that is not the one on the tape. What the plan does
between two draws then depends on nothing but released values, or it shows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, TypeVar

import numpy as np
import sqlalchemy as sa

from jostle.audit.replay.compare import close, difference
from jostle.audit.replay.laws import LAWS, threshold_loss
from jostle.kernel.budget import CONCENTRATED, PURE, SYMBOLS, Cost, PartPurse, Price, Purse
from jostle.kernel.ledger import Account, Ledger
from jostle.kernel.ledger.accounts import check_unit
from jostle.kernel.ledger.events import ROWS, Balance, Event
from jostle.kernel.ledger.limits import cost_text
from jostle.kernel.ledger.store import META
from jostle.kernel.measures import Approximate, Concentrated, Spending
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import ExactNoise, Noise, SimulatedNoise
from jostle.kernel.partition import Counts, Vector

T = TypeVar("T")
GRADUAL = "gradual_release"

STATEFUL = {"gradual release": GRADUAL, "threshold": "above_threshold", "above threshold": "above_threshold"}
"""Laws of draws that belong to an earlier charge of this operator, whatever was charged in between."""


class Diverged(BaseException):
    """A replay did something else than the recording. No plan can catch it by catching all errors."""


@dataclass
class Charge:
    """A token that was spent."""

    operator: str
    price: Price
    neighbours: Neighbours
    note: str
    in_part: bool
    """Whether it was charged when the data were split, so that it adds nothing."""

    def __str__(self) -> str:
        return f"a charge of {self.price} for {self.operator} ({self.note})"


@dataclass
class Draw:
    """A result that was drawn from private values."""

    law: str
    how: Any
    """Public numbers, such as the scale of the noise."""

    private: Any
    result: Any

    def __str__(self) -> str:
        return f"a draw by the law {self.law!r}"


@dataclass
class _Paid:
    """What was paid for some draws, and what they told."""

    charge: Charge
    amount: Fraction
    told: float = 0.0
    """The ε of draws that are private with pure ε."""

    told_rho: float = 0.0
    """The ρ of Gaussian noise and of the exponential mechanism, which have one."""

    @property
    def loss(self) -> float:
        """In the measure of the charge. Pure ε is ρ = ε²/2; what only has a ρ has no ε."""
        if self.charge.price.measure != CONCENTRATED:
            return self.told if not self.told_rho else math.inf
        return self.told**2 / 2 + self.told_rho


@dataclass
class Recording:
    """A tape that is written."""

    seed: int
    entries: list[Charge | Draw] = field(default_factory=list)
    _within: int = 0

    def __post_init__(self) -> None:
        self.noise = SimulatedNoise(self.seed)

    def charge(self, charge: Charge) -> None:
        self.entries.append(charge)

    def draw(self, law: str, how: Any, private: Any, draw: Callable[[], T]) -> T:
        """Draw, and keep the result. What is drawn on the way to it is not released, and is not kept."""
        if self._within:
            return draw()
        before = _copied(private)
        self._within += 1
        try:
            result = draw()
        finally:
            self._within -= 1
        self.entries.append(Draw(law, how, before, _copied(result)))
        return result

    @property
    def charged(self) -> Fraction:
        """The sum of all charges: of ε, or of ρ if there is any."""
        found = [one.price for one in self.entries if isinstance(one, Charge) and not one.in_part]
        return sum((amount_in(_measure(found), price) for price in found), Fraction(0))


@dataclass
class Replay:
    """A tape that is read, with a sum of what each result tells about which of the two it was made from."""

    tape: Recording
    problems: list[str] = field(default_factory=list)
    place: int = 0

    total: float = 0.0
    """How much all results so far tell, at most: in the measure of what was paid."""

    paid: Fraction = Fraction(0)
    """The sum of all charges so far: of ε, or of ρ if the recording has any."""

    _groups: dict[str, _Paid] = field(default_factory=dict)
    _gradual: tuple[Any, float] = (0, 0.0)
    _threshold: tuple[Any, int, list[int], list[int], list[bool]] | None = None

    def __post_init__(self) -> None:
        self.noise = SimulatedNoise(self.tape.seed)
        self.measure = _measure([one.price for one in self.tape.entries if isinstance(one, Charge)])

    def charge(self, charge: Charge) -> None:
        expected = self._next(str(charge))
        if not isinstance(expected, Charge) or expected != charge:
            self._diverge(f"the neighbour has {charge}, where the recording has {expected}")
        key = charge.operator if charge.operator in STATEFUL.values() else ""
        if charge.operator == GRADUAL and key in self._groups:
            self._groups[key].amount += charge.price.amount  # the first steps were paid for, and only the rest is now
        else:
            self._groups[key] = _Paid(charge, charge.price.amount)
        self.paid += 0 if charge.in_part else amount_in(self.measure, charge.price)

    def draw(self, law: str, how: Any, private: Any, draw: Callable[[], T]) -> T:
        """The result on the tape; what led to it there is compared with what would lead to it here."""
        expected = self._next(f"a draw by the law {law!r}")
        if not isinstance(expected, Draw) or expected.law != law:
            self._diverge(f"the neighbour has a draw by the law {law!r}, where the recording has {expected}")
        if difference(expected.how, how) is not None:
            self._diverge(f"the public numbers of {expected} are others on the neighbour")
        if LAWS[law].public_shape and _form(private) != _form(expected.private):
            self._diverge(f"what is measured in {expected} is of another shape or type on the neighbour")
        self._add(expected, private)
        result: T = _copied(expected.result)
        return result

    def end(self) -> None:
        """Raise if the neighbour did less."""
        if self.place < len(self.tape.entries):
            self._diverge(f"the neighbour ends where the recording has {self.tape.entries[self.place]}")

    def _next(self, what: str) -> Charge | Draw:
        if self.place == len(self.tape.entries):
            self._diverge(f"the neighbour has {what} where the recording ends")
        self.place += 1
        return self.tape.entries[self.place - 1]

    def _add(self, drawn: Draw, private: Any) -> None:
        """Compare what a result tells with what was charged for it, and all results with all charges so far."""
        group = self._groups.get(STATEFUL.get(drawn.law, ""))
        law, in_rho = LAWS[drawn.law], group is not None and group.charge.price.measure == CONCENTRATED
        by = law.rho if in_rho and law.rho is not None else law.loss
        loss = by(drawn.how, drawn.private, private, drawn.result)
        if drawn.law == "gradual release":  # a less precise result tells nothing beyond a more precise one
            before = self._gradual[1] if drawn.how < self._gradual[0] else 0.0
            self._gradual, loss = (drawn.how, loss), loss - before
        elif drawn.law == "threshold":
            self._threshold = (drawn.how, int(drawn.private[0]), [], [], [])
        elif drawn.law == "above threshold" and self._threshold is not None:
            how, at, there, here, answers = self._threshold
            told = threshold_loss(how, at, there, here, answers)
            there.append(int(drawn.private[0]))
            here.append(int(private[0]))
            answers.append(bool(drawn.result))
            loss = threshold_loss(how, at, there, here, answers) - told
        if group is None:
            self.problems.append(f"{drawn} comes before any charge")
            return
        before = _in(self.measure, group)
        if by is law.rho:
            group.told_rho += loss
        else:
            group.told += loss
        self.total += _in(self.measure, group) - before
        unit = SYMBOLS[group.charge.price.measure]
        if not close(group.loss, float(group.amount)):
            self.problems.append(f"{drawn} tells {unit} = {group.loss:.6g} apart, and was paid with {group.charge}")
        elif not close(self.total, float(self.paid)):
            whole = f"{SYMBOLS[self.measure]} = {self.total:.6g}"
            self.problems.append(f"all up to {drawn} tell {whole} apart, and {self.paid} was paid")

    def _diverge(self, problem: str) -> NoReturn:
        self.problems.append(problem)
        raise Diverged(problem)


Tape = Recording | Replay


def _measure(prices: Sequence[Price]) -> str:
    """What charges are added up in: ρ, as soon as one of them has no ε."""
    return CONCENTRATED if any(price.measure == CONCENTRATED for price in prices) else PURE


def amount_in(measure: str, price: Price) -> Fraction:
    """A price in that measure."""
    return price.amount if measure == PURE else price.cost.rho


def _in(measure: str, group: _Paid) -> float:
    """What a group of draws told, in that measure."""
    if measure == PURE:
        return group.loss
    return group.told**2 / 2 + group.told_rho


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return tuple(map(_copied, value)) if isinstance(value, tuple) else value


def _form(private: Any) -> Any:
    return np.shape(private), getattr(private, "dtype", type(private))


class TapeNoise(ExactNoise):
    """The engine of a release whose draws are on a tape: for public data. Its numbers are of the types that exact noise has.

    It draws fast, seeded noise, which agrees in distribution with that of a release.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape, self._coins = tape, 0

    def discrete_laplace(self, values: Counts, scale: Fraction) -> Counts:
        def draw() -> Counts:
            return np.rint(self._tape.noise.discrete_laplace(values, scale)).astype(np.int64)

        return self._tape.draw("discrete Laplace", scale, values, draw)

    def noisy_max(self, scores: Counts, scale: Fraction) -> int:
        noise = self._tape.noise
        return self._tape.draw("permute and flip", scale, scores, lambda: int(noise.noisy_max(scores, scale)))

    def discrete_gaussian(self, values: Counts, square: Fraction) -> Counts:
        def draw() -> Counts:
            return np.rint(self._tape.noise.discrete_gaussian(values, square)).astype(np.int64)

        return self._tape.draw("discrete Gaussian", square, values, draw)

    def gumbel_max(self, scores: Counts, scale: Fraction) -> int:
        noise = self._tape.noise
        return self._tape.draw("exponential mechanism", scale, scores, lambda: int(noise.gumbel_max(scores, scale)))

    def laplace(self, values: Vector, sensitivity: Fraction, epsilon: Fraction) -> Vector:
        def draw() -> Vector:
            return self._tape.noise.laplace(values, sensitivity, epsilon) if sensitivity else values.copy()

        return self._tape.draw("Laplace", (sensitivity, epsilon), values, draw)

    def outcome(self, law: str, how: Any, private: Any, draw: Callable[[], T]) -> T:
        if law not in ("keys", "counted keys"):
            return self._tape.draw(law, how, private, draw)
        # What is seen are names: which rows of the engine's answer they come from is not, and differs on a neighbour.
        keys, people = private
        numbers = {key: int(number) for key, number in zip(keys, people, strict=True)}

        def named() -> frozenset[Any]:  # with their noisy numbers, or with 1
            return frozenset((key, int(shown)) for key, shown in zip(keys, draw(), strict=True) if shown)  # type: ignore[call-overload]

        found = dict(self._tape.draw(law, how, numbers, named))
        kind: Any = np.bool_ if law == "keys" else np.int64
        return np.array([found.get(key, 0) for key in keys], dtype=kind)  # type: ignore[return-value]

    def geometric(self, size: int, scale: Fraction) -> Counts:
        return self._tape.noise.geometric(size, scale)

    def below(self, bound: int) -> int:
        """A coin that nobody sees: the same one again on a neighbour, whatever the bound is.

        The first digits, in bytes from the right, do not depend on the bound. So each of many values gets the number that
        it had, also if there is one value more.
        """
        self._coins += 1
        coins = random.Random(f"{self._seed} {self._coins}")  # noqa: S311 (public data)
        return int.from_bytes(coins.randbytes((bound.bit_length() + 7) // 8 + 8), "little") % bound

    def words(self, size: int) -> Counts:
        self._coins += 1
        return np.random.default_rng([self._seed, self._coins]).integers(0, 2**53, size=size, dtype=np.int64)

    @property
    def _seed(self) -> int:
        return self._tape.seed if isinstance(self._tape, Recording) else self._tape.tape.seed


class TapePurse(Purse):
    """A purse whose charges are on a tape, for public data: there is nobody to charge."""

    durable = True

    def __init__(self, tape: Tape, neighbours: Neighbours, noise: TapeNoise) -> None:
        super().__init__(neighbours, noise)
        self._tape = tape

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        self._tape.charge(Charge(operator, Price(cost.amount, cost.measure, cost.delta), neighbours, note, in_part=False))
        words: dict[str, Any] = {
            "operator": operator,
            "neighbours": str(neighbours),
            "note": note,
            "measure": cost_text(cost),
        }
        self.charges.append(Event(key="", at="", kind="charge", dataset="replayed", amount=cost.amount, **words))

    def part(self, neighbours: Neighbours, noise: Noise, charges: Sequence[Event]) -> PartPurse:
        return TapePartPurse(self._tape, neighbours, noise, charges)


class TapePartPurse(PartPurse):
    """The purse of a part: what is paid from it was charged when the data were split, and is on the tape all the same."""

    def __init__(self, tape: Tape, neighbours: Neighbours, noise: Noise, charges: Sequence[Event]) -> None:
        super().__init__(neighbours, noise, charges)
        self._tape = tape

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        super().pay(cost, operator=operator, neighbours=neighbours, note=note)
        self._tape.charge(Charge(operator, Price(cost.amount, cost.measure, cost.delta), neighbours, note, in_part=True))

    def part(self, neighbours: Neighbours, noise: Noise, charges: Sequence[Event]) -> PartPurse:
        return TapePartPurse(self._tape, neighbours, noise, charges)


class TapeAccount(Account):
    """An account for public data: any public door of jostle that charges an account can be replayed with it.

    >>> import jostle
    >>> tape = Recording(seed=0)
    >>> jostle.release([3, 0, 4], epsilon=1, account=TapeAccount(tape, Neighbours()), algorithm="Laplace").spent
    Fraction(1, 1)
    >>> [str(entry) for entry in tape.entries]
    ['a charge of ε = 1 for laplace (Laplace: identity of 3 over 3)', "a draw by the law 'discrete Laplace'"]
    """

    def __init__(self, tape: Tape, neighbours: Neighbours, unit: str = ROWS, measure: str = PURE) -> None:
        self._tape, self.name, self.neighbours, self.unit, self.measure = tape, "replayed", neighbours, unit, measure
        self._noise, self.ledger = TapeNoise(tape), TapeLedger(self)

    @property
    def finding_keys(self) -> TapeAccount:
        """The same with a δ, for groups that nobody listed, and for whatever else selects with one."""
        return TapeAccount(self._tape, self.neighbours, self.unit, Approximate.name)

    @property
    def cap(self) -> Fraction:
        return Fraction(10**6)

    @property
    def limit(self) -> Any:
        if self.measure == Approximate.name:
            return Approximate(self.cap, Fraction(1, 1000), Fraction(1, 1000))
        return Concentrated(self.cap) if self.measure == CONCENTRATED else self.cap

    @property
    def balance(self) -> Balance:
        spending = Spending(None, self.spent) if self.measure == CONCENTRATED else Spending(self.spent)
        return Balance(dataset=self.name, neighbours=self.neighbours, limit=self.limit, spending=spending)

    @property
    def spent(self) -> Fraction:
        return self._tape.charged if isinstance(self._tape, Recording) else self._tape.paid

    @property
    def remaining(self) -> Fraction:
        return self.cap - self.spent

    def purse(self, unit: str = ROWS) -> Any:
        check_unit("account", self.name, self.unit, unit)
        return TapePurse(self._tape, self.neighbours, self._noise)


class _InMemory:
    """A database that goes with the process, for what is kept beside charges: where the rows of a table are."""

    @cached_property
    def _engine(self) -> sa.Engine:
        engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
        META.create(engine)
        return engine

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sa.Connection]:
        with self._engine.begin() as connection:
            yield connection


class TapeLedger(Ledger):
    """A ledger with one account, whose charges are on a tape: for doors that ask for a ledger, such as `jostle.open`."""

    def __init__(self, account: TapeAccount) -> None:
        self._account, self._store = account, _InMemory()  # type: ignore[assignment]  # the part of a store that is used

    def account(
        self,
        name: str,
        *,
        cap: object = None,
        neighbours: Neighbours | str | None = None,
        unit: str | None = None,
        note: str = "",
    ) -> TapeAccount:
        """The account, whatever it is called."""
        check_unit("unit", name, self._account.unit, unit or ROWS)
        return self._account

    def accounts(self) -> tuple[Account, ...]:
        return (self._account,)

    def __repr__(self) -> str:
        return "<TapeLedger>"
