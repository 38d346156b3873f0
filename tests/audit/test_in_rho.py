"""What is paid for in ρ is audited as well: bounds on ρ hold as often as they say, and a leak would be found."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from jostle.audit import campaign, catalogue, examine
from jostle.audit.entries import IN_RHO
from jostle.audit.search import rho_bounds, rough_bounds
from jostle.kernel.budget import CONCENTRATED, PURE
from jostle.kernel.measures import epsilon_of, gaussian_delta

EVERY = catalogue.every()
PAID_IN_RHO = {name: entry for name, entry in EVERY.items() if entry.measure == CONCENTRATED}
WITH_DELTA = {"large_margin", "propose_test_release", "records: select_keys", "records: count_keys"}
NOT_IN_RHO = {"GradualRelease", "RandomizedResponse", "best_of"} | WITH_DELTA
"""Two are refused where ρ counts, and one has no budget."""

HOW = {"epsilon": "2", "neighbours": "replace", "samples": 40_000, "seed": 0, "confidence": 1 - 1e-6}


ORDERS = 1 + np.geomspace(1e-6, 1e3, 120)


def renyi(order: float, p: float, q: float) -> float:
    terms = [order * math.log(one) + (1 - order) * math.log(other) for one, other in ((p, q), (1 - p, 1 - q))]
    return float(special.logsumexp(terms)) / (order - 1)


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_many_samples_prove_the_largest_divergence_over_its_order(p, q):
    samples = 10**12
    found = float(rho_bounds(p * samples, q * samples, samples, samples, chance=1e-9))
    largest = max(renyi(order, p, q) / order for order in ORDERS)
    assert found <= largest + 1e-4
    assert found >= 0.93 * largest - 1e-4 or p <= q
    assert p > q or found == 0.0


def test_bounds_on_rho_fail_no_more_often_than_they_may():
    """Of 20,000 bounds that may fail with a chance of 0.05 each, 1,300 fail with one below 10⁻⁶ (binomial)."""
    rng, runs, samples, chance = np.random.default_rng(3), 20_000, 500, 0.05
    p, q = 0.3, 0.1
    truth = max(renyi(order, p, q) / order for order in ORDERS)
    bounds = rho_bounds(rng.binomial(samples, p, runs), rng.binomial(samples, q, runs), samples, samples, chance=chance)
    assert int((bounds > truth).sum()) <= 1_300


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.sampled_from([1e-3, 1e-7]))
def test_the_search_values_events_nearly_as_they_are_counted(hits, others, chance):
    exact = float(rho_bounds(hits, others, 2_000, 2_000, chance=chance))
    assert float(rough_bounds(hits, others, 2_000, 2_000, chance=chance, in_rho=True)) == pytest.approx(
        exact, abs=0.4, rel=0.2
    )


def test_everything_that_can_be_paid_for_in_rho_is_audited_in_rho():
    pure = {name: entry for name, entry in EVERY.items() if entry.measure == PURE}
    assert {name for name, entry in pure.items() if not entry.in_rho} == NOT_IN_RHO
    renamed = {f"{name.replace('laplace: ', 'gaussian: ')}{IN_RHO}" for name in pure.keys() - NOT_IN_RHO}
    assert renamed == PAID_IN_RHO.keys()
    jobs = {(job.name, job.neighbours) for job in campaign.jobs(list(PAID_IN_RHO.values()))}
    assert jobs == {(name, relation) for name, entry in PAID_IN_RHO.items() for relation in entry.relations}


@pytest.mark.parametrize(
    "name", [name for name, entry in PAID_IN_RHO.items() if entry.pace == "batched" or entry.run is None]
)
def test_nothing_loses_more_rho_than_it_says(name):
    """Few runs, but of everything, with the noise that it has; `jostle audit` makes more."""
    entry = PAID_IN_RHO[name]
    engine, samples = ("exact", 100) if entry.run is None else ("simulated", 20_000 if entry.pace == "batched" else 100)
    found = examine(
        entry,
        epsilon="2" if entry.pace == "batched" else "1/2",
        neighbours=entry.relations[-1],
        samples=samples,
        seed=0,
        engine=engine,
        confidence=1 - 1e-9,
        pairs=entry.pairs(catalogue_neighbours(entry.relations[-1]))[:1],
    )
    assert not found.finding
    assert (found.measure, found.symbol) == (CONCENTRATED, "ρ")


def catalogue_neighbours(relation: str):
    from jostle.kernel.neighbours import Neighbours

    return Neighbours.of(relation)


@pytest.mark.parametrize("name", ["gaussian: identity", "gaussian: prefix", "gaussian: residual", "statistic: LargestCell"])
def test_most_of_rho_is_found_where_noise_is_gaussian(name):
    found = examine(PAID_IN_RHO[name + IN_RHO], **HOW)
    assert 0.65 <= found.tightness <= 1


def test_too_little_gaussian_noise_would_be_found(monkeypatch):
    """With the ρ of a token in place of 2ρ, the variance is half of what it should be."""
    from jostle.kernel import source

    assert not examine(PAID_IN_RHO["gaussian: prefix" + IN_RHO], **HOW).finding
    right = source.calibrate_square
    monkeypatch.setattr(source, "calibrate_square", lambda square, rho: right(square, 4 * rho))
    assert examine(PAID_IN_RHO["gaussian: prefix" + IN_RHO], **HOW).finding


def test_a_choice_at_the_price_of_twice_its_range_would_be_found(monkeypatch):
    from jostle.kernel.budget import Price

    name = "choose: QueryScore" + IN_RHO
    how = HOW | {"neighbours": "add_remove", "epsilon": "1"}
    assert not examine(PAID_IN_RHO[name], **how).finding
    right = Price.exponential.fget
    monkeypatch.setattr(Price, "exponential", property(lambda price: 4 * right(price)))
    monkeypatch.setattr("jostle.kernel.budget.Budget.exponential", property(lambda token: token.price.exponential))
    assert examine(PAID_IN_RHO[name], **how).finding


# --------------------------------------------------------------------------------------------- Gaussian noise, exactly


def discrete_gaussian(variance: float, far: int) -> np.ndarray:
    """The probabilities of whole numbers from −far to far."""
    weights = np.exp(-(np.arange(-far, far + 1.0) ** 2) / (2 * variance))
    return weights / weights.sum()


@pytest.mark.parametrize("sigma", [0.6, 1, 2.5, 8])
@pytest.mark.parametrize("move", [1, 2, 3])
def test_the_noise_of_releases_is_rho_concentrated_and_what_rho_implies(sigma, move):
    """By its law: every Rényi divergence is at most αρ, and what is beyond e^ε is at most the δ that ρ converts to."""
    far = math.ceil(30 * sigma) + 8
    one = discrete_gaussian(sigma**2, far)[move:]
    other = discrete_gaussian(sigma**2, far)[:-move]
    rho = move**2 / (2 * sigma**2)
    seen = (one > 1e-290) & (other > 1e-290)
    one, other = one[seen], other[seen]
    for order in (1.01, 1.5, 2, 4, 16):
        divergence = special.logsumexp(order * np.log(one) + (1 - order) * np.log(other)) / (order - 1)
        assert divergence <= order * rho + 1e-9
    for delta in (1e-3, 1e-6, 1e-9):
        epsilon = float(epsilon_of(Fraction(rho), Fraction(str(delta))))
        assert np.maximum(one - math.exp(epsilon) * other, 0).sum() <= delta
        continuous = float(gaussian_delta(Fraction(epsilon), Fraction(sigma / move)))
        assert continuous <= delta  # the analytic δ of continuous noise is below what its ρ converts to


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.1, 36.31), (1, 4.225), (1, 2.0), (10, 0.541)])
def test_the_analytic_delta_is_the_integral_of_what_is_beyond(epsilon, sigma):
    """∫ max(0, φ(x; 1, σ) − e^ε φ(x; 0, σ)) dx, by the event that attains it."""
    cut = 0.5 + epsilon * sigma**2
    upper = stats.norm.sf((cut - 1) / sigma) - math.exp(epsilon) * stats.norm.sf(cut / sigma)
    assert float(gaussian_delta(Fraction(epsilon), Fraction(sigma))) == pytest.approx(upper, rel=1e-7)
