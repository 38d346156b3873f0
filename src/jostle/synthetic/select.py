"""Which histogram to measure next: candidates, what they are worth, and which of them keep the model small.

Candidates and weights follow from the schema and the workload, and estimates from what was released before. The choice
itself is the kernel's `choose_marginal` (AIM: McKenna, Mullins, Sheldon and Miklau, 2022).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType

from jostle.kernel.functions.gaps import MarginalGap
from jostle.synthetic.estimate import Fitted
from jostle.synthetic.junction_tree import Clique, JunctionTree, adjacency, cells_of, model_cells

HEAVIEST = 2**10
"""The weight of the candidate that matters most."""

LARGEST_CANDIDATE = 10_000
"""The most cells of a histogram that may be measured."""

MOST_CANDIDATES = 2_000
"""The most histograms that are compared: with more, sets of three columns are left out."""


def default_workload(columns: int) -> list[Clique]:
    """All sets of three columns where these are few enough, else all pairs; or all columns, if there are fewer.

    >>> len(default_workload(15)), len(default_workload(50)), default_workload(1)
    (455, 1225, [(0,)])
    """
    for degree in (3, 2):
        sets = list(combinations(range(columns), min(degree, columns)))
        if len(sets) <= MOST_CANDIDATES // 2:
            return sets
    return sets


@lru_cache(maxsize=4)
def weighted_candidates(workload: tuple[Clique, ...]) -> Mapping[Clique, int]:
    """All sets of one column or more inside the workload's, with what they are worth: how much they share with all of these.

    >>> dict(weighted_candidates(((0, 1), (1, 2))))
    {(0,): 342, (1,): 683, (2,): 342, (0, 1): 1024, (1, 2): 1024}
    """
    masks = [sum(1 << axis for axis in axes) for axes in workload]
    inside = {part for axes in workload for size in range(1, len(axes) + 1) for part in combinations(sorted(axes), size)}
    shared = {
        part: sum((mask & sum(1 << axis for axis in part)).bit_count() for mask in masks)
        for part in sorted(inside, key=lambda part: (len(part), part))
    }
    top = max(shared.values())
    return MappingProxyType({part: max(1, -(-HEAVIEST * worth // top)) for part, worth in shared.items()})


def that_fit(
    tree: JunctionTree, candidates: Mapping[Clique, int], measured: Iterable[Clique], most_cells: float
) -> list[Clique]:
    """Candidates that lie in a clique already, and pairs with which the model stays within so many cells.

    >>> tree = JunctionTree.over([10, 10, 10], [(0, 1), (1, 2)])
    >>> that_fit(tree, {(0,): 1, (0, 1): 1, (1, 2): 1, (0, 2): 1, (0, 1, 2): 1}, [(0, 1), (1, 2)], 300)
    [(0,), (0, 1), (1, 2)]
    """
    near = adjacency(len(tree.sizes), measured)
    cliques = [set(clique) for clique in tree.cliques]
    found = []
    for axes in candidates:
        if cells_of(tree.sizes, axes) > LARGEST_CANDIDATE:
            continue
        free = any(clique.issuperset(axes) for clique in cliques)
        if free or (len(axes) == 2 and model_cells(tree, near, axes) <= most_cells):
            found.append(axes)
    return found


def that_join(
    tree: JunctionTree, candidates: Mapping[Clique, int], measured: Iterable[Clique], parents: int, most_cells: float
) -> list[Clique]:
    """Candidates that join one more column to at most `parents` of those that are joined already; first any pair.

    >>> tree = JunctionTree.over([2, 2, 2, 2], [(0, 1)])
    >>> that_join(tree, {(0, 1): 1, (0, 2): 1, (1, 2): 1, (2, 3): 1, (0, 1, 2): 1}, [(0, 1)], 2, 100)
    [(0, 2), (1, 2), (0, 1, 2)]
    """
    sets = list(measured)
    joined = {axis for axes in sets if len(axes) > 1 for axis in axes}
    near = adjacency(len(tree.sizes), sets)
    found = []
    for axes in candidates:
        new = len(set(axes) - joined)
        fits = new == 1 and 2 <= len(axes) <= parents + 1 if joined else len(axes) == 2
        if fits and cells_of(tree.sizes, axes) <= LARGEST_CANDIDATE and model_cells(tree, near, axes) <= most_cells:
            found.append(axes)
    return found


@dataclass(frozen=True, eq=False)
class Offer:
    """What is offered to one choice: the candidates in order, and their gaps."""

    axes: list[Clique]
    gaps: list[MarginalGap]


def offer(fitted: Fitted, candidates: Mapping[Clique, int], axes: list[Clique], names: Sequence[str], noise: float) -> Offer:
    """Each candidate with its present estimate; what noise would add to its gap, `noise` per cell, is taken off."""
    pairs = fitted.model.pairs((one[0], one[1]) for one in axes if len(one) == 2)
    gaps = []
    for one in axes:
        shares = pairs[one[0], one[1]] if len(one) == 2 else fitted.model.marginal(one)
        counts = fitted.total * shares.reshape(-1)
        gaps.append(MarginalGap(tuple(names[axis] for axis in one), counts, candidates[one], noise * counts.size))
    return Offer(axes, gaps)
