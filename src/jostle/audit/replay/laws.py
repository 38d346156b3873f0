"""How much a draw tells about which of two neighbours it was made from: one law per kind of draw, computed from scratch.

Each law gets the public numbers of the draw, the private value on either side, and the result that both sides are made to
have. It returns the largest log-ratio of the two probabilities: over all results where that has a closed form, else at this
result. Nothing here uses the sensitivity that an operator states: a scale that is too small for what really moved shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.kernel.functions.objective import PRICE_OF_BENDING, PULLS, Calibration
from jostle.kernel.partition import Counts, Vector

Loss = Callable[[Any, Any, Any, Any], float]
"""From public numbers, the private value before and now, and the result, to a log-ratio of probabilities."""


@dataclass(frozen=True)
class Law:
    """What is known of one kind of draw."""

    loss: Loss

    rho: Loss | None = None
    """The ρ of a draw, where that is not ε²/2: of Gaussian noise, whose log-ratio has no bound, and of what has a bounded
    range η of log-ratios over its results, and so ρ = η²/8, as the exponential mechanism."""

    public_shape: bool = True
    """Whether the shape and the type of the private value are public, so that they must be the same for neighbours."""


def _over(moved: float, scale: Any) -> float:
    """A move in units of the scale; what gets no noise at all must not move."""
    return moved / float(scale) if scale else (math.inf if moved else 0.0)


def _sum_of_moves(scale: Any, before: Any, now: Any, result: Any) -> float:
    """Laplace noise on each number: the sum of all moves, at the result that lies beyond them all."""
    return _over(float(np.abs(np.subtract(now, before, dtype=np.float64)).sum()), scale)


def _moves_apart(scale: Any, before: Any, now: Any, result: Any) -> float:
    """The largest of scores with noise: only moves relative to each other count, as all may rise alike."""
    moves = np.subtract(now, before, dtype=np.float64)
    return _over(float(np.ptp(moves)) if moves.size else 0.0, scale)


def _squared_moves(square: Any, before: Any, now: Any, result: Any) -> float:
    """Gaussian noise on each number: ρ is half the squared length of the move, in units of σ. Discrete noise is no worse."""
    moves = np.subtract(now, before, dtype=np.float64)
    return _over(float(moves.reshape(-1) @ moves.reshape(-1)) / 2, square)


def _no_epsilon(square: Any, before: Any, now: Any, result: Any) -> float:
    """Gaussian noise hides no move with a pure ε."""
    return math.inf if np.any(np.not_equal(now, before)) else 0.0


def _range_of_moves(scale: Any, before: Any, now: Any, result: Any) -> float:
    return _moves_apart(scale, before, now, result) ** 2 / 8


def _real_laplace(how: Any, before: Any, now: Any, result: Any) -> float:
    sensitivity, epsilon = how
    return _sum_of_moves(sensitivity / epsilon, before, now, result)


def _cheapest_cut(scales: Any, before: Counts, now: Counts, result: Any) -> float:
    """By the proof of the noisy minimum: the largest move of a longer interval's cost, which has twice the noise.

    Costs of single cells never move, as a cell does not differ from its own median (docs/proofs/partition.md).
    """
    moves = np.abs(now - before)
    return max(_over(float(moves[:1].max()), scales[0]), _over(2 * float(moves[1:].max(initial=0)), scales[1]))


def _drawn_cut(rate: tuple[int, int], before: Counts, now: Counts, result: Counts) -> float:
    return abs(_log_cut(before, rate, result) - _log_cut(now, rate, result))


def _range_of_cuts(rate: tuple[int, int], before: Counts, now: Counts, result: Counts) -> float:
    """How far the log-ratios of two cuts are apart at most: sums of the intervals' moves, over all cuts."""
    moves, size = (now - before) * (rate[0] / rate[1] * math.log(2)), before.shape[1]
    ends = []
    for best in (np.max, np.min):
        sums = np.zeros(size + 1)
        for end in range(1, size + 1):
            levels = np.arange(min(moves.shape[0], end.bit_length()))
            begin = end - 2**levels
            sums[end] = best(sums[begin] + moves[levels, begin])
        ends.append(float(sums[-1]))
    return (ends[0] - ends[1]) ** 2 / 8


