"""Intervals for what is computed from numbers with noise of one known scale: sums, shares, means and variances.

The noise is Laplace noise, or Gaussian noise, whose scale is σ.

All of this is post-processing. An interval holds the true value in at least 95 of 100 cases, however few rows there are:
for a candidate value, some weighted sum of the noisy numbers would be pure noise, of a known law, and the interval has
every candidate for which that sum is not too large (Fieller 1954).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any, Final, Literal

import numpy as np

from jostle.kernel.partition import Vector

MISSED: Final = 0.05
"""The chance that a true value is not in its interval."""

FOR_MEAN: Final = 0.1
"""The share of it that the interval of a variance leaves to the mean behind it: an error there matters little."""

FOR_SAMPLE: Final = 0.02
"""In proportion to it, the chance that the interval of a sample's number of rows misses it."""

_GAPS: Final = {1: 0.0, 2: 1e-5, 3: 1e-4}
_WIDEST_GAP: Final = 1e-3
"""Scales that are nearly equal are moved apart by this much, upwards: the formula would divide by next to nothing."""

_MANY: Final = 30.0
"""From this scale on, whole noise is taken for continuous: an interval then misses in at most 5.1 of 100 cases."""

_PLACES: Final = np.arange(65) / 64
_HALVINGS: Final = 50

Weights = Callable[[Vector], Vector]
"""The weights of the noisy numbers whose sum would be pure noise if a candidate were the true value."""


def tail(far: Any, weights: Any, *, gaussian: bool = False) -> Vector:
    """The chance that noise of these scales (last axis) adds up to as much, on either side.

    Exact where scales differ; where those of Laplace noise are nearly equal, larger by a little, because they are moved
    apart upwards.

    >>> float(tail(np.log(20), np.array([1.0])).round(6)), float(tail(0.0, np.array([1.0, 1.0])).round(3))
    (0.05, 1.0)
    >>> float(tail(1.959964 * 5, np.array([3.0, 4.0]), gaussian=True).round(6))
    0.05
    """
    if gaussian:
        from scipy.special import erfc  # takes a while to load

        sigma = np.sqrt((np.asarray(weights, dtype=np.float64) ** 2).sum(axis=-1))
        away = np.abs(np.asarray(far, dtype=np.float64))
        return np.asarray(np.where(sigma > 0, erfc(away / np.where(sigma > 0, sigma, 1.0) / math.sqrt(2)), away == 0))
    scales = np.sort(np.abs(np.asarray(weights, dtype=np.float64)), axis=-1)
    count = scales.shape[-1]
    largest = np.where(scales[..., -1:] > 0, scales[..., -1:], 1.0)
    scales = np.where(scales < 1e-9 * largest, 0.0, scales / largest)
    gap = 1 + _GAPS.get(count, _WIDEST_GAP)
    for place in range(1, count):
        scales[..., place] = np.maximum(scales[..., place], scales[..., place - 1] * gap)
    squares = scales**2
    relative = np.abs(np.asarray(far, dtype=np.float64)) / largest[..., 0]
    found = np.zeros(np.broadcast_shapes(relative.shape, scales.shape[:-1]))
    for one in range(count):
        share = np.where(squares[..., one] > 0, 1.0, 0.0)
        for other in range(count):
            if other != one:
                apart = squares[..., one] - squares[..., other]
                share = share * squares[..., one] / np.where(apart != 0, apart, 1.0)
        found = found + share * np.exp(-relative / np.where(scales[..., one] > 0, scales[..., one], 1.0))
    return np.clip(found, 0.0, 1.0)


def margin(weights: Any, scale: float, missed: float = MISSED, *, gaussian: bool = False) -> float:
    """Half the width of an interval around a weighted sum of numbers with noise of one scale.

    >>> round(margin([1.0], 10.0), 3), round(margin([1.0, 1.0], 10.0), 3), round(margin([3.0, 4.0], 10.0, gaussian=True), 2)
    (29.957, 41.13, 98.0)
    """
    used = np.asarray(weights, dtype=np.float64)
    if gaussian:
        return NormalDist().inv_cdf(1 - missed / 2) * float(np.sqrt((used**2).sum())) * scale
    return _laplace_margin(tuple(used.tolist()), missed) * scale


@lru_cache(maxsize=256)
def _laplace_margin(weights: tuple[float, ...], missed: float) -> float:
    """The margin with noise of scale 1."""
    used = np.array(weights)
    low, high = 0.0, float(np.abs(used).sum()) * 40.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, used) > missed else (low, middle)
    return high


