"""The public part of a learning problem: the attributes, the label, and how their values are cut into cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Column, Numeric

OWN: Final = "("
"""Names of attributes that learners derive begin with this, so no column's name may."""

SMALL: Final = 2**12
"""`once_per_task` remembers results only of tasks whose attributes have at most this many cells in total."""

_More = ParamSpec("_More")
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Task:
    """Predict the label's class from some attributes.

    Every value of an attribute has a cell. Where a column's rule is to drop records, learning puts those values into one
    extra cell after the others, because a record that lacks a value still needs a prediction.

    >>> from jostle.schema import Integer
    >>> task = Task(("age",), "sick", {"age": Integer(0, 99, bins=10), "sick": Boolean()})
    >>> task.sizes["age"], task.encode("age", [5, None]).tolist(), task.classes.tolist()
    (11, [0, 10], [False, True])
    """

    attributes: tuple[str, ...]
    """The columns to learn from."""

    label: str
    """The column to predict."""

    columns: Mapping[str, Column]
    """The public description of each of these columns."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        self._check_label()
        if not self.attributes or self.label in self.attributes or any(a not in self.columns for a in self.attributes):
            raise BadInput("attributes", "must be columns of the schema besides the label", "describe at least one")

    def _check_label(self) -> None:
        if not isinstance(self.columns.get(self.label), (Category, Boolean)):
            able = [name for name, column in self.columns.items() if isinstance(column, (Category, Boolean))]
            names_one = f"name the column to predict as label, one of {', '.join(able)}"
            remedy = names_one if able and self.label not in self.columns else "describe it as Category([…])"
            raise BadInput("label", f"{self.label!r} must be a column of the schema with classes", remedy)

    @classmethod
    def over(cls, columns: Mapping[str, Column], label: str) -> Self:
        """Predict one column's classes from all other columns.

        >>> from jostle.schema import Integer
        >>> Task.over({"(node)": Integer(0, 9), "sick": Boolean()}, "sick")
        Traceback (most recent call last):
        jostle.kernel.errors.BadInput: schema: '(node)' begins like the attributes that learners derive. Remedy: rename the
        column.
        """
        for name in columns:
            if name.startswith(OWN):
                raise BadInput("schema", f"{name!r} begins like the attributes that learners derive", "rename the column")
        return cls(tuple(name for name in columns if name != label), label, columns)

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The classes of the schema, in its order."""
        column = self.columns[self.label]
        return np.array(column.categories) if isinstance(column, Category) else np.array([False, True])

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The number of cells of each attribute, and the number of classes."""
        cells = {a: self.columns[a].size + self.columns[a].drops for a in self.attributes}
        return cells | {self.label: self.label_cells}

    @property
    def label_cells(self) -> int:
        """How many cells the label has: one per class."""
        return len(self.classes)

    def known(self, attribute: str) -> int:
        """How many of an attribute's cells are for values that the schema names: the others are rarely met."""
        return self.columns[attribute].values

    def is_numeric(self, attribute: str) -> bool:
        """Whether neighbouring cells are similar."""
        return isinstance(self.columns[attribute], Numeric)

    def encode(self, attribute: str, values: Any) -> NDArray[np.int64]:
        """The cell of each value of an attribute: never negative."""
        column = self.columns[attribute]
        codes = column.encode(values)
        return np.where(codes < 0, column.size, codes)

    def encode_label(self, values: Any) -> NDArray[np.int64]:
        """The number of each value's class; −1 where it is missing or no class of the schema."""
        codes = self.columns[self.label].encode(values)
        return np.where(codes >= self.label_cells, -1, codes)

    def encode_records(self, columns: Mapping[str, Any]) -> dict[str, NDArray[np.int64]]:
        """The codes of whole records: every attribute by `encode`, and the label by `encode_label`."""
        codes = {name: self.encode(name, columns[name]) for name in self.attributes}
        return codes | {self.label: self.encode_label(columns[self.label])}

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """The results that `once_per_task` remembers: public, like the task."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Remembered results are not sent to other processes."""
        return {"attributes": self.attributes, "label": self.label, "columns": self.columns}

    def check(self, sizes: Mapping[str, int]) -> None:
        """Raise unless records with attributes of these sizes can be learned from."""
        for name, size in self.sizes.items():
            if sizes.get(name) != size:
                raise BadInput("records", f"{name!r} must have {size} values", "encode them by the same task")


def once_per_task(
    function: Callable[Concatenate[Task, _More], _Found],
) -> Callable[Concatenate[Task, _More], _Found]:
    """Compute a function of a small task and other public, hashable values only once. Callers must not change the result.

    Privacy: never use it for functions of records, or of anything that follows from them.

    >>> @once_per_task
    ... def widest(task: Task) -> int:
    ...     print("computed")
    ...     return max(task.sizes.values())
    >>> task = Task(("wet",), "sick", {"wet": Boolean(), "sick": Boolean()})
    >>> widest(task), widest(task)
    computed
    (3, 3)
    """

    @wraps(function)
    def remembered(task: Task, /, *more: _More.args, **named: _More.kwargs) -> _Found:
        if sum(task.sizes.values()) > SMALL:
            return function(task, *more, **named)
        key = (function, more, *named.items())
        if key not in task.memory:
            task.memory[key] = function(task, *more, **named)
        found: _Found = task.memory[key]
        return found

    return remembered
