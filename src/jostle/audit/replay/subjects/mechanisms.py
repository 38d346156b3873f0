"""Mechanisms that a person calls, each by itself.

What a mechanism is handed has a sensitivity that the caller states, so that neighbours are values that are as far apart as
it allows, or columns with a record more, less or changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count, islice
from typing import Any

import numpy as np

from jostle import mechanisms
from jostle.audit.replay.run import Case, Subject
from jostle.audit.replay.subjects.learners import neighbour
from jostle.audit.replay.tape import TapeAccount
from jostle.kernel.budget import Budget
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms import AboveThreshold, GradualRelease, MedianMechanism

Make = Callable[[np.random.Generator, Neighbours], tuple[Any, list[Any]]]
"""Data and neighbours of them."""

RELATIONS = (
    Neighbours("add_remove"),
    Neighbours("replace"),
    Neighbours("add_remove", rows=3),
    Neighbours("replace", rows=2),
)
EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(4))
NEIGHBOURS = 8
BOUNDS = (-3.0, 10.0)
NUMBERS = (0.0, -3.0, 10.0, 4.5, 9.999, -0.0, 1e308, -1e308, math.inf, -math.inf, math.nan, 1e-300)
LEVELS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
CANDIDATES = 6


def _subject(
    name: str, run: Callable[[Any, Budget], Any], make: Make, relations: Sequence[Neighbours] = RELATIONS[:2]
) -> Subject:
    def asked(case: Case, data: Any, account: TapeAccount) -> Any:
        return run(data, account.grant(case.epsilon))

    def cases(pairs: int) -> Iterator[Case]:
        return islice((case_of(number, make, relations) for number in count()), -(-pairs // NEIGHBOURS))

    return Subject(name=f"mechanism: {name}", family="mechanism", run=asked, cases=cases, in_rho=name != "GradualRelease")


def case_of(number: int, make: Make, relations: Sequence[Neighbours]) -> Case:
    """The case of that number, of data that somebody makes."""
    relation, epsilon = relations[number % len(relations)], EPSILONS[number % len(EPSILONS)]
    data, others = make(np.random.default_rng(number), relation)
    return Case(name="values", data=data, others=others, neighbours=relation, epsilon=epsilon)


def subjects() -> list[Subject]:
    """Every mechanism that an account can pay for."""
    return [*_of_values(), *_of_columns(), *_selections()]


# ------------------------------------------------------------------------------------------------------- mechanisms


def _reach(relation: Neighbours) -> int:
    """How far one person may move a value of sensitivity 1."""
    return relation.rows * (1 if relation.relation == "add_remove" else 2)


def _moved(rng: np.random.Generator, relation: Neighbours, value: float) -> float:
    return value + _reach(relation) * float(rng.choice([1, -1, 0.5, -0.25]))


def _values(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
    value = float(rng.choice([0, 7, -1e6, 1e15, 0.1]))
    return value, [_moved(rng, relation, value) for _ in range(NEIGHBOURS)]


def _wholes(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
    value, reach = int(rng.choice([0, 7, -(10**6), 2**60, 2**62])), _reach(relation)
    return value, [value + int(rng.integers(-reach, reach + 1)) for _ in range(NEIGHBOURS)]


def _of_values() -> Iterator[Subject]:
    def gradual(value: int, budget: Budget) -> list[Any]:
        steps = (budget.epsilon / 4, budget.epsilon / 2, budget.epsilon)
        return list(GradualRelease(value, sensitivity=1, epsilons=steps, budget=budget))

    def above(values: Sequence[float], budget: Budget) -> list[bool]:
        search, answers = AboveThreshold(0, sensitivity=1, positives=2, budget=budget), list[bool]()
        while search.left and len(answers) < len(values):
            answers.append(search.above(values[len(answers)]))
        return answers

    def queries(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
        values = rng.normal(0, 3, 6).tolist()
        return values, [[_moved(rng, relation, value) for value in values] for _ in range(NEIGHBOURS)]

    def survey(values: Sequence[int], budget: Budget) -> list[int]:
        median, answers = MedianMechanism(candidates=4, error=2, sensitivity=1, budget=budget), list[int]()
        while median.paid < 2 and len(answers) < len(values):
            answers.append(median.answer(values[len(answers)], np.arange(4) * len(answers)))
        return answers

    def counts(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
        values, reach = rng.integers(-2, 12, 6), _reach(relation)
        return values.tolist(), [(values + rng.integers(-reach, reach + 1, 6)).tolist() for _ in range(NEIGHBOURS)]

    def noisy(mechanism: Any) -> Callable[[Any, Budget], Any]:
        return lambda value, budget: mechanism(value, sensitivity=1, budget=budget)

    yield _subject("laplace", noisy(mechanisms.laplace), _values, RELATIONS)
    yield _subject("discrete_laplace", noisy(mechanisms.discrete_laplace), _wholes, RELATIONS)
    yield _subject("GradualRelease", gradual, _wholes, RELATIONS)
    yield _subject("AboveThreshold", above, queries)
    yield _subject("MedianMechanism", survey, counts)


def _columns(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
    rows = [(float(rng.choice(NUMBERS)),) for _ in range(int(rng.choice([1, 2, 9, 60])))]
    found = [neighbour(rows, relation.relation, lambda: (float(rng.choice(NUMBERS)),), rng) for _ in range(NEIGHBOURS)]
    return [value for (value,) in rows], [[value for (value,) in one] for one in found]


def _at_the_end(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
    """Columns whose last record comes, goes or changes: all others then have the same coins, by which ties are broken."""
    values = rng.choice(NUMBERS, int(rng.choice([1, 2, 9, 60]))).tolist()
    more = rng.choice(NUMBERS, NEIGHBOURS).tolist()
    if relation.relation == "replace":
        return values, [[*values[:-1], value] for value in more]
    return values, [values[:-1], *([*values, value] for value in more[1:])]


def _of_columns() -> Iterator[Subject]:
    def clipped(mechanism: Any, filtered: bool) -> Callable[[Any, Budget], Any]:
        return lambda values, budget: mechanism(values, bounds=BOUNDS, budget=budget, filtered=filtered)

    def median(values: Any, budget: Budget) -> Any:
        return mechanisms.median(values, bounds=BOUNDS, step=0.1, budget=budget)

    def quantiles(values: Any, budget: Budget) -> Any:
        return mechanisms.quantiles(values, LEVELS, bounds=BOUNDS, step=1, budget=budget)

    for mechanism in (mechanisms.clipped_sum, mechanisms.clipped_mean):
        for filtered in (False, True):
            yield _subject(f"{mechanism.__name__}{', filtered' if filtered else ''}", clipped(mechanism, filtered), _columns)
    yield _subject("median", median, _at_the_end)
    yield _subject("quantiles", quantiles, _at_the_end)


def _scores(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
    scores = rng.choice([0.0, 1.0, 5.0, 1e6], CANDIDATES).tolist()
    return scores, [[_moved(rng, relation, score) for score in scores] for _ in range(NEIGHBOURS)]


def _rising(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
    """Scores that all move in one direction for each record: a record that is replaced takes some down and others up."""
    scores = rng.integers(0, 9, CANDIDATES).astype(float)
    up = [rng.integers(0, 2, CANDIDATES) for _ in range(NEIGHBOURS)]
    down = [rng.integers(0, 2, CANDIDATES) * (relation.relation == "replace") for _ in range(NEIGHBOURS)]
    return scores.tolist(), [(scores + more - less).tolist() for more, less in zip(up, down, strict=True)]


def _proposed(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
    """Values that move as far as is proposed, and distances that move by the records of a person."""
    value, distance = float(rng.choice([0, 7, -1e6])), int(rng.choice([relation.rows, 40, 10**6]))
    moves = rng.integers(-relation.rows, relation.rows + 1, NEIGHBOURS).tolist()
    return (value, distance), [(_moved(rng, relation, value), distance + move) for move in moves]


def _with_delta(name: str, run: Callable[[Any, Budget], Any], make: Make) -> Subject:
    """A mechanism that is paid for with a δ, too."""
    paid = _subject(name, run, make, RELATIONS)

    def asked(case: Case, data: Any, account: TapeAccount) -> Any:
        return run(data, account.finding_keys.grant(case.epsilon, delta=Fraction(1, 1000)))

    return replace(paid, run=asked, in_rho=False)


def _selections() -> Iterator[Subject]:
    def chosen(name: str, monotone: bool) -> Callable[[Any, Budget], Any]:
        how: dict[str, Any] = {"sensitivity": 1, "monotone": monotone}
        return lambda scores, budget: getattr(mechanisms, name)("abcdef", scores, **how, budget=budget)

    for name in ("exponential", "report_noisy_max", "permute_and_flip"):
        yield _subject(name, chosen(name, False), _scores)
        yield _subject(f"{name}, monotone", chosen(name, True), _rising)

    def line(scores: Any, budget: Budget) -> Any:
        return mechanisms.exponential_line([1, 2, 3, 8, 9], scores, bounds=(0, 10), sensitivity=1, budget=budget)

    def tested(data: tuple[float, int], budget: Budget) -> Any:
        value, distance = data
        return mechanisms.propose_test_release(value, sensitivity=1, distance=distance, budget=budget)

    def stable(scores: Any, budget: Budget) -> Any:
        def trained(candidate: int, training: Any, generator: np.random.Generator) -> int:
            return candidate

        data: dict[str, Any] = {"training": (), "validation": scores, "stability": (Fraction(1, 2), 1)}
        return mechanisms.stable_selection(range(CANDIDATES), trained, lambda at, kept: kept[at], **data, budget=budget)

    yield _subject("exponential_line", line, _scores)
    yield _subject("stable_selection", stable, _scores)
    yield _with_delta("stable_selection, with a δ", stable, _scores)
    yield _with_delta("propose_test_release", tested, _proposed)
