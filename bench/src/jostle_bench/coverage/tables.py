"""How often the intervals of questions to tables hold: counts, sums, means, variances, quantiles, ratios and marginals.

Also of groups that were selected privately, of a classifier's accuracy on held-out records, and of regression coefficients.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jostle import learn
from jostle.kernel.budget import CONCENTRATED, Price
from jostle.kernel.measures import Approximate, Concentrated
from jostle.kernel.partition import Vector
from jostle.kernel.records import SimulatedRecords
from jostle.learn import held_out
from jostle.learn.regression.regressor import PrivateRegressor
from jostle.learn.task import Task
from jostle.schema import Category, Real, Schema, Text
from jostle.tables.aggregates import count, mean, quantiles, std, sum, variance  # as users import them
from jostle.tables.aggregates import max as agg_max
from jostle.tables.aggregates import min as agg_min
from jostle.tables.opening import open as open_table

if TYPE_CHECKING:
    import pandas as pd

    from jostle.tables.table import Table

GROUPS = 24
HIGH = 1000.0
LEVEL = 0.8

Ends = Mapping[str, tuple[Vector, Vector]]
"""By the name of a figure: the lower and the upper ends of its intervals."""

Paid = dict[str, Any]
"""The price as an argument of a question: ε or ρ."""

DELTA = 1e-6
"""Of one private selection of groups."""


@dataclass
class Held:
    """How many intervals hold."""

    held: int = 0
    asked: int = 0
    by_release: list[float] = field(default_factory=list)

    def add(self, within: NDArray[np.bool_]) -> None:
        self.held += int(within.sum())
        self.asked += within.size
        self.by_release.append(float(within.mean()))

    @property
    def covered(self) -> float:
        """The share that holds."""
        return self.held / self.asked

    @property
    def doubt(self) -> float:
        """Its standard error, from the differences between releases."""
        return float(np.std(self.by_release, ddof=1) / np.sqrt(len(self.by_release))) if len(self.by_release) > 1 else 1.0


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    """Groups from many rows to few, with skew values between 0 and 1,000."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    groups = np.minimum(rng.geometric(0.15, rows) - 1, GROUPS - 1)
    values = np.clip(rng.gamma(1.5, 60.0 + 8 * groups), 0, HIGH).round(1)
    return pd.DataFrame(
        {
            "g": [f"g{one:02}" for one in groups],
            "h": rng.choice(["a", "b", "c"], rows),
            "v": values,
            "w": rng.uniform(0, 10, rows).round(1),
        }
    )


def measured(
    rows: int, price: Price, releases: int, questions: Sequence[Callable[[Table, Paid], Ends]] | None = None
) -> dict[str, Held]:
    """Per figure, how often its intervals hold, over some releases of one table.

    >>> found = measured(2000, Price.of(1), releases=1, questions=[_by_group])
    >>> found["count by group"].asked, found["sum by group"].covered > 0.5
    (24, True)
    """
    paid = _named(price)
    data = frame(rows)
    truth = _truth(data)
    schema = Schema({"g": Category(sorted(f"g{one:02}" for one in range(GROUPS)), outside="drop", null="drop")})
    schema = Schema(
        {
            **schema,
            "h": Category(["a", "b", "c"], outside="drop", null="drop"),
            "v": Real(0, HIGH, bins=100),
            "w": Real(0, 10, bins=10),
        }
    )
    found: dict[str, Held] = {}
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "budget.db"
        budget: Any = 100 * price.amount * releases
        if price.measure == CONCENTRATED:
            budget = Concentrated(budget)
        table = open_table(data, schema=schema, ledger=ledger, budget=budget, name="made_up")
        for _ in range(releases):
            for ask in QUESTIONS if questions is None else questions:
                for figure, (low, high) in ask(table, paid).items():
                    right = truth[figure]
                    looked_at = np.isfinite(low) | np.isfinite(high) | (not figure.startswith("top"))
                    held = (low - 1e-6 <= right) & (right <= high + 1e-6)
                    found.setdefault(figure, Held()).add(held[looked_at])
    return found


