"""Several questions to one account, asked together: one price, one choice of noise, and shares for the least error.

How many questions there are, and how far one person moves each, is public. So it is decided beforehand whether Laplace or
Gaussian noise has less error, and which share each question gets. Laplace noise grows with the number of questions, Gaussian
noise with the root of it.

Privacy: every question is released with a price of its own, by its own rule, and charged before it is answered. The
prices add up to what was asked, and are fixed before the first answer. All else here is public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.answer import Answer
from jostle.answers.batches import BatchAnswer, BatchPreview, BatchStopped
from jostle.answers.previews import checked_rows, price_within
from jostle.kernel.budget import CONCENTRATED, PURE, Price, exact
from jostle.kernel.decimals import root_down
from jostle.kernel.errors import BadInput
from jostle.kernel.measures import Approximate, Concentrated, epsilon_of, largest_rho
from jostle.tables.noise_choice import AS_PRICED
from jostle.tables.question import Question

if TYPE_CHECKING:
    from jostle.tables.table import Table

MOST_QUESTIONS = 10_000
_FINE = 10**9
"""Shares are kept to this part of the whole."""


@dataclass(frozen=True)
class Division:
    """The price of each question, in one measure."""

    prices: Sequence[Price]
    measure: str
    why: str

    @property
    def total(self) -> Price:
        """What all cost together: the sum of ε, or of ρ, where a question that has no Gaussian noise costs ε²/2."""
        if self.measure == PURE:
            return Price(sum((price.amount for price in self.prices), Fraction(0)))
        return Price(sum((price.cost.rho for price in self.prices), Fraction(0)), CONCENTRATED)


class BatchQuestion(Question[BatchAnswer]):
    """A list of questions of one account. Each may be about other rows or columns of it, and of another kind."""

    in_rho = True

    def __init__(self, table: Table, questions: Sequence[Question[Any]], weights: Sequence[float] | None = None) -> None:
        self.table, self.questions = table, list(questions)
        if not self.questions or not all(isinstance(one, Question) for one in self.questions):
            remedy = 'pass for instance people.ask("age"), people.ask_total("sum", "income")'
            raise BadInput("questions", "must be one or more questions of this table", remedy)
        if len(self.questions) > MOST_QUESTIONS:
            raise BadInput(
                "questions", f"are more than {MOST_QUESTIONS:,}", "ask some of them as one histogram or marginals"
            )
        if any(isinstance(one, BatchQuestion) for one in self.questions):
            raise BadInput("questions", "have a batch among them", "pass its questions one by one")
        mine = table._budget
        if not all(one.table._budget is mine or mine.is_same_account(one.table._budget) for one in self.questions):
            raise BadInput("questions", "are about tables of other accounts", "ask each account in a batch of its own")
        self._weights = _weights(weights, len(self.questions))
        self.what = f"batch of {len(self.questions)}: {'; '.join(one.what for one in self.questions)}"

    # --------------------------------------------------------------------------------------------------------- prices

    def division(self, epsilon: Any) -> Division:
        """How a price is divided: of ε into ε or, where the account allows and errors are smaller, ρ; of ρ into ρ."""
        price = Price.of(epsilon)
        if price.measure == CONCENTRATED:
            return Division(self._in_rho(price.amount), CONCENTRATED, "Gaussian noise, because the price is in ρ.")
        limit, pure = self.table._budget.limit, self._in_epsilon(price.amount)
        if not isinstance(limit, Approximate) or limit.delta == limit.for_keys:
            return Division(pure, PURE, "Laplace noise, because the account has no δ for other noise.")
        gaussian = self._in_rho(largest_rho(price.amount, limit.delta - limit.for_keys))
        ratio = self._errors(gaussian, pure)
        many = "one question" if len(pure) == 1 else f"{len(pure)} questions"
        at = f"for {many} at ε = {float(price.amount):g} and the account's δ"
        if ratio < 1:
            why = f"Gaussian noise: {at}, its errors are {_times(1 / ratio)} smaller than those of Laplace noise."
            return Division(gaussian, CONCENTRATED, why)
        return Division(pure, PURE, f"Laplace noise: {at}, Gaussian noise would have errors {_times(ratio)} larger.")

    def _in_epsilon(self, epsilon: Fraction) -> list[Price]:
        """Squared errors are in proportion to 1/ε²: their weighted sum is least with shares by the cube roots of weights."""
        return [Price(epsilon * share) for share in _shares(self._weights ** (1 / 3))]

    def _in_rho(self, rho: Fraction) -> list[Price]:
        """Squared errors are in proportion to 1/ρ: by the square roots. What has no Gaussian noise is paid for in ε."""
        parts = [Price(rho * share, CONCENTRATED) for share in _shares(np.sqrt(self._weights))]
        return [
            part if one.in_rho else Price(root_down(2 * part.amount))
            for one, part in zip(self.questions, parts, strict=True)
        ]

    def _errors(self, these: Sequence[Price], those: Sequence[Price]) -> float:
        """How many times larger errors are at these prices than at those: the weighted root mean square over questions."""
        squares = [
            (_noise(one, this) / _noise(one, that)) ** 2
            for one, this, that in zip(self.questions, these, those, strict=True)
        ]
        return math.sqrt(float(self._weights @ np.array(squares) / self._weights.sum()))

    # -------------------------------------------------------------------------------------------- previews and answers

    def preview(self, *, epsilon: Any, rows: int | None = None) -> BatchPreview:
        """How far off each question's answers would be, with the noise and the shares of a release at this price."""
        checked_rows(rows)  # each question has its own
        division = self.division(epsilon)
        margins: dict[str, float] = {}
        for one, price in zip(self.questions, division.prices, strict=True):
            what = one.what if one.what not in margins else f"{one.what} ({len(margins) + 1})"
            margins[what] = _margin(one, price, rows)
        known = [off for off in margins.values() if not math.isnan(off)] or [math.nan]
        noise = "Laplace" if division.measure == PURE else "Gaussian"
        return BatchPreview(
            epsilon=division.total.amount,
            measure=division.measure,
            margin=float(np.median(known)),
            widest=max(known),
            algorithm=noise,
            stand_in=noise,
            margins=margins,
            why=division.why,
        )

    def price_within(self, within: Any) -> Price:
        """What all cost together, if each question's answers are to be that close."""
        return self.division_within(within).total

    def release(
        self,
        *,
        epsilon: Any = None,
        within: Any = None,
        rho: Any = None,
        fresh: bool = False,
        consistent: bool = False,
    ) -> BatchAnswer:
        """Charge and answer all questions, in their order, at a price for all, or within an error for each."""
        if fresh or consistent:
            return super().release(epsilon=epsilon, within=within, rho=rho, fresh=fresh, consistent=consistent)
        if [epsilon, within, rho].count(None) != 2:
            raise BadInput("epsilon, rho, within", "must be one of the three", "pass for instance epsilon=1")
        if within is None:
            return self._answered(self.division(Price.of(epsilon, rho)))
        return self._answered(self.division_within(within))

    def division_within(self, within: Any) -> Division:
        """Prices at which each question's answers are expected to be that close; in the measure that costs less."""
        wish, limit = exact(within, "within"), self.table._budget.limit
        pure = Division(
            [Price(one.epsilon_within(wish)) for one in self.questions], PURE, "Laplace noise, as close as asked."
        )
        if not isinstance(limit, (Approximate, Concentrated)) or not all(one.in_rho for one in self.questions):
            return pure
        prices = [price_within(wish, one.preview, CONCENTRATED) for one in self.questions]
        gaussian = Division(prices, CONCENTRATED, "Gaussian noise, as close as asked.")
        if isinstance(limit, Concentrated):
            costs = [sum(price.cost.rho for price in one.prices) for one in (pure, gaussian)]
        else:
            rest = limit.delta - limit.for_keys
            costs = [pure.total.amount, epsilon_of(gaussian.total.amount, rest) if rest else pure.total.amount]
        return gaussian if costs[1] < costs[0] else pure

    def _release(self, epsilon: Any) -> BatchAnswer:
        return self._answered(self.division(epsilon))

    def _answered(self, division: Division) -> BatchAnswer:
        source = self.table._budget
        source.check_all(division.prices)  # all of it is there, before the first is charged
        answers: list[Answer] = []
        for one, price in zip(self.questions, division.prices, strict=True):
            try:
                with _as_priced():
                    answers.append(one.release(epsilon=price))
            except Exception as failure:
                if not answers:
                    raise
                raise BatchStopped(answers, one.what) from failure
        last, paid = answers[-1], [Price(answer.spent, answer.measure) for answer in answers if answer.spent]
        total = Division(paid, CONCENTRATED if any(price.measure != PURE for price in paid) else PURE, "").total
        return BatchAnswer(
            answers=tuple(answers),
            asked=tuple(one.what for one in self.questions),
            why=division.why,
            spent=total.amount,
            measure=total.measure,
            remaining=last.remaining,
            left_in=last.left_in,
            neighbours=last.neighbours,
            charges=tuple(event for answer in answers for event in answer.charges),
            notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        )

    def __repr__(self) -> str:
        return f"<BatchQuestion: {len(self.questions)} questions>"


