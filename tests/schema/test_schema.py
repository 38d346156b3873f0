"""Schemas: what a column says about itself, what it refuses, and files that say the same."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.errors import BadInput
from jostle.schema import KINDS, MISSING, OTHER, Boolean, Category, Date, Integer, Real, Schema
from jostle.schema.columns import DEFAULT_BINS
from jostle.schema.files import read, write, write_draft
from jostle.tables.guess_schema import kinds_of

COLUMNS = [
    Integer(17, 90),
    Integer(-5, 99, bins=10, outside="own", null="own"),
    Real(0, 1, bins=7),
    Real(-3, 1e6, bins=20, spacing="log", outside="drop", null="own"),
    Real(0, 100, cuts=[0.1, 5, 50], outside="own"),
    Date("2023-01-01", "2024-12-31"),
    Date("2023-05-15", "2025-01-02", every="week", outside="own", null="own"),
    Date("2023-05-15", "2025-01-02", every="month"),
    Date("2023-05-15", "2025-01-02", every="year", outside="drop"),
    Boolean(null="drop"),
    Category(["F", "M", 1, 2.5, "yes"], outside="drop"),
]
ANYTHING = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(max_size=15), st.booleans(), st.dates(), st.binary(max_size=3)
)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: c.kind)
@given(values=st.lists(ANYTHING, max_size=8))
def test_whatever_stands_in_a_column_has_a_cell_or_does_not_count(column, values):
    codes = column.encode(values)
    assert codes.dtype == np.int64
    assert ((codes >= -1) & (codes < column.size)).all()
    assert column.drops or (codes >= 0).all()
    assert len(column.labels) == column.size == len(set(column.labels))


@pytest.mark.parametrize("column", COLUMNS[:9], ids=lambda c: c.kind)
def test_bounds_are_in_the_first_and_the_last_cell(column):
    assert column.encode([column.low, column.high]).tolist() == [0, column.values - 1]


@pytest.mark.parametrize("column", [c for c in COLUMNS if c.kind in ("integer", "real")], ids=lambda c: c.kind)
def test_cells_are_between_their_edges(column):
    edges = column.edges
    middles = (edges[:-1] + edges[1:]) / 2
    assert column.encode(np.floor(middles) if column.kind == "integer" else middles).tolist() == list(range(column.values))


def test_what_is_masked_is_missing():
    for kind in (int, float, object):
        values = np.ma.array([5, 7, 7], mask=[True, False, False], dtype=kind)
        assert Integer(0, 9).encode(values).tolist() == [-1, 7, 7]


def test_numbers_without_bins_have_a_public_default():
    assert Real(0, 1) == Real(0, 1, bins=DEFAULT_BINS)
    assert Integer(0, 10**6) == Integer(0, 10**6, bins=DEFAULT_BINS)
    assert Integer(0, 4_000).size == 4_001


def test_labels_of_what_is_not_foreseen():
    assert Category(["F"]).labels == ["F", OTHER, MISSING]
    assert Integer(0, 9, outside="own").encode([10, -1, None, "x"]).tolist() == [10, 10, -1, -1]


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Integer(5, 5), "high"),
        (lambda: Integer(0.5, 5), "low"),
        (lambda: Integer(0, 10, bins=0), "bins"),
        (lambda: Integer(0, 2**60, bins=4), "high"),
        (lambda: Integer(0, 9, outside="raise"), "outside"),
        (lambda: Integer(0, 9, null="clip"), "null"),
        (lambda: Real(0, float("inf"), bins=3), "high"),
        (lambda: Real(0, 1, bins=3, cuts=[0.5]), "bins"),
        (lambda: Real(0, 1, cuts=[0.5, 0.4]), "cuts"),
        (lambda: Real(0, 1, bins=3, spacing="odd"), "spacing"),
        (lambda: Real(0, 1, bins=5000, spacing="log"), "bins"),
        (lambda: Date("2024-01-01", "2023-01-01"), "high"),
        (lambda: Date("soon", "2023-01-01"), "low"),
        (lambda: Date("2023-01-01", "2024-01-01", every="hour"), "every"),
        (lambda: Category([]), "categories"),
        (lambda: Category("FM"), "categories"),
        (lambda: Category(["1", 1]), "categories"),
        (lambda: Category([float("nan")]), "categories"),
        (lambda: Category(["F"], outside="clip"), "outside"),
        (lambda: Category(range(2**20)), "bins"),
        (lambda: Boolean(outside="clip"), "outside"),
        (lambda: Schema(), "schema"),
        (lambda: Schema(a=7), "schema['a']"),
        (lambda: Schema(a=Boolean()).column("b"), "column"),
    ],
)
def test_what_makes_no_sense_is_refused(make, argument):
    with pytest.raises(BadInput, match="Remedy") as refused:
        make()
    assert refused.value.argument == argument


def test_a_file_says_the_same(tmp_path):
    schema = Schema({f'{place} "quoted" ä.\n': column for place, column in enumerate(COLUMNS)})
    write(schema, tmp_path / "people.toml")
    assert dict(read(tmp_path / "people.toml")) == dict(schema)
    schema.save(tmp_path / "again.toml")
    assert dict(Schema.load(tmp_path / "again.toml")) == dict(schema)


def test_a_draft_is_refused_until_it_is_confirmed(tmp_path):
    path = tmp_path / "draft.toml"
    write_draft({kind: kind for kind in KINDS}, path)
    with pytest.raises(BadInput, match="category, integer, real, date, boolean, text are still to be confirmed"):
        read(path)
    confirmed = "\n".join(line for line in path.read_text("utf-8").splitlines() if not line.startswith("to_confirm"))
    path.write_text(confirmed, "utf-8")
    assert read(path)["date"] == Date(date(2000, 1, 1), date(2030, 12, 31), every="month")


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("", "schema"),
        ("[columns", "schema"),
        ("x = 1", "schema"),
        ("[columns]\na = 1", "columns.a"),
        ("[columns.a]\nlow = 1", "columns.a.kind"),
        ("[columns.a]\nkind = 'integer'\nlow = 1", "columns.a"),
        ("[columns.a]\nkind = 'integer'\nlow = 1\nhigh = 0", "columns.a.high"),
        ("[columns.a]\nkind = 'integer'\nlow = 1\nhigh = 5\ncolour = 'red'", "columns.a.colour"),
    ],
)
def test_a_file_that_is_wrong_says_where(tmp_path, text, argument):
    (tmp_path / "people.toml").write_text(text, "utf-8")
    with pytest.raises(BadInput, match="Remedy") as refused:
        read(tmp_path / "people.toml")
    assert refused.value.argument == argument


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match="no file"):
        read(tmp_path / "nowhere.toml")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".data", ".CSV"])
def test_no_kinds_are_told_of_a_text_file_before_its_first_line_is_declared(tmp_path, ending):
    """Names and a record look alike: nothing of the file may be read, let alone told, before it is said which it is."""
    file = tmp_path / f"people{ending}"
    separator = "\t" if ending == ".tsv" else ","
    file.write_text(separator.join(["Anna", "Bern"]) + "\n", "utf-8")
    for data in (file, str(file), [file, file], tmp_path / f"nowhere{ending}"):
        with pytest.raises(BadInput, match="^header: .* may hold the columns' names or a record") as refused:
            kinds_of(data)
        assert "Anna" not in str(refused.value)
        assert "Bern" not in str(refused.value)
    assert kinds_of(file, header=True) == {"Anna": "category", "Bern": "category"}
    assert kinds_of(file, columns=["name", "age"]) == {"name": "category", "age": "integer"}
    with pytest.raises(BadInput, match="^header: "):
        kinds_of(file, columns=["name", "age"], header=True)
