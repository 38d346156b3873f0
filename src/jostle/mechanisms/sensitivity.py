"""How far one record may move a number, as the caller states it, and the lattices on which that stays exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.mechanisms.arguments import LARGEST, finite_scores

RESOLUTION = 20
"""Real numbers are rounded down to a lattice with at least 2^20 points per sensitivity."""

_FARTHEST = 2.0**52
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Sensitivity:
    """How far one record may move a number: when it is added or removed, and when it is replaced.

    >>> Sensitivity.of(1), Sensitivity.of((1, 0)).replace
    (Sensitivity(add_remove=Fraction(1, 1), replace=Fraction(2, 1)), Fraction(0, 1))
    """

    add_remove: Fraction
    """The most that one record added or removed moves the number."""

    replace: Fraction
    """The most that one replaced record moves it."""

    @classmethod
    def of(cls, value: object, *, monotone: bool = False, argument: str = "sensitivity") -> Sensitivity:
        """Read one number, for a record added or removed, or the pair (add_remove, replace).

        To replace a record is to remove one and add another, so it moves a number at most twice as far: that is what
        one number stands for. If adding a record, whichever it is, never lowers the number, or never raises it, the
        two moves are opposite, and it is no further.
        """
        if not isinstance(monotone, (bool, np.bool_)):
            remedy = "leave it out unless adding a record never lowers a score"
            raise BadInput("monotone", f"must be True or False, got {monotone!r}", remedy)
        if isinstance(value, (tuple, list)):
            if len(value) != 2:
                raise BadInput(argument, f"has {len(value)} numbers", "pass one, or the pair (add_remove, replace)")
            stated = cls(upper(value[0], argument), upper(value[1], argument, zero=True))
        else:
            once = upper(value, argument)
            stated = cls(once, once if monotone else 2 * once)
        if stated.replace > 2 * stated.add_remove:
            remedy = "pass (add_remove, replace) with replace at most twice add_remove"
            raise BadInput(argument, "claims that replacing a record does more than removing it and adding another", remedy)
        if monotone and stated.replace > stated.add_remove:
            problem = (
                "is claimed, but one replaced record moves these scores further than one added: no monotone score does that"
            )
            raise BadInput("monotone", problem, "leave monotone out, or state the sensitivity of the score that is monotone")
        return stated

    def size(self, neighbours: Neighbours) -> Fraction:
        """How far one person may move the number."""
        return neighbours.sensitivity(self.add_remove, self.replace)

    def reach(self, neighbours: Neighbours, *, monotone: bool) -> Fraction:
        """How far one person may move two such numbers apart.

        Twice as far as one; but when one record is added to scores that all move the same way, as far as one.
        """
        return neighbours.sensitivity(self.add_remove * (1 if monotone else 2), 2 * self.replace)

    def in_units(self, unit: Fraction) -> Sensitivity:
        """In whole units, rounded up."""
        return Sensitivity(Fraction(math.ceil(self.add_remove / unit)), Fraction(math.ceil(self.replace / unit)))


@dataclass(frozen=True)
class Lattice:
    """The multiples of a power of two, and the sensitivity of a number that is rounded down to them.

    Rounding down commutes with a move by whole units, so a number that moves by at most d units moves by at most d units,
    rounded up, after it: no sensitivity is lost between the real number and its point on the lattice.

    >>> Lattice.for_sensitivity(Sensitivity.of(1), Neighbours()).sensitivity.add_remove == 2**20
    True
    """

    exponent: int
    """The unit is two to this power."""

    sensitivity: Sensitivity
    """In whole units."""

    @classmethod
    def for_sensitivity(cls, stated: Sensitivity, neighbours: Neighbours) -> Lattice:
        """Fine enough that rounding the sensitivity up to whole units costs next to nothing."""
        size = stated.size(neighbours) or stated.add_remove
        exponent = math.frexp(float(size))[1] - 1 - RESOLUTION
        return cls(exponent, stated.in_units(Fraction(2) ** exponent))

    @classmethod
    def whole(cls, stated: Sensitivity) -> Lattice:
        """The whole numbers."""
        return cls(0, stated.in_units(Fraction(1)))

    def total_sensitivity(self, size: int) -> Sensitivity:
        """That of an array of this many numbers together: each of them is rounded to the lattice on its own."""
        more = max(size - 1, 0)
        return Sensitivity(*(move and move + more for move in (self.sensitivity.add_remove, self.sensitivity.replace)))

    def floor(self, values: Vector) -> Vector:
        """The lattice point below each number, in units: exact, since the unit is a power of two."""
        return np.asarray(np.floor(np.clip(values, -LARGEST, LARGEST) * 2.0**-self.exponent))

    def points(self, values: Vector) -> Counts:
        """The lattice point below each number as a 64-bit integer; numbers too far out are clipped."""
        return np.clip(self.floor(values), -(2.0**61), 2.0**61).astype(np.int64)

    def numbers(self, points: Any) -> Vector:
        """The numbers that lattice points stand for."""
        return np.asarray(points, dtype=np.float64) * 2.0**self.exponent

    def gaps(self, scores: Vector, lengths: Counts | Vector | None = None) -> Counts:
        """How far each score is below the best of those that can be drawn, in units.

        Scores further down than 2^52 units count as that far: no two scores move further apart by it. (A score's distance
        from the best moves within an interval that contains 0 and is no longer than the reach; a clipped distance moves
        by a part of that.) A piece of no length cannot be drawn and does not count: no point of it vouches for its score.
        """
        below = self.floor(scores)
        best = (below if lengths is None else below[lengths > 0]).max()
        return np.asarray(np.clip(best - below, 0, _FARTHEST), dtype=np.int64)


def upper(value: object, argument: str, *, zero: bool = False) -> Fraction:
    """A stated sensitivity as an exact number that is not below what was written, nor below the float that it became.

    >>> upper(0.1, "sensitivity") >= Fraction(1, 10), upper(2, "sensitivity")
    (True, Fraction(2, 1))
    """
    number = exact(value, argument, zero=zero)
    if isinstance(value, float):
        number = max(number, Fraction(value))
    if number and not Fraction(1, int(2.0**400)) <= number <= Fraction(int(2.0**400)):
        raise BadInput(argument, "is too small or too large to calculate with", "use units in which it is near 1")
    return number


def check_scores(
    score: Callable[[Sequence[Any]], Any],
    records: Sequence[Any],
    *,
    sensitivity: Any,
    monotone: bool = False,
    others: Sequence[Any] = (),
) -> None:
    """Raise if a score function moves further, or less uniformly, than is claimed, on neighbours of these public records.

    Monotone scores are never lowered by a record that is added, whichever it is; or never raised.

    This is no proof, and costs nothing. It removes every record, adds every one of `others` (by default the records
    themselves), and replaces every record by each of them. A claim that passes here may still be false elsewhere; one that
    fails is false.

    >>> def distances(ages):  # from each candidate to the mean age: some fall while others rise
    ...     return [-abs(sum(ages) / 100 - candidate) for candidate in (20, 40, 60)]
    >>> check_scores(distances, [30, 50] * 40, sensitivity=1, monotone=True, others=[0, 100])
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: monotone: is claimed, but added records move some scores up and others down. Remedy: leave
    monotone out: the noise doubles.
    """
    stated, records = Sensitivity.of(sensitivity, monotone=monotone), list(records)
    start = finite_scores(score(records))
    highest = lowest = 0.0  # what adding a record does to a score, over all records
    for neighbour, added in _neighbours(records, list(others) or records):
        change = finite_scores(score(neighbour)) - start
        slack = _check_size(change, float(stated.add_remove if added else stated.replace))
        highest = max(highest, (added * change).max(initial=0.0))
        lowest = min(lowest, (added * change).min(initial=0.0))
        if monotone and highest > slack and lowest < -slack:
            problem = "is claimed, but added records move some scores up and others down"
            raise BadInput("monotone", problem, "leave monotone out: the noise doubles")


def _check_size(change: Vector, allowed: float) -> float:
    slack = _TOLERANCE * max(1.0, allowed)
    if np.abs(change).max(initial=0.0) > allowed + slack:
        problem = f"is stated as {allowed:g}, and one record moves a score further"
        raise BadInput("sensitivity", problem, "state a larger one")
    return slack


def _neighbours(records: list[Any], others: list[Any]) -> Iterator[tuple[list[Any], int]]:
    """Each neighbour, with 1 for a record added, −1 for one removed and 0 for one replaced."""
    for other in others:
        yield [*records, other], 1
    for index in range(len(records)):
        rest = records[:index] + records[index + 1 :]
        yield rest, -1
        for other in others:
            yield [*rest, other], 0
