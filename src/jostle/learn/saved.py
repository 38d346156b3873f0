"""A model in a file: JSON that holds numbers, texts and the public description of columns, and runs nothing when it is read.

A pickle may run any program when it is loaded; this file cannot. Reading it makes objects of a closed list of classes, each
field checked, and tries the model on made-up records before anybody uses it. So a file may come from anybody.

Privacy: a model is a release. Its file holds what was paid for, and nothing else: no record, no account and no event of a
ledger.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.kernel.records import Split
from jostle.learn.cells import CellModel
from jostle.learn.chooser import Pick
from jostle.learn.classifier import ChosenModel
from jostle.learn.cuts import CutModel
from jostle.learn.grids import GridModel
from jostle.learn.importances import importances
from jostle.learn.inputs import read_attributes
from jostle.learn.logistic import AdditiveModel
from jostle.learn.registry import FloatArray, Model
from jostle.learn.stacked import StackedModel
from jostle.learn.synthetic import SyntheticModel
from jostle.learn.task import Task
from jostle.learn.trees.model import Forest, Node, Tree
from jostle.schema import Column, Schema
from jostle.schema.files import check_no_database
from jostle.schema.schema import KINDS as COLUMN_KINDS

FORMAT: Final = "jostle model"
VERSION: Final = 1
LARGEST: Final = 2**27
"""Bytes of a file."""

DEEPEST: Final = 40
"""How deep a document may be nested."""

CLASSES: Final[Mapping[str, type]] = {
    kind.__name__: kind
    for kind in (
        AdditiveModel,
        CellModel,
        ChosenModel,
        CutModel,
        Forest,
        GridModel,
        Node,
        Pick,
        Split,
        StackedModel,
        Task,
        Tree,
    )
}
"""What a file may be made of, besides numbers, texts, lists, tables of these, arrays and columns."""

MODELS: Final = (AdditiveModel, CellModel, ChosenModel, CutModel, Forest, GridModel, StackedModel, Tree)
_ARRAYS: Final = ("int64", "float64")
_KIND, _ARRAY, _COLUMN, _DATE, _TABLE = "is a", "array of", "column", "date", "table"


@dataclass(frozen=True)
class SavedModel:
    """A model that was read from a file, or is about to be written to one."""

    model: Model
    task: Task
    about: Mapping[str, str]
    """How it was made: the learner, the price, what was protected, and the model in words."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the columns of `predict_proba`."""
        return self.task.classes

    def predict_proba(self, X: Any) -> FloatArray:
        """The probability of each class: one column per class."""
        return self.model.scores(read_attributes(X, self.task).encode(self.task))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class of each row."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def explain(self) -> str:
        """What was fitted, and at which price, in words."""
        return self.about.get("explain", self.model.describe())

    def importances(self) -> dict[str, float]:
        """How much each attribute moves the predicted probabilities, the largest first: from the model alone."""
        return importances(self.model, self.task)

    def save(self, path: str | Path) -> None:
        """Write the file."""
        Path(path).write_text(self.text(), "utf-8")

    def text(self) -> str:
        """What the file holds."""
        document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "about": dict(self.about)}
        document |= {"task": _written(self.task), "model": _written(_plain(self.model))}
        return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def load(path: str | Path) -> SavedModel:
    """Read a file that `save` wrote. Nothing in it is run, and a file that is not one is refused.

    >>> import tempfile
    >>> from jostle.learn import PrivateClassifier
    >>> from jostle.schema import Category, Integer
    >>> columns = {"age": Integer(0, 99), "class": Category(["no", "yes"])}
    >>> model = PrivateClassifier(epsilon=1, schema=columns, random_state=0)
    >>> _ = model.fit([[age] for age in range(100)] * 20, ["yes" if age >= 50 else "no" for age in range(100)] * 20)
    >>> file = tempfile.mkdtemp() + "/model.json"
    >>> model.save(file)
    >>> load(file).predict([[3], [90]]).tolist()
    ['no', 'yes']
    """
    path = Path(path)
    check_no_database(path, "model")
    try:
        with path.open("rb") as stream:
            text = stream.read(LARGEST + 1)
    except OSError:
        raise BadInput("model", f"{path} cannot be read", "name a file that `jostle classify --save` wrote") from None
    try:
        return _checked(text)
    except (BadInput, ValueError, TypeError, LookupError, AttributeError, RecursionError, ArithmeticError, MemoryError):
        problem = f"{path.name} is no model, or a damaged one"
        raise BadInput("model", problem, "name a file that `jostle classify --save` wrote") from None


def _checked(text: bytes) -> SavedModel:
    if len(text) > LARGEST:
        _refuse("too long")
    document = json.loads(text, parse_constant=_refuse)
    if document["format"] != FORMAT or document["version"] != VERSION:
        _refuse("another format")
    about, task, model = document["about"], _read(document["task"]), _read(document["model"])
    if type(task) is not Task or not isinstance(model, MODELS) or not _are_texts(about):
        _refuse("another shape")
    saved = SavedModel(model, task, about)
    _try(saved)
    return saved


def _try(saved: SavedModel) -> None:
    """Whether the model can score the first and the last cell of each attribute, and each one by itself."""
    sizes = {name: saved.task.sizes[name] for name in saved.task.attributes}
    if not sizes or max(sizes.values()) > 2**20:
        _refuse("too many cells")
    rows = max(sizes.values())
    codes = {name: np.minimum(np.arange(rows), size - 1) for name, size in sizes.items()}
    scores = saved.model.scores(codes)
    if scores.shape != (rows, len(saved.task.classes)) or not np.isfinite(scores).all() or scores.min() < 0:
        _refuse("no probabilities")
    if np.abs(scores.sum(axis=1) - 1).max() > 1e-6:
        _refuse("no probabilities")
    saved.model.describe()


