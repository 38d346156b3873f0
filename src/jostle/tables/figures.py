"""One released number: a sum or a mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from jostle.kernel.budget import round_down, round_up
from jostle.kernel.neighbours import Neighbours

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What was released, and everything public about it."""

    what: str
    """In words, such as "sum of income"."""

    value: float
    """The released number."""

    margin: float
    """Half the width of a 95 % interval around it."""

    spent: Fraction
    """The ε that it was charged."""

    remaining: Fraction
    """The ε that is left after it."""

    neighbours: Neighbours
    """What one person may change without it being noticed."""

    def explain(self) -> str:
        """The release in words."""
        return (
            f"{self.what} is {self.value:g} ± {self.margin:.3g} at 95 %, by Laplace noise at ε = {round_up(self.spent):g} "
            f"({self.neighbours} neighbours). ε = {round_down(self.remaining) + 0.0:g} is left."
        )

    def to_pandas(self) -> DataFrame:
        """What it is, its value, and the ends of its 95 % interval, in one row."""
        import pandas as pd  # takes a while to load

        row = {"figure": self.what, "value": self.value, "low": self.value - self.margin, "high": self.value + self.margin}
        return pd.DataFrame([row])

    def to_csv(self, path: str | Path) -> None:
        """Write what `to_pandas` gives to a file."""
        self.to_pandas().to_csv(path, index=False)

    def __float__(self) -> float:
        return self.value
