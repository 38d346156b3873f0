"""Objective perturbation: the minimiser's density on neighbours, the noise, and the certificate of the search."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.budget import CountingPurse
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.losses import bent, sums
from jostle.kernel.functions.objective import (
    GRAIN,
    PULLS,
    TOLERANCE,
    Additive,
    Calibration,
    _NewtonSearch,
    calibration,
    centred,
)
from jostle.kernel.functions.twofold import UNIT
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, ReleaseRecords, SimulatedRecords
from tests.kernel.helpers import RELATIONS, Recorder, with_custody

ADD_REMOVE, REPLACE = Neighbours("add_remove"), Neighbours("replace")
Row = tuple[int, ...]
"""A value of each attribute, then the class."""


def search(objective: Additive, rows: list[Row], classes: int, how: Calibration) -> _NewtonSearch:
    table = np.array(rows, dtype=np.int64).reshape(-1, len(objective.features) + 1)
    named = dict(zip([*objective.features, objective.label], table.T, strict=True))
    return _NewtonSearch(objective, named, np.ones(len(table), dtype=np.int64), 1 if classes <= 2 else classes, how.bend)


def log_density(found: _NewtonSearch, how: Calibration, at: np.ndarray) -> float:
    """Of the exact minimiser, but for a constant, where scores need no projection: b's density times the Jacobian."""
    gradient, hessian = found._derivatives(at, np.zeros_like(at))
    sigma = float(how.pull) / PULLS
    return float(-np.abs(gradient).sum() / sigma + np.linalg.slogdet(hessian)[1])


def log_density_projected(found: _NewtonSearch, how: Calibration, at: np.ndarray) -> float:
    """The same for three classes, one coefficient each: noise integrated over the line, and the determinant on the plane."""
    gradient, hessian = found._derivatives(at, np.zeros_like(at))
    sigma = float(how.pull) / PULLS
    shifts = np.linspace(-40 * sigma, 40 * sigma, 8_001)
    exponents = -np.abs(gradient.reshape(1, -1) + shifts[:, None]).sum(axis=1) / sigma
    basis = np.array([[1, -1, 0], [1, 1, -2]]).T / np.sqrt([2, 6])
    integral = exponents.max() + math.log(np.exp(exponents - exponents.max()).sum())
    return float(integral + np.linalg.slogdet(basis.T @ hessian @ basis)[1])


def some_rows(shape: tuple[int, ...], most: int) -> list[list[Row]]:
    every = list(itertools.product(*map(range, shape)))
    return [list(rows) for n in range(most + 1) for rows in itertools.combinations_with_replacement(every, n)]


@pytest.mark.parametrize(("epsilon", "ridge"), [("1/2", 1.0), ("2", 0.25), ("2", 3.0)])
@pytest.mark.parametrize("features", [np.eye(2), np.array([[1.0, 0.5], [0.0, 1.0]])])
def test_the_density_of_the_minimiser_changes_by_no_more_than_epsilon(
    features: np.ndarray, epsilon: str, ridge: float
) -> None:
    objective = Additive("class", {"a": features, "b": np.eye(1)}, ridge)
    how = calibration(objective, 2, ADD_REMOVE, Fraction(epsilon))
    spent = float(Fraction(epsilon) * Fraction(127, 128))
    places = [np.array(p)[:, None] for p in itertools.product((-3.0, -0.4, 0.1, 2.0), repeat=3)][::3]
    for rows in some_rows((2, 1, 2), 2):
        here = [log_density(search(objective, rows, 2, how), how, at) for at in places]
        for more in itertools.product(range(2), range(1), range(2)):
            there = [log_density(search(objective, [*rows, more], 2, how), how, at) for at in places]
            assert np.abs(np.subtract(here, there)).max() <= spent + 1e-9


def test_the_density_for_three_classes_changes_by_no_more_than_epsilon() -> None:
    objective = Additive("class", {"a": np.eye(1)}, ridge=1.5)
    how = calibration(objective, 3, ADD_REMOVE, Fraction(2))
    spent = float(Fraction(2) * Fraction(127, 128))
    places = [np.array([[x, y, -x - y]]) for x in np.linspace(-4, 4, 7) for y in np.linspace(-4, 4, 7)]
    worst = 0.0
    for rows in some_rows((1, 3), 1):
        here = [log_density_projected(search(objective, rows, 3, how), how, at) for at in places]
        for label in range(3):
            there = [log_density_projected(search(objective, [*rows, (0, label)], 3, how), how, at) for at in places]
            worst = max(worst, float(np.abs(np.subtract(here, there)).max()))
    assert 0.5 * spent < worst <= spent + 1e-6


