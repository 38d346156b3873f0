"""What everybody knows about a domain: its named axes, numbers made of their sizes, and conditions on coordinates.

All of it is written down before the domain is known and looked up when an expression is derived for one.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from jostle.kernel.arguments import domain_of
from jostle.kernel.errors import BadInput

LONGEST_TEXT = 160
"""What is shown of an expression."""

REGION_FIRST = (
    "select the region first, then a condition on the values: region = db.where(db.x < 8); region.where(region > 0)"
)
"""How conditions on coordinates and on values go together."""

Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Places = Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]
"""The coordinates of entries: for every axis one number an entry."""


def short(text: str) -> str:
    """A text that is no longer than what is shown.

    >>> short("x" * 300)[-3:]
    'xx…'
    """
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


@dataclass(frozen=True)
class Domain:
    """The axes of a data vector: names and sizes.

    >>> Domain.of((64, 32)).sizes
    {'x': 64, 'y': 32}
    """

    sizes: dict[str, int]
    """In the order of the vector's dimensions."""

    @classmethod
    def of(cls, shape: int | tuple[int, ...] | Domain, names: tuple[str, ...] | None = None) -> Domain:
        """From a shape; unless the axes have names, they are x, y, z, axis4 and so on."""
        if isinstance(shape, Domain):
            return shape
        sizes = domain_of(shape)
        named = names or (*"xyz", *(f"axis{i}" for i in range(4, len(sizes) + 1)))[: len(sizes)]
        texts = isinstance(named, Sequence) and all(isinstance(name, str) and name.isidentifier() for name in named)
        if not texts or len(named) != len(sizes) or len(set(named)) != len(named):
            raise BadInput("axes", f"must be {len(sizes)} different names", "pass for instance ('age', 'income')")
        return cls(dict(zip(named, sizes, strict=True)))

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.sizes.values())

    def range_of(self, axis: str) -> int:
        """The size of one axis."""
        return self.sizes[check_axis(axis, self.sizes)]

    @cached_property
    def places(self) -> Places:
        """The coordinates of every cell, in row-major order."""
        shape = tuple(self.sizes.values())
        return dict(zip(self.sizes, np.indices(shape).reshape(len(shape), -1), strict=True))


def check_axis(axis: str, known: Mapping[str, Any]) -> str:
    """The axis of that name: as it was written, or else the one axis that differs only by capitals.

    >>> check_axis("age", {"Age": 1})
    'Age'
    >>> check_axis("z", {"x": 1})
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: axis: there is no axis 'z'. Remedy: use one of x.
    """
    alike = [axis] if axis in known else [name for name in known if name.lower() == axis.lower()]
    if len(alike) != 1:
        raise BadInput("axis", f"there is no axis {axis!r}", f"use one of {', '.join(known) or 'none'}")
    return alike[0]


def fraction(value: object, argument: str) -> Fraction:
    """A public number as it was written: 0.1 is one tenth.

    >>> fraction(0.1, "scale"), fraction(3, "scale")
    (Fraction(1, 10), Fraction(3, 1))
    """
    remedy = "pass a number such as 2 or 0.5"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, Fraction, np.integer, np.floating)):
        raise BadInput(argument, f"must be a public number, got {type(value).__name__}", remedy)
    if isinstance(value, (int, Fraction, np.integer)):  # their size is looked at below: no float need hold them
        exact = value if isinstance(value, Fraction) else Fraction(int(value))
    elif math.isfinite(float(value)):
        exact = Fraction(repr(float(value)))
    else:
        raise BadInput(argument, f"must be finite, got {value}", remedy)
    if max(abs(exact.numerator), exact.denominator).bit_length() > 80:
        raise BadInput(argument, "must be between 10^-20 and 10^20 and have few digits", remedy)
    return exact


def _arithmetic(sign: str, does: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, object], Any], ...]:
    """An operator of public numbers, and the same with its operands swapped."""

    def combined(left: PublicNumber, right: PublicNumber) -> PublicNumber:
        def look_up(domain: Domain) -> Fraction:
            try:
                return Fraction(does(left.on(domain), right.on(domain)))
            except ZeroDivisionError:
                problem = "divides by zero on this domain"
                raise BadInput(f"{left.text} / {right.text}", problem, "use another number") from None

        return PublicNumber(short(f"({left.text} {sign} {right.text})"), look_up)

    numbers = (int, float, Fraction, np.integer, np.floating)

    def forward(self: PublicNumber, other: object) -> Any:
        return combined(self, public(other)) if isinstance(other, (*numbers, PublicNumber)) else NotImplemented

    def swapped(self: PublicNumber, other: object) -> Any:
        return combined(public(other), self) if isinstance(other, numbers) else NotImplemented

    return forward, swapped


