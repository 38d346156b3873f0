"""The two noise engines: exact, for releases, and simulated, for everything on public data.

Exact noise is OpenDP's: integer arithmetic all the way, fed by the operating system's entropy. It takes no seed.
Simulated noise is NumPy's, some hundred times faster, and must be seeded. Both draw from the same distributions,
which tests/kernel/test_noise.py checks. Proof: docs/proofs/noise.md.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar, final

import numpy as np

from jostle.kernel.arguments import check_whole
from jostle.kernel.budget import round_up
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.partition import Counts, Vector

_LIMIT = 2**56
_TABLE_UP_TO = 64
T = TypeVar("T")


class Noise(Protocol):
    """What an engine can draw. Scales are exact numbers; an engine rounds them up, never down."""

    trials: int | None
    """How often everything is drawn at once, along a leading axis; None if once, without one, as in any release."""

    def discrete_laplace(self, values: Counts, scale: Fraction) -> Counts | Vector:
        """Each value plus k with probability in proportion to exp(−|k|/scale)."""

    def discrete_gaussian(self, values: Counts, square: Fraction) -> Counts | Vector:
        """Each value plus k with probability in proportion to exp(−k²/2σ²), where σ² is `square`."""

    def geometric(self, size: int, scale: Fraction) -> Counts:
        """That many k ≥ 0, each with probability in proportion to exp(−k/scale)."""

    def noisy_max(self, scores: Counts, scale: Fraction) -> Any:
        """Where score plus one-sided exponential noise of that scale is largest (permute and flip); with trials, in each."""

    def gumbel_max(self, scores: Counts, scale: Fraction) -> Any:
        """A place with probability in proportion to exp(score/scale): the exponential mechanism; with trials, in each."""

    def laplace(self, values: Vector, sensitivity: Fraction, epsilon: Fraction) -> Vector:
        """Real values plus Laplace noise of scale sensitivity/epsilon, safe against floating-point attacks."""

    def below(self, bound: int) -> Any:
        """A whole number from 0 to bound − 1, each as likely; the bound may have any number of digits. One per trial."""

    def words(self, size: int) -> Counts:
        """That many whole numbers from 0 to 2^53 − 1, each as likely."""

    def outcome(self, law: str, how: Any, private: Any, draw: Callable[[], T]) -> T:
        """What `draw` draws in several steps, of which only the result is released: always `draw()` in a release.

        It says to an audit that replays releases by which law, with which public numbers, and from which private value.
        """
        return draw()


def calibrate(sensitivity: Fraction, epsilon: Fraction) -> Fraction:
    """The scale of noise that makes a function of this sensitivity ε-differentially private, if it can be drawn.

    >>> calibrate(Fraction(2), Fraction(1, 10))
    Fraction(20, 1)
    """
    scale = sensitivity / epsilon
    if scale > _LIMIT:
        raise BadInput("epsilon", "asks for noise beyond what 64-bit counts hold", "use a larger one, or fewer queries")
    return scale


def calibrate_square(squared_sensitivity: Fraction, rho: Fraction) -> Fraction:
    """The σ² of Gaussian noise that makes a function ρ-concentrated, if it can be drawn: (L2 sensitivity)²/2ρ.

    >>> calibrate_square(Fraction(2), Fraction(1, 100))
    Fraction(100, 1)
    """
    square = squared_sensitivity / (2 * rho)
    if square > _LIMIT**2:
        raise BadInput("rho", "asks for noise beyond what 64-bit counts hold", "use a larger one, or fewer queries")
    return square


def root_up(square: Fraction) -> float:
    """The smallest float that is not below the square root.

    >>> root_up(Fraction(100)), Fraction(root_up(Fraction(2))) ** 2 >= 2
    (10.0, True)
    """
    root = math.nextafter(math.sqrt(square), 0.0)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def gaussian_variance(square: Fraction) -> float:
    """The variance of discrete Gaussian noise: below σ², and no longer by what a float can tell once σ is 3.

    >>> gaussian_variance(Fraction(100)), round(gaussian_variance(Fraction(1, 9)), 6), gaussian_variance(Fraction(0))
    (100.0, 0.021735, 0.0)
    """
    if not 0 < square < 9:
        return float(square)
    k = np.arange(-60.0, 61.0)
    weights = np.exp(-(k**2) / (2 * float(square)))
    return float((k**2 * weights).sum() / weights.sum())


def variance(scale: Fraction) -> float:
    """The variance of discrete Laplace noise: a little below the continuous 2·scale².

    >>> round(variance(Fraction(10)), 3), variance(Fraction(0))
    (199.833, 0.0)
    """
    if scale == 0:
        return 0.0
    step = float(1 / scale)
    return 2 * math.exp(-step) / math.expm1(-step) ** 2


class ExactNoise(Noise):
    """OpenDP's samplers. There is no seed to give. An audit that replays releases on public data has a kind of its own.

    >>> ExactNoise().discrete_laplace(np.array([5, 7]), Fraction(0)).tolist()
    [5, 7]
    """

    trials: int | None = None

    def discrete_laplace(self, values: Counts, scale: Fraction) -> Counts:
        return self._on_integers(values, "laplace", "integers", round_up(scale))

    def discrete_gaussian(self, values: Counts, square: Fraction) -> Counts:
        return self._on_integers(values, "gaussian", "plane", root_up(square))

    def _on_integers(self, values: Counts, law: str, space: str, scale: float) -> Counts:
        if scale == 0:
            return values.copy()
        dp = _opendp()
        noisy = getattr(dp, f"make_{law}")(*getattr(dp, space), scale=scale)(values.reshape(-1))
        return np.array(noisy, dtype=np.int64).reshape(values.shape)

    def geometric(self, size: int, scale: Fraction) -> Counts:
        """Discrete Laplace noise on condition that it is not negative: about half of the draws are kept."""
        kept = np.zeros(0, dtype=np.int64)
        while kept.size < size:
            missing = size - kept.size
            draws = self.discrete_laplace(np.zeros(2 * missing + 16, dtype=np.int64), scale)
            kept = np.concatenate([kept, draws[draws >= 0]])
        return kept[:size]

    def noisy_max(self, scores: Counts, scale: Fraction) -> int:
        """OpenDP's noisy max with exponential noise on integer scores."""
        return self._largest(scores, "scores", scale)

    def gumbel_max(self, scores: Counts, scale: Fraction) -> int:
        """OpenDP's noisy max with Gumbel noise on integer scores, compared exactly."""
        return self._largest(scores, "concentrated_scores", scale)

    def _largest(self, scores: Counts, space: str, scale: Fraction) -> int:
        if scale == 0:
            return int(np.argmax(scores))
        dp = _opendp()
        return int(dp.make_noisy_max(*getattr(dp, space), scale=round_up(scale))(scores))

    def laplace(self, values: Vector, sensitivity: Fraction, epsilon: Fraction) -> Vector:
        """OpenDP's noise on a lattice finer than the floats; the scale is widened until its privacy map agrees."""
        if not np.isfinite(values).all():
            raise InternalError("a value to be released is not finite; the caller must clip it first")
        if sensitivity == 0:
            return values.copy()
        dp = _opendp()
        distance, scale = round_up(sensitivity), round_up(sensitivity / epsilon)
        for _ in range(60):
            measurement = dp.make_laplace(*dp.reals, scale=scale)
            if Fraction(measurement.map(distance)) <= epsilon:
                return np.array(measurement(np.asarray(values, dtype=np.float64).tolist()), dtype=np.float64)
            scale *= 1 + 2.0**-50
        raise InternalError("no noise scale meets the privacy map")

    def below(self, bound: int) -> int:
        """From the operating system's entropy, by rejection: exactly uniform."""
        return secrets.randbelow(bound)

    def words(self, size: int) -> Counts:
        """Eight bytes each from the operating system's entropy, of which 53 bits are kept."""
        return (np.frombuffer(secrets.token_bytes(8 * size), dtype=np.uint64) >> 11).astype(np.int64)


