"""Nothing that can be seen of a table, but the noisy answers, depends on its values: no error, text, shape or charge."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import traceback
import warnings

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.kernel.errors import JostleError
from jostle.schema import Boolean, Category, Date, Integer, Real, Schema
from jostle.tables.opening import open as open_table
from jostle.tables.run_in_engine import EngineError, run_in_engine
from jostle.tables.unit import Unit

SCHEMA = Schema(
    a=Integer(0, 9),
    b=Real(0, 1, bins=4, outside="own", null="own"),
    c=Category(["x", "y"]),
    d=Date("2024-01-01", "2024-12-31", every="month"),
    e=Boolean(outside="own", null="own"),
)
SECRET = "s3cr3t-value"  # noqa: S105 (a value of a table)
VALUES = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(max_size=12),
    st.dates(),
    st.sampled_from(
        [SECRET, "1e999", "0x1", "2024-02-30", "-", "x", math.nan, math.inf, 10**400, b"\xff", object(), ("t",)]
    ),
)
QUESTIONS = [
    lambda t: t.histogram("a", epsilon=0.1, algorithm="Laplace"),
    lambda t: t.where("c = 'x' AND b * 2 > 1").histogram("c", "e", epsilon=0.1, algorithm="Laplace"),
    lambda t: t.where(lambda r: r.d.year() > 2000).mean("b", epsilon=0.1),
    lambda t: t.bin("a", Integer(0, 9, bins=2)).sum("a", epsilon=0.1),
    lambda t: t.sql("SELECT c, AVG(b) FROM t WHERE a > 3 GROUP BY c", epsilon=0.1),
    lambda t: t.marginals(("a", "c"), ("c", "e"), "d", epsilon=0.1)["c", "e"],
    lambda t: t.quantiles("b", [0.25, 0.5], epsilon=0.1).release,
    lambda t: t.histogram("c", "d", "e", epsilon=0.1, algorithm="Laplace"),
    lambda t: t.sql("SELECT MAX(a) FROM t", epsilon=0.1),
    lambda t: t.where("nobody = 1"),
    lambda t: t.histogram("a", epsilon=100),
]


def seen(values, folder, unit):
    """Everything that an observer sees of some questions, but the released numbers."""
    column = pd.Series(values, dtype=object)
    frame = pd.DataFrame(dict.fromkeys(SCHEMA, column) | {"p": column.map(str)})
    ledger = folder / f"{len(list(folder.iterdir()))}.db"
    out, trail = io.StringIO(), []
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        table = open_table(frame, schema=SCHEMA, ledger=ledger, budget=5, name="t", unit=unit)
        trail.append(repr(table))
        for question in QUESTIONS:
            try:
                answer = question(table)
                shape = answer.answers.shape if hasattr(answer, "answers") else "figure"
                trail.append((type(answer).__name__, shape, answer.spent, repr(answer) if shape != "figure" else ""))
            except JostleError as error:
                trail.append((type(error).__name__, str(error), error.__cause__, error.__context__))
        trail.append(table.remaining)
    return trail, out.getvalue(), [str(w.message) for w in warned]


@settings(max_examples=4)
@given(values=st.lists(VALUES, max_size=40), more=VALUES, whose=st.sampled_from([None, Unit("p", max_rows=2)]))
def test_neighbouring_and_adversarial_tables_look_alike(tmp_path_factory, values, more, whose):
    folder = tmp_path_factory.mktemp("ledgers")
    one, other = (seen(rows, folder, whose) for rows in (values, [*values, more]))
    assert one == other
    assert one[1:] == ("", [])
    assert [what[0] for what in one[0][1:-1]] == [
        *("Release", "Release", "ReleasedNumber", "ReleasedNumber", "SelectAnswer", "ReleasedNumbers"),
        *("Release", "Release", "SelectAnswer", "BadInput", "Overdraft"),
    ]


def test_an_engines_words_are_withheld(tmp_path, monkeypatch, caplog):
    """A failure names the step; the engine's exception, which quotes values, is attached nowhere."""

    def failing():
        raise ValueError(f"could not convert {SECRET}")

    with caplog.at_level(logging.DEBUG), pytest.raises(EngineError, match="failed while counting rows") as failure:
        run_in_engine("counting rows", failing)
    told = (
        "".join(traceback.format_exception(failure.value)[:1] + traceback.format_exception_only(failure.value)) + caplog.text
    )
    assert SECRET not in told
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None


def test_a_query_that_fails_releases_nothing_and_keeps_its_charge(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": [1, 2]})
    table = open_table(frame, schema={"a": Integer(0, 9)}, ledger=tmp_path / "l.db", budget=1, name="t")
    monkeypatch.setattr("jostle.tables.run_in_engine.Query.fetch", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        table.histogram("a", epsilon=1, algorithm="Laplace")
    assert table.remaining == 0


@pytest.mark.parametrize("broken", ["people.parquet", "people.csv", "people.duckdb", "people.sqlite"])
def test_broken_files_are_told_without_their_contents(tmp_path, broken):
    path = tmp_path / broken
    path.write_bytes(b"" if broken.endswith("csv") else SECRET.encode() * 10)
    with pytest.raises(JostleError) as failure:
        open_table(path, schema={"a": Integer(0, 9)}, ledger=tmp_path / "l.db", budget=1)
    assert SECRET not in str(failure.value)


def test_an_unreachable_database_is_told_without_its_password(tmp_path):
    with pytest.raises(EngineError, match="connecting") as failure:
        open_table(
            f"postgresql://me:{SECRET}@127.0.0.1:1/db",
            schema={"a": Boolean()},
            ledger=tmp_path / "l.db",
            budget=1,
            table="t",
        )
    assert SECRET not in str(failure.value)
