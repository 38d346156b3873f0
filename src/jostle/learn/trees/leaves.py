"""What is predicted in a tree's leaves: public post-processing of noisy counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jostle.kernel.strategy import identity
from jostle.learn._cells import measure
from jostle.learn.registry import FloatArray
from jostle.learn.task import Task
from jostle.learn.trees.choice_points import NODE
from jostle.learn.trees.model import Node, Tree
from jostle.learn.trees.program import Shape

CONFIDENCE = 0.25
"""C4.5's: errors are taken at the upper end of an interval that the true rate exceeds with this probability."""


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree with noisy counts of the classes in its leaves."""

    nodes: tuple[Node, ...]
    """The root first; children after their parents."""

    leaves: tuple[int, ...]
    """The numbers of the leaves, in the order of the counts."""

    counts: FloatArray
    """Leaves × classes."""

    scale: float
    """Of the noise on each count."""


def counted(shape: Shape, task: Task) -> Grown:
    """Count the classes in all leaves: one Laplace measurement of disjoint cells, with all that is left of the budget."""
    vector = shape.records.vector(NODE, task.label)
    every = identity(vector.shape)
    scale = vector.noise_scale(every, shape.budget)
    return Grown(shape.nodes, shape.leaves, vector.laplace(every, shape.budget).reshape(vector.shape), scale)


def noisy_majority(grown: Grown, task: Task) -> Tree:
    """Every leaf predicts the class with the largest noisy count; shares are in proportion to the counts above 0."""
    return Tree(task, grown.nodes, _proportions(node_counts(grown)))


def pruned(grown: Grown, task: Task) -> Tree:
    """C4.5's error-based pruning: a subtree gives way to a leaf that is expected to err no more often.

    An inner node's counts are the sums of its leaves'. Errors among N records, E of which are not of the largest class, are
    estimated as N times the upper confidence limit of a binomial rate (Quinlan 1993, Section 4.2).
    """
    counts = node_counts(grown)
    kept = np.maximum(counts, 0)
    sizes = kept.sum(axis=1)
    as_leaf = expected_errors(sizes, sizes - kept.max(axis=1))
    as_tree, nodes = as_leaf.copy(), list(grown.nodes)
    for number in range(len(nodes) - 1, -1, -1):  # children come after their parents
        children = nodes[number].children
        if not children:
            continue
        as_tree[number] = as_tree[list(children)].sum()
        if as_leaf[number] <= as_tree[number]:
            as_tree[number] = as_leaf[number]
            nodes[number] = Node(nodes[number].depth)
    return Tree(task, tuple(nodes), _proportions(counts))


def expected_errors(sizes: FloatArray, errors: FloatArray) -> FloatArray:
    """N·U(E, N), U being the upper confidence limit of the rate of E errors among N (also where they are not whole).

    Quinlan's example: 6 · 0.206, 9 · 0.143, 1 · 0.75.

    >>> expected_errors(np.array([6.0, 9, 1]), np.array([0.0, 0, 0])).round(3).tolist()
    [1.238, 1.285, 0.75]
    """
    from scipy.special import betaincinv

    rates = betaincinv(errors + 1, np.maximum(sizes - errors, 1e-9), 1 - CONFIDENCE)
    return np.asarray(np.where(sizes > 0, sizes * rates, 0.0))


def prevailing(shape: Shape, task: Task) -> Tree:
    """What the noise lets be told of the classes in each leaf: our own way.

    Two classes: by their noisy difference, each leaf's with regard to all leaves' (empirical Bayes). More classes: by noisy
    counts, drawn to the shares in the node above.
    """
    if task.sizes[task.label] != 2:
        return drawn_to_parents(counted(shape, task), task)
    shares = np.full((len(shape.nodes), 2), 0.5)
    shares[list(shape.leaves)] = measure(shape.records, (NODE,), task.label, shape.budget).shares()
    for number in range(len(shape.nodes) - 1, -1, -1):
        if shape.nodes[number].children:
            shares[number] = shares[list(shape.nodes[number].children)].mean(axis=0)
    return Tree(task, shape.nodes, shares)


def drawn_to_parents(grown: Grown, task: Task, weight: float = 2.0) -> Tree:
    """As if every node had more records, as many as the noise's scale times a weight, with the parent's shares."""
    counts = node_counts(grown)
    shares = _proportions(counts)
    for number, node in enumerate(grown.nodes):
        if node.children:
            below = list(node.children)
            shares[below] = _proportions(np.maximum(counts[below], 0) + weight * grown.scale * shares[number])
    return Tree(task, grown.nodes, shares)


def node_counts(grown: Grown) -> FloatArray:
    """Noisy counts of every node: an inner one has the sums of its leaves', signed, so that noise cancels out."""
    counts = np.zeros((len(grown.nodes), grown.counts.shape[1]))
    counts[list(grown.leaves)] = grown.counts
    for number in range(len(grown.nodes) - 1, -1, -1):
        if grown.nodes[number].children:
            counts[number] = counts[list(grown.nodes[number].children)].sum(axis=0)
    return counts


def _proportions(counts: FloatArray) -> FloatArray:
    """Shares in proportion to what is positive; where nothing is, the largest gets all."""
    positive = np.maximum(counts, 0)
    nothing = positive.sum(axis=1) <= 0
    positive[nothing] = counts[nothing] >= counts[nothing].max(axis=1, keepdims=True)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def without_unreachable(tree: Tree) -> Tree:
    """The same tree, without the nodes that pruning cut off."""
    order = sorted(tree.reachable())
    number = {old: new for new, old in enumerate(order)}
    nodes = tuple(
        replace(tree.nodes[old], children=tuple(number[child] for child in tree.nodes[old].children)) for old in order
    )
    return Tree(tree.task, nodes, tree.shares[order])