@dataclass(frozen=True, eq=False)
class PublicNumber:
    """A number that is known as soon as the domain is.

    >>> (PublicNumber("db.size", lambda domain: Fraction(domain.size)) / 4).on(Domain.of((8, 8)))
    Fraction(16, 1)
    """

    text: str
    look_up: Callable[[Domain], Fraction]

    def on(self, domain: Domain) -> Fraction:
        """Its value over one domain."""
        return fraction(self.look_up(domain), self.text)

    __add__, __radd__ = _arithmetic("+", operator.add)
    __sub__, __rsub__ = _arithmetic("-", operator.sub)
    __mul__, __rmul__ = _arithmetic("*", operator.mul)
    __truediv__, __rtruediv__ = _arithmetic("/", operator.truediv)

    def __bool__(self) -> NoReturn:
        raise BadInput(self.text, "is known only for a domain", "use it inside an expression")


def public(value: object, argument: str = "number") -> PublicNumber:
    """A public number that may depend on the domain, from one that does not, or as it is.

    >>> public(3).text
    '3'
    """
    if isinstance(value, PublicNumber):
        return value
    exact = fraction(value, argument)
    text = str(exact.numerator) if exact.denominator == 1 else repr(float(exact))
    return PublicNumber(text, lambda _: exact)


def root(value: PublicNumber | float) -> PublicNumber:
    """The square root of a public number, to six digits.

    >>> root(64).on(Domain.of(2)), root(2).on(Domain.of(2))
    (Fraction(8, 1), Fraction(1414213, 1000000))
    """
    number = public(value)

    def look_up(domain: Domain) -> Fraction:
        inside = number.on(domain)
        if inside < 0:
            raise BadInput(f"sqrt({number.text})", "is the root of a negative number", "use another number")
        return Fraction(math.isqrt(10**12 * inside.numerator // inside.denominator), 10**6)

    return PublicNumber(short(f"sqrt({number.text})"), look_up)


@dataclass(frozen=True, eq=False)
class Mask:
    """A condition on coordinates: public. Combine with `&`, `|` and `~`."""

    text: str
    look_up: Callable[[Places, Domain], Flags]

    def __and__(self, other: object) -> Mask:
        return self._with(other, "&", operator.and_)

    def __or__(self, other: object) -> Mask:
        return self._with(other, "|", operator.or_)

    def _with(self, other: object, sign: str, does: Callable[[Any, Any], Any]) -> Mask:
        if not isinstance(other, Mask):
            raise BadInput(f"{self.text} {sign} …", "connects a region with something else", REGION_FIRST)
        text = short(f"({self.text} {sign} {other.text})")
        return Mask(text, lambda places, domain: does(self.look_up(places, domain), other.look_up(places, domain)))

    def __invert__(self) -> Mask:
        return Mask(short(f"~{self.text}"), lambda p, d: ~self.look_up(p, d))

    def __bool__(self) -> NoReturn:
        raise BadInput(self.text, "is a condition, not a truth value", "combine conditions with &, | and ~")


Compared = TypeVar("Compared")


class Comparable(ABC, Generic[Compared]):
    """Can be compared with public numbers; a comparison gives a condition, not a truth value."""

    @abstractmethod
    def compared(self, sign: str, other: object) -> Compared:
        """Where the comparison holds."""

    def __lt__(self, other: object) -> Compared:
        return self.compared("<", other)

    def __le__(self, other: object) -> Compared:
        return self.compared("<=", other)

    def __gt__(self, other: object) -> Compared:
        return self.compared(">", other)

    def __ge__(self, other: object) -> Compared:
        return self.compared(">=", other)

    def __eq__(self, other: object) -> Compared:  # type: ignore[override]
        return self.compared("=", other)

    def __ne__(self, other: object) -> Compared:  # type: ignore[override]
        return self.compared("<>", other)

    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class Coordinate(Comparable[Mask]):
    """Where a cell lies along an axis, from 0: to be compared with public numbers.

    >>> (Coordinate("x") < 2).look_up(Domain.of(4).places, Domain.of(4)).tolist()
    [True, True, False, False]
    """

    axis: str

    def compared(self, sign: str, other: object) -> Mask:
        number, does = public(other, f"db.{self.axis} {sign}"), COMPARISONS[sign]

        def look_up(places: Places, domain: Domain) -> Flags:
            limit = number.on(domain)
            along = places[check_axis(self.axis, places)]
            if limit.denominator > 1:
                along = along.astype(object) * limit.denominator
            return np.asarray(does(along, limit.numerator), dtype=np.bool_)

        return Mask(short(f"(db.{self.axis} {sign} {number.text})"), look_up)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
"""How coordinates and values may be compared."""
