"""The kernel's operators: every strategy, statistic, score and cut, with the neighbours that are hardest on it.

Hard pairs are found from what a thing computes, by trying all records, and not from the sensitivity that it states: a
sensitivity that is too small is what an audit must not believe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jostle.audit.choices import furthest, telling
from jostle.audit.entries import RELATIONS, Audited, Pair, of_source
from jostle.kernel import expressions as terms
from jostle.kernel.budget import Budget
from jostle.kernel.expressions import Derived, Term
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.queries import Strategy
from jostle.kernel.scores import QueryDistance, QueryScore, Score, SplitScore
from jostle.kernel.source import IntervalCost, Source
from jostle.kernel.statistics import (
    LargestCell,
    NonZeroCells,
    PartitionCost,
    Scale,
    Statistic,
    TotalVariation,
)
from jostle.kernel.strategy import blocks, boxes, grid, identity, matrix, prefix, stack, total
from jostle.kernel.trees import hierarchy, wavelet

CELLS = 4
"""A domain that is small enough for the worst event not to be rare."""

NOTHING_MOVES = "a record that is replaced does not move it"

_STARTS = [[0, 0, 0, 0], [1, 1, 1, 1], [3, 0, 0, 0], [0, 3, 0, 1], [2, 2, 0, 0], [6, 0, 2, 0], [0, 0, 0, 5]]
"""Nothing, ties, a heavy cell beside empty ones, and steps."""

_CONTESTS = [[0, 0, 4, 4], [4, 4, 0, 0], [4, 0, 0, 4], [0, 1, 0, 1], [0, 2, 0, 0], [0, 4, 0, 1]]
"""Two candidates that lead, and others without a chance: there a choice shows most."""


def neighbours_of(x: Counts, relation: Neighbours) -> Iterator[tuple[str, Counts]]:
    """Every neighbour of a vector, and in words what was done to it.

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


def worst_pairs(relation: Neighbours, distance: Callable[[Counts, Counts], float], number: int = 2) -> list[Pair]:
    """The neighbours that something moves furthest between, of all neighbours of the vectors to start from."""
    return sorted(all_pairs(_STARTS, relation), key=lambda pair: -distance(pair.one, pair.other))[:number]


def all_pairs(starts: Sequence[Sequence[int]], relation: Neighbours) -> list[Pair]:
    """Each of these vectors with each of its neighbours."""
    vectors = [np.array(start, dtype=np.int64) for start in starts]
    return [Pair(what, x, moved) for x in vectors for what, moved in neighbours_of(x, relation)]


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
    }


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
    """One private expression of every rule that has a bound of its own."""
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
    """One score of every kind, and some of them twice: scores that rise alone, and scores that move both ways."""
    return {
        "QueryScore": QueryScore(identity(CELLS)),
        "QueryScore of two": QueryScore(matrix([[1, 0, 0, 0], [0, 1, 0, 0]])),
        "QueryScore of a wavelet": QueryScore(wavelet(CELLS)),
        "QueryDistance": QueryDistance(matrix([[1, 0, 0, 0], [1, 1, 0, 0]]), np.array([0.0, 3.0]), grain=1),
        "SplitScore": SplitScore(cells=CELLS, price=1.0),
    }


def _laplace(name: str, strategy: Strategy) -> Audited:
    dense = strategy.dense()

    def moved(x: Counts, other: Counts) -> float:
        return float(np.abs(dense @ (x - other)).sum())

    def pairs(relation: Neighbours) -> list[Pair]:
        return worst_pairs(relation, moved)

    less = {"total": NOTHING_MOVES, "boxes": "twice the norm is a bound from above"}
    return Audited(
        name=f"laplace: {name}",
        family="operator",
        pairs=pairs,
        tight=("add_remove",) if name in less else RELATIONS,
        unknown=less.get(name, ""),
        **of_source(lambda source, budget: source.laplace(strategy, budget), batched=True),
    )


