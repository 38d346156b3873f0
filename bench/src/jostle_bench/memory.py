"""How much ε a memory of released answers saves: a dashboard and statements on public tables, with and without it.

Every question is asked at the same price of both. Without memory it costs that; with memory it costs what is missing.
Answers are compared with the truth, which public tables allow: how often the 95 % intervals hold, and how large errors are.
"""

from __future__ import annotations

import csv
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import jostle
from jostle.kernel.errors import BadInput
from jostle.schema import Category, Column, Integer

EPSILON = Fraction(1, 10)
"""What each question may cost."""

CONDITIONS = (
    "sex = '{sex}'",
    "work = '{work}'",
    "age >= {age}",
    "sex = '{sex}' AND work = '{work}'",
    "age < {age} AND married = '{married}'",
    "married = '{married}'",
)
GROUPS = ("", "sex", "married", "age", "work", "sex, married", "income", "work, income")
MEANS = ("AVG(hours)", "SUM(hours)", "AVG(age)")


@dataclass
class MemoryRun:
    """What questions cost, and how far off their answers were."""

    asked: int = 0
    epsilon: Fraction = Fraction(0)
    free: int = 0
    dearer: int = 0
    """Questions that cost more than they may."""

    held: list[bool] = field(default_factory=list)
    """Whether each interval holds the true number."""

    errors: list[float] = field(default_factory=list)
    """Root mean squared errors of questions about counts."""

    widths: list[float] = field(default_factory=list)
    """Median margins of questions about counts."""


def adult(folder: Path | None) -> tuple[dict[str, list[Any]], dict[str, Column]]:
    """The census sample Adult, or made-up people of the same columns."""
    source = None if folder is None else folder / "adult.data"
    if source is not None and source.exists():
        with source.open(encoding="utf-8") as lines:
            rows = [[part.strip() for part in row] for row in csv.reader(lines) if len(row) == 15]
        names = {"age": 0, "work": 1, "married": 5, "sex": 9, "hours": 12, "income": 14}
        data: dict[str, list[Any]] = {name: [row[place] for row in rows] for name, place in names.items()}
        data |= {name: [int(one) for one in data[name]] for name in ("age", "hours")}
    else:
        rng = np.random.default_rng(0)
        data = {"age": rng.integers(17, 91, 30_000).tolist(), "hours": rng.integers(1, 100, 30_000).tolist()}
        for name, values in {"work": "abcdefg", "married": "abcde", "sex": "fm", "income": "lh"}.items():
            data[name] = rng.choice([*values], 30_000).tolist()
    schema: dict[str, Column] = {name: Category(sorted(set(values))) for name, values in data.items()}
    schema |= {"age": Integer(17, 90, bins=15, null="own"), "hours": Integer(1, 99, null="own")}
    return data, schema


def dashboard(data: dict[str, list[Any]], seed: int, tiles: int = 40, refreshed: int = 4) -> Iterator[str]:
    """A dashboard of questions that overlap: counts and means by columns, each refreshed with new conditions."""
    rng = np.random.default_rng(seed)
    aggregates = ["COUNT(*)", "COUNT(*)", "COUNT(*)", str(rng.choice(MEANS))]
    shown = [tuple(str(rng.choice(words)) for words in (GROUPS, CONDITIONS, aggregates)) for _ in range(tiles)]
    for _ in range(refreshed):
        values = {name: rng.choice(sorted(set(data[name]))) for name in ("sex", "work", "married")}
        age = int(rng.integers(3, 8)) * 10  # one choice of conditions for the whole dashboard, as a reader makes it
        for group, condition, aggregate in shown:
            yield _statement(group, condition.format(age=age, **values), aggregate)


