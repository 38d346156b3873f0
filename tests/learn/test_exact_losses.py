"""The exact loss of every learner, and what it must refuse or survive."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from jostle import learn
from jostle.cli.main import app
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, ReleaseRecords, SimulatedRecords
from jostle.kernel.strategies import identity
from jostle.learn import PrivateClassifier, PrivateLogistic, PrivateMajority, PrivateSparse, PrivateTree, held_out
from jostle.learn.logistic import MOST, cells_of
from jostle.learn.registry import Model
from jostle.learn.synthetic import accuracy_on_synthetic, synthetic
from jostle.learn.task import Task
from jostle.schema import Boolean, Category, Column, Date, Integer, Real, Schema
from jostle.tables.columns import EngineColumns
from jostle.tables.opening import open as open_table
from tests.algorithms.replay import lost, of_records

Row = tuple[int, ...]

# ------------------------------------------------------------------------------------- the exact loss of whole plans


def task_of(classes: int, *, numbers_alone: bool = False) -> Task:
    columns: dict[str, Column] = {} if numbers_alone else {"a": Category(["x", "y"])}
    return Task.over(columns | {"b": Integer(0, 6), "class": Category(list(range(classes)))}, "class")


def columns(task: Task, rows: list[Row]) -> ArrayColumns:
    table = np.array(rows, dtype=np.int64).reshape(-1, len(task.sizes))
    return ArrayColumns.having(task.label, dict(zip(task.sizes, table.T, strict=True)), task.sizes)


def neighbours_of(rows: list[Row], every: list[Row], relation: str) -> list[list[Row]]:
    """Rows may be left out by a public rule, so that under `replace` one may also come or go."""
    added = [[*rows, one] for one in every]
    removed = [[*rows[:place], *rows[place + 1 :]] for place in range(len(rows))]
    replaced = [[*rows[:place], one, *rows[place + 1 :]] for place in range(len(rows)) for one in every]
    return added + removed + (replaced if relation == "replace" else [])


@pytest.mark.parametrize("name", learn.names())
@pytest.mark.parametrize(("classes", "relation"), [(2, "add_remove"), (3, "replace")])
def test_no_learner_loses_more_than_it_is_paid_whatever_it_releases(name: str, classes: int, relation: str) -> None:
    """All that was drawn on some records, replayed on neighbours: log-ratios of the whole of it together."""
    task, epsilon, worst = task_of(classes, numbers_alone=name == "Grid"), Fraction(2), 0.0
    every = list(itertools.product(*(range(size) for size in task.sizes.values())))
    draw, neighbours = np.random.default_rng(1), Neighbours(relation).among_filtered()  # type: ignore[arg-type]
    for seed, many in enumerate((0, 12)):
        rows = [every[place] for place in draw.integers(0, len(every), many)]
        others = neighbours_of(rows, every, relation)
        for place in draw.choice(len(others), min(len(others), 8), replace=False):
            pair = columns(task, rows), columns(task, others[place])
            loss = lost(lambda db, token: learn.get(name).run(db, task, token), *pair, neighbours, epsilon, seed, of_records)
            worst = max(worst, loss)
    assert epsilon / 20 < worst <= epsilon + 1e-6


def test_learning_and_testing_lose_no_more_than_one_budget() -> None:
    """A record is replaced in its part; the parts are by coins that have nothing to do with it."""
    task = task_of(2)
    every = list(itertools.product(*(range(size) for size in task.sizes.values())))
    draw = np.random.default_rng(2)
    rows, coins = [every[place] for place in draw.integers(0, len(every), 12)], np.arange(12) % 3 == 0
    others = [other for other in neighbours_of(rows, every, "replace") if len(other) == 12]
    tables = [rows, *(others[place] for place in draw.choice(len(others), 60, replace=False))]
    codes = (dict(zip(task.sizes, np.array(table).T, strict=True)) for table in tables)
    first, *rest = (held_out.source(task, one, coins) for one in codes)

    def tested(records: Any, _: object) -> Any:
        return held_out.learn_and_test(records, task, learn.get("Majority"), 2)

    losses = [lost(tested, first, other, Neighbours("replace"), Fraction(2), 0, of_records) for other in rest]
    assert 1 < max(losses) <= 2 + 1e-9


# ------------------------------------------------------------------------------ no error or warning tells a value

COLUMNS: list[Column] = [
    Integer(0, 99),
    Real(0, 1, bins=5),
    Category(["a", "b"]),
    Category([1, 2]),
    Date("2024-01-01", "2024-12-31"),  # type: ignore[arg-type]
    Boolean(),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.kind)
@pytest.mark.parametrize(
    "values",
    [
        np.array([1, np.timedelta64(1, "D"), 2], dtype=object),
        np.array([1, 2, "1e4000"], dtype=object).astype(np.longdouble),
    ],
    ids=["duration", "beyond all bounds"],
)
def test_a_value_of_an_odd_kind_is_read_without_a_word(column: Column, values: np.ndarray) -> None:
    """NumPy counts durations among whole numbers, which Python's int() then refuses; and it warned of large floats."""
    model = PrivateMajority(1, {"a": column, "class": Category([1, 2])}, random_state=0)
    model.fit(values.reshape(3, 1), values).predict(values.reshape(3, 1))


