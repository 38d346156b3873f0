"""Randomized response: each person's answer is randomized before anyone collects it.

This is the local model. There is no curator to trust, no account and no token: nothing here is charged to anyone.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from jostle.kernel.arguments import check_whole, whole
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.mechanisms.arguments import check_confidence, check_positive

_PROMISE = "randomized before collection (the local model): no curator is trusted, and no account is charged"


@dataclass(frozen=True, kw_only=True)
class LocalEstimate:
    """What randomized answers say about all people together. Post-processing: it costs nothing."""

    fractions: Vector
    """The estimated part of the people in each category, without bias; it may be below 0 or above 1."""

    deviations: Vector
    """The standard deviation of each, over the randomization only: the people are fixed."""

    respondents: int
    """How many answers there were."""

    epsilon: float
    """The most that each answer reveals about its own person."""

    protection: str = _PROMISE
    """Where the protection happened, and whose budget paid."""

    labels: tuple[Any, ...] | None = None
    """The categories' labels, in the order of the fractions; None if they are numbered."""

    @property
    def shares(self) -> dict[Any, float]:
        """The estimated part of the people by category: by label, by number, or on a grid by pair."""
        names = np.ndindex(self.fractions.shape) if self.fractions.ndim == 2 else range(self.fractions.size)
        return dict(zip(self.labels or names, self.fractions.reshape(-1).tolist(), strict=True))