def _truth(data: pd.DataFrame) -> dict[str, Vector]:
    names = sorted(f"g{one:02}" for one in range(GROUPS))
    groups = data.groupby("g")["v"]
    by = {"count": groups.size(), "sum": groups.sum(), "mean": groups.mean()}
    by |= {"variance": groups.var(ddof=0), "std": groups.std(ddof=0), "quantile": groups.quantile(LEVEL)}
    by |= {"min": groups.quantile(0.01), "max": groups.quantile(0.99)}
    found = {f"{name} by group": one.reindex(names).fillna(0).to_numpy(dtype=np.float64) for name, one in by.items()}
    values = data["v"].to_numpy()
    found |= {"sum": np.array([values.sum()]), "mean": np.array([values.mean()])}
    found["quantiles"] = np.quantile(values, [0.25, 0.5, 0.9])
    found["ratio of sums"] = found["sum by group"] / np.maximum(found["count by group"], 1)
    found["ratio of two sums"] = found["sum by group"] / np.maximum(
        data.groupby("g")["w"].sum().reindex(names).fillna(0), 1e-9
    )
    cells = data.groupby(["g", "h"]).size().unstack(fill_value=0).reindex(names, fill_value=0)
    found["marginals"] = np.concatenate(
        [cells.to_numpy(dtype=np.float64).reshape(-1), cells.sum().to_numpy(dtype=np.float64)]
    )
    found["top 10"] = found["top 10 by Laplace"] = cells.to_numpy(dtype=np.float64).reshape(-1)
    return found


def _by_group(table: Table, paid: Paid) -> Ends:
    asked: dict[str, Any] = {
        "count": count(),
        "sum": sum("v"),
        "mean": mean("v"),
        "variance": variance("v"),
        "std": std("v"),
    }
    answer = table.group_by("g").aggregate(**asked, **paid)
    return {f"{name} by group": answer.ends[name] for name in asked}


def _quantile_by_group(table: Table, paid: Paid) -> Ends:
    answer = table.group_by("g").aggregate(quantile=quantiles("v", LEVEL), **paid)
    return {"quantile by group": answer.ends["quantile"]}


def _of_all(table: Table, paid: Paid) -> Ends:
    found = {}
    answers = {"sum": table.sum("v", **paid), "mean": table.mean("v", **paid)}
    for name, answer in (answers | {"quantiles": table.quantiles("v", [0.25, 0.5, 0.9], **paid)}).items():
        rows = answer.rows().by_name()
        found[name] = np.array(rows["low"], dtype=np.float64), np.array(rows["high"], dtype=np.float64)
    return found


def _ratio(table: Table, paid: Paid) -> Ends:
    text = "SELECT g, SUM(v) / COUNT(*) AS r FROM made_up GROUP BY g"
    rows = table.sql(text, **paid).rows().by_name()
    low, high = (np.array([np.nan if x is None else x for x in rows[end]], dtype=np.float64) for end in ("low", "high"))
    return {"ratio of sums": (np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf))}


def _extremes(table: Table, paid: Paid) -> Ends:
    answer = table.group_by("g").aggregate(low=agg_min("v"), high=agg_max("v"), **paid)
    return {"min by group": answer.ends["low"], "max by group": answer.ends["high"]}


def _ratio_of_columns(table: Table, paid: Paid) -> Ends:
    return {"ratio of two sums": table.group_by("g").aggregate(r=sum("v") / sum("w"), **paid).ends["r"]}


def _top(table: Table, paid: Paid) -> Ends:
    """The largest combinations of two columns, by plain noise and by what is chosen; other cells have no intervals."""
    found = {}
    for name, algorithm in (("top 10 by Laplace", "Laplace"), ("top 10", None)):
        top = table.top("g", "h", k=10, **paid, algorithm=algorithm)
        off = np.full(len(top.release.answers), np.inf)
        off[top.places] = top.margins
        found[name] = top.release.answers - off, top.release.answers + off
    return found


def _marginals(table: Table, paid: Paid) -> Ends:
    parts = table.marginals(("g", "h"), ("h",), **paid).values()
    answers, off = (np.concatenate([getattr(one, name) for one in parts]) for name in ("answers", "margins"))
    return {"marginals": (answers - off, answers + off)}


