"""Sparse models, synthetic records, held-out records and `jostle classify`: counts and charges that add up."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from typer.testing import CliRunner

from jostle.cli.main import app
from jostle.datasets.labelled import declared
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.records import ArrayColumns, ReleaseRecords, SimulatedRecords
from jostle.learn import held_out
from jostle.learn.histograms import BinnedAttribute, attribute_sets
from jostle.learn.sparse import choose_attributes, sparse
from jostle.learn.synthetic import (
    PrivateSynthetic,
    Synthetic,
    accuracy_on_synthetic,
    as_fine_as_possible,
    bucket_names,
    consistent,
    largest_remainder,
    read_buckets,
    regression,
    synthesize,
    synthetic,
    widths,
)
from jostle.learn.task import Task
from jostle.schema import Category, Column, Integer, Schema

NOISE: dict[str, Column] = {f"noise {i}": Category(list("abcd")) for i in range(9)}
COLUMNS: dict[str, Column] = {"age": Integer(0, 99), "married": Category(["no", "yes"]), **NOISE, "class": Category([0, 1])}
TASK = Task(tuple(COLUMNS)[:-1], "class", COLUMNS)


def drawn(records: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    """Married people of 50 and more are in class 1, but for one in ten; all else is noise."""
    draw = np.random.default_rng(seed)
    codes = {name: draw.integers(0, TASK.columns[name].values, size=records) for name in TASK.attributes}
    told = (codes["age"] >= 50) & (codes["married"] == 1)
    return codes | {"class": (told ^ (draw.uniform(size=records) < 0.1)).astype(np.int64)}


def source(codes: dict[str, np.ndarray], *, neighbours: str = "replace", task: Task = TASK) -> SimulatedRecords:
    return SimulatedRecords(ArrayColumns.having(task.label, codes, task.sizes), seed=1, neighbours=neighbours)


# -------------------------------------------------------------------------------------------------------- sparse models


def test_the_attributes_that_tell_are_chosen() -> None:
    records = source(drawn(4_000))
    assert {"age", "married"} <= set(choose_attributes(records, TASK, records.grant(0.5), 4_000.0))


def test_few_records_get_few_attributes_and_many_get_all() -> None:
    for records, attributes in ((2_000, 3), (200_000, len(TASK.attributes))):
        data = source(drawn(records))
        model = sparse.run(data, TASK, data.grant(0.3))
        assert data.unspent == 0
        assert len(model.tables) <= attributes  # type: ignore[attr-defined]
        assert (len(model.tables) == attributes) == (records > 2_000)  # type: ignore[attr-defined]


def test_a_sparse_model_beats_one_of_all_attributes_where_records_are_few() -> None:
    from jostle.learn.logistic import logistic

    test, wrong = drawn(5_000, seed=9), {}
    for learner in (sparse, logistic):
        data = source(drawn(2_000))
        scores = learner.run(data, TASK, data.grant(0.5)).scores(test)
        wrong[learner.name] = (scores.argmax(axis=1) != test["class"]).mean()
    assert wrong["Sparse"] < wrong["Logistic"]


def test_nothing_to_tell_is_the_majority() -> None:
    codes = drawn(1_000) | {"class": np.zeros(1_000, dtype=np.int64)}
    data = source(codes)
    assert sparse.run(data, TASK, data.grant(0.1)).scores(drawn(10)).argmax(axis=1).tolist() == [0] * 10


def test_sets_of_attributes_are_all_small_ones() -> None:
    offered = [BinnedAttribute(name, np.arange(4), 4) for name in "abcde"]
    assert len(attribute_sets(offered, (), 10**6, 1_000, 2)) == 1 + 5 + 10
    assert max(map(len, attribute_sets(offered, (), 16, 1_000, 3))) == 2  # 64 cells are too many
    many = [BinnedAttribute(f"{i}", np.arange(2), 2) for i in range(60)]
    assert max(map(len, attribute_sets(many, (), 10**6, 1_000, 3))) == 1  # pairs would be too many to compare
    with pytest.raises(BadInput, match="few: must be a whole number"):
        sparse.run(source(drawn(5)), TASK, source(drawn(5)).grant(1), few=0)


# ---------------------------------------------------------------------------------------------------- synthetic records


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e4, 1e4)), st.integers(0, 10_000))
def test_consistent_counts_are_whole_not_negative_and_add_up(noisy: np.ndarray, total: int) -> None:
    counts = consistent(noisy, total)
    assert counts.dtype == np.int64
    assert (counts >= 0).all()
    assert counts.sum() == total


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1e4)))
def test_the_largest_rests_are_rounded_up(shares: np.ndarray) -> None:
    total = round(float(shares.sum()))
    whole = largest_remainder(shares, total)
    assert (np.abs(whole - shares) <= 1 + 1e-9).all()
    up, down = shares[whole > shares] % 1, shares[whole < shares] % 1
    if up.size and down.size:
        assert up.min() >= down.max() - 1e-6


def test_synthetic_records_are_as_many_as_there_were_and_clipping_would_invent_more(tmp_path: Path) -> None:
    codes = drawn(3_000)
    data = source(codes)
    made = synthesize(data, TASK, {"age": np.arange(101), "married": np.arange(4)}, data.grant(0.05), 3_000)
    assert data.unspent == 0
    assert len(made) == len(made.to_frame()) == 3_000
    made.to_csv(tmp_path / "synthetic.csv")
    frame = pd.read_csv(tmp_path / "synthetic.csv")
    assert frame.columns.tolist() == ["age", "married", "class"]
    assert set(frame["class"]) <= {0, 1}
    assert len(frame) == 3_000
    noisy = np.random.default_rng(0).laplace(scale=40, size=made.counts.size)  # what 2/ε does to empty cells
    assert np.maximum(noisy, 0).sum() > 3 * 3_000


def test_records_of_a_noiseless_histogram_are_the_histogram() -> None:
    codes = drawn(500)
    data = source(codes)
    made = synthesize(data, TASK, {"married": np.arange(4)}, data.grant(10**6), 500)
    expected = np.zeros((4, 2), dtype=np.int64)
    np.add.at(expected, (codes["married"], codes["class"]), 1)
    assert np.array_equal(made.counts, expected)


def test_the_pipeline_finds_its_buckets_and_learns() -> None:
    for neighbours in ("replace", "add_remove"):
        data = source(drawn(10_000), neighbours=neighbours)
        model = synthetic.run(data, TASK, data.grant(1))
        assert data.unspent == 0
        test = drawn(5_000, seed=5)
        assert (model.scores(test).argmax(axis=1) != test["class"]).mean() < 0.25
        assert abs(len(model.synthetic) - 10_000) < 1_000  # type: ignore[attr-defined]


@pytest.mark.parametrize("records", [0, 1, 30])
@pytest.mark.parametrize("classes", [1, 2, 4])
def test_any_table_gives_a_model(records: int, classes: int) -> None:
    task = Task(("x",), "class", {"x": Integer(0, 9), "class": Category(list(range(classes)))})
    draw = np.random.default_rng(0)
    codes = {"x": draw.integers(0, 10, size=records), "class": draw.integers(0, classes, size=records)}
    for learner in (synthetic, sparse):
        data = source(codes, task=task)
        scores = learner.run(data, task, data.grant(0.1)).scores({"x": np.arange(11)})
        assert data.unspent == 0
        assert scores.shape == (11, classes)
        assert scores.sum(axis=1) == pytest.approx(np.ones(11))


def test_numbers_are_cut_as_finely_as_there_is_room() -> None:
    assert widths(as_fine_as_possible(TASK, ["age", "married"], 40)) == {"age": 13, "married": 3}
    assert widths(as_fine_as_possible(TASK, ["age"], 1)) == {"age": 3}


def test_the_regression_follows_the_counts() -> None:
    made = Synthetic(TASK, {"married": np.arange(4)}, np.array([[900, 100], [100, 900], [0, 0], [0, 0]]))
    table = regression(made, made.counts)
    assert table[0, 0] == pytest.approx(0.9, abs=0.01)
    assert accuracy_on_synthetic(made) == pytest.approx(0.9, abs=0.06)
    alone = Synthetic(TASK, {"married": np.arange(4)}, np.array([[9, 0], [5, 0], [0, 0], [0, 0]]))
    assert regression(alone, alone.counts)[:, 0] == pytest.approx(np.ones(4))


# --------------------------------------------------------------------------------------------------------------- buckets


def test_declared_buckets(tmp_path: Path) -> None:
    path = tmp_path / "buckets.toml"
    path.write_text('[age]\ncuts = [40, 50]\n["noise 1"]\ngroups = [["a", "c"]]\n[married]\n', encoding="utf-8")
    buckets = read_buckets(path, TASK)
    assert buckets["age"][[0, 39, 40, 49, 50, 99, 100]].tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert buckets["noise 1"].tolist() == [0, 1, 0, 1, 1, 1]
    assert buckets["married"].tolist() == [0, 1, 2, 3]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as some editors begin a file
    assert read_buckets(path, TASK)["age"].tolist() == buckets["age"].tolist()
    assert bucket_names(TASK, "age", buckets["age"]) == ["0 … 39", "40 … 49", "50 … 99", "(missing)"]
    assert bucket_names(TASK, "noise 1", buckets["noise 1"])[0] == "a | c"
    data = source(drawn(2_000))
    model = synthetic.run(data, TASK, data.grant(1), buckets=buckets)
    assert widths(model.synthetic.buckets) == {"age": 4, "noise 1": 2, "married": 4}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[height]", "'height' is no attribute"),
        ("[age]\ngroups = [[1]]", "'age' need cuts"),
        ("[married]\ncuts = [1]", "'married' need cuts"),
        ("[age]\ncuts = 'x'", "'age' need cuts"),
        ("[[", "cannot be read"),
        (f"[age]\ncuts = [{'9' * 5_000}]", "cannot be read"),
        (f"[age]\ncuts = {'[' * 9_000}", "cannot be read"),
        (f"[age]\ncuts = [{'9' * 400}]", "'age' need cuts"),
        ("[age]\ncuts = [nan]", "'age' need cuts"),
        ("[married]\ngroups = [['yes', 'maybe']]", "'married' name a category that the schema lacks, or one twice"),
        ("[married]\ngroups = [[['yes']]]", "'married' need cuts"),
        ("[married]\ngroups = [['yes'], ['no', 'yes']]", "'married' name a category that the schema lacks, or one twice"),
    ],
)
def test_bad_buckets_are_told(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "buckets.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=said):
        read_buckets(path, TASK)


@pytest.mark.parametrize(
    ("buckets", "said"),
    [
        ({}, "are missing"),
        ({"age": [0, 1]}, "must be 101 whole numbers"),
        ({"married": [0, 2, 0, 0]}, "without gaps"),
        ({name: range(6) for name in NOISE}, "combinations"),
    ],
)
def test_buckets_are_checked_before_any_charge(buckets: Any, said: str) -> None:
    data = source(drawn(10))
    with pytest.raises(BadInput, match=said):
        synthetic.run(data, TASK, data.grant(1), buckets=buckets)
    assert data.unspent == 1


# -------------------------------------------------------------------------------------------------------------- held out


def test_learning_and_testing_cost_one_budget(tmp_path: Path) -> None:
    codes = drawn(4_000)
    coins = np.random.default_rng(3).uniform(size=4_000) < 0.2
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1, neighbours="replace")
        records = ReleaseRecords(held_out.source(TASK, codes, coins), purse=account.purse())
        tested = held_out.learn_and_test(records, TASK, synthetic, "3/4")
        assert account.spent == Fraction(3, 4)
    right = held_out.right_on(tested.model, TASK, {name: column[coins] for name, column in codes.items()})
    assert tested.margin < 0.02
    assert tested.accuracy == pytest.approx(right.mean(), abs=6 * tested.margin)  # fails once in e^18 / 2 runs


def test_files_are_read_without_a_complaint_about_any_record(tmp_path: Path) -> None:
    task = Task(("age", "job"), "pay", {"age": Integer(0, 99), "job": Category(["a", "b"]), "pay": Category(["<5", ">5"])})
    (tmp_path / "plain.csv").write_text("31, a, <5\n\n?, b, >5.\nold,c\n, , , ,\n", encoding="utf-8")
    codes = task.encode_records(held_out.read(tmp_path / "plain.csv", task))
    assert codes["age"].tolist() == [31, 100, 100, 100, 100]  # an empty line is a record of which nothing is known
    assert codes["job"].tolist() == [0, 3, 1, 2, 3]
    assert codes["pay"].tolist() == [0, -1, 1, -1, -1]
    (tmp_path / "named.csv").write_text("pay,id,job,age\n<5,7,b,12\n", encoding="utf-8")
    codes = task.encode_records(held_out.read(tmp_path / "named.csv", task))
    assert [codes[name].tolist() for name in ("age", "job", "pay")] == [[12], [1], [0]]


# --------------------------------------------------------------------------------------------------------------- command


@pytest.fixture
def people(tmp_path: Path) -> list[str]:
    """A file of records and their schema, as arguments."""
    codes = drawn(3_000)
    frame = pd.DataFrame({name: codes[name] for name in ("age", "married", "class")})
    frame["married"] = np.array(["no", "yes"])[codes["married"]]
    frame.to_csv(tmp_path / "people.csv", index=False)
    Schema({name: COLUMNS[name] for name in ("age", "married", "class")}).save(tmp_path / "people.toml")
    return ["classify", "--file", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "people.toml")]


def run(arguments: list[str]) -> Any:
    ran = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert ran.exit_code == 0
    return ran.stdout


def test_the_command_releases_a_model_and_synthetic_records(people: list[str], tmp_path: Path) -> None:
    out, book = tmp_path / "synthetic.csv", tmp_path / "budget.db"
    shown = run([*people, "--epsilon", "0.5", "--out", str(out), "--ledger", str(book), "--cap", "1"])
    assert "Accuracy on a fifth of the records, held out" in shown
    assert "recorded nowhere" not in shown
    assert 2_000 < len(pd.read_csv(out)) < 2_700
    with Ledger(book) as ledger:
        assert ledger.account("people").spent == Fraction(1, 2)


def test_the_command_as_a_script_runs_it(people: list[str], tmp_path: Path) -> None:
    (tmp_path / "buckets.toml").write_text("[age]\ncuts = [50]\n[married]\n", encoding="utf-8")
    asked = [*people, "--epsilon", "1", "--json", "--simulate", "0", "--test", people[2]]
    for more in (["--buckets", str(tmp_path / "buckets.toml")], ["--learner", "Sparse"], ["--neighbours", "add_remove"]):
        facts = json.loads(run([*asked, *more]))
        assert facts["simulated"]
        assert facts["margin"] == 0
        assert facts["accuracy"] > 0.7
        assert ("accuracy on synthetic records" in facts) == (facts["learner"] == "Synthetic")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "1", "--learner", "Sparsely"], "did you mean Sparse"),
        (["--epsilon", "1", "--learner", "Majority", "--out", "x.csv"], "only the pipeline makes synthetic records"),
        (["--epsilon", "1", "--label", "age"], "must be a column of the schema with classes"),
        (["--epsilon", "1", "--test", "nowhere.csv"], "cannot be read"),
        (["--epsilon", "1", "--simulate", "1", "--ledger", "b.db"], "cannot be seeded"),
    ],
)
def test_mistakes_are_told(wrong: list[str], said: str, people: list[str]) -> None:
    with pytest.raises(BadInput, match=said):
        CliRunner().invoke(app, [*people, *wrong], catch_exceptions=False)


def test_adult_is_known_and_other_files_need_a_schema(tmp_path: Path) -> None:
    assert "income" in (declared("adult.data") or {})
    (tmp_path / "other.csv").write_text("1\n", encoding="utf-8")
    with pytest.raises(BadInput, match="other.csv has no built-in schema"):
        CliRunner().invoke(
            app, ["classify", "--file", str(tmp_path / "other.csv"), "--epsilon", "1"], catch_exceptions=False
        )


def test_the_estimator_gives_its_synthetic_records() -> None:
    codes = drawn(2_000)
    frame = pd.DataFrame({name: codes[name] for name in ("age", "class")})
    schema = {"age": COLUMNS["age"], "class": COLUMNS["class"]}
    cuts = (np.arange(101) >= 50).astype(np.int64)
    model = PrivateSynthetic(epsilon=1, schema=schema, buckets={"age": cuts}).fit(frame)
    assert set(model.model_.synthetic.to_frame()["age"]) == {"0 … 49", "50 … (missing)"}
    assert model.spent_ == 1


@pytest.mark.parametrize("buckets", [None, {"age": np.arange(TASK.sizes["age"]) // 50}], ids=["chosen", "given"])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_a_synthetic_table_of_all_columns_can_be_the_pipelines_histogram(buckets, neighbours) -> None:
    records = source(drawn(6_000), neighbours=neighbours)
    model = synthetic.run(records, TASK, records.grant(2), buckets=buckets, histogram="model")
    assert records.unspent == 0
    assert len(model.synthetic) == pytest.approx(6_000, rel=0.05)
    test = drawn(4_000, seed=1)
    wrong = float((model.scores(test).argmax(axis=1) != test["class"]).mean())
    usual = float(min(test["class"].mean(), 1 - test["class"].mean()))
    assert wrong < 0.9 * usual if buckets is None else "age" in model.synthetic.buckets
    with pytest.raises(BadInput, match="histogram"):
        synthetic.run(records, TASK, records.grant(2), histogram="guess")