class RandomizedResponse:
    """The true answer with probability p, any other one with probability q each: ln(p/q)-differentially private.

    **It protects before collection.** Each person runs it on their own value. Nobody else ever has that value, there is no
    account, and no token is charged.

    Warner: Randomized response: a survey technique for eliminating evasive answer bias, JASA 60, 1965; for several
    categories, Kairouz, Oh, Viswanath: Extremal mechanisms for local differential privacy, NIPS 2014.

    Categories are numbered from 0: two for a yes or no, k for one of k, `RandomizedResponse(k, k, …)` for the cells of
    a grid, whose values are pairs. Or pass a list of labels, and answers are labels. Give `epsilon`, or `p`, which may
    be exact: `p="3/4"`.

    See its methods `error` and `epsilon_for` for error bars.

    >>> coin = RandomizedResponse(2, p="3/4")
    >>> round(coin.epsilon, 4), coin.protection
    (1.0986, 'randomized before collection (the local model): no curator is trusted, and no account is charged')
    >>> coin.respond(True) in (0, 1)
    True
    >>> grid = RandomizedResponse(10, 10, epsilon=math.log(3))
    >>> round(float(grid.p), 12) == round(3 / 102, 12)
    True
    >>> survey = RandomizedResponse(["yes", "no"], epsilon=1)
    >>> survey.respond("yes") in ("yes", "no"), survey.respond(None) in ("yes", "no")
    (True, True)
    """

    protection = _PROMISE

    def __init__(self, *categories: int | list[Any], p: Any = None, epsilon: Any = None) -> None:
        self.labels = _labels(categories[0]) if len(categories) == 1 and isinstance(categories[0], list) else None
        """The categories' labels, in order; None if they are numbered."""
        shape = tuple(whole(side) or 0 for side in (categories if self.labels is None else (len(self.labels),)))
        if len(shape) not in (1, 2) or min(shape) < 1 or math.prod(shape) < 2:
            problem = "must be the number of categories, a list of their labels, or a grid's two sides"
            raise BadInput("shape", problem, 'pass for instance 2, or ["yes", "no"], or 10, 10')
        if (p is None) == (epsilon is None):
            raise BadInput("p, epsilon", "one of them is needed, and only one", "pass epsilon=1, or p='3/4'")
        self.shape, self.size = shape, math.prod(shape)
        self._numbers = {label: number for number, label in enumerate(self.labels or ())}
        self.p = _truth(exact(epsilon), self.size) if p is None else exact(p, "p")
        """The probability of the true answer, exactly."""
        self.q = (1 - self.p) / (self.size - 1)
        """The probability of each other answer, exactly."""
        if p is not None and not Fraction(1, self.size) < self.p < 1:
            problem = f"must be above 1/{self.size} and below 1, got {p}"
            raise BadInput("p", problem, "pass for instance epsilon=1 in place of p")
        if float(self.p) == 1 or float(self.p) == float(self.q):
            name = "p" if epsilon is None else "epsilon"
            problem = "leads to probabilities that cannot be told from 1, or from each other"
            raise BadInput(name, problem, "use an epsilon between 0.000001 and 30")

    @property
    def epsilon(self) -> float:
        """The most that an answer reveals about its own person."""
        return math.log(self.p / self.q)

    def respond(self, value: Any) -> Any:
        """Randomize one's own value, with exact probabilities from the operating system's entropy. It cannot be seeded.

        A value that is not a category gets a uniformly random answer and no error, since an error would reveal it. So does
        a blank, such as None or NaN; and so does `"1"`, where categories are numbered. To find such mistakes, try
        `estimate` on public values: it refuses what is not a category.
        """
        cell = self._cell(value)
        if cell < 0:
            return self._answer(secrets.randbelow(self.size))
        if secrets.randbelow(self.p.denominator) < self.p.numerator:
            return self._answer(cell)
        other = secrets.randbelow(self.size - 1)
        return self._answer(other + (other >= cell))

    def simulate(self, values: Any, *, seed: int) -> Any:
        """What people with these **public** values would answer: fast, seeded, and no protection for anyone.

        As in `respond`, a value that is not a category is answered at random.

        >>> RandomizedResponse(2, epsilon=1).simulate([0, 0, 1, 1], seed=0).tolist()
        [0, 0, 1, 1]
        >>> RandomizedResponse(["yes", "no"], epsilon=1).simulate(["yes", "no", None], seed=0).tolist()
        ['yes', 'no', 'yes']
        """
        cells = self._cells(values, "values")
        generator = np.random.default_rng(check_whole(seed, "seed", "pass for instance seed=0", least=0))
        answers = cells.copy()
        # A lie is some other answer: the true one moved on by 1 to size − 1 places, around the circle.
        lies = np.flatnonzero(generator.random(cells.size, dtype=np.float64) >= float(self.p))
        answers[lies] = (cells[lies] + generator.integers(1, self.size, lies.size)) % self.size
        outside = np.flatnonzero(cells < 0)
        answers[outside] = generator.integers(0, self.size, outside.size)
        if self.labels is not None:
            return np.array(self.labels, dtype=object)[answers]
        return answers if len(self.shape) == 1 else np.stack(np.unravel_index(answers, self.shape), axis=-1)

    def estimate(self, answers: Any) -> LocalEstimate:
        """The part of the people in each category, without bias: (share of answers − q)/(p − q).

        People who answered at random, because their value is not a category, count equally towards all categories. If
        there may be many, make the blank a category: `["yes", "no", None]`.

        >>> coin = RandomizedResponse(2, p="3/4")
        >>> seen = coin.estimate([1] * 40 + [0] * 60)
        >>> seen.fractions.round(2).tolist(), seen.respondents
        ([0.7, 0.3], 100)
        >>> RandomizedResponse(["yes", "no"], p="3/4").estimate(["yes"] * 50 + ["no"] * 50).shares
        {'yes': 0.5, 'no': 0.5}
        """
        cells = self._cells(answers, "answers")
        if not cells.size:
            raise BadInput("answers", "are empty", "collect at least one")
        if (cells < 0).any():
            raise BadInput("answers", "must be categories, and some are not", "pass what `respond` returned, as it is")
        shares = np.bincount(cells, minlength=self.size) / cells.size
        fractions = (shares - float(self.q)) / float(self.p - self.q)
        likely = np.clip(fractions, 0, 1)
        deviations = np.sqrt([self.variance(float(part), cells.size) for part in likely])
        return LocalEstimate(
            fractions=fractions.reshape(self.shape),
            deviations=deviations.reshape(self.shape),
            respondents=int(cells.size),
            epsilon=self.epsilon,
            labels=self.labels,
        )

    def variance(self, fraction: float, respondents: int, *, sampled: bool = False) -> float:
        """The variance of the estimate of a category that this part of the people is in.

        (πp(1 − p) + (1 − π)q(1 − q))/(N(p − q)²), which for yes or no is (1/(16(p − ½)²) − ¼)/N. With `sampled`, the
        people are themselves drawn from a larger population, and π(1 − π)/N comes on top, as in Warner.

        >>> round(RandomizedResponse(2, p="3/4").variance(0.5, 100), 4)
        0.0075
        """
        p, q = float(self.p), float(self.q)
        flips = (fraction * p * (1 - p) + (1 - fraction) * q * (1 - q)) / float(self.p - self.q) ** 2
        return (flips + (fraction * (1 - fraction) if sampled else 0.0)) / check_positive(respondents, "respondents")

    def error(self, respondents: int, confidence: float = 0.95) -> float:
        """How far the estimate of one category is off, at most, with this confidence (Hoeffding's inequality).

        >>> round(RandomizedResponse(2, epsilon=1).error(10_000), 4)
        0.0294
        """
        return _hoeffding(respondents, confidence) / float(self.p - self.q)

    @staticmethod
    def epsilon_for(error: float, respondents: int, confidence: float = 0.95, *, categories: int = 2) -> float:
        """The ε at which `error` is this; infinite if that many respondents are too few, even if all told the truth.

        >>> round(RandomizedResponse.epsilon_for(0.0294, 10_000), 2)
        1.0
        """
        spread = _hoeffding(respondents, confidence) / check_positive(error, "error")
        return math.inf if spread >= 1 else math.log((1 + spread * (categories - 1)) / (1 - spread))

    def __repr__(self) -> str:
        sides = " × ".join(map(str, self.shape))
        return f"<RandomizedResponse over {sides} categories, ε = {self.epsilon:.6g}, {self.protection}>"

    def _cell(self, value: Any) -> int:
        """The number of a value's category; −1 if it has none. Never an error, because values are private."""
        try:
            if self.labels is not None:
                return self._numbers.get(value, -1)
            if len(self.shape) == 1:
                return _number(value, self.size)
            if not isinstance(value, Collection) or len(value) != 2:
                return -1
            row, column = (_number(part, side) for part, side in zip(value, self.shape, strict=True))
        except (TypeError, ValueError, ArithmeticError):  # it cannot be hashed, counted or compared
            return -1
        return row * self.shape[1] + column if row >= 0 and column >= 0 else -1

    def _answer(self, cell: int) -> Any:
        if self.labels is not None:
            return self.labels[cell]
        return cell if len(self.shape) == 1 else tuple(int(part) for part in np.unravel_index(cell, self.shape))

    def _cells(self, values: Any, argument: str) -> Counts:
        """The number of each value's category; −1 if it has none."""
        try:
            array = np.asarray(values)
        except ValueError:  # some are pairs and some are not
            array = np.array([None, *values], dtype=object)[1:]
        if array.size == 0 and array.ndim >= 1:
            return np.zeros(0, dtype=np.int64)
        grid = len(self.shape) == 2
        fits = array.ndim == 2 and array.shape[1] == 2 if grid and array.ndim > 1 else array.ndim == 1
        if not fits or (grid and array.ndim == 1 and array.dtype != object):
            raise BadInput(argument, "must be one category each, and on a grid one pair each", "pass a list of them")
        if self.labels is not None or array.dtype.kind not in "biu":
            # One by one, and from a list as they are: NumPy converts everything in a list with a text to text.
            each = values if isinstance(values, (list, tuple)) else array
            return np.array([self._cell(value) for value in each], dtype=np.int64)
        inside = (array >= 0) & (array < np.array(self.shape))
        cells = array.astype(np.int64)
        if len(self.shape) == 1:
            return np.where(inside, cells, -1)
        return np.where(inside.all(axis=1), np.ravel_multi_index(tuple(cells.T), self.shape, mode="clip"), -1)


