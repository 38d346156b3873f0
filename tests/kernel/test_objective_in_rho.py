"""Objective perturbation under ρ: the lemma for Gaussian noise, the noise itself, and where it is not used."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from jostle.kernel.budget import CONCENTRATED, Price
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.losses import bent
from jostle.kernel.functions.objective import (
    BENT,
    HIDING,
    PRICE_OF_BENDING,
    PULLS,
    TOLERANCE,
    Additive,
    Calibration,
    calibration,
    calibration_for,
    gaussian_calibration,
    is_gaussian,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import SimulatedRecords
from tests.kernel.helpers import RELATIONS, Recorder, with_custody
from tests.kernel.test_objective import ADD_REMOVE, OBJECTIVE, Row, columns, search

PLACES = np.linspace(-30, 30, 12_001)
ORDERS = (1.01, 1.5, 2.0, 4.0, 12.0, 40.0)


def renyi(one: np.ndarray, other: np.ndarray, step: float, order: float) -> float:
    """The divergence of two densities, by their logarithms on a lattice."""
    exponents = order * one + (1 - order) * other
    top = exponents.max()
    return float((top + math.log(np.exp(exponents - top).sum() * step)) / (order - 1))


def worst_share(pull: float, curvature: float, order: float) -> float:
    """The largest divergence over the lemma's, for pulls that rise from 0 to `pull` with slope `curvature` somewhere."""
    bound = order * (pull**2 + float(PRICE_OF_BENDING) * curvature**2) / 2
    step, plain, worst = PLACES[1] - PLACES[0], -(PLACES**2) / 2 - math.log(2 * math.pi) / 2, 0.0
    for start in (*np.linspace(-3 - pull / curvature, 3, 9), (order - 1) * pull):
        pulls = np.clip(curvature * (PLACES - start), 0, pull)
        rising = (pulls > 0) & (pulls < pull)
        moved = -((PLACES + pulls) ** 2) / 2 - math.log(2 * math.pi) / 2 + np.log1p(curvature * rising)
        found = max(renyi(plain, moved, step, order), renyi(moved, plain, step, order))
        worst = max(worst, found / bound)
    return worst


@pytest.mark.parametrize("order", ORDERS)
def test_no_ramp_loses_more_than_the_lemma_says(order: float) -> None:
    shares = [worst_share(pull, pull * times, order) for pull in (0.1, 0.5, 1.0) for times in (0.1, 0.5, 2.0)]
    assert max(shares) <= 1 + 1e-6
    assert max(shares) > 0.8  # where the loss hardly bends, it is the Gaussian mechanism, and the lemma is tight


def calibrated(objective: Additive, rho: str) -> Calibration:
    return calibration_for(objective, 2, ADD_REMOVE, Price(Fraction(rho), CONCENTRATED))


def log_densities(rows: list[Row], objective: Additive, rho: str, places: np.ndarray) -> np.ndarray:
    """Of the exact minimiser, one coefficient: the noise's density at the gradient, times the curvature."""
    how = calibrated(objective, rho)
    found, sigma = search(objective, rows, 2, how), math.sqrt(how.square) / PULLS
    logs = []
    for at in places:
        gradient, hessian = found._derivatives(np.array([[at]]), np.zeros((1, 1)))
        logs.append(-((gradient.item() / sigma) ** 2) / 2 + math.log(hessian.item() / sigma) - math.log(2 * math.pi) / 2)
    return np.array(logs)


@pytest.mark.parametrize(("rho", "ridge"), [("1/50", 1.0), ("1/2", 0.5), ("2", 2.0)])
def test_the_minimiser_on_neighbours_diverges_by_no_more_than_rho(rho: str, ridge: float) -> None:
    objective = Additive("class", {"a": np.eye(1)}, ridge)
    reach = 9 * math.sqrt(calibrated(objective, rho).square) / PULLS / ridge + 4
    places = np.linspace(-reach, reach, 401)
    step, spent = places[1] - places[0], float(Fraction(rho) * (1 - HIDING))
    for rows in ([], [(0, 1)], [(0, 0), (0, 1), (0, 1)]):
        here, there = (log_densities(one, objective, rho, places) for one in (rows, [*rows, (0, 1)]))
        for order in ORDERS[:-1]:
            assert max(renyi(here, there, step, order), renyi(there, here, step, order)) <= order * spent * (1 + 1e-6)


@pytest.mark.parametrize("rho", ["1/1000", "1/50", "1"])
@pytest.mark.parametrize("ridge", [4.0, 50.0])
def test_gaussian_noise_is_what_the_lemma_says(rho: str, ridge: float) -> None:
    objective = Additive("class", {"a": np.eye(2), "b": np.array([[1.0, 0.5], [0, 1], [0, -2]])}, ridge)
    how, rest = calibrated(objective, rho), Fraction(rho) * (1 - HIDING)
    pull_squared = Fraction(5, 4) / (how.square / PULLS**2)
    assert (1 + PRICE_OF_BENDING * BENT**2) * pull_squared / 2 == rest
    curvature = max(bent(lead, how.bend)[1] for lead in np.linspace(-8, 8, 4_001)) * 5 / ridge
    assert curvature <= float(BENT) * math.sqrt(pull_squared)
    assert curvature == pytest.approx(min(float(BENT) * math.sqrt(pull_squared), 5 / ridge / 4), rel=0.01)
    hidden = 2 * (math.isqrt(4) + 1) * TOLERANCE / Fraction(ridge) + Fraction(4, 2**30)
    assert float(how.hide) == pytest.approx(float(hidden * 2**30) / math.sqrt(2 * float(Fraction(rho) * HIDING)))


def test_the_operator_draws_gaussian_noise_under_rho() -> None:
    source, engine = SimulatedRecords(columns(classes=2), seed=0), Recorder()
    with_custody(source, noise=engine)
    source.minimise(OBJECTIVE, source.grant(rho="1/50"))
    how = gaussian_calibration(OBJECTIVE, Fraction(1, 50))
    assert [(kind, scale) for kind, scale, _ in engine.asked] == [
        ("discrete_gaussian", how.square),
        ("discrete_laplace", how.hide),
    ]
    assert source.unspent == 0


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("classes", [2, 3])
def test_what_the_lemma_does_not_cover_is_paid_for_in_epsilon(neighbours: Neighbours, classes: int) -> None:
    price, objective = Price(Fraction(1, 50), CONCENTRATED), Additive("class", {"a": np.eye(2)}, ridge=200.0)
    how, covered = calibration_for(objective, classes, neighbours, price), neighbours == ADD_REMOVE and classes == 2
    assert is_gaussian(classes, neighbours, price) == covered
    assert not is_gaussian(classes, neighbours, Price(Fraction(1)))
    assert (how.square > 0) == covered
    assert covered or how == calibration(objective, classes, neighbours, Fraction(1, 5))


def test_too_small_a_ridge_or_rho_is_refused() -> None:
    with pytest.raises(BadInput, match="^ridge"):
        gaussian_calibration(Additive("class", {"a": np.eye(2)}, ridge=2.0**-10), Fraction(1, 50))
    with pytest.raises(BadInput, match="^rho"):
        gaussian_calibration(Additive("class", {"a": np.eye(2)}, ridge=2.0**40), Fraction(1, 2**60))
