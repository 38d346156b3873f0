"""Public tables with a class to predict: how to read them, what is known about their columns, and how to split them.

The schemas are declared by hand from the tables' documentation in the UCI repository: lists of values and bounds that are
known before anyone looks at a record. The environment variable JOSTLE_DATA names the folder of the files.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jostle.datasets import _labelled_schemas as schemas
from jostle.datasets.shapes import data_folder
from jostle.kernel.errors import BadInput
from jostle.schema import Schema

Values = NDArray[Any]


@dataclass(frozen=True)
class Labelled:
    """A table: its columns as they were read, what is publicly known of them, and which one is to be predicted."""

    name: str
    schema: Schema
    """The columns' declared values, the label's among them."""

    label: str
    """The column to predict."""

    columns: Mapping[str, Values]
    """The values of each column, in the schema's order."""

    def __len__(self) -> int:
        return len(self.columns[self.label])

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(name for name in self.schema if name != self.label)

    @property
    def y(self) -> Values:
        return self.columns[self.label]

    @property
    def X(self) -> Any:  # noqa: N802 (scikit-learn's name)
        """The attributes as a pandas frame."""
        import pandas as pd

        return pd.DataFrame({name: self.columns[name] for name in self.attributes})

    def take(self, rows: NDArray[np.int64]) -> Labelled:
        """Only those records, in that order."""
        return Labelled(self.name, self.schema, self.label, {name: values[rows] for name, values in self.columns.items()})


@dataclass(frozen=True)
class _File:
    """Where a table is, and how to read it."""

    path: str
    schema: Schema
    label: str
    header: bool = False
    cells: Callable[[list[str]], list[str]] = lambda row: row
    """From a row of the file to one text per column."""


_FILES: Final = MappingProxyType(
    {
        "adult": _File("adult.data", schemas.ADULT, "income"),
        "adult-test": _File("adult.test", schemas.ADULT, "income", cells=lambda row: [*row[:-1], row[-1].rstrip(".")]),
        "nursery": _File("nursery.data", schemas.NURSERY, "class"),
        "contraceptive": _File("cmc.csv", schemas.CONTRACEPTIVE, "method", header=True),
        "hiv": _File("hiv1625.data", schemas.HIV, "cleaved", cells=lambda row: [*row[0], row[1]]),
        "skin": _File("skin.csv.gz", schemas.SKIN, "skin", header=True),
        "credit": _File("credit_default.csv.gz", schemas.CREDIT, "default", header=True),
    }
)

TABLES: Final = tuple(_FILES)
"""The names of the tables."""


@dataclass(frozen=True)
class Experiment:
    """A table, how many of its records are used, and which part of them is for training."""

    table: str
    training: float
    """The share of the records to learn from; the others are to test."""

    records: int | None = None
    """How many records are drawn from the table first; all if None."""


EXPERIMENTS: Final = MappingProxyType(
    {
        "adult": Experiment("adult", 0.7),
        "nursery": Experiment("nursery", 0.7),
        "contraceptive": Experiment("contraceptive", 0.7),
        "hiv": Experiment("hiv", 0.7),
        "skin-1k": Experiment("skin", 0.5, 1_000),
        "skin-10k": Experiment("skin", 0.5, 10_000),
        "skin-100k": Experiment("skin", 0.5, 100_000),
        "credit-1k": Experiment("credit", 0.5, 1_000),
        "credit-10k": Experiment("credit", 0.5, 10_000),
    }
)
"""The splits on which classifiers are compared."""


def declared(file: str) -> Schema | None:
    """The built-in schema for a file of this name, which may end in .txt as well; None for other files.

    >>> list(declared("adult.data") or ())[-1], declared("adult.data") == declared("adult.data.txt")
    ('income', True)
    """
    known = [how.schema for how in _FILES.values() if file in (how.path, f"{how.path}.txt")]
    return known[0] if known else None


def load(name: str, folder: str | Path | None = None) -> Labelled:
    """A table by its name: one of `TABLES`."""
    if name not in _FILES:
        raise BadInput("name", f"there is no labelled table {name!r}", f"use one of {', '.join(TABLES)}")
    return _read(name, data_folder(folder))


def split(name: str, seed: int, folder: str | Path | None = None) -> tuple[Labelled, Labelled]:
    """The records to learn from and those to test with: one of `EXPERIMENTS`, split at random by the seed."""
    if name not in EXPERIMENTS:
        raise BadInput("name", f"there is no experiment {name!r}", f"use one of {', '.join(EXPERIMENTS)}")
    how = EXPERIMENTS[name]
    table = load(how.table, folder)
    order = np.random.default_rng(seed).permutation(len(table))[: how.records]
    cut = round(how.training * order.size)
    return table.take(order[:cut]), table.take(order[cut:])


@lru_cache(maxsize=len(_FILES))
def _read(name: str, folder: Path) -> Labelled:
    how = _FILES[name]
    path = folder / how.path
    if not path.is_file():
        raise BadInput("data", f"there is no {path.name} in {folder}", "name the folder that has it in JOSTLE_DATA")
    rows = [how.cells(row) for row in _rows(path, how.header)]
    texts = zip(*rows, strict=True)
    columns = {column: _values(cells) for column, cells in zip(how.schema, texts, strict=True)}
    return Labelled(name, how.schema, how.label, columns)


def _rows(path: Path, header: bool) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        rows = csv.reader(file, skipinitialspace=True)
        if header:
            next(rows)
        yield from (row for row in rows if row)


def _values(cells: tuple[str, ...]) -> Values:
    """Numbers if all are numbers; otherwise texts, with None for a question mark."""
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array([None if cell == "?" else cell for cell in cells], dtype=object)
    whole = numbers.astype(np.int64)
    return whole if np.array_equal(whole, numbers) else numbers