def whole_margin(numbers: int, scale: float, missed: float = MISSED, *, gaussian: bool = False) -> float:
    """The same for the plain sum of some whole numbers with discrete noise, which is a whole number as well.

    >>> whole_margin(1, 1.0), whole_margin(1, 0.1), round(whole_margin(1, 100.0), 1)
    (3.0, 0.0, 299.6)
    """
    if scale >= _MANY:
        return margin(np.ones(numbers), scale, missed, gaussian=gaussian)
    places = np.abs(np.arange(-(far := math.ceil(40 * scale) + 1), far + 1)) / scale
    alone = np.exp(-(places**2) / 2 if gaussian else -places)
    chances = alone = alone / alone.sum()
    for _ in range(numbers - 1):
        chances = np.convolve(chances, alone)
    middle = len(chances) // 2
    beyond = 1 - chances[middle] - 2 * np.cumsum(np.concatenate([[0.0], chances[middle + 1 :]]))
    return float(np.argmax(beyond <= missed))


def wider(numbers: int, *, gaussian: bool = False) -> float:
    """By which factor 95 % intervals of this many numbers have to be wider, so that all hold at once with 95 % confidence.

    Each misses with its part of 5 %. Of normal noise, the factor is that of its quantiles. All other noise here has a
    density whose logarithm is concave, and so is that of the chance S(x) to be farther off than x (Prékopa 1973). As S(0)
    is 1, S(t·q) is at most S(q)ᵗ for t ≥ 1.

    >>> round(wider(100), 3), round(wider(100, gaussian=True), 3), wider(1)
    (2.537, 1.776, 1.0)
    """
    part = MISSED / max(numbers, 1)
    if gaussian:
        return NormalDist().inv_cdf(1 - part / 2) / NormalDist().inv_cdf(1 - MISSED / 2)
    return math.log(part) / math.log(MISSED)


def held(
    noisy: Vector, scale: float, weights: Weights, best: Vector, *, missed: float = MISSED, gaussian: bool = False
) -> tuple[Vector, Vector]:
    """Per row of noisy numbers, between which values from 0 to 1 the true one lies; from 0 to 1 where nothing is known.

    `weights` takes candidates, one row per row of numbers, and adds an axis with the weights of the numbers.
    """

    def holds(candidates: Vector) -> Any:
        used = weights(candidates)
        return tail((used * noisy[:, np.newaxis, :]).sum(axis=-1) / scale, used, gaussian=gaussian) >= missed

    return held_where(holds, best)


def held_where(holds: Callable[[Vector], Any], best: Vector) -> tuple[Vector, Vector]:
    """Per row, between which values from 0 to 1 candidates hold; from 0 to 1 where none does. `best` is one that should."""
    places = np.sort(np.concatenate([np.tile(_PLACES, (len(best), 1)), best[:, np.newaxis]], axis=1), axis=1)
    found = holds(places)
    rows, last = np.arange(len(best)), places.shape[1] - 1
    ends = []
    for first, edge, step in ((found.argmax(axis=1), 0, -1), (last - found[:, ::-1].argmax(axis=1), last, 1)):
        inside, outside = places[rows, first], places[rows, np.clip(first + step, 0, last)]
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            good = holds(middle[:, np.newaxis])[:, 0]
            inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
        ends.append(np.where(first == edge, float(edge > 0), outside))
    nothing = ~found.any(axis=1)
    return np.where(nothing, 0.0, ends[0]), np.where(nothing, 1.0, ends[1])


# ------------------------------------------------------------------------------------- shares, means and variances
#
# A mean between two bounds is a share: of how far all values together are above the lower one, in that and how far they
# are below the upper one. With the squares, three numbers say the same: see `jostle.kernel.functions.totals.Mixture`.


def share(numbers: Any) -> Any:
    """The mean of x from 0 to 1, given the sums of x and 1 − x, or of x², 2x(1 − x) and (1 − x)²; half for nothing.

    >>> share(np.array([[30, 10], [-3, 1]])).tolist()
    [0.75, 0.5]
    """
    found = np.asarray(numbers, dtype=np.float64)
    whole, above = found.sum(axis=-1), found @ _heights(found.shape[-1])
    return np.clip(np.where(whole > 0, above / np.where(whole > 0, whole, 1), 0.5), 0.0, 1.0)


def share_ends(numbers: Vector, scale: float, missed: float = MISSED, *, gaussian: bool = False) -> tuple[Vector, Vector]:
    """Per row of such numbers, between which means the true one lies.

    >>> low, high = share_ends(np.array([[30_000.0, 10_000.0], [3.0, -1.0]]), scale=10)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.7494, 0.0], [0.7506, 1.0])
    """
    heights = _heights(numbers.shape[-1])
    how: dict[str, Any] = {"missed": missed, "gaussian": gaussian}
    return held(numbers, scale, lambda r: heights - r[..., np.newaxis], share(numbers), **how)


