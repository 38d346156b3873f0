"""Private expressions: rules that build a function of the data and derive, beside it, how far one record moves it.

A term is a vector of whole numbers in units of 1/unit. Every rule keeps two invariants (docs/proofs/expressions.md):

1. Entry e depends on no cells but those whose label is e; cells that are labelled −1 touch none. So a record that is added
   moves one entry at most, and it moves it by `low` to `high`.
2. A record that is replaced either moves two entries, each as far as by 1, or one entry, by at most `span` up or down.

All three bounds are in units, and whole, so that no rounding can escape them. They are enough for norms, deviations and
maxima. Nobody states a sensitivity: a term can be made by these rules alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from jostle.kernel.arguments import LARGEST_TOTAL, domain_of
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.partition import Counts, Partition, check_partition, fixed

DEEPEST: Final = 200
"""The most rules that may be applied one after the other."""

LATTICE: Final = 2**20
"""Numbers that are not rational are rounded down to this fraction of one."""

_SEAL: Final = object()


def set_once(self: object, name: str, value: object) -> None:
    """For `__setattr__`: bounds and values were derived together, so neither is changed without the other."""
    if hasattr(self, name):
        raise PlanError(f"{name} is derived, and cannot be changed: make a new one with jostle.kernel.functions.expressions")
    object.__setattr__(self, name, value)


@final
class Term:
    """A vector that depends on the data, with how far one record moves it. Made by the rules of this module alone."""

    __slots__ = ("_parts", "_rule", "_wide", "depth", "high", "labels", "low", "mass", "span", "unit", "zero")
    __setattr__ = set_once

    labels: Counts | None
    """For every cell the entry that it touches, or −1; None where no cell touches any."""

    zero: Any
    """The values on empty data."""

    mass: int
    """No data have entries whose absolute values add up to more."""

    def __init__(
        self,
        seal: object,
        rule: Callable[..., Any],
        *parts: Term,
        labels: Counts | None,
        unit: int,
        moves: tuple[int, int, int],
        room: int = 0,
    ) -> None:
        if seal is not _SEAL or any(type(part) is not Term for part in parts):
            raise PlanError(
                "a term's bounds are derived, not stated: make it with the rules of kernel.functions.expressions"
            )
        self._rule, self._parts, self.unit = rule, parts, unit
        self.labels = None if labels is None else fixed(labels)
        self.low, self.high, self.span = moves
        self._wide = room >= 2**62
        self.depth: int = 1 + max((part.depth for part in parts), default=0)
        if self.depth > DEEPEST or max(unit, room).bit_length() > 512:
            raise BadInput("expression", "is nested too deeply, or its public numbers are too long", "make it simpler")
        empty = [part.zero for part in parts] or [np.zeros(0 if labels is None else labels.size, np.int64)]
        self.zero = fixed(self._apply(empty))  # for `public`, it is the constant itself
        self.mass = sum(abs(entry) for entry in self.zero.tolist()) + LARGEST_TOTAL * self.reach

    @property
    def entries(self) -> int:
        """The length of the vector."""
        return int(self.zero.size)

    @property
    def reach(self) -> int:
        """How far a record that is added or removed moves its entry."""
        return max(-self.low, self.high)

    def values(self, x: Counts, known: dict[int, Any] | None = None) -> Any:
        """The true numbers, in units: only for operators and for public data."""
        known = {} if known is None else known  # a term that is used twice is evaluated once
        if id(self) not in known:
            known[id(self)] = self._apply([part.values(x, known) for part in self._parts] or [x])
        return known[id(self)]

    def _apply(self, arguments: list[Any]) -> Any:
        return self._rule(*(a.astype(object) if self._wide else a for a in arguments))


def cells(size: int | tuple[int, ...]) -> Term:
    """The counts themselves: of this number of cells, or of a grid's in row-major order.

    >>> cells(3).low, cells(3).high, cells(3).span
    (1, 1, 0)
    """
    labels = np.arange(math.prod(domain_of(size)))
    return Term(_SEAL, lambda x: x, labels=labels, unit=1, moves=(1, 1, 0))


def public(numbers: list[int], unit: int = 1) -> Term:
    """Numbers that everybody knows, in units of 1/unit: no record moves them.

    >>> public([3, 4]).reach
    0
    """
    _check_whole(unit, *numbers)
    room = max(map(abs, numbers))
    constant = np.array(numbers, dtype=object if room >= 2**62 else np.int64)
    return Term(_SEAL, lambda _: constant, labels=None, unit=unit, moves=(0, 0, 0), room=room)


def weighted(of: Term, weights: list[int], unit: int = 1) -> Term:
    """Each entry times its public weight, in units of 1/unit; a single weight is for all entries.

    >>> term = weighted(cells(3), [2, 0, -1])
    >>> term.values(np.array([5, 5, 5])).tolist(), term.low, term.high
    ([10, 0, -5], -1, 2)
    """
    _check_whole(unit, *weights)
    if len(weights) not in (1, of.entries):
        raise BadInput("weights", f"must be one number, or one for each of {of.entries} entries", "make them fit")
    heaviest, ends = max(map(abs, weights)), [w * move for w in (min(weights), max(weights)) for move in (of.low, of.high)]
    room = heaviest * (of.mass + 1)
    factors = np.array(weights, dtype=object if room >= 2**62 else np.int64)
    moves = min(ends), max(ends), heaviest * of.span
    return Term(_SEAL, lambda v: v * factors, of, labels=of.labels, unit=of.unit * unit, moves=moves, room=room)


def grouped(of: Term, partition: Partition) -> Term:
    """The sums of groups of entries. Two entries of a group may move against each other.

    >>> grouped(cells(4), Partition.of([0, 0, 1, 1])).values(np.array([1, 2, 3, 4])).tolist()
    [3, 7]
    """
    check_partition(partition, of.entries)
    apart = of.high - of.low if partition.groups < of.entries else 0
    labels = None if of.labels is None else np.where(of.labels < 0, -1, partition.labels[of.labels])
    moves = of.low, of.high, max(of.span, apart)
    return Term(_SEAL, partition.sums, of, labels=labels, unit=of.unit, moves=moves, room=of.mass)


def taken(of: Term, kept: Counts) -> Term:
    """Some of the entries, by their places in order. A record may come from where nobody looks.

    >>> taken(cells(4), np.array([1, 3])).values(np.array([1, 2, 3, 4])).tolist()
    [2, 4]
    """
    places = np.array(kept, dtype=np.int64)
    if places.size == 0 or places.min() < 0 or places.max() >= of.entries or (np.diff(places) <= 0).any():
        raise BadInput("expression", "keeps no entry, or one that is not there", "widen the condition")
    new = np.full(of.entries + 1, -1)  # the last is for cells that were dropped before
    new[places] = np.arange(places.size)
    low, high = min(of.low, 0), max(of.high, 0)
    labels, moves = None if of.labels is None else new[of.labels], (low, high, max(of.span, high - low))
    return Term(_SEAL, lambda v: v[places], of, labels=labels, unit=of.unit, moves=moves)


def clipped(of: Term, least: int, most: int) -> Term:
    """Each entry, not below `least` and not above `most`, which are in units.

    >>> clipped(cells(3), 0, 1).values(np.array([0, 1, 7])).tolist()
    [0, 1, 1]
    """
    _check_whole(1, least, most)
    if least > most:
        raise BadInput("clip", "has a lower bound above the upper one", "swap them")
    ends, width = _ends(of), most - least
    if ends[0] >= most or ends[1] <= least:  # whatever the data
        width = 0
    moves = max(min(of.low, 0), -width), min(max(of.high, 0), width), min(of.span, width)
    room = max(of.mass, abs(least), abs(most))

    def clip(v: Any) -> Any:
        return np.minimum(np.maximum(v, least), most)

    return Term(_SEAL, clip, of, labels=of.labels, unit=of.unit, moves=moves, room=room)


def added(left: Term, right: Term) -> Term:
    """Entry by entry, left plus right.

    >>> added(cells(2), public([10, 20])).values(np.array([1, 2])).tolist()
    [11, 22]
    """
    labels, unit, p, q, room = _together(left, right)
    moves = p * left.low + q * right.low, p * left.high + q * right.high, p * left.span + q * right.span
    return Term(_SEAL, lambda v, w: p * v + q * w, left, right, labels=labels, unit=unit, moves=moves, room=room)


def larger(left: Term, right: Term) -> Term:
    """Entry by entry, the larger of left and right.

    >>> larger(cells(2), public([2, 2])).values(np.array([1, 5])).tolist()
    [2, 5]
    """
    labels, unit, p, q, room = _together(left, right)
    for one, a, other, b in ((left, p, right, q), (right, q, left, p)):
        if a * _ends(one)[0] >= b * _ends(other)[1]:  # whatever the data
            return one
    moves = min(p * left.low, q * right.low), max(p * left.high, q * right.high), max(p * left.span, q * right.span)

    def pick(v: Any, w: Any) -> Any:
        return np.maximum(p * v, q * w)

    return Term(_SEAL, pick, left, right, labels=labels, unit=unit, moves=moves, room=room)


def largest(of: Term) -> Term:
    """The largest entry: it moves no further than the entries do.

    >>> largest(cells(3)).values(np.array([1, 5, 2])).tolist()
    [5]
    """
    if of.entries == 1:
        return of
    moves = min(of.low, 0), max(of.high, 0), max(of.reach, of.span)
    return Term(_SEAL, lambda v: v.max(keepdims=True), of, labels=_one(of), unit=of.unit, moves=moves)


def length(of: Term, *, centred: bool = False, divisor: int = 1) -> Term:
    """The root of the sum of squares over a divisor, of the entries or of what they differ from their mean by.

    >>> length(cells(2)).values(np.array([3, 4])).tolist() == [5 * LATTICE]
    True
    """
    if type(centred) is not bool:  # the bound would count with the number, the value with its truth
        raise BadInput("centred", "must be True or False", "leave it out")
    k, f = of.entries, of.entries - centred
    if type(divisor) is not int or divisor < 1:
        raise BadInput("expression", "divides a sum of squares by nothing", "use more groups, or ddof=0")
    across = 2 * k * of.reach**2 if k > 1 else 0
    squares = f * of.reach**2, max(across, f * of.span**2)
    # a root moves by a real number; rounded down on both sides, by less than a unit more
    once, twice = (_root(square, k * divisor) + 1 if square else 0 for square in squares)

    def root(v: Any) -> Any:
        entries = v.tolist()  # Python's integers, so that squares are exact
        spread = k * sum(e * e for e in entries) - (sum(entries) ** 2 if centred else 0)
        return np.array([_root(spread, k * divisor)], dtype=object)

    return Term(_SEAL, root, of, labels=_one(of), unit=of.unit * LATTICE, moves=(-once, once, twice))


def variation(of: Term) -> Term:
    """Half the L1 distance from the vector whose entries all are the mean.

    >>> variation(cells(3)).values(np.array([3, 0, 3])).tolist(), variation(cells(3)).unit
    ([6], 3)
    """
    k = of.entries
    across = max(k, 2 * (k - 2) if of.low < 0 < of.high else 0) * of.reach if k > 1 else 0
    moves = -(k - 1) * of.reach, (k - 1) * of.reach, max(across, (k - 1) * of.span)

    def above(v: Any) -> Any:
        return np.maximum(k * v - v.sum(), 0).sum(keepdims=True)

    return Term(_SEAL, above, of, labels=_one(of), unit=of.unit * k, moves=moves, room=2 * k * of.mass)


def deviation(of: Term) -> Term:
    """The sum of the entries' distances from their median, the least there is from any number.

    >>> deviation(cells(3)).values(np.array([3, 0, 5])).tolist()
    [5]
    """
    k, half = of.entries, of.entries // 2
    moves = (-of.reach, of.reach, max(2 * of.reach, of.span)) if k > 1 else (0, 0, 0)

    def apart(v: Any) -> Any:
        ordered = np.sort(v)
        return ordered[k - half :].sum(keepdims=True) - ordered[:half].sum(keepdims=True)

    return Term(_SEAL, apart, of, labels=_one(of), unit=of.unit, moves=moves, room=2 * of.mass)


def _check_whole(unit: int, *numbers: int) -> None:
    """Raise unless public numbers are whole: bounds and values would be rounded apart."""
    if not numbers or any(type(number) is not int for number in (unit, *numbers)) or unit < 1:
        raise BadInput("numbers", "must be whole, over a whole unit of at least 1", "pass Python's integers")


def _root(numerator: int, denominator: int) -> int:
    """√(numerator/denominator) on the lattice, rounded down."""
    return math.isqrt(numerator * LATTICE**2 // denominator)


def _one(of: Term) -> Counts | None:
    """The labels of a number: every cell is in its one entry."""
    return None if of.labels is None else np.zeros_like(of.labels)


def _ends(of: Term) -> tuple[int, int]:
    """Numbers that no entry is below, or above: from empty data, each record moves one entry by `low` to `high`."""
    return min(of.zero.tolist()) + LARGEST_TOTAL * min(of.low, 0), max(of.zero.tolist()) + LARGEST_TOTAL * max(of.high, 0)


def _together(left: Term, right: Term) -> tuple[Counts | None, int, int, int, int]:
    """Common labels and unit, what each side is multiplied by, and room: a record must touch the same entry of both."""
    labels = right.labels if left.labels is None else _one(left) if left.entries == 1 else left.labels
    known = left.labels is None or right.labels is None or left.entries == 1
    if left.entries != right.entries or not (known or np.array_equal(left.labels, right.labels)):  # type: ignore[arg-type]
        raise BadInput("expression", "combines vectors over different groups", "group both in the same way")
    unit = math.lcm(left.unit, right.unit)
    p, q = unit // left.unit, unit // right.unit
    return labels, unit, p, q, p * (left.mass + 1) + q * (right.mass + 1)