def _plain(model: Model) -> Model:
    """A model that a file can hold: of synthetic records only the classifier, because they have a file of their own."""
    return model.cells if isinstance(model, SyntheticModel) else model


# ---------------------------------------------------------------------------------------------------------- writing


def _written(value: Any) -> Any:
    """As numbers, texts, lists and tables."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, np.ndarray):
        dtype = "int64" if value.dtype.kind in "iub" else "float64"
        data = base64.b64encode(np.ascontiguousarray(value, dtype=np.dtype(dtype).newbyteorder("<")).tobytes()).decode()
        return {_ARRAY: dtype, "shape": list(value.shape), "data": data}
    if isinstance(value, date):
        return {_DATE: value.isoformat()}
    if isinstance(value, Column):
        return {_COLUMN: {name: _written(said) for name, said in value.to_dict().items()}}
    if isinstance(value, Mapping):
        return {_TABLE: {str(name): _written(said) for name, said in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_written(one) for one in value]
    if CLASSES.get(type(value).__name__) is not type(value):
        problem = f"a {type(value).__name__} cannot be written to a file"
        raise BadInput(
            "model", problem, "save a model of PrivateClassifier, a histogram, a grid, an additive model or a tree"
        )
    return {_KIND: type(value).__name__} | {each.name: _written(getattr(value, each.name)) for each in fields(value)}  # type: ignore[arg-type]  # each is a dataclass


# ---------------------------------------------------------------------------------------------------------- reading


def _read(said: Any, depth: int = 0) -> Any:
    """What `_written` was given; an error of Python where the document is not of its making."""
    if depth > DEEPEST:
        _refuse("too deep")
    if said is None or isinstance(said, (bool, int, float, str)):
        return said
    if isinstance(said, list):
        return tuple(_read(one, depth + 1) for one in said)
    readers: dict[str, Callable[[], Any]] = {  # objects first: their fields may be called like the others
        _KIND: lambda: _object(said, depth),
        _ARRAY: lambda: _array(said),
        _DATE: lambda: date.fromisoformat(said[_DATE]),
        _COLUMN: lambda: _column({name: _read(one, depth + 1) for name, one in said[_COLUMN].items()}),
        _TABLE: lambda: {name: _read(one, depth + 1) for name, one in said[_TABLE].items()},
    }
    reader = next((reader for key, reader in readers.items() if key in said), None)
    return reader() if reader else _refuse("a table without a kind")


def _array(said: Mapping[str, Any]) -> NDArray[Any]:
    if said[_ARRAY] not in _ARRAYS:
        _refuse("another kind of numbers")
    numbers = np.frombuffer(base64.b64decode(said["data"], validate=True), dtype=np.dtype(said[_ARRAY]).newbyteorder("<"))
    shape = said["shape"]
    if not all(type(size) is int and size >= 0 for size in shape) or len(shape) > 8 or not np.isfinite(numbers).all():
        _refuse("another shape")
    return numbers.astype(said[_ARRAY]).reshape(shape)


def _column(said: dict[str, Any]) -> Column:
    kind: Any = COLUMN_KINDS[said.pop("kind")]
    column: Column = kind(**said)
    return column


def _object(said: Mapping[str, Any], depth: int) -> Any:
    kind = CLASSES[said[_KIND]]
    found = {name: _read(one, depth + 1) for name, one in said.items() if name != _KIND}
    needed = {each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING}
    if not needed <= set(found) <= {each.name for each in fields(kind)}:  # older files lack what has come since
        _refuse("other fields")
    for each in fields(kind):
        if each.name in found:
            _check_field(found[each.name], str(each.type))
    made = kind(**found)
    if isinstance(made, Task):
        Schema(made.columns)
    if isinstance(made, Tree):
        _check_tree(made)
    return made


def _check_field(value: Any, kind: str) -> None:
    """Raise unless a field is of the kind that its class declares: what follows relies on no more."""
    wanted: tuple[type, ...] = (object,)
    if kind in ("FloatArray", "Counts", "IntArray"):
        wanted = (np.ndarray,)
    elif kind == "str":
        wanted = (str,)
    elif kind == "Model":
        wanted = MODELS
    elif kind == "Task":
        wanted = (Task,)
    elif kind.startswith("Mapping"):
        wanted = (dict,)
    elif kind.startswith(("tuple", "Sequence")):
        wanted = (tuple,)
    elif kind in ("int", "float"):
        wanted = (int, float)
    if not isinstance(value, wanted):
        _refuse(f"a field that is no {kind}")
    if "Tree" in kind and isinstance(value, tuple) and any(type(one) is not Tree for one in value):
        _refuse("a forest without trees")


def _check_tree(tree: Tree) -> None:
    """Raise unless children come after their parents, one per branch: then every walk ends."""
    for number, node in enumerate(tree.nodes):
        if type(node) is not Node or any(type(child) is not int or child <= number for child in node.children):
            _refuse("a tree that leads back")
        if (0 if node.split is None else node.split.arity) != len(node.children):
            _refuse("a tree without branches")
        if any(child >= len(tree.nodes) for child in node.children):
            _refuse("a tree without leaves")


def _are_texts(about: Any) -> bool:
    return isinstance(about, dict) and all(isinstance(name, str) and isinstance(text, str) for name, text in about.items())


def _refuse(problem: str) -> NoReturn:
    raise ValueError(problem)
