"""Questions about counts: each can be previewed at no cost, and released at a price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.previews import Preview, epsilon_within, preview
from jostle.answers.release import Release, answered, planned
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource, SimulatedSource, Source
from jostle.schema import Schema
from jostle.tables.budget_source import PartPayer
from jostle.tables.columns import EngineColumns
from jostle.workloads import Workload

if TYPE_CHECKING:
    from jostle.tables.measurements import Measurements


class Question:
    """Something to be asked of a table: it can be previewed at no cost, and released at a price."""

    def __init__(
        self,
        table: Measurements,
        columns: EngineColumns,
        names: Sequence[str],
        asked: Workload,
        about: Mapping[str, Sequence[str]],
        what: str,
        algorithm: str | None = None,
        tunables: dict[str, Any] | None = None,
        because: str | None = None,
    ) -> None:
        self._table, self._columns, self._names = table, columns, names
        self.workload, self.about, self.what = asked, about, what
        self._tunables = tunables or {}
        if "seed" in self._tunables:
            raise BadInput("seed", "a release cannot be seeded", "leave it out")
        self.algorithm, why = planned(asked, algorithm, self._tunables)
        self._why = because or why

    def preview(self, *, epsilon: Any) -> Preview:
        """How far answers would be off: from public things alone, at no cost."""
        return preview(self.algorithm, self.workload, epsilon, self._neighbours, self._tunables)

    def epsilon_within(self, within: float) -> Any:
        """The ε at which answers are expected to be so close, in 95 of 100 cases."""
        return epsilon_within(within, partial(self.preview))

    def release(self, *, epsilon: Any = None, within: float | None = None) -> Release:
        """Ask it, and pay for it."""
        if within is not None:
            if epsilon is not None:
                raise BadInput("within", "says how close answers must be, and epsilon what they cost", "pass one of them")
            epsilon = self.epsilon_within(within)
        note = f"{self.algorithm.name}: {self.what}"
        payer = self._table._payer
        self._rehearse(payer.taken_first(epsilon))
        records, budget = self._table._paid(self._columns, epsilon, filtered=self._filtered, note=note)
        source = _of_domain(records.vector(*self._names), self.workload.domain)
        return answered(
            source,
            budget,
            self.workload,
            self.algorithm,
            self._why,
            remaining=lambda: payer.remaining,
            tunables=self._tunables,
            about=self.about,
            of_part=isinstance(payer, PartPayer),
        )

    def _rehearse(self, epsilon: Fraction | None) -> None:
        """Raise what the plan would refuse on its way, while the ε of a part is still there.

        Where the way depends on noise, one of several is seen. Privacy: no row is looked at.
        """
        if epsilon is None:
            return
        nobody = no_rows(self.workload.domain, self._table._payer.neighbours)
        self.algorithm.run(nobody, self.workload, nobody.grant(epsilon), **self._tunables)

    @property
    def _filtered(self) -> bool:
        return self._table._filtered or _drops(self._table.schema, self._names)

    @property
    def _neighbours(self) -> Neighbours:
        neighbours = self._table._payer.neighbours
        return neighbours.among_filtered() if self._filtered else neighbours

    def __repr__(self) -> str:
        return f"<Question: {self.what}, by {self.algorithm.name}>"


def no_rows(shape: tuple[int, ...], neighbours: Neighbours) -> SimulatedSource:
    """What a plan can be tried on at no cost."""
    return SimulatedSource(np.zeros(math.prod(shape), dtype=np.int64), seed=0, neighbours=neighbours, shape=shape)


def _drops(schema: Schema, names: Sequence[str]) -> bool:
    return any(schema[name].drops for name in names if name in schema)


def _of_domain(source: Source, domain: tuple[int, ...]) -> ReleaseSource:
    """The same cells, in one line where there are more axes than algorithms know: each cell is a group of its own."""
    if source.shape != domain:
        source = source.reduce(Partition(np.arange(source.size), domain))
    if not isinstance(source, ReleaseSource):
        raise InternalError("a release became a simulation")
    return source