def test_the_density_changes_by_no_more_than_epsilon_where_a_record_is_replaced() -> None:
    objective = Additive("class", {"a": np.eye(2)}, ridge=0.5)
    how = calibration(objective, 2, REPLACE, Fraction(1))
    places = [np.array(p)[:, None] for p in itertools.product(np.linspace(-6, 6, 13), repeat=2)]
    spent, worst = 127 / 128, 0.0
    for one, other in itertools.combinations(itertools.product(range(2), range(2)), 2):
        here, there = (
            [log_density(search(objective, [(0, 1), row], 2, how), how, at) for at in places] for row in (one, other)
        )
        worst = max(worst, float(np.abs(np.subtract(here, there)).max()))
    assert 0.9 * spent < worst <= spent + 1e-9


def test_the_bound_is_attained() -> None:
    objective = Additive("class", {"a": np.eye(1)}, ridge=1.0)
    how = calibration(objective, 2, ADD_REMOVE, Fraction(1))
    at = np.array([[-40.0]])
    change = log_density(search(objective, [], 2, how), how, at) - log_density(search(objective, [(0, 1)], 2, how), how, at)
    assert abs(change) == pytest.approx(127 / 128, rel=1e-6)


@given(st.floats(-40, 40), st.floats(1 / 64, 64))
def test_the_loss_is_bent_no_more_than_its_slope_leaves_room_for(lead: float, bend: float) -> None:
    slope, curvature = bent(lead, bend)
    assert 0 <= slope <= 0.5
    assert 0 <= curvature <= bend * (0.5 - slope) * (1 + 1e-9) + 1e-15
    assert slope <= 1 / (1 + math.exp(lead)) + 1e-12
    steps = bent(lead - 1e-4, bend)[0] - bent(lead + 1e-4, bend)[0]
    assert steps == pytest.approx(2e-4 * curvature, rel=0.02, abs=1e-10)