def _log_cut(costs: Counts, rate: tuple[int, int], starts: Counts) -> float:
    """That the exponential mechanism draws this cut: all cuts are added up, in floats."""
    weights, size = -costs * (rate[0] / rate[1] * math.log(2)), costs.shape[1]
    sums = np.full(size + 1, -np.inf)
    sums[0] = 0.0
    for end in range(1, size + 1):
        levels = np.arange(min(costs.shape[0], end.bit_length()))
        begin = end - 2**levels
        sums[end] = np.logaddexp.reduce(sums[begin] + weights[levels, begin])
    lengths = np.diff(starts, append=size)
    return float(sum(weights[int(n).bit_length() - 1, at] for at, n in zip(starts, lengths, strict=True)) - sums[-1])


def _weights(how: Any, before: Vector, now: Vector, result: Any) -> float:
    """A place by its weight: every place is looked at."""
    return _largest_ratio(before / before.sum(), now / now.sum())


def _range_of_weights(how: Any, before: Vector, now: Vector, result: Any) -> float:
    return _log_range(before / before.sum(), now / now.sum()) ** 2 / 8


def _range_of_line(how: Any, before: Any, now: Any, result: Any) -> float:
    cells = np.unique(np.concatenate([starts[lengths > 0] for starts, lengths, _ in (before, now)]))
    return _log_range(*(_densities(cells, *side) for side in (before, now))) ** 2 / 8


def _log_range(before: Vector, now: Vector) -> float:
    possible = (before > 0) | (now > 0)
    with np.errstate(divide="ignore"):
        ratios = np.log(before[possible]) - np.log(now[possible])
    return float(np.ptp(ratios)) if ratios.size else 0.0


def _line(how: Any, before: Any, now: Any, result: Any) -> float:
    """A cell of a line by the weight of its piece: every cell at which a piece begins, on either side."""
    cells = np.unique(np.concatenate([starts[lengths > 0] for starts, lengths, _ in (before, now)]))
    return _largest_ratio(*(_densities(cells, *side) for side in (before, now)))


def _densities(cells: Counts, starts: Counts, lengths: Counts, weights: Vector) -> Vector:
    piece = np.searchsorted(starts, cells, side="right") - 1
    return np.asarray(weights[piece] / np.maximum(lengths[piece], 1) / weights.sum())


def _largest_ratio(before: Vector, now: Vector) -> float:
    possible = (before > 0) | (now > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(before[possible]) - np.log(now[possible])).max(initial=0.0))


def _minimiser(how: Calibration, before: Any, now: Any, at: Vector) -> float:
    return abs(_log_density(before, how, at) - _log_density(now, how, at))


def _minimiser_in_rho(how: Calibration, before: Any, now: Any, at: Vector) -> float:
    """With Gaussian noise, by the lemma: from the pull and the curvature of the records that differ, at the result."""
    if not how.square:
        return _minimiser(how, before, now, at) ** 2 / 2
    (one, bent), (other, more) = (search._derivatives(at, np.zeros_like(at)) for search in (before, now))
    pull = float(np.square(one - other).sum()) * PULLS**2 / float(how.square)
    curvature = math.expm1(abs(float(np.linalg.slogdet(bent)[1] - np.linalg.slogdet(more)[1])))
    return (pull + float(PRICE_OF_BENDING) * curvature**2) / 2


def _log_density(search: Any, how: Calibration, at: Vector) -> float:
    """Of the exact minimiser (docs/proofs/objective.md, step 1), but for a constant."""
    gradient, hessian = search._derivatives(at, np.zeros_like(at))
    sigma, classes = float(how.pull) / PULLS, at.shape[1]
    if classes == 1:
        return float(-np.abs(gradient).sum() / sigma + np.linalg.slogdet(hessian)[1])
    plane = np.linalg.qr(np.column_stack([np.ones(classes), np.eye(classes)[:, 1:]]))[0][:, 1:]
    basis = np.kron(np.eye(at.shape[0]), plane)
    return sum(_log_line(row, sigma) for row in gradient) + float(np.linalg.slogdet(basis.T @ hessian @ basis)[1])


def _log_line(row: Vector, sigma: float) -> float:
    """The logarithm of the integral over s of exp(−Σ|row + s|/σ): between its kinks it is an exponential function."""
    knots = np.sort(-row)
    heights = [float(-np.abs(row + knot).sum() / sigma) for knot in knots]
    parts = [heights[0] + math.log(sigma / row.size), heights[-1] + math.log(sigma / row.size)]
    for left, right, one, other in zip(knots, knots[1:], heights, heights[1:], strict=False):
        fall = abs(one - other)
        if right > left:
            mean = -math.expm1(-fall) / fall if fall > 1e-12 else 1.0
            parts.append(math.log(right - left) + max(one, other) + math.log(mean))
    return float(np.logaddexp.reduce(parts))


