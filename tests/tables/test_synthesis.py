"""Synthetic tables of private ones: any kind of column, persons with several rows, charges, and what is refused."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle import Boolean, Category, Date, Integer, Real, Schema, Unit
from jostle.kernel.errors import BadInput, Overdraft
from jostle.schema import Text
from jostle.synthetic import synthesizer
from jostle.synthetic.strategies import STRATEGIES
from jostle.tables.columns import EngineColumns

SCHEMA = Schema(
    {
        "age": Integer(0, 99, bins=10),
        "sex": Category(["F", "M"], outside="drop"),
        "well": Boolean(null="drop"),
        "cost": Real(0, 100, bins=5),
        "day": Date(date(2024, 1, 1), date(2024, 12, 31), every="month"),
    }
)


def frame(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, rows)
    return pd.DataFrame(
        {
            "who": np.arange(rows) // 4,
            "age": age,
            "sex": rng.choice(["F", "M"], rows),
            "well": rng.random(rows) < age / 100,
            "cost": rng.uniform(0, 100, rows),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), unit="D"),
        }
    )


def people(folder: Path, **how: Any) -> Any:
    given = {"schema": SCHEMA, "ledger": folder / "budget.db", "budget": 2, "name": "people"} | how
    return jostle.open(frame(), **given)


def test_records_have_the_schemas_columns_and_plain_values(tmp_path: Path) -> None:
    table = people(tmp_path)
    made = table.synthesize(epsilon=1)
    found = made.to_pandas()
    assert list(found) == list(SCHEMA)
    assert len(made) == len(found) == round(made.synthesis.total)
    for name, column in SCHEMA.items():
        codes = column.encode(found[name].to_numpy(dtype=object))
        assert ((codes >= 0) | ~found[name].notna()).all()
    assert made.spent == 1
    assert table.remaining == made.remaining == 1
    assert sum(event.amount for event in made.charges) == 1
    assert {event.operator for event in made.charges} == {"laplace", "choose"}
    assert len(table.synthesize("age", "sex", epsilon="1/2", rows=17)) == 17


def test_in_rho_noise_is_gaussian_and_epsilon_with_delta_is_rho(tmp_path: Path) -> None:
    table = people(tmp_path, budget=jostle.Approximate(1, "1e-6"))
    made = table.synthesize(epsilon="1/2", delta="1e-7", label="well")
    assert made.measure == "concentrated"
    assert {event.operator for event in made.charges} == {"gaussian", "choose"}
    assert sum(event.amount for event in made.charges) == made.spent < Fraction(1, 100)
    assert table.synthesize("age", rho="1/1000").spent == Fraction(1, 1000)


def test_persons_with_several_rows_are_bounded_and_noise_grows_with_them(tmp_path: Path) -> None:
    one = people(tmp_path, unit=Unit("who", max_rows=1)).synthesize(epsilon=1)
    two = people(tmp_path, unit=Unit("who", max_rows=3), name="more", beside="people").synthesize(epsilon=1)
    assert one.synthesis.total < 400  # 150 persons with one row each
    assert two.synthesis.steps[0].deviation == pytest.approx(3 * one.synthesis.steps[0].deviation, rel=0.01)
    assert "At most 3 rows per who" in two.explain()


def test_an_overdraft_reads_no_row_and_charges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(tmp_path)
    table.count(epsilon=1)
    monkeypatch.setattr(EngineColumns, "listed", lambda *_: pytest.fail("a row was read"))
    with pytest.raises(Overdraft):
        table.synthesize(epsilon=2)
    assert table.remaining == 1


def test_rows_are_read_once_after_the_first_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, read = people(tmp_path), []
    listed = EngineColumns.listed

    def noted(self: Any, names: Any) -> Any:
        read.append(table.remaining)
        return listed(self, names)

    monkeypatch.setattr(EngineColumns, "listed", noted)
    monkeypatch.setattr(EngineColumns, "counts", lambda *_: pytest.fail("counted in the engine"))
    table.synthesize(epsilon=1)
    assert len(read) == 1
    assert read[0] < 2


@pytest.mark.parametrize(
    ("columns", "how", "named"),
    [
        (("age", "age"), {}, "columns"),
        (("height",), {}, "column"),
        ((), {"rows": -1}, "rows"),
        ((), {"rows": 2.5}, "rows"),
        ((), {"label": "height"}, "label"),
        ((), {"label": "sex", "workload": [("age", "sex")]}, "label"),
        ((), {"workload": []}, "workload"),
        ((), {"workload": "age"}, "workload"),
        ((), {"workload": [("age", "height")]}, "workload"),
        ((), {"workload": [("age", "age")]}, "workload"),
        ((), {"workload": [3]}, "workload"),
        ((), {"workload": [("age", "sex", "well", "cost", "day")]}, "workload"),
        ((), {"delta": "1e-6", "epsilon": None}, "delta"),
        ((), {"rho": "1/100"}, "epsilon, rho"),
        ((), {"epsilon": None}, "epsilon"),
        ((), {"epsilon": "1e-25"}, "epsilon"),
    ],
)
def test_what_cannot_be_is_refused_before_any_charge(tmp_path: Path, columns: Any, how: Any, named: str) -> None:
    table = people(tmp_path)
    with pytest.raises(BadInput, match=f"^{named}") as refused:
        table.synthesize(*columns, **({"epsilon": 1} | how))
    assert refused.value.remedy
    assert table.remaining == 2


@pytest.mark.parametrize("way", STRATEGIES)
def test_a_way_that_fails_does_so_before_any_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Whichever it is, and whether or not it would be chosen."""
    table, init = people(tmp_path), synthesizer._Rounds.__init__

    def failing(self: Any, *given: Any) -> None:
        init(self, *given)
        if given[-1] is STRATEGIES[way]:
            raise ZeroDivisionError

    monkeypatch.setattr(synthesizer._Rounds, "__init__", failing)
    with pytest.raises(ZeroDivisionError):
        table.synthesize(epsilon=1)
    assert table.remaining == 2


def test_a_column_with_too_many_cells_is_refused(tmp_path: Path) -> None:
    table = people(tmp_path, schema=Schema({"age": Integer(0, 99_999, bins=9_999)}))
    with pytest.raises(BadInput, match="at most 4,096"):
        table.synthesize(epsilon=1)


def test_free_text_is_left_out_and_refused_where_it_is_named(tmp_path: Path) -> None:
    table = people(tmp_path, schema=Schema({"sex": Text(), "age": SCHEMA["age"]}))
    assert list(table.synthesize(epsilon=1, rows=2).synthesis.columns) == ["age"]
    with pytest.raises(BadInput, match="free text"):
        table.synthesize("sex", epsilon=1)
    with pytest.raises(BadInput, match="columns"):
        people(tmp_path, schema=Schema({"sex": Text()})).synthesize(epsilon=1)
    assert table.remaining == 1


def test_a_preview_is_about_single_columns_and_free(tmp_path: Path) -> None:
    table = people(tmp_path)
    fine, coarse = (table.ask_synthesis().preview(epsilon=epsilon) for epsilon in (1, "1/10"))
    assert 6 * fine.margin < coarse.margin <= coarse.widest
    assert table.remaining == 2


def test_a_part_of_a_table_is_synthesized_with_what_it_has(tmp_path: Path) -> None:
    table = people(tmp_path)
    parts = table.partition("sex", epsilon=1)
    made = parts["F"].synthesize("age", "well", epsilon="1/2")
    assert made.spent == Fraction(1, 2)
    assert parts["F"].remaining == Fraction(1, 2)
    assert table.remaining == 1
