"""The mechanisms that a person calls, on values that are as far apart as their stated sensitivity allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from jostle import mechanisms
from jostle.audit.entries import RELATIONS, Ask, Audited, FreePurse, Pair, Pairs, by_relation, of_budget
from jostle.kernel.budget import Budget
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.source import simulation
from jostle.mechanisms import AboveThreshold, GradualRelease, MedianMechanism, RandomizedResponse
from jostle.mechanisms.repeated import Attempt

DELTA = 0.05
"""The δ of the large-margin mechanism in the audit: large enough to show what it forgives."""

RIVALS = 6
"""Candidates of a choice. The noise of the best of five others is above 0, where Laplace noise decays by e^ε."""

QUERIES = 6
"""Queries of `AboveThreshold`: with more, a yes to the last one only shows a little more, and is rarer."""

_DATA = [1.0, 4.0, 4.0, 9.0]
_BOUNDS = (0.0, 10.0)
_ABOVE = (9.0, 10.0)
_QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def entries() -> list[Audited]:
    """Every mechanism."""
    with_delta = (_large_margin(), _propose_test_release())
    return [*_numbers(), *_columns(), *_selections(), *_searches(), _randomized_response(), *with_delta]


def _entry(name: str, ask: Ask, pairs: Pairs, *, unknown: str = "", batched: bool = True, **changed: Any) -> Audited:
    runs = of_budget(ask, batched=batched) | changed
    return Audited(name=name, family="mechanism", pairs=pairs, tight=() if unknown else RELATIONS, unknown=unknown, **runs)


def _move(relation: Neighbours) -> int:
    """How far one record may move a value of sensitivity 1."""
    return 1 if relation.relation == "add_remove" else 2


def far_apart(relation: Neighbours) -> list[Pair]:
    """Two values whose distance is the sensitivity: 1, or 2 where a record is replaced."""
    move = _move(relation)
    return [Pair("values at the sensitivity's distance", 0, move), Pair("the same, elsewhere", 7, 7 + move)]


def _numbers() -> Iterator[Audited]:
    for mechanism in (mechanisms.laplace, mechanisms.discrete_laplace):
        yield _entry(mechanism.__name__, partial(_keyword_budget, mechanism, sensitivity=1), far_apart)

    def gradual(value: Any, budget: Budget) -> Vector:
        steps = (budget.epsilon / 4, budget.epsilon / 2, budget.epsilon)
        return np.stack(list(GradualRelease(value, sensitivity=1, epsilons=steps, budget=budget)), axis=-1)

    def run(side: int, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        """Each whole number in an array gets noise of its own, of the scale that a single one gets: one run per number."""
        budget = simulation(seed=seed, neighbours=neighbours).grant(epsilon)
        return gradual(np.full(samples, side), budget).astype(np.float64)

    yield _entry("GradualRelease", gradual, lambda relation: far_apart(relation)[:1], run=run, in_rho=False)


def _keyword_budget(mechanism: Any, value: Any, budget: Budget, **settings: Any) -> Any:
    return mechanism(value, budget=budget, **settings)


def _columns() -> Iterator[Audited]:
    column = by_relation(
        [
            Pair("nobody and one at the upper bound", [], [10.0]),
            Pair("one more at the lower bound", _DATA, [*_DATA, 0.0]),
            Pair("one more at the upper bound", _DATA, [*_DATA, 10.0]),
        ],
        [
            Pair("from one bound to the other", [0.0], [10.0]),
            Pair("the same among others", [*_DATA, 0.0], [*_DATA, 10.0]),
        ],
    )
    # Most cells come nearer to the middle, and the few that leave it are seen to.
    around_the_median = by_relation(
        [Pair("one at the lower end, and one at the upper", [1.0], [1.0, 10.0])],
        [Pair("from one bound to the other", [0.0, 1.0], [10.0, 1.0])],
    )
    # In a filtered column, one record may begin to count under either relation.
    one_more = [Pair("nobody and one at the upper bound", [], [10.0]), Pair("one more", [9.0, 9.5], [9.0, 9.5, 10.0])]

    def quantiles(values: list[float], budget: Budget) -> Any:
        return mechanisms.quantiles(values, _QUARTERS, bounds=_BOUNDS, step=1, budget=budget)

    clipped_sum, mean, median = mechanisms.clipped_sum, mechanisms.clipped_mean, mechanisms.median
    divided = "a quotient of two noisy numbers tells less than both"
    shared = "three answers share ε, and no pair is known that moves all of them furthest"
    yield _entry("clipped_sum", partial(_keyword_budget, clipped_sum, bounds=_BOUNDS), column)
    yield _entry("clipped_mean", partial(_keyword_budget, mean, bounds=_BOUNDS), column, unknown=divided)
    yield _entry("median", partial(_keyword_budget, median, bounds=_BOUNDS, step=0.1), around_the_median, batched=False)
    yield _entry("quantiles", quantiles, lambda relation: column(relation)[:1], unknown=shared, batched=False)
    yield _entry(
        "clipped_sum, filtered",
        partial(_keyword_budget, clipped_sum, bounds=_ABOVE, filtered=True),
        by_relation(one_more, one_more),
    )


def _selections() -> Iterator[Audited]:
    others = RIVALS - 1
    rising = by_relation(
        [Pair("all others rise past one", [0] * RIVALS, [0] + [1] * others), Pair("a tie", [0, 0], [1, 0])],
        [Pair("a vote for one becomes one for all others", [1] + [0] * others, [0] + [1] * others)],
    )

    def both_ways(relation: Neighbours) -> list[Pair]:
        move = _move(relation)
        return [
            Pair("one down, all others up", [0] * RIVALS, [-move] + [move] * others),
            Pair("one up, the other down", [0, 0], [move, -move]),
        ]

    def select(name: str, monotone: bool, scores: Sequence[float], budget: Budget) -> int:
        chosen: int = getattr(mechanisms, name)(
            np.arange(len(scores)), scores, sensitivity=1, monotone=monotone, budget=budget
        )
        return chosen

    for name in ("exponential", "report_noisy_max", "permute_and_flip"):
        yield _entry(f"{name}, monotone", partial(select, name, True), rising)
        yield _entry(name, partial(select, name, False), both_ways)

    def line(side: tuple[list[float], list[float]], budget: Budget) -> float:
        cuts, scores = side
        return mechanisms.exponential_line(cuts, scores, bounds=(0, 10), sensitivity=1, budget=budget)

    def pieces(relation: Neighbours) -> list[Pair]:
        move = _move(relation)
        return [
            Pair("the longest piece up, the others down", ([1, 9], [0, 0, 0]), ([1, 9], [-move, move, -move])),
            Pair("a short one up, the others down", ([3, 5], [0, move, 0]), ([3, 5], [-move, 2 * move, -move])),
        ]

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

    def best_run(scores: Sequence[float], budget: Budget) -> int:
        rng = np.random.default_rng()  # which candidate a run tries has nothing to do with the data

        def attempt(run: Attempt) -> tuple[float, int]:
            tried = int(rng.integers(len(scores)))
            return mechanisms.discrete_laplace(int(scores[tried]), sensitivity=1, budget=run.grant()), tried

        return mechanisms.best_of(attempt, budget=budget, runs=4)

    few = "the hardest pair of outputs is rarer than what is looked at, which is the candidate"
    yield _entry("exponential_line", line, pieces)
    yield _entry("stable_selection", stable, lambda relation: both_ways(relation)[1:])
    yield _entry("best_of", best_run, both_ways, unknown=few, batched=False, in_rho=False)


def _searches() -> Iterator[Audited]:
    def search(positives: int, values: Sequence[float], budget: Budget) -> Vector:
        """Each answer; −1 where the search is used up."""
        above = AboveThreshold(0, sensitivity=1, positives=positives, budget=budget)
        seen = [np.where(above.left, above.above(value) if np.any(above.left) else 0, -1) for value in values]
        return np.stack(seen, axis=-1)

    def around_the_threshold(relation: Neighbours) -> list[Pair]:
        low, high = -_move(relation) / 4, 3 * _move(relation) / 4  # so near that a yes to the last only is not too rare
        others = QUERIES - 1
        return [Pair("all rise but the last, which falls", [*[low] * others, high], [*[high] * others, low])]

    def survey(values: Sequence[int], budget: Budget) -> Vector:
        """Each answer, and −10⁶ where the noisy ones are used up. One candidate, which says 0 to everything."""
        median = MedianMechanism(candidates=1, error=1, sensitivity=1, budget=budget)
        return np.array([median.answer(value, [0]) if median.paid < 1 else -(10**6) for value in values], dtype=np.float64)

    def near_the_median(relation: Neighbours) -> list[Pair]:
        return [Pair("the first answers rise, the last one falls", [0, 0, _move(relation)], [_move(relation), 0, 0])]

    rare = "with more answers the worst event is too rare to be seen"
    parted = "half of ε goes to the search, half to the answer, and no pair is known that moves both furthest"
    yield _entry("MedianMechanism", survey, near_the_median, unknown=parted, batched=False)
    yield _entry("AboveThreshold", partial(search, 1), around_the_threshold)
    yield _entry("AboveThreshold, two answers of yes", partial(search, 2), around_the_threshold, unknown=rare)


def _randomized_response() -> Audited:
    """Each person's own answer: replacing its value is the only kind of neighbour."""

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
        pairs=lambda relation: [
            *(Pair("one answer and another", one, other) for one, other in combinations(range(3), 2)),
            *(Pair("an answer and none", answer, -1) for answer in range(3)),
        ],
        tight=("replace",),
        relations=("replace",),
        pace="batched",
        in_rho=False,
    )