def _labels(labels: list[Any]) -> tuple[Any, ...]:
    """Labels that are distinct and can be looked up."""
    try:
        distinct = len(set(labels)) == len(labels) and all(np.ndim(label) == 0 for label in labels)
    except TypeError:
        distinct = False
    if not distinct:
        raise BadInput("shape", "has labels that are alike, or are lists", 'pass distinct ones, for instance ["yes", "no"]')
    return tuple(labels)


def _number(value: Any, size: int) -> int:
    """A whole number below the size, of whatever type (a column with a blank holds 1 as 1.0); −1 for anything else.

    >>> _number(1.0, 2), _number(0.5, 2), _number("1", 2)
    (1, -1, -1)
    """
    if not isinstance(value, (Real, Decimal, np.bool_)) or not 0 <= value < size:  # type: ignore[operator]
        return -1
    number = int(value)  # type: ignore[arg-type]  # a real number can be cut
    return number if number == value else -1


def _hoeffding(respondents: int, confidence: float) -> float:
    """How far the share of this many answers is off, at most, with this confidence."""
    tail = 1 - check_confidence(confidence)
    return math.sqrt(math.log(2 / tail) / (2 * check_positive(respondents, "respondents")))


def _truth(epsilon: Fraction, size: int) -> Fraction:
    """e^ε/(e^ε + size − 1), with e^ε rounded down to a fraction: then the loss is ε or a little less, never more.

    >>> float(_truth(Fraction(1), 2))
    0.7310585786300049
    """
    if epsilon > 100:
        problem = "leads to probabilities that cannot be told from 1"
        raise BadInput("epsilon", problem, "use an epsilon between 0.000001 and 30")
    context = Context(prec=150, rounding=ROUND_FLOOR)
    power = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    grown = Fraction(context.next_minus(context.exp(power)))  # Decimal's exp rounds to the nearest
    odds = Fraction(math.floor(grown * 2**64), 2**64)
    return odds / (odds + size - 1)