def spread(numbers: Any) -> Any:
    """The variance of x from 0 to 1, given the sums of x², 2x(1 − x) and (1 − x)²; half the largest for nothing.

    >>> spread(np.array([[25.0, 50.0, 25.0], [1.0, -2.0, 0.0]])).tolist()
    [0.0, 0.125]
    """
    found = np.asarray(numbers, dtype=np.float64)
    whole = found.sum(axis=-1)
    second = found[..., 0] / np.where(whole > 0, whole, 1)
    return np.where(whole > 0, np.clip(second - share(found) ** 2, 0.0, 0.25), 0.125)


def spread_ends(numbers: Vector, scale: float, missed: float = MISSED, *, gaussian: bool = False) -> tuple[Vector, Vector]:
    """Per row of such numbers, between which variances the true one lies.

    The true mean lies in an interval that misses it in 1 of 200 cases (for 95 %). For the true mean m, the sum of (x − m)²
    less the variance times the number of rows is 0, which gives an interval of the variance for every m; all of them are
    joined. The chances of both misses add up to what may be missed.
    """
    first, last = share_ends(numbers, scale, FOR_MEAN * missed, gaussian=gaussian)
    means = np.stack([*np.linspace(first, last, 9), share(numbers)])[..., np.newaxis]  # one row of them per candidate
    around = np.stack([(1 - means) ** 2, -means * (1 - means), means**2], axis=-1).reshape(-1, 1, 3)
    again = np.tile(numbers, (len(means), 1))
    how: dict[str, Any] = {"missed": (1 - FOR_MEAN) * missed, "gaussian": gaussian}
    ends = held(again, scale, partial(_beyond_spread, around), 4 * spread(again), **how)
    low, high = (end.reshape(len(means), -1) / 4 for end in ends)
    return low.min(axis=0), high.max(axis=0)


def _beyond_spread(around: Vector, part: Vector) -> Vector:
    """The weights whose sum is 0 if the variance is this part of the largest, 1/4, given those of the squared distance."""
    weights: Vector = around - part[..., np.newaxis] / 4
    return weights


def _heights(count: int) -> Vector:
    """The mean of x that each of the numbers stands for by itself."""
    return np.linspace(1.0, 0.0, count)


# ------------------------------------------------------------------------------------------ of samples, and ratios

Ends = tuple[Vector, Vector, Vector]
"""Numbers, and the ends of their intervals."""


def of_sample(
    squared: Sequence[Any], numbers: Vector, scale: float, missed: float = MISSED, *, gaussian: bool
) -> tuple[Any, ...]:
    """Variances of n rows, times n / (n − 1). The interval of n misses it in one of 1,000 cases (for 95 %)."""
    rows, off = numbers.sum(axis=1), margin(np.ones(numbers.shape[1]), scale, FOR_SAMPLE * missed, gaussian=gaussian)
    factors = (count / (count - 1) for count in (np.maximum(each, 2.0) for each in (rows, rows + off, rows - off)))
    return tuple(each * factor for each, factor in zip(squared, factors, strict=True))


WIDENED: Final = math.log(40) / math.log(20)
"""Two intervals that hold together in 95 of 100 cases are wider than single ones by this factor, for Laplace noise."""


def ratio_of(over: Ends, under: Ends) -> Ends:
    """Numbers divided by others, and between which numbers that is, given the same of both; anything if a divisor may be 0.

    >>> ten, four, zero = ((np.array([a]), np.array([a - 1]), np.array([a + 1])) for a in (10.0, 4.0, 0.0))
    >>> [each.round(2).tolist() for each in ratio_of(ten, four)], ratio_of(ten, zero)[2].tolist()
    ([[2.5], [1.68], [4.06]], [inf])
    """
    value = over[0] / np.where(under[0] == 0, np.nan, under[0])
    ends = [[one[0] + WIDENED * (end - one[0]) for end in one[1:]] for one in (over, under)]
    corners = np.stack([top / np.where(low == 0, np.nan, low) for top in ends[0] for low in ends[1]])
    unknown = (ends[1][0] <= 0) & (ends[1][1] >= 0)
    low, high = np.where(unknown, -np.inf, corners.min(axis=0)), np.where(unknown, np.inf, corners.max(axis=0))
    return value, low, high


class NumberSum(ABC):
    """Sums of noisy numbers, one per group."""

    @property
    @abstractmethod
    def value(self) -> Vector:
        """The sum of each group."""

    @property
    @abstractmethod
    def margin(self) -> Any:
        """Half the width of its interval."""

    def is_noise(self, other: NumberSum, r: Vector) -> Any:
        """Whether this less r times the other may be pure noise: here, whatever they have in common."""
        return np.abs(self.value - r * other.value) <= WIDENED * (self.margin + np.abs(r) * other.margin)


