"""Laws of sums of noise, beside their characteristic functions and beside draws."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq

from jostle.kernel.noise import SimulatedNoise
from jostle.linear.fitting.marginals import consistent, margins_of_cells
from jostle.linear.laws import NoiseLaw, margins, whole_margins
from jostle.mechanisms.utility import discrete_laplace_error

LAPLACE = NoiseLaw(1.0, 3.0, 30.0)


def by_inversion(weights: np.ndarray) -> float:
    """The 95 % quantile of a weighted sum of Laplace variables of variance 1, by Gil-Pelaez' formula."""
    t = np.linspace(0, 300, 150_001)[1:]
    step, log = t[0], -sum(np.log1p(w * w * t * t / 2) for w in weights)

    def within(x: float) -> float:
        return float(2 / np.pi * step * ((np.sin(t * x) / t * np.exp(log)).sum() + x / 2))

    return float(brentq(lambda x: within(x) - 0.95, 1.5, 2.6))


def powers(weights: np.ndarray) -> np.ndarray:
    return np.array([[(weights**k).sum()] for k in (2, 4, 6)])


@pytest.mark.parametrize("seed", range(8))
def test_margins_of_weighted_sums_are_those_of_their_characteristic_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random(rng.integers(1, 30)) ** rng.integers(1, 6)
    weights /= np.sqrt((weights**2).sum())
    assert margins([(LAPLACE, powers(weights))])[0] == pytest.approx(by_inversion(weights), rel=2e-3)


def test_measurements_of_several_laws_add_up() -> None:
    both = [(LAPLACE, powers(np.array([0.6]))), (NoiseLaw.gaussian(1.0), powers(np.array([0.8])))]
    found = margins(both)[0]
    assert (
        margins([(NoiseLaw.gaussian(1.0), powers(np.array([1.0])))])[0]
        < found
        < margins([(LAPLACE, powers(np.array([1.0])))])[0]
    )
    assert margins([(LAPLACE, np.zeros((3, 2)))]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("epsilon", [0.001, 0.01, 0.1, 0.7, 2.0, 9.0])
def test_one_whole_number_has_the_exact_margin(epsilon: float) -> None:
    assert whole_margins(np.ones(2), 1 / epsilon).tolist() == [discrete_laplace_error(epsilon)] * 2


@pytest.mark.parametrize(("numbers", "scale"), [(2, 0.4), (7, 1.5), (300, 3.0), (5000, 9.0)])
def test_sums_of_whole_numbers_are_covered_and_not_by_one_less(numbers: int, scale: float) -> None:
    """From 20,000 draws: by the inequality of Dvoretzky, Kiefer and Wolfowitz, off by 0.0195 with a chance below 10⁻⁶."""
    noise = SimulatedNoise(seed=3, trials=400)
    zeros = np.zeros(numbers, dtype=np.int64)
    drawn = np.concatenate([noise.discrete_laplace(zeros, Fraction(scale)).sum(axis=1) for _ in range(50)])
    margin = whole_margins(np.array([numbers]), scale)[0]
    assert (np.abs(drawn) <= margin).mean() > 0.95 - 0.0195
    assert (np.abs(drawn) <= margin - 1).mean() < 0.95 + 0.0195


@pytest.mark.parametrize(("numbers", "square"), [(1, 0.2), (1, 2.0), (3, 0.5), (40, 9.0), (1, 10_000.0), (900, 400.0)])
def test_sums_of_discrete_gaussian_numbers_have_exact_margins(numbers: int, square: float) -> None:
    """Beside the law itself, by convolution where that is short, and beside the normal law where steps are small."""
    law = NoiseLaw.discrete_gaussian(square)
    margin = whole_margins(np.array([numbers]), law)[0]
    reach = int(12 * np.sqrt(square)) + 2
    alone = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * square))
    chances = alone = alone / alone.sum()
    for _ in range(numbers - 1 if numbers <= 40 else 0):
        chances = np.convolve(chances, alone)
    if numbers <= 40:
        off = np.abs(np.arange(chances.size) - chances.size // 2)
        assert chances[off <= margin].sum() >= 0.95 - 1e-9 > chances[off <= margin - 1].sum() - 2e-9
    else:
        assert margin == np.ceil(1.959964 * np.sqrt(numbers * square) - 0.5)
    values = np.arange(-reach, reach + 1.0)
    assert law.second == pytest.approx(float(alone @ values**2))
    assert law.fourth == pytest.approx(float(alone @ values**4) - 3 * law.second**2, abs=1e-6 * square**2)


def test_marginals_cover_as_often_as_they_say() -> None:
    """20,000 draws of a cell each: off by 0.0195 with a chance below 10⁻⁶."""
    shapes = {("a", "b"): (4, 3), ("b", "c"): (3, 5), ("a",): (4,)}
    scales = {("a", "b"): 20, ("b", "c"): 9, ("a",): 40}
    laws = {axes: NoiseLaw.discrete_laplace(scale) for axes, scale in scales.items()}
    off, noise = margins_of_cells(shapes, laws), SimulatedNoise(seed=5, trials=None)
    variances, held = {axes: law.second for axes, law in laws.items()}, dict.fromkeys(shapes, 0)
    for _ in range(4000):
        noisy = {a: noise.discrete_laplace(np.zeros(s, dtype=np.int64), Fraction(scales[a])) for a, s in shapes.items()}
        found, spread = consistent(noisy, variances)
        for axes in shapes:
            held[axes] += abs(found[axes].flat[0]) <= off[axes]
    threshold = np.sqrt(np.log(2 * 3 / 1e-6) / (2 * 4000))
    assert all(abs(count / 4000 - 0.95) < threshold for count in held.values())
    assert all(off[axes] / np.sqrt(spread[axes]) < 2.1184 for axes in shapes)
