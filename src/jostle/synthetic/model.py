"""A distribution over all attributes: a product of factors over a few attributes each, on a junction tree.

Everything here is exact up to floating-point arithmetic, in 64 bits. It sees no private data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jostle.synthetic.junction_tree import Clique, JunctionTree, cells_of

FloatArray = NDArray[np.float64]

TINY = 1e-300
"""Stands for 0 where a logarithm or a quotient is taken."""


def spread(values: FloatArray, axes: Clique, clique: Clique) -> FloatArray:
    """Values over some attributes of a clique, in a shape that broadcasts over all of them.

    >>> spread(np.zeros((2, 3)), (0, 2), (0, 1, 2)).shape
    (2, 1, 3)
    """
    sizes = iter(values.shape)
    return values.reshape([next(sizes) if axis in axes else 1 for axis in clique])


def summed(values: FloatArray, clique: Clique, axes: Iterable[int]) -> FloatArray:
    """Values over a clique, added up over all attributes but these.

    >>> summed(np.ones((2, 3)), (0, 4), (4,)).tolist()
    [2.0, 2.0, 2.0]
    """
    kept = set(axes)
    out = tuple(place for place, axis in enumerate(clique) if axis not in kept)
    return np.asarray(values.sum(axis=out)) if out else values


@dataclass(frozen=True, eq=False)
class CliqueModel:
    """The distribution with these probabilities in each clique, which agree where cliques overlap."""

    tree: JunctionTree
    beliefs: tuple[FloatArray, ...]
    """The joint probabilities of each clique's attributes."""

    log_sum: float
    """The logarithm of what the product of the factors adds up to."""

    @classmethod
    def of(cls, tree: JunctionTree, potentials: Sequence[FloatArray]) -> CliqueModel:
        """Probabilities in proportion to exp(Σ potentials), by passing sums up the tree and down again.

        >>> tree = JunctionTree.over([2, 2], [(0, 1)])
        >>> CliqueModel.of(tree, [np.log([[1.0, 2.0], [3.0, 4.0]])]).beliefs[0].round(2).tolist()
        [[0.1, 0.2], [0.3, 0.4]]
        """
        count = len(tree.cliques)
        logs = [np.array(potential, dtype=np.float64) for potential in potentials]
        weights: list[FloatArray] = [np.empty(0)] * count
        sums: list[FloatArray] = [np.empty(0)] * count
        log_sum = 0.0
        for place in reversed(range(count)):
            clique, parent = tree.cliques[place], tree.parents[place]
            top = float(logs[place].max())
            np.subtract(logs[place], top, out=logs[place])
            weights[place] = np.exp(logs[place], out=logs[place])
            sums[place] = np.maximum(summed(weights[place], clique, tree.separators[place]), TINY)
            if parent < 0:
                log_sum += top + float(np.log(sums[place]))
            else:
                logs[parent] += spread(np.log(sums[place]) + top, tree.separators[place], tree.cliques[parent])
        for place in range(count):
            clique, parent = tree.cliques[place], tree.parents[place]
            above: FloatArray = np.ones(())
            if parent >= 0:
                above = summed(weights[parent], tree.cliques[parent], tree.separators[place])
            weights[place] *= spread(above / sums[place], tree.separators[place], clique)
        return cls(tree, tuple(weights), log_sum)

    @cached_property
    def _of_separators(self) -> tuple[FloatArray, ...]:
        tree = self.tree
        return tuple(
            summed(belief, clique, separator)
            for belief, clique, separator in zip(self.beliefs, tree.cliques, tree.separators, strict=True)
        )

    def marginal(self, axes: Sequence[int]) -> FloatArray:
        """The joint probabilities of any attributes, in this order: sums over all others, by variable elimination."""
        wanted = tuple(sorted(axes))
        home = self.tree.home(wanted)
        found = self._eliminated(wanted) if home is None else summed(self.beliefs[home], self.tree.cliques[home], wanted)
        return found if wanted == tuple(axes) else np.transpose(found, [wanted.index(axis) for axis in axes])

    def _eliminated(self, wanted: Clique) -> FloatArray:
        """From the leaves to the roots; cliques that add nothing to what is wanted are left out."""
        tree, asked = self.tree, set(wanted)
        passed: dict[int, tuple[Clique, FloatArray]] = {}
        result: tuple[Clique, FloatArray] = ((), np.ones(()))
        for place in reversed(range(len(tree.cliques))):
            clique, separator = tree.cliques[place], tree.separators[place]
            below = [passed[child] for child in tree.children[place] if child in passed]
            new = [axis for axis in clique if axis in asked and axis not in separator]
            if not below and not new:
                continue
            kept = (asked & set(clique)) | set(separator)
            axes, values = _reduced(clique, self.beliefs[place], kept | {axis for one, _ in below for axis in one})
            for one, factor in below:
                axes, values = _joined((axes, values), (one, factor), kept | asked | {a for o, _ in below for a in o})
            axes, values = _reduced(axes, values, kept | asked)
            if tree.parents[place] < 0:
                result = _joined(result, _reduced(axes, values, asked), asked)
            else:
                given = np.maximum(self._of_separators[place], TINY)
                passed[place] = axes, values / spread(given, separator, axes)
        return result[1]


def _reduced(axes: Clique, values: FloatArray, kept: set[int]) -> tuple[Clique, FloatArray]:
    return tuple(axis for axis in axes if axis in kept), summed(values, axes, kept)


def _joined(
    one: tuple[Clique, FloatArray], other: tuple[Clique, FloatArray], kept: set[int]
) -> tuple[Clique, FloatArray]:
    """The product of two factors, added up over what is not kept."""
    axes = tuple(sorted({*one[0], *other[0]} & kept))
    places = {axis: place for place, axis in enumerate(sorted({*one[0], *other[0]}))}
    numbered = [[places[axis] for axis in factor[0]] for factor in (one, other)]
    out = [places[axis] for axis in axes]
    return axes, np.einsum(one[1], numbered[0], other[1], numbered[1], out)


def independent(tables: Sequence[FloatArray]) -> CliqueModel:
    """The model in which no attribute tells anything about another.

    >>> independent([np.array([0.5, 0.5]), np.array([0.2, 0.8])]).marginal((0, 1)).tolist()
    [[0.1, 0.4], [0.1, 0.4]]
    """
    tree = JunctionTree.over([table.size for table in tables], [])
    logs = [np.log(np.maximum(tables[clique[0]], TINY)) for clique in tree.cliques]
    return CliqueModel.of(tree, logs)


def largest_clique(model: CliqueModel) -> int:
    """The cells of the largest clique."""
    return max(cells_of(model.tree.sizes, clique) for clique in model.tree.cliques)