@final
class SimulatedNoise(Noise):
    """NumPy's generator. With `trials`, noise gets a leading axis of that length.

    >>> SimulatedNoise(seed=7, trials=3).discrete_laplace(np.array([5, 7]), Fraction(2)).shape
    (3, 2)
    """

    def __init__(self, seed: object, trials: int | None = None) -> None:
        if not isinstance(seed, np.random.SeedSequence):
            seed = check_whole(seed, "seed", "pass for instance seed=0", least=0)
        self._rng = np.random.default_rng(seed)
        self.trials = None if trials is None else check_whole(trials, "trials", "leave it out for one run", least=1)
        self._lead: tuple[int, ...] = () if self.trials is None else (self.trials,)

    def discrete_laplace(self, values: Counts, scale: Fraction) -> Vector:
        """The difference of two geometric variables, each a rounded-down exponential one."""
        size = (*self._lead, *values.shape)
        if scale == 0:
            return np.broadcast_to(values.astype(np.float64), size).copy()
        noise = self._geometric(size, scale)
        noise -= self._geometric(size, scale)
        noise += values
        return noise

    def discrete_gaussian(self, values: Counts, square: Fraction) -> Vector:
        """From a table where σ is small. Elsewhere normal noise is rounded, which adds 1/12 to its variance: so much less.

        Its characteristic function is then off by less than t⁴/2880 where |t| is about 1/σ: 10^-10 for σ ≥ 64.
        """
        size = (*self._lead, *values.shape)
        if square >= _TABLE_UP_TO**2:
            noise = np.rint(self._rng.standard_normal(size) * math.sqrt(square - Fraction(1, 12)))
        elif square:
            below, most = _normal_table(square)
            noise = np.searchsorted(below, self._rng.random(size), side="right") - float(most)
        else:
            noise = np.zeros(size)
        noise += values
        return noise

    def _geometric(self, size: Any, scale: Fraction) -> Vector:
        noise: Vector = self._rng.standard_exponential(size)
        noise *= float(scale)
        np.floor(noise, out=noise)
        return noise

    def geometric(self, size: int, scale: Fraction) -> Counts:
        return self._geometric(size, scale).astype(np.int64)

    def noisy_max(self, scores: Counts, scale: Fraction) -> Any:
        return self._largest(scores, scale, self._rng.standard_exponential)

    def gumbel_max(self, scores: Counts, scale: Fraction) -> Any:
        return self._largest(scores, scale, self._rng.gumbel)

    def _largest(self, scores: Counts, scale: Fraction, law: Callable[..., Any]) -> Any:
        best = np.argmax(scores + law(size=(*self._lead, *scores.shape)) * float(scale), axis=-1)
        return best if self._lead else int(best)

    def laplace(self, values: Vector, sensitivity: Fraction, epsilon: Fraction) -> Vector:
        size = (*self._lead, *np.shape(values))
        return values + self._rng.laplace(scale=float(sensitivity / epsilon), size=size)

    def below(self, bound: int) -> Any:
        """A remainder of so many more random bits that its bias cannot be seen."""
        if self._lead and bound < 2**63:
            return self._rng.integers(bound, size=self._lead)
        size = bound.bit_length() // 8 + 9
        drawn = [int.from_bytes(self._rng.bytes(size), "little") % bound for _ in range(self.trials or 1)]
        return np.array(drawn, dtype=object) if self._lead else drawn[0]

    def words(self, size: int) -> Counts:
        return self._rng.integers(0, 2**53, size=size, dtype=np.int64)


