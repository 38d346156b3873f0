"""Faults that libraries for differential privacy had, planted one at a time, for `jostle audit --replay` to notice.

Each is a small release that somebody might write, with one thing wrong. The classes are those of the public audit of twelve
libraries by record and replay (Cebere, Erb, Desfontaines, Bellet, Fitzsimons, 2026), and some that came up here.
"""

from __future__ import annotations

import logging
import math
import random
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import jostle
from jostle import mechanisms
from jostle.audit.replay import Case, Subject
from jostle.audit.replay.tape import TapeAccount
from jostle.kernel.neighbours import Neighbours

LOW, HIGH = 0.0, 10.0
ROWS = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 7.0]
NEIGHBOURS = [[*ROWS, 9.5], [*ROWS, math.nan], ROWS[1:], ROWS[:-1], [*ROWS, 40.0], [*ROWS, 1.0]]
"""A record at the edge, one that is no number, one beyond the bounds; the smallest and the largest leave."""

Fault = Callable[[list[float], TapeAccount], Any]


@dataclass(frozen=True)
class Planted:
    """A release with a fault, and how a replay notices it."""

    kind: str
    """The class of the fault."""

    fault: Fault
    noticed: str
    """What is said about it: a pattern."""

    relation: Neighbours = Neighbours()  # noqa: RUF009 (frozen)

    def subject(self) -> Subject:
        others = NEIGHBOURS if self.relation.relation == "add_remove" else [[*ROWS[:-1], 0.0], [0.0, *ROWS[1:]]]
        case = Case(name="numbers", data=ROWS, others=others, neighbours=self.relation)
        return Subject(
            name=self.kind,
            family="planted",
            run=lambda _, rows, account: self.fault(rows, account),
            cases=lambda _: [case],
        )


def cells(rows: list[float]) -> list[int]:
    return np.bincount(np.clip(np.nan_to_num(rows), LOW, HIGH).astype(int), minlength=11).tolist()


def clipped(rows: list[float]) -> Any:
    return np.clip(np.nan_to_num(rows), LOW, HIGH)


def released(counts: Any, account: TapeAccount, epsilon: Any = 1) -> Any:
    return jostle.release(counts, epsilon=epsilon, account=account, algorithm="Laplace").answers


def noisy(value: Any, sensitivity: Any, account: TapeAccount, epsilon: Any = 1) -> Any:
    return mechanisms.laplace(value, sensitivity=sensitivity, budget=account.grant(epsilon))


# ------------------------------------------------------------------------------------------------------------- faults


def categories_from_the_data(rows, account):
    counts = list(Counter(np.floor(np.nan_to_num(rows))).values())
    return mechanisms.discrete_laplace(counts, sensitivity=1, budget=account.grant(1))


def bounds_from_the_data(rows, account):
    low, high = np.nanmin(rows), np.nanmax(rows)
    return noisy(np.nansum(np.clip(rows, low, high)), max(abs(low), abs(high)), account)


def spent_twice(rows, account):
    return released(cells(rows), account) + released(cells(rows), account)


def drawn_twice(rows, account):
    """One charge, and noise for it twice."""
    noise, counts = account.grant(1).draw(operator="laplace"), np.array(cells(rows))
    return [noise.discrete_laplace(counts, Fraction(1)) for _ in range(2)]


def noise_before_the_charge(rows, account):
    purse = account.purse()
    found = purse.noise.discrete_laplace(np.array(cells(rows)), Fraction(1))
    purse.grant(1).draw(operator="laplace")
    return found


def not_a_number(rows, account):
    """One NaN makes the sum NaN, which noise does not hide."""
    return noisy(float(np.clip(rows, LOW, HIGH).sum()), HIGH, account)


def half_the_noise(rows, account):
    noise = account.grant(1).draw(operator="laplace")
    return noise.discrete_laplace(np.array(cells(rows)), Fraction(1, 2))


def sensitivity_of_another_relation(rows, account):
    """A record that is replaced leaves one cell for another."""
    return noisy(np.array(cells(rows), dtype=float), (1, 1), account)


def unclipped(rows, account):
    return noisy(np.nansum(rows), HIGH, account)


def branch_by_size(rows, account):
    return released(cells(rows) if len(rows) > 6 else [len(rows)], account)


def price_by_size(rows, account):
    return released(cells(rows), account, epsilon=min(Fraction(1), Fraction(len(rows), 8)))


def cells_with_rows(rows, account):
    """The answers of empty cells are left out."""
    counts = np.array(cells(rows))
    return released(counts, account)[counts > 0]


def threshold_on_the_true_count(rows, account):
    counts = cells(rows)
    return {place: answer for place, answer in enumerate(released(counts, account)) if counts[place] >= 2}


def mean_by_the_true_count(rows, account):
    return noisy(clipped(rows).sum(), HIGH, account) / len(rows)


def standardised(rows, account):
    """Values are scaled by the largest one before they are clipped."""
    scaled = np.clip(np.nan_to_num(rows) / np.nanmax(rows), 0, 1)
    return noisy(scaled.sum(), 1, account)


_kept: dict[str, Any] = {}


