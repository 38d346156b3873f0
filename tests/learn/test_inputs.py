"""One record touches no other, and shows in no message."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from jostle import BadInput
from jostle.kernel.ledger import Ledger
from jostle.learn import PrivateMajority
from jostle.learn.held_out import read
from jostle.learn.inputs import read_attributes, read_labels
from jostle.learn.task import Task
from jostle.schema import Category, Date, Integer, Schema

CLASSES = Category(["yes", "no"])


def codes(column, values):
    task = Task(("a",), "class", Schema({"a": column, "class": CLASSES}))
    return read_attributes([[value] for value in values], task).encode(task)["a"].tolist()


@pytest.mark.parametrize(
    ("column", "values", "odd"),
    [
        (Integer(0, 99), [31, 72], b"x"),
        (Category(["a", "b"]), [float("nan")], "a"),
        (Category([1, 2]), [True], "a"),
        (Category([1e20, 1e-7]), [1e20, 1e-7], "x"),
        (Date(date(2024, 1, 1), date(2024, 12, 31)), [np.datetime64("2024-05-01")], None),
        (Integer(0, 99), [31, 72], (1, 2)),
    ],
)
def test_one_odd_value_changes_no_other_code(column, values, odd):
    assert codes(column, [*values, odd])[:-1] == codes(column, values)


def test_texts_of_arrow_that_are_no_utf8_are_labels_and_values_like_others():
    """Pandas' errors about them show them."""
    texts = pa.chunked_array([pa.array([b"a", b"\xe9b", None, b"yes"]).view(pa.string())])
    task = Task(("a",), "class", Schema({"a": Category(["a", "b"]), "class": CLASSES}))
    for held in (pd.Series(pd.arrays.ArrowExtensionArray(texts)), pa.table({"a": texts}).to_pandas()["a"]):
        frame = pd.DataFrame({"a": held, "class": held})
        numbered = frame[["a"]].set_axis([0], axis=1)
        for X, y in ((frame, None), (numbered, held), (pa.table({"a": texts}), texts), (numbered, held.to_frame())):
            model = PrivateMajority(1, task.columns, random_state=0).fit(X, y)
            assert task.encode_label(read_labels(held if y is None else y)).tolist() == [-1, -1, -1, 0]
            assert len(model.predict(X)) == 4
            assert read_attributes(X, task).encode(task)["a"].tolist() == [0, 2, 3, 2]


@pytest.mark.parametrize("X", [[31, 72, 83], 42, np.array([31, 72]), np.array([[31 + 1j]]), [[31, 1], [72]]])
def test_messages_about_data_do_not_tell_the_data(X):
    model = PrivateMajority(1, {"a": Integer(0, 99), "class": CLASSES}, random_state=0)
    with pytest.raises(BadInput) as refused:
        model.fit(X, ["yes", "no", "no"])
    assert not any(number in str(refused.value) for number in ("31", "72", "42", "83"))


TWO = Task(("a", "b"), "class", Schema({"a": Integer(0, 9, null="own"), "b": Integer(0, 9, null="own"), "class": CLASSES}))


@pytest.mark.parametrize("odd", [[5], [5, 6, 7], None, "56", {"a": 5, "b": 6}, 5, []])
def test_one_odd_row_refuses_no_other_and_nor_do_none(odd):
    model = PrivateMajority(1, TWO.columns, random_state=0)
    assert model.fit([], []).predict([[1, 2]]).shape == (1,)
    assert model.fit([[1, 2], odd], ["yes", "no"]).predict([]).shape == (0,)
    read = read_attributes([[1, 2], odd], TWO).encode(TWO)
    assert [column[0] for column in read.values()] == [1, 2]
    kept = [*odd[:2], None, None][:2] if isinstance(odd, list) else [None, None]
    assert [column[1] for column in read.values()] == [TWO.encode("a", [value])[0] for value in kept]


@pytest.mark.parametrize("X", [[{"a": 5, "b": 6}] * 2, ["56", "56"], [b"56"] * 2, {"a": [5, 5], "b": [6, 6]}, [[5]] * 2])
def test_what_are_no_rows_is_refused_before_any_charge(X, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1)
        with pytest.raises(BadInput, match=r"^X: must have two dimensions: rows of values.*pd\.DataFrame"):
            PrivateMajority(1, TWO.columns, account=account).fit(X, ["yes", "no"])
        assert account.spent == 0


def test_what_is_masked_is_missing():
    masked = np.ma.array([[5, 1], [7, 2]], mask=[[True, False], [False, False]])
    assert read_attributes(masked, TWO).encode(TWO)["a"].tolist() == TWO.encode("a", [None, 7]).tolist()
    assert [column.tolist() for column in read_attributes(masked, TWO).columns] == [[None, 7], [1, 2]]
    labels = np.ma.array(["yes", "no"], mask=[True, False])
    assert TWO.encode_label(read_labels(labels)).tolist() == [-1, 1]


def test_labels_of_another_number_are_refused_without_either(tmp_path):
    model = PrivateMajority(1, {"a": Integer(0, 99), "class": CLASSES}, random_state=0)
    with pytest.raises(BadInput, match="^y: must have one label for each row of X") as refused:
        model.fit([[31]] * 17, ["yes"] * 13)
    assert "17" not in str(refused.value)
    assert "13" not in str(refused.value)


@pytest.mark.parametrize("line", ['"0,yes', "", "0\ryes", '"' * 200_000])
def test_a_line_is_a_record_whatever_is_in_it(tmp_path, line):
    task = Task(("a",), "class", Schema({"a": Integer(0, 99), "class": CLASSES}))
    lines = ["1,yes"] * 1000
    for place in (0, 500, 999):
        text = "\n".join([*lines[:place], line, *lines[place + 1 :]]) + "\n"
        (tmp_path / "t.csv").write_text(text, encoding="utf-8", newline="")
        found = read(tmp_path / "t.csv", task)
        assert len(found["a"]) == 1000
        assert list(found["a"]).count("1") == 999