def _statistic(name: str, statistic: Statistic) -> Audited:
    def moved(x: Counts, other: Counts) -> float:
        return abs(statistic.value(x) - statistic.value(other))

    less = {"Scale": NOTHING_MOVES, "Derived, length": "two groups that move apart are further than their lengths"}
    return Audited(
        name=f"statistic: {name}",
        family="operator",
        pairs=lambda relation: worst_pairs(relation, moved),
        tight=("add_remove",) if name in less else RELATIONS,
        unknown=less.get(name, ""),
        **of_source(lambda source, budget: source.statistic(statistic, budget), batched=True),
    )


def _choose(name: str, score: Score) -> Audited:
    def pairs(relation: Neighbours) -> list[Pair]:
        found = all_pairs([*_STARTS, *_CONTESTS], relation)
        reach = furthest(
            (score.values(pair.other) - score.values(pair.one)).astype(float) for pair in found
        )  # seen, not stated

        def shows(pair: Pair) -> float:
            return telling(score.values(pair.one).astype(float), score.values(pair.other).astype(float), reach)

        return sorted(found, key=shows, reverse=True)[:2]

    def ask(source: Source, budget: Budget) -> int:
        candidates: Any = np.arange(score.values(np.zeros(CELLS, dtype=np.int64)).size)
        chosen: int = source.choose(candidates, score, budget)
        return chosen

    less = {"QueryScore of a wavelet": "a record that moves takes two answers apart by 3, and the bound is 4"}
    return Audited(
        name=f"choose: {name}",
        family="operator",
        pairs=pairs,
        tight=("add_remove",) if name in less else RELATIONS,
        unknown=less.get(name, ""),
        **of_source(ask, batched=True),
    )


def _partition(method: Any) -> Audited:
    """Cuts of three cells: few enough cells for each cut to come often, and all three lengths of intervals overlap."""
    cost = IntervalCost(price=1.0, method=method)

    def ask(source: Source, budget: Budget) -> Counts:
        return source.partition(cost, budget).labels

    def pairs(relation: Neighbours) -> list[Pair]:
        if relation.relation == "add_remove":
            return [_pair("nothing and one record", [0, 0, 0], [0, 1, 0]), _pair("a step", [0, 2, 2], [0, 2, 3])]
        return [_pair("a record that moves", [1, 1, 0], [0, 1, 1]), _pair("a step", [2, 0, 2], [1, 1, 2])]

    unknown = "no pair is known that moves the costs of two cuts as far apart as the bound allows"
    return Audited(
        name=f"partition: {method}", family="operator", pairs=pairs, unknown=unknown, **of_source(ask, batched=False)
    )


def _composed() -> Iterator[Audited]:
    """Reduced sources, parts that share a budget, and parts of parts."""
    halves, thirds = Partition.intervals([0, 2], CELLS), Partition.of([0, 1, 2, 1])

    def reduced(source: Source, budget: Budget) -> Vector:
        return source.reduce(halves).laplace(identity(2), budget)

    def parts(source: Source, budget: Budget) -> Vector:
        return np.concatenate(
            [np.atleast_1d(part.laplace(total(part.size), token)) for part, token in source.split(halves, budget)], axis=-1
        )

    def mixed(source: Source, budget: Budget) -> Vector:
        before, within = budget.split(1, 1)
        seen = [source.laplace(identity(CELLS), before)]
        for part, token in source.split(thirds, within):
            first, second = token.split(1, 2)
            seen += [part.laplace(identity(part.size), first), part.laplace(total(part.size), second)]
        return np.concatenate(seen, axis=-1)

    def spread(x: Counts, other: Counts) -> float:
        return float(np.abs(halves.sums(x - other)).sum())

    for name, ask in (("reduce", reduced), ("split", parts), ("split after laplace", mixed)):
        yield Audited(
            name=name,
            family="operator",
            pairs=lambda relation: worst_pairs(relation, spread),
            tight=RELATIONS,
            **of_source(ask, batched=True),
        )


def _pair(name: str, one: list[int], other: list[int]) -> Pair:
    return Pair(name, np.array(one), np.array(other))
