"""How much ε a memory of released answers saves: dashboards and statements about two public tables, with and without it.

Every question is asked at the same price of both. Without memory it costs that; with memory it costs what is missing.
Answers are compared with the truth, which public tables allow: how often the 95 % intervals hold, and how large errors are.
"""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import jostle
from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Column, Integer, Real

EPSILON = Fraction(1, 10)
"""What each question may cost."""

NO_NOISE = 10**6
"""An ε at which an answer is the truth."""

GROUPS = ("", "sex", "married", "age", "{work}", "sex, married", "{income}", "{work}, {income}")
CONDITIONS = (
    "sex = '{sex}'",
    "{work} = '{job}'",
    "age >= {age}",
    "sex = '{sex}' AND {work} = '{job}'",
    "age < {age} AND married",
    "married",
)
MEANS = ("AVG({hours})", "SUM({hours})", "AVG(age)")


@dataclass
class PublicTable:
    """A public table, and the columns that play a part in a dashboard about it."""

    name: str
    data: Mapping[str, Sequence[Any]]
    schema: Mapping[str, Column]
    parts: Mapping[str, str]
    lookups: Mapping[str, Any]

    @cached_property
    def frame(self) -> Any:
        import pandas

        return pandas.DataFrame(self.data)

    def opened(self, folder: Path, *, version: str | None) -> Any:
        keywords: dict[str, Any] = {"schema": self.schema, "budget": 10**12, "name": self.name, "version": version}
        return jostle.open(self.frame, ledger=folder / f"{self.name}.db", **keywords)

    @cached_property
    def exact(self) -> Exact:
        return Exact(self)


def people(folder: Path | None) -> PublicTable:
    """The census sample Adult, or made-up people of the same columns."""
    rng, source = np.random.default_rng(0), None if folder is None else folder / "adult.data"
    if source is not None and source.exists():
        with source.open(encoding="utf-8") as lines:
            rows = [[part.strip() for part in row] for row in csv.reader(lines) if len(row) == 15]
        places = {"age": 0, "work": 1, "educ": 4, "marital": 5, "race": 8, "sex": 9, "gain": 10, "hours": 12, "income": 14}
        data: dict[str, list[Any]] = {name: [row[place] for row in rows] for name, place in places.items()}
        data |= {name: [int(one) for one in data[name]] for name in ("age", "educ", "gain", "hours")}
    else:
        words = {"work": "abcdefg?", "marital": ["Married", "Single"], "race": ["White", "Black", "Other"]}
        words |= {"sex": ["Female", "Male"], "income": ["<=50K", ">50K"]}
        data = {name: rng.choice([*some], 30_000).tolist() for name, some in words.items()}
        numbers = {"age": (17, 91), "educ": (1, 17), "gain": (0, 99_999), "hours": (1, 100)}
        data |= {name: rng.integers(*between, 30_000).tolist() for name, between in numbers.items()}
    data["work"] = [None if one == "?" else one for one in data["work"]]
    data["married"] = [one.startswith("Married") for one in data.pop("marital")]
    data["schooling"] = ["school" if one <= 9 else "college" if one <= 13 else "master" for one in data["educ"]]
    races = sorted({*data["race"]} | {"White", "Black", "Other"})
    schema: dict[str, Column] = {
        "age": Integer(17, 90),
        "sex": Category(["Female", "Male"], outside="drop", null="drop"),
        "educ": Integer(1, 16),
        "race": Category(races, outside="drop", null="drop"),
        "gain": Real(0, 100_000, bins=50),
        "married": Boolean(outside="drop", null="drop"),
        "schooling": Category(["school", "college", "master"], outside="drop", null="drop"),
        "hours": Integer(1, 99),
        "work": Category(sorted({*data["work"]} - {None}), outside="drop", null="own"),
        "income": Category(["<=50K", ">50K"], outside="drop", null="drop"),
    }
    regions = ["Raleigh" if one == "White" else "Cary" if one == "Black" else "Chapel Hill" for one in races]
    lookups = {"regions": {"race_of": races, "region": regions, "rate": [1.0 + 0.5 * n for n in range(len(races))]}}
    return PublicTable("people", data, schema, {"work": "work", "income": "income", "hours": "hours"}, lookups)


