"""Both engines draw what the proofs say, from the same distributions; the exact one cannot be seeded.

Comparisons of distributions fail by chance with a probability below 10⁻⁹ each (`FLUKE`), and there are some forty of them.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opendp.metrics import linf_distance
from scipy import integrate, stats

from jostle.kernel import noise
from jostle.kernel.budget import round_up
from jostle.kernel.decimals import root_down
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.noise import ExactNoise, Noise, SimulatedNoise, calibrate, calibrate_square, gaussian_variance, variance
from tests.kernel.helpers import FLUKE, fit_each_other, fits

EXACT, SIMULATED = 20_000, 200_000
SCALES = [Fraction(1, 3), Fraction(1), Fraction(20), Fraction(2, 1) / Fraction("0.0173"), Fraction(10**4)]
"""From ε = 3 on one query to ε = 0.001 on ten: what training meets."""


def engines(seed: int) -> list[tuple[Noise, int]]:
    return [(ExactNoise(), EXACT), (SimulatedNoise(seed), SIMULATED)]


def laplace_pmf(k: np.ndarray, scale: Fraction) -> np.ndarray:
    alpha = math.exp(-1 / scale)
    return np.asarray((1 - alpha) / (1 + alpha) * np.exp(-np.abs(k) / float(scale)))


def geometric_pmf(k: np.ndarray, scale: Fraction) -> np.ndarray:
    return np.asarray(-math.expm1(-1 / scale) * np.exp(-k / float(scale)))


def counted(draws: np.ndarray, low: int, high: int) -> np.ndarray:
    """How often each whole number came; the first and the last have all beyond them."""
    return np.bincount(np.clip(draws, low, high).astype(np.int64) - low, minlength=high - low + 1)


# ------------------------------------------------------------------------------------------------------ distributions


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: f"{float(s):.3g}")
def test_discrete_laplace_noise_is_that_of_the_formula_in_both_engines(scale: Fraction) -> None:
    far = math.ceil(12 * scale)
    support = np.arange(-far, far + 1)
    expected = laplace_pmf(support, scale)
    expected[[0, -1]] += (1 - expected.sum()) / 2
    samples = []
    for engine, number in engines(seed=1):
        draws = engine.discrete_laplace(np.full(number, 5, dtype=np.int64), scale) - 5
        assert fits(counted(draws, -far, far), expected * number)
        samples.append(draws)
    assert fit_each_other(*samples)


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: f"{float(s):.3g}")
def test_geometric_noise_is_that_of_the_formula_in_both_engines(scale: Fraction) -> None:
    far = math.ceil(12 * scale)
    expected = geometric_pmf(np.arange(far + 1), scale)
    expected[-1] += 1 - expected.sum()
    samples = []
    for engine, number in engines(seed=2):
        draws = engine.geometric(number, scale)
        assert draws.shape == (number,)
        assert draws.min() >= 0
        assert fits(counted(draws, 0, far), expected * number)
        samples.append(draws)
    assert fit_each_other(*samples)


def gaussian_pmf(k: np.ndarray, square: Fraction) -> np.ndarray:
    weights = np.exp(-(k.astype(float) ** 2) / (2 * float(square)))
    return np.asarray(weights / weights.sum())


SQUARES = [Fraction(1, 9), Fraction(1), Fraction(20), Fraction(63**2), Fraction(65**2), Fraction(10**7)]


@pytest.mark.parametrize("square", SQUARES, ids=lambda s: f"{float(s):.3g}")
def test_discrete_gaussian_noise_is_that_of_the_formula_in_both_engines(square: Fraction) -> None:
    far = math.ceil(9 * math.sqrt(square)) + 2
    expected = gaussian_pmf(np.arange(-far, far + 1), square)
    samples = []
    for engine, number in engines(seed=4):
        draws = engine.discrete_gaussian(np.full(number, 5, dtype=np.int64), square) - 5
        assert fits(counted(draws, -far, far), expected * number)
        samples.append(draws)
    assert fit_each_other(*samples)


def test_rounded_normal_noise_is_the_discrete_gaussian_to_ten_digits() -> None:
    """Where the simulation goes over from a table to rounding: total variation, by the exact probabilities of both."""
    sigma = 64
    k = np.arange(0, 12 * sigma)
    spread = math.sqrt(sigma**2 - 1 / 12)
    rounded = stats.norm.sf((k - 0.5) / spread) - stats.norm.sf((k + 0.5) / spread)
    exact = gaussian_pmf(np.arange(-12 * sigma, 12 * sigma + 1), Fraction(sigma**2))[12 * sigma : 24 * sigma]
    assert np.abs(rounded - exact).sum() < 1e-10


def test_gaussian_noise_of_the_wrong_size_would_be_noticed() -> None:
    far = 60
    for engine, number in engines(seed=8):
        draws = engine.discrete_gaussian(np.zeros(number, dtype=np.int64), Fraction(20))
        for wrong in (Fraction(10), Fraction(40), Fraction(400)):  # σ² for 2σ², and σ for σ²
            assert not fits(counted(draws, -far, far), gaussian_pmf(np.arange(-far, far + 1), wrong) * number)


@pytest.mark.parametrize("square", [Fraction(1, 100), Fraction(1, 4), Fraction(2), Fraction(9), Fraction(10**9)])
def test_the_variance_of_gaussian_noise_is_that_of_the_distribution(square: Fraction) -> None:
    k = np.arange(-200, 201)
    summed = float((k**2 * gaussian_pmf(k, square)).sum()) if square < 100 else float(square)
    assert gaussian_variance(square) == pytest.approx(summed, rel=1e-12)
    assert gaussian_variance(square) <= square


@pytest.mark.parametrize(
    ("scores", "scale"), [([0, 1], Fraction(2)), ([0, 2, 5, 4], Fraction(5, 2)), ([3, 3, 3], Fraction(1))]
)
def test_the_gumbel_maximum_is_the_exponential_mechanism_in_both_engines(scores: list[int], scale: Fraction) -> None:
    weights = np.exp(np.array(scores) / float(scale))
    for engine, runs in ((ExactNoise(), 3_000), (SimulatedNoise(3), 40_000)):
        values = np.array(scores, dtype=np.int64)
        picks = [engine.gumbel_max(values, scale) for _ in range(runs)]
        assert {type(pick) for pick in picks} == {int}
        assert fits(np.bincount(picks, minlength=values.size), weights / weights.sum() * runs)
    many = SimulatedNoise(6, trials=40_000).gumbel_max(np.array(scores), scale)
    assert fits(np.bincount(many, minlength=len(scores)), weights / weights.sum() * 40_000)


def permute_and_flip(scores: Sequence[int], scale: float) -> np.ndarray:
    """The exact probability of each candidate: McKenna and Sheldon, Permute-and-Flip, NeurIPS 2020."""
    accepted = np.exp((np.array(scores) - max(scores)) / scale)

    def chance(i: int) -> float:
        others = np.delete(accepted, i)
        return float(accepted[i] * integrate.quad(lambda t: np.prod(1 - t * others), 0, 1, epsabs=1e-13)[0])

    return np.array([chance(i) for i in range(len(scores))])


def report_noisy_max(scores: Sequence[int], scale: float) -> np.ndarray:
    """The exact probability of each candidate to be the largest after one-sided exponential noise, by integration."""
    q = np.array(scores) / scale

    def density(t: float, i: int) -> float:
        below = [-math.expm1(-(t - other)) if t > other else 0.0 for j, other in enumerate(q) if j != i]
        return math.exp(-(t - q[i])) * math.prod(below)

    kinks = sorted(set(q.tolist()))
    pieces = [*kinks, max(kinks) + 40]
    chances = []
    for i in range(q.size):
        spans = [(a, b) for a, b in itertools.pairwise(pieces) if a >= q[i]]
        chances.append(sum(integrate.quad(density, a, b, args=(i,), epsabs=1e-13)[0] for a, b in spans))
    return np.array(chances)


VECTORS = [[0, 1], [3, 3, 3], [0, 2, 5, 4], [-7, 0, 1], [2]]


@pytest.mark.parametrize("scores", VECTORS, ids=str)
def test_one_sided_noise_is_permute_and_flip(scores: list[int]) -> None:
    for scale in (0.7, 2.0, 10.0):
        assert np.allclose(permute_and_flip(scores, scale), report_noisy_max(scores, scale), atol=1e-9)
        assert permute_and_flip(scores, scale).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("scores", "scale"), [([0, 1], Fraction(2)), ([0, 2, 5, 4], Fraction(5, 2)), ([3, 3, 3], Fraction(1))]
)
def test_the_noisy_maximum_is_permute_and_flip_in_both_engines(scores: list[int], scale: Fraction) -> None:
    expected = permute_and_flip(scores, float(scale))
    for engine, runs in ((ExactNoise(), 3_000), (SimulatedNoise(3), 40_000)):
        values = np.array(scores, dtype=np.int64)
        picks = [engine.noisy_max(values, scale) for _ in range(runs)]
        assert {type(pick) for pick in picks} == {int}
        assert fits(np.bincount(picks, minlength=values.size), expected * runs)


def test_trials_have_noise_of_their_own_and_the_law_of_one() -> None:
    values, runs = np.array([0, 2, 5, 4], dtype=np.int64), 40_000
    engine = SimulatedNoise(6, trials=runs)
    picks = engine.noisy_max(values, Fraction(5, 2))
    assert fits(np.bincount(picks, minlength=4), permute_and_flip(values.tolist(), 2.5) * runs)
    follow = np.bincount(4 * picks[:-1] + picks[1:], minlength=16)  # what one trial picks says nothing about the next
    assert fits(follow, np.outer(*[permute_and_flip(values.tolist(), 2.5)] * 2).ravel() * (runs - 1))
    assert fits(np.bincount(engine.below(7), minlength=7), np.full(7, runs / 7))
    large = SimulatedNoise(7, trials=300).below(3 * 2**200)
    assert fits(np.bincount([int(number >> 200) for number in large], minlength=3), np.full(3, 100.0))
    assert (engine.trials, ExactNoise().trials) == (runs, None)


def test_the_exact_engine_compares_the_largest_scores_exactly() -> None:
    """Two scores that differ by one at 2⁶⁰, where a float would see no difference, and both would be as likely."""
    scores, runs = np.array([2**60, 2**60 + 1], dtype=np.int64), 3_000
    picks = np.bincount([ExactNoise().noisy_max(scores, Fraction(1)) for _ in range(runs)], minlength=2)
    assert fits(picks, permute_and_flip([0, 1], 1.0) * runs)
    assert not fits(picks, np.full(2, runs / 2))


def test_twice_or_half_the_scale_would_be_noticed() -> None:
    """The tests of distributions have the power to tell the conventions apart."""
    values, runs = np.array([0, 2, 5, 4], dtype=np.int64), 3_000
    picks = np.bincount([ExactNoise().noisy_max(values, Fraction(5, 2)) for _ in range(runs)], minlength=4)
    assert not fits(picks, permute_and_flip(values.tolist(), 5.0) * runs)
    assert not fits(picks, permute_and_flip(values.tolist(), 1.25) * runs)
    draws = SimulatedNoise(4).discrete_laplace(np.zeros(SIMULATED, dtype=np.int64), Fraction(20))
    assert not fit_each_other(draws, ExactNoise().discrete_laplace(np.zeros(EXACT, dtype=np.int64), Fraction(24)))


def test_real_laplace_noise_has_the_same_distribution_in_both_engines() -> None:
    sensitivity, epsilon = Fraction(3, 2), Fraction("0.3")
    exact = ExactNoise().laplace(np.full(EXACT, 2.5), sensitivity, epsilon) - 2.5
    simulated = SimulatedNoise(5).laplace(np.full(SIMULATED, 2.5), sensitivity, epsilon) - 2.5
    assert fit_each_other(exact, simulated)
    assert stats.kstest(exact, "laplace", args=(0, 5)).pvalue > FLUKE


def test_whole_numbers_below_a_bound_are_uniform_in_both_engines() -> None:
    for engine in (ExactNoise(), SimulatedNoise(8)):
        assert fits(np.bincount([engine.below(7) for _ in range(7_000)], minlength=7), np.full(7, 1_000.0))
        assert engine.below(1) == 0
        large = [engine.below(3 * 2**200) for _ in range(300)]
        assert max(large) < 3 * 2**200
        assert fits(np.bincount([number >> 200 for number in large], minlength=3), np.full(3, 100.0))
        assert {number % 2 for number in large} == {0, 1}


@pytest.mark.parametrize("bits", [8, 32, 64, 256])
def test_exact_whole_numbers_have_no_bias_whatever_they_are_made_of(bits: int) -> None:
    """Three quarters of a power of two: a remainder of so many bits would give the first third half of all draws.

    By Hoeffding's inequality a share is off by more than 0.05 with a probability below 10⁻⁸, for 4,000 draws.
    """
    third = 2 ** (bits - 2)
    shares = np.bincount([ExactNoise().below(3 * third) // third for _ in range(4_000)], minlength=3) / 4_000
    assert np.abs(shares - 1 / 3).max() < 0.05


def test_neighbouring_cells_get_independent_noise() -> None:
    for engine, number in engines(seed=6):
        draws = engine.discrete_laplace(np.zeros((number // 2, 2), dtype=np.int64), Fraction(10))
        table = np.zeros((3, 3))
        np.add.at(table, tuple(np.clip(np.round(draws / 8), -1, 1).astype(int).T + 1), 1)
        assert stats.chi2_contingency(table).pvalue > FLUKE


# --------------------------------------------------------------------------------------------------------- variance


@given(st.fractions(min_value=Fraction(1, 50), max_value=200, max_denominator=1000))
def test_the_variance_is_that_of_the_distribution(scale: Fraction) -> None:
    k = np.arange(1, math.ceil(45 * scale) + 2)
    summed = 2 * float((k.astype(float) ** 2 * laplace_pmf(k, scale)).sum())
    assert variance(scale) == pytest.approx(summed, rel=1e-9, abs=1e-300)
    assert variance(scale) <= 2 * float(scale) ** 2


def test_the_variance_holds_at_both_ends() -> None:
    assert variance(Fraction(0)) == 0
    assert variance(Fraction(1, 10**300)) == 0
    assert variance(Fraction(2**56)) == pytest.approx(2 * 2.0**112)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(30)])
def test_both_engines_have_that_variance(scale: Fraction) -> None:
    for engine, number in engines(seed=7):
        draws = engine.discrete_laplace(np.zeros(number, dtype=np.int64), scale)
        # the variance of a squared draw is below 24·max(scale, 1)⁴, and seven standard deviations are a fluke
        tolerance = 7 * math.sqrt(24 / number) * max(float(scale), 1.0) ** 2
        assert np.mean(draws.astype(float) ** 2) == pytest.approx(variance(scale), abs=tolerance)


# ------------------------------------------------------------------------------------------------- scales and privacy


class Spy:
    """OpenDP with its makers watched."""

    def __init__(self, dp: Any) -> None:
        self.dp, self.m, self.made = dp, self, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dp, name)

    def make_laplace(self, *space: Any, scale: float) -> Any:
        self.made.append((scale, self.dp.make_laplace(*space, scale=scale)))
        return self.made[-1][1]

    def make_gaussian(self, *space: Any, scale: float) -> Any:
        self.made.append((scale, self.dp.make_gaussian(*space, scale=scale)))
        return self.made[-1][1]

    def make_noisy_max(self, *space: Any, scale: float) -> Any:
        self.made.append((scale, self.dp.make_noisy_max(*space, scale=scale)))
        return self.made[-1][1]


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    watching = Spy(noise._opendp())
    monkeypatch.setattr(noise, "_opendp", lambda: watching)
    return watching


AWKWARD = [
    Fraction(1, 3),
    Fraction("0.1"),
    Fraction(7, 1000003),
    Fraction(10**17 + 1, 10**17),
    Fraction(1, 10**30),
    Fraction(2**55, 3),
]


@pytest.mark.parametrize("scale", AWKWARD, ids=lambda s: f"{float(s):.3g}")
def test_the_exact_engine_rounds_scales_up_and_by_one_float_at_most(spy: Spy, scale: Fraction) -> None:
    engine = ExactNoise()
    engine.discrete_laplace(np.array([1, 2]), scale)
    engine.noisy_max(np.array([1, 2]), scale)
    engine.gumbel_max(np.array([1, 2]), scale)
    for used, _ in spy.made:
        assert Fraction(used) >= scale
        assert Fraction(math.nextafter(used, 0)) < scale


@pytest.mark.parametrize(
    ("sensitivity", "epsilon"), [(1, "1"), (4, "0.1"), (11, "1/3"), (2, "0.7"), (1, "1e-9"), (300, "25")]
)
def test_opendp_reads_scales_as_the_proofs_do(spy: Spy, sensitivity: int, epsilon: str) -> None:
    """By its own privacy maps: distance/scale for Laplace noise, twice that for a noisy maximum, once if it is monotone."""
    scale = calibrate(Fraction(sensitivity), Fraction(epsilon))
    ExactNoise().discrete_laplace(np.array([1]), scale)
    (used, laplace), dp = spy.made[0], spy.dp
    assert Fraction(sensitivity) / Fraction(used) <= Fraction(epsilon)
    assert laplace.map(sensitivity) == pytest.approx(float(Fraction(epsilon)), rel=1e-12)
    domain, _, divergence = dp.scores
    for monotonic, factor in ((False, 2), (True, 1)):
        chosen = dp.make_noisy_max(domain, linf_distance(T="i64", monotonic=monotonic), divergence, scale=used)
        assert chosen.map(sensitivity) == pytest.approx(factor * float(Fraction(epsilon)), rel=1e-12)


@pytest.mark.parametrize(("square", "rho"), [(1, "1"), (4, "0.02"), (11, "1/300"), (2, "0.7"), (9, "1e-9"), (300, "25")])
def test_opendp_reads_gaussian_scales_as_the_proofs_do(spy: Spy, square: int, rho: str) -> None:
    """By its own privacy maps: ρ = distance²/2σ² for Gaussian noise; for Gumbel noise (range/scale)²/8."""
    exact = Fraction(rho)
    variance = calibrate_square(Fraction(square), exact)
    assert variance == Fraction(square) / (2 * exact)
    ExactNoise().discrete_gaussian(np.array([1]), variance)
    (used, gaussian), dp = spy.made[0], spy.dp
    assert Fraction(square) / (2 * Fraction(used) ** 2) <= exact
    assert Fraction(math.nextafter(used, 0)) ** 2 < variance
    assert gaussian.map(math.sqrt(square)) == pytest.approx(float(exact), rel=1e-12)
    domain, _, divergence = dp.concentrated_scores
    scale = round_up(2 / root_down(8 * exact))
    for monotonic, moves in ((False, 1), (True, 2)):
        chosen = dp.make_noisy_max(domain, linf_distance(T="i64", monotonic=monotonic), divergence, scale=scale)
        assert chosen.map(moves) == pytest.approx(float(exact), rel=1e-12)


def test_gaussian_noise_that_does_not_fit_is_refused() -> None:
    assert calibrate_square(Fraction(1), Fraction(1, 2**113)) == 2**112
    with pytest.raises(BadInput, match=r"^rho: "):
        calibrate_square(Fraction(1), Fraction(1, 2**113 + 1))


@pytest.mark.parametrize(
    ("sensitivity", "epsilon"), [("1", "1"), ("1/3", "0.1"), ("0.7", "1/7"), ("1e-5", "3"), ("12345.678", "0.011")]
)
def test_real_laplace_noise_is_private_by_opendps_own_map(spy: Spy, sensitivity: str, epsilon: str) -> None:
    ExactNoise().laplace(np.array([0.25, -3.5]), Fraction(sensitivity), Fraction(epsilon))
    scale, used = spy.made[-1]
    distance = math.nextafter(float(Fraction(sensitivity)), math.inf)
    assert Fraction(used.map(float(Fraction(sensitivity)))) <= Fraction(epsilon)
    assert used.map(distance) == pytest.approx(float(Fraction(epsilon)), rel=1e-9)  # and no more noise than that
    assert scale == pytest.approx(float(Fraction(sensitivity) / Fraction(epsilon)), rel=1e-9)


class Doubtful:
    """OpenDP, but its privacy map says more than ε until the scale has grown three times."""

    def __init__(self, dp: Any) -> None:
        self.dp, self.scales, self.used = dp, [], []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dp, name)

    def make_laplace(self, *space: Any, scale: float) -> Any:
        self.scales.append(scale)
        return self.measurement(self.dp.make_laplace(*space, scale=scale), scale, agrees=len(self.scales) > 3)

    def measurement(self, made: Any, scale: float, *, agrees: bool) -> Any:
        doubtful = self

        class Measurement:
            def map(self, distance: float) -> float:
                return float(made.map(distance)) * (1 - 2.0**-40 if agrees else 1 + 2.0**-40)

            def __call__(self, values: Any) -> Any:
                doubtful.used.append(scale)
                return made(values)

        return Measurement()


def test_no_noise_is_drawn_before_opendps_map_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful = Doubtful(noise._opendp())
    monkeypatch.setattr(noise, "_opendp", lambda: doubtful)
    ExactNoise().laplace(np.array([0.25]), Fraction(1), Fraction(1))
    assert doubtful.scales == sorted(set(doubtful.scales))
    assert len(doubtful.scales) == 4
    assert doubtful.used == doubtful.scales[-1:]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_real_values_must_have_been_clipped(bad: float) -> None:
    with pytest.raises(InternalError, match="not finite") as caught:
        ExactNoise().laplace(np.array([1.0, bad]), Fraction(1), Fraction(1))
    assert str(bad) not in str(caught.value)


def test_noise_that_does_not_fit_is_refused() -> None:
    assert calibrate(Fraction(2), Fraction("0.1")) == 20
    assert calibrate(Fraction(1), Fraction(1, 2**56)) == 2**56
    with pytest.raises(BadInput, match=r"^epsilon: "):
        calibrate(Fraction(1), Fraction(1, 2**56 + 1))


# --------------------------------------------------------------------------------------------------- shapes and types


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3)])
@pytest.mark.parametrize("scale", [Fraction(0), Fraction(3)])
def test_noise_has_the_shape_of_what_it_is_on(shape: tuple[int, ...], scale: Fraction) -> None:
    values = np.full(shape, 9, dtype=np.int64)
    exact = ExactNoise().discrete_laplace(values, scale)
    assert exact.shape == shape
    assert exact.dtype == np.int64  # on the lattice
    assert SimulatedNoise(0).discrete_laplace(values, scale).shape == shape
    assert SimulatedNoise(0, trials=4).discrete_laplace(values, scale).shape == (4, *shape)
    assert SimulatedNoise(0, trials=4).laplace(values.astype(float), Fraction(1), Fraction(1)).shape == (4, *shape)


def test_without_sensitivity_there_is_no_noise() -> None:
    values = np.array([3, 1, 2])
    for engine in (ExactNoise(), SimulatedNoise(0)):
        noiseless = engine.discrete_laplace(values, Fraction(0))
        assert noiseless.tolist() == [3, 1, 2]
        assert not np.shares_memory(noiseless, values)
        assert engine.noisy_max(values, Fraction(0)) == 0
        assert engine.geometric(3, Fraction(0)).tolist() == [0, 0, 0]
        assert engine.laplace(values / 2, Fraction(0), Fraction(1)).tolist() == [1.5, 0.5, 1.0]


def test_simulated_noise_is_on_the_lattice_too() -> None:
    draws = SimulatedNoise(0).discrete_laplace(np.arange(1000), Fraction(1000, 7))
    assert (draws == np.round(draws)).all()


def test_the_exact_engine_stays_within_64_bits_instead_of_wrapping_around() -> None:
    ends = np.repeat(np.array([2**62, -(2**62)], dtype=np.int64), 300)
    noisy = ExactNoise().discrete_laplace(ends, Fraction(2**56))
    assert (np.sign(noisy) == np.sign(ends)).all()  # 64 scales away: wrapped around, some would have changed sides


# ------------------------------------------------------------------------------------------------------------- seeds


def test_the_exact_engine_takes_no_seed() -> None:
    assert not inspect.signature(ExactNoise).parameters
    with pytest.raises(TypeError):
        ExactNoise(0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ExactNoise(seed=0)  # type: ignore[call-arg]
    values = np.zeros(64, dtype=np.int64)
    draws = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002  # the global generator, of all things, must not matter
        draws.append(ExactNoise().discrete_laplace(values, Fraction(1000)).tolist())
    assert draws[0] != draws[1]  # alike with a probability of less than 10⁻²⁰⁰


@pytest.mark.parametrize("bad", [None, True, 1.5, "0", -1, np.int64(-1), np.random.default_rng(0)])
def test_the_simulated_engine_wants_a_seed(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^seed: "):
        SimulatedNoise(bad)


def test_the_simulated_engine_has_no_default_seed() -> None:
    with pytest.raises(TypeError):
        SimulatedNoise()  # type: ignore[call-arg]


@pytest.mark.parametrize("seed", [0, np.int64(7), np.random.SeedSequence(3)])
def test_a_seed_gives_the_same_noise_again(seed: Any) -> None:
    def everything(engine: SimulatedNoise) -> list[Any]:
        values = np.arange(5)
        return [
            engine.discrete_laplace(values, Fraction(9)).tolist(),
            engine.geometric(5, Fraction(9)).tolist(),
            engine.noisy_max(values, Fraction(9)),
            engine.laplace(values / 2, Fraction(1), Fraction(1, 9)).tolist(),
        ]

    assert everything(SimulatedNoise(seed)) == everything(SimulatedNoise(seed))
    assert everything(SimulatedNoise(seed)) != everything(SimulatedNoise(12345))
