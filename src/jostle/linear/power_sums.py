"""How much of each measured number is in an answer, as sums of powers, from the structure of what was measured.

An answer that follows from noisy numbers by least squares is Σ bⱼyⱼ. How far off it is depends on Σ b², Σ b⁴ and Σ b⁶
(`jostle.linear.laws`). For sums over boxes of cells, trees, wavelets and cells with overlapping sums give these without
all weights: a box cuts few nodes of a tree, and all others count by what is known of their whole subtree.
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.strategies import Boxes, Hierarchy, Matrix, Strategy, Wavelet
from jostle.linear.boxes import Ends, boxes_of
from jostle.linear.design.p_identity import least_squares_of, split_of
from jostle.linear.fitting.trees import cells_of, gains_and_shares, tree_least_squares

POWERS = (2, 4, 6)

_AT_ONCE = 64
"""So many answers are worked out side by side, which processors do at once."""


def least_squares(strategy: Strategy, answers: Vector) -> Vector | None:
    """The cells that fit noisy answers best, for strategies whose power sums are known; otherwise None.

    Wavelets are fitted on the padded domain.
    """
    if len(strategy.shape) > 2:
        return None
    if isinstance(strategy, Hierarchy):
        return tree_least_squares(strategy, answers)
    if isinstance(strategy, Wavelet):
        return cells_of(strategy, answers)
    split = split_of(strategy) if isinstance(strategy, Matrix) else None
    return None if split is None else least_squares_of(split, answers)


def power_sums(strategy: Strategy, queries: Strategy) -> Vector | None:
    """Three rows with the sums of b², b⁴ and b⁶ over each query's weights of the numbers measured, in units.

    The queries are answered from the `least_squares` cells. None if a query is no box.

    >>> from jostle.kernel.strategies import hierarchy, prefix
    >>> power_sums(hierarchy(2, 2), prefix(2)).round(3).tolist()  # weights 1/3, 2/3, −1/3 and 2/3, 1/3, 1/3
    [[0.667, 0.667], [0.222, 0.222], [0.091, 0.091]]
    """
    ends = boxes_of(queries)
    if ends is None:
        return None
    if isinstance(strategy, Hierarchy):
        return _of_tree(strategy, ends)
    if isinstance(strategy, Wavelet):
        return _of_wavelet(strategy, ends)
    return _of_overlapping(strategy, ends) if isinstance(strategy, Matrix) else None


def _two_axes(ends: Ends) -> Counts:
    """Where boxes begin and end on two axes, as four columns; a line is a grid of one column."""
    lows, highs = ends
    if lows.shape[1] == 1:
        lows, highs = np.pad(lows, ((0, 0), (0, 1))), np.pad(highs, ((0, 0), (0, 1)), constant_values=1)
    return np.stack([lows[:, 0], highs[:, 0], lows[:, 1], highs[:, 1]], axis=1).astype(np.int64)


def _of_wavelet(strategy: Wavelet, ends: Ends) -> Vector:
    """A box's weights are products of those of its sides; a side has a weight only for nodes that it cuts."""
    found = np.ones((3, ends[0].shape[0]))
    for low, high, n in zip(ends[0].T, ends[1].T, strategy.padded, strict=True):
        side = np.array([((high - low) / n) ** k for k in POWERS])
        width = n
        while width > 1:
            first, last = low // width, high // width
            for node, counts in ((first, True), (last, (last != first) & (high < n))):
                start, middle, end = (node * width + step for step in (0, width // 2, width))
                left = np.clip(np.minimum(high, middle) - np.maximum(low, start), 0, None)
                right = np.clip(np.minimum(high, end) - np.maximum(low, middle), 0, None)
                side += np.array([np.where(counts, ((left - right) / width) ** k, 0.0) for k in POWERS])
            width //= 2
        found *= side
    return found


def _of_overlapping(strategy: Matrix, ends: Ends) -> Vector | None:
    """Cells and overlapping sums: the few sums are put together for all answers, then cells are gone through once."""
    split = split_of(strategy)
    if split is None:
        return None
    cells, theta, inverse = split
    of_sums = inverse @ Boxes(strategy.shape, *ends).apply(theta.toarray() / cells)
    by_cell = theta.tocsc()
    columns = strategy.shape[1] if len(strategy.shape) > 1 else 1
    structure = [np.asarray(part) for part in (1 / cells, by_cell.indptr, by_cell.indices, by_cell.data)]
    boxes, found = np.ascontiguousarray(_two_axes(ends).T, dtype=np.int32), np.zeros((3, ends[0].shape[0]))
    for first in range(0, boxes.shape[1], _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        parts = (np.ascontiguousarray(part[:, some]) for part in (boxes, of_sums, found))
        found[:, some] = _powers_of_cells_and_sums(columns, *structure, *parts)
    return np.asarray(found / strategy.unit ** np.array(POWERS, dtype=np.float64)[:, np.newaxis])


@compiled
def _powers_of_cells_and_sums(
    columns: int, alone: Vector, starts: Counts, sums: Counts, values: Vector, boxes: Counts, of_sums: Vector, found: Vector
) -> Vector:
    step = boxes.shape[1]
    weight = np.empty(step)
    touched = np.empty(step, np.int32)  # where the box ends on the second axis, if it has the row; otherwise 0
    for s in range(of_sums.shape[0]):
        _add_powers(of_sums[s], found)
    for cell in range(alone.size):
        row, column = np.int32(cell // columns), np.int32(cell % columns)
        if column == 0:
            for q in range(step):
                touched[q] = boxes[3, q] if (boxes[0, q] <= row) & (row < boxes[1, q]) else 0
        for q in range(step):
            weight[q] = alone[cell] if (boxes[2, q] <= column) & (column < touched[q]) else 0.0
        for at in range(starts[cell], starts[cell + 1]):
            value, one = values[at], of_sums[sums[at]]
            for q in range(step):
                weight[q] -= value * one[q]
        _add_powers(weight, found)
    return found


@compiled
def _add_powers(weights: Vector, powers: Vector) -> None:
    for q in range(weights.size):
        square = weights[q] * weights[q]
        powers[0, q] += square
        powers[1, q] += square * square
        powers[2, q] += square * square * square


def _of_tree(tree: Hierarchy, ends: Ends) -> Vector:
    """Only nodes that a box cuts are looked into.

    Downwards, a child gets its upward estimate and a share of what the children lack of their parent. So the box is the sum
    of the whole nodes in it, and a node that is cut counts with the shares of what lies in the box. Upwards, a node's
    estimate is its own number and its children's sum, by gain.
    """
    gains, shares = gains_and_shares(tree)
    last = len(tree.grids) - 1
    gain = [np.broadcast_to(0.0 if g is None else g, grid) for g, grid in zip(gains, tree.grids, strict=True)]
    share = [np.broadcast_to(1.0 if s is None else s, grid) for s, grid in zip(shares, tree.grids, strict=True)]
    own = [(1 - g) / w for g, w in zip(gain, tree.weights, strict=True)]
    whole = [np.array([level**k for k in POWERS]) for level in own]
    for k in range(last - 1, -1, -1):
        whole[k] = whole[k] + np.array([gain[k] ** power for power in POWERS]) * tree.merge(whole[k + 1], k)
    flat = [np.concatenate([np.ravel(level) for level in part]) for part in (gain, share, own)]
    # Per level and axis: where blocks begin, and where their children begin, with the end of the axis after the last.
    starts, children, sizes = [], [], []
    for k, level in enumerate(tree.levels):
        axes = [*level, np.zeros(1, dtype=np.int64)][:2]
        finer = [*tree.levels[min(k + 1, last)], np.zeros(1, dtype=np.int64)][:2]
        for axis, n, fine in zip(axes, (*tree.shape, 1)[:2], finer, strict=True):
            starts.append(np.append(axis, n))
            children.append(np.append(np.searchsorted(fine, axis), fine.size))
            sizes.append(axis.size)
    blocks = [np.prod(grid) for grid in tree.grids]
    parts = (
        np.array(sizes, dtype=np.int64),
        np.concatenate(starts).astype(np.int64),
        np.concatenate(children).astype(np.int64),
        np.cumsum([0, *(n + 1 for n in sizes)]),
        np.cumsum([0, *blocks]),
        *flat,
        np.concatenate([level.reshape(3, -1) for level in whole], axis=1).T.copy(),
    )
    return np.asarray(_boxes_in_tree(_two_axes(ends), parts))


Parts = tuple[Counts, Counts, Counts, Counts, Counts, Vector, Vector, Vector, Vector]
"""A tree in flat arrays. Per level and axis: how many blocks there are, where each begins, where its children begin, and
where that level and axis begin in these two. Then where each level's nodes begin; and per node its gain, its share, the
weight of its own number, and the sums of powers of its whole subtree."""


@compiled
def _boxes_in_tree(boxes: Counts, parts: Parts) -> Vector:
    sizes, _, children, at, nodes, gain, _, _, _ = parts
    levels = sizes.size // 2
    inside, upward = np.zeros(nodes[levels]), np.zeros(nodes[levels])
    limits = np.zeros((levels, 2, 4), np.int64)
    found = np.zeros((3, boxes.shape[0]))
    for q in range(boxes.shape[0]):
        _find_limits(boxes[q], parts, limits)
        for k in range(levels - 2, -1, -1):
            _count_inside(k, parts, limits, inside)
        # The coarsest blocks, as children of one that is not there; then all others, as children of cut nodes.
        first = limits[0]
        _add_children(0, first[0, :2], first[1, :2], 0.0, 0.0, parts, limits, inside, upward, found[:, q])
        for k in range(levels - 1):
            here = limits[k]
            for i in range(here[0, 0], here[0, 1]):
                for j in range(here[1, 0], here[1, 1]):
                    if _is_whole(here, i, j):
                        continue
                    node = nodes[k] + i * sizes[2 * k + 1] + j
                    rows = children[at[2 * k] + i : at[2 * k] + i + 2]
                    columns = children[at[2 * k + 1] + j : at[2 * k + 1] + j + 2]
                    base = upward[node] * gain[node]
                    _add_children(k + 1, rows, columns, inside[node], base, parts, limits, inside, upward, found[:, q])
    return found


@compiled
def _find_limits(box: Counts, parts: Parts, limits: Counts) -> None:
    """Per level and axis: the first and last block that the box touches, and the first and last that lie in it whole."""
    _, starts, _, at, _, _, _, _, _ = parts
    for k in range(limits.shape[0]):
        for axis in range(2):
            low, high, place = box[2 * axis], box[2 * axis + 1], 2 * k + axis
            blocks = starts[at[place] : at[place + 1]]
            first, last = np.searchsorted(blocks, low, side="right") - 1, np.searchsorted(blocks, high, side="left")
            limits[k, axis, 0], limits[k, axis, 1] = first, last
            limits[k, axis, 2] = first if blocks[first] >= low else first + 1
            limits[k, axis, 3] = last if blocks[last] <= high else last - 1


@compiled
def _is_whole(limits: Counts, i: int, j: int) -> bool:
    whole: bool = (limits[0, 2] <= i) & (i < limits[0, 3]) & (limits[1, 2] <= j) & (j < limits[1, 3])
    return whole


@compiled
def _count_inside(k: int, parts: Parts, limits: Counts, inside: Vector) -> None:
    """How much each cut node of a level counts: the shares of its children, by how much those count."""
    sizes, _, children, at, nodes, _, share, _, _ = parts
    here, below = limits[k], limits[k + 1]
    for i in range(here[0, 0], here[0, 1]):
        rows = children[at[2 * k] + i : at[2 * k] + i + 2]
        for j in range(here[1, 0], here[1, 1]):
            if _is_whole(here, i, j):
                continue
            columns, part = children[at[2 * k + 1] + j : at[2 * k + 1] + j + 2], 0.0
            for c in range(max(rows[0], below[0, 0]), min(rows[1], below[0, 1])):
                for d in range(max(columns[0], below[1, 0]), min(columns[1], below[1, 1])):
                    child = nodes[k + 1] + c * sizes[2 * k + 3] + d
                    part += share[child] * (1.0 if _is_whole(below, c, d) else inside[child])
            inside[nodes[k] + i * sizes[2 * k + 1] + j] = part


@compiled
def _add_children(
    k: int,
    rows: Counts,
    columns: Counts,
    part: float,
    base: float,
    parts: Parts,
    limits: Counts,
    inside: Vector,
    upward: Vector,
    found: Vector,
) -> None:
    """Add the powers of a cut node's children on level k: of their own numbers if they are cut, otherwise of their subtrees.

    A child's upward estimate counts as much as it does itself, less the node's part that lies in the box, and by `base`.
    """
    sizes, _, _, _, nodes, _, _, own, whole = parts
    here = limits[k]
    for c in range(rows[0], rows[1]):
        for d in range(columns[0], columns[1]):
            child = nodes[k] + c * sizes[2 * k + 1] + d
            touched = here[0, 0] <= c < here[0, 1] and here[1, 0] <= d < here[1, 1]
            if touched and not _is_whole(here, c, d):
                upward[child] = inside[child] - part + base
                square = (own[child] * upward[child]) ** 2
                found[0] += square
                found[1] += square * square
                found[2] += square * square * square
            else:
                square = ((1.0 if touched else 0.0) - part + base) ** 2
                found[0] += square * whole[child, 0]
                found[1] += square * square * whole[child, 1]
                found[2] += square * square * square * whole[child, 2]
