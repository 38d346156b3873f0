"""What a strategy is: a linear operator whose sensitivity is known exactly.

A strategy is an integer matrix divided by a public whole number, its *unit*. So its answers on counts are exact
integers in units, noise on them is discrete, and no rounding error can widen the sensitivity. Real weights are
rounded to that lattice first, and the norm is taken after rounding. Proof: docs/proofs/strategies.md.

Products act on the last axis: `apply` maps cells to queries, `adjoint` queries to cells; leading axes are trials.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from jostle.kernel.arguments import check_of_kernel
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.partition import Counts, Vector

RESOLUTION = 2**20
"""Real weights are kept to this fraction of the largest one."""

LARGEST_ENTRY = 2**21
"""With entries up to this many units on LARGEST_TOTAL records, answers and sensitivities are exact in 64 bits."""


class Strategy(ABC):
    """A matrix of integers over a unit, known by what it does to vectors."""

    shape: tuple[int, ...]
    """The domain."""

    rows: int
    """The number of queries."""

    unit: int = 1
    """Answers are whole multiples of 1/unit."""

    _norm: int | None = None
    _diameter: int | None = None
    _squares: tuple[int, int] | None = None
    _bounds: tuple[int, int] = (0, 1)

    def __init__(
        self,
        shape: tuple[int, ...],
        rows: int,
        *,
        norm: int | None = None,
        diameter: int | None = None,
        squares: tuple[int, int] | None = None,
        unit: int = 1,
        bounds: tuple[int, int] = (0, 1),
    ) -> None:
        self.shape, self.rows, self.unit = shape, rows, unit
        self._norm, self._diameter, self._squares, self._bounds = norm, diameter, squares, bounds

    def __setattr__(self, name: str, value: object) -> None:
        """Once: a norm is derived from what a strategy is made of, and some strategies are shared by all."""
        if name in self.__dict__ or isinstance(getattr(type(self), name, None), cached_property):
            raise PlanError(f"{name} of a strategy cannot be changed: make a new one")
        super().__setattr__(name, value)

    @cached_property
    def size(self) -> int:
        """The number of cells."""
        return int(np.prod(self.shape))

    @cached_property
    def name(self) -> str:
        """What the ledger calls it; public facts only."""
        return f"{type(self).__name__.lower()} of {self.rows} over {'×'.join(map(str, self.shape))}"

    @abstractmethod
    def apply(self, x: Any) -> Any:
        """The integer matrix times x, of x's own type: exact on integers."""

    @abstractmethod
    def adjoint(self, y: Any) -> Any:
        """The integer matrix's transpose times y."""

    @property
    def norm(self) -> int:
        """The largest sum of absolute values in a column, in units: what one record more or less moves."""
        return int(self.column_norms.max()) if self._norm is None else self._norm

    @property
    def diameter(self) -> int:
        """At least the largest L1 distance between two columns, in units: what replacing one record moves."""
        if self._diameter is not None:
            return self._diameter
        return 0 if self.size == 1 else 2 * self.norm

    @property
    def bounds(self) -> tuple[int, int]:
        """Numbers of at most 0 and at least 0, in units, that every entry lies between: what one query may move."""
        return self._bounds

    def sensitivities(self) -> tuple[int, int]:
        """How far one record moves the answers, in units and L1: added or removed, replaced."""
        return self.norm, self.diameter

    def squared_sensitivities(self) -> tuple[int, int]:
        """The squares of how far one record moves the answers in L2, in units: added or removed, replaced.

        Where no entry is negative, two columns are at most √2 times as far apart as the longer one is long, else twice.
        """
        if self._squares is not None:
            return self._squares
        square = int(self.column_squares.max())
        return square, 0 if self.size == 1 else square * (2 if self.bounds[0] == 0 else 4)

    @property
    def column_norms(self) -> Counts:
        """The sum of absolute values in each column, in units; most strategies weigh all cells alike."""
        return np.full(self.size, self.norm, dtype=np.int64)

    @property
    def column_squares(self) -> Any:
        """The sum of squares in each column, in squared units, as whole numbers of any size."""
        if self.bounds == (0, 1):  # all entries are 0 or 1
            return self.column_norms.astype(object)
        return np.full(self.size, self.squared_sensitivities()[0], dtype=object)

    def __matmul__(self, x: Any) -> Vector:
        """The answers on a data vector.

        >>> from jostle.kernel.strategies.cells import prefix
        >>> (prefix(4) @ np.array([1, 2, 3, 4])).tolist()
        [1.0, 3.0, 6.0, 10.0]
        """
        flat = vector = np.asarray(x)
        # Flat first: over a domain of 1 × n, a vector of shape (1, n) is one trial of n cells.
        if vector.shape[-1:] != (self.size,) and vector.shape[-len(self.shape) :] == self.shape:
            flat = vector.reshape(*vector.shape[: -len(self.shape)], -1)
        if flat.shape[-1:] != (self.size,):
            raise BadInput("x", f"has shape {vector.shape}, but the strategy is over {self.shape}", "pass one that fits")
        return np.asarray(self.apply(flat) / self.unit, dtype=np.float64)

    def dense(self) -> Vector:
        """The whole matrix: for tests and small domains."""
        return np.ascontiguousarray(self.apply(np.eye(self.size, dtype=np.int64)).T / self.unit)

    def __repr__(self) -> str:
        return f"<{self.name}>"


def check_proven(strategy: object) -> None:
    """Raise unless it is a strategy of the kernel, whose norm is proven."""
    check_of_kernel(strategy, Strategy, "strategy", "its norm is not proven; `matrix` takes any")


def check_measurable(strategy: Strategy) -> None:
    """Raise unless it is a strategy of the kernel with answers that are exact in 64 bits."""
    check_proven(strategy)
    if max(-strategy.bounds[0], strategy.bounds[1]) > LARGEST_ENTRY:
        raise PlanError("the strategy's entries are too large or too fine for exact answers in 64 bits: round its weights")


def check_weights(weights: Sequence[int]) -> None:
    """Raise unless every weight is a whole number above 0; one that was rounded to 0 would measure nothing."""
    if not all(isinstance(weight, (int, np.integer)) for weight in weights):
        raise BadInput("weights", "must be whole", "round them to a unit with `lattice`")
    if min(weights) < 1:
        raise BadInput("weights", f"differ by more than a factor of {RESOLUTION}", "leave the lightest part out")


def lattice(weights: Any) -> tuple[Any, int]:
    """Weights as whole numbers over a unit: exact if they are whole already, else kept to RESOLUTION of the largest.

    >>> lattice([1, 2])[1], lattice([0.5, 1.0])[1]
    (1, 1048576)
    """
    values = np.asarray(weights, dtype=np.float64)
    if not np.isfinite(values).all() or not 1e-6 < np.abs(values).max() < 1e12:
        raise BadInput("weights", "must be finite, the largest between 10^-6 and 10^12", "divide them all by one number")
    if (values == np.round(values)).all() and np.abs(values).max() < RESOLUTION:
        return values.astype(np.int64), 1
    unit = int(2 ** max(0, round(np.log2(RESOLUTION / np.abs(values).max()))))
    return np.round(values * unit).astype(np.int64), unit
