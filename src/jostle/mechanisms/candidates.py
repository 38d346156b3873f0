"""The median mechanism: many questions, answered from public data sets that could be the private one, until that fails."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

import numpy as np

from jostle.kernel.arguments import whole
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.partition import Counts
from jostle.mechanisms.additive import discrete_laplace
from jostle.mechanisms.arguments import check_budget, check_positive, one_trial, whole_numbers
from jostle.mechanisms.sensitivity import Sensitivity
from jostle.mechanisms.threshold import AboveThreshold

LARGEST = 2**50
"""Numbers are clipped to this size, so that differences of two are exact."""

MOST_CANDIDATES = 10**7


class MedianMechanism:
    """ε-differentially private answers to any number of counting questions; only those cost that surprise public candidates.

    The candidates are public data sets of which one is hoped to be like the private one: all small ones, earlier years, or
    drawn from models. Each question comes with every candidate's answer to it. While the median of these is near the true
    answer, the median is the answer, for free. Where it is far off, the true answer is released with noise, and the
    candidates that are far from it are dropped: at least half of them, unless the noise is larger than half of `error`.
    So about log₂ of the number of candidates answers cost something, however many questions are asked.

    All answers together are ε-differentially private, with the ε of the token: half goes to an `AboveThreshold` on how far
    the median is off, which is charged at once, half in equal parts to `answers` noisy answers, each charged when it is
    given. The candidates are dropped by released numbers only. See `utility.above_threshold_error`, with half of ε, for how
    much further than `error` a free answer may be off.

    Roth, Roughgarden: Interactive privacy via the median mechanism, STOC 2010; with the sparse vector technique in the place
    of its own test, as in Hardt, Rothblum: A multiplicative weights mechanism for privacy-preserving data analysis, FOCS
    2010. Counts are whole numbers, and `sensitivity` is how far one record moves any one of them.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(2)
    >>> survey = MedianMechanism(candidates=1000, error=200, sensitivity=1, budget=budget)
    >>> guesses = np.arange(1000)  # each candidate's number of people
    >>> [survey.answer(people, guesses) for people in (520, 530, 910, 905)], survey.paid, len(survey.kept)
    ([499, 499, 878, 878], 1, 201)
    """

    def __init__(
        self, *, candidates: int, error: float, sensitivity: Any, budget: Budget, answers: int | None = None, note: str = ""
    ) -> None:
        number = whole(candidates)
        if number is None or not 1 <= number <= MOST_CANDIDATES:
            problem = f"must be a whole number from 1 to {MOST_CANDIDATES}"
            raise BadInput("candidates", problem, "pass how many public data sets there are")
        most = max(1, (number - 1).bit_length()) if answers is None else whole(answers)
        if most is None or not 1 <= most <= 10**6:
            raise BadInput(
                "answers", "must be a whole number from 1 to 1,000,000", "leave it out for log₂ of the candidates"
            )
        stated, far = Sensitivity.of(sensitivity), check_positive(error, "error")
        if stated.add_remove.denominator != 1 or stated.replace.denominator != 1:
            raise BadInput("sensitivity", "must be whole: the answers are whole numbers", "round it up")
        searched, answered = check_budget(budget).split(1, 1)
        self._kept: Counts = np.arange(number)
        self._sensitivity = stated.add_remove, stated.replace
        self._far, self._number, self._note = far, number, note
        self._tokens = list(answered.split_evenly(most))
        self._search = AboveThreshold(far, sensitivity=sensitivity, positives=most, budget=searched, note=note)
        one_trial(self._search.left, ())
        self._lock, self._most = threading.Lock(), most

    def answer(self, value: Any, guesses: Any) -> int:
        """The answer to a question: `value` is the private one, `guesses` are those of all candidates, in their order."""
        private, public = whole_numbers(value, "value"), whole_numbers(guesses, "guesses")
        if private is None or private.ndim:
            raise BadInput("value", "must be one whole number", "pass a count")
        if public is None or public.shape != (self._number,):
            problem = f"must be {self._number} whole numbers, one for each candidate"
            raise BadInput("guesses", problem, "pass the answers of those that were dropped, too")
        with self._lock:
            if not self._tokens:
                raise PlanError("all noisy answers were given: make another one, with a budget of its own")
            known = np.sort(np.clip(public[self._kept], -LARGEST, LARGEST))
            median = int(known[(known.size - 1) // 2])
            off = abs(int(np.clip(private, -LARGEST, LARGEST)) - median)
            if not self._search.above(off):
                return median
            token, stated = self._tokens.pop(), self._sensitivity
            noisy = int(discrete_laplace(int(private), sensitivity=stated, budget=token, note=self._note))
            near = np.abs(np.clip(public[self._kept], -LARGEST, LARGEST) - noisy) <= self._far / 2
            self._kept = self._kept[near] if near.any() else self._kept
            return noisy

    @property
    def kept(self) -> Counts:
        """The candidates, by number, that no noisy answer has ruled out."""
        return self._kept.copy()

    @property
    def paid(self) -> int:
        """How many noisy answers were given."""
        return self._most - len(self._tokens)

    def __repr__(self) -> str:
        return f"<MedianMechanism with {len(self._kept):,} candidates and {len(self._tokens)} noisy answers left>"

    def __reduce__(self) -> NoReturn:
        raise PlanError("this cannot be copied or pickled: a copy would give noisy answers that nobody paid for")
