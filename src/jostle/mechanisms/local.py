"""Randomized response: each person's answer is randomized before anyone collects it.

This is the local model. There is no curator to trust, no account and no token: nothing here is charged to anyone.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

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
    """The standard deviation of each, over the randomization alone: the people are who they are."""

    respondents: int
    """How many answers there were."""

    epsilon: float
    """What each answer gives away at most about its own person."""

    protection: str = _PROMISE
    """Where the protection happened, and who paid."""


class RandomizedResponse:
    """The true answer with probability p, any other one with probability q each: ln(p/q)-differentially private.

    **It protects before collection.** It is run by each person, on one's own value. Nobody else ever has that value,
    there is no account, and no token is charged.

    Warner: Randomized response: a survey technique for eliminating evasive answer bias, JASA 60, 1965; for several
    categories, Kairouz, Oh, Viswanath: Extremal mechanisms for local differential privacy, NIPS 2014.

    Categories are numbered from 0: two for a yes or no, k for one of k, `RandomizedResponse(k, k, …)` for the cells of
    a grid, whose values are pairs. Give `epsilon`, or `p`, which may be exact: `p="3/4"`.

    >>> coin = RandomizedResponse(2, p="3/4")
    >>> round(coin.epsilon, 4), coin.protection
    (1.0986, 'randomized before collection (the local model): no curator is trusted, and no account is charged')
    >>> coin.respond(True) in (0, 1)
    True
    >>> grid = RandomizedResponse(10, 10, epsilon=math.log(3))
    >>> round(float(grid.p), 12) == round(3 / 102, 12)
    True
    """

    protection = _PROMISE

    def __init__(self, *shape: int, p: Any = None, epsilon: Any = None) -> None:
        whole = all(isinstance(side, int) and not isinstance(side, bool) and side >= 1 for side in shape)
        if len(shape) not in (1, 2) or not whole or math.prod(shape) < 2:
            raise BadInput(
                "shape", "must be the number of categories, or a grid's two sides", "pass for instance 2, or 10, 10"
            )
        if (p is None) == (epsilon is None):
            raise BadInput("p, epsilon", "one of them is needed, and only one", "pass epsilon=1, or p='3/4'")
        self.shape, self.size = shape, math.prod(shape)
        self.p = _truth(exact(epsilon), self.size) if p is None else exact(p, "p")
        """The probability of the true answer, exactly."""
        self.q = (1 - self.p) / (self.size - 1)
        """The probability of each other answer, exactly."""
        if p is not None and not Fraction(1, self.size) < self.p < 1:
            raise BadInput(
                "p", f"must be above 1/{self.size} and below 1, got {p}", "pass for instance epsilon=1 in place of p"
            )
        if float(self.p) == 1 or float(self.p) == float(self.q):
            name = "p" if epsilon is None else "epsilon"
            problem = "leads to probabilities that cannot be told from 1, or from each other"
            raise BadInput(name, problem, "use an epsilon between 0.000001 and 30")

    @property
    def epsilon(self) -> float:
        """What an answer gives away at most about its own person."""
        return math.log(self.p / self.q)

    def respond(self, value: Any) -> Any:
        """Randomize one's own value, with exact probabilities from the operating system's entropy. It cannot be seeded.

        A value outside of the categories gets an answer at random, each as likely, and no error: an error would be an
        answer.
        """
        cell = self._cell(value)
        if not 0 <= cell < self.size:
            return self._answer(secrets.randbelow(self.size))
        if secrets.randbelow(self.p.denominator) < self.p.numerator:
            return self._answer(cell)
        other = secrets.randbelow(self.size - 1)
        return self._answer(other + (other >= cell))

    def simulate(self, values: Any, *, seed: int) -> Counts:
        """What people with these **public** values would answer: fast, seeded, and no protection for anyone.

        >>> RandomizedResponse(2, epsilon=1).simulate([0, 0, 1, 1], seed=0).tolist()
        [0, 0, 1, 1]
        """
        cells = self._cells(values, "values")
        if seed is None or isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise BadInput("seed", "a simulation must be seeded with a whole number", "pass for instance seed=0")
        generator = np.random.default_rng(seed)
        answers = cells.copy()
        # A lie is some other answer: the true one moved on by 1 to size − 1 places, around the circle.
        lies = np.flatnonzero(generator.random(cells.size, dtype=np.float64) >= float(self.p))
        answers[lies] = (cells[lies] + generator.integers(1, self.size, lies.size)) % self.size
        return answers if len(self.shape) == 1 else np.stack(np.unravel_index(answers, self.shape), axis=-1)

    def estimate(self, answers: Any) -> LocalEstimate:
        """The part of the people in each category, without bias: (share of answers − q)/(p − q).

        >>> coin = RandomizedResponse(2, p="3/4")
        >>> seen = coin.estimate([1] * 40 + [0] * 60)
        >>> seen.fractions.round(2).tolist(), seen.respondents
        ([0.7, 0.3], 100)
        """
        cells = self._cells(answers, "answers")
        if not cells.size:
            raise BadInput("answers", "are none", "collect at least one")
        shares = np.bincount(cells, minlength=self.size) / cells.size
        fractions = (shares - float(self.q)) / float(self.p - self.q)
        likely = np.clip(fractions, 0, 1)
        deviations = np.sqrt([self.variance(float(part), cells.size) for part in likely])
        return LocalEstimate(
            fractions=fractions.reshape(self.shape),
            deviations=deviations.reshape(self.shape),
            respondents=int(cells.size),
            epsilon=self.epsilon,
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
        """The ε at which `error` is this; infinite where that many respondents cannot do, even if all told the truth.

        >>> round(RandomizedResponse.epsilon_for(0.0294, 10_000), 2)
        1.0
        """
        spread = _hoeffding(respondents, confidence) / check_positive(error, "error")
        return math.inf if spread >= 1 else math.log((1 + spread * (categories - 1)) / (1 - spread))

    def __repr__(self) -> str:
        sides = " × ".join(map(str, self.shape))
        return f"<RandomizedResponse over {sides} categories, ε = {self.epsilon:.6g}, {self.protection}>"

    def _cell(self, value: Any) -> int:
        """The number of a value's category; −1 if there is none. That it is of the right kind is not private."""
        pair = value if len(self.shape) == 2 else (value,)
        try:
            whole = len(pair) == len(self.shape) and all(isinstance(part, (int, np.integer, np.bool_)) for part in pair)
        except TypeError:
            whole = False
        if not whole:
            kind = "a category's number, from 0" if len(self.shape) == 1 else "a pair of numbers, from 0"
            raise BadInput("value", f"must be {kind}", "number the categories")
        if any(not 0 <= part < side for part, side in zip(pair, self.shape, strict=True)):
            return -1
        return int(np.ravel_multi_index([int(part) for part in pair], self.shape))

    def _answer(self, cell: int) -> Any:
        return cell if len(self.shape) == 1 else tuple(int(part) for part in np.unravel_index(cell, self.shape))

    def _cells(self, values: Any, argument: str) -> Counts:
        array = np.asarray(values)
        fits = array.ndim == 1 if len(self.shape) == 1 else array.ndim == 2 and array.shape[1] == 2
        if array.size == 0 and array.ndim >= 1:
            return np.zeros(0, dtype=np.int64)
        if not fits or not (np.issubdtype(array.dtype, np.integer) or array.dtype == bool):
            raise BadInput(
                argument, "must be one category's number each, and on a grid one pair each", "number the categories"
            )
        if (array < 0).any() or (array >= np.array(self.shape)).any():
            raise BadInput(argument, f"must be categories of {self.shape}", "number them from 0")
        cells = array.astype(np.int64)
        return cells if len(self.shape) == 1 else np.ravel_multi_index(tuple(cells.T), self.shape)


def _hoeffding(respondents: int, confidence: float) -> float:
    """How far the share of so many answers is off, at most, with this confidence."""
    tail = 1 - check_confidence(confidence)
    return math.sqrt(math.log(2 / tail) / (2 * check_positive(respondents, "respondents")))


def _truth(epsilon: Fraction, size: int) -> Fraction:
    """e^ε/(e^ε + size − 1), with e^ε rounded down to a fraction: then the loss is ε or a little less, never more.

    >>> float(_truth(Fraction(1), 2))
    0.7310585786300049
    """
    if epsilon > 100:
        raise BadInput(
            "epsilon", "leads to probabilities that cannot be told from 1", "use an epsilon between 0.000001 and 30"
        )
    context = Context(prec=150, rounding=ROUND_FLOOR)
    power = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    grown = Fraction(context.next_minus(context.exp(power)))  # Decimal's exp rounds to the nearest
    odds = Fraction(math.floor(grown * 2**64), 2**64)
    return odds / (odds + size - 1)