def _large_margin() -> Audited:
    def run(side: list[float], epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        purse, candidates = simulation(seed=seed, neighbours=neighbours, trials=samples), np.arange(len(side))
        picks = mechanisms.large_margin(candidates, side, sensitivity=1, budget=purse.grant(epsilon, delta=DELTA))
        return np.asarray(picks, dtype=np.float64).reshape(-1, 1)

    def exact(side: list[float], epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        purse, candidates = FreePurse(neighbours), range(len(side))
        tokens = [purse.grant(epsilon, delta=DELTA) for _ in range(samples)]
        picks = [mechanisms.large_margin(candidates, side, sensitivity=1, budget=token) for token in tokens]
        return np.asarray(picks, dtype=np.float64).reshape(-1, 1)

    def pairs(relation: Neighbours) -> list[Pair]:
        move = _move(relation)
        return [Pair("one up, the other down", [20, 20, 0], [20 + move, 20 - move, 0])]

    return Audited(
        name="large_margin",
        family="mechanism",
        run=run,
        exact=exact,
        pairs=pairs,
        delta=DELTA,
        unknown="most of what it loses is forgiven by δ",
        pace="batched",
        in_rho=False,
    )


def _propose_test_release() -> Audited:
    """A value and a distance. Where no answer comes, the output is far from every answer."""

    def run(side: tuple[float, int], epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        budget = simulation(seed=seed, neighbours=neighbours, trials=samples).grant(epsilon, delta=DELTA)
        answers = np.nan_to_num(_proposed(side, budget), nan=-1e6)
        return np.asarray(answers, dtype=np.float64).reshape(-1, 1)

    def exact(side: tuple[float, int], epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        tokens = (FreePurse(neighbours).grant(epsilon, delta=DELTA) for _ in range(samples))
        answers = [_proposed(side, token) for token in tokens]
        return np.array([[-1e6 if answer is None else answer] for answer in answers], dtype=np.float64)

    def pairs(relation: Neighbours) -> list[Pair]:
        move = relation.sensitivity(1, 2)
        near = int(relation.sensitivity(1, 1)) - 1
        return [
            Pair("tame data, and a record more", (0.0, 60), (float(move), 59)),
            Pair("unusual data, and tame ones", (0.0, near), (float(move), near + 1)),
            Pair("unusual data, where the value may go anywhere", (0.0, near), (1e9, near)),
        ]

    return Audited(
        name="propose_test_release",
        family="mechanism",
        run=run,
        exact=exact,
        pairs=pairs,
        delta=DELTA,
        unknown="half of ε goes to the test, half to the answer, and what unusual data lose is forgiven by δ",
        pace="batched",
        in_rho=False,
    )


def _proposed(side: tuple[float, int], budget: Budget) -> Any:
    value, distance = side
    return mechanisms.propose_test_release(value, sensitivity=1, distance=distance, budget=budget)