def kept_between_calls(rows, account):
    """The answer to the same question is remembered, whoever asks."""
    if "histogram" not in _kept:
        _kept["histogram"] = released(cells(rows), account)
    return _kept["histogram"]


_most = [0]


def remembers_the_data(rows, account):
    """The largest data set so far decides how many numbers are released."""
    _most[0] = max(_most[0], len(rows))
    return [*released(cells(rows), account), *[0.0] * _most[0]]


def message_with_a_value(rows, account):
    answer = released(cells(rows), account)
    print(f"clipped {sum(row > HIGH for row in rows)} values")
    return answer


def exception_on_a_value(rows, account):
    if any(math.isnan(row) for row in rows):
        raise ValueError("there is a value that is no number")
    return released(cells(rows), account)


def exception_that_quotes(rows, account):
    released(cells(rows), account)
    raise ValueError(f"could not convert {max(rows)}")


def type_by_value(rows, account):
    answer, whole = noisy(clipped(rows).sum(), HIGH, account), all(row == int(row) for row in rows if row == row)
    return int(answer) if whole else answer


def warning_of_few(rows, account):
    if len(rows) < 7:
        warnings.warn("few records: answers may be poor", stacklevel=2)
    return released(cells(rows), account)


def log_of_the_size(rows, account):
    logging.getLogger("planted").warning("counting %d records", len(rows))
    return released(cells(rows), account)


def ordered_by_the_data(rows, account):
    counts = cells(rows)
    answers = released(counts, account)
    return {place: answers[place] for place in sorted(range(11), key=lambda place: -counts[place])}


def seed_of_its_own(rows, account):
    """The noise is not the engine's, and is the same each time."""
    account.grant(1).draw(operator="laplace")
    draw = random.Random(0)
    return [count + round(draw.expovariate(1) - draw.expovariate(1)) for count in cells(rows)]


def chosen_without_noise(rows, account):
    """Which cell is measured is the true minimum."""
    counts = cells(rows)
    best = int(np.argmin(counts))
    return best, released([counts[best]], account)


def rows_that_multiply(rows, account):
    """After a join, each record is there three times."""
    return released(cells(rows * 3), account)


def keeps_the_number_of_rows(rows, account):
    return {"answers": released(cells(rows), account), "rows": len(rows)}


def rounds_until_it_fits(rows, account):
    """A loop that ends when the true error is small."""
    error, steps = abs(len(rows) - 7), 1
    for _ in range(1 + error):
        noisy(clipped(rows).sum(), HIGH, account, epsilon=Fraction(1, 10))
        steps += 1
    return steps


CONTROL, SAID, ANSWER = "the neighbour (has|ends)|where the recording", "what is said", "the answer"
LOSS = "apart, and was paid|apart, and .* was paid"
REPLACE = Neighbours("replace")

FAULTS = [
    Planted("a domain inferred from the data", categories_from_the_data, "another shape or type"),
    Planted("bounds inferred from the data", bounds_from_the_data, "public numbers"),
    Planted("a budget spent twice", spent_twice, "2 was charged, and the price is ε = 1"),
    Planted("two draws for one charge", drawn_twice, LOSS),
    Planted("noise before the charge", noise_before_the_charge, "comes before any charge"),
    Planted("NaN injected", not_a_number, LOSS),
    Planted("noise miscalibrated", half_the_noise, LOSS),
    Planted("a sensitivity of another relation", sensitivity_of_another_relation, LOSS, REPLACE),
    Planted("values that are not clipped", unclipped, LOSS),
    Planted("rows that multiply", rows_that_multiply, LOSS),
    Planted("a branch that follows the data", branch_by_size, CONTROL),
    Planted("a price that follows the data", price_by_size, CONTROL),
    Planted("a loop that follows the data", rounds_until_it_fits, CONTROL),
    Planted("a shape that follows the data", cells_with_rows, ANSWER),
    Planted("a threshold on the true count", threshold_on_the_true_count, "other keys"),
    Planted("a mean divided by the true count", mean_by_the_true_count, ANSWER),
    Planted("preprocessing that reads the data", standardised, LOSS),
    Planted("state kept between calls", kept_between_calls, "a second run on the same data"),
    Planted("the largest data set remembered", remembers_the_data, ANSWER),
    Planted("a message that depends on the data", message_with_a_value, SAID),
    Planted("an exception that depends on the data", exception_on_a_value, "ends where|what is said"),
    Planted("an exception that quotes a value", exception_that_quotes, SAID),
    Planted("a type that depends on a value", type_by_value, "is of type"),
    Planted("a warning that depends on the data", warning_of_few, SAID),
    Planted("a log line that depends on the data", log_of_the_size, SAID),
    Planted("keys in the order of the data", ordered_by_the_data, "other keys"),
    Planted("a seed that is used again", seed_of_its_own, ANSWER),
    Planted("a choice without noise", chosen_without_noise, ANSWER),
    Planted("the true number of rows in the answer", keeps_the_number_of_rows, ANSWER),
]
"""Every fault by its class."""


def sound(rows, account):
    """The same, with nothing wrong."""
    return {
        "cells": released(cells(rows), account, Fraction(1, 2)),
        "sum": noisy(clipped(rows).sum(), HIGH, account, Fraction(1, 2)),
    }
