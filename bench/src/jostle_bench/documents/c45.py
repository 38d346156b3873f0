"""A decision tree without privacy, as a baseline: ID3's multiway splits, C4.5's cuts of numbers and its pruning.

ID3 (Quinlan 1986) splits by information gain until a node is pure or no attribute is left. C4.5 (Quinlan 1993) cuts numbers
in two, and replaces a subtree by a leaf wherever a pessimistic estimate of its errors says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Codes = Mapping[str, Any]

Z = 0.6745
"""C4.5's confidence of 25 %: the errors of a leaf are taken to be at the upper end of an interval this wide."""


@dataclass
class Node:
    """A node with its records by class; a leaf has no attribute."""

    counts: Any
    attribute: str = ""
    cut: int | None = None
    """For a number: codes from here on go to the second child."""

    children: list[Node] = field(default_factory=list)


def id3(
    codes: Codes,
    sizes: Mapping[str, int],
    label: str,
    *,
    depth: int,
    prune: bool = True,
    numbers: Collection[str] = (),
) -> Node:
    """Grow a tree on public records; `numbers` are cut in two, all other attributes have a branch for each value.

    >>> x = np.array([0, 0, 1, 1])
    >>> tree = id3({"a": x, "b": np.array([0, 1, 0, 1]), "class": x}, {"a": 2, "b": 2, "class": 2}, "class", depth=3)
    >>> tree.attribute, [child.counts.tolist() for child in tree.children]
    ('a', [[2, 0], [0, 2]])
    """
    attributes = [name for name in sizes if name != label]
    root = _grown(codes, sizes, label, np.arange(len(codes[label])), attributes, depth, numbers)
    if prune:
        _pruned(root)
    return root


def _grown(
    codes: Codes,
    sizes: Mapping[str, int],
    label: str,
    rows: Any,
    left: list[str],
    depth: int,
    numbers: Collection[str],
) -> Node:
    counts = np.bincount(codes[label][rows], minlength=sizes[label])
    node = Node(counts)
    if depth == 0 or not left or (counts > 0).sum() <= 1:  # a pure node is a leaf
        return node
    found = {
        name: _best(_table(codes[name][rows], codes[label][rows], sizes[name], sizes[label]), name in numbers)
        for name in left
    }
    node.attribute = min(found, key=lambda name: found[name][0])
    node.cut = found[node.attribute][1]
    others = left if node.cut is not None else [name for name in left if name != node.attribute]
    branch = _branch(node, codes[node.attribute][rows])
    branches = sizes[node.attribute] if node.cut is None else 2
    node.children = [
        _grown(codes, sizes, label, rows[branch == value], others, depth - 1, numbers)
        if (branch == value).any()
        else Node(counts)
        for value in range(branches)
    ]
    return node


def _branch(node: Node, values: Any) -> Any:
    return values if node.cut is None else (values >= node.cut).astype(int)


def _table(values: Any, labels: Any, size: int, classes: int) -> Any:
    """Records by value and class."""
    return np.bincount(values * classes + labels, minlength=size * classes).reshape(size, classes).astype(float)


def _best(table: Any, number: bool) -> tuple[float, int | None]:
    """The conditional entropy of a split, times the number of records, and the cut of a number."""
    if not number or len(table) < 3:
        return _entropy(table), None
    below = np.cumsum(table, axis=0)
    cuts = [(_entropy(np.stack([below[at - 1], below[-1] - below[at - 1]])), at) for at in range(1, len(table))]
    return min(cuts)


def _entropy(table: Any) -> float:
    whole = table.sum(axis=1, keepdims=True)
    return float(-(table * np.log(np.where(table > 0, table, 1) / np.maximum(whole, 1))).sum())


def _pessimistic(counts: Any) -> float:
    """Errors of a leaf at the upper end of C4.5's interval."""
    n = float(counts.sum())
    if n == 0:
        return 0.0
    share = 1 - float(counts.max()) / n
    root = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return n * float((share + Z**2 / (2 * n) + root) / (1 + Z**2 / n))


def _pruned(node: Node) -> float:
    """Cut back bottom up; the pessimistic errors that are left."""
    leaf = _pessimistic(node.counts)
    if not node.children:
        return leaf
    below = sum(_pruned(child) for child in node.children if child.counts is not node.counts)
    if leaf <= below:
        node.attribute, node.children = "", []
        return leaf
    return below


def error(tree: Node, codes: Codes, label: str) -> float:
    """The share of records that it gets wrong."""
    wrong, waiting = 0, [(tree, np.arange(len(codes[label])))]
    while waiting:
        node, rows = waiting.pop()
        if not node.children:
            wrong += int((codes[label][rows] != node.counts.argmax()).sum())
            continue
        branch = _branch(node, codes[node.attribute][rows])
        waiting += [(child, rows[branch == value]) for value, child in enumerate(node.children)]
    return wrong / max(len(codes[label]), 1)