@lru_cache(maxsize=64)
def _normal_table(square: Fraction) -> tuple[Vector, int]:
    """The probabilities of all that is below −most, …, most; what lies beyond has less than a float can tell from 0."""
    most = math.ceil(9 * math.sqrt(square)) + 1
    weights = np.exp(-(np.arange(-most, most + 1.0) ** 2) / (2 * float(square)))
    return np.cumsum(weights)[:-1] / weights.sum(), most


@cache
def _opendp() -> Any:
    """The parts of OpenDP that are used, loaded when the first exact noise is drawn: its prelude loads scikit-learn too."""
    from opendp import domains, measurements, measures, metrics, mod

    mod.enable_features("contrib")
    whole = domains.vector_domain(domains.atom_domain(T="i64"))
    real = domains.vector_domain(domains.atom_domain(T="f64", nan=False))
    return SimpleNamespace(
        integers=(whole, metrics.l1_distance(T="i64")),
        plane=(whole, metrics.l2_distance(T="f64")),
        make_gaussian=measurements.make_gaussian,
        make_laplace=measurements.make_laplace,
        make_noisy_max=measurements.make_noisy_max,
        scores=(whole, metrics.linf_distance(T="i64"), measures.max_divergence()),
        concentrated_scores=(whole, metrics.linf_distance(T="i64"), measures.zero_concentrated_divergence()),
        reals=(real, metrics.l1_distance(T="f64")),
    )
