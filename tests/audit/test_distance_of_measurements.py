"""What is measured of neighbouring tables lies no further apart than its noise hides, and a fitted model keeps nothing else.

The noise is left out here, and its scale written down. So these tests know nothing of how a sensitivity is derived.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jostle import learn
from jostle.kernel.noise import ExactNoise
from jostle.schema import Category, Integer, Real, Schema
from jostle.tables.opening import open as open_table
from jostle.tables.table import Table
from jostle.tables.unit import Unit

LOW, HIGH = -100, 10
MOST_ROWS, TOO_MANY = 2, 8
Row = tuple[int, str, float | None]

OTHERS: list[Row] = [(1, "a", 3), (2, "b", -4), (2, "a", 10)]
CHANGES: dict[str, tuple[list[Row], list[Row]]] = {
    "the lowest value": ([], [(3, "a", LOW)] * TOO_MANY),
    "the highest value": ([], [(3, "b", HIGH)] * TOO_MANY),
    "another group": ([(3, "a", LOW)] * TOO_MANY, [(3, "b", LOW)] * TOO_MANY),
    "the other end": ([(3, "a", LOW)] * TOO_MANY, [(3, "a", HIGH)] * TOO_MANY),
    "a value that was missing": ([(3, "a", None)] * TOO_MANY, [(3, "a", LOW)] * TOO_MANY),
}
QUESTIONS: dict[str, Callable[[Table], Any]] = {
    "sum": lambda table: table.sum("v", epsilon=1),
    "mean": lambda table: table.mean("v", epsilon=1),
    "sum by group": lambda table: table.sum("v", by="g", epsilon=1),
    "mean by group": lambda table: table.mean("v", by="g", epsilon=1),
    "histogram": lambda table: table.histogram("g", epsilon=1, algorithm="Laplace"),
}


class Bare:
    """In place of the exact engine's noise: the true values, and the scales that were meant to hide them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.drawn: list[tuple[np.ndarray, Fraction]] = []
        patch.setattr(ExactNoise, "discrete_laplace", lambda engine, values, scale: self.keep(values, scale))

    def keep(self, values: np.ndarray, scale: Fraction) -> np.ndarray:
        self.drawn.append((np.array(values, dtype=object).reshape(-1), scale))
        return np.array(values)

    def of(self, run: Callable[[], Any]) -> list[tuple[np.ndarray, Fraction]]:
        self.drawn = []
        run()
        return self.drawn


def table_of(rows: list[Row], folder: Path, relation: str, rows_per_person: int) -> Table:
    frame = pd.DataFrame({name: [row[place] for row in rows] for place, name in enumerate("pgv")}).astype(
        {"p": "int64", "g": "string", "v": "float64"}
    )
    folder.mkdir()
    unit = Unit("p", max_rows=rows_per_person) if rows_per_person else None
    schema = Schema({"g": Category(["a", "b"]), "v": Integer(LOW, HIGH)})
    how: dict[str, Any] = {"schema": schema, "ledger": folder / "l.db", "budget": 9, "name": "t", "unit": unit}
    return open_table(frame, neighbours=relation, **how)


def pairs(relation: str, one_row: bool) -> Iterator[tuple[str, list[Row], list[Row]]]:
    for name, (before, after) in CHANGES.items():
        one, other = ([*OTHERS, *rows[: 1 if one_row else None]] for rows in (before, after))
        if relation == "replace" or not before:
            yield name, one, other


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows_per_person", [0, MOST_ROWS])
def test_one_person_moves_what_is_measured_by_no_more_than_its_noise_hides(
    relation: str, rows_per_person: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = Bare(monkeypatch)
    for number, (name, *sides) in enumerate(pairs(relation, not rows_per_person)):
        if relation == "replace" and not rows_per_person and len(sides[0]) != len(sides[1]):
            continue  # under `replace` everybody has a row
        tables = [table_of(rows, tmp_path / f"{number}-{at}", relation, rows_per_person) for at, rows in enumerate(sides)]
        for question, ask in QUESTIONS.items():
            one, other = (bare.of(partial(ask, table)) for table in tables)
            assert [scale for _, scale in one] == [scale for _, scale in other]
            lost = sum(
                Fraction(int(np.abs(here - there).sum())) / scale
                for (here, scale), (there, _) in zip(one, other, strict=True)
                if scale or (here != there).any()
            )
            assert lost <= 1, f"{question}: {name}"


def reachable(thing: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Everything that whoever has an object has, too."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, (type, types.ModuleType, types.FunctionType)):
        return
    seen.add(id(thing))
    yield thing
    inner: list[Any] = list(getattr(thing, "__dict__", {}).values())
    inner += [getattr(thing, name) for name in getattr(type(thing), "__slots__", ()) if hasattr(thing, name)]
    if isinstance(thing, dict):
        inner += [*thing, *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        inner += thing
    elif isinstance(thing, np.ndarray):
        inner += thing.reshape(-1).tolist()
    for one in inner:
        yield from reachable(one, seen)


@pytest.mark.parametrize("name", ["PrivateMajority", "PrivateMultinomialBayes", "PrivateTree"])
def test_a_model_keeps_nothing_that_is_not_noisy(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows, 1,237, is private: nothing that can be reached from a fitted model is it, or as long.

    What is measured is moved far away, so that no noisy number is it by chance.
    """
    rows, far = 1_237, np.random.default_rng(0)
    moved = lambda engine, values, scale: values + far.integers(10**6, 10**7, values.shape)  # noqa: E731
    monkeypatch.setattr(ExactNoise, "discrete_laplace", moved)
    schema = Schema({"x": Integer(0, 9), "class": Category(["no", "yes"])})
    frame = pd.DataFrame({"x": np.arange(rows) % 10, "class": np.where(np.arange(rows) % 3, "no", "yes")})
    table = open_table(frame, schema=schema, ledger=tmp_path / "l.db", budget=1, name="t")
    fitted = getattr(learn, name)(epsilon=1).fit(table)
    for one in reachable(fitted):
        assert not (isinstance(one, (int, float)) and one == rows)
        assert not (hasattr(one, "__len__") and len(one) == rows)
        assert not isinstance(one, Table)


@pytest.mark.parametrize("bounds", [(-100, 10), (-10, 100), (-100, -10), (0.1, 0.3)])
def test_the_error_that_is_told_beforehand_is_that_of_the_noise(
    bounds: tuple[float, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A margin of ln(20) scales, for bounds of every sign: whoever derives one from |high| alone is found out."""
    schema = Schema({"v": Real(*bounds, bins=4)})
    table = open_table(pd.DataFrame({"v": [bounds[0]]}), schema=schema, ledger=tmp_path / "l.db", budget=9, name="t")
    Bare(monkeypatch)
    far = max(map(abs, bounds))
    assert table.sum("v", epsilon=1).margin == pytest.approx(far * math.log(20), rel=1e-6)
