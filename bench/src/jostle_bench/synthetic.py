"""How far synthetic tables are from the tables behind them: marginals, and models trained on them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.answers.prices import price_of
from jostle.answers.synthetic_table import SyntheticTable
from jostle.kernel.budget import Price
from jostle.kernel.errors import BadInput
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.schema import Category, Column, Integer
from jostle.schema.rows import Rows
from jostle.synthetic.strategies import Tuning
from jostle.synthetic.synthesizer import synthesize

Codes = dict[str, NDArray[np.int64]]

MOST_CELLS = 10_000
"""Three columns with more combinations are left out."""

LEARNED = 0.8
"""The share of the records that are learned from; models are tested on the others."""

ORDERED = 20
"""A file says how many cells a column has, not of which kind it is: from this number on, one is taken for a number."""


@dataclass(frozen=True)
class CodedTable:
    """A public table of whole numbers from 0 on, and how many values each column may have."""

    name: str
    columns: Mapping[str, Column]
    train: Codes
    test: Codes

    @property
    def sizes(self) -> dict[str, int]:
        return {name: column.values for name, column in self.columns.items()}


def read_table(path: Path) -> CodedTable:
    """A file of codes with a header, and beside it a file of the columns' sizes: `NAME.json`, or `domain.json`."""
    import pandas as pd

    beside = [path.with_name(path.name.split(".")[0] + ".json"), path.with_name("domain.json")]
    found = next((one for one in beside if one.exists()), None)
    if not path.exists() or found is None:
        raise BadInput("tables", f"{path} is not there, or has no file of sizes", f"write {beside[0].name} beside it")
    sizes = json.loads(found.read_text("utf-8"))
    frame = pd.read_csv(path)
    codes = {name: frame[name].to_numpy(dtype=np.int64) for name in sizes}
    if any(column.min() < 0 or column.max() >= sizes[name] for name, column in codes.items()):
        raise BadInput("tables", f"{path} has codes that are not below the sizes in {found.name}", "correct either")
    return _split(path.name.split(".")[0], sizes, codes)


def made_up(columns: int, rows: int, seed: int = 0) -> CodedTable:
    """Columns of 2 to 20 cells, each of which follows one or two of those before it."""
    rng = np.random.default_rng([seed, columns, rows])
    sizes = {f"c{place}": int(size) for place, size in enumerate(rng.choice([2, 3, 5, 8, 12, 20], columns))}
    values: list[NDArray[np.float64]] = []
    for _ in sizes:
        parents = [values[one] for one in rng.permutation(len(values))[: rng.integers(1, 3)]]
        values.append(sum(parents, np.zeros(rows)) * rng.uniform(0.3, 0.9) + rng.normal(size=rows))
    codes = {}
    for (name, size), value in zip(sizes.items(), values, strict=True):
        cuts = np.quantile(value, np.sort(rng.random(size - 1)))
        codes[name] = np.searchsorted(cuts, value).astype(np.int64)
    return _split(f"made-{columns}x{rows}", sizes, codes)


def _split(name: str, sizes: Mapping[str, int], codes: Codes) -> CodedTable:
    order = np.random.default_rng(0).permutation(len(next(iter(codes.values()))))
    cut = int(LEARNED * len(order))
    columns: dict[str, Column] = {
        column: Integer(0, size - 1, null="drop")
        if size >= ORDERED
        else Category(list(range(size)), outside="drop", null="drop")
        for column, size in sizes.items()
    }
    train, test = ({column: code[part] for column, code in codes.items()} for part in (order[:cut], order[cut:]))
    return CodedTable(name, columns, train, test)


@dataclass(frozen=True)
class SynthesisResult:
    """What one synthetic table is like."""

    table: str
    price: str
    pairs: float
    triples: float
    boosting: float | None
    seconds: float

    def facts(self) -> dict[str, Any]:
        return dict(vars(self))


def measure(
    table: CodedTable,
    epsilon: float,
    delta: float | None,
    *,
    seed: int,
    label: str | None = None,
    tuning: Tuning | None = None,
) -> SynthesisResult:
    """A synthetic table of public records: a simulation."""
    records = SimulatedRecords(ArrayColumns(table.train, table.sizes), seed=seed)
    price = Price.of(price_of(str(epsilon), None if delta is None else str(delta), None))
    begun = time.process_time()
    made = synthesize(records, table.columns, records.grant(price), tuning=tuning)
    rows = len(next(iter(table.train.values())))
    codes = made.draw(rows, np.random.default_rng(seed))
    seconds = time.process_time() - begun
    words = f"ε = {epsilon:g}" if delta is None else f"ε = {epsilon:g}, δ = {delta:g}"
    boosting = None if label is None else boosting_error(table, codes, label)
    return SynthesisResult(table.name, words, distance(table, codes, 2), distance(table, codes, 3), boosting, seconds)


