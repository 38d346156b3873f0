"""PrivateRegressor: scikit-learn's conventions, sound intervals, and predictions that noise does not carry away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import jostle
from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Concentrated
from jostle.learn import PrivateRegressor
from jostle.learn.regression.task import RegressionTask
from jostle.schema import Boolean, Category, Integer, Real, Schema
from tests.learn.conforming import EXCEPTIONS, run_check

SCHEMA = Schema(
    {
        "size": Real(0, 10, bins=50),
        "kind": Category(["a", "b", "c"]),
        "new": Boolean(),
        "price": Real(-5, 20, bins=250),
    }
)


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size, kind, new = rng.uniform(0, 10, rows), rng.choice(["a", "b", "c"], rows), rng.random(rows) < 0.3
    price = 3 + 0.5 * size + 2.0 * (kind == "b") - (kind == "c") + 1.5 * new + rng.normal(0, 1, rows)
    return pd.DataFrame({"size": size, "kind": kind, "new": new, "price": price})


def model(**options: Any) -> PrivateRegressor:
    return PrivateRegressor(**{"epsilon": 1, "schema": SCHEMA, "label": "price", "random_state": 0} | options)


LINEAR = {"model": "linear", "method": "moments"}


class Knowing(PrivateRegressor):
    """A regressor as somebody would use it who knows the checks' public data: fitting bounds."""

    def fit(self, X: Any, y: Any = None) -> Any:
        table = np.asarray(X)
        named = hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns)
        names = list(X.columns) if named else [f"x{i}" for i in range(table.shape[-1] if table.ndim else 1)]
        numbers = np.asarray([0.0] if y is None else y).reshape(-1)
        plain = numbers.dtype.kind in "biuf" and numbers.size and np.isfinite(numbers.astype(float)).all()
        low, high = (float(numbers.min()), float(numbers.max())) if plain else (0.0, 1.0)
        columns = {name: Real(-4, 8, bins=120) for name in names}
        self._known = Schema(columns | {self.label: Real(low, max(high, low + 1), bins=500)})
        return super().fit(X, y)

    def _task(self, y: Any = None) -> Any:
        return self._over(self._known)


NOT_ALLOWED = {
    "check_estimators_empty_data_messages": EXCEPTIONS["check_estimators_empty_data_messages"],
    "check_supervised_y_no_nan": "whether a row has a number is private: a row without one does not count",
}


@parametrize_with_checks([Knowing(epsilon=1e4, random_state=0), Knowing(epsilon=1e4, random_state=0, **LINEAR)])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    run_check(check, estimator, NOT_ALLOWED)


@pytest.mark.parametrize("how", [LINEAR, {"model": "additive"}, {"model": "linear", "method": "synthetic"}, {}])
@pytest.mark.parametrize("price", [{"epsilon": 2}, {"epsilon": 2, "delta": 1e-6}, {"epsilon": None, "rho": 0.1}])
def test_every_way_predicts_and_spends_all(how: dict[str, Any], price: dict[str, Any]) -> None:
    data, test = frame(8_000), frame(2_000, 1)
    found = model(**how, **price).fit(data)
    assert found.score(test, test["price"]) > 0.5  # 0.81 without noise
    assert found.spent_ == found._price().amount
    assert found.explain().startswith("Regression, ")


def test_without_noise_it_is_least_squares() -> None:
    data = frame(3_000)
    found = model(epsilon=1e7, **LINEAR).fit(data)
    task = RegressionTask.over(SCHEMA, "price")
    size = (task.encode("size", data["size"]) + 0.5) * 0.2
    design = np.column_stack([np.ones(3_000), size, data["kind"] == "b", data["kind"] == "c", data["new"]]).astype(float)
    expected = np.linalg.lstsq(design, task.targets[task.encode_label(data["price"])], rcond=None)[0]
    table = found.coefficients().set_index("coefficient")
    named = ["(constant)", "size", "kind = b", "kind = c", "new = true"]
    assert table.loc[named, "value"].to_numpy() == pytest.approx(expected, abs=1e-3)
    assert np.isinf(table.loc["size: not known", ["low", "high"]].astype(float)).all()


