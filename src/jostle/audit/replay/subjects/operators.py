"""The kernel's operators, each by itself: on counts, on records, over large domains, and reducers less one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice, permutations, product
from typing import Any

import numpy as np

from jostle.audit.entries import operators, records
from jostle.audit.replay.run import Case, Subject
from jostle.audit.replay.subjects import counts
from jostle.audit.replay.subjects.learners import neighbour
from jostle.audit.replay.subjects.mechanisms import NEIGHBOURS, RELATIONS, case_of
from jostle.audit.replay.tape import TapeAccount
from jostle.kernel.budget import Budget
from jostle.kernel.functions import expressions as terms
from jostle.kernel.functions.expressions import Term
from jostle.kernel.functions.objective import Additive
from jostle.kernel.functions.statistics import Derived
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.records import Records, ReleaseRecords
from jostle.kernel.source import IntervalCost, ReleaseSource, Source
from jostle.kernel.strategies import Strategy, identity, total


def subjects() -> list[Subject]:
    """Every operator."""
    return [*_operators(), *_over_many_cells(), *_reducers(), *_record_operators()]


def _operator(name: str, ask: Callable[[Source, Budget], Any], cells: int = operators.CELLS) -> Subject:
    def run(case: Case, x: Any, account: TapeAccount) -> Any:
        source = ReleaseSource(x, purse=account.purse(), filtered=case.setting[1])
        return ask(source, source.grant(case.epsilon))

    return Subject(name=f"operator: {name}", family="operator", run=run, cases=counts.over(cells), in_rho=True)


def _operators() -> Iterator[Subject]:
    def measured(strategy: Any) -> Callable[[Source, Budget], Any]:
        return lambda source, budget: source.measure(strategy, budget)

    def counted(statistic: Any) -> Callable[[Source, Budget], Any]:
        return lambda source, budget: source.statistic(statistic, budget)

    def picked(score: Any) -> Callable[[Source, Budget], Any]:
        options = np.arange(score.values(np.zeros(operators.CELLS, dtype=np.int64)).size).tolist()
        return lambda source, budget: source.choose(options, score, budget)

    def cut(method: Any) -> Callable[[Source, Budget], Any]:
        return lambda source, budget: source.partition(IntervalCost(price=1.0, method=method), budget)

    def parts(source: Source, budget: Budget) -> Any:
        found = source.split(Partition.of([0, 1, 2, 1]), budget)
        return [part.reduce(Partition.of([0] * part.size)).measure(total(1), token) for part, token in found]

    yield from (_operator(f"measure, {name}", measured(one)) for name, one in operators.strategies().items())
    yield from (_operator(f"statistic, {name}", counted(one)) for name, one in operators.statistics().items())
    yield from (_operator(f"choose, {name}", picked(one)) for name, one in operators.scores().items())
    yield from (_operator(f"partition, {method}", cut(method)) for method in ("noisy-minimum", "exponential"))
    yield _operator("split and reduce", parts)


def _over_many_cells() -> Iterator[Subject]:
    """What moved is computed from the answers, whatever the strategy says of its columns."""

    def measured(strategy: Strategy) -> Callable[[Source, Budget], Any]:
        return lambda source, budget: source.measure(strategy, budget)

    for name, one in operators.large_strategies().items():
        yield _operator(f"measure, {name} over {one.size} cells", measured(one), one.size)


REDUCERS: dict[str, Callable[[Term], Term]] = {
    "sum": lambda of: terms.grouped(of, Partition.of([0] * of.entries)),
    "largest": terms.largest,
    "smallest": lambda of: terms.weighted(terms.largest(terms.weighted(of, [-1])), [-1]),
    "length": terms.length,
    "standard deviation": lambda of: terms.length(of, centred=True, divisor=3),
    "variation": terms.variation,
    "deviation": terms.deviation,
}
"""From entries to one number."""


def _reducers() -> Iterator[Subject]:
    """Every reducer less every other, over entries with weights of both signs: a record moves both, or only one."""

    def asked(statistic: Derived) -> Callable[[Source, Budget], Any]:
        return lambda source, budget: source.statistic(statistic, budget)

    of = terms.weighted(terms.cells(operators.CELLS), [2, 1, -1, 3])
    for (one, first), (other, second) in permutations(REDUCERS.items(), 2):
        less = Derived(terms.added(first(of), terms.weighted(second(of), [-1])), "difference")
        yield _operator(f"statistic, {one} minus {other}", asked(less))


def _record_operators() -> Iterator[Subject]:
    sizes = {"group": 2, **records.SIZES}
    every = list(product(*(range(size) for size in sizes.values())))

    def coded(rng: np.random.Generator, relation: Neighbours) -> tuple[Any, list[Any]]:
        rows = [every[int(rng.integers(len(every)))] for _ in range(int(rng.choice([1, 3, 12, 40])))]

        def new() -> tuple[int, ...]:
            return every[int(rng.integers(len(every)))]

        return tuple(rows), [tuple(neighbour(rows, relation.relation, new, rng)) for _ in range(NEIGHBOURS)]

    def subject(name: str, ask: Callable[[Records, Budget], Any]) -> Subject:
        def run(case: Case, rows: Any, account: TapeAccount) -> Any:
            source = ReleaseRecords(records.columns(rows, sizes), purse=account.purse())
            return ask(source, source.grant(case.epsilon))

        def cases(pairs: int) -> Iterator[Case]:
            return islice((case_of(number, coded, RELATIONS[:2]) for number in count()), -(-pairs // NEIGHBOURS))

        return Subject(name=f"operator: records, {name}", family="operator", run=run, cases=cases, in_rho=True)

    def choices(criterion: Any, by: str | None) -> Callable[[Records, Budget], Any]:
        how: dict[str, Any] = {"label": "class", "by": by}
        return lambda source, budget: source.choose_each(records.SPLITS, criterion, budget, **how)

    def vectors(source: Records, budget: Budget) -> Any:
        first, second, third = budget.split(1, 1, 1)
        same = source.derive("same", ("a", "b"), np.array([[0, 1], [1, 0]]))
        judged = source.judged(("a", "b"), lambda codes: codes["a"] & codes["b"], 2)
        kinds = ((source.vector("a", "class"), first), (same.vector("same"), second), (judged, third))
        return [one.measure(identity(one.shape), token) for one, token in kinds]

    def parts(source: Records, budget: Budget) -> Any:
        return [part.vector("b").measure(total(2), token) for part, token in source.split("a", budget)]

    for name, criterion in records.criteria().items():
        yield subject(f"choose_each, {name}", choices(criterion, None))
        yield subject(f"choose_each by group, {name}", choices(criterion, "group"))
    yield subject("choose_marginal", lambda source, budget: source.choose_marginal(records.gaps(), budget))
    yield subject("vectors", vectors)
    yield subject("split", parts)
    objective = Additive("class", {"a": np.eye(2), "b": np.eye(2)}, ridge=1.0)
    yield subject("minimise", lambda source, budget: source.minimise(objective, budget))
