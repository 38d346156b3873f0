"""Private cells: regions, groups, conditions on their values, and sums.

Privacy: as for every expression, the kernel's rules bound it; see `jostle.choice.expressions.private`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, NoReturn, final

import numpy as np

from jostle.choice.expressions.private import Draft, Private, PrivateNumber, Scope, number, text_of, total
from jostle.choice.expressions.public import REGION_FIRST, Comparable, Mask, PublicNumber, check_axis, public, short
from jostle.kernel.errors import BadInput
from jostle.kernel.functions import expressions as rules
from jostle.kernel.partition import Counts, Partition
from jostle.kernel.strategies import lattice


class Cells(Private, Comparable["Condition"]):
    """One private number per cell, or per group of cells."""

    @classmethod
    def _plain(cls) -> type[Private]:
        return Cells

    def sum(self) -> PrivateNumber:
        """The sum over all entries.

        >>> from jostle.choice.expressions import db
        >>> db.values.sum().value([1, 2])
        3.0
        """
        return number(f"{self.text}.sum()", total, self)

    def count(self) -> NoReturn:
        """Refused: the number of cells is public. Conditions on values can be counted."""
        raise BadInput(
            f"`{self.text}.count()`",
            "counts entries whatever they are, and their number is public",
            "use db.size, or count a condition such as (db.values > 0)",
        )

    def groupby(self, **widths: PublicNumber | float) -> Groups:
        """Groups of cells within the same interval along each axis, by its width in coordinates; other axes are added up.

        >>> from jostle.choice.expressions import db
        >>> db.groupby(x=2).sum().sum().value([1, 2, 3])
        6.0
        """
        return Groups(self, widths)

    def where(self, condition: Mask | Flags) -> Any:
        """The cells of a region; or, under a condition on their values, what can be summed and counted.

        >>> from jostle.choice.expressions import db
        >>> db.where(db.x < 2).sum().value([1, 2, 3]), db.where(db.values > 1).sum().value([1, 2, 3])
        (3.0, 5.0)
        """
        if isinstance(condition, Mask):
            return self._like(f"{self.text}.where({condition.text})", lambda scope: _kept(scope, self, condition), self)
        if isinstance(condition, Flags):
            if condition.of is not self:
                text = short(f"{self.text}.where({condition.text})")
                raise BadInput(f"`{text}`", "is a condition on other cells than those it selects", REGION_FIRST)
            return Filtered(self, condition)
        raise BadInput("condition", "must be on coordinates or on values", "pass for instance db.x < 8 or db.values > 0")

    def weighted(self, weights: object) -> Cells:
        """Each entry times its own public number; real numbers are kept to 2^-20 of the largest.

        >>> from jostle.choice.expressions import db
        >>> db.values.weighted([1, 0.5]).sum().value([2, 2])
        3.0
        """
        whole, unit = lattice(weights)
        factors = [int(w) for w in np.ravel(whole)]
        return self._derived(lambda term: rules.weighted(term, factors, unit), f"{self.text}.weighted(…)")

    def _step(self, limit: PublicNumber, *, strict: bool) -> Cells:
        """1 where an entry is above the limit (or at it, unless strict), else 0: a clip to one unit, stretched."""

        def draft(scope: Scope) -> Draft:
            (term, places), at = scope(self), limit.on(scope.domain)
            below = math.floor(at * term.unit) if strict else math.ceil(at * term.unit) - 1
            step = rules.clipped(term, below, below + 1)
            if below:
                step = rules.added(step, rules.public([-below] * term.entries, term.unit))
            return rules.weighted(step, [term.unit]) if term.unit > 1 else step, places

        return Cells(f"({self.text} {'>' if strict else '>='} {limit.text})", draft, self)

    def compared(self, sign: str, other: object) -> Condition:
        text = f"({self.text} {sign} {text_of(other)})"
        if isinstance(other, Private):
            raise BadInput(f"`{text}`", "compares with a private number", "measure the limit, then compare with that")
        limit = public(other, f"`{text}`")
        constant, steps = _STEPS[sign]
        return Condition(self, text, constant, tuple((factor, limit, strict) for factor, strict in steps))


_STEPS: dict[str, tuple[int, tuple[tuple[int, bool], ...]]] = {
    ">": (0, ((1, True),)),
    ">=": (0, ((1, False),)),
    "<": (1, ((-1, False),)),
    "<=": (1, ((-1, True),)),
    "=": (0, ((1, False), (-1, True))),
    "<>": (1, ((-1, False), (1, True))),
}
"""Each comparison as a number plus or minus steps, which are strict (>) or not (≥)."""


class Flags(Cells):
    """1 for each entry that satisfies a condition on values, else 0. Combine with `&`, `|` and `~`."""

    def __init__(self, whole: Cells, text: str, of: Cells | None) -> None:
        self.of = of
        """The cells whose values the condition is on; None if they are several."""
        super().__init__(text, whole._draft, whole)

    def count(self) -> PrivateNumber:  # type: ignore[override]
        """How many entries satisfy it.

        >>> from jostle.choice.expressions import db
        >>> ((db.values > 0) & (db.values < 4)).count().value([3, 0, 4])
        1.0
        """
        return number(f"{self.text}.count()", total, self)

    def where(self, condition: Mask | Flags) -> Any:
        """Flags within a region, or where another condition holds, too."""
        if isinstance(condition, Flags):
            return self & condition
        kept = super().where(condition)
        return Flags(kept, kept.text, None)

    def __and__(self, other: object) -> Flags:
        text = f"({self.text} & {text_of(other)})"
        flags = _check_flags(other, text)
        return Flags(-((-self)._joined(-flags, rules.larger, text)), text, self.of if self.of is flags.of else None)

    def __or__(self, other: object) -> Flags:
        text = f"({self.text} | {text_of(other)})"
        flags = _check_flags(other, text)
        return Flags(self._joined(flags, rules.larger, text), text, self.of if self.of is flags.of else None)

    def __invert__(self) -> Flags:
        return Flags(1 - self, f"~{self.text}", self.of)


@final
class Condition(Flags):
    """Which entries compare so with one public number."""

    def __init__(self, of: Cells, text: str, constant: int, steps: tuple[tuple[int, PublicNumber, bool], ...]) -> None:
        self.cells, self.constant, self.steps = of, constant, steps
        whole = reduce(add, [of._step(limit, strict=strict) * factor for factor, limit, strict in steps]) + constant
        super().__init__(whole, text, of)

    def selected(self) -> Cells:
        """The entries that satisfy it, and 0 in place of others.

        An entry v above a limit t is max(v, t) − t + t·[v > t], which is 0 below: steps of t + 1, not more.
        """
        parts = [self.cells] * self.constant
        for factor, limit, strict in self.steps:
            above = self.cells._joined(limit, rules.larger, self.text) - limit
            parts.append((above + self.cells._step(limit, strict=strict) * limit) * factor)
        whole = reduce(add, parts)
        return Cells(f"{self.cells.text}.where({self.text})", whole._draft, whole)

    def __invert__(self) -> Condition:
        steps = tuple((-factor, limit, strict) for factor, limit, strict in self.steps)
        return Condition(self.cells, f"~{self.text}", 1 - self.constant, steps)


@final
@dataclass(frozen=True, eq=False)
class Filtered:
    """Cells under a condition on values: which remain is private, so they can be summed and counted only."""

    cells: Cells
    condition: Flags

    @property
    def text(self) -> str:
        return f"{self.cells.text}.where({self.condition.text})"

    def _selected(self) -> Cells:
        if not isinstance(self.condition, Condition):
            problem = "sums values under more than one comparison of them with a public number"
            raise BadInput(f"`{self.text}`", problem, "compare the summed values once, or count")
        return self.condition.selected()

    def sum(self) -> PrivateNumber:
        return self._selected().sum()

    def count(self) -> PrivateNumber:
        return self.condition.count()

    def groupby(self, **widths: PublicNumber | float) -> Groups:
        return Groups(self, widths)


@final
@dataclass(frozen=True, eq=False)
class Groups:
    """Cells by group, to be summed or counted."""

    of: Cells | Filtered
    widths: dict[str, PublicNumber | float]

    def _grouped(self, cells: Cells, verb: str) -> Cells:
        widths = {axis: public(width, axis) for axis, width in self.widths.items()}
        if not widths:
            raise BadInput("groupby", "names no axis", "pass for instance x=8; without groups, use sum()")
        written = ", ".join(f"{axis}={width.text}" for axis, width in widths.items())
        text = f"{cells.text}.groupby({written}).{verb}()"
        return Cells(text, lambda scope: _by_group(scope, cells, widths), cells)

    def sum(self) -> Cells:
        return self._grouped(self.of._selected() if isinstance(self.of, Filtered) else self.of, "sum")

    def count(self) -> Cells:
        """How many entries of each group satisfy the condition."""
        counted = self.of.condition if isinstance(self.of, Filtered) else self.of
        if not isinstance(counted, Flags):
            return counted.count()
        return self._grouped(counted, "count")


def _kept(scope: Scope, cells: Cells, mask: Mask) -> Draft:
    term, places = scope(cells)
    kept = np.flatnonzero(mask.look_up(places, scope.domain))
    return rules.taken(term, kept), {axis: along[kept] for axis, along in places.items()}


def _by_group(scope: Scope, cells: Cells, widths: dict[str, PublicNumber]) -> Draft:
    """One group for each combination of intervals that some entry lies in."""
    term, places = scope(cells)
    along: dict[str, Counts] = {}
    for written, width in widths.items():
        axis = check_axis(written, places)
        if axis in along:
            raise BadInput("groupby", f"names {axis} twice", "name each axis once")
        along[axis] = _intervals(places[axis], width.on(scope.domain), axis)
    key = np.zeros(term.entries, dtype=np.int64)
    for interval in along.values():
        key = key * (int(interval.max()) + 1) + interval  # at most the number of cells, so it does not overflow
    _, first, labels = np.unique(key, return_index=True, return_inverse=True)
    return rules.grouped(term, Partition.of(labels)), {axis: interval[first] for axis, interval in along.items()}


def _intervals(at: Counts, width: Fraction, axis: str) -> Counts:
    if width < 1:
        raise BadInput(f"groupby({axis}=…)", "must be a width of at least 1", "use wider groups")
    if width.denominator == 1:
        return at // min(width.numerator, 2**62)
    return (at.astype(object) * width.denominator // width.numerator).astype(np.int64)


def _check_flags(value: object, text: str) -> Flags:
    if not isinstance(value, Flags):
        raise BadInput(f"`{short(text)}`", "connects a condition on values with something else", REGION_FIRST)
    return value
