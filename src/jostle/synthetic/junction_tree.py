"""Trees of cliques over attributes, within a bound on their cells: public, from sizes and sets of attributes only.

Attributes are numbers from 0 on. A clique is a rising tuple of them. Every set of attributes whose joint distribution a
model is fitted to lies in a clique, and the cliques that have an attribute in common are connected: then sums over all
other attributes can be passed along the tree (Lauritzen and Spiegelhalter, 1988).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

Clique = tuple[int, ...]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which each comes after its parent; a root has none. There may be several trees.

    >>> tree = JunctionTree.over([2, 3, 4, 5], [(0, 1), (1, 2)])
    >>> tree.cliques, tree.parents, tree.separators
    (((1, 2), (0, 1), (3,)), (-1, 0, -1), ((), (1,), ()))
    """

    sizes: tuple[int, ...]
    """The number of values of each attribute."""

    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]
    """The place of each clique's parent; −1 for a root."""

    separators: tuple[Clique, ...]
    """What a clique has in common with its parent."""

    @classmethod
    def over(cls, sizes: Sequence[int], sets: Iterable[Sequence[int]]) -> JunctionTree:
        """A tree whose cliques hold all sets; each attribute is in one at least."""
        cliques = maximal_cliques(sizes, sets)
        order, parents = _spanning_forest(sizes, cliques)
        kept = [() if parent < 0 else _common(one, order[parent]) for one, parent in zip(order, parents, strict=True)]
        return cls(tuple(sizes), tuple(order), tuple(parents), tuple(kept))

    @cached_property
    def cells(self) -> int:
        """The cells of all cliques together."""
        return sum(cells_of(self.sizes, clique) for clique in self.cliques)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The places of each clique's children."""
        below: list[list[int]] = [[] for _ in self.cliques]
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(place)
        return tuple(map(tuple, below))

    def home(self, axes: Iterable[int]) -> int | None:
        """The smallest clique that has all these attributes, or None."""
        wanted = set(axes)
        homes = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(homes, key=lambda place: cells_of(self.sizes, self.cliques[place]), default=None)


def cells_of(sizes: Sequence[int], axes: Iterable[int]) -> int:
    """The combinations of these attributes' values.

    >>> cells_of([2, 3, 4], (0, 2))
    8
    """
    return math.prod(sizes[axis] for axis in axes)


def _common(one: Clique, other: Clique) -> Clique:
    return tuple(axis for axis in one if axis in other)


# ------------------------------------------------------------------------------------------------ triangulation


def adjacency(attributes: int, sets: Iterable[Sequence[int]]) -> list[int]:
    """For each attribute, those that share a set with it, as bits of a whole number.

    >>> [bin(bits) for bits in adjacency(3, [(0, 1)])]
    ['0b10', '0b1', '0b0']
    """
    found = [0] * attributes
    for axes in sets:
        together = sum(1 << axis for axis in axes)
        for axis in axes:
            found[axis] |= together & ~(1 << axis)
    return found


def maximal_cliques(sizes: Sequence[int], sets: Iterable[Sequence[int]]) -> list[Clique]:
    """The cliques of a triangulated graph, by eliminating whichever attribute makes the smallest clique.

    >>> maximal_cliques([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3), (0, 3)])
    [(0, 1, 3), (1, 2, 3)]
    """
    near = adjacency(len(sizes), sets)
    return [tuple(_bits(clique)) for clique in _eliminated(sizes, near, range(len(sizes)))]


def model_cells(tree: JunctionTree, neighbours: Sequence[int], added: Sequence[int]) -> int:
    """The cells of all cliques together if a set were added to those behind the tree and `neighbours` (`adjacency`).

    >>> model_cells(JunctionTree.over([2, 3, 4], [(0, 1)]), adjacency(3, [(0, 1)]), (1, 2))
    18
    """
    together = sum(1 << axis for axis in added)
    near = list(neighbours)
    for axis in added:
        near[axis] |= together & ~(1 << axis)
    moved, reached = 0, together  # only what is connected with the set changes
    while moved != reached:
        moved = reached
        for axis in _bits(moved):
            reached |= near[axis]
    untouched = sum(cells_of(tree.sizes, clique) for clique in tree.cliques if not reached >> clique[0] & 1)
    return untouched + sum(cells_of(tree.sizes, _bits(one)) for one in _eliminated(tree.sizes, near, _bits(reached)))


def _eliminated(sizes: Sequence[int], neighbours: Sequence[int], axes: Iterable[int]) -> Iterator[int]:
    """The maximal cliques of some attributes, as bits: each attribute with what is near it when it is eliminated.

    A clique that is part of an earlier one is what was near the attribute that was eliminated there.
    """
    near, left, parts = list(neighbours), list(axes), set[int]()
    weights = [math.log(max(size, 1)) for size in sizes]
    costs = {axis: weights[axis] + sum([weights[other] for other in _bits(near[axis])]) for axis in left}
    while left:
        axis = min(left, key=costs.__getitem__)
        left.remove(axis)
        around = near[axis]
        clique = around | 1 << axis
        if clique not in parts:
            yield clique
        parts.add(around)
        for other in _bits(around):
            near[other] = (near[other] | around) & ~(1 << axis | 1 << other)
            costs[other] = weights[other] + sum([weights[one] for one in _bits(near[other])])


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


def _spanning_forest(sizes: Sequence[int], cliques: Sequence[Clique]) -> tuple[list[Clique], list[int]]:
    """Cliques and their parents, which have most in common: a maximum spanning tree has the running intersection."""
    order: list[Clique] = []
    parents: list[int] = []
    left = dict.fromkeys(cliques, (0, -1))  # how much each has in common with whom
    while left:
        new = max(left, key=lambda clique: (left[clique][0], cells_of(sizes, clique), clique))
        order.append(new)
        parents.append(left.pop(new)[1])
        for other, (shared, _) in left.items():
            common = len(_common(other, new))
            if common > shared:
                left[other] = common, len(order) - 1
    return order, parents
