"""Choosing ε by the error that is wished for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.choice.epsilon import epsilon_for
from jostle.kernel.errors import BadInput
from jostle.kernel.source import SimulatedSource
from jostle.mechanisms import utility


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("within", "confidence"), [(3, 0.9), (10, 0.95), (200, 0.99)])
def test_for_cells_it_is_the_closed_form(within: int, confidence: float, neighbours: str) -> None:
    size = 1 if neighbours == "add_remove" else 2
    found = epsilon_for(workloads.identity(50), within, confidence, "Laplace", neighbours)
    least = utility.discrete_laplace_epsilon(within, sensitivity=size, confidence=confidence)
    assert found.how == "a closed form"
    assert least * (1 - 1e-9) <= found.epsilon <= least * 1.02


def test_the_promise_holds_in_a_simulation_of_its_own() -> None:
    asked, x = workloads.prefix(64), np.arange(64)
    found = epsilon_for(asked, within=30, confidence=0.9)
    runs = np.concatenate(list(simulate.estimates(found.algorithm, x, asked, found.epsilon, trials=4000, seed=99)))
    outside = (np.abs((asked @ runs) - (asked @ x)) > 30).mean(axis=0)
    # 10 % may be outside. The bound is by Hoeffding for 64 comparisons of 4,000 runs at 1e-6 in all: 0.1 + 0.0474.
    assert outside.max() < 0.1 + np.sqrt(np.log(64 / 1e-6) / 8000)
    tighter = epsilon_for(asked, within=15, confidence=0.9)
    assert tighter.epsilon > 1.5 * found.epsilon


def test_the_curve_falls_and_meets_the_wish() -> None:
    found = epsilon_for(workloads.prefix(16), within=20)
    epsilons, errors = zip(*found.curve, strict=True)
    assert list(epsilons) == sorted(epsilons)
    assert list(errors) == sorted(errors, reverse=True)
    assert dict(found.curve)[float(found.epsilon)] <= 20
    assert f"ε = {float(found.epsilon):g} keeps each answer within ±20 with 95% confidence" in str(found)
    assert found.plot().data[0].name == found.algorithm


def test_what_depends_on_the_data_needs_a_stand_in() -> None:
    asked = workloads.prefix(32)
    with pytest.raises(BadInput, match="stand_in: is needed, as the error of DAWA depends on the data"):
        epsilon_for(asked, 20, algorithm="DAWA")
    found = epsilon_for(asked, 20, algorithm="DAWA", stand_in=[50] * 16 + [0] * 16)
    assert (found.algorithm, found.how) == ("DAWA", "simulation on the stand-in")
    with pytest.raises(BadInput, match="which may be private"):
        epsilon_for(asked, 20, stand_in=SimulatedSource([1] * 32, seed=0))


@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"within": 0}, "within"),
        ({"within": True}, "within"),
        ({"within": 10**400}, "within"),
        ({"within": float("nan")}, "within"),
        ({"confidence": 1.0}, "confidence"),
        ({"workload": "cells"}, "workload"),
        ({"workload": workloads.identity((2, 2, 2))}, "workload"),
        ({"algorithm": "Guess"}, "algorithm"),
        ({"stand_in": [1, 2, 3]}, "workload|x"),
    ],
)
def test_bad_wishes_are_refused(settings: dict[str, Any], argument: str) -> None:
    with pytest.raises(BadInput, match=f"^({argument})"):
        epsilon_for(**({"workload": workloads.identity(4), "within": 5} | settings))


def test_an_exact_answer_is_a_wish_that_some_epsilon_meets() -> None:
    assert epsilon_for(workloads.identity(4), within=0.5, algorithm="Laplace").epsilon > Fraction(3)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_in_rho_it_is_the_closed_form_of_gaussian_noise(neighbours: str) -> None:
    asked = {"workload": workloads.identity(64), "within": 30, "algorithm": "Laplace", "neighbours": neighbours}
    wish = epsilon_for(**asked, measure="concentrated")  # type: ignore[arg-type]
    sigma = 30.5 / 1.96  # the error is whole
    assert float(wish.epsilon) == pytest.approx((1 if neighbours == "add_remove" else 2) / (2 * sigma**2), rel=0.03)
    assert str(wish).startswith("ρ = ")
    counts = np.zeros(64, dtype=int)
    runs = np.concatenate(
        list(
            simulate.estimates(
                "Laplace", counts, workloads.identity(64), rho=wish.epsilon, trials=400, seed=2, neighbours=neighbours
            )
        )
    )
    # 25,600 draws; Hoeffding at 1e-6: 0.0168
    assert abs((np.abs(runs) > 30).mean() - 0.05) < 0.0168


@pytest.mark.parametrize("within", [np.int64(5), np.float32(5), Fraction(5)])
def test_a_wish_may_be_any_kind_of_number(within: Any) -> None:
    asked = {"workload": workloads.identity(4), "algorithm": "Laplace"}
    assert epsilon_for(within=within, **asked) == epsilon_for(within=5, **asked)  # type: ignore[arg-type]
