"""Spend-only sources: what an option is given in place of a database. They have its operators, and grant no budget.

A source can grant tokens, for whoever runs a plan. An option spends the one token that came with the source, so it gets the
same source with a closed list of what it may ask: public facts, and operators that are private whatever they are handed.
What is for trusted code alone, such as a rule that sees records (`judged`), is not on it. This guards against mistakes, not
against hostile code in the same process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from jostle.kernel.budget import Budget
from jostle.kernel.errors import PlanError
from jostle.kernel.partition import Partition
from jostle.kernel.records import ReleaseRecords, SimulatedRecords
from jostle.kernel.source import ReleaseSource, SimulatedSource


class _SpendOnly:
    """Some of a source's members, none of which makes another source; what is derived from it is spend-only, too."""

    __slots__ = ("_inner",)
    OFFERED: ClassVar[frozenset[str]]
    """What it has of the source's own."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        if name not in self.OFFERED:
            raise AttributeError(name)
        return getattr(self._inner, name)

    def grant(self, epsilon: object = None, *, rho: object = None) -> NoReturn:
        raise PlanError("an option spends the budget that came with its source, and is granted no other: split that one")

    def __repr__(self) -> str:
        return repr(self._inner)

    def __reduce__(self) -> NoReturn:
        raise PlanError("a source cannot be pickled or copied: make it in the process that uses it")


class SpendOnlySource(_SpendOnly):
    """A source of counts for an option.

    >>> source = spend_only(SimulatedSource([3, 0, 4], seed=1))
    >>> source.shape, source.grant(1)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: an option spends the budget that came with its source, and is granted no other: split
    that one
    """

    __slots__ = ()
    OFFERED = frozenset(
        {"neighbours", "trials", "unspent", "shape", "size", "total"}
        | {"measure", "laplace", "noise_scale", "noise_variance", "statistic", "choose", "partition"}
    )

    def reduce(self, partition: Partition) -> SpendOnlySource:
        return SpendOnlySource(self._inner.reduce(partition))

    def split(self, partition: Partition, budget: Budget) -> list[tuple[SpendOnlySource, Budget]]:
        return [(SpendOnlySource(part), token) for part, token in self._inner.split(partition, budget)]


class SpendOnlyRecords(_SpendOnly):
    """Records for an option."""

    __slots__ = ()
    OFFERED = frozenset(
        {"neighbours", "trials", "unspent", "sizes", "total"} | {"choose_each", "choose_marginal", "totals", "minimise"}
    )

    def vector(self, *names: str) -> SpendOnlySource:
        return SpendOnlySource(self._inner.vector(*names))

    def derive(self, name: str, of: Any, table: Any) -> SpendOnlyRecords:
        return SpendOnlyRecords(self._inner.derive(name, of, table))

    def paid(self, budget: Budget, what: str) -> tuple[SpendOnlyRecords, Budget]:
        records, token = self._inner.paid(budget, what)
        return SpendOnlyRecords(records), token

    def split(self, by: str, budget: Budget) -> list[tuple[SpendOnlyRecords, Budget]]:
        return [(SpendOnlyRecords(part), token) for part, token in self._inner.split(by, budget)]


_KINDS: dict[type, Callable[[Any], Any]] = {
    ReleaseSource: SpendOnlySource,
    SimulatedSource: SpendOnlySource,
    ReleaseRecords: SpendOnlyRecords,
    SimulatedRecords: SpendOnlyRecords,
}


def spend_only(db: Any) -> Any:
    """A source or records without their grants; a spend-only one stays as it is."""
    if isinstance(db, _SpendOnly):
        return db
    if type(db) not in _KINDS:
        raise PlanError(f"a choice is made on a source of the kernel, not on {type(db).__name__}: it could not be charged")
    return _KINDS[type(db)](db)


def is_records(db: Any) -> bool:
    """Whether it is records rather than counts."""
    return isinstance(db, (SpendOnlyRecords, ReleaseRecords, SimulatedRecords))
