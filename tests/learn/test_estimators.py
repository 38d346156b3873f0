"""What private estimators share: scikit-learn's conventions, the charge, and errors that do not depend on the data."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import jostle
from jostle import learn
from jostle.answers.prices import rounded_down
from jostle.kernel.budget import Budget, Cost
from jostle.kernel.errors import BadInput, Overdraft, PlanError
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Approximate, Concentrated, Pure, largest_rho
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.kernel.source import AddedNoise
from jostle.learn import PrivateLogistic, PrivateMajority, PrivateTree
from jostle.learn.registry import learner
from jostle.learn.task import Task
from jostle.schema import Boolean, Category, Integer, Real, Schema
from jostle.tables.question import witnessed

SCHEMA = Schema({"age": Integer(0, 99), "sex": Category(["F", "M"]), "class": Category(["no", "yes"])})
FRAME = pd.DataFrame(
    {
        "sex": ["F", "M", "F", None, "?"] * 200,
        "other": 1,
        "age": [20, 30, 80, None, 90] * 200,
        "class": ["no", "no", "yes", "yes", "maybe"] * 200,
    }
)


def model(**options: Any) -> PrivateLogistic:
    return PrivateLogistic(**{"epsilon": 1, "schema": SCHEMA, "random_state": 0} | options)


def test_frames_arrays_and_labels_inside_give_the_same_model() -> None:
    by_frame = model().fit(FRAME)
    beside = model().fit(FRAME[["age", "sex"]], FRAME["class"])
    array = model().fit(FRAME[["age", "sex"]].to_numpy(dtype=object), FRAME["class"].to_numpy())
    expected = by_frame.predict_proba(FRAME)
    assert np.array_equal(expected, beside.predict_proba(FRAME))
    assert np.array_equal(expected, array.predict_proba(FRAME[["age", "sex"]].to_numpy(dtype=object)))
    assert expected.shape == (1_000, 2)
    assert expected.sum(axis=1) == pytest.approx(np.ones(1_000))
    assert by_frame.classes_.tolist() == ["no", "yes"]
    assert by_frame.score(FRAME[:4], FRAME["class"][:4]) == 1


def test_a_schema_may_be_a_mapping_or_a_file(tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "people.toml")
    expected = model().fit(FRAME).predict_proba(FRAME)
    for schema in (dict(SCHEMA), tmp_path / "people.toml", str(tmp_path / "people.toml")):
        assert np.array_equal(model(schema=schema).fit(FRAME).predict_proba(FRAME), expected)


def test_every_fit_is_charged_whole_to_the_account(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=1)
        fitted = model(epsilon="2/5", account=people, random_state=None).fit(FRAME)
        assert (fitted.spent_, people.remaining, fitted.simulated_) == (Fraction(2, 5), Fraction(3, 5), False)
        clone(fitted).fit(FRAME)
        assert people.remaining == Fraction(1, 5)
        with pytest.raises(Overdraft):
            fitted.fit(FRAME)
        assert people.remaining == Fraction(1, 5)
        assert "release" in fitted.explain()


PAID = [
    ({}, Pure(1), "ε = 1 "),
    ({"epsilon": "1/2"}, Pure("1/2"), "ε = 0.5 "),
    ({"rho": "1/50"}, Concentrated("1/50"), "ρ = 0.02 "),
    (
        {"epsilon": 1, "delta": 1e-6},
        Concentrated(rounded_down(largest_rho(1, 1e-6))),
        "ε = 1 and δ = 1e-06, which allow ρ = ",
    ),
]


@pytest.mark.parametrize(("said", "cap", "words"), PAID)
def test_a_fit_is_paid_in_epsilon_or_rho_or_the_rho_of_epsilon_and_delta(said, cap, words, tmp_path: Path) -> None:
    asked = PrivateMajority(schema=SCHEMA, **said)
    assert clone(asked).get_params() == asked.get_params()
    with Ledger(tmp_path / "budget.db") as ledger:
        fitted = clone(asked).set_params(account=ledger.account("people", cap=cap)).fit(FRAME)
        (charge,) = fitted.charges_
        assert (fitted.spent_, fitted.measure_) == (charge.amount, charge.cost.measure)
        assert fitted.spent_ == (cap.epsilon if isinstance(cap, Pure) else cap.rho)  # and no more is left:
        with pytest.raises(Overdraft):
            clone(fitted).fit(FRAME)
        assert words in fitted.explain()
    assert words in asked.fit(FRAME).explain()  # charged to a ledger that is thrown away
    assert words in clone(asked).set_params(random_state=0).fit(FRAME).explain()


@pytest.mark.parametrize("seed", [0, None])
def test_under_rho_the_noise_is_gaussian_and_as_large_as_the_price_says(seed: int | None) -> None:
    """One record moves a histogram by 1: σ² = 1 / 2ρ."""
    with witnessed() as seen:
        PrivateMajority(schema=SCHEMA, rho="1/50", random_state=seed).fit(FRAME)
    assert [one.noise for one in seen][-1] == AddedNoise("gaussian", Fraction(25))


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"epsilon": 1, "rho": 0.1}, "epsilon, rho: must be one of the two. Remedy: pass epsilon for pure ε, or rho"),
        ({"delta": 1e-6}, "delta: stands beside epsilon. Remedy: pass epsilon and delta, or only rho"),
        ({"delta": 1e-6, "rho": 0.1}, "delta: stands beside epsilon"),
        ({"epsilon": 1, "delta": 0}, "delta: must be above 0"),
        ({"epsilon": 1, "delta": 1}, "delta: must be below 1"),
        ({"epsilon": 1, "delta": "much"}, "delta: must be a finite number"),
        ({"rho": -1}, "rho: must be above 0"),
        ({"rho": True}, "rho: must be a finite number"),
        ({"rho": 0.1}, "rho: the account 'people' is of pure ε, of which Gaussian noise has none. Remedy: pass epsilon"),
        ({"epsilon": 1, "delta": 1e-6}, "rho: the account 'people' is of pure ε"),
    ],
)
def test_prices_that_cannot_be_paid_are_refused_before_anything_is_charged(said, match: str, tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=9)
        table = jostle.open(FRAME, schema=SCHEMA, ledger=tmp_path / "other.db", budget=9, name="people")
        for asked, records in ((PrivateMajority(schema=SCHEMA, account=people), FRAME), (PrivateMajority(), table)):
            with pytest.raises(BadInput, match=match):
                asked.set_params(**said).fit(records)
        assert (people.spent, table.remaining) == (0, 9)
        assert not (tmp_path / "other.db").exists()


def test_a_table_and_a_part_of_it_pay_in_their_own_measure(tmp_path: Path) -> None:
    table = jostle.open(FRAME, schema=SCHEMA, ledger=tmp_path / "b.db", budget=Approximate(1, 1e-6), name="people")
    by_rho, by_epsilon = (PrivateMajority(**said).fit(table) for said in ({"rho": "1/200"}, {"epsilon": "1/10"}))
    assert [one.charges_[0].cost for one in (by_rho, by_epsilon)] == [Cost.gaussian("1/200"), Cost.pure("1/10")]
    with pytest.raises(Overdraft, match="requested ρ = 0.02,"):
        PrivateMajority(rho="1/50").fit(table)
    part = table.partition("sex", rho="1/1000")["F"]
    with pytest.raises(BadInput, match="has ρ to spend. Remedy: pass rho"):
        PrivateMajority().fit(part)
    PrivateMajority(rho="1/4000").fit(part)
    assert part.remaining == Fraction(3, 4000)


def test_without_an_account_a_release_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fitted = model(random_state=None).fit(FRAME)
    assert fitted.spent_ == 1
    assert list(tmp_path.iterdir()) == []


def test_a_refused_fit_leaves_the_model_before_it_as_it_was(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        wider = Schema({**SCHEMA, "other": Integer(0, 9)})
        fitted = model(account=ledger.account("people", cap=1), random_state=None).fit(FRAME[["age", "sex"]], FRAME["class"])
        before, told = fitted.predict(FRAME[["age", "sex"]]), fitted.explain()
        with pytest.raises(Overdraft):
            fitted.set_params(schema=wider).fit(FRAME)
        assert np.array_equal(fitted.predict(FRAME[["age", "sex"]]), before)
        assert fitted.explain() == told
        with pytest.raises(Overdraft):
            (first := clone(fitted)).fit(FRAME)
        for ask in (first.explain, lambda: first.predict(FRAME)):
            with pytest.raises(NotFittedError):
                ask()
        with pytest.raises(NotFittedError):
            check_is_fitted(first)


def test_a_simulation_is_repeated_by_its_seed_and_says_so() -> None:
    one, same, other = (model(random_state=seed).fit(FRAME) for seed in (1, 1, 2))
    assert np.array_equal(one.predict_proba(FRAME), same.predict_proba(FRAME))
    assert not np.array_equal(one.predict_proba(FRAME), other.predict_proba(FRAME))
    assert one.simulated_
    assert "simulation on public data" in one.explain()


def test_rows_without_a_class_of_the_schema_do_not_count() -> None:
    known = FRAME[FRAME["class"] != "maybe"]
    assert np.array_equal(model().fit(FRAME).predict_proba(FRAME), model().fit(known).predict_proba(FRAME))


@pytest.mark.parametrize("seed", [0, None])
def test_a_fit_is_among_filtered_records(seed: int | None) -> None:
    """A label that is none leaves a row out: so the number of those that count is private, whoever else is there."""
    fitted = model(random_state=seed, neighbours="replace").fit(FRAME[FRAME["class"] == "no"])
    assert fitted.trace_.neighbours.filtered
    assert not fitted.trace_.neighbours.total_is_public


ODD: list[tuple[list[Any], list[Any]]] = [
    ([], []),
    ([[5, "F"]], ["no"]),
    ([[5, "F"]] * 9, ["no"] * 9),
    ([[None, None], [float("nan"), "X"], ["text", 7]], ["no", None, "unheard of"]),
    ([[10**30, "F"], [-(10**30), "M"]], ["yes", "no"]),
]


@pytest.mark.parametrize(("rows", "labels"), ODD)
@pytest.mark.parametrize("seed", [0, None])
def test_odd_data_give_a_model_and_no_error(rows: list[Any], labels: list[Any], seed: int | None) -> None:
    table = np.array(rows, dtype=object).reshape(-1, 2)
    fitted = model(random_state=seed).fit(table, np.array(labels, dtype=object))
    found = fitted.predict_proba(np.array([[50, "F"], [None, "?"]], dtype=object))
    assert np.isfinite(found).all()
    assert fitted.spent_ == 1


def test_one_class_and_one_value_are_learned_without_complaint() -> None:
    schema = Schema({"a": Category(["x"], outside="drop", null="drop"), "class": Category(["only"])})
    fitted = model(schema=schema).fit([["x"], ["y"]], ["only", "only"])
    assert fitted.predict([["x"], [None]]).tolist() == ["only", "only"]
    assert fitted.spent_ == 1


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": 0}, "epsilon: must be above 0"),
        ({"schema": None}, "schema: must describe"),
        ({"schema": {"age": "number"}}, "schema: must describe"),
        ({"label": "income"}, "label: 'income' must be a column of the schema with classes"),
        ({"label": "age"}, "label: 'age' must be a column of the schema with classes"),
        ({"schema": {"class": Boolean()}}, "attributes: must be columns"),
        ({"schema": dict(SCHEMA) | {"height": Real(0, 3, bins=9)}}, "X: lacks the columns height"),
        ({"neighbours": "friends"}, "neighbours: 'friends' is unknown"),
        ({"random_state": -1}, "random_state: must be a whole number"),
        ({"random_state": "0"}, "random_state: must be a whole number"),
        ({"bins": 0}, "bins: must be a whole number"),
        ({"ridge": -1.0}, "ridge: must be a number"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_charged(options: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=match):
        model(**options).fit(FRAME)
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=1)
        with pytest.raises(BadInput, match=match):
            model(**{"random_state": None} | options | {"account": people}).fit(FRAME)
        assert people.spent == 0


def test_an_account_takes_no_seed_and_its_own_neighbours(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=1, neighbours="replace")
        with pytest.raises(BadInput, match="a release cannot be seeded"):
            model(account=people).fit(FRAME)
        with pytest.raises(BadInput, match="kept under replace"):
            model(account=people, random_state=None).fit(FRAME)
        fitted = model(account=people, random_state=None, neighbours="replace").fit(FRAME)
        assert "replace" in fitted.explain()
        assert people.spent == 1
    with pytest.raises(BadInput, match="must be an account"):
        model(account="people", random_state=None).fit(FRAME)


def test_one_label_of_a_list_does_not_change_how_others_are_read() -> None:
    """NumPy makes two dimensions of a list of lists, and one where a single item is none."""
    labels = FRAME["class"].tolist()
    fitted = [
        model().fit(FRAME[["age", "sex"]], y).predict_proba(FRAME[["age", "sex"]])
        for y in (labels, [[label] for label in labels], [labels[0], *([label] for label in labels[1:])])
    ]
    assert all(np.array_equal(fitted[0], other) for other in fitted[1:])
    model().fit(FRAME[["age", "sex"]], [(label, 1) for label in labels])  # none is a label of the schema; nothing tells


def test_an_account_that_protects_persons_does_not_pay_for_rows(tmp_path: Path) -> None:
    """A person with a hundred rows would move a hundred records, and the account promises that one is hidden."""
    frame = FRAME.assign(person=1, row=1)
    for unit, spent in (("person:1", 0), ("row:1", 0), (None, 1)):
        with Ledger(tmp_path / f"{unit}.db") as ledger:
            table = jostle.open(frame, schema={"person": Integer(0, 1)}, ledger=ledger, budget=2, name="people", unit=unit)
            table.count(epsilon=1)  # which makes the account
            people = ledger.account("people")
            with pytest.raises(BadInput, match="account: .*protects each (person|row .column.)") if unit else nullcontext():
                model(account=people, random_state=None).fit(FRAME)
            assert people.spent == 1 + spent


@pytest.mark.parametrize(
    ("name", "tunables"),
    [
        ("Tree", {"depth": np.int8(3), "bins": np.int64(4)}),
        ("Joint", {"most": np.int64(9), "largest_set": np.int16(1)}),
        ("Sparse", {"few": np.int64(1)}),
        ("Jagannathan", {"trees": np.int64(2), "shape_seed": np.int64(5)}),
        ("MultinomialBayes", {"smoothing": np.float32(0.5)}),
        ("Logistic", {"bins": np.int64(4), "ridge": np.float32(2)}),
    ],
)
def test_numbers_of_numpy_are_numbers(name: str, tunables: dict[str, Any]) -> None:
    task = Task.over(SCHEMA, "class")

    def fitted(**given: Any) -> Any:
        records = SimulatedRecords(everything(task), seed=0)
        return (
            learn.get(name)
            .run(records, task, records.grant(1), **given)
            .scores({"age": np.arange(9), "sex": np.zeros(9, int)})
        )

    assert np.array_equal(fitted(**tunables), fitted(**{one: given.item() for one, given in tunables.items()}))
    assert PrivateTree(schema=SCHEMA, depth=np.int64(2), random_state=0).fit(FRAME).explain()


def test_a_fitted_model_can_be_kept() -> None:
    fitted = model().fit(FRAME)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 (our own bytes)
    assert np.array_equal(again.predict_proba(FRAME), fitted.predict_proba(FRAME))


# ------------------------------------------------------------------------------------------------------ registry


def everything(task: Task, rows: int = 60) -> ArrayColumns:
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, size, rows) for name, size in task.sizes.items()}
    return ArrayColumns.having(task.label, codes, task.sizes)


def test_registration_wants_a_citation_and_an_argument() -> None:
    def plan(records: Any, task: Any, budget: Any) -> Any:
        """Nothing.

        Privacy: nothing is asked.
        """

    with pytest.raises(PlanError, match="is neither a key of"):
        learner(name="Nobody's", cite="nobody1999")(plan)
    with pytest.raises(PlanError, match="the name is taken by jostle.learn.logistic"):
        learner(name="Logistic", cite="dwork2006calibrating")(plan)
    with pytest.raises(PlanError, match="tunables by keyword"):
        learner(name="Positional", cite="dwork2006calibrating")(lambda records, task, budget, depth: None)
    with pytest.raises(BadInput, match=r"did you mean Logistic\?"):
        learn.get("logistics")


ATTRIBUTES = {"a": Category(["x", "y"]), "b": Integer(0, 30), "c": Real(0, 1, bins=9)}
NUMBERS_ALONE = {"Grid"}
"""Learners that refuse categories."""


@pytest.mark.parametrize("name", learn.names())
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_every_learner_spends_its_budget_whole_and_scores_every_value(name: str, classes: int, neighbours: str) -> None:
    found = learn.get(name)
    attributes = tuple(ATTRIBUTES)[name in NUMBERS_ALONE :]
    task = Task(attributes, "class", ATTRIBUTES | {"class": Category(list(range(classes)))})
    records = SimulatedRecords(everything(task), seed=0, neighbours=neighbours)
    fitted = found.run(records, task, records.grant(1))
    assert records.unspent == 0
    codes = {name: np.arange(40) % task.sizes[name] for name in task.attributes}
    scores = fitted.scores(codes)
    assert scores.shape == (40, classes)
    assert (scores >= 0).all()
    assert scores.sum(axis=1) == pytest.approx(np.ones(40))
    assert fitted.describe()
    assert found.reference.year > 1950


def test_a_learner_refuses_records_that_are_not_the_tasks_and_unknown_tunables() -> None:
    task = Task(("a",), "class", {"a": Category(["x", "y"]), "class": Boolean()})
    records = SimulatedRecords(ArrayColumns({"a": np.zeros(3, int)}, {"a": 2}), seed=0)
    budget: Budget = records.grant(1)
    with pytest.raises(BadInput, match="'a' must have 4 values"):
        learn.get("Logistic").run(records, task, budget)
    with pytest.raises(BadInput, match="depth: is no tunable of Logistic"):
        learn.get("Logistic").run(records, task, budget, depth=3)
    assert records.unspent == 1


@pytest.mark.parametrize("name", learn.names())
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_every_learner_runs_under_rho(name: str, neighbours: str) -> None:
    task = Task.over({"age": Integer(0, 9), "size": Integer(0, 3), "class": Category(["no", "yes"])}, "class")
    codes = {column: np.arange(600) % size for column, size in task.sizes.items()}
    records = SimulatedRecords(ArrayColumns.having("class", codes, task.sizes), seed=0, neighbours=neighbours)
    found = learn.get(name)
    model = found.run(records, task, records.grant(rho=Fraction(1, 2)))
    assert records.unspent == 0
    shares = model.scores({attribute: codes[attribute][:4] for attribute in task.attributes})
    assert shares.shape == (4, 2)
