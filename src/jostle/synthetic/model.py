"""A distribution over all attributes: a product of factors over a few attributes each, on a junction tree.

Everything here is exact up to floating-point arithmetic, in 64 bits. It sees no private data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jostle.synthetic.junction_tree import Clique, JunctionTree

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
            separator = tree.separators[place]
            out = tuple(at for at, axis in enumerate(clique) if axis not in separator)
            top = logs[place].max(axis=out, keepdims=True)  # per value of what is shared, so that no sum vanishes
            np.subtract(logs[place], top, out=logs[place])
            weights[place] = np.exp(logs[place], out=logs[place])
            sums[place] = summed(weights[place], clique, separator)
            told = np.log(sums[place]) + top.reshape(sums[place].shape)
            if parent < 0:
                log_sum += float(told)
            else:
                logs[parent] += spread(told, separator, tree.cliques[parent])
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

    def pairs(self, wanted: Iterable[tuple[int, int]]) -> dict[tuple[int, int], FloatArray]:
        """The joint probabilities of many pairs of attributes at once: what leads to one serves all behind it."""
        others: dict[int, set[int]] = {}
        for one, other in wanted:
            others.setdefault(one, set()).add(other)
        found: dict[tuple[int, int], FloatArray] = {}
        for one, partners in others.items():
            found |= self._with(one, partners)
        return found

    def _with(self, one: int, partners: set[int]) -> dict[tuple[int, int], FloatArray]:
        """Along the tree from a clique with the attribute to those with its partners."""
        tree, left, found = self.tree, set(partners), {}
        home = tree.home((one,))
        queue: list[tuple[int, int, Clique, FloatArray | None]] = [(home or 0, -1, (), None)]
        while queue and left:
            place, before, shared, given = queue.pop(0)
            clique, belief = tree.cliques[place], self.beliefs[place]
            for other in sorted(left & set(clique)):
                found[one, other] = _told(clique, belief, one, shared, given, (other,))
                left.discard(other)
            for near, separator in self._near(place):
                if near != before and one in tree.cliques[near]:
                    queue.append((near, place, (), None))
                elif near != before:
                    told = _told(clique, belief, one, shared, given, separator)
                    alone = np.maximum(summed(belief, clique, separator), TINY)
                    queue.append((near, place, separator, told / alone))
        for other in left:  # in another tree
            found[one, other] = np.multiply.outer(self.marginal((one,)), self.marginal((other,)))
        return found

    def _near(self, place: int) -> Iterable[tuple[int, Clique]]:
        tree = self.tree
        if tree.parents[place] >= 0:
            yield tree.parents[place], tree.separators[place]
        for child in tree.children[place]:
            yield child, tree.separators[child]

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


def _told(
    clique: Clique, belief: FloatArray, one: int, shared: Clique, given: FloatArray | None, wanted: Clique
) -> FloatArray:
    """The joint probabilities of an attribute and others in a clique: it is in it too, or known given what is shared."""
    if given is None:
        if one in wanted:
            raise ValueError("the attribute is among those that it is paired with")
        joint = summed(belief, clique, {one, *wanted})
        order = [axis for axis in clique if axis == one or axis in wanted]
        return np.asarray(np.moveaxis(joint, order.index(one), 0))
    axes = [axis for axis in clique if axis in shared or axis in wanted]
    joint = summed(belief, clique, axes)
    places = {axis: place + 1 for place, axis in enumerate(axes)}
    told = [0, *(places[axis] for axis in shared)]
    return _product((given, told), (joint, [*places.values()]), [0, *(places[axis] for axis in wanted)])


def _product(one: tuple[FloatArray, list[int]], other: tuple[FloatArray, list[int]], kept: list[int]) -> FloatArray:
    """The product of two arrays whose axes are numbered, added up over axes that are not kept."""
    return np.asarray(np.einsum(*one, *other, kept))  # type: ignore[arg-type]  # NumPy's types lack this form


def _reduced(axes: Clique, values: FloatArray, kept: set[int]) -> tuple[Clique, FloatArray]:
    return tuple(axis for axis in axes if axis in kept), summed(values, axes, kept)


def _joined(one: tuple[Clique, FloatArray], other: tuple[Clique, FloatArray], kept: set[int]) -> tuple[Clique, FloatArray]:
    """The product of two factors, added up over what is not kept."""
    axes = tuple(sorted({*one[0], *other[0]} & kept))
    places = {axis: place for place, axis in enumerate(sorted({*one[0], *other[0]}))}
    numbered = [[places[axis] for axis in factor[0]] for factor in (one, other)]
    out = [places[axis] for axis in axes]
    return axes, _product((one[1], numbered[0]), (other[1], numbered[1]), out)


def independent(tables: Sequence[FloatArray]) -> CliqueModel:
    """The model in which no attribute tells anything about another.

    >>> independent([np.array([0.5, 0.5]), np.array([0.2, 0.8])]).marginal((0, 1)).tolist()
    [[0.1, 0.4], [0.1, 0.4]]
    """
    tree = JunctionTree.over([table.size for table in tables], [])
    logs = [np.log(np.maximum(tables[clique[0]], TINY)) for clique in tree.cliques]
    return CliqueModel.of(tree, logs)