@pytest.mark.parametrize("price", [{"epsilon": 2}, {"epsilon": None, "rho": 0.02}])
def test_intervals_hold_what_they_promise(price: dict[str, Any]) -> None:
    """40 fits on new data. The seeds are fixed, so that the test always passes or always fails."""
    named = ["(constant)", "size", "kind = b", "kind = c", "new = true"]
    truth = np.array([3, 0.5, 2, -1, 1.5])
    within = {False: np.zeros(5), True: np.zeros(5)}
    for seed in range(40):
        data = frame(6_000, seed)
        exact = model(epsilon=1e7, **LINEAR).fit(data).coefficients().set_index("coefficient").loc[named, "value"].to_numpy()
        found = model(random_state=seed, **price, **LINEAR).fit(data)
        for population, target in ((False, exact), (True, truth)):
            table = found.coefficients(population=population).set_index("coefficient").loc[named]
            assert np.isfinite(table.to_numpy()).all()
            within[population] += (table["low"].to_numpy() <= target) & (target <= table["high"].to_numpy())
    assert min(within[False]) >= 34
    assert min(within[True]) >= 34  # at 95 %, fewer have a chance of 0.3 % per coefficient


def test_what_noise_hides_has_no_interval() -> None:
    found = model(epsilon=0.01, **LINEAR).fit(frame(500)).coefficients()
    assert np.isinf(found["low"].iloc[1:].to_numpy()).mean() > 0.5


def test_rows_without_a_number_do_not_count_and_values_may_be_missing() -> None:
    data = frame(4_000)
    odd = data.astype(object).copy()
    odd.loc[:100, "price"] = None
    odd.loc[200:300, "size"] = None
    found = model(epsilon=50, **LINEAR).fit(odd)
    assert found.score(data, data["price"]) > 0.7
    assert np.isfinite(found.predict(odd)).all()


def test_predictions_stay_within_the_labels_bounds() -> None:
    for how in (LINEAR, {"model": "additive"}):
        for seed in range(5):
            predicted = model(epsilon=0.01, random_state=seed, **how).fit(frame(200)).predict(frame(50))
            assert ((predicted >= -5) & (predicted <= 20)).all()


def test_an_account_is_charged_once_and_whole(tmp_path: Any) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("sales", cap=1)
        found = model(epsilon=0.4, random_state=None, account=account).fit(frame(500))
        assert account.spent == found.spent_ == sum(event.cost.epsilon for event in found.charges_)
        with pytest.raises(Overdraft):
            model(epsilon=0.7, random_state=None, account=account).fit(frame(500))


def test_a_private_table_is_learned_from_in_its_engine(tmp_path: Any) -> None:
    ledger = f"{tmp_path}/budget.db"
    table = jostle.open(frame(3_000), schema=SCHEMA, ledger=ledger, budget=Concentrated(1), name="sales")
    found = PrivateRegressor(rho=0.5, label="price").fit(table)
    assert found.score(frame(500, 1), frame(500, 1)["price"]) > 0.5
    assert table.remaining == Concentrated(1).rho - found.spent_


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"label": "kind"}, "label"),
        ({"label": "absent"}, "label"),
        ({"model": "deep"}, "model"),
        ({"method": "guess"}, "method"),
        ({"ridge": -1}, "ridge"),
        ({"steps": 0}, "steps"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_what_cannot_be_is_refused_before_any_charge(options: dict[str, Any], argument: str, tmp_path: Any) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("sales", cap=1)
        with pytest.raises(BadInput, match=f"^{argument}:"):
            model(random_state=None, account=account, **options).fit(frame(20))
        assert account.spent == 0


def test_coefficients_are_refused_where_there_are_none() -> None:
    with pytest.raises(BadInput, match="additive"):
        model(model="additive").fit(frame(50)).coefficients()
    with pytest.raises(BadInput, match="synthetic"):
        model(model="linear", method="synthetic").fit(frame(50)).coefficients()


def test_parameters_are_cloned() -> None:
    assert clone(model(steps=3, ridge=2.0)).get_params()["steps"] == 3


def test_whole_numbers_can_be_predicted() -> None:
    schema = {"x": Integer(0, 9), "y": Integer(1, 30)}
    x = np.arange(5_000) % 10
    found = PrivateRegressor(5, schema, label="y", random_state=0).fit(x[:, None], 3 + 2 * x)
    assert np.abs(found.predict(np.arange(10)[:, None]) - (3 + 2 * np.arange(10))).max() < 2