@contextmanager
def _as_priced() -> Iterator[None]:
    """Within it, questions are paid for in the measure of their prices: it was decided for all of them."""
    token = AS_PRICED.set(True)
    try:
        yield
    finally:
        AS_PRICED.reset(token)


def _weights(weights: Any, number: int) -> Any:
    """One number above 0 per question; equal ones by default."""
    if weights is None:
        return np.ones(number)
    try:
        found = np.array([float(weight) for weight in weights])
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.size != number or not np.all((found > 1e-9) & (found < 1e9)):
        raise BadInput("weights", "must be one number from 1e-9 to 1e9 per question", f"pass {number} numbers")
    return found


def _shares(parts: Any) -> list[Fraction]:
    """Exact shares in these proportions, which add up to 1."""
    whole = [max(1, round(part)) for part in (parts / parts.sum() * _FINE).tolist()]
    return [Fraction(part, sum(whole)) for part in whole]


def _margin(question: Question[Any], price: Price, rows: int | None = None) -> float:
    """Half the width of a 95 % interval; NaN where it depends on the data, as that of a mean does."""
    try:
        with _as_priced():
            return question.preview(epsilon=price, rows=rows).margin
    except BadInput:
        return math.nan


def _noise(question: Question[Any], price: Price) -> float:
    """What errors are in proportion to: the margin, or the noise on a count where the margin depends on the data."""
    found = _margin(question, price)
    return 1 / price.rate if math.isnan(found) or found == 0 else found


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times" if ratio >= 1.095 else f"{100 * (ratio - 1):.1g} %"
