"""Logistic and Poisson models: maximum likelihood where there is no noise, and intervals that hold where there is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from jostle.kernel.errors import BadInput
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.learn import PrivateRegressor
from jostle.learn.regression.generalized import ScoreSums, generalized
from jostle.learn.regression.task import RegressionTask
from jostle.schema import Boolean, Category, Integer, Real, Schema
from tests.kernel.helpers import Recorder, with_custody

ATTRIBUTES = {"size": Real(0, 8, bins=16), "kind": Category(["a", "b"], outside="drop", null="drop")}
SCHEMAS = {
    "logistic": Schema(ATTRIBUTES | {"bought": Boolean(null="drop")}),
    "poisson": Schema(ATTRIBUTES | {"bought": Integer(0, 40)}),
}
NAMED = ["(constant)", "size", "kind = b"]
TRUTH = np.array([-1.0, 0.3, 0.8])


def frame(family: str, rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size, kind = rng.integers(0, 16, rows) / 2 + 0.25, rng.choice(["a", "b"], rows)
    predictor = TRUTH[0] + TRUTH[1] * size + TRUTH[2] * (kind == "b")
    bought = rng.random(rows) < 1 / (1 + np.exp(-predictor)) if family == "logistic" else rng.poisson(np.exp(predictor))
    return pd.DataFrame({"size": size, "kind": kind, "bought": bought})


def model(family: str, **options: Any) -> PrivateRegressor:
    given = {"epsilon": 1, "schema": SCHEMAS[family], "label": "bought", "model": family, "random_state": 0}
    return PrivateRegressor(**given | options)


def likeliest(data: pd.DataFrame, family: str) -> np.ndarray:
    design = np.column_stack([np.ones(len(data)), data["size"], data["kind"] == "b"]).astype(float)
    labels = data["bought"].to_numpy(dtype=float)

    def loss(slopes: np.ndarray) -> float:
        predictor = design @ slopes
        total = np.logaddexp(0, predictor) if family == "logistic" else np.exp(predictor)
        return float((total - labels * predictor).sum())

    return np.asarray(minimize(loss, np.zeros(3), method="BFGS").x)


@pytest.mark.parametrize("family", SCHEMAS)
def test_without_noise_it_is_maximum_likelihood(family: str) -> None:
    data = frame(family, 2_000)
    found = model(family, epsilon=1e7).fit(data)
    table = found.coefficients().set_index("coefficient")
    assert table.loc[NAMED, "value"].to_numpy() == pytest.approx(likeliest(data, family), abs=1e-3)
    assert np.isinf(table.loc["size: not known", ["low", "high"]].astype(float)).all()
    assert found.score(data, data["bought"]) > (0.1 if family == "logistic" else 0.3)


@pytest.mark.parametrize("family", SCHEMAS)
def test_intervals_of_a_logistic_model_hold_what_they_promise(family: str) -> None:
    """40 fits on new data. The seeds are fixed, so that the test always passes or always fails."""
    within = {False: np.zeros(3), True: np.zeros(3)}
    for seed in range(40):
        data = frame(family, 3_000, seed)
        found = model(family, epsilon=2, random_state=seed, method="moments").fit(data)
        for population, target in ((False, likeliest(data, family)), (True, TRUTH)):
            table = found.coefficients(population=population).set_index("coefficient").loc[NAMED]
            assert np.isfinite(table.to_numpy()).all()
            within[population] += (table["low"].to_numpy() <= target) & (target <= table["high"].to_numpy())
    assert min(within[False]) >= 34
    assert min(within[True]) >= 34  # at 95 %, fewer have a chance of 0.3 % per coefficient


def test_a_record_adds_one_to_what_a_generalized_model_measures() -> None:
    for (family, schema), unit in zip(SCHEMAS.items(), (1, 2**20), strict=True):
        task = RegressionTask.over(schema, "bought")
        codes = task.encode_records({name: column.to_numpy() for name, column in frame(family, 50).items()})
        for neighbours, moves in (("add_remove", 1), ("replace", 2)):
            source = SimulatedRecords(ArrayColumns(codes, task.sizes), seed=0, neighbours=neighbours)
            recorder = Recorder()
            with_custody(source, noise=recorder)
            generalized(source, task, source.grant(3), family=family, bins=16)
            ((_, scale, *_),) = recorder.asked
            assert float(scale) == pytest.approx(unit * moves / 3, rel=1e-4)


def test_what_noise_hides_has_no_interval() -> None:
    found = model("logistic", epsilon=0.02).fit(frame("logistic", 300))
    assert np.isinf(found.coefficients()["low"].to_numpy(dtype=float)).all()
    assert np.isfinite(found.predict(frame("logistic", 20))).all()


def test_a_feature_that_nobody_has_is_left_out() -> None:
    x = np.array([[1.0, 0.0], [1.0, 1.0]])
    sums = ScoreSums("logistic", x, np.array([30.0, 0.1]), np.array([10.0, -0.1]), 1.0, 1.0)
    slopes, _ = sums.fitted(0.0)
    assert slopes == pytest.approx([np.log(3), 0], abs=0.02)


def test_many_attributes_are_taken_from_a_synthetic_table() -> None:
    rng = np.random.default_rng(0)
    names = [f"x{place}" for place in range(9)]
    data = pd.DataFrame({name: rng.uniform(0, 1, 2_000) for name in names})
    data["yes"] = np.where(data["x0"] > rng.random(2_000), "y", "n")
    schema = Schema({name: Real(0, 1, bins=20) for name in names} | {"yes": Category(["n", "y"])})
    found = PrivateRegressor(8, schema, label="yes", model="logistic", random_state=0).fit(data)
    assert "synthetic" in found.explain()
    assert found.score(data, data["yes"]) > 0.2  # 0.33 at best
    with pytest.raises(BadInput, match="synthetic"):
        found.coefficients()
    wider = Schema({f"x{place}": Real(0, 1, bins=20) for place in range(14)} | {"yes": Boolean()})
    with pytest.raises(BadInput, match="^method: would need a histogram"):
        PrivateRegressor(8, wider, label="yes", model="logistic", method="moments", random_state=0).fit([[0.5] * 14], [True])


@pytest.mark.parametrize(("family", "label"), [("logistic", "size"), ("poisson", "below"), ("logistic", "three")])
def test_labels_that_do_not_fit_are_refused(family: str, label: str) -> None:
    schema = Schema({"size": Integer(0, 9), "below": Integer(-1, 9), "three": Category(["a", "b", "c"])})
    with pytest.raises(BadInput, match="^label:"):
        PrivateRegressor(1, schema, label=label, model=family, random_state=0).fit(
            pd.DataFrame({"size": [1], "below": [1], "three": ["a"]})
        )