@pytest.mark.parametrize("scores", [1, 3, 4])
def test_the_derivatives_are_those_of_the_loss(scores: int) -> None:
    rng = np.random.default_rng(0)
    places = np.array([[0, 2], [1, 3], [1, 2], [0, 4]], dtype=np.int32)
    labels, weights = rng.integers(0, max(scores, 2), 4), np.array([1.0, 3.0, 2.0, 1.0])
    cells, bend, step = rng.normal(size=(5, scores)), 1.5, 1e-5
    slopes, bends = sums(places, labels, weights, cells, bend)
    for cell, score in itertools.product(range(5), range(scores)):
        moved = np.zeros_like(cells)
        moved[cell, score] = step
        up, down = (sums(places, labels, weights, cells + sign * moved, bend)[0] for sign in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx(bends[cell, score], rel=1e-5, abs=1e-8)
    if scores > 1:
        assert slopes.sum(axis=1) == pytest.approx(np.zeros(5), abs=1e-12)
        assert np.abs(slopes).sum() <= weights.sum() * 2


def test_two_scores_would_pull_as_one() -> None:
    """With two classes, one score of the second is what two opposite scores would be."""
    places, labels, weights = np.zeros((1, 1), dtype=np.int32), np.array([1]), np.ones(1)
    one, _ = sums(places, labels, weights, np.array([[0.7]]), 2.0)
    two, _ = sums(places, labels, weights, np.array([[-0.35, 0.35]]), 2.0)
    assert two[0].tolist() == pytest.approx([-one[0, 0], one[0, 0]])


SIZES = {"a": 2, "b": 3, "class": 3}


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("classes", [1, 2, 3, 5])
def test_the_noise_is_what_the_proof_says(neighbours: Neighbours, classes: int) -> None:
    ridge, epsilon = 100.0, Fraction(1, 2)
    objective = Additive("class", {"a": np.eye(2), "b": np.array([[1.0, 0.5], [0, 1], [0, -2]])}, ridge)
    assert objective.reach == (Fraction(3), Fraction(5))
    how = calibration(objective, classes, neighbours, epsilon)
    left = epsilon * Fraction(127, 128)
    times = neighbours.rows * (2 if neighbours.part else 1)
    if classes > 2:
        left -= times * Fraction(5, 100) * Fraction(classes - 2, 2 * (classes - 1))
    twice = 2 if neighbours.relation == "replace" else 1
    move = Fraction(3, 2) if classes <= 2 else Fraction(3)
    assert how.pull == neighbours.rows * twice * move * PULLS / left
    assert how.bend == pytest.approx(float(3 * PULLS / how.pull * 20), rel=1e-5)
    assert Fraction(how.bend) <= 3 * PULLS / how.pull * 20


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_the_noise_that_hides_the_search_is_what_the_proof_says(neighbours: Neighbours) -> None:
    objective = Additive("class", {"a": np.eye(2), "b": np.eye(3)}, ridge=8.0)
    how = calibration(objective, 3, neighbours, Fraction(2))
    apart = 2 * (math.isqrt(15) + 1) * TOLERANCE / 8 * GRAIN + 15
    assert how.hide == neighbours.rows * (2 if neighbours.part else 1) * apart / Fraction(2, 128)
    assert math.isqrt(15) + 1 >= math.sqrt(15)


def test_what_is_reached_is_that_of_every_row_and_does_not_change() -> None:
    """By brute force; features with the same numbers in another order, or with other signs, reach as far."""
    rng = np.random.default_rng(0)
    features = {name: rng.integers(-4, 5, (6, 3)) / 8 for name in "ab"}
    objective = Additive("class", features, ridge=2.0)
    rows = [[[abs(Fraction(v)) for v in row] for row in matrix] for matrix in features.values()]
    assert objective.reach == (sum(max(map(sum, m)) for m in rows), sum(max(sum(v * v for v in r) for r in m) for m in rows))
    with pytest.raises(ValueError, match="read-only"):
        objective.features["a"][0, 0] = 100.0


def columns(rows: int = 200, classes: int = 3) -> ArrayColumns:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    return ArrayColumns({"a": a, "b": b, "class": (a + b) % classes}, SIZES | {"class": classes})


OBJECTIVE = Additive("class", {"a": np.eye(2), "b": np.eye(3)}, ridge=4.0)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_the_operator_draws_that_noise_and_no_other(classes: int) -> None:
    source, engine = SimulatedRecords(columns(classes=classes), seed=0), Recorder()
    with_custody(source, noise=engine)
    found = source.minimise(OBJECTIVE, source.grant(2))
    how = calibration(OBJECTIVE, classes, source.neighbours, Fraction(2))
    assert engine.scales == [how.pull, how.hide]
    assert [values.size for _, _, values in engine.asked] == [5 * found.shape[0]] * 2
    assert found.shape == (1 if classes <= 2 else classes, 5)
    assert source.unspent == 0


@pytest.mark.parametrize("rows", [0, 1, 3_000])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bend", [1 / 64, 2.0, 64.0])
def test_the_search_ends_within_the_certified_distance(rows: int, classes: int, bend: float) -> None:
    source = columns(rows, classes)
    listed, weights = source.listed(["a", "b", "class"])
    scores = 1 if classes == 2 else classes
    found = _NewtonSearch(OBJECTIVE, listed, weights, scores, bend)
    pulls = np.random.default_rng(1).laplace(scale=30, size=(5, scores))
    here = found.minimiser(pulls)
    exact = here
    for _ in range(8):  # Newton's method to the end of the floats
        gradient, hessian = found._derivatives(exact, pulls)
        exact = exact - np.linalg.solve(hessian, gradient.reshape(-1)).reshape(exact.shape)
    assert np.linalg.norm(found._derivatives(exact, pulls)[0]) < 1e-8
    assert np.linalg.norm(here - exact) <= float(TOLERANCE) / OBJECTIVE.ridge
    slack = found._rounding(here, pulls)
    assert slack >= math.sqrt(here.size) / PULLS
    assert slack < float(TOLERANCE) / 4


def test_the_search_ends_from_bad_beginnings() -> None:
    """A huge pull against many records, and weights like those of a table of 24 million rows."""
    listed, weights = columns(60, 2).listed(["a", "b", "class"])
    for many, pull in itertools.product((1, 10**5, 4 * 10**5), (0.0, 1e3, -1e4)):
        found = _NewtonSearch(OBJECTIVE, listed, weights * many, 1, 2.0)
        here = found.minimiser(np.full((5, 1), pull))
        assert np.linalg.norm(found._derivatives(here, np.full((5, 1), pull))[0]) <= float(TOLERANCE)


STRONG = Additive("class", {f"a{i}": np.eye(3) for i in range(14)}, ridge=14.0)


def crowd(records: int, classes: int, rows: int = 40) -> tuple[_NewtonSearch, np.ndarray]:
    """So many records of few kinds, whose class is what their first attribute says: scores become large."""
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, 3, rows) for name in STRONG.features}
    codes["class"] = codes["a0"] % classes
    scores = 1 if classes <= 2 else classes
    how = calibration(STRONG, classes, ADD_REMOVE, Fraction(1))
    found = _NewtonSearch(STRONG, codes, np.full(rows, records // rows), scores, how.bend)
    pulls = rng.laplace(scale=float(how.pull) / PULLS, size=(found.width, scores))
    return found, pulls - pulls.mean(axis=1, keepdims=True) if scores > 1 else pulls


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("records", [5 * 10**7, 10**9, 10**12, 2**45])
def test_the_search_ends_for_more_records_than_floats_can_add_up(records: int, classes: int) -> None:
    """Within the certified distance of where a refinement without end would lead."""
    found, pulls = crowd(records, classes)
    here = found.minimiser(pulls)
    exact, rest = here, np.zeros_like(here)
    hessian = found._derivatives(here, pulls)[1]
    for _ in range(20):
        gradient = found._precise_gradient(exact, rest, pulls)
        step = np.linalg.solve(hessian, -gradient.reshape(-1)).reshape(exact.shape)
        rest = rest + step
        exact, rest = exact + rest, rest - ((exact + rest) - exact)
    assert np.linalg.norm(found._precise_gradient(exact, rest, pulls)) < float(TOLERANCE) / 1_000
    assert np.linalg.norm(here - exact) + np.linalg.norm(rest) <= float(TOLERANCE) / STRONG.ridge


@pytest.mark.parametrize("seed", range(60))
def test_the_search_ends_wherever_the_loss_bends(seed: int) -> None:
    """Made-up records of all kinds, 10^6 to 10^13 of them. With large parts of Newton steps alone, some got no further."""
    rng = np.random.default_rng(seed)
    classes, attributes, values, rows = (int(rng.choice(some)) for some in ([2, 3, 5, 8], [1, 3, 7], [2, 5], [3, 30, 200]))
    epsilon = Fraction(int(rng.choice([1, 10, 100, 1000])), 100)
    codes = {f"a{i}": rng.integers(0, values, rows) for i in range(attributes)}
    labels = [rng.integers(0, classes, rows), codes["a0"] % classes, (rng.random(rows) < 0.02).astype(np.int64)]
    features = {name: np.eye(values) if rng.random() < 0.6 else rng.uniform(0.1, 2, (values, 2)) for name in codes}
    plain = Additive("class", features, 1.0)
    objective = Additive("class", features, float(rng.choice([2, 16])) * float(plain.reach[1]) / (2 * float(epsilon)))
    how = calibration(objective, classes, ADD_REMOVE, epsilon)
    weights = (rng.dirichlet(np.full(rows, rng.choice([0.05, 1]))) * 10 ** rng.uniform(6, 13)).astype(np.int64)
    scores = 1 if classes <= 2 else classes
    found = _NewtonSearch(objective, codes | {"class": labels[int(rng.integers(3))]}, weights, scores, how.bend)
    pulls = rng.laplace(scale=float(how.pull) / PULLS, size=(found.width, scores))
    pulls = pulls - pulls.mean(axis=1, keepdims=True) if scores > 1 else pulls
    here = found.minimiser(pulls)
    assert np.linalg.norm(found._precise_gradient(here, np.zeros_like(here), pulls)) <= float(TOLERANCE) + (
        float(weights.sum()) * found.squares * np.abs(here).max() * 2.0**-52
    )  # the gradient moves by so much where the coefficients' further digits are left out


@pytest.mark.parametrize("classes", [2, 3])
def test_both_ways_to_add_up_are_the_same_function(classes: int) -> None:
    found, pulls = crowd(4_000, classes)
    at = np.random.default_rng(1).normal(size=pulls.shape)
    precise = found._precise_gradient(at, np.zeros_like(at), pulls)
    floats = found._derivatives(at, pulls)[0]
    assert np.linalg.norm(precise - floats) <= found._rounding(at, pulls)
    assert precise == pytest.approx(floats, abs=1e-9)
    refined = found._refined(found.minimiser(pulls), pulls)
    assert refined.tolist() == found.minimiser(pulls).tolist()  # what is certified in floats is certified there too


def test_the_certificate_counts_what_rounding_adds() -> None:
    """In floats, more than the difference to twice the digits; and so many records that it is more than the tolerance."""
    few, pulls = crowd(4_000, 3)
    many, _ = crowd(5 * 10**7, 3)
    here = few.minimiser(pulls)
    assert few._rounding(here, pulls) < float(TOLERANCE) < many._rounding(here, pulls)
    assert many._rounding(here, pulls, UNIT) < float(TOLERANCE) / 100
    off = many._precise_gradient(here, np.zeros_like(here), pulls) - many._derivatives(here, pulls)[0]
    assert np.linalg.norm(off) < many._rounding(here, pulls)


@pytest.mark.parametrize("seed", range(4))
def test_the_certificate_holds_where_features_cancel_out(seed: int) -> None:
    """Two columns that are nearly the same: their coefficients are a thousand times as large as the scores."""
    objective = Additive("class", {"a": np.array([[1.0, 1.0], [1.0, 1 - 2.0**-11]])}, ridge=1.0)
    how = calibration(objective, 2, ADD_REMOVE, Fraction(4))
    rng = np.random.default_rng(seed)
    weights = (np.array([0.3, 0.2, 0.05, 0.45]) * rng.uniform(0.5, 1, 4) * 10**9).astype(np.int64)
    found = _NewtonSearch(objective, {"a": np.array([0, 0, 1, 1]), "class": np.array([0, 1, 0, 1])}, weights, 1, how.bend)
    pulls = rng.laplace(scale=float(how.pull) / PULLS, size=(2, 1))
    here = found.minimiser(pulls)
    assert np.abs(here).max() > 500 * np.abs(found.matrix @ here).max()
    off = found._precise_gradient(here, np.zeros_like(here), pulls) - found._derivatives(here, pulls)[0]
    assert np.linalg.norm(off) < found._rounding(here, pulls)


@pytest.mark.parametrize("seed", range(4))
def test_a_refinement_ends_where_the_loss_bends_on_its_way(seed: int) -> None:
    """Values that nearly look the same, of one class each: the curvature where floats end is not the minimiser's."""
    features = np.array([[1.00003, 1.00007], [1.00005, 0.99989]])
    objective = Additive("class", {"a": features}, ridge=0.02)
    how = calibration(objective, 3, ADD_REMOVE, Fraction(100))
    codes = {"a": np.array([0, 1]), "class": np.array([0, 1])}
    found = _NewtonSearch(objective, codes, np.array([155 * 10**9, 20 * 10**9]), 3, how.bend)
    pulls = np.random.default_rng(seed).laplace(scale=float(how.pull) / PULLS, size=(2, 3))
    pulls = pulls - pulls.mean(axis=1, keepdims=True)
    here = found.minimiser(pulls)
    left_out = found.count * found.squares * np.abs(here).max() * 2.0**-52  # the gradient moves so far with further digits
    assert np.linalg.norm(found._precise_gradient(here, np.zeros_like(here), pulls)) <= float(TOLERANCE) + left_out


def nearly_alike(seed: int) -> tuple[_NewtonSearch, np.ndarray]:
    """Many records with features that nearly repeat each other: coefficients are large, and the loss bends in steps."""
    rng = np.random.default_rng(seed)
    features = {name: 1 + 10.0 ** rng.uniform(-7, -3) * rng.uniform(-1, 1, (3, 3)) for name in "ab"}
    ridge = 2 * float(Additive("class", features, 1.0).reach[1])
    objective, scores = Additive("class", features, ridge), 4 if seed % 2 else 1
    how = calibration(objective, max(scores, 2), ADD_REMOVE, Fraction(1))
    codes = {name: rng.integers(0, 3, 20) for name in "ab"}
    codes["class"] = codes["a"] % max(scores, 2)
    weights = (rng.dirichlet(np.full(20, 0.05)) * 10 ** rng.uniform(9.5, 12.5)).astype(np.int64)
    found = _NewtonSearch(objective, codes, weights, scores, how.bend)
    return found, centred(np.round(rng.laplace(scale=float(how.pull), size=(found.width, scores))).astype(np.int64))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("far", [0.0, 1e3])
def test_the_search_ends_from_wherever_it_is_refined(seed: int, far: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its steps halves the shortest gradient, or makes the loss smaller: so it does not go in circles."""
    found, pulls = nearly_alike(seed)
    taken, original = [], _NewtonSearch._both_digits

    def counted(self: _NewtonSearch, *where: np.ndarray) -> np.ndarray:
        taken.append(original(self, *where))
        assert len(taken) < 2_000
        return taken[-1]

    monkeypatch.setattr(_NewtonSearch, "_both_digits", counted)
    here = found._refined(np.random.default_rng(seed).normal(size=pulls.shape) * far, pulls)
    assert np.linalg.norm(taken[-1].real) + found._rounding(here, pulls, UNIT) <= float(TOLERANCE)


def test_a_hessian_that_floats_take_for_singular_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    found, pulls = nearly_alike(1)

    def singular(*matrices: np.ndarray) -> np.ndarray:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "solve", singular)
    gradient, hessian = found._derivatives(np.zeros_like(pulls), pulls)
    assert (found._newton(hessian, gradient) == -gradient / found.steepest).all()


def test_no_curvature_exceeds_the_one_that_steps_along_the_gradient_count_on() -> None:
    rng = np.random.default_rng(0)
    for seed in range(40):
        found, pulls = nearly_alike(seed)
        hessian = found._derivatives(rng.normal(size=pulls.shape) * 10.0 ** rng.uniform(-3, 2), pulls)[1]
        assert np.linalg.eigvalsh(hessian)[-1] <= found.steepest


@given(st.lists(st.integers(-(2**60), 2**60), min_size=2, max_size=7))
def test_the_linear_term_is_centred_to_its_own_last_digits(drawn: list[int]) -> None:
    """Not to those of what was drawn, which may be far larger."""
    found = centred(np.array([drawn]))[0]
    for number, near in zip(drawn, found.tolist(), strict=True):
        true = Fraction(number) - Fraction(sum(drawn), len(drawn))
        assert abs(Fraction(near) * PULLS - true) <= Fraction(3, 2**53) * (abs(true) + 2)


def test_the_operator_finds_what_tells_the_classes_apart() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 20_000)
    source = SimulatedRecords(ArrayColumns({"a": a, "class": (a > 1).astype(int)}, {"a": 4, "class": 2}), seed=0)
    ((first, second, third, fourth),) = source.minimise(Additive("class", {"a": np.eye(4)}, ridge=2), source.grant(1))
    assert max(first, second) < -3 < 3 < min(third, fourth)


def test_a_release_is_charged_and_cannot_be_seeded(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=3)
        source = ReleaseRecords(columns(), purse=account.purse(), note="model")
        assert source.minimise(OBJECTIVE, source.grant(2)).shape == (3, 5)
        assert account.remaining == 1
        (event,) = [e for e in ledger.events("people") if e.kind == "charge"]
        assert (event.operator, event.note) == ("minimise", "model: additive scores of 2 attributes")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"ridge": 0.0}, "ridge: must be a number"),
        ({"ridge": True}, "ridge: must be a number"),
        ({"features": {}}, "features: must be for some attributes"),
        ({"features": {"class": np.eye(3)}}, "besides the label"),
        ({"features": {"a": np.zeros((2, 2))}}, "that of 'a' must be a matrix"),
        ({"features": {"a": np.full((2, 2), np.nan)}}, "that of 'a' must be a matrix"),
        ({"features": {"a": np.ones(2)}}, "that of 'a' must be a matrix"),
    ],
)
def test_objectives_that_cannot_be_asked_for(options: dict[str, Any], match: str) -> None:
    with pytest.raises(BadInput, match=match):
        Additive(**{"label": "class", "features": {"a": np.eye(2)}, "ridge": 1.0} | options)


@pytest.mark.parametrize(
    ("objective", "match"),
    [
        (Additive("class", {"a": np.eye(3)}, 1.0), "a row for each of 2 values"),
        (Additive("class", {"z": np.eye(3)}, 1.0), "'z' is not among the records'"),
        (Additive("class", {"a": np.ones((2, 2_000))}, 1.0), "more than 4096"),
        (Additive("class", {"a": np.eye(2)}, 0.01), "ridge: is so small"),
    ],
)
def test_nothing_is_charged_for_what_cannot_be_answered(objective: Additive, match: str) -> None:
    source = SimulatedRecords(columns(), seed=0)
    budget = source.grant(1)
    with pytest.raises(BadInput, match=match):
        source.minimise(objective, budget)
    assert source.unspent == 1
    with pytest.raises(PlanError, match="no objective of the kernel"):
        source.minimise("loss", budget)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="not with a number"):
        source.minimise(OBJECTIVE, 1.0)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="not granted for"):
        source.minimise(OBJECTIVE, CountingPurse().grant(1))