# ---------------------------------------------------------------------------------- checked before anything is charged


def spends_all_or_nothing(name: str, task: Task, epsilon: Any, rows: int = 40, **tunables: Any) -> Model | None:
    draw = np.random.default_rng(0)
    codes = {one: draw.integers(0, size, rows) for one, size in task.sizes.items()}
    records = SimulatedRecords(ArrayColumns.having(task.label, codes, task.sizes), seed=1)
    budget: Budget = records.grant(epsilon)
    try:
        model = learn.get(name).run(records, task, budget, **tunables)
    except BadInput:
        assert records.unspent == budget.epsilon
        return None
    assert records.unspent == 0
    scores = model.scores({one: np.arange(9) % task.sizes[one] for one in task.attributes})
    assert scores.sum(axis=1) == pytest.approx(np.ones(9))
    return model


@pytest.mark.parametrize(
    ("kind", "epsilon"), [(PrivateLogistic, "1e-12"), (PrivateLogistic, "1e-7"), (PrivateSparse, "1e-12")]
)
def test_an_additive_model_is_refused_before_any_charge_where_its_noise_is_too_loud(
    kind: Any, epsilon: str, tmp_path: Path
) -> None:
    """It was charged for a number of records first; at 1e-7 it searched for minutes, and failed after the charge."""
    columns = {f"x{i}": Integer(0, 99) for i in range(20)} | {"class": Boolean()}
    assert spends_all_or_nothing("Logistic", Task.over(columns, "class"), epsilon) is None
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=1)
        with pytest.raises(BadInput, match="epsilon: "):
            kind(epsilon, columns, account=people).fit([[3] * 20] * 5, [0, 1, 1, 0, 1])
        assert people.spent == 0


@pytest.mark.parametrize("epsilon", ["1e-4", "1e9"])
@pytest.mark.parametrize("name", ["Logistic", "Sparse", "Tree", "BinaryTree", "Chosen", "Synthetic"])
def test_a_very_small_or_large_epsilon_gives_a_model(name: str, epsilon: str) -> None:
    """At 1e-4 a tree wanted to be able to pay for twelve levels; at 1e9 the ridge was too small to be asked for."""
    assert spends_all_or_nothing(name, task_of(2), epsilon) is not None


LETTERS = Task.over({f"x{i}": Integer(0, 15) for i in range(16)} | {"class": Category(list(range(26)))}, "class")
WIDE = Task.over({"w": Category(list(range(5_000))), "x": Category(["a", "b"]), "class": Boolean()}, "class")
ONLY_WIDE = Task.over({"w": Category(list(range(5_000))), "class": Boolean()}, "class")


def test_an_additive_model_takes_what_fits_of_any_schema() -> None:
    """26 classes or a category of 5,000 values were refused, after a charge, and with them whatever chose this model."""
    assert {int(table.max()) + 1 for table in cells_of(LETTERS).values()} == {4}
    assert list(cells_of(WIDE)) == ["x"]
    assert cells_of(ONLY_WIDE)["w"].max() == 0
    assert MOST >= 26 * 16 * 4
    for task in (WIDE, ONLY_WIDE):
        assert spends_all_or_nothing("Logistic", task, 1) is not None
    with pytest.raises(BadInput, match="label: has more than 2048 classes"):
        cells_of(Task.over({"x": Boolean(), "class": Category(list(range(3_000)))}, "class"))


