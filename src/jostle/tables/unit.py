"""The privacy unit: whether one row is protected, or everything that a table holds about one person."""

from __future__ import annotations

from dataclasses import dataclass
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
    """

    column: str
    """The column that says whose row it is. It need not be in the schema, and is never released."""

    max_rows: int
    """The most rows of one person that count. Noise is in proportion to it."""

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise BadInput("unit", "needs the name of the column with persons", _EXAMPLE)
        rows = whole(self.max_rows)
        if rows is None or not 1 <= rows <= LARGEST_ROWS:
            problem = f"must be a whole number from 1 to {LARGEST_ROWS}"
            raise BadInput("max_rows", problem, "say how many rows of a person count")
        object.__setattr__(self, "max_rows", rows)

    @classmethod
    def of(cls, value: Unit | str | None) -> Unit | None:
        """The unit, or the one that the text `column:max_rows` says; None stands for single rows."""
        if value is None or isinstance(value, Unit):
            return value
        column, _, rows = value.rpartition(":") if isinstance(value, str) else ("", "", "")
        if not column or not (rows.isascii() and rows.isdigit() and len(rows) < 10):
            raise BadInput("unit", "does not say whose rows are one person's", _EXAMPLE)
        return cls(column, int(rows))
