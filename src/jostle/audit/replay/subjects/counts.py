"""Releases of counts: every registered algorithm, and whatever chooses among them, on counts that are hard for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import count, islice
from typing import Any

import numpy as np

from jostle import algorithms, workloads
from jostle.algorithms import TASKS, Algorithm
from jostle.answers.release import release
from jostle.audit.entries import algorithms as entries
from jostle.audit.entries import choices
from jostle.audit.replay.run import Case, Subject
from jostle.audit.replay.tape import TapeAccount
from jostle.choice.accuracy_first import accuracy_first, accurate_enough
from jostle.choice.choice_maker import pythia_program
from jostle.choice.selectors import shipped
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts
from jostle.kernel.source import ReleaseSource
from jostle.workloads import Workload

RELATIONS = (
    Neighbours("add_remove"),
    Neighbours("replace"),
    Neighbours("replace", filtered=True),
    Neighbours("add_remove", rows=2),
    Neighbours("replace", rows=3),
)
"""Rows, rows of which some do not count, and people with several."""

EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(6))

NEIGHBOURS = 5
"""Neighbours of each recording."""

SIZES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((16,), (1,), (2,), (64,), (7,), (33,)),
    2: ((6, 6), (1, 1), (3, 5), (16, 16)),
}
"""Domains, by the number of dimensions."""

LARGE: dict[int, tuple[int, ...]] = {1: (5_000,), 2: (70, 70)}
"""A large domain, of which there is one case."""


KINDS = ("few each", "nothing", "one record", "ties", "sparse", "a crowd in one cell", "steep", "two steps")
"""Counts that are hard for algorithms, in words."""


def data(kind: int, shape: tuple[int, ...], rng: np.random.Generator) -> Counts:
    """Counts of one of the kinds."""
    size = int(np.prod(shape))
    made: list[Callable[[], Any]] = [
        lambda: rng.integers(0, 4, size),
        lambda: np.zeros(size),
        lambda: np.arange(size) == rng.integers(size),
        lambda: np.full(size, 3),
        lambda: rng.integers(0, 2, size) * rng.integers(0, 300, size),
        lambda: np.where(np.arange(size) == size // 2, 10**9, 0),
        lambda: 2.0 ** rng.integers(0, 20, size),
        lambda: np.where(np.arange(size) < size // 2, 40, 1),
    ]
    found: Counts = np.asarray(made[kind % len(made)](), dtype=np.int64).reshape(shape)
    return found


def neighbour(x: Counts, relation: Neighbours, rng: np.random.Generator) -> Counts:
    """The same counts after a person came, went, or changed all records; often in the largest or an empty cell."""
    y = x.reshape(-1).copy()
    come, go = _moves(relation, rng)
    for _ in range(relation.rows):
        if go and y.sum():
            filled = np.flatnonzero(y)
            y[filled[[int(np.argmax(y[filled])), 0, -1, int(rng.integers(filled.size))][int(rng.integers(4))]]] -= 1
        if come or (relation.relation == "replace" and y.sum() < x.sum() and not (relation.filtered or relation.rows > 1)):
            y[[int(np.argmax(y)), int(np.argmin(y)), 0, y.size - 1, int(rng.integers(y.size))][int(rng.integers(5))]] += 1
    return y.reshape(x.shape)


def _moves(relation: Neighbours, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether records come, and whether records go."""
    if relation.relation == "add_remove":
        more = bool(rng.integers(2))
        return more, not more
    if relation.filtered or relation.rows > 1:  # the number of records may change, too
        return ((True, True), (True, False), (False, True))[int(rng.integers(3))]
    return False, True