_STEPS = np.linspace(-60, 60, 24_001)


def threshold_loss(how: Any, threshold: int, before: list[int], now: list[int], answers: list[bool]) -> float:
    """Of all answers of a search above a threshold, together: the noise on the threshold is integrated out, in floats."""
    noisy, each = map(float, how)
    at = _STEPS * noisy  # the noise on the threshold
    weights = -np.abs(_STEPS)

    def log_chance(values: list[int]) -> float:
        total = weights.copy()
        for value, yes in zip(values, answers, strict=True):
            gap = (threshold - value + at) / each  # the noise on the query must be at least this for a yes
            tail = -np.abs(gap) - math.log(2)
            other = np.log1p(-np.exp(tail))
            total += np.where((gap > 0) == yes, tail, other)
        return float(np.logaddexp.reduce(total))

    return abs(log_chance(before) - log_chance(now))


def _keys(how: Any, before: dict[Any, int], now: dict[Any, int], result: Any) -> float:
    """Each key is named with a probability that follows from its number of people: the least ε for the δ that was paid.

    Over all sets of those keys whose number of people moved. The others are named alike.
    """
    rule, delta = how
    moved = [(before.get(key, 0), now.get(key, 0)) for key in {**before, **now} if before.get(key, 0) != now.get(key, 0)]
    one = other = np.ones(1)
    for people in moved:
        likely, now_likely = (float(rule.probability(number)) for number in people)
        one = np.concatenate([one * likely, one * (1 - likely)])
        other = np.concatenate([other * now_likely, other * (1 - now_likely)])

    return _least(one, other, float(delta)) if moved else 0.0


def _counted_keys(rule: Any, before: dict[Any, int], now: dict[Any, int], result: Any) -> float:
    """The same with noisy numbers, of which each key has one of its own: with its part of δ, and their ε add up."""
    chances, total = np.diff(rule.table.astype(object)) / float(rule.table[-1]), 0.0
    end = len(chances) // 2
    for key in {**before, **now}:
        people = before.get(key, 0), now.get(key, 0)
        if people[0] != people[1]:
            least, span = min(people), abs(people[0] - people[1]) + len(chances)
            laws = np.zeros((2, span))
            for law, number in zip(laws, people, strict=True):
                law[number - least : number - least + len(chances)] = chances
            hidden = max(0, min(2 * end + 1 - least, span))  # of numbers up to k, nothing is seen
            one, other = (np.append(law[hidden:], law[:hidden].sum()) for law in laws)
            total += _least(one, other, float(rule.delta / rule.groups_per_person))
    return total


def _least(one: Vector, other: Vector, delta: float) -> float:
    """The least ε for which two laws are (ε, δ)-close."""

    def beyond(epsilon: float) -> float:
        return max(float((a - math.exp(epsilon) * b).clip(min=0).sum()) for a, b in ((one, other), (other, one)))

    low, high = 0.0, 100.0
    if beyond(high) > delta * (1 + 1e-9):
        return math.inf
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) <= delta * (1 + 1e-9) else (middle, high)
    return high


def _by_itself_nothing(how: Any, before: Any, now: Any, result: Any) -> float:
    return 0.0


LAWS: dict[str, Law] = {
    "discrete Laplace": Law(_sum_of_moves),
    "discrete Gaussian": Law(_no_epsilon, rho=_squared_moves),
    "exponential mechanism": Law(_moves_apart, rho=_range_of_moves),
    "Laplace": Law(_real_laplace),
    "permute and flip": Law(_moves_apart),
    "noisy maximum": Law(_moves_apart),
    "cheapest cut": Law(_cheapest_cut),
    "drawn cut": Law(_drawn_cut, rho=_range_of_cuts),
    "minimiser": Law(_minimiser, rho=_minimiser_in_rho, public_shape=False),
    "weights": Law(_weights, rho=_range_of_weights),
    "line": Law(_line, rho=_range_of_line, public_shape=False),
    "keys": Law(_keys, public_shape=False),
    "counted keys": Law(_counted_keys, public_shape=False),
    "gradual release": Law(_sum_of_moves),
    "threshold": Law(_by_itself_nothing),
    "above threshold": Law(_by_itself_nothing),
}
"""Every kind of draw by its name. Answers about a threshold are looked at together, by `threshold_loss`."""