def intervals(
    table: CodedTable, epsilon: float, delta: float | None, *, runs: int, seed: int = 0
) -> dict[str, tuple[int, int]]:
    """How many counts of one and two columns lie in their 95 % intervals, and of how many, by where these come from."""
    price = Price.of(price_of(str(epsilon), None if delta is None else str(delta), None))
    found: dict[str, tuple[int, int]] = {}
    for run in range(runs):
        records = SimulatedRecords(ArrayColumns(table.train, table.sizes), seed=seed + run)
        made = synthesize(records, table.columns, records.grant(price))
        answer = SyntheticTable(
            synthesis=made,
            records=Rows({}),
            neighbours=records.neighbours,
            spent=price.amount,
            remaining=Fraction(0),
            measure=price.measure,
        )
        for names in [*combinations(table.columns, 1), *combinations(table.columns, 2)]:
            one = answer.marginal(*names)
            shape = tuple(made.coarse[name].size for name in names)
            place = np.ravel_multi_index([made.coarse[name].groups[table.train[name]] for name in names], shape)
            truth = np.bincount(place, minlength=math.prod(shape))
            inside, of = found.get(one.basis, (0, 0))
            found[one.basis] = inside + int(((one.low <= truth) & (truth <= one.high)).sum()), of + truth.size
    return found


def mean(results: Sequence[SynthesisResult]) -> SynthesisResult:
    """Means of several runs on one table at one price."""
    first = results[0]
    boosting = None if first.boosting is None else float(np.mean([one.boosting for one in results]))
    pairs, triples, seconds = (
        float(np.mean([getattr(one, name) for one in results])) for name in ("pairs", "triples", "seconds")
    )
    return SynthesisResult(first.table, first.price, pairs, triples, boosting, seconds)


def of_file(table: CodedTable, path: Path, label: str | None = None) -> SynthesisResult:
    """The same of synthetic records that another program made: a file of codes."""
    import pandas as pd

    frame = pd.read_csv(path)
    codes = {name: frame[name].to_numpy(dtype=np.int64) for name in table.columns}
    boosting = None if label is None else boosting_error(table, codes, label)
    return SynthesisResult(table.name, path.name, distance(table, codes, 2), distance(table, codes, 3), boosting, math.nan)


def independent(table: CodedTable) -> SynthesisResult:
    """Columns that have nothing to do with each other, without noise."""
    rng = np.random.default_rng(0)
    codes = {name: rng.permutation(column) for name, column in table.train.items()}
    return SynthesisResult(
        table.name, "independent columns", distance(table, codes, 2), distance(table, codes, 3), None, math.nan
    )


def distance(table: CodedTable, codes: Codes, degree: int) -> float:
    """The mean L1 distance of histograms of this many columns, as shares, from those of the records learned from."""
    return distance_of_codes(table.train, codes, table.sizes, degree)


def distance_of_codes(truth: Codes, codes: Codes, sizes: Mapping[str, int], degree: int, most: int | None = None) -> float:
    """The same for codes; `most` takes so many of the sets of columns, evenly."""
    shapes = {names: tuple(sizes[name] for name in names) for names in combinations(sizes, min(degree, len(sizes)))}
    small = [names for names, shape in shapes.items() if degree < 3 or math.prod(shape) <= MOST_CELLS]
    taken = small[:: max(1, len(small) // most)] if most else small
    found = [np.abs(_shares(truth, names, shapes[names]) - _shares(codes, names, shapes[names])).sum() for names in taken]
    return float(np.mean(found)) if found else math.nan


def _shares(codes: Codes, names: tuple[str, ...], shape: tuple[int, ...]) -> NDArray[np.float64]:
    place = np.ravel_multi_index([codes[name] for name in names], shape)
    return np.bincount(place, minlength=math.prod(shape)) / max(len(place), 1)


def boosting_error(table: CodedTable, codes: Codes, label: str) -> float:
    """How often gradient boosting that learned from these records is wrong about real ones that were held out."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    others = [name for name in table.columns if name != label]
    stacked = [np.column_stack([part[name] for name in others]) for part in (codes, table.test)]
    model = HistGradientBoostingClassifier(random_state=0).fit(stacked[0], codes[label])
    return float((model.predict(stacked[1]) != table.test[label]).mean())
