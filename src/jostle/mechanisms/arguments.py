"""Checks of what a caller states, and the reading of private numbers.

Everything that can be refused is refused here, before a token is spent. Private *values* are never refused: they are
clipped, dropped or replaced, by the rule that each mechanism states. A refusal that depends on them would be a bit that
nobody paid for.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Rational, Real
from typing import Any, TypeVar

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.schema.arrow import as_array
from jostle.schema.values import unmasked

LARGEST = 2.0**500
"""Private numbers are clipped to this size, and public ones beyond it are refused, so that no arithmetic overflows."""

_WHOLE = 2**61
_NUMBERS = "pass numbers, such as a list of floats or an array"

T = TypeVar("T")


def check_budget(budget: object) -> Budget:
    """Refuse anything but a budget token."""
    if not isinstance(budget, Budget):
        remedy = "pass account.grant(ε) for private data, or simulation(seed=0).grant(ε) for public data"
        raise BadInput("budget", f"must be a budget token, got {type(budget).__name__}", remedy)
    return budget


def among(budget: object, filtered: object) -> Neighbours:
    """What one person may change in a column, according to the token; `filtered` says that some records were left out.

    Under `replace`, the number of remaining records is then private: the record that is replaced may be one of them.

    >>> from jostle.kernel.source import simulation
    >>> among(simulation(seed=0, neighbours="replace").grant(1), True).total_is_public
    False
    """
    neighbours = check_budget(budget).neighbours
    if not isinstance(filtered, (bool, np.bool_)):
        raise BadInput("filtered", "must be True or False", "pass True where some records were left out")
    return neighbours.among_filtered() if filtered else neighbours


def check_bounds(bounds: object) -> tuple[float, float]:
    """Two finite numbers in rising order: the public interval that values are clipped to.

    >>> check_bounds((0, 100))
    (0.0, 100.0)
    """
    remedy = "pass public numbers (low, high), known without looking at the data"
    try:
        low, high = (float(end) for end in bounds)  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError):
        raise BadInput("bounds", "must be two numbers", remedy) from None
    if not (math.isfinite(low) and math.isfinite(high)):
        problem = f"must be finite, got ({low}, {high}): one record could move the answer without limit"
        raise BadInput("bounds", problem, remedy)
    if low >= high:
        raise BadInput("bounds", f"must rise, got ({low}, {high})", remedy)
    if max(-low, high) > LARGEST or high - low < max(-low, high, 1 / LARGEST) * 2.0**-40:
        problem = "are too far out, or too close together, to calculate with"
        raise BadInput("bounds", problem, "shift or scale the values first")
    return low, high


def check_confidence(confidence: float) -> float:
    """A probability strictly between 0 and 1."""
    number = _stated(confidence)
    if not 0 < number < 1:
        raise BadInput("confidence", f"must be between 0 and 1, got {_shown(confidence)}", "pass for instance 0.95")
    return number


def check_positive(value: float, argument: str) -> float:
    """A public, finite number above 0."""
    number = _stated(value)
    if not 0 < number < math.inf:
        raise BadInput(argument, f"must be a number above 0, got {_shown(value)}", "pass for instance 1")
    return number


def _stated(value: object) -> float:
    """A public number as a float: NaN if it is no number, infinite if it is beyond all floats."""
    return math.nan if isinstance(value, str) else _float(value)


def _shown(value: object) -> str:
    """A public number with few digits, for a message; the type, if it is no number."""
    return f"{_stated(value):g}" if isinstance(value, (Real, Decimal)) else f"a {type(value).__name__}"


def numbers(values: object, argument: str) -> Vector:
    """An array of floats. Their values are private; that they are numbers is public.

    Each of Python's objects is read by itself: a text as the number that it spells, and anything that is not a number as
    missing. That never raises, not even if nothing is a number, since one more number would then make the difference. An
    array whose type is text is refused. (The message does not name the type, which would reveal the length of the longest
    text.) A complex number counts as missing: Python's roots of negative numbers are complex.
    """
    if isinstance(values, (complex, np.complexfloating)):
        return np.array(np.nan)
    array = _array(values, argument, one_by_one="UScmM")
    if array.dtype == object:
        array = np.array([_float(value) for value in array.reshape(-1)], dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in "biuf":
        raise BadInput(argument, "must be numbers", _NUMBERS)
    with np.errstate(over="ignore", invalid="ignore"):  # of longer floats, to infinity, and of NaN that signal
        return np.asarray(array, dtype=np.float64)


def is_whole(value: object) -> bool:
    """Whether an array, or a single number, has a whole type. A list has no type: its content is private.

    >>> is_whole(3), is_whole(np.array([3, 4])), is_whole([3, 4])
    (True, True, False)
    """
    kind = _own_kind(value)
    return kind in "biu" if kind else isinstance(value, int)


def is_nothing(value: object) -> bool:
    """Whether a single number is missing, like a database's sum over no rows, or that of a fully masked array."""
    return value is None or value is np.ma.masked or type(value).__name__ == "NAType"  # that of pandas


