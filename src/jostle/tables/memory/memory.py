"""The memory of a table: which measurements say something about a question, and what they say together.

Privacy: nothing here touches a row. All inputs were released before, and what is done with them is post-processing. What
must be exact is that they are about the same rows: table, version, unit and neighbours are part of every topic, and
conditions are compared state by state (`states`). Proof: docs/proofs/memory.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.kernel.partition import Counts
from jostle.linear.fitting.combined import Combined, NoisyCells, combined
from jostle.tables.bounded_rows import BoundedSample
from jostle.tables.budget_source import existing_account
from jostle.tables.memory.bodies import Remembered, UnknownForm, packed, unpacked
from jostle.tables.memory.frames import Frame
from jostle.tables.memory.states import LEFT_OUT, digest
from jostle.tables.memory.store import Keepsake, MemoryFault, MemoryStore

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account
    from jostle.tables.budget_source import PlannedAccount
    from jostle.tables.view import View

MOST_ATOMS = 2**20
"""Questions are asked anew if their columns have more combinations of values than this that are told apart."""

NEAR = 16
"""How many measurements that do not tell all cells of a question apart have a part in it at most."""

SAVED = "saved:"


@dataclass(frozen=True)
class Recollection:
    """What measurements say together, and which they are."""

    found: Combined
    sources: tuple[Remembered, ...]


class Memory:
    """What was released of the rows of one table, in the version that its user states."""

    def __init__(self, account: Callable[[], Account | PlannedAccount], version: str) -> None:
        self._account, self.version = account, version
        self._store: MemoryStore | None = None

    @property
    def store(self) -> MemoryStore | None:
        """Where it is; None as long as the account is not made, because nothing was released then."""
        if self._store is None:
            planned = self._account()
            account = planned if hasattr(planned, "purse") else existing_account(planned.ledger, planned.name)
            self._store = None if account is None else MemoryStore(account.ledger, account.name)
        return self._store

    def rows_of(self, views: Sequence[View]) -> str | None:
        """Which rows these are, before any step; None if that is not known for certain."""
        if len(views) != 1 or not views[0].source or isinstance(views[0].base, BoundedSample):
            return None
        unit, neighbours = views[0].unit, self._account().neighbours
        whose = None
        if unit is not None:  # rows are left out if their person is read as nobody
            nobody = [str(views[0].declared[name].to_dict()) for name in views[0].says_nobody]
            whose = [unit.column, unit.max_rows, unit.max_groups, unit.max_rows_per_group, nobody]
        return digest("rows", views[0].source, self.version, whose, neighbours.relation, neighbours.rows)

    # ---------------------------------------------------------------------------------------------- measurements

    def keep(self, measured: Iterable[Remembered], answers: Callable[[], Iterable[Keepsake]] = tuple) -> None:
        """Keep what was released. A failure is a warning, also of what makes the answers: nothing paid for is lost by it."""
        try:
            account, store = self._account(), self.store
            rows = [
                Keepsake(account.name, _topic(one.rows, one.frame), _rank(one.law.second, one.frame.size), one.to_bytes())
                for one in measured
            ]
            rows += answers()
            if store is not None and rows:
                store.add(rows)
        except Exception as failure:  # noqa: BLE001  # it is paid for, whatever goes wrong here
            said = f"What was released could not be kept for later questions: {failure}"
            warnings.warn(said, MemoryFault, stacklevel=2)

    def measurements(self, rows: str, frame: Frame) -> list[Remembered]:
        """Measurements of these rows that say something about a frame, the most telling ones."""
        if self.store is None:
            return []
        topics = {topic: set(filter(None, topic.rpartition(":")[2].split(","))) for topic in self.store.topics(f"m:{rows}:")}
        asked = set(_short(frame))
        whole = [topic for topic, roots in topics.items() if asked <= roots]
        parts = [topic for topic, roots in topics.items() if not asked <= roots and (not roots or roots & asked)]
        found = self.store.fetch(whole) + self.store.fetch(parts, NEAR)
        return [one for kept in found if (one := _read(kept)) is not None and one.rows == rows]

    def recollect(
        self, rows: str, frame: Frame, queries: Any = None, *, more: Sequence[Remembered] = (), drawn: bool = False
    ) -> Recollection | None:
        """The best estimates of the counts of a frame, or of queries over them, from what is remembered and `more`."""
        return together(frame, [*self.measurements(rows, frame), *more], queries, drawn=drawn)

    # --------------------------------------------------------------------------------------------- whole answers

    def answer(self, topic: str, least: Fraction) -> tuple[Mapping[str, Any], Mapping[str, Any], Keepsake] | None:
        """An answer to the same question that was paid for with at least as much: the dearest, and of these the oldest."""
        for kept in [] if self.store is None else self.store.fetch([topic], 4):
            try:
                said, arrays = unpacked(kept.body)
                if Fraction(said["amount"]) >= least:
                    return said, arrays, kept
            except (UnknownForm, KeyError, ValueError):
                _ignored(kept)
        return None

    def kept_answer(self, topic: str, amount: Fraction, said: Mapping[str, Any], arrays: Mapping[str, Any]) -> Keepsake:
        body = packed({**said, "amount": str(amount)}, arrays)
        return Keepsake(self._account().name, topic, float(amount), body)

    def note_saving(self, measure: str, amount: Fraction, *, free: bool) -> None:
        """Add to what was saved so far. A failure is a warning: the answer may be paid for, and must not be lost."""
        try:
            if self.store is not None:
                self.store.add_up(f"{SAVED}{measure}", Fraction(int(amount * 10**9), 10**9), free=free)
        except Exception as failure:  # noqa: BLE001
            warnings.warn(f"What was saved could not be added up: {failure}", MemoryFault, stacklevel=2)


def together(
    frame: Frame, measured: Sequence[Remembered], queries: Any = None, *, drawn: bool = False
) -> Recollection | None:
    """The best estimates from some measurements; where persons' rows were drawn, from those of one draw of the same rows."""
    if not drawn:
        return _of_one_draw(frame, measured, queries)
    same = [one for one in measured if one.frame.counts_same_rows(frame)]
    draws = {one.draw: [other for other in same if other.draw == one.draw] for one in same}
    found = [one for of_draw in draws.values() if (one := _of_one_draw(frame, of_draw, queries)) is not None]
    return min(found, key=lambda one: float(one.found.variances.max()), default=None)


