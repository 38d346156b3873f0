"""How mixed a node of a selector's tree is (Section 5.3 of the Pythia paper), and where to split it: compiled loops.

All criteria are functions of three things about the inputs in a node: how many there are, how often each option is the best,
and the sum of each option's regrets. So one sweep over the inputs in the order of a feature tries every split.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.kernel.compiled import compiled

GINI, GROUP, AVERAGE, VARIANCE, LEAST = range(5)
"""The criteria by number, for compiled code."""


@compiled
def group_share(best: Any, mean: Any, theta: float) -> Any:
    """The largest Σ g² over clusterings of options whose mean regrets differ by at most θ within a cluster.

    By Claim 5.1 clusters are runs of the options in the order of their regrets, so a dynamic program finds the best one.
    """
    order = np.argsort(mean)
    number = order.size
    reached = np.zeros(number + 1)
    for last in range(number):
        share = 0.0
        top = -1.0
        for first in range(last, -1, -1):
            if not mean[order[last]] - mean[order[first]] <= theta:
                break
            share += best[order[first]]
            top = max(top, reached[first] + share * share)
        reached[last + 1] = top
    return reached[number]


@compiled
def impurity(criterion: int, weight: float, best: Any, sums: Any, theta: float) -> Any:
    """The impurity of a node: the total weight of its inputs, of those that each option is best on, and summed regrets."""
    if criterion == GINI:
        return 1.0 - (best * best).sum() / weight**2
    if criterion == GROUP:
        return 1.0 - group_share(best / weight, sums / weight, theta)
    if criterion == AVERAGE:
        return sums.mean() / weight
    if criterion == VARIANCE:
        return ((sums / weight - sums.mean() / weight) ** 2).mean()
    return sums.min() / weight


@compiled
def best_split(
    criterion: int, values: Any, weights: Any, labels: Any, regrets: Any, least: float, theta: float
) -> tuple[float, float]:
    """The threshold on one feature whose two sides are purest, and their weighted impurity; infinity if none leaves enough.

    `values` rise; `labels` and `regrets` are in the same order. A threshold lies half-way between two values.
    """
    number = regrets.shape[1]
    below, above = np.zeros(number), np.zeros(number)
    best_below, best_above = np.zeros(number), np.zeros(number)
    weight_below, weight_above = 0.0, 0.0
    for row in range(values.size):
        weight_above += weights[row]
        best_above[labels[row]] += weights[row]
        above += weights[row] * regrets[row]
    found, at = np.inf, 0.0
    for row in range(values.size - 1):
        weight = weights[row]
        weight_below += weight
        weight_above -= weight
        best_below[labels[row]] += weight
        best_above[labels[row]] -= weight
        below += weight * regrets[row]
        above -= weight * regrets[row]
        if values[row] == values[row + 1] or weight_below < least or weight_above < least:
            continue
        both = weight_below * impurity(criterion, weight_below, best_below, below, theta)
        both += weight_above * impurity(criterion, weight_above, best_above, above, theta)
        if both < found:
            found, at = both, (values[row] + values[row + 1]) / 2
    return found, at
