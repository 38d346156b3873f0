"""The privacy unit: whether one row is protected, or everything that a table holds about one person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from jostle.kernel.arguments import whole
from jostle.kernel.errors import BadInput

LARGEST_ROWS = 10**6
_EXAMPLE = 'pass for instance Unit("person_id", max_rows=3)'


@final
@dataclass(frozen=True)
class Unit:
    """Rows that share a value of this column are one person's; at most `max_rows` of them count in each measurement.

    Which rows those are is decided by a random key, in the engine, for each measurement. Rows without a person do not count.

    >>> Unit("person_id", max_rows=3)
    Unit(column='person_id', max_rows=3)
    >>> Unit.of("person_id:3") == Unit("person_id", max_rows=3)
    True
    >>> Unit.of("person_id:6,groups=2,rows_per_group=3") == Unit("person_id", 6, max_groups=2, max_rows_per_group=3)
    True

    Questions about groups can bound more: `Unit("patient", max_rows=10, max_groups=2, max_rows_per_group=3)` lets a patient
    count in two groups, with three rows each. Noise follows from the smaller bound, here 6 rows.
    """

    column: str
    """The column that says whose row it is. It need not be in the schema, and is never released."""

    max_rows: int
    """The most rows of one person that count. Noise is in proportion to it."""

    max_groups: int | None = field(default=None, repr=False)
    """The most groups of a question in which one person counts, if that is bounded too."""

    max_rows_per_group: int | None = field(default=None, repr=False)
    """The most rows of one person that count in one group, if that is bounded too."""

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise BadInput("unit", "needs the name of the column with persons", _EXAMPLE)
        bounds = {"max_rows": "rows of a person count", "max_groups": "groups a person counts in"}
        bounds |= {"max_rows_per_group": "rows of a person count per group"}
        for name, what in bounds.items():
            most = whole(getattr(self, name))
            if name != "max_rows" and getattr(self, name) is None:
                continue
            if most is None or not 1 <= most <= LARGEST_ROWS:
                raise BadInput(name, f"must be a whole number from 1 to {LARGEST_ROWS}", f"say how many {what}")
            object.__setattr__(self, name, most)

    @property
    def bounds_groups(self) -> bool:
        """Whether more is bounded than rows."""
        return self.max_groups is not None or self.max_rows_per_group is not None

    @property
    def groups_bound_rows(self) -> bool:
        """Whether no more rows than `max_rows` are left once groups and rows per group are bounded."""
        bounds = self.max_groups, self.max_rows_per_group
        return None not in bounds and (self.max_groups or 1) * (self.max_rows_per_group or 1) <= self.max_rows

    def contribution(self, *, grouped: bool) -> tuple[int, int, int]:
        """The most rows of a person that count in a question about groups, the groups that they are in, and rows per group.

        >>> Unit("patient", max_rows=10, max_groups=2, max_rows_per_group=3).contribution(grouped=True)
        (6, 2, 3)
        """
        groups = min(self.max_rows, self.max_groups or self.max_rows) if grouped else 1
        per_group = min(self.max_rows, self.max_rows_per_group or self.max_rows)
        return min(self.max_rows, groups * per_group), groups, per_group

    @classmethod
    def of(cls, value: Unit | str | None) -> Unit | None:
        """The unit, or the one that the text `column:max_rows` says; None stands for single rows."""
        if value is None or isinstance(value, Unit):
            return value
        column, _, bounds = value.rpartition(":") if isinstance(value, str) else ("", "", "")
        rows, *more = bounds.split(",")
        given = {part.partition("=")[0]: part.partition("=")[2] for part in more}
        numbers = [rows, *given.values()]
        known = set(given) <= {"groups", "rows_per_group"} and len(given) == len(more)
        if not column or not known or not all(one.isascii() and one.isdigit() and len(one) < 10 for one in numbers):
            raise BadInput("unit", "does not say whose rows are one person's", _EXAMPLE)
        return cls(column, int(rows), **{f"max_{name}": int(most) for name, most in given.items()})
