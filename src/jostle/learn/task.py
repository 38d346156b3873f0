"""What is to be learned, as far as it is public: the attributes, the label, and how their values are cut into cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Column, Numeric

OWN: Final = "("
"""So begin the names of the attributes that learners derive: a column of such a name would be taken for one of them."""

SMALL: Final = 2**12
"""So many cells all attributes of a task have together at most, if what follows from it is remembered."""

_More = ParamSpec("_More")
_Found = TypeVar("_Found")


@final
@dataclass(frozen=True)
class Task:
    """Tell the label's classes apart by some attributes.

    Every value of an attribute has a cell: where a column's rule is to drop records, learning gives those values one cell
    more, after the others, because a record that lacks a value still wants a prediction.

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
        if not isinstance(self.columns.get(self.label), (Category, Boolean)):
            raise BadInput("label", f"{self.label!r} must be a column of the schema with classes", self._labels())
        if not self.attributes or self.label in self.attributes or any(a not in self.columns for a in self.attributes):
            raise BadInput("attributes", "must be columns of the schema besides the label", "describe at least one")

    def _labels(self) -> str:
        """What to do about a label that is none."""
        if self.label in self.columns:
            return "describe it as Category([…])"
        able = [name for name, column in self.columns.items() if isinstance(column, (Category, Boolean))]
        return f"name the column to predict as label, one of {', '.join(able)}" if able else "describe it as Category([…])"

    @classmethod
    def over(cls, columns: Mapping[str, Column], label: str) -> Task:
        """Tell one column's classes apart by all others.

        >>> from jostle.schema import Integer
        >>> Task.over({"(node)": Integer(0, 9), "sick": Boolean()}, "sick")
        Traceback (most recent call last):
        jostle.kernel.errors.BadInput: schema: '(node)' begins like what learners derive from columns. Remedy: call it
        something else.
        """
        for name in columns:
            if name.startswith(OWN):
                raise BadInput("schema", f"{name!r} begins like what learners derive from columns", "call it something else")
        return cls(tuple(name for name in columns if name != label), label, columns)

    @cached_property
    def classes(self) -> NDArray[Any]:
        """The classes that the schema foresees, in its order."""
        column = self.columns[self.label]
        return np.array(column.categories) if isinstance(column, Category) else np.array([False, True])

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The number of cells of each attribute, and the number of classes."""
        cells = {a: self.columns[a].size + self.columns[a].drops for a in self.attributes}
        return cells | {self.label: len(self.classes)}

    def is_numeric(self, attribute: str) -> bool:
        """Whether neighbouring cells are alike."""
        return isinstance(self.columns[attribute], Numeric)

    def encode(self, attribute: str, values: Any) -> NDArray[np.int64]:
        """The cell of each value of an attribute: never negative."""
        column = self.columns[attribute]
        codes = column.encode(values)
        return np.where(codes < 0, column.size, codes)

    def encode_label(self, values: Any) -> NDArray[np.int64]:
        """The number of each value's class; −1 where it is missing or no class of the schema."""
        codes = self.columns[self.label].encode(values)
        return np.where(codes >= len(self.classes), -1, codes)

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """What `once_a_task` remembers: public, like the task."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """What follows from it is not handed to other processes along with it."""
        return {"attributes": self.attributes, "label": self.label, "columns": self.columns}

    def check(self, sizes: Mapping[str, int]) -> None:
        """Raise unless records with attributes of these sizes can be learned from."""
        for name, size in self.sizes.items():
            if sizes.get(name) != size:
                raise BadInput("records", f"{name!r} must have {size} values", "encode them by the same task")


def once_a_task(
    function: Callable[Concatenate[Task, _More], _Found],
) -> Callable[Concatenate[Task, _More], _Found]:
    """Compute once what follows from a small task and other public, hashable values. It is shared: change nothing in it.

    Privacy: never for functions of records, or of anything that follows from them.

    >>> @once_a_task
    ... def widest(task: Task) -> int:
    ...     print("computed")
    ...     return max(task.sizes.values())
    >>> task = Task(("wet",), "sick", {"wet": Boolean(), "sick": Boolean()})
    >>> widest(task), widest(task)
    computed
    (4, 4)
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
