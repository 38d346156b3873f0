"""The kernel's operators: every strategy, statistic, score and cut, with the neighbours that are hardest on it.

Hard pairs are found from what an operator computes, by trying all records, and not from the sensitivity that it states: a
sensitivity that is too small is just what an audit must find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from jostle.audit.entries import RELATIONS, Ask, Audited, Pair, Pairs, by_relation, of_source
from jostle.audit.entries.selection_law import most_telling
from jostle.kernel.budget import Budget
from jostle.kernel.functions import expressions as terms
from jostle.kernel.functions.expressions import Term
from jostle.kernel.functions.scores import QueryDistance, QueryScore, Score, SplitScore
from jostle.kernel.functions.statistics import (
    Derived,
    LargestCell,
    NonZeroCells,
    PartitionCost,
    Scale,
    Statistic,
    TotalVariation,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.source import IntervalCost, Source
from jostle.kernel.strategies import (
    Strategy,
    blocks,
    boxes,
    grid,
    hierarchy,
    identity,
    matrix,
    prefix,
    residual,
    stack,
    total,
    wavelet,
)

CELLS = 4
"""The size of the domain: so small that the worst event is not rare."""

LARGE = 1_000
"""Cells of a large domain; beyond 128 cells, sensitivities are found in another way than from all columns."""

LARGEST = 5_000

NOTHING_MOVES = "a record that is replaced does not move it"

_STARTS = [[0, 0, 0, 0], [1, 1, 1, 1], [3, 0, 0, 0], [0, 3, 0, 1], [2, 2, 0, 0], [6, 0, 2, 0], [0, 0, 0, 5]]
"""Nothing, ties, a heavy cell beside empty ones, and steps."""

_CONTESTS = [[0, 0, 4, 4], [4, 4, 0, 0], [4, 0, 0, 4], [0, 1, 0, 1], [0, 2, 0, 0], [0, 4, 0, 1]]
"""Two candidates that lead, and others without a chance: there a choice shows most."""


def neighbours_of(x: Counts, relation: Neighbours) -> Iterator[tuple[str, Counts]]:
    """Every neighbour of a vector, with what was done to it in words.

    >>> [more.tolist() for _, more in neighbours_of(np.array([1, 0]), Neighbours("add_remove"))]
    [[2, 0], [1, 1]]
    >>> [moved.tolist() for _, moved in neighbours_of(np.array([1, 0]), Neighbours("replace"))]
    [[0, 1]]
    """
    for cell in range(x.size):
        if relation.relation == "add_remove":
            more = x.copy()
            more[cell] += 1
            yield f"one record more in cell {cell}", more
        elif x[cell]:
            for target in set(range(x.size)) - {cell}:
                moved = x.copy()
                moved[cell] -= 1
                moved[target] += 1
                yield f"one record from cell {cell} to {target}", moved


def all_pairs(starts: Sequence[Sequence[int]], relation: Neighbours) -> list[Pair]:
    """Each of these vectors with each of its neighbours."""
    vectors = [np.array(start, dtype=np.int64) for start in starts]
    return [Pair(what, x, moved) for x in vectors for what, moved in neighbours_of(x, relation)]


def worst_pairs(distance: Callable[[Counts, Counts], float]) -> Pairs:
    """The two pairs that are furthest apart, of all neighbours of the vectors to start from."""
    return lambda relation: sorted(all_pairs(_STARTS, relation), key=lambda pair: -distance(pair.one, pair.other))[:2]


def entries() -> list[Audited]:
    """Every operator."""
    return [
        *(_laplace(name, strategy) for name, strategy in strategies().items()),
        *(_statistic(name, statistic) for name, statistic in statistics().items()),
        *(_choose(name, score) for name, score in scores().items()),
        *(_partition(method) for method in ("noisy-minimum", "exponential")),
        *_composed(),
    ]


def strategies() -> dict[str, Strategy]:
    """One strategy of every kind."""
    return {
        "identity": identity(CELLS),
        "total": total(CELLS),
        "prefix": prefix(CELLS),
        "blocks": blocks(Partition.intervals([0, 1], CELLS)),
        "grid": grid(CELLS, 2),
        "boxes": boxes(CELLS, [[0], [1], [0]], [[2], [CELLS], [CELLS]]),
        "matrix": matrix([[1, -1, 2, 0], [0, 1, 0, -1]]),
        "real matrix": matrix([[0.3, -1.0, 0.7, 0.1]]),
        "stack": stack(identity(CELLS), total(CELLS), weights=[1, 2]),
        "hierarchy": hierarchy(CELLS, 2),
        "weighted hierarchy": hierarchy(CELLS, 2, root=False, weights=[1, 1.7]),
        "wavelet": wavelet(CELLS),
        "residual": residual((2, 2), kept=[0, 1], centred=[1]),
    }


def large_strategies() -> dict[str, Strategy]:
    """Strategies over 129 to 5,000 cells, some of whose columns are unlike the others."""
    rng = np.random.default_rng(0)
    thirds = Partition.intervals([0, 3, LARGE // 3], LARGE)
    lows, highs = [[0], [1], [LARGE // 2]], [[LARGE], [LARGE - 1], [LARGE]]
    return {
        "identity": identity(LARGEST),
        "total": total(LARGEST),
        "prefix": prefix(LARGEST),
        "blocks": blocks(thirds),
        "grid": grid(LARGEST, 50),
        "boxes": boxes(LARGE, lows, highs),
        "matrix": matrix(rng.integers(-3, 4, (20, 129))),
        "real matrix": matrix(rng.normal(size=(5, 300))),
        "stack": stack(identity(LARGE), prefix(LARGE), weights=[3, 1]),
        "hierarchy": hierarchy(LARGEST, 7),
        "weighted hierarchy": hierarchy(300, 3, root=False, weights=[1, 1.7, 0.4, 2, 1, 1][: _levels(300, 3)]),
        "wavelet": wavelet(4_096),
        "residual": residual((7, 11, 13), kept=[0, 2]),
    }


def _levels(cells: int, branching: int) -> int:
    """Levels of a tree without its root."""
    return next(level for level in count(1) if branching**level >= cells)


def statistics() -> dict[str, Statistic]:
    """One statistic of every kind."""
    return {
        "Scale": Scale(),
        "NonZeroCells": NonZeroCells(),
        "LargestCell": LargestCell(),
        "TotalVariation": TotalVariation(),
        "PartitionCost": PartitionCost(price=1.5),
        **{f"Derived, {name}": Derived(term, name) for name, term in _terms().items()},
    }


def _terms() -> dict[str, Term]:
    """One private expression for every rule that has a bound of its own."""
    cells, halves = terms.cells(CELLS), Partition.intervals([0, 2], CELLS)
    groups = terms.grouped(cells, halves)
    net = terms.grouped(terms.weighted(cells, [2, 0, -1, 1]), Partition.of([0] * CELLS))
    return {
        "length": terms.length(groups),
        "standard deviation": terms.length(groups, centred=True, divisor=2),
        "variation": terms.variation(cells),
        "deviation": terms.deviation(cells),
        "largest": terms.largest(terms.taken(cells, np.array([0, 1, 3]))),
        "weighted sum": net,
        "clipped": terms.grouped(terms.clipped(cells, 0, 1), Partition.of([0] * CELLS)),
        "larger": terms.larger(net, terms.public([2])),
        "added": terms.added(terms.variation(groups), terms.weighted(net, [3])),
    }


def scores() -> dict[str, Score]:
    """One score of every kind; some twice, as scores that only rise and as scores that move both ways."""
    return {
        "QueryScore": QueryScore(identity(CELLS)),
        "QueryScore of two": QueryScore(matrix([[1, 0, 0, 0], [0, 1, 0, 0]])),
        "QueryScore of a wavelet": QueryScore(wavelet(CELLS)),
        "QueryDistance": QueryDistance(matrix([[1, 0, 0, 0], [1, 1, 0, 0]]), np.array([0.0, 3.0]), grain=1),
        "SplitScore": SplitScore(cells=CELLS, price=1.0),
    }


def _entry(name: str, ask: Ask, pairs: Pairs, *, unknown: str = "") -> Audited:
    """`unknown` says why the worst case is not known where a record is replaced."""
    tight = RELATIONS[:1] if unknown else RELATIONS
    return Audited(name=name, family="operator", pairs=pairs, tight=tight, unknown=unknown, **of_source(ask, batched=True))


def _laplace(name: str, strategy: Strategy) -> Audited:
    dense = strategy.dense()

    def ask(source: Source, budget: Budget) -> Vector:
        return source.measure(strategy, budget)

    def moved(x: Counts, other: Counts) -> float:
        return float(np.abs(dense @ (x - other)).sum())

    unknown = {"total": NOTHING_MOVES} | dict.fromkeys(("boxes", "residual"), "twice the norm is a bound from above")
    return _entry(f"laplace: {name}", ask, worst_pairs(moved), unknown=unknown.get(name, ""))


def _statistic(name: str, statistic: Statistic) -> Audited:
    def ask(source: Source, budget: Budget) -> Vector:
        return source.statistic(statistic, budget)

    def moved(x: Counts, other: Counts) -> float:
        return abs(statistic.value(x) - statistic.value(other))

    unknown = {"Scale": NOTHING_MOVES, "Derived, length": "two groups that move apart are further than their lengths"}
    return _entry(f"statistic: {name}", ask, worst_pairs(moved), unknown=unknown.get(name, ""))


def _choose(name: str, score: Score) -> Audited:
    def pairs(relation: Neighbours) -> list[Pair]:
        return most_telling(all_pairs([*_STARTS, *_CONTESTS], relation), lambda x: score.values(x).astype(float))

    def ask(source: Source, budget: Budget) -> int:
        candidates: Any = np.arange(score.values(np.zeros(CELLS, dtype=np.int64)).size)
        chosen: int = source.choose(candidates, score, budget)
        return chosen

    unknown = {"QueryScore of a wavelet": "a record that moves takes two answers apart by 3, and the bound is 4"}
    return _entry(f"choose: {name}", ask, pairs, unknown=unknown.get(name, ""))


def _partition(method: Any) -> Audited:
    """Cuts of three cells: so few that each cut comes often, and intervals of all three lengths overlap."""
    cost = IntervalCost(price=1.0, method=method)

    def ask(source: Source, budget: Budget) -> Counts:
        return source.partition(cost, budget).labels

    pairs = by_relation(
        [_pair("nothing and one record", [0, 0, 0], [0, 1, 0]), _pair("a step", [0, 2, 2], [0, 2, 3])],
        [_pair("a record that moves", [1, 1, 0], [0, 1, 1]), _pair("a step", [2, 0, 2], [1, 1, 2])],
    )
    unknown = "no pair is known that moves the costs of two cuts as far apart as the bound allows"
    runs = of_source(ask, batched=False)
    return Audited(name=f"partition: {method}", family="operator", pairs=pairs, unknown=unknown, **runs)


def _pair(name: str, one: list[int], other: list[int]) -> Pair:
    return Pair(name, np.array(one), np.array(other))


def _composed() -> Iterator[Audited]:
    """Reduced sources, parts that share a budget, and parts of parts."""
    halves, thirds = Partition.intervals([0, 2], CELLS), Partition.of([0, 1, 2, 1])

    def reduced(source: Source, budget: Budget) -> Vector:
        return source.reduce(halves).measure(identity(2), budget)

    def parts(source: Source, budget: Budget) -> Vector:
        seen = [np.atleast_1d(part.measure(total(part.size), token)) for part, token in source.split(halves, budget)]
        return np.concatenate(seen, axis=-1)

    def mixed(source: Source, budget: Budget) -> Vector:
        before, within = budget.split(1, 1)
        seen = [source.measure(identity(CELLS), before)]
        for part, token in source.split(thirds, within):
            first, second = token.split(1, 2)
            seen += [part.measure(identity(part.size), first), part.measure(total(part.size), second)]
        return np.concatenate(seen, axis=-1)

    def spread(x: Counts, other: Counts) -> float:
        return float(np.abs(halves.sums(x - other)).sum())

    for name, ask in (("reduce", reduced), ("split", parts), ("split after laplace", mixed)):
        yield _entry(name, ask, worst_pairs(spread))
