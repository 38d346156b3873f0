"""What a question about groups costs: how a price is divided between what is measured, and whether it buys ε or ρ.

Privacy: all of it is public. The kernel says what noise a price buys.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jostle.answers.grouped import GroupedAnswers
from jostle.kernel.budget import PURE, Price
from jostle.kernel.functions.totals import CellTotal, Mixture, WeightedTotals
from jostle.kernel.measures import Approximate
from jostle.kernel.source import AddedNoise
from jostle.tables.aggregates import Aggregate
from jostle.tables.columns import EngineColumns
from jostle.tables.group_quantiles import ERROR, GroupQuantiles
from jostle.tables.noise_choice import least_error
from jostle.tables.question import Question


@dataclass(frozen=True)
class Measured:
    """One total that is measured, and the aggregates that are read from it."""

    total: CellTotal
    aggregates: dict[str, Aggregate]

    def price(self, weights: Mapping[str, float]) -> float:
        """The weighted sum of squared errors of its aggregates at all of ε: in that of a count, relative to the range."""
        return sum(weights[name] * self._error(one) for name, one in self.aggregates.items())

    def _error(self, one: Aggregate) -> float:
        total = self.total
        if not isinstance(total, Mixture):
            return 1.0
        numbers = total.degree + 1
        if one.kind == "count":
            return float(numbers + (total.rest if one.column is None else 0))
        return 1.0 if one.kind == "sum" else 0.5  # a mean in the middle of the range; a variance is no harder


class PricedGroups(Question[GroupedAnswers]):
    """The prices of a question about groups."""

    in_rho = True
    groups: tuple[str, ...]
    _measured: list[Measured]
    _quantiles: list[GroupQuantiles]
    _weights: Mapping[str, float]
    _columns: EngineColumns
    _by: tuple[str, ...]
    _shared: dict[str, WeightedTotals]

    @property
    @abstractmethod
    def _size(self) -> int:
        """The number of groups."""

    def _weighted(self, measure: str) -> WeightedTotals:
        """The totals, with the shares of the price that make the weighted sum of squared errors least.

        Squared errors go with 1/share² under ε, so shares are in proportion to cube roots; under ρ, to square roots.
        """
        if measure not in self._shared:
            roots = _roots([self._error(one, measure) for one in self._measured], measure)
            self._shared[measure] = WeightedTotals([one.total for one in self._measured], roots)
        return self._shared[measure]

    def _error(self, one: Measured, measure: str) -> float:
        """The weighted sum of squared errors of a total's aggregates at a price of 1, in that of a count of single rows."""
        [noise] = self._noises_of(WeightedTotals([one.total], [1]), Price(Fraction(1), measure))
        if measure == PURE:
            moved = float(noise.amount / one.total.sensitivities(2)[0]) ** 2
        else:
            moved = float(2 * noise.amount / one.total.squared_sensitivities(2)[0])
        return one.price(self._weights) * moved

    def _noises_of(self, totals: WeightedTotals, price: Price) -> list[AddedNoise]:
        relation = self.table.neighbours.among_filtered() if self._columns.filtered else self.table.neighbours
        return totals.noises(self._size, relation, self._columns.contribution(self._by), price)

    def _noises(self, price: Price) -> list[AddedNoise]:
        """The noise on each total, for its share of the price; refused if it cannot be drawn."""
        return self._noises_of(self._weighted(price.measure), price) if self._measured else []

    def _parts(self, measure: str) -> list[int]:
        """What the totals have of a price, and then what each distribution has, in proportion."""
        parts = [int(sum(_roots([self._error(one, measure) for one in self._measured], measure)))] if self._measured else []
        return parts + _roots([self._ranked(one) for one in self._quantiles], measure)

    def _ranked(self, one: GroupQuantiles) -> float:
        return ERROR * max(self._weights[name] for name in one.aggregates) * float(self.table.neighbours.rows) ** 2

    def _shares(self, price: Price | None) -> list[Price | None]:
        """The price of the totals, and then of each distribution. None: the only one takes what there is."""
        parts = self._parts(PURE if price is None else price.measure)
        if len(parts) == 1 or price is None:
            return [price] * len(parts)
        return [price.times(Fraction(part, sum(parts))) for part in parts]

    def _expected_error(self, price: Price) -> float:
        """The weighted sum of squared errors at this price."""
        prices = [self._error(one, price.measure) for one in self._measured] + [*map(self._ranked, self._quantiles)]
        shares = _roots(prices, price.measure)
        parts = [float(price.amount) * share / sum(shares) for share in shares]
        if price.measure == PURE:
            return sum(2 * each / part**2 for each, part in zip(prices, parts, strict=True))
        return sum(each / (2 * part) for each, part in zip(prices, parts, strict=True))

    def _least_error(self, price: Price | None) -> Price | None:
        return least_error(self.table, price, self._expected_error)

    def _why(self, price: Price) -> str:
        """Why this noise, in an account where there is a choice."""
        limit = self.table._budget.limit
        kind = "Laplace" if price.measure == PURE else "Gaussian"
        if not isinstance(limit, Approximate) or not self.groups:
            return f"{kind} noise"
        unit = "row" if self.table.unit is None else self.table.unit.column
        most = self._columns.contribution(self._by).cells or self.table.neighbours.rows
        groups = "one group" if most == 1 else f"up to {most:,} groups"
        return f"{kind} noise, which has the smaller error where a {unit} counts in {groups}"


def _roots(prices: Sequence[float], measure: str) -> list[int]:
    """What makes the sum of squared errors least: their cube roots under ε, their square roots under ρ."""
    return [max(1, round(1000 * price ** (1 / 3 if measure == PURE else 1 / 2))) for price in prices]