def clients(folder: Path | None) -> PublicTable:
    """Clients with credit cards (Default of Credit Card Clients), or made-up ones of the same columns."""
    source = None if folder is None else folder / "credit_default.csv.gz"
    if source is not None and source.exists():
        with gzip.open(source, "rt", encoding="utf-8") as lines:
            rows = [*csv.DictReader(lines)]
        given = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    else:
        rng = np.random.default_rng(1)
        bounds = {"SEX": (1, 3), "EDUCATION": (1, 5), "MARRIAGE": (1, 4), "AGE": (21, 80), "PAY_0": (-2, 9)}
        given = {name: rng.integers(*between, 30_000).astype(float) for name, between in bounds.items()}
        given |= {name: rng.gamma(2, 20_000, 30_000) for name in ("LIMIT_BAL", "BILL_AMT1", "PAY_AMT1", "PAY_AMT2")}
        given["default.payment.next.month"] = rng.integers(0, 2, 30_000).astype(float)
    limit, bill, paid = given["LIMIT_BAL"], given["BILL_AMT1"], given["PAY_AMT1"]
    schools = ["graduate", "university", "school", "others"]
    states = ["married", "single", "others"]
    data: dict[str, Any] = {
        "sex": np.where(given["SEX"] == 2, "F", "M"),
        "education": np.array(schools)[np.clip(given["EDUCATION"].astype(int) - 1, 0, 3)],
        "marriage": np.array(states)[np.clip(given["MARRIAGE"].astype(int) - 1, 0, 2)],
        "married": given["MARRIAGE"] == 1,
        "age": given["AGE"].astype(int),
        "band": 1 + np.searchsorted([30_000, 50_000, 100_000, 200_000, 300_000, 400_000], limit),
        "late": np.clip(given["PAY_0"], 0, 8).astype(int),
        "bill": np.clip(bill, 0, 500_000),
        "paid": np.where(paid > 0, np.minimum(paid, 50_000), np.nan),
        "share": np.clip(100 * paid / np.maximum(bill, 1), 0, 100).astype(int),
        "part": np.clip(paid / limit, 0, 0.1),
        "part_before": np.clip(given["PAY_AMT2"] / limit, 0, 0.1),
        "defaults": given["default.payment.next.month"] == 1,
    }
    schema: dict[str, Column] = {
        "sex": Category(["F", "M"], outside="drop", null="drop"),
        "education": Category(schools, outside="drop", null="drop"),
        "marriage": Category(states, outside="drop", null="drop"),
        "married": Boolean(outside="drop", null="drop"),
        "age": Integer(21, 79),
        "band": Integer(1, 7),
        "late": Integer(0, 8),
        "bill": Real(0, 500_000, bins=50),
        "paid": Real(0, 50_000, bins=20),
        "share": Integer(0, 100),
        "part": Real(0, 0.1, bins=10),
        "part_before": Real(0, 0.1, bins=10),
        "defaults": Boolean(outside="drop", null="drop"),
    }
    lookups = {"floors": {"education": schools, "floor": [0, 1, 1, -1]}}
    return PublicTable("clients", data, schema, {"work": "education", "income": "defaults", "hours": "late"}, lookups)


def statements(table: PublicTable, seed: int | None = None) -> list[str]:
    """What analysts ask about a table, in random order."""
    text = (files("jostle_bench") / "statements" / f"{table.name}.sql").read_text(encoding="utf-8")
    found = [line.rstrip(";") for line in text.splitlines() if line and not line.startswith("--")]
    return found if seed is None else [found[place] for place in np.random.default_rng(seed).permutation(len(found))]


def dashboard(table: PublicTable, seed: int, tiles: int = 40, refreshed: int = 4) -> Iterator[str]:
    """A dashboard of questions that overlap: counts and means by columns, each refreshed with new conditions."""
    rng = np.random.default_rng(seed)
    aggregates = ["COUNT(*)", "COUNT(*)", "COUNT(*)", str(rng.choice(MEANS))]
    shown = [tuple(str(rng.choice(words)) for words in (GROUPS, CONDITIONS, aggregates)) for _ in range(tiles)]
    jobs, sexes = (table.schema[name] for name in (table.parts["work"], "sex"))
    for _ in range(refreshed):
        # One choice of conditions for the whole dashboard, as a reader makes it.
        values = {"sex": rng.choice(sexes.labels[:2]), "job": rng.choice(jobs.labels[:4]), "age": 10 * rng.integers(3, 8)}
        for group, condition, aggregate in shown:
            by, where, what = (one.format(**table.parts, **values) for one in (group, condition, aggregate))
            yield _statement(table.name, by, where, what)


def _statement(table: str, group: str, where: str, aggregate: str) -> str:
    by = f" GROUP BY {group}" if group else ""
    return f"SELECT {f'{group}, ' if group else ''}{aggregate} AS n FROM {table} WHERE {where}{by}"  # noqa: S608  # our own words


