"""Residual planning: the published constants, optimality against other plans, and the histograms that come out of it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.linear.design.residuals import ResidualPlan, check_marginal_weights, plan_residuals
from jostle.linear.fitting.marginals import Axes

ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
"""The sizes of Adult's columns."""


some_sets = st.lists(st.sampled_from([("a",), ("b", "a"), ("a", "c"), ("c", "b", "d"), ("d",)]), min_size=1, unique=True)


def marginals(*ways: int, sizes: tuple[int, ...] = ADULT) -> dict[Axes, tuple[int, ...]]:
    """All histograms of so many columns."""
    picks = [pick for k in ways for pick in itertools.combinations(range(len(sizes)), k)]
    return {tuple(f"c{i}" for i in pick): tuple(sizes[i] for i in pick) for pick in picks}


def unit_noise(plan: ResidualPlan, neighbours: Neighbours) -> list[float]:
    """The variance of the noise on each residue, for noise of variance 1 at a sensitivity of 1: ρ = 1/2."""
    return [
        float(neighbours.squared_sensitivity(*r.queries.squared_sensitivities()) / r.queries.unit**2 / plan.share_of(r))
        for r in plan.residues
    ]


def spread(plan: ResidualPlan) -> dict[Axes, float]:
    return plan.variances(unit_noise(plan, Neighbours()))


def root_mean(shapes: dict[Axes, tuple[int, ...]], variances: dict[Axes, float]) -> float:
    cells = {axes: math.prod(shape) for axes, shape in shapes.items()}
    return math.sqrt(sum(variances[axes] * cells[axes] for axes in shapes) / sum(cells.values()))


@pytest.mark.parametrize(("ways", "expected"), [((1,), 3.0468), ((2,), 6.3587), ((3,), 10.5153), ((0, 1, 2, 3), 10.6650)])
def test_the_constants_of_adult_to_four_digits(ways: tuple[int, ...], expected: float) -> None:
    shapes = marginals(*ways)
    assert root_mean(shapes, spread(plan_residuals(shapes))) == pytest.approx(expected, abs=5e-5)


def test_the_largest_variance_is_least_where_all_are_equal() -> None:
    """By duality no plan has a smaller one: the weighted sum at the dual's weights would be smaller, too."""
    shapes = marginals(1, 2)
    total, largest = (spread(plan_residuals(shapes, least=least)) for least in ("total", "largest"))
    assert max(largest.values()) < 0.5 * max(total.values())
    assert max(largest.values()) == pytest.approx(min(v for axes, v in largest.items() if len(axes) == 2), rel=5e-3)
    assert root_mean(shapes, largest) > root_mean(shapes, total)


def test_weights_lower_the_error_of_what_counts_more() -> None:
    shapes = marginals(2, sizes=(5, 6, 7))
    heavy = dict.fromkeys(shapes, 1.0) | {("c0", "c1"): 50.0}
    plain, weighted = (spread(plan_residuals(shapes, weights=weights)) for weights in (None, heavy))
    assert weighted["c0", "c1"] < 0.8 * plain["c0", "c1"]
    assert weighted["c1", "c2"] > plain["c1", "c2"]


@given(some_sets, st.data())
@settings(max_examples=30)
def test_no_other_division_of_rho_has_less_total_variance(sets: list[Axes], data: st.DataObject) -> None:
    sizes = {"a": 2, "b": 3, "c": 4, "d": 1}
    shapes = {axes: tuple(sizes[axis] for axis in axes) for axes in sets}
    neighbours = data.draw(st.sampled_from([Neighbours(), Neighbours("replace", filtered=True)]))
    plan = plan_residuals(shapes, neighbours)
    noise = np.array(unit_noise(plan, neighbours))
    factors = np.array(data.draw(st.lists(st.floats(0.5, 2), min_size=noise.size, max_size=noise.size)))
    shares = np.array(plan.shares) / sum(plan.shares)
    other = noise * factors * (shares / factors).sum()
    assert root_mean(shapes, plan.variances(noise)) <= root_mean(shapes, plan.variances(other)) * (1 + 1e-9)


@settings(max_examples=30)
@given(some_sets)
def test_histograms_from_exact_residues_are_exact_and_variances_those_of_the_linear_map(sets: list[Axes]) -> None:
    sizes = {"a": 2, "b": 3, "c": 4, "d": 1}
    x = np.random.default_rng(0).integers(0, 9, tuple(sizes.values()))
    names = list(sizes)
    exact = {
        axes: np.einsum(x, [0, 1, 2, 3], [names.index(axis) for axis in axes]).astype(float) for axes in sets
    }  # in the order of the axes
    plan = plan_residuals({axes: values.shape for axes, values in exact.items()})
    measured = [residue.queries @ exact[residue.of].reshape(-1).astype(np.int64) for residue in plan.residues]
    noise = list(np.linspace(1, 2, len(measured)))
    found = plan.histograms(measured, noise)
    for axes, (values, variance) in found.items():
        assert values == pytest.approx(exact[axes], abs=1e-9)
        assert variance == pytest.approx(plan.variances(noise)[axes])
        # Each number that is measured, moved by 1 on its own: the weights of a cell, whose squares add up to its variance.
        moved = 0.0
        for place, answers in enumerate(measured):
            for at in range(answers.size):
                pushed = [a + (np.arange(a.size) == at) * (k == place) for k, a in enumerate(measured)]
                moved += (plan.histograms(pushed, noise)[axes][0].flat[0] - values.flat[0]) ** 2 * noise[place]
        assert moved == pytest.approx(variance, rel=1e-6)


def test_large_sets_are_centred_along_as_many_axes_as_exact_answers_allow() -> None:
    shapes = {("a", "b", "c"): (2, 1500, 1000)}
    plan = plan_residuals(shapes)
    whole = next(residue for residue in plan.residues if len(residue.axes) == 3)
    assert whole.queries.unit == 2000
    assert whole.queries.centred == (0, 2)
    assert math.sqrt(spread(plan)["a", "b", "c"]) == pytest.approx(1, rel=0.01)  # for one histogram, its cells are best


@pytest.mark.parametrize("bad", [[1], [1, 0], [1, -2], [1, math.nan], ["x", 1], 3, [1, 1e12]])
def test_odd_weights_are_refused(bad: object) -> None:
    with pytest.raises(BadInput, match=r"^weights: .*pass 2 numbers"):
        check_marginal_weights(bad, [("a",), ("b",)])


def test_an_odd_aim_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^least: .*'total' or 'largest'"):
        plan_residuals({("a",): (2,)}, least="most")  # type: ignore[arg-type]
