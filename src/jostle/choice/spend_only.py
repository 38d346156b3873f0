"""What an option is given in place of a database: the operators, and no way to ask for more budget.

A source can grant tokens, for whoever runs a plan. An option spends the one that it is handed, so what it gets is the same
source without that door. It guards against mistakes, not against hostile code in the same process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from jostle.kernel.budget import Budget
from jostle.kernel.errors import PlanError
from jostle.kernel.partition import Partition
from jostle.kernel.records import ReleaseRecords, SimulatedRecords
from jostle.kernel.source import ReleaseSource, SimulatedSource


class _Handed:
    """Everything of a source but its grants; what is derived from it is handed over in the same way."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("again", "over"):  # these make other sources with the same purse
            raise AttributeError(name)
        return getattr(self._inner, name)

    def grant(self, epsilon: object) -> NoReturn:
        """Refused: the token that came with the source is all there is."""
        raise PlanError("an option spends the budget that it was handed, and is granted no other: split that one")

    def __repr__(self) -> str:
        return repr(self._inner)

    def __reduce__(self) -> NoReturn:
        raise PlanError("a source cannot be pickled or copied: make it in the process that uses it")


class HandedSource(_Handed):
    """A source of counts for an option.

    >>> source = handed(SimulatedSource([3, 0, 4], seed=1))
    >>> source.shape, source.grant(1)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: an option spends the budget that it was handed, and is granted no other: split that one
    """

    __slots__ = ()

    def reduce(self, partition: Partition) -> HandedSource:
        """As the source's."""
        return HandedSource(self._inner.reduce(partition))

    def split(self, partition: Partition, budget: Budget) -> list[tuple[HandedSource, Budget]]:
        """As the source's."""
        return [(HandedSource(part), token) for part, token in self._inner.split(partition, budget)]


class HandedRecords(_Handed):
    """Records for an option."""

    __slots__ = ()

    def vector(self, *names: str) -> HandedSource:
        """As the records'."""
        return HandedSource(self._inner.vector(*names))

    def derive(self, name: str, of: Any, table: Any) -> HandedRecords:
        """As the records'."""
        return HandedRecords(self._inner.derive(name, of, table))

    def split(self, by: str, budget: Budget) -> list[tuple[HandedRecords, Budget]]:
        """As the records'."""
        return [(HandedRecords(part), token) for part, token in self._inner.split(by, budget)]


_KINDS: dict[type, Callable[[Any], Any]] = {
    ReleaseSource: HandedSource,
    SimulatedSource: HandedSource,
    ReleaseRecords: HandedRecords,
    SimulatedRecords: HandedRecords,
}


def handed(db: Any) -> Any:
    """A source or records without their grants; what was handed over already stays as it is."""
    if isinstance(db, _Handed):
        return db
    if type(db) not in _KINDS:
        raise PlanError(f"a choice is made on a source of the kernel, not on {type(db).__name__}: it could not be charged")
    return _KINDS[type(db)](db)


def is_records(db: Any) -> bool:
    """Whether it is records rather than counts."""
    return isinstance(db, (HandedRecords, ReleaseRecords, SimulatedRecords))
