"""Drawing with exact probabilities: the few samplers that the mechanisms need beyond the kernel's engines.

They draw only whole numbers below a bound, and so work in the same way with the exact and the simulated engine. The
running time depends on the number of weights, not on their values. (OpenDP's exponential mechanism draws
candidates until one is accepted: the more the best stands out, the longer it takes, up to many seconds for a million
candidates.)
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from jostle.kernel.budget import round_up
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.noise import Noise
from jostle.kernel.partition import Counts, Vector
from jostle.mechanisms.arguments import one_trial

ROUNDING = Fraction(1, 2**40)
"""What `exponential_weights` may add to a privacy loss, and exponential mechanisms therefore leave unused of their ε."""

SMALLEST_EPSILON = Fraction(1, 2**20)

_DEEPEST = 256  # weights are kept down to exp(−256) of the largest


def exponential_scale(reach: Fraction, epsilon: Fraction, parts: int = 1) -> Fraction:
    """The scale λ with which weights exp(score/λ) are ε-differentially private, after rounding.

    Of the parts of a split, a person may be in several: then the weights of each of them are rounded.

    >>> float(exponential_scale(Fraction(2), Fraction(1)))
    2.000000000001819
    """
    if epsilon < SMALLEST_EPSILON:
        raise BadInput("budget", "has an ε below 2^-20, at which weights cannot be told apart", "use a larger epsilon")
    kept = ROUNDING * parts
    if epsilon <= 2 * kept:
        raise BadInput("budget", "has an ε that is too small for this many rows per person", "use a larger epsilon")
    scale = reach / (epsilon - kept)
    if scale * _DEEPEST >= 2**53:
        raise BadInput("budget", "has an ε that is too small, for this sensitivity, for weights", "use a larger epsilon")
    return scale


def exponential_weights(gaps: Counts, scale: Fraction, lengths: Counts | Vector | None = None) -> Vector:
    """The weights length · exp(−gap/scale) as floats, which are exact binary fractions, each within a factor of 1 ± 2^-43.

    The gaps are whole, and exact up to 2^53; their quotient is capped at 256, so it is off by at most 256 · 2^-52; the
    exponential is off by a few units of its last place, 2^-52; a length is exact up to 2^53, and the product
    is off by 2^-53. So a probability is off by less than a factor of exp(±2^-42), and the ratio of two by exp(±2^-41),
    which is below `ROUNDING`.

    >>> exponential_weights(np.array([0, 2]), Fraction(2)).round(4).tolist()
    [1.0, 0.3679]
    """
    depths = np.where(gaps == 0, 0.0, np.inf) if scale == 0 else np.minimum(gaps / round_up(scale), _DEEPEST)
    weights = np.exp(-depths)
    return np.asarray(weights if lengths is None else weights * lengths, dtype=np.float64)


def pick(weights: Vector, noise: Noise) -> Any:
    """An index with probability in proportion to its weight: exactly, since a float is a whole number times a power of two.

    Weights with the same power are added up as whole numbers, in three parts of their 53 digits so that no sum exceeds 2^53,
    up to which floats are exact: that is enough for 2^35 weights. In a simulation with trials, one index per trial.

    >>> from jostle.kernel.noise import ExactNoise
    >>> pick(np.array([0.0, 0.3, 0.0]), ExactNoise())
    1
    """
    return noise.outcome("weights", None, weights, lambda: _picked(weights, noise))


def pick_cell(starts: Counts, lengths: Counts, weights: Vector, noise: Noise) -> Any:
    """A cell of a line: of a piece with probability in proportion to its weight, each cell in it as likely as the others.

    >>> from jostle.kernel.noise import ExactNoise
    >>> pick_cell(np.array([0, 5]), np.array([5, 1]), np.array([0.0, 1.0]), ExactNoise())
    5
    """

    def draw() -> Any:
        piece = _picked(weights, noise)
        cell = starts[piece] + at_each(piece, lambda place: noise.below(int(lengths[place])))
        return cell if np.ndim(cell) else int(cell)

    return noise.outcome("line", None, (starts, lengths, weights), draw)


def _picked(weights: Vector, noise: Noise) -> Any:
    fractions, powers = np.frexp(weights)
    digits = (fractions * 2.0**53).astype(np.int64)
    powers = np.subtract(powers, powers.min(), dtype=np.intp)
    parts = [(digits >> shift) & (2**18 - 1) for shift in (0, 18, 36)]
    sums = [np.bincount(powers, weights=part) for part in parts]
    shares = [int(total) << (power + 18 * part) for part in range(3) for power, total in enumerate(sums[part])]

    def within(position: int) -> Any:
        part, power = divmod(position, sums[0].size)
        cumulated = np.cumsum(np.where(powers == power, parts[part], 0))
        return np.searchsorted(cumulated, noise.below(int(cumulated[-1])), side="right")

    return at_each(_position(shares, noise.below(sum(shares))), within)


def at_each(places: Any, draw: Callable[[int], Any]) -> Any:
    """What is drawn at a place; in a simulation with trials, each trial has a place and draws there for itself.

    >>> at_each(1, lambda place: place * 10), at_each(np.array([2, 0]), lambda place: np.array([place, -place])).tolist()
    (10, [2, 0])
    """
    if not np.ndim(places):
        return int(draw(int(places)))
    drawn = np.empty(np.shape(places), dtype=np.int64)
    for place in np.unique(places):
        here = places == place
        drawn[here] = draw(int(place))[here]
    return drawn


def _position(shares: list[int], point: Any) -> Any:
    """Which share a point falls into, when they lie side by side."""
    if np.ndim(point):
        return np.searchsorted(np.array(list(accumulate(shares)), dtype=point.dtype), point, side="right")
    for position, share in enumerate(shares):
        if point < share:
            return position
        point -= share
    raise InternalError("a point lies beyond all shares")


def happens(probability: Callable[[Context], Decimal], noise: Noise) -> bool:
    """An event of a real probability, exactly: a random number is drawn digit by digit until it is clearly above or below.

    `probability` computes it to within 10^−(precision − 40) in a context of any precision.

    >>> from jostle.kernel.noise import ExactNoise
    >>> happens(lambda context: Decimal(1), ExactNoise())
    True
    """
    point, digits = 0, 0
    while True:
        point, digits = point * 10**30 + noise.below(10**30), digits + 30
        at = _digits_of(probability, digits)
        if point + 1 < at:
            return True
        if point > at + 1:
            return False


@lru_cache(maxsize=64)
def _digits_of(probability: Callable[[Context], Decimal], digits: int) -> int:
    """The first digits of a probability, which is public, as a whole number."""
    with localcontext(Context(prec=digits + 60)) as context:
        return int(probability(context) * Decimal(10) ** digits)


def jitter(size: int, bits: int, noise: Noise) -> Counts:
    """That many independent, uniform whole numbers of 8, 16 or 32 bits.

    >>> from jostle.kernel.noise import ExactNoise
    >>> jitter(3, 16, ExactNoise()).shape
    (3,)
    """
    drawn = one_trial(noise.below(1 << (bits * size)), ()).to_bytes(bits // 8 * size, "little")
    return np.frombuffer(drawn, dtype=f"<u{bits // 8}").astype(np.int64)