def _own_kind(values: object) -> str:
    """The kind of an array's or a column's own type; "" if it has none.

    Columns of pandas, Polars and Arrow become NumPy's floats or objects as soon as one value is missing, so one record would
    decide. In the empty column none is missing.
    """
    if not hasattr(values, "__array__"):
        return ""
    own = getattr(values, "dtype", None)
    if isinstance(own, np.dtype):
        return own.kind
    try:
        empty = values.head(0) if hasattr(values, "head") else values[:0]  # type: ignore[index]
    except (TypeError, LookupError):  # it has no parts
        empty = values
    return np.asarray(empty).dtype.kind


def whole_numbers(value: object, argument: str) -> Counts | None:
    """Numbers as 64-bit integers, clipped to ±2^61; None if their type is not a whole one.

    They never become floats on the way: above 2^53 that would round them, and move two neighbours apart. In a list, each is
    read by itself, and none is refused: anything that is not a number counts as 0, and others are rounded down, which moves
    no two of them further apart than the next whole number. Missing numbers count as 0.

    >>> whole_numbers([2**53 + 1, -0.5, None], "value").tolist(), whole_numbers(0.5, "value")
    ([9007199254740993, -1, 0], None)
    """
    if is_nothing(value):
        return np.array(0, dtype=np.int64)
    array, whole = _array(value, argument, one_by_one="cfmMSU"), is_whole(value)
    if array.dtype.kind not in "biu" and whole and array.ndim:
        array = _objects(value)
    if array.dtype == object and (array.ndim or whole):
        return np.array([_rounded_down(number) for number in array.reshape(-1)], np.int64).reshape(array.shape)
    if array.dtype.kind == "u":
        array = np.minimum(array, np.uint64(_WHOLE))
    return np.clip(array.astype(np.int64), -_WHOLE, _WHOLE) if array.dtype.kind in "biu" else None


def _array(values: object, argument: str, *, one_by_one: str) -> Any:
    """An array; of objects, if NumPy would convert a whole list to one type of these kinds."""
    values = _unmasked(values)
    typed = hasattr(values, "__array__") or isinstance(values, (str, bytes))
    if isinstance(values, (Mapping, Iterator)) and not typed:
        raise BadInput(argument, "must be numbers", _NUMBERS)
    listed = isinstance(values, Collection) and not typed
    if hasattr(values, "shape") and not typed and not listed:  # it would be one object that is no number
        raise BadInput(argument, "must be numbers", "pass an array: .toarray() of a sparse one")
    try:
        collected = _items(values) if listed else values
        array = as_array(collected)
        return np.asarray(collected, dtype=object) if listed and array.dtype.kind in one_by_one else array
    except (TypeError, ValueError):
        raise BadInput(argument, "must be numbers", _NUMBERS) from None


def _unmasked(values: Any) -> Any:
    """Masked values are missing. An array of a type that holds no numbers keeps its type, and is refused for it."""
    masked = isinstance(values, np.ma.MaskedArray)
    return unmasked(values) if masked and values.dtype.kind in "biufO" else np.asarray(values) if masked else values


def _items(values: Any) -> list[Any]:
    """The items of a list or the like; NumPy would warn of masked items, and read those in a masked row as values."""
    return [None if item is np.ma.masked else _unmasked(item) for item in values]


def _objects(values: Any) -> Any:
    """The values of a column, or of several, as Python's objects: whole numbers stay whole where others are missing."""
    if hasattr(values, "column_names") or hasattr(values, "get_columns"):  # a table of Arrow's, or of Polars
        several = values.columns if hasattr(values, "column_names") else values.get_columns()
        return np.stack([_objects(one) for one in several], axis=1)
    if hasattr(values, "columns") or isinstance(values, np.ma.MaskedArray):
        return np.asarray(_unmasked(values), dtype=object)
    return np.array(values.to_pylist() if hasattr(values, "to_pylist") else [*values], dtype=object)