def cases(settings: Callable[[tuple[int, ...]], Sequence[Any]], dimensions: int, *, large: bool = True) -> Any:
    """Cases over domains with this number of dimensions, each with one of these settings."""

    def found(pairs: int) -> Iterator[Case]:
        made = (_case(number, settings, dimensions, large=large) for number in count())
        return islice(made, -(-pairs // NEIGHBOURS) + 1)

    return found


def _case(
    number: int,
    settings: Callable[[tuple[int, ...]], Sequence[Any]],
    dimensions: int,
    *,
    large: bool,
    shape: tuple[int, ...] | None = None,
) -> Case:
    rng = np.random.default_rng([number, dimensions])
    shapes = SIZES[dimensions]
    if shape is None:
        shape = LARGE[dimensions] if large and number == 4 else shapes[0 if number % 2 else number // 2 % len(shapes)]
    relation, epsilon = RELATIONS[number % len(RELATIONS)], EPSILONS[(number + number // 5) % len(EPSILONS)]
    kind, choices_ = int(rng.integers(len(KINDS))), settings(shape)
    x = data(kind, shape, rng)
    if relation.total_is_public and not x.any():
        x.reshape(-1)[0] = 1
    return Case(
        name=f"{KINDS[kind]} over {'×'.join(map(str, shape))} cells",
        data=x,
        others=[neighbour(x, relation, rng) for _ in range(NEIGHBOURS)],
        neighbours=Neighbours(relation.relation, relation.rows),
        epsilon=epsilon,
        setting=(choices_[number % len(choices_)], relation.filtered),
    )


@lru_cache(maxsize=64)
def workloads_over(shape: tuple[int, ...]) -> list[Workload]:
    """Cells, prefixes, ranges and rectangles."""
    if len(shape) == 1:
        every = [workloads.all_ranges(*shape)] if shape[0] <= 64 else []
        return [workloads.identity(shape), workloads.prefix(*shape), *every]
    low, high = [[0, 0], [shape[0] // 2, 0]], [[(side + 1) // 2 for side in shape], list(shape)]
    return [workloads.identity(shape), workloads.rectangles(shape, low, high)]


def subjects() -> list[Subject]:
    """Every registered algorithm for each of its tasks, and every way to choose."""
    return [
        *(
            _algorithm(found, task, variant, tunables)
            for found in algorithms.every().values()
            for task in found.tasks
            for variant, tunables in entries.variants(found, task).items()
        ),
        *_choices(),
    ]


def _algorithm(found: Algorithm, task: str, variant: str, tunables: dict[str, Any]) -> Subject:
    def run(case: Case, x: Counts, account: TapeAccount) -> Any:
        workload, filtered = case.setting
        how: dict[str, Any] = {"epsilon": case.epsilon, "account": account, "filtered": filtered}
        return release(x, workload, algorithm=found.name, **how, **tunables)

    name = f"{found.name}{variant and f', {variant}'}{'' if task == found.tasks[0] else f' ({task})'}"
    return Subject(name=name, family="algorithm", run=run, cases=cases(workloads_over, TASKS[task]), in_rho=True)


Choose = Callable[[ReleaseSource, Workload, Any], Any]


def _choices() -> Iterator[Subject]:
    def subject(name: str, make: Callable[[], Choose]) -> Subject:
        made: list[Choose] = []

        def run(case: Case, x: Counts, account: TapeAccount) -> Any:
            if not made:
                made.append(make())
            workload, filtered = case.setting
            source = ReleaseSource(x, purse=account.purse(), filtered=filtered)
            return made[0](source, workload, source.grant(case.epsilon))

        return Subject(name=f"choice: {name}", family="choice", run=run, cases=over(choices.CELLS), in_rho=True)

    def followed(ask: Any) -> Choose:
        return lambda source, workload, budget: ask(source, budget)

    yield subject("ChoiceMaker", lambda: followed(choices._choice_maker()))
    yield subject("ChoicePoint", lambda: followed(choices._choice_point()))
    yield subject("ByValidation", lambda: followed(choices._validation()))
    yield subject("Pythia", lambda: pythia_program(shipped("range-1d")))

    def first_accurate(case: Case, x: Counts, account: TapeAccount) -> Any:
        workload = workloads.prefix(choices.CELLS)
        how: dict[str, Any] = {"within": 4, "steps": 3, "test": "1/2", "budget": account.grant(case.epsilon)}
        return accuracy_first(x, workload, **how)

    def accurate(case: Case, x: Counts, account: TapeAccount) -> Any:
        def wrong(estimate: Any, counts: Any) -> float:
            return float(np.abs(estimate - counts).max())

        how: dict[str, Any] = {"sensitivity": 1, "within": 4, "steps": 3, "test": "1/2"}
        return accurate_enough(x, wrong, **how, budget=account.grant(case.epsilon))

    yield Subject(name="choice: accuracy_first", family="choice", run=first_accurate, cases=over(choices.CELLS))
    yield Subject(name="choice: accurate_enough", family="choice", run=accurate, cases=over(choices.CELLS))


def over(cells: int) -> Callable[[int], Iterator[Case]]:
    """Cases over a line of this many cells, with the workload of all cells."""

    def found(pairs: int) -> Iterator[Case]:
        for number in range(-(-pairs // NEIGHBOURS)):
            yield _case(number, lambda shape: [workloads.identity(cells)], 1, large=False, shape=(cells,))

    return found
