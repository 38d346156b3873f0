"""The mechanisms that a person calls: values that are as far apart as their stated sensitivity allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from jostle import mechanisms
from jostle.audit.entries import RELATIONS, Audited, Pair, of_budget
from jostle.kernel.budget import Budget
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.source import simulation
from jostle.mechanisms import AboveThreshold, GradualRelease, RandomizedResponse

DELTA = 0.05
"""The δ of the large-margin mechanism in the audit: large enough for what it forgives to be seen."""

RIVALS = 6
"""So many candidates a choice has: the noise of the best of five others is above 0, where Laplace noise decays by e^ε."""

QUESTIONS = 6
"""How many questions are asked of `AboveThreshold`: with more, a yes to the last alone tells a little more, and is rarer."""

_DATA = [1.0, 4.0, 4.0, 9.0]
_BOUNDS = (0.0, 10.0)
_ABOVE = (9.0, 10.0)
_QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def entries() -> list[Audited]:
    """Every mechanism."""
    return [*_numbers(), *_columns(), _sum_of_some(), *_selections(), *_others()]


def far_apart(relation: Neighbours) -> list[Pair]:
    """Two values whose distance is the sensitivity: 1, or 2 where a record is replaced."""
    size = 1 if relation.relation == "add_remove" else 2
    return [Pair("values at the sensitivity's distance", 0, size), Pair("the same, elsewhere", 7, 7 + size)]


def _one_pair_far_apart(relation: Neighbours) -> list[Pair]:
    return far_apart(relation)[:1]


def _numbers() -> Iterator[Audited]:
    def laplace(value: int, budget: Budget) -> Any:
        return mechanisms.laplace(float(value), sensitivity=1, budget=budget)

    def discrete(value: int, budget: Budget) -> Any:
        return mechanisms.discrete_laplace(value, sensitivity=1, budget=budget)

    for name, ask in (("laplace", laplace), ("discrete_laplace", discrete)):
        yield Audited(name=name, family="mechanism", pairs=far_apart, tight=RELATIONS, **of_budget(ask, batched=True))
    yield _gradual_release()


def _gradual_release() -> Audited:
    """Whole numbers in an array get noise of their own each, of the scale that one alone gets: as many runs as numbers."""

    def ask(value: Any, budget: Budget) -> Vector:
        steps = (budget.epsilon / 4, budget.epsilon / 2, budget.epsilon)
        return np.stack(list(GradualRelease(value, sensitivity=1, epsilons=steps, budget=budget)), axis=-1)

    def run(side: int, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        budget = simulation(seed=seed, neighbours=neighbours).grant(epsilon)
        return ask(np.full(samples, side), budget).astype(np.float64)

    runs = of_budget(ask, batched=True) | {"run": run}
    return Audited(name="GradualRelease", family="mechanism", pairs=_one_pair_far_apart, tight=RELATIONS, **runs)


def _columns() -> Iterator[Audited]:
    def pairs(relation: Neighbours) -> list[Pair]:
        if relation.relation == "add_remove":
            return [
                Pair("nobody and one at the upper bound", [], [10.0]),
                Pair("one more at the lower bound", _DATA, [*_DATA, 0.0]),
                Pair("one more at the upper bound", _DATA, [*_DATA, 10.0]),
            ]
        return [
            Pair("from one bound to the other", [0.0], [10.0]),
            Pair("the same among others", [*_DATA, 0.0], [*_DATA, 10.0]),
        ]

    def clipped_sum(values: list[float], budget: Budget) -> Any:
        return mechanisms.clipped_sum(values, bounds=_BOUNDS, budget=budget)

    def clipped_mean(values: list[float], budget: Budget) -> Any:
        return mechanisms.clipped_mean(values, bounds=_BOUNDS, budget=budget)

    def around_the_median(relation: Neighbours) -> list[Pair]:
        """Where most cells come nearer to the middle, and the few that leave it are seen to."""
        if relation.relation == "add_remove":
            return [Pair("one at the lower end, and one at the upper", [1.0], [1.0, 10.0])]
        return [Pair("from one bound to the other", [0.0, 1.0], [10.0, 1.0])]

    def median(values: list[float], budget: Budget) -> Any:
        return mechanisms.median(values, bounds=_BOUNDS, step=0.1, budget=budget)

    def quantiles(values: list[float], budget: Budget) -> Any:
        return mechanisms.quantiles(values, _QUARTERS, bounds=_BOUNDS, step=1, budget=budget)

    def first_pair(relation: Neighbours) -> list[Pair]:
        return pairs(relation)[:1]

    shared = "three answers share ε, and no pair is known that moves all of them furthest"
    divided = "a quotient of two noisy numbers tells less than both"
    for name, ask, batched, hard, unknown in (
        ("clipped_sum", clipped_sum, True, pairs, ""),
        ("clipped_mean", clipped_mean, True, pairs, divided),
        ("median", median, False, around_the_median, ""),
        ("quantiles", quantiles, False, first_pair, shared),
    ):
        tight = () if unknown else RELATIONS
        runs = of_budget(ask, batched=batched)
        yield Audited(name=name, family="mechanism", pairs=hard, tight=tight, unknown=unknown, **runs)


def _sum_of_some() -> Audited:
    def ask(values: list[float], budget: Budget) -> Any:
        return mechanisms.clipped_sum(values, bounds=_ABOVE, budget=budget, filtered=True)

    def pairs(relation: Neighbours) -> list[Pair]:
        """Of some of the records, one may begin to count under either relation."""
        return [Pair("nobody and one at the upper bound", [], [10.0]), Pair("one more", [9.0, 9.5], [9.0, 9.5, 10.0])]

    runs = of_budget(ask, batched=True)
    return Audited(name="clipped_sum, filtered", family="mechanism", pairs=pairs, tight=RELATIONS, **runs)


def _selections() -> Iterator[Audited]:
    def rising(relation: Neighbours) -> list[Pair]:
        if relation.relation == "add_remove":
            return [Pair("all others rise past one", [0] * RIVALS, [0] + [1] * (RIVALS - 1)), Pair("a tie", [0, 0], [1, 0])]
        others = RIVALS - 1
        return [Pair("a vote for one becomes one for all others", [1] + [0] * others, [0] + [1] * others)]

    def both_ways(relation: Neighbours) -> list[Pair]:
        move = 1 if relation.relation == "add_remove" else 2
        return [
            Pair("one down, all others up", [0] * RIVALS, [-move] + [move] * (RIVALS - 1)),
            Pair("one up, the other down", [0, 0], [move, -move]),
        ]

    for name in ("exponential", "report_noisy_max", "permute_and_flip"):
        for monotone, pairs in ((True, rising), (False, both_ways)):

            def ask(scores: Sequence[float], budget: Budget, name: str = name, monotone: bool = monotone) -> int:
                select = getattr(mechanisms, name)
                chosen: int = select(np.arange(len(scores)), scores, sensitivity=1, monotone=monotone, budget=budget)
                return chosen

            yield Audited(
                name=f"{name}{', monotone' if monotone else ''}",
                family="mechanism",
                pairs=pairs,
                tight=RELATIONS,
                **of_budget(ask, batched=True),
            )

    def line(side: tuple[list[float], list[float]], budget: Budget) -> float:
        cuts, scores = side
        return mechanisms.exponential_line(cuts, scores, bounds=(0, 10), sensitivity=1, budget=budget)

    def pieces(relation: Neighbours) -> list[Pair]:
        move = 1 if relation.relation == "add_remove" else 2
        return [
            Pair("the longest piece up, the others down", ([1, 9], [0, 0, 0]), ([1, 9], [-move, move, -move])),
            Pair("a short one up, the others down", ([3, 5], [0, move, 0]), ([3, 5], [-move, 2 * move, -move])),
        ]

    yield Audited(
        name="exponential_line", family="mechanism", pairs=pieces, tight=RELATIONS, **of_budget(line, batched=True)
    )


def _others() -> Iterator[Audited]:
    def searched(values: Sequence[float], budget: Budget, positives: int = 1) -> Vector:
        """Each answer; −1 where there is none any more."""
        search = AboveThreshold(0, sensitivity=1, positives=positives, budget=budget)
        seen = [np.where(search.left, search.above(value) if np.any(search.left) else 0, -1) for value in values]
        return np.stack(seen, axis=-1)

    def thresholds(relation: Neighbours) -> list[Pair]:
        move = 1 if relation.relation == "add_remove" else 2
        low, high = -move / 4, 3 * move / 4  # near enough to the threshold for a yes to the last alone not to be too rare
        others = QUESTIONS - 1
        return [Pair("all rise but the last, which falls", [*[low] * others, high], [*[high] * others, low])]

    yield Audited(
        name="AboveThreshold", family="mechanism", pairs=thresholds, tight=RELATIONS, **of_budget(searched, batched=True)
    )
    yield Audited(
        name="AboveThreshold, two answers of yes",
        family="mechanism",
        pairs=thresholds,
        unknown="with more answers the worst event is too rare to be seen",
        **of_budget(lambda values, budget: searched(values, budget, 2), batched=True),
    )

    def stable(scores: Sequence[float], budget: Budget) -> int:
        candidates: Any = np.arange(len(scores))
        chosen: int = mechanisms.stable_selection(
            candidates,
            lambda candidate, training, generator: candidate,
            lambda model, validation: validation[model],
            training=(),
            validation=scores,
            stability=(Fraction(1, 2), 1),  # these scores move with the validation data
            budget=budget,
        )
        return chosen

    def moved(relation: Neighbours) -> list[Pair]:
        move = 1 if relation.relation == "add_remove" else 2
        return [Pair("one up, the other down", [0, 0], [move, -move])]

    yield Audited(
        name="stable_selection", family="mechanism", pairs=moved, tight=RELATIONS, **of_budget(stable, batched=True)
    )
    yield _randomized_response()
    yield _large_margin()


def _randomized_response() -> Audited:
    """Each person's own answer: to replace the value is the only neighbour there is."""

    def run(side: int, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        answers = RandomizedResponse(3, epsilon=epsilon).simulate(np.full(samples, side), seed=seed)
        return np.asarray(answers, dtype=np.float64).reshape(samples, 1)

    def exact(side: int, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        response = RandomizedResponse(3, epsilon=epsilon)
        return np.array([[float(response.respond(side))] for _ in range(samples)])

    return Audited(
        name="RandomizedResponse",
        family="mechanism",
        run=run,
        exact=exact,
        pairs=lambda relation: [Pair("one answer and another", 0, 2), Pair("an answer and none", 0, -1)],
        tight=("replace",),
        relations=("replace",),
        pace="batched",
    )


def _large_margin() -> Audited:
    def run(side: list[float], epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        purse, candidates = simulation(seed=seed, neighbours=neighbours, trials=samples), np.arange(len(side))
        picks = mechanisms.large_margin(candidates, side, sensitivity=1, epsilon=epsilon, delta=DELTA, simulation=purse)
        return np.asarray(picks, dtype=np.float64).reshape(-1, 1)

    def pairs(relation: Neighbours) -> list[Pair]:
        move = 1 if relation.relation == "add_remove" else 2
        return [Pair("one up, the other down", [20, 20, 0], [20 + move, 20 - move, 0])]

    return Audited(
        name="large_margin",
        family="mechanism",
        run=run,
        pairs=pairs,
        delta=DELTA,
        unknown="most of what it loses is forgiven by δ",
        pace="batched",
    )