def number_by_number(found: Combined) -> bool:
    """Whether each estimate is one of the numbers of one measurement."""
    if len(found.used) != 1 or found.used[0][0].summed != 1:
        return False
    [(_, weights)] = found.used
    return bool((abs(weights).sum(axis=1) == 1).all() and (weights.sum(axis=1) == 1).all())


def _of_one_draw(frame: Frame, measured: Sequence[Remembered], queries: Any) -> Recollection | None:
    usable = [(one, small) for one in measured if (small := reduced(one, frame)) is not None]
    if not usable:
        return None
    signatures = {}
    for root in frame.roots:
        states = len(frame.offsets[root])
        rows = [frame.offsets[root], *(small.offsets.get(root, np.zeros(states, dtype=np.int64)) for _, small in usable)]
        if any(len(one) != states for one in rows):
            return None
        signatures[root] = np.unique(np.stack(rows), axis=1)
    if np.prod([one.shape[1] for one in signatures.values()], dtype=np.float64) > MOST_ATOMS:
        return None
    cells = [joint([one[place] for one in signatures.values()]) for place in range(len(usable) + 1)]
    noisy = [
        NoisyCells(small.cell_of(place), small.values, one.law, small.summed)
        for place, (one, small) in zip(cells[1:], usable, strict=True)
    ]
    found = combined(cells[0], frame.size, noisy, queries)
    if found is None:
        return None
    used = {id(cells) for cells, _ in found.used}
    return Recollection(found, tuple(one for (one, _), cells in zip(usable, noisy, strict=True) if id(cells) in used))


@dataclass(frozen=True)
class _Reduced:
    """A measurement, added up over all columns that a question does not tell apart."""

    offsets: Mapping[str, Counts]
    places: Counts
    """The numbers of the cells that are left, rising."""

    values: Any
    summed: int

    def cell_of(self, place: Counts) -> Counts:
        found = np.searchsorted(self.places, place)
        return np.where(place < 0, LEFT_OUT, found)


def reduced(one: Remembered, frame: Frame) -> _Reduced | None:
    """None if rows are left out in a column that the question is not about: it is then about other rows."""
    beyond = [root for root in one.frame.roots if root not in frame.offsets]
    if not all(one.frame.keeps_all(root) for root in beyond):
        return None
    offsets = {root: one.frame.offsets[root] for root in one.frame.roots if root in frame.offsets}
    added = _sums([one.frame.offsets[root] for root in beyond])
    left = _sums([kept[kept != LEFT_OUT] for kept in offsets.values()])
    values = one.values[left[:, np.newaxis] + added].sum(axis=1)
    return _Reduced(offsets, left, values, added.size)


def _sums(parts: Sequence[Counts]) -> Counts:
    """All different sums with one number of each part."""
    return reduce(lambda found, part: np.unique(found[:, np.newaxis] + np.unique(part)), parts, np.zeros(1, dtype=np.int64))


def joint(parts: Sequence[Counts]) -> Counts:
    """The cell of each combination of atoms; −1 if one of them is left out."""
    cells, out = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
    for part in parts:
        cells = (cells[:, np.newaxis] + part).reshape(-1)
        out = (out[:, np.newaxis] | (part == LEFT_OUT)).reshape(-1)
    return np.where(out, LEFT_OUT, cells)


def _short(frame: Frame) -> list[str]:
    return [root[:12] for root in frame.roots]


def _topic(rows: str, frame: Frame) -> str:
    return f"m:{rows}:{','.join(_short(frame))}"


def _rank(variance: float, size: int) -> float:
    """The precision of the sum of all cells."""
    return 1 / (max(variance, 1e-12) * size)


def _read(kept: Keepsake) -> Remembered | None:
    try:
        return Remembered.of_bytes(kept.body)
    except (UnknownForm, KeyError, ValueError):
        _ignored(kept)
        return None


def _ignored(kept: Keepsake) -> None:
    said = f"Something remembered of account {kept.dataset!r} is in a form that this jostle does not know, and is ignored."
    warnings.warn(said, MemoryFault, stacklevel=3)