# ----------------------------------------------------------------------------------------------------------- replaying


@dataclass(frozen=True)
class Answered:
    """The released numbers of a statement, all aggregates in a row, and the ends of their intervals."""

    numbers: Any
    low: Any
    high: Any
    spent: Fraction = Fraction(0)

    @classmethod
    def of(cls, answer: Any) -> Answered:
        figures, ends = answer.figures, answer.figures.ends()
        numbers, low, high = (
            np.concatenate([np.asarray(part, dtype=np.float64).reshape(-1) for part in parts])
            for parts in (figures.values, [first for first, _ in ends], [last for _, last in ends])
        )
        return cls(numbers, low, high, answer.spent)


class Exact:
    """The true answers, each worked out once."""

    def __init__(self, table: PublicTable) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="jostle-")
        self._table, self._lookups = table.opened(Path(self._folder.name), version=None), table.lookups
        self._known: dict[str, Any] = {}

    def __call__(self, text: str) -> Any:
        if text not in self._known:
            self._known[text] = Answered.of(self._table.sql(text, epsilon=NO_NOISE, lookups=self._lookups)).numbers
        return self._known[text]


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

    answers: dict[str, Answered] = field(default_factory=dict)
    each: list[tuple[str, Fraction]] = field(default_factory=list)
    """What every question cost, in their order."""

    off: list[float] = field(default_factory=list)
    """Per question, the root mean squared error, in margins without memory."""

    wide: list[float] = field(default_factory=list)
    """Per question, the typical margin, in margins without memory."""

    @property
    def error(self) -> float:
        return float(np.sqrt(np.mean(np.square(self.off))))


def replay(asked: Sequence[str], table: PublicTable, *, memory: bool, without: MemoryRun | None = None) -> MemoryRun:
    """Ask all of them, each at the same price, and compare with the truth, and with answers without memory."""
    found = MemoryRun()
    with tempfile.TemporaryDirectory(prefix="jostle-") as folder:
        opened = table.opened(Path(folder), version="1" if memory else None)
        for text in asked:
            answer = Answered.of(opened.sql(text, epsilon=EPSILON, lookups=table.lookups))
            found.asked, found.epsilon = found.asked + 1, found.epsilon + answer.spent
            found.free, found.dearer = found.free + (not answer.spent), found.dearer + (answer.spent > EPSILON)
            found.each.append((text, answer.spent))
            found.answers[text] = answer
            truth, usual = table.exact(text), (without or found).answers[text]
            margins = (usual.high - usual.low) / 2
            slack = 1e-3 + 1e-4 * margins  # the truth was worked out with a little noise
            held = (answer.low <= truth + slack) & (truth <= answer.high + slack)
            found.held += held[np.isfinite(truth)].tolist()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scaled = np.abs(answer.numbers - truth) / margins
                wide = (answer.high - answer.low) / 2 / margins
            known = np.isfinite(scaled) & (margins > 0)
            if known.any():
                found.off.append(float(np.sqrt(np.mean(np.square(np.minimum(scaled[known], 10))))))
                found.wide.append(float(np.median(wide[known])))
    return found


_WITHOUT: dict[str, MemoryRun] = {}


def without_memory(asked: Sequence[str], table: PublicTable) -> MemoryRun:
    """The same questions without memory. Their order makes no difference, so a workload is asked once."""
    key = f"{table.name}\n{sorted(asked)}"
    if key not in _WITHOUT:
        _WITHOUT[key] = replay(asked, table, memory=False)
    return _WITHOUT[key]


def in_words(found: MemoryRun, without: MemoryRun) -> list[str]:
    """What a run with memory cost, beside one without."""
    saves = without.epsilon / found.epsilon if found.epsilon else float("inf")
    held = f"{100 * np.mean(found.held):.1f} %"
    counted = [str(found.asked), f"{float(without.epsilon):.2f}", f"{float(found.epsilon):.2f}", f"{float(saves):.2f}"]
    return [
        *counted,
        str(found.free),
        str(found.dearer),
        held,
        f"{found.error / without.error:.2f}",
        f"{np.mean(found.wide):.2f}",
    ]


def lookup(others: int = 10_000) -> tuple[float, float]:
    """Seconds to find and combine what answers a question beside that many remembered measurements; and bytes per number."""
    from jostle.tables.memory.bodies import Remembered
    from jostle.tables.memory.buying import place_of
    from jostle.tables.memory.memory import Memory
    from jostle.tables.memory.store import Keepsake

    with tempfile.TemporaryDirectory(prefix="jostle-") as folder:
        table = people(None).opened(Path(folder), version="1")
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
