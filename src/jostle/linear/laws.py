"""How far off a sum of independent noise is: exact laws of whole numbers, and of weighted sums by their cumulants.

An estimate that is linear in what was measured is off by Σ bⱼξⱼ, where the weights b are public and the noise ξ has a known
law. That sum has the cumulants Σ bⱼᵏ κₖ(ξ). Its 95 % quantile follows from the second, fourth and sixth: they are matched by
√V·Z, where Z is normal and V a constant plus a gamma variable, which is exact for one number and for equal weights of
Laplace noise. On weights of any kind it is within 0.1 % of the quantile by inversion of the characteristic function
(tests/linear/test_laws.py). Public arithmetic: nothing here sees data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np

from jostle.kernel.partition import Counts, Vector

MISSED = 0.05
"""The chance that a true answer is not in its interval."""

NORMAL_95 = 1.959964
"""What a normal variable exceeds with that chance, in standard deviations."""

_FITTED = (
    (0.2614, -0.3852, 0.0557, 0.0629),
    (-0.1184, 0.8916, -1.0751, 0.3058),
    (0.0837, -0.7410, 1.8388, -0.7746),
    (-0.0428, 0.4305, -1.1681, 0.5326),
)
"""Row i, column j: the coefficient of w^(i+1)·v^(1+j/2), fitted to 576 quantiles; off by 0.03 % at most."""

_NOUGHT = 1e-80
"""Variances up to this count as 0."""

_SIGMA = 32.0
"""From this standard deviation on, discrete Gaussian noise has the cumulants of normal noise."""

_SMOOTH = 64.0
"""Sums of whole numbers whose standard deviation is above this have a law as smooth as their cumulants say."""


Shape = Literal["laplace", "gaussian"]


@dataclass(frozen=True)
class NoiseLaw:
    """The law of symmetric noise on one number, by its cumulants of order 2, 4 and 6."""

    second: float
    fourth: float
    sixth: float
    scale: float = math.inf
    """The scale of discrete Laplace noise, or the σ of discrete Gaussian noise; without an end where steps do not matter."""

    shape: Shape = "laplace"
    """The shape of the law on whole numbers: chances fall with exp(−|m|/scale), or with exp(−m²/(2·scale²))."""

    @classmethod
    def discrete_laplace(cls, scale: Fraction | float) -> NoiseLaw:
        """The difference of two geometric variables: twice the even cumulants of one, which are polylogarithms.

        >>> law = NoiseLaw.discrete_laplace(10)
        >>> round(law.second, 3), round(law.fourth / law.second**2, 2)
        (199.833, 3.01)
        """
        if scale == 0:
            return cls(0.0, 0.0, 0.0)
        a, b = math.exp(-1 / scale), -math.expm1(-1 / scale)
        sixth = 2 * a * (1 + 26 * a + 66 * a**2 + 26 * a**3 + a**4) / b**6
        return cls(2 * a / b**2, 2 * a * (1 + 4 * a + a**2) / b**4, sixth, float(scale))

    @classmethod
    def discrete_gaussian(cls, square: Fraction | float) -> NoiseLaw:
        """By its chances, up to σ = 32; beyond, cumulants of higher order are below 10⁻¹⁵, and the variance is σ².

        The characteristic function differs from the normal one by a factor of 1 + O(exp(−2π²σ²)) (Canonne, Kamath and
        Steinke 2020, Fact 18 and its proof, by Poisson summation): 3·10⁻⁹ at σ = 1.

        >>> law = NoiseLaw.discrete_gaussian(100)
        >>> round(law.second, 6), round(law.fourth, 6), law.shape
        (100.0, 0.0, 'gaussian')
        >>> round(NoiseLaw.discrete_gaussian(0.1).second, 4)  # mostly 0
        0.0133
        """
        sigma = math.sqrt(square)
        if not 0 < sigma < _SIGMA:
            return cls(float(square), 0.0, 0.0, sigma if sigma else math.inf, "gaussian")
        m = np.arange(-math.ceil(12 * sigma) - 1, math.ceil(12 * sigma) + 2, dtype=np.float64)
        chances = np.exp(-(m**2) / (2 * sigma**2))
        second, fourth, sixth = (float((chances / chances.sum()) @ m**k) for k in (2, 4, 6))
        fourth, sixth = fourth - 3 * second**2, sixth - 15 * fourth * second + 30 * second**3
        return cls(second, fourth, sixth, sigma, "gaussian")

    @classmethod
    def gaussian(cls, variance: float) -> NoiseLaw:
        """Normal noise, also in steps that are small beside its standard deviation.

        >>> margins([(NoiseLaw.gaussian(4.0), np.ones((3, 1)))]).round(3).tolist()
        [3.92]
        """
        return cls(variance, 0.0, 0.0)


def margins(measured: Sequence[tuple[NoiseLaw, Vector]]) -> Vector:
    """Half the width of a 95 % interval around each answer.

    Per measurement: the law of its noise, and three rows with the sums of b², b⁴ and b⁶ over each answer's weights.

    >>> one, four = np.ones((3, 1)), np.full((3, 1), 4.0)
    >>> noise = NoiseLaw.discrete_laplace(1000)
    >>> [round(float(margins([(noise, sums)])[0])) for sums in (one, four)]  # 1000 · ln 20, and less than double
    [2995, 5692]
    """
    second, fourth, sixth = (
        np.sum([(law.second, law.fourth, law.sixth)[order] * sums[order] for law, sums in measured], axis=0)
        for order in range(3)
    )
    second = np.where(second > _NOUGHT, second, 0.0)  # powers of less would underflow
    spread = np.where(second > 0, second, 1.0)
    fourth, sixth = fourth / (3 * spread**2), sixth / (30 * spread**3)  # as parts of those of one Laplace variable
    ratio = np.clip(np.divide(sixth, fourth, out=np.zeros_like(fourth), where=fourth > 0), 0.0, 1.0)
    share = np.clip(np.divide(fourth, ratio, out=np.zeros_like(fourth), where=ratio > 0), 0.0, 1.0)
    return np.asarray(np.sqrt(second) * _reach(share, ratio))


def _reach(share: Vector, ratio: Vector) -> Vector:
    """What √V·Z exceeds with a chance of 5 %, in standard deviations, by polynomials that were fitted to it.

    The share w of V that is not constant is v·G, where G is gamma of shape w/v, so that the characteristic function has
    log φ(t) = −(w/v) log(1 + v t²/2) − (1 − w) t²/2.
    """
    powers = np.sqrt(ratio) ** np.arange(2, 6)[:, np.newaxis]
    shares = share ** np.arange(1, 5)[:, np.newaxis]
    return np.asarray(NORMAL_95 + np.einsum("in,ij,jn->n", shares, np.array(_FITTED), powers))


def whole_margins(numbers: Vector, noise: NoiseLaw | Fraction | float) -> Vector:
    """The least whole m that the sum of that many variables exceeds with a chance of at most 5 %.

    The variables are whole numbers: discrete Laplace of that scale, or of the law.

    >>> whole_margins(np.array([1, 1, 4, 10_000]), 10).tolist()
    [30.0, 30.0, 57.0, 2771.0]
    >>> whole_margins(np.array([1, 4]), NoiseLaw.discrete_gaussian(100)).tolist()
    [20.0, 39.0]
    """
    law = noise if isinstance(noise, NoiseLaw) else NoiseLaw.discrete_laplace(noise)
    distinct, back = np.unique(np.asarray(numbers, dtype=np.float64), return_inverse=True)
    # A sum of whole numbers is at most m if its smooth stand-in is at most m + ½.
    found = np.ceil(np.maximum(margins([(law, np.array([distinct] * 3))]) - 0.5, 0.0))
    whole = distinct.astype(np.int64) == distinct
    exact = whole & ((distinct * law.second <= _SMOOTH**2) | ((distinct == 1) & (law.shape == "laplace")))
    places = np.flatnonzero(exact)
    if places.size and law.second > 0:
        found[places] = _whole_quantiles(distinct[places].astype(np.int64), found[places], law)
    return np.asarray(found[back.reshape(-1)])


def _whole_quantiles(numbers: Counts, guesses: Vector, law: NoiseLaw) -> Vector:
    """From the law itself, for rising numbers of variables.

    One more symmetric variable whose chances fall on both sides never makes the sum's margin smaller (Anderson 1955). So
    where the first and the last of some numbers have the same margin, so have all between. Guesses say where to look.
    """
    found = np.zeros(numbers.size)
    ends = [0, *np.flatnonzero(np.diff(guesses)) + 1, numbers.size]
    waiting = list(pairwise(ends))
    while waiting:
        first, end = waiting.pop()
        low, high = (_whole_quantile(int(numbers[at]), law.scale, law.shape) for at in (first, end - 1))
        if low == high or end - first <= 2:
            found[first:end], found[end - 1] = low, high
        else:
            middle = (first + end) // 2
            waiting += [(first, middle), (middle, end)]
    return found


@lru_cache(maxsize=4096)
def _whole_quantile(number: int, scale: float, shape: Shape) -> int:
    """The same for one sum, from the law itself: the inverse Fourier transform of its characteristic function."""
    if number == 0 or scale == 0:
        return 0
    if shape == "gaussian":
        reach = 16 * scale * math.sqrt(number) + 64
        size = 1 << math.ceil(math.log2(reach))
        around = np.fft.fftfreq(size, 1 / size)
        alone = np.exp(-(around**2) / (2 * scale**2))
        powers = np.fft.rfft(alone / alone.sum()).real ** number
    else:
        a = math.exp(-1 / scale)
        if number == 1:  # P(|ξ| > m) = 2a^(m+1)/(1 + a)
            return max(0, math.ceil(scale * math.log(2 / ((1 + a) * MISSED)) - 1 - 1e-9))
        reach = 32 * math.sqrt(number * 2 * a) / (1 - a) + 64 * scale + 64
        size = 1 << math.ceil(math.log2(reach))
        turns = 2 * math.pi * np.arange(size // 2 + 1) / size
        powers = ((1 - a) ** 2 / (1 - 2 * a * np.cos(turns) + a**2)) ** number
    chances = np.fft.irfft(powers, size)
    within = chances[0] + 2 * np.cumsum(np.append(0.0, chances[1 : size // 2]))
    return int(np.searchsorted(within, 1 - MISSED - 1e-12))
