"""Records from a model: as many as wanted, with counts that are rounded, not drawn, wherever cliques are looked at.

Along the tree, records that agree in what two cliques have in common share out the other values among them: each gets as
many as its probability says, rounded up or down at random (systematic sampling). So a record is drawn, and the counts have
far less noise than independent draws. Post-processing: it sees the model only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jostle.synthetic.junction_tree import cells_of
from jostle.synthetic.model import CliqueModel, FloatArray

IntArray = NDArray[np.int64]


def draw_records(model: CliqueModel, rows: int, rng: np.random.Generator) -> list[IntArray]:
    """One array of codes per attribute.

    >>> from jostle.synthetic.model import independent
    >>> one, other = draw_records(independent([np.array([0.5, 0.5]), np.array([0.25, 0.75])]), 8, np.random.default_rng(0))
    >>> np.bincount(one).tolist(), np.bincount(other).tolist()
    ([4, 4], [2, 6])
    """
    tree = model.tree
    codes: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(tree.sizes)
    for clique, separator, belief in zip(tree.cliques, tree.separators, model.beliefs, strict=True):
        new = [axis for axis in clique if axis not in separator]
        table = np.transpose(belief, [clique.index(axis) for axis in (*separator, *new)])
        table = table.reshape(cells_of(tree.sizes, separator), -1)
        groups = np.zeros(rows, dtype=np.int64)
        for axis in separator:
            groups = groups * tree.sizes[axis] + codes[axis]
        drawn = shared_out(groups, table, rng)
        for axis, part in zip(new, np.unravel_index(drawn, [tree.sizes[axis] for axis in new]), strict=True):
            codes[axis] = np.asarray(part, dtype=np.int64)
    return codes


def shared_out(groups: IntArray, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """A value for each record: the records of a group get the values in proportion to the group's weights, one row each.

    >>> groups = np.array([0, 0, 0, 0, 1, 1])
    >>> drawn = shared_out(groups, np.array([[1.0, 1.0], [0.0, 1.0]]), np.random.default_rng(0))
    >>> np.bincount(drawn[:4]).tolist(), drawn[4:].tolist()
    ([2, 2], [1, 1])
    """
    values = weights.shape[1]
    sums = weights.sum(axis=1, keepdims=True)
    shares = np.where(sums > 0, weights / np.where(sums > 0, sums, 1.0), 1.0 / values)
    upto = np.cumsum(shares, axis=1)
    upto /= upto[:, -1:]
    order = rng.permutation(groups.size)
    order = order[np.argsort(groups[order], kind="stable")]
    sizes = np.bincount(groups, minlength=weights.shape[0])
    rank = np.arange(groups.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    at = (rank + np.repeat(rng.random(sizes.size), sizes)) / np.repeat(sizes, sizes)
    ends = (np.arange(weights.shape[0])[:, None] + upto).reshape(-1)
    sorted_groups = groups[order]
    found = np.searchsorted(ends, sorted_groups + at, side="right")
    drawn = np.empty(groups.size, dtype=np.int64)
    drawn[order] = np.clip(found - sorted_groups * values, 0, values - 1)
    return drawn
