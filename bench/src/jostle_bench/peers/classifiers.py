"""Classifiers at equal ε: how many held-out records are misclassified, by ours and by each peer's on the same splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jostle.datasets.artificial import artificial
from jostle.datasets.labelled import EXPERIMENTS, Labelled, load
from jostle.kernel.errors import BadInput
from jostle.learn.task import Task
from jostle_bench.classifiers import unseen
from jostle_bench.peers.environments import OURSELVES, Peer
from jostle_bench.peers.jobs import Job, Outcome, adapter
from jostle_bench.peers.parts import RELATIONS, Asked, Comparison, Findings, Part, of_means, with_delta

NAME: Final = "classifiers"
EPSILONS: Final = (0.1, 0.5, 1.0, 2.0)
SPLITS: Final = 10
DRAWS: Final = 1
"""Of the noise, a split."""

ENOUGH: Final = 5.0
"""Seconds of the processor after which a job begins no further split."""

DELTA: Final = 1e-6
"""Ours is measured and shown with this δ, too, as some peers have it; what it learns with δ = 0 is also (ε, δ)-private."""

LIMIT: Final = 3600.0
"""Seconds after which a job is stopped: many times what it needs of the processor, for machines that do other work."""

MODELS: Final = {
    "diffprivlib": (
        "GaussianNB",
        "LogisticRegression",
        "DecisionTree",
        "DecisionTree, depth 10",
        "RandomForest",
        "RandomForest, depth 10",
    ),
    "interpret": ("DP-EBM", "DP-EBM, learning rate 0.1"),
    "privatree": ("with ε shared by the attributes", "as published (not ε-private)"),
}
"""What each peer is asked for; another peer with an adapter is asked once, for whatever it has."""

MADE_UP: Final = tuple(f"artificial-{10**6 + number}" for number in (0, 2, 4, 6))
"""Tables that nobody has trained on, for where there are no public ones; and the first of them for a quick look."""


def tables(asked: Asked) -> tuple[str, ...]:
    """The tables of the classifiers' experiments, or made-up ones; of those, the ones that were asked for."""
    if asked.quick:
        return MADE_UP[:1]
    return tuple(asked.tables) or (MADE_UP if asked.data is None else tuple(EXPERIMENTS))


def reported(asked: Asked) -> tuple[str, ...]:
    """The tables of a report on everything that there are results of: none means those of the experiments."""
    further = [table for table in asked.tables if table.startswith(unseen.PREFIX)]
    return (*tables(replace(asked, tables=())), *further) if further else ()


def named(names: Sequence[str], data: Path | None) -> Sequence[str]:
    """The same names, if all of them are tables that there are.

    >>> named(["hiv"], Path("data"))
    ['hiv']
    """
    known = (*(MADE_UP if data is None else tuple(EXPERIMENTS)), *(unseen.PREFIX + name for name in unseen.NAMES))
    for name in names:
        if name not in known:
            raise BadInput(
                "tables", f"{name!r} is not a table that classifiers are measured on", f"use some of {', '.join(known)}"
            )
    return names