@dataclass(frozen=True)
class NoisySum(NumberSum):
    """A weighted sum of noisy numbers, one row of them per group."""

    numbers: Vector
    weights: Vector
    scale: float
    gaussian: bool

    @property
    def value(self) -> Vector:
        return np.asarray(self.numbers @ self.weights)

    @property
    def margin(self) -> float:
        return margin(self.weights, self.scale, gaussian=self.gaussian)

    def is_noise(self, other: NumberSum, r: Vector) -> Any:
        """By the law of both together if they are sums of the same numbers; else they are independent."""
        if not isinstance(other, NoisySum):
            return super().is_noise(other, r)
        away = self.value - r * other.value
        if self.numbers is not other.numbers or self.weights.size > max(_GAPS) or not self.scale > 0:
            return np.abs(away) <= np.hypot(self.margin, r * other.margin)
        used = (self.weights - r[:, np.newaxis] * other.weights) * self.scale
        return tail(away, used, gaussian=self.gaussian) >= MISSED


def ratio_of_sums(over: NumberSum, under: NumberSum) -> Ends:
    """One sum divided by another, and between which numbers their ratio is; anything if the divisor may be 0.

    For the true ratio r, the one less r times the other is pure noise, so the interval has every r for which it is not too
    large. Sums of the same numbers have noise in common, and its law is known. That of sums of different ones is
    independent, and its 95 % quantile is at most the root of both margins' squares: a sum of two Laplace variables has a
    quantile of no more standard deviations than one of them.

    >>> ten, four = (NoisySum(np.array([[value]]), np.ones(1), 0.3, False) for value in (10.0, 4.0))
    >>> [each.round(2).tolist() for each in ratio_of_sums(ten, four)]
    [[2.5], [2.0], [3.27]]
    >>> [each.round(2).tolist() for each in ratio_of_sums(ten, ten)]  # the same number: whatever it is
    [[1.0], [1.0], [1.0]]
    """
    top, bottom, unknown = over.value, under.value, np.abs(under.value) <= under.margin
    value = top / np.where(bottom == 0, np.nan, bottom)

    def holds(r: Vector) -> Any:
        return over.is_noise(under, r)

    first, ends = np.where(unknown, 0.0, value), []
    step = np.where(unknown, 1.0, (over.margin + np.abs(first) * under.margin) / np.maximum(np.abs(bottom), 1e-300))
    for side in (-1.0, 1.0):
        inside, far = first, step
        outside = first + side * far
        for _ in range(_HALVINGS):
            good = holds(outside)
            inside, far = np.where(good, outside, inside), np.where(good, 2 * far, far)
            outside = np.where(good, first + side * far, outside)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            good = holds(middle)
            inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
        ends.append(np.where(unknown, side * np.inf, outside))
    return value, ends[0], ends[1]


# ------------------------------------------------------------------------------------------- aggregates at any confidence

Kind = Literal["whole", "sum", "mean", "variance", "std"]


@dataclass(frozen=True)
class NumberReading:
    """How an aggregate follows from noisy numbers, one row of them per group."""

    kind: Kind
    """A plain sum of whole numbers, a weighted sum, or what numbers say of values between two bounds."""

    numbers: Vector
    scale: float
    gaussian: bool

    weights: Vector | None = None
    """Of a weighted sum."""

    low: float = 0.0
    width: float = 1.0
    """The bounds of values, and how far they are apart."""

    rate: float = 1.0
    """How many of a plain sum's units make 1."""

    ddof: int = 0
    """1 for variances of samples."""

    def found(self, missed: float = MISSED) -> Ends:
        """The aggregate of each group, and the ends of its interval, which misses it with this chance at most.

        >>> counts = NumberReading("whole", np.array([[120.0], [40.0]]), 10.0, gaussian=False)
        >>> [each.tolist() for each in counts.found()], counts.found(0.005)[2].tolist()
        ([[120.0, 40.0], [90.0, 10.0], [150.0, 70.0]], [173.0, 93.0])
        """
        numbers, law = self.numbers, {"gaussian": self.gaussian}
        if self.kind == "whole":
            value = numbers.sum(axis=1) / self.rate
            off = whole_margin(numbers.shape[1], self.scale, missed, **law) / self.rate
            return value, value - off, value + off
        if self.weights is not None:
            value, off = numbers @ self.weights, margin(self.weights, self.scale, missed, **law)
            return value, value - off, value + off
        how: dict[str, Any] = {"scale": self.scale, "missed": missed, **law}
        if self.kind == "mean":
            value, low, high = share(numbers), *share_ends(numbers, **how)
            return self.low + self.width * value, self.low + self.width * low, self.low + self.width * high
        squared: Any = [self.width**2 * each for each in (spread(numbers), *spread_ends(numbers, **how))]
        if self.ddof:
            squared = of_sample(squared, numbers, **how)
        value, low, high = map(np.sqrt, squared) if self.kind == "std" else squared
        return value, low, high
