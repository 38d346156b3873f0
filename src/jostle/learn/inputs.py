"""What `fit` and `predict` accept as X, y and schema: frames, arrays, lists of rows, and private tables.

No value decides how another one is read, and no message shows a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from jostle.kernel.errors import BadInput
from jostle.learn.task import Task
from jostle.schema import Boolean, Category, Column, Schema
from jostle.schema.arrow import as_array
from jostle.schema.values import unmasked

if TYPE_CHECKING:
    from jostle.tables.table import Table


def is_private_table(X: Any) -> TypeGuard[Table]:
    """Whether X is a table of `jostle.open`, which makes labelled records itself.

    Its class must have the method; attributes of X do not count, because a frame has its columns as attributes.
    """
    return hasattr(type(X), "labelled")


@dataclass(frozen=True, eq=False)
class Attributes:
    """The columns of X, one per attribute of a task, each read by itself."""

    columns: Sequence[NDArray[Any]]

    noted: Any
    """What scikit-learn notes of them: their number and, if they have some, their names."""

    def encode(self, task: Task) -> dict[str, NDArray[np.int64]]:
        if len(self.columns) != len(task.attributes):
            problem = f"has {len(self.columns)} features, but the schema has {len(task.attributes)} besides {task.label!r}"
            raise BadInput("X", problem, "pass every column of the schema, in its order")
        return {a: task.encode(a, column) for a, column in zip(task.attributes, self.columns, strict=True)}


def read_attributes(X: Any, task: Task) -> Attributes:
    """The attributes' columns: by name where X has names, else in the schema's order."""
    import pandas as pd

    names = names_of(X)
    if names or hasattr(X, "column_names"):
        check_names(names, task.attributes)
        return Attributes([_column(X[a]) for a in task.attributes], pd.DataFrame(columns=list(task.attributes)))
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        places = range(X.shape[1])
        return Attributes([_column(X.iloc[:, place]) for place in places], np.empty((0, len(places))))
    array = _as_array(X, len(task.attributes))
    return Attributes([array[:, place] for place in range(array.shape[1])], array)


def names_of(X: Any) -> list[str]:
    """The column names of a frame; empty for anything else, and for a frame whose columns are only numbered."""
    if not (hasattr(X, "columns") and hasattr(X, "__getitem__")):
        return []
    names = list(X.column_names if hasattr(X, "column_names") else X.columns)  # an Arrow table's columns are the values
    return names if all(isinstance(name, str) for name in names) else []


def check_names(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise unless each wanted column is there, once."""
    missing = [name for name in wanted if name not in names]
    if missing:
        raise BadInput("X", f"lacks the columns {', '.join(missing)}", f"it has {', '.join(names)}")
    for name in wanted:
        if names.count(name) > 1:
            raise BadInput("X", f"has the column {name!r} more than once", "give each a name of its own")


def _column(values: Any) -> NDArray[Any]:
    """A frame's column as an array. Those of Polars go through Arrow, as in tables."""
    return as_array(values.to_arrow() if type(values).__module__.startswith("polars.") else values)


def _as_array(X: Any, width: int) -> NDArray[Any]:
    """Two dimensions of values, each as it is.

    A common type would let one odd value change how the others are read; and scikit-learn's own messages print values.
    """
    if hasattr(X, "tocsr"):
        raise BadInput("X", "is sparse, which is not supported", "pass a dense array or a frame")
    if isinstance(X, np.ndarray):
        table = np.asarray(unmasked(X))
    elif hasattr(X, "__array__"):
        table = as_array(X)
    else:
        table = _of_rows(X, width)
    if table.ndim != 2:
        raise BadInput("X", "must have two dimensions", "Reshape your data: one row per record, one column per attribute")
    if table.dtype.kind == "c":
        raise BadInput("X", "Complex data not supported", "pass real numbers, texts or dates")
    return table


def _of_rows(X: Any, width: int) -> NDArray[Any]:
    """A list of rows. A short row's other values are missing and a long row's are ignored, so no row refuses the others.

    If there are rows and none has the right length, the list is refused as a mistake.
    """
    listed = _listed(X)
    rows = [_listed(row) or [] for row in listed or ()]
    if listed is None or (rows and all(len(row) != width for row in rows)):
        remedy = f"Reshape your data: pass {width} values per row, or a frame, for instance pd.DataFrame(X)"
        raise BadInput("X", "must have two dimensions: rows of values", remedy)
    table = np.full((len(rows), width), None, dtype=object)
    for place, row in enumerate(rows):
        for column, value in enumerate(row[:width]):
            table[place, column] = value  # one by one, so that a value that is a list stays one value
    return table


def _listed(things: Any) -> list[Any] | None:
    """The items of a list; None for anything else, such as a text, whose items are letters, or a mapping."""
    try:
        return None if isinstance(things, (Mapping, str, bytes, bytearray)) else list(things)
    except TypeError:
        return None


def read_labels(y: Any) -> Any:
    """One label per row."""
    if isinstance(y, (list, tuple)):  # one by one: no label decides how another one is read
        labels = np.empty(len(y), dtype=object)
        for place, label in enumerate(y):
            labels[place] = label[0] if isinstance(label, (list, tuple)) and len(label) == 1 else label
        return labels
    y = unmasked(y)
    try:
        return column_or_1d(_column(_only_column(y)), dtype=object, warn=True)
    except (TypeError, ValueError):
        raise BadInput("y", "must be one label for each row: a 1d array", "pass one column of labels") from None


def _only_column(y: Any) -> Any:
    names = list(getattr(y, "column_names", getattr(y, "columns", ())))
    if len(names) > 1:
        raise TypeError
    return y if not names else y.iloc[:, 0] if hasattr(y, "iloc") else y[names[0]]


def label_of(schema: Schema, said: str | None, y: Any = None) -> str:
    """The column to predict: as said, or as y is called, or "class".

    >>> from jostle.schema import Boolean, Integer
    >>> label_of(Schema(age=Integer(0, 99), sick=Boolean()), None)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: label: is missing: the schema does not say which column is to be predicted. Remedy: pass
    label='sick'.
    """
    if said is not None:
        return said
    name = getattr(y, "name", None)
    if isinstance(name, str) and name in schema:
        return name
    if "class" in schema:
        return "class"
    able = [known for known, column in schema.items() if isinstance(column, (Category, Boolean))]
    remedy = " or ".join(f"label={known!r}" for known in able[-3:]) if able else "describe one as Category([…])"
    problem = "is missing: the schema does not say which column is to be predicted"
    raise BadInput("label", problem, f"pass {remedy}" if able else remedy)


def read_schema(given: Any) -> Schema:
    """A schema, the path of one, or a mapping of columns."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, (str, Path)):
        return Schema.load(given)
    if isinstance(given, Mapping) and all(isinstance(column, Column) for column in given.values()):
        return Schema(given)
    raise BadInput(
        "schema",
        "must describe the attributes and the label: bounds and values are never read from the data",
        'pass for instance Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})',
    )