def _rounded_down(number: object) -> int:
    """The whole number below a number of any type, without losing digits on the way; 0 if it is no number."""
    if isinstance(number, np.timedelta64):  # NumPy counts it among whole numbers
        return 0
    if isinstance(number, Rational):
        return min(max(int(number.numerator) // int(number.denominator), -_WHOLE), _WHOLE)
    real = _long(number)
    if real.is_nan():
        return 0
    # clipped first: some have more digits than any computer
    return _WHOLE if real >= _WHOLE else -_WHOLE if real <= -_WHOLE else math.floor(real)


def _long(number: object) -> Decimal:
    """A number as a decimal with all its digits; NaN if it is no number."""
    if isinstance(number, Decimal):
        return number
    if isinstance(number, np.bool_):
        return Decimal(int(number))
    if isinstance(number, np.longdouble) and np.isfinite(number):  # whole parts are enough
        return Decimal(int(np.floor(number)))
    if isinstance(number, str):
        with contextlib.suppress(ArithmeticError):  # what is beyond all decimals is an infinite float
            return Decimal(number)
    return Decimal.from_float(_float(number))


def _float(value: object) -> float:
    if not isinstance(value, (Real, Decimal, str)) or isinstance(value, np.timedelta64):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]  # a real number does compare
    except (TypeError, ValueError):  # a signaling NaN, or a text that says no number
        return math.nan


def column(values: object) -> Vector:
    """The private values of one column, one number per record; NaN where it is missing."""
    array = numbers(_one_by_one(values), "values")
    if array.ndim != 1:
        raise BadInput(
            "values", f"must be one number per record, not an array of {array.ndim} dimensions", "pass one column"
        )
    return array


def _one_by_one(values: object) -> object:
    """A list as an array with one value per item, whatever that is: a list among numbers is no second dimension."""
    if hasattr(values, "__array__") or not isinstance(values, Collection) or isinstance(values, (str, bytes, Mapping)):
        return values
    items = _items(values)
    try:
        array = as_array(items)
        if array.dtype.kind in "biuf" and array.ndim == 1:
            return array
    except (TypeError, ValueError):
        pass
    objects = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        objects[place] = item
    return objects


def finite_scores(scores: object, argument: str = "scores") -> Vector:
    """One finite number each, of public data. The message says that one is not finite, never which."""
    array = _one_each(scores, argument)
    if not np.isfinite(array).all():
        raise BadInput(argument, "must be finite numbers, and some are not", "repair what computes them, for any data")
    return array


def private_scores(scores: object, argument: str = "scores") -> Vector:
    """One number each, of private data: none is refused. A NaN counts as lower than all others, and so does −∞.

    >>> private_scores([1, float("inf"), float("nan")]).tolist() == [1, LARGEST, -LARGEST]
    True
    """
    return np.nan_to_num(np.clip(_one_each(scores, argument), -LARGEST, LARGEST), nan=-LARGEST)


def _one_each(scores: object, argument: str) -> Vector:
    array = numbers(scores, argument)
    if array.ndim != 1:
        problem = f"must be one number each, not an array of {array.ndim} dimensions"
        raise BadInput(argument, problem, "pass a list of numbers")
    return array


def listed(values: object, argument: str) -> list[Any]:
    """Several public values, in order, as a list.

    >>> listed((0.25, 0.5), "probabilities")
    [0.25, 0.5]
    """
    try:
        return list(values)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise BadInput(argument, "must be several numbers", "pass a list, even of one number") from None


def in_order(candidates: Iterable[T]) -> Sequence[T]:
    """At least one candidate, by position: the keys of a dictionary, or the values of a table's column.

    >>> in_order({"pizza": 27, "salad": 23})
    ['pizza', 'salad']
    """
    if isinstance(candidates, Sequence) or (isinstance(candidates, np.ndarray) and candidates.ndim):
        options: Any = candidates
    elif isinstance(candidates, (set, frozenset, np.ndarray)) or not isinstance(candidates, Iterable):
        raise BadInput("candidates", "must be in some order", "pass a list, in the order of the scores")
    else:
        options = list(candidates)
    if len(options) == 0:
        raise BadInput("candidates", "are empty", "pass at least one")
    return options  # type: ignore[no-any-return]


def with_scores(candidates: Iterable[T], scores: object) -> tuple[Sequence[T], Vector]:
    """Candidates in order, and one score for each; a dictionary of candidates may bring its scores along.

    >>> options, scores = with_scores({"pizza": 27, "salad": 23}, None)
    >>> options, scores.tolist()
    (['pizza', 'salad'], [27.0, 23.0])
    """
    remedy = "pass one score per candidate, in order"
    if scores is None and not isinstance(candidates, Mapping):
        raise BadInput("scores", "are missing", f"{remedy}, or a dictionary {{candidate: score}}")
    array = private_scores(list(candidates.values()) if scores is None else scores)  # type: ignore[attr-defined]
    options = in_order(candidates)
    if len(options) != array.size:
        raise BadInput("scores", f"are {array.size} for {len(options)} candidates", remedy)
    return options, array


def candidate_at(options: Sequence[T], place: Any) -> T:
    """The candidate at a place. A simulation with trials has one place per trial, and its candidates are an array.

    >>> candidate_at(["pizza", "salad"], 1), candidate_at(np.array([5, 7]), np.array([1, 1, 0])).tolist()
    ('salad', [7, 7, 5])
    """
    if not np.ndim(place):
        return options[int(place)]
    if not isinstance(options, np.ndarray):
        one_trial(place, ())
    chosen: T = options[place]
    return chosen


def one_trial(noisy: Any, shape: tuple[int, ...]) -> Any:
    """What was drawn, if it was drawn once: mechanisms that decide something cannot have a leading axis of trials."""
    if np.shape(noisy) != shape:
        raise PlanError("this mechanism runs one trial at a time: make the simulation without trials")
    return noisy