def statements(data: dict[str, list[Any]], seed: int, number: int = 150) -> Iterator[str]:
    """Statements in random order: every combination of a group, a condition and an aggregate that is drawn."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        values = {name: rng.choice(sorted(set(data[name]))) for name in ("sex", "work", "married")}
        where = str(rng.choice(CONDITIONS)).format(age=int(rng.integers(3, 8)) * 10, **values) if rng.random() < 0.7 else ""
        yield _statement(str(rng.choice(GROUPS)), where, "COUNT(*)" if rng.random() < 0.7 else str(rng.choice(MEANS)))


def _statement(group: str, where: str, aggregate: str) -> str:
    by = f" GROUP BY {group}" if group else ""
    condition = f" WHERE {where}" if where else ""
    return f"SELECT {f'{group}, ' if group else ''}{aggregate} AS n FROM people{condition}{by}"  # noqa: S608  # our own words


def run(asked: list[str], data: dict[str, list[Any]], schema: dict[str, Column], *, memory: bool) -> MemoryRun:
    """Ask all of them, each at the same price, and compare with the truth."""
    import pandas

    frame, found = pandas.DataFrame(data), MemoryRun()
    with tempfile.TemporaryDirectory(prefix="jostle-") as folder:
        keywords: dict[str, Any] = {"schema": schema, "budget": 10**6, "name": "people"}
        table = jostle.open(frame, ledger=Path(folder) / "b.db", version="1" if memory else None, **keywords)
        exact = jostle.open(frame, ledger=Path(folder) / "exact.db", **keywords | {"budget": 10**9})
        for text in asked:
            answer = table.sql(text, epsilon=EPSILON)
            found.asked, found.epsilon = found.asked + 1, found.epsilon + answer.spent
            found.free, found.dearer = found.free + (not answer.spent), found.dearer + (answer.spent > EPSILON)
            low, high, number = _numbers(answer)
            truth = _numbers(exact.sql(text, epsilon=10**5))[2]
            found.held += ((low <= truth + 1e-3) & (truth <= high + 1e-3)).tolist()
            if "COUNT" in text:
                found.errors.append(float(np.sqrt(np.mean((number - truth) ** 2))))
                found.widths.append(float(np.median(high - low)) / 2)
    return found


def _numbers(answer: Any) -> list[Any]:
    """The ends of the intervals, and the numbers, group by group in the order of the table."""
    columns = answer.rows().columns
    names = [*columns]
    low, high = (next(name for name in names if name.endswith(end)) for end in ("low", "high"))
    return [np.asarray(columns[name], dtype=np.float64) for name in (low, high, "n")]


def lookup(others: int = 10_000) -> tuple[float, float]:
    """Seconds to find and combine what answers a question beside that many remembered measurements; and bytes per number."""
    from jostle.tables.memory.bodies import Remembered
    from jostle.tables.memory.buying import place_of
    from jostle.tables.memory.memory import Memory
    from jostle.tables.memory.store import Keepsake

    data, schema = adult(None)
    import pandas

    with tempfile.TemporaryDirectory(prefix="jostle-") as folder:
        ledger = Path(folder) / "b.db"
        table = jostle.open(pandas.DataFrame(data), schema=schema, ledger=ledger, budget=10**6, name="people", version="1")
        names = ["age", "hours", "sex"]
        table.histogram(*names, epsilon=EPSILON, algorithm="Laplace")
        memory = table._budget.memory
        question = table.ask("age", "sex", algorithm="Laplace")
        place = place_of(question)
        if not isinstance(memory, Memory) or memory.store is None or place is None:
            raise BadInput("memory", "is not there", "open the table with a version")
        kept = [one for one in memory.store.everything() if one.topic.startswith("m:")]
        numbers = sum(Remembered.of_bytes(one.body).numbers.size for one in kept)
        size = sum(len(one.body) for one in kept) / numbers
        table.histogram("age", "sex", epsilon=EPSILON, algorithm="Laplace")
        [row] = [one for one in memory.store.everything() if one.topic.startswith("m:")][-1:]
        roots = row.topic.rpartition(":")[0]
        memory.store.add([Keepsake("people", f"{roots}:{n % 997:012d}", 1.0, row.body) for n in range(others)])
        times = []
        for _ in range(9):
            began = time.perf_counter()
            memory.recollect(place.rows, place.frame)
            times.append(time.perf_counter() - began)
    return float(np.median(times)), size


def data_folder() -> Path | None:
    """The folder with public data sets, if one is named."""
    named = os.environ.get("JOSTLE_DATA")
    return Path(named) if named else None
