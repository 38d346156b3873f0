"""OPT: a strategy optimised for the workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from jostle.algorithms import _strategies
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.queries import Strategy
from jostle.kernel.source import Source
from jostle.kernel.strategy import Identity, Prefix
from jostle.kernel.trees import hierarchy
from jostle.linear.design.gram import Gram, fingerprint
from jostle.linear.design.levels import best_weights, level_energies, weighted
from jostle.linear.design.p_identity import PIdentity, refine, total_variance
from jostle.linear.design.tents import best_tents
from jostle.linear.fitting.trees import tree_least_squares
from jostle.workloads import Ranks, Workload

LARGEST = 2**14
"""On more cells than this, trees alone are considered."""

REFINED = 2**10
"""On at most so many cells, a strategy that does not come with the package is refined, which takes about a second."""


@algorithm(name="OPT", tasks=("range-1d", "range-2d"), cite="mckenna2018optimizing", data_dependent=False, batched=True)
def opt(x: Source, workload: Workload, budget: Budget) -> Vector:
    """The strategy that answers the workload with the least expected error, among trees and p-identity ones (Section 5.2).

    On a line, strategies for all prefixes, all ranges and ranks come with the package. Others start from overlapping sums of
    a few sizes and are refined by gradient descent on domains of up to 1,024 cells; these are kept in the user's cache
    folder. Large domains get a tree whose levels are weighted for the workload.

    Privacy: one Laplace measurement of a strategy that depends on the workload alone. The rest is post-processing.
    """
    found = best_strategy(workload)
    return found.solve(x.laplace(found.queries, budget))


@dataclass(frozen=True)
class Optimised:
    """A strategy and what it is worth for the workload that it was made for."""

    queries: Strategy
    """What to measure."""

    solve: Callable[[Vector], Vector]
    """From its noisy answers to the cells."""

    variance: float
    """The workload's total variance for noise of variance 1 at a norm of 1; exact but for irregular trees."""


_KINDS: Final = {Prefix: "prefix", Ranks: "ranks"}
"""Queries that strategies were shipped for, beside all ranges."""

_found: dict[str, Optimised] = {}


def best_strategy(workload: Workload) -> Optimised:
    """The best strategy that is known for the workload, remembered in this process.

    >>> from jostle import workloads
    >>> best_strategy(workloads.identity(64)).queries.norm
    1
    >>> round(best_strategy(workloads.prefix(256)).variance / 256)
    27
    """
    name = fingerprint(workload)
    if name not in _found:
        if len(_found) >= 32:
            _found.clear()
        tree = _tree(workload)
        overlapping = _overlapping(workload, name)
        _found[name] = overlapping if overlapping and overlapping.variance < 0.999 * tree.variance else tree
    return _found[name]


def _tree(workload: Workload) -> Optimised:
    """Nested grids; of the levels of a tree that halves and of one that cuts in three, those that are worth measuring."""
    found = []
    for branching in (2, 3):
        full = hierarchy(workload.domain, branching)
        weights, variance = best_weights(full, level_energies(full, workload.queries))
        found.append((variance, full, weights))
    variance, full, weights = min(found, key=lambda candidate: candidate[0])
    tree = weighted(full, weights)
    return Optimised(tree, partial(tree_least_squares, tree), variance)


def _overlapping(workload: Workload, name: str) -> Optimised | None:
    """Every cell and overlapping sums; None where that is known not to help, or the domain is too large."""
    if isinstance(workload.queries, Identity) or not 2 < workload.shape[1] <= LARGEST:
        return None
    gram = Gram.of(workload)
    if gram is None:
        return None
    theta = _rows(workload, gram, name)
    strategy = PIdentity(theta, workload.domain)
    return Optimised(strategy.queries, strategy.least_squares, strategy.variance(gram.rows, gram.diagonal))


def _rows(workload: Workload, gram: Gram, name: str) -> Vector:
    """The sums to measure: those that come with the package, else from the user's cache, else made now and kept there."""
    cells = workload.shape[1]
    kind = _KINDS.get(type(workload.queries), "ranges" if len(workload.domain) == 1 else "")
    known = _strategies.shipped(kind, cells) if kind else None
    if known is not None and (kind != "ranges" or gram.everything) and (cells > REFINED or cells.bit_count() == 1):
        return known
    theta = _strategies.recall(name, cells)
    if theta is None:
        starts = [best_tents(workload.domain, gram).toarray()] + ([] if known is None else [known])
        theta = min(starts, key=lambda start: total_variance(start, gram.rows, gram.diagonal)[0])
        if cells <= REFINED:
            theta = refine(theta, gram.rows, gram.diagonal, iterations=100)
        theta = _strategies.rounded(theta)  # as it will be read next time, so that a seed means the same then
        if cells >= 512:
            _strategies.keep(name, theta)
    return theta
