"""Columns of days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.schema.columns import Coded, Codes, Column, Null, Outside
from jostle.schema.values import as_days
from jostle.schema.written import DateForm, date_form


@final
@dataclass(frozen=True)
class Date(Column):
    """Days from low to high, both included, by day, week (seven days from low on), month or year.

    >>> Date(date(2024, 1, 1), date(2024, 12, 31), every="month").size
    12
    """

    kind = "date"
    low: date
    high: date
    every: Literal["day", "week", "month", "year"] = "day"
    outside: Outside = "clip"
    null: Null = "drop"
    missing: Sequence[str] = ()
    format: str = ""
    """The form of the dates in texts, such as `%d.%m.%Y`; without it, 2024-12-31."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, str):
                try:
                    object.__setattr__(self, name, date.fromisoformat(value))
                except ValueError:
                    raise BadInput(name, "must be a date", "write it as 2024-12-31") from None
            elif type(value) is not date:
                raise BadInput(name, "must be a date", "pass a datetime.date, or write it as 2024-12-31")
        if not self.low < self.high:
            raise BadInput("high", "must be after low", "write the first day first")
        if self.every not in ("day", "week", "month", "year"):
            raise BadInput("every", f"{self.every!r} is unknown", "use 'day', 'week', 'month' or 'year'")
        self._check_rules()
        if self.format != "":
            date_form(self.format)

    @property
    def form(self) -> DateForm | None:
        """The form of the dates in texts; None for 2024-12-31."""
        return date_form(self.format) if self.format else None

    @property
    def written(self) -> str:
        return f"a date such as {self.form.example if self.form else '2024-12-31'}"

    @property
    def values(self) -> int:
        return int(self._cell(np.array([self.high], dtype="datetime64[D]"))[0]) + 1

    @property
    def names(self) -> list[str]:
        """The first day, the month or the year of each cell."""
        if self.every in ("day", "week"):
            step = 1 if self.every == "day" else 7
            return [(self.low + timedelta(days=step * i)).isoformat() for i in range(self.values)]
        if self.every == "year":
            return [str(self.low.year + i) for i in range(self.values)]
        first = self.low.year * 12 + self.low.month - 1
        return [f"{(first + i) // 12}-{(first + i) % 12 + 1:02d}" for i in range(self.values)]

    def place(self, array: NDArray[Any]) -> Coded:
        """Times of day are ignored."""
        days = as_days(array, self.form)
        missing = np.isnat(days)
        low, high = np.datetime64(self.low), np.datetime64(self.high)
        kept = np.where(missing, low, days)
        return self._cell(np.clip(kept, low, high)), (kept < low) | (kept > high), missing

    def _cell(self, days: NDArray[Any]) -> Codes:
        if self.every in ("day", "week"):
            since = (days - np.datetime64(self.low)).astype(np.int64)
            return np.asarray(since // (1 if self.every == "day" else 7), dtype=np.int64)
        unit = {"month": "datetime64[M]", "year": "datetime64[Y]"}[self.every]
        return np.asarray(days.astype(unit).astype(np.int64) - np.datetime64(self.low).astype(unit).astype(np.int64))
