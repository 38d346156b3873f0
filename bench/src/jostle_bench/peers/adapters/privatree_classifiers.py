"""PrivaTree as we read it in the paper of Vos, Vos, Li, Erkin and Verwer (2023); their code is on no package index.

"Differentially-private decision trees and provable robustness to data poisoning": a tree of depth 4 for two classes. Numbers
fall into ten bins between private deciles. At each node, noisy histograms of the classes in the bins of each attribute say
which cut has the least Gini impurity; categories are ordered by their share of the second class. Leaves are named by
permute-and-flip, with the ε at which misnamed leaves cost one record in a hundred, but at most half of it. The number of
records is taken as public.

The histograms of a node's attributes count the same records, so their losses add up. The published code gives the whole ε to
each: with m attributes it loses up to m times what it states. Here are both: "ε shared by the attributes" keeps what it
promises and is compared at equal ε; "as published" does not, and only shows what that brings.

Deciles are found by halving (Kaplan, Schnapp and Stemmer 2022), where the authors draw them jointly; and no node is left
whole because its records happen to be of one class, which would have to be paid for.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import classifying  # type: ignore[import-not-found]  # it stands beside this file
import numpy as np

VERSION_OF = "numpy"  # the only distribution that it needs
DEPTH = 4
BINS = 10
WRONG = 0.01
"""The share of records that misnamed leaves may cost, in expectation."""


def tree(task: Any, epsilon: float, seed: int, *, shared: bool) -> Any:
    """Learn a tree, and classify the test records."""
    draw, attributes = np.random.default_rng(seed), len(task.categories)
    leaf = min(epsilon / 2, worst_error(2) * 2**DEPTH / (WRONG * len(task.train)))
    each = (epsilon - leaf) / (attributes if shared else 1)
    ways = [_bins(task.train[:, at], size, each, draw) for at, size in enumerate(task.categories)]
    train, test = (
        np.column_stack([np.searchsorted(edges, records[:, at]) for at, (edges, _) in enumerate(ways)])
        for records in (task.train, task.test)
    )
    sizes = [len(edges) + 1 for edges, _ in ways]
    found = np.zeros(len(test), dtype=np.int64)

    def grow(here: Any, there: Any, depth: int) -> None:
        """Split the records `here`, and with them those that are to be classified `there`."""
        classes = task.y_train[here]
        counted = [_noisy(train[here, at], classes, size, ways[at][1], draw) for at, size in enumerate(sizes) if depth]
        cuts = [best_cut(counts, task.categories[at] > 0) for at, counts in enumerate(counted)]
        at, (impurity, left) = min(enumerate(cuts), key=lambda cut: cut[1][0], default=(0, NO_CUT))
        if impurity == math.inf:
            found[there] = permute_and_flip(np.bincount(classes, minlength=2), leaf, draw)
            return
        for side in (True, False):
            grow(here[left[train[here, at]] == side], there[left[test[there, at]] == side], depth - 1)

    grow(np.arange(len(train)), np.arange(len(test)), DEPTH)
    return found


def worst_error(candidates: int) -> float:
    """How many records permute-and-flip loses at worst, in expectation, at ε = 1 (McKenna and Sheldon 2020)."""
    p = np.linspace(1e-6, 1, 10**5)
    return float(np.max(2 * np.log(1 / p) * (1 - (1 - (1 - p) ** candidates) / (candidates * p))))


def _bins(values: Any, categories: int, epsilon: float, draw: Any) -> tuple[Any, float]:
    """The inner edges of an attribute's bins, and the ε for its histogram at every node."""
    if categories:
        return np.arange(categories - 1) + 0.5, epsilon / DEPTH
    share = epsilon / (DEPTH + 1)
    rounds = math.ceil(math.log2(BINS))
    edges = halved(np.sort(values), (0.0, 1.0), list(range(1, BINS)), (0, BINS), share / rounds, draw)
    return np.unique(edges), share


def halved(
    values: Any, ends: tuple[float, float], wanted: list[int], ranks: tuple[int, int], epsilon: float, draw: Any
) -> Any:
    """Quantiles of sorted values: the middle one by the exponential mechanism, then those on both sides of it."""
    if not wanted:
        return []
    middle = wanted[len(wanted) // 2]
    target = len(values) * (middle - ranks[0]) / (ranks[1] - ranks[0])
    edges = np.concatenate([[ends[0]], values, [ends[1]]])
    with np.errstate(divide="ignore"):
        scores = np.log(np.diff(edges)) - epsilon / 2 * np.abs(np.arange(len(values) + 1) - target)
    gap = int(np.argmax(scores + draw.gumbel(size=scores.size)))
    cut = float(draw.uniform(edges[gap], edges[gap + 1]))
    at = len(wanted) // 2
    below = halved(values[:gap], (ends[0], cut), wanted[:at], (ranks[0], middle), epsilon, draw)
    return [*below, cut, *halved(values[gap:], (cut, ends[1]), wanted[at + 1 :], (middle, ranks[1]), epsilon, draw)]


def _noisy(codes: Any, classes: Any, size: int, epsilon: float, draw: Any) -> Any:
    """How many records of each class fall into each bin, with geometric noise; below 0 is 0."""
    counts = np.bincount(2 * codes + classes, minlength=2 * size).reshape(size, 2)
    noise = draw.geometric(1 - np.exp(-epsilon), size=(2, size, 2))
    return np.maximum(counts + noise[0] - noise[1], 0)


NO_CUT: tuple[float, Any] = (math.inf, None)


def best_cut(counts: Any, categorical: bool) -> tuple[float, Any]:
    """The least impurity that a cut of an attribute leaves, and which bins are on its left."""
    totals = counts.sum(axis=1)
    share = np.divide(counts[:, 1], totals, out=np.full(len(counts), 0.5), where=totals > 0)
    order = np.argsort(share, kind="stable") if categorical else np.arange(len(counts))
    left = np.cumsum(counts[order], axis=0)[:-1]
    right = counts.sum(axis=0) - left
    sizes = [side.sum(axis=1) for side in (left, right)]
    possible = (sizes[0] > 0) & (sizes[1] > 0)
    if not possible.any():
        return NO_CUT
    spoilt = [size - (side**2).sum(axis=1) / np.maximum(size, 1) for side, size in zip((left, right), sizes, strict=True)]
    impurity = np.where(possible, (spoilt[0] + spoilt[1]) / np.maximum(sizes[0] + sizes[1], 1), np.inf)
    at = int(np.argmin(impurity))
    chosen = np.zeros(len(counts), dtype=bool)
    chosen[order[: at + 1]] = True
    return float(impurity[at]), chosen


def permute_and_flip(counts: Any, epsilon: float, draw: Any) -> int:
    """One of the classes, most likely the most frequent one: a record more changes one count by 1, upwards."""
    order = draw.permutation(len(counts))
    taken = draw.random(len(counts)) < np.exp(epsilon * (counts - counts.max()))[order]  # the most frequent one always is
    return int(order[np.argmax(taken)])


MODELS = {
    "with ε shared by the attributes": (partial(tree, shared=True), "add_remove"),
    "as published (not ε-private)": (partial(tree, shared=False), "none"),
}
"""Each with what it protects. One that does not is shown, and compared with nobody."""


def classify(job: dict[str, Any]) -> dict[str, Any]:
    """Its errors where there are two classes."""
    if job["classes"] != 2:
        raise NotImplementedError("the method orders categories by their share of the second of two classes")
    fit, neighbours = MODELS[job["model"]]
    return {**classifying.errors(job, fit), "delta": 0.0, "neighbours": neighbours}


ANSWERS = {"classify": classify}