def rows_of(table: str, number: int, records: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which records to learn from, and which to test with: the splits of `datasets.labelled.split`.

    >>> train, test = rows_of("skin-1k", 0, 5_000)
    >>> len(train), len(test)
    (500, 500)
    """
    how = EXPERIMENTS.get(table)
    order = np.random.default_rng(number).permutation(records)[: how.records if how else None]
    cut = round((how.training if how else 0.7) * order.size)
    return order[:cut], order[cut:]


def whole(table: str, folder: str | Path | None) -> Labelled:
    """All records of a table."""
    if table.startswith(unseen.PREFIX):
        return unseen.whole(table.removeprefix(unseen.PREFIX))
    made_up = table.startswith("artificial-")
    return artificial(int(table.removeprefix("artificial-"))) if made_up else load(EXPERIMENTS[table].table, folder)


def plan(asked: Asked) -> list[Job]:
    """Every model of every peer on every table, small tables first; ours under both definitions of neighbours."""
    peers = [peer for peer in asked.peers if adapter(peer, NAME).is_file() or peer.not_installable]
    small_first = sorted(tables(asked), key=lambda table: _given(table, asked).learn_from)
    return [job for table in small_first for peer in peers for job in _jobs(asked, peer, table)]


def _jobs(asked: Asked, peer: Peer, table: str) -> Iterator[Job]:
    given = _given(table, asked)
    task = given.task
    settings = {
        "table": table,
        "categories": [0 if task.is_numeric(name) else task.sizes[name] for name in task.attributes],
        "classes": len(task.classes),
        "epsilons": EPSILONS[-2:] if asked.quick else EPSILONS,
        "splits": 2 if asked.quick else SPLITS,
        "draws": DRAWS,
        "enough": ENOUGH,
        "seed": asked.seed,
    }
    if peer.name == OURSELVES:
        folder = None if asked.data is None else str(asked.data)
        ways: list[dict[str, Any]] = [{"neighbours": relation, "folder": folder} for relation in RELATIONS]
        ways.append({"neighbours": "add_remove", "folder": folder, "delta": DELTA})
    else:
        ways = [{"model": model} for model in MODELS.get(peer.name, (peer.title,))]
    for way in ways:
        yield Job(peer=peer, part=NAME, kind="classify", settings=settings | way, data=given.file, limit=LIMIT)


@dataclass(frozen=True)
class _Given:
    """What is known of a table: its columns, its file (the same in every run), and the number of records to learn from."""

    task: Task
    file: Path
    learn_from: int


def _given(table: str, asked: Asked) -> _Given:
    return _written(table, asked.data, asked.folder / "data" / f"{NAME}-{table}.npz")


@lru_cache(maxsize=32)
def _written(table: str, folder: Path | None, file: Path) -> _Given:
    records = whole(table, folder)
    task = Task(records.attributes, records.label, records.schema)
    write(task, records, table, file)
    return _Given(task, file, len(rows_of(table, 0, len(records))[0]))


def write(task: Task, records: Labelled, table: str, file: Path) -> None:
    """A table as numbers, with its splits, for those who know no schemas."""
    classes = task.encode_label(records.y)
    columns = [scaled(task, name, records.columns[name]) for name in task.attributes]
    arrays: dict[str, NDArray[Any]] = {"records": np.column_stack(columns), "classes": classes}
    for number in range(SPLITS):
        for part, rows in zip(("train", "test"), rows_of(table, number, len(records)), strict=True):
            arrays[f"{part}_{number}"] = rows[classes[rows] >= 0]
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".unfinished.npz")
    np.savez(unfinished, allow_pickle=False, **arrays)
    unfinished.replace(file)


def scaled(task: Task, attribute: str, values: Any) -> NDArray[np.float64]:
    """Numbers in [0, 1] by the declared bounds and spacing (where one is missing: 0), and codes of categories.

    >>> from jostle.schema import Category, Real
    >>> known = {"pay": Real(0, 99, bins=4, spacing="log"), "class": Category([0, 1])}
    >>> scaled(Task(("pay",), "class", known), "pay", np.array([0, 9, 99, 500])).tolist()
    [0.0, 0.5, 1.0, 1.0]
    """
    if not task.is_numeric(attribute):
        return task.encode(attribute, values).astype(np.float64)
    column: Any = task.columns[attribute]
    numbers = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=column.low)
    above, span = np.clip(numbers, column.low, column.high) - column.low, column.high - column.low
    if getattr(column, "spacing", "linear") == "log":
        return np.asarray(np.log1p(above) / np.log1p(span))
    return np.asarray(above / span)


# ------------------------------------------------------------------------------------------------------ what was found


@dataclass(frozen=True, kw_only=True)
class Errors:
    """How often one model is wrong on one table at one ε."""

    peer: Peer
    """Whose it is."""

    model: str
    """Which of its models."""

    table: str
    """Of which table."""

    epsilon: float
    """The budget."""

    neighbours: str
    """What it protects."""

    delta: float
    """Its δ."""

    shares: NDArray[np.float64]
    """For each split the share of test records that are wrong, on average over the draws."""

    calibration: NDArray[np.float64]
    """For each split the expected calibration error; nan where a model says no probabilities."""

    seconds: float
    """The median time of a fit."""

    @property
    def who(self) -> str:
        """The peer and the model, in words."""
        return self.peer.title if self.model == self.peer.title else f"{self.peer.title} {self.model}"


def errors(outcomes: Sequence[tuple[Job, Outcome]]) -> list[Errors]:
    """What came of every job that came to something."""
    return [
        Errors(
            peer=job.peer,
            model=job.settings.get("model", job.peer.title),
            table=job.settings["table"],
            epsilon=epsilon,
            neighbours=outcome.facts["neighbours"],
            delta=outcome.facts["delta"],
            shares=outcome.values["errors"][:, place].mean(axis=1),
            calibration=_calibration(outcome.values)[:, place].mean(axis=1),
            seconds=float(np.median(outcome.facts["seconds"])),
        )
        for job, outcome in outcomes
        if outcome.status == "ok"
        for place, epsilon in enumerate(job.settings["epsilons"])
    ]


def _calibration(values: Mapping[str, Any]) -> Any:
    """As it was measured; nan where it was not."""
    return values.get("calibration", np.full_like(values["errors"], np.nan))


def comparisons(found: Sequence[Errors]) -> list[Comparison]:
    """Ours beside each peer's models, on the same splits, under the neighbours that the peer protects; ours with δ = 0."""
    without = [one for one in found if one.peer.name == OURSELVES and not one.delta]
    ours = {(one.table, one.epsilon, one.neighbours): one for one in without}
    listed = []
    for theirs in found:
        mine = ours.get((theirs.table, theirs.epsilon, theirs.neighbours))
        if theirs.peer.name == OURSELVES or mine is None:
            continue
        splits = min(mine.shares.size, theirs.shares.size)
        listed.append(
            of_means(
                mine.shares[:splits],
                theirs.shares[:splits],
                part=NAME,
                peer=theirs.who,
                cell=f"{theirs.table}, ε = {theirs.epsilon:g}",
                group="misclassified",
                unit=f"of held-out records (mean of {splits} splits)",
                note=with_delta(theirs.delta),
            )
        )
    return listed


def findings(asked: Asked, outcomes: Sequence[tuple[Job, Outcome]]) -> Findings:
    """The cells, the tables and the picture."""
    from jostle_bench.peers import classifiers_report

    found = errors(outcomes)
    return Findings(
        comparisons=comparisons(found),
        sections=classifiers_report.sections(found),
        pictures=classifiers_report.pictures(found),
    )


PART: Final = Part(name=NAME, jobs=plan, findings=findings)