def test_synthetic_records_have_a_histogram_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many records times ε let buckets be so fine that the histogram was refused, after two charges."""
    columns = {"a": Category(list(range(60))), "b": Category(list(range(60))), "c": Integer(0, 99)}
    task = Task.over(columns | {"class": Category(list(range(26)))}, "class")

    def chosen(records: Any, task: Any, budget: Budget, *_: Any, **__: Any) -> tuple[str, ...]:
        records.vector("class").measure(identity(26), budget)
        return "a", "b", "c"

    monkeypatch.setattr("jostle.learn.synthetic.choose_attributes", chosen)
    monkeypatch.setattr("jostle.learn.synthetic.regression", lambda made, counts: np.ones((len(counts), 26)) / 26)
    assert spends_all_or_nothing("Synthetic", task, 1, total=1e9) is not None


def test_no_more_synthetic_records_are_made_than_can_be_drawn_from() -> None:
    """At a tiny ε noise pretends any number; NumPy then refused to hold a fifth of them out."""
    task = task_of(2)
    records = SimulatedRecords(columns(task, [(0, 0, 0)]), seed=3)
    model = synthetic.run(records, task, records.grant("1e-12"), total=1e15)
    assert 0 <= accuracy_on_synthetic(model.synthetic) <= 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "tunables"),
    [
        ("Grid", {"density": -1.0}),
        ("Grid", {"density": "many"}),
        ("Grid", {"smoothing": float("nan")}),
        ("Joint", {"most": 0}),
        ("Joint", {"largest_set": "all"}),
        ("Synthetic", {"buckets": 3}),
        ("Synthetic", {"buckets": {"b": [[1], [2, 3]]}}),
    ],
)
def test_odd_tunables_are_refused_before_any_charge(name: str, tunables: dict[str, Any]) -> None:
    assert spends_all_or_nothing(name, task_of(2, numbers_alone=True), 1, **tunables) is None


def test_a_column_may_have_any_name_but_one_that_learners_use() -> None:
    """A column of the name of a derived attribute was silently taken for it, or refused after a charge."""
    names = ["a", "a in few", "a in cells", "a in 5", "a in 16", "a in bins", "a in buckets", "prediction"]
    task = Task.over({name: Integer(0, 30) for name in names} | {"class": Boolean()}, "class")
    for name in set(learn.names()) - {"Grid", "PatilSingh"}:
        assert spends_all_or_nothing(name, task, 1) is not None
    for name in ("(all)", "(node)", "(part)", "(a in 16)"):
        with pytest.raises(BadInput, match="begins like the attributes that learners derive"):
            PrivateMajority(1, {name: Integer(0, 9), "class": Boolean()}).fit([[1]], [True])


def test_a_refusal_costs_nothing_where_records_are_held_out(tmp_path: Path) -> None:
    """The records were split, and so paid for, before the learner looked at its task."""
    task, codes = task_of(2), {"a": np.zeros(9, int), "b": np.zeros(9, int), "class": np.zeros(9, int)}
    coins = np.arange(9) < 3
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1, neighbours="replace")
        records = ReleaseRecords(held_out.source(task, codes, coins), purse=account.purse())
        with pytest.raises(BadInput, match="a grid is for at most"):
            held_out.learn_and_test(records, task, learn.get("Grid"), 1)
        assert account.spent == 0


def test_a_private_table_is_not_fetched_for_a_fit_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"b": [1, 2, 3], "class": [0, 1, 0]})
    schema = Schema({"a": Category(["x"]), "b": Integer(0, 6), "class": Category([0, 1])})
    frame["a"] = "x"
    table = open_table(frame, schema=schema, ledger=tmp_path / "l.db", budget=1, name="people")

    def fetched(_: Any) -> None:
        raise AssertionError("rows were fetched")

    monkeypatch.setattr(EngineColumns, "in_memory", fetched)
    with pytest.raises(Overdraft, match="requested ε = 2, remaining 1"):
        PrivateMajority(2).fit(table)
    with pytest.raises(BadInput, match="a grid is for at most"):
        learn.PrivateGrid(1).fit(table)
    assert table.remaining == 1


# --------------------------------------------------------------------------------------------------- files of records

PEOPLE = Task.over({"age": Integer(0, 99), "class": Category(["no", "yes"])}, "class")


def test_a_record_that_reads_like_a_first_line_changes_no_other(tmp_path: Path) -> None:
    lines = ["30,no", "40,yes", "50,yes"]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["class,age", *lines[1:]]), encoding="utf-8")
    found = PEOPLE.encode_records(held_out.read(path, PEOPLE, header=False))
    assert (found["age"].tolist(), found["class"].tolist()) == ([100, 40, 50], [-1, 1, 1])
    path.write_text("\ufeffclass,id,age\nno,7,30\n", encoding="utf-8")
    found = PEOPLE.encode_records(held_out.read(path, PEOPLE, header=True))
    assert (found["age"].tolist(), found["class"].tolist()) == ([30], [0])
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(BadInput, match="does not name all columns"):
        held_out.read(path, PEOPLE, header=True)


def test_the_command_is_told_whether_there_is_a_first_line(tmp_path: Path) -> None:
    Schema(PEOPLE.columns).save(tmp_path / "people.toml")
    (tmp_path / "people.csv").write_text("30,no\n60,yes\n" * 50, encoding="utf-8")
    asked = ["classify", "--file", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "people.toml"), "--epsilon", "1"]
    with pytest.raises(BadInput, match="pass --no-header"):
        CliRunner().invoke(app, asked, catch_exceptions=False)
    told = CliRunner().invoke(app, [*asked, "--no-header", "--learner", "Majority"], catch_exceptions=False)
    assert "held out" in told.stdout


# --------------------------------------------------------------------------------------------- what a model keeps

SCHEMA = {"age": Integer(0, 99), "city": Category(["a", "b"]), "class": Category(["no", "yes"])}
ROWS = 1009


def arrays_in(thing: Any, seen: set[int]) -> list[np.ndarray]:
    """All arrays that can be reached from an object."""
    if id(thing) in seen or isinstance(thing, np.ndarray):
        return [thing] if isinstance(thing, np.ndarray) else []
    seen.add(id(thing))
    inside = [*thing.values()] if isinstance(thing, Mapping) else [*thing] if isinstance(thing, (list, tuple, set)) else []
    return [array for one in [*inside, *getattr(thing, "__dict__", {}).values()] for array in arrays_in(one, seen)]


@pytest.mark.parametrize("name", sorted(set(learn.__all__) - {"PrivateEstimator", "PrivateGrid"}))
def test_a_fitted_model_keeps_nothing_with_a_row_a_record(name: str) -> None:
    kind = getattr(learn, name)
    if not (isinstance(kind, type) and issubclass(kind, learn.PrivateEstimator)):
        return
    draw = np.random.default_rng(0)
    X = np.array([draw.integers(0, 100, ROWS), draw.choice(["a", "b"], ROWS)], dtype=object).T
    model = kind(epsilon=1, schema=SCHEMA, random_state=0).fit(X, np.where(X[:, 0] > 50, "yes", "no"))
    assert not [array.shape for array in arrays_in(model, set()) if ROWS in array.shape]
    kept = {"model_", "spent_", "measure_", "charges_", "task_", "classes_", "simulated_", "trace_", "n_features_in_"}
    assert kept == {one for one in vars(model) if one.endswith("_")}


def test_an_account_stays_in_its_process_and_a_copy_cannot_be_charged(tmp_path: Path) -> None:
    """A released model could not be pickled at all; what comes back must not be fitted as if nobody kept count."""
    X, y = [[30, "a"], [60, "b"]] * 20, ["no", "yes"] * 20
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=10)
        model = PrivateMajority(1, SCHEMA, account=people).fit(X, y)
        for same in (clone(model), copy.copy(model), copy.deepcopy(model)):
            assert same.account is people
        again = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own bytes)
        assert again.predict(X).tolist() == model.predict(X).tolist()
        assert b"budget.db" not in pickle.dumps(model)
        with pytest.raises(BadInput, match="'people' stayed behind when this estimator was pickled"):
            again.fit(X, y)
        assert people.spent == 1
        again.set_params(account=people).fit(X, y)
        assert people.spent == 2


def test_a_fit_that_fails_leaves_the_model_that_there_was(tmp_path: Path) -> None:
    X, y = [[30, "a"], [60, "b"]] * 20, ["no", "yes"] * 20
    with Ledger(tmp_path / "budget.db") as ledger:
        model = PrivateTree(Fraction(3, 2), SCHEMA, account=ledger.account("people", cap=2), depth=1, bins=4).fit(X, y)
        before = model.predict_proba(X)
        with pytest.raises(Overdraft):
            model.fit(X, y)
        assert np.array_equal(model.predict_proba(X), before)
        assert model.spent_ == Fraction(3, 2)


def test_a_classifier_can_be_fitted_where_nothing_can_be_told() -> None:
    """No records, one class, constant columns, labels that the schema does not have, at an ε where all is noise."""
    for rows, labels in (([], []), ([[5, "a"]] * 30, ["no"] * 30), ([[5, "a"]] * 30, ["maybe"] * 30)):
        model = PrivateClassifier("0.001", SCHEMA).fit(np.array(rows, dtype=object).reshape(-1, 2), labels)
        assert model.spent_ == Fraction(1, 1000)
        assert set(model.predict([[5, "a"], [None, "?"]])) <= {"no", "yes"}
