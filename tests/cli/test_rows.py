"""Answers as files and as text, without pandas: to the byte and to the letter what pandas makes of them."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.cli.delivery import to_json
from jostle.schema import Integer, Real
from jostle.schema.rows import Rows
from tests.cli.test_delivery import _Answer

ODD = [
    "a,b",
    'say "yes"',
    "two\nlines",
    "a\rb",
    "Zürich",
    "東京",
    "",
    " x ",
    "=1+1",
    "a;b",
    "\t",
    "'",
    "ε ≤ 1",
    "nan",
    "None",
]
NUMBERS = [0.1 + 0.2, 1e-300, 1e22, 123456789.123456789, -0.0, 5e-324, 1 / 3, 1e16, -1e15, 100.0, math.inf, -math.inf]


def frame(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame({name: values for name, values in rows.columns.items()})  # noqa: C416  # a plain dictionary


@pytest.mark.parametrize(
    "rows",
    [
        Rows({"label": ODD, "count": np.arange(len(ODD), dtype=float)}),
        Rows({name: [1.5, 2.5] for name in ODD}),
        Rows({"query": [str(n) for n in range(len(NUMBERS))], "count": np.array(NUMBERS), "low": NUMBERS}),
        Rows({"quantile": (0.25, 0.5), "age": np.array([3.0, math.nan]), "n": np.array([1, 2])}),
        Rows({"a": ["x", math.nan], "b": [math.nan, "y"], "count": [1.0, 2.0]}),
        Rows({"alone": ["", "x"]}),
        Rows({"epsilon": ["1/2"], "margin": [3.25], "widest": [None], "algorithm": ["HB"]}),
        Rows({"label": [], "count": np.array([])}),
    ],
)
def test_files_are_to_the_byte_what_pandas_writes(rows: Rows) -> None:
    assert rows.to_csv() == frame(rows).to_csv(index=False)
    pd.testing.assert_frame_equal(rows.to_pandas(), frame(rows))


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False)), min_size=1, max_size=8
    ),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)
def test_any_labels_and_numbers(pairs: list[tuple[str, float]], name: str) -> None:
    labels, numbers = map(list, zip(*pairs, strict=True))
    rows = Rows({name: labels, f"{name} count": np.array(numbers)})
    assert rows.to_csv() == frame(rows).to_csv(index=False)


def test_text_has_one_line_per_row() -> None:
    labels = ["F", "two\nlines", "a\tb", "somewhat longer", "ü"]
    values = np.array([12345.678, -3.0, 0.0, 99.5, math.nan])
    rows = Rows({"sex": labels, "count": values, "low": values - 2.75, "high": values + 2})
    assert rows.to_text().splitlines() == [
        "sex                 count  95 % interval",
        "F                12,345.7  12,342.9 – 12,347.7",
        "two\\nlines           -3.0      -5.8 – -1.0",
        "a\\tb                  0.0      -2.8 – 2.0",
        "somewhat longer      99.5      96.8 – 101.5",
        "ü                     NaN       NaN – NaN",
    ]


def test_wide_letters_are_set_under_each_other() -> None:
    rows = Rows({"city": ["東京", "Bern"], "count": [1.0, 2.0], "low": [0.0, 1.0], "high": [2.0, 3.0]})
    assert rows.to_text().splitlines() == ["city  count  95 % interval", "東京      1  0 – 2", "Bern      2  1 – 3"]


def test_cells_of_numbers_are_intervals_in_frames() -> None:
    cells = [Integer(0, 119, bins=12), Real(0, 120, bins=12, outside="own")]
    for cell, texts in zip(cells, (["0–9", "100–109"], ["[0, 10)", "[100, 110)"]), strict=True):
        rows = Rows({"age": cell.labels, "count": np.arange(float(cell.size))})
        found = rows.to_pandas()
        assert [found["age"][place].left for place in (0, 10)] == [0, 100]
        assert found["age"].tolist()[:12] == sorted(found["age"].tolist()[:12])
        assert rows.to_polars()["age"].to_list()[0::10][:2] == texts
        assert [copy.deepcopy(label) for label in cell.labels] == cell.labels
    assert rows.to_pandas()["age"][12] == "(other)"


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
def test_files_have_the_rows(tmp_path, ending: str) -> None:
    rows = Rows({"age": Integer(0, 19, bins=2).labels, "count": np.array([1.5, 2.0])})
    rows.write(tmp_path / f"answers{ending}")
    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".xlsx": pd.read_excel}[ending]
    found = read(tmp_path / f"answers{ending}", **({"engine": "calamine"} if ending == ".xlsx" else {}))
    assert found.to_dict("list") == {"age": ["0–9", "10–19"], "count": [1.5, 2.0]}


def test_json_has_what_it_had() -> None:
    rows = Rows(
        {"sex": ODD[:3], "count": np.array([1.5, math.inf, -0.0]), "low": [math.nan, 1.0, 2.0], "n": np.array([1, 2, 3])}
    )
    known = frame(rows).replace([np.inf, -np.inf], np.nan).astype(object)
    expected = known.where(known.notna(), None).to_dict("records")
    assert json.dumps(to_json(_Answer(), rows, None)["answers"]) == json.dumps(expected)