QUESTIONS: tuple[Callable[[Table, Paid], Ends], ...] = (
    _by_group,
    _quantile_by_group,
    _of_all,
    _ratio,
    _marginals,
    _extremes,
    _ratio_of_columns,
    _top,
)


# ----------------------------------------------------------------------------------- what is asked in another way


def private_keys(rows: int, epsilon: float, releases: int) -> dict[str, Held]:
    """Counts and means of groups that were selected privately, from an account of (ε, δ); groups not shown have no interval.

    >>> private_keys(2000, 4.0, releases=2)["count of selected groups"].asked > 20
    True
    """
    data = frame(rows)
    truth = {name: found for name, found in _truth(data).items() if name in ("count by group", "mean by group")}
    schema = Schema({"g": Text(), "v": Real(0, HIGH, bins=100)})
    found = {"count of selected groups": Held(), "mean of selected groups": Held()}
    with tempfile.TemporaryDirectory() as folder:
        cap = Approximate(4 * epsilon * releases, 4 * releases * DELTA)
        table = open_table(data, schema=schema, ledger=Path(folder) / "budget.db", budget=cap, name="made_up")
        for _ in range(releases):
            asked = table.group_by("g", keys="private", keys_delta=DELTA)
            answer = asked.aggregate(count=count(), mean=mean("v"), epsilon=epsilon)
            places = [int(str(label)[1:]) for label in answer.labels["g"]]
            for name, (low, high) in answer.ends.items():
                right = truth[f"{name} by group"][places]
                found[f"{name} of selected groups"].add((low - 1e-6 <= right) & (right <= high + 1e-6))
    return found


def held_out_accuracy(rows: int, price: Price, releases: int) -> dict[str, Held]:
    """A model's accuracy on the records that it was not learned from: new coins and new noise in each release.

    >>> held_out_accuracy(500, Price.of(1), releases=20)["accuracy on held-out records"].asked
    20
    """
    rng = np.random.default_rng(1)
    codes = {"a": rng.integers(0, 3, rows), "b": rng.integers(0, 2, rows)}
    codes["y"] = np.where(rng.random(rows) < 0.8, codes["b"], 1 - codes["b"])
    columns = {"a": Category(["0", "1", "2"]), "b": Category(["0", "1"]), "y": Category(["0", "1"])}
    task, found = Task(("a", "b"), "y", columns), Held()
    for seed in range(releases):
        coins = rng.random(rows) < held_out.SHARE
        records = SimulatedRecords(held_out.source(task, codes, coins), seed=seed)
        tested = held_out.learn_and_test(records, task, learn.get("Majority"), price)
        right = held_out.right_on(tested.model, task, {name: column[coins] for name, column in codes.items()}).mean()
        found.add(np.array([abs(tested.accuracy - right) <= tested.margin + 1e-9]))
    return {"accuracy on held-out records": found}


def coefficients(rows: int, price: Price, releases: int) -> dict[str, Held]:
    """Coefficients of a linear regression, against those of the same records without noise."""
    rng = np.random.default_rng(2)
    data = rng.random((rows, 2))
    paid = np.clip(2 + data @ np.array([4, -1]) + rng.normal(0, 0.5, rows), 0, 10)
    how: dict[str, Any] = {"label": "price", "model": "linear", "method": "moments"}
    how["schema"] = Schema({"size": Real(0, 1, bins=64), "age": Real(0, 1, bins=64), "price": Real(0, 10, bins=200)})
    names, found = ["(constant)", "size", "age"], Held()
    exact = PrivateRegressor(10**7, random_state=0, **how).fit(data, paid).coefficients().set_index("coefficient")
    for seed in range(releases):
        model = PrivateRegressor(**how | {"epsilon": None} | _named(price), random_state=seed).fit(data, paid)
        table = model.coefficients().set_index("coefficient").loc[names]
        right = exact.loc[names, "value"]
        found.add(((table["low"] <= right) & (right <= table["high"])).to_numpy())
    return {"regression coefficients": found}


def _named(price: Price) -> Paid:
    return {"rho" if price.measure == CONCENTRATED else "epsilon": price.amount}
