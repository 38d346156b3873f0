"""Learners: every one in the registry, as an estimator on a frame or a table, and tested on rows that were held out.

Values are at the ends of what is declared, beyond it and missing; labels may be missing or unknown, so that a row begins or
ceases to count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import count, islice
from typing import Any

import numpy as np

from jostle import learn
from jostle.audit.entries.classifiers import FEWER, REGRESSIONS
from jostle.audit.replay.run import Case, Subject
from jostle.audit.replay.subjects import tables
from jostle.audit.replay.tape import TapeAccount
from jostle.kernel.neighbours import Neighbours, Relation
from jostle.kernel.records import ArrayColumns, ReleaseRecords
from jostle.learn import Learner, Task
from jostle.schema import Boolean, Category, Column, Integer

Rows = list[tuple[Any, ...]]
"""Values of the columns, the label last."""

NEIGHBOURS = 8
"""Neighbours of each recording. Learning takes longer than most, and only a recording is searched from the beginning."""

EPSILONS = (Fraction(2), Fraction(1, 5), Fraction(8))

MIXED: dict[str, Column] = {"colour": Category(["red", "blue"]), "size": Integer(0, 6), "sick": Boolean()}
NUMBERS: dict[str, Column] = {"size": Integer(0, 6), "sick": Boolean()}
THREE: dict[str, Column] = {"size": Integer(0, 6), "colour": Category(["red", "blue"]), "sick": Category(["a", "b", "c"])}

VALUES: dict[str, tuple[Any, ...]] = {
    "colour": ("red", "blue", "red", "green", None, ""),
    "size": (0, 6, 3, 1, -1, 7, None, float("nan"), float("inf")),
}
LABELS: dict[int, tuple[Any, ...]] = {2: (True, False, True, False, None, "?"), 3: ("a", "b", "c", "a", None, "d")}

PAID: dict[str, Column] = {"colour": Category(["red", "blue"]), "size": Integer(0, 6), "pay": Integer(0, 9)}
PAYS: tuple[Any, ...] = (0, 9, 4, 5, -3, 12, None, float("nan"), "?")
"""What a regression predicts, some of it beyond what is declared or missing."""

NUMBERS_ONLY = ("Grid",)
"""Learners that accept only numbers."""

ON_TABLES = ("Majority", "Logistic", "Tree", "LearnedTree", "Chosen", "Regression")
"""Learners that are also replayed on a private table, whose engine sorts the rows into cells."""


def _schemas(name: str) -> list[dict[str, Column]]:
    return [NUMBERS] if name in NUMBERS_ONLY else [MIXED, THREE]


def _row(schema: dict[str, Column], rng: np.random.Generator) -> tuple[Any, ...]:
    labels = PAYS if schema is PAID else LABELS[3 if schema is THREE else 2]
    known = [*(VALUES[name] for name in list(schema)[:-1]), labels]
    return tuple(some[int(rng.integers(len(some)) if rng.random() < 0.3 else rng.integers(3))] for some in known)


def _case(number: int, schema: dict[str, Column]) -> Case:
    rng = np.random.default_rng([number, len(schema)])
    relation: Relation = "replace" if number % 2 else "add_remove"
    rows = [_row(schema, rng) for _ in range((0, 1, 12, 40, 200)[number % 5] or number % 2)]
    if number % 3 == 2:  # all alike but a few
        rows[len(rows) // 5 :] = [_row(schema, rng)] * (len(rows) - len(rows) // 5)
    return Case(
        name=f"{len(rows)} rows",
        data=rows,
        others=[neighbour(rows, relation, lambda: _row(schema, rng), rng) for _ in range(NEIGHBOURS)],
        neighbours=Neighbours(relation),
        epsilon=EPSILONS[number % len(EPSILONS)],
        setting=schema,
    )


def neighbour(rows: Rows, relation: Relation, new: Callable[[], tuple[Any, ...]], rng: np.random.Generator) -> Rows:
    """The same rows after one came, went or changed."""
    at = int(rng.integers(len(rows) + 1))
    if relation == "add_remove" and (not rows or rng.integers(2)):
        return [*rows[:at], new(), *rows[at:]]
    at = min(at, len(rows) - 1)
    return [*rows[:at], *([new()] if relation == "replace" else []), *rows[at + 1 :]]


def cases(name: str) -> Callable[[int], Iterator[Case]]:
    """Cases for a learner of that name."""
    return _cases(_schemas(name))


def _cases(schemas: list[dict[str, Column]]) -> Callable[[int], Iterator[Case]]:
    def found(pairs: int) -> Iterator[Case]:
        made = (_case(number, schemas[number % len(schemas)]) for number in count())
        return islice(made, -(-pairs // NEIGHBOURS))

    return found


@cache
def estimators() -> dict[str, Any]:
    """Every estimator by the name of its learner."""
    learn.every()  # which loads all of them
    known = [getattr(learn, name) for name in learn.__all__]
    return {kind.learner: kind for kind in known if isinstance(kind, type) and hasattr(kind, "learner")}


def subjects() -> list[Subject]:
    """Every learner, and the ways to use one."""
    return [
        *(_fitted(found) for found in learn.every().values()),
        *(_on_table(name, by_person) for name in ON_TABLES for by_person in (False, True)),
        _asking_for_gain(),
        _held_out(),
        *(_regressed(way) for way in REGRESSIONS),
        _cuts(),
    ]


def _fitted(found: Learner) -> Subject:
    tunables = FEWER.get(found.name, {})

    def run(case: Case, rows: Rows, account: TapeAccount) -> Any:
        schema, label = case.setting, list(case.setting)[-1]
        if found.name not in estimators():
            task = Task.over(schema, label)
            records = ReleaseRecords(_coded(task, rows), purse=account.purse())
            return found.run(records, task, records.grant(case.epsilon), **tunables)
        how: dict[str, Any] = {"label": label, "neighbours": case.neighbours.relation, "account": account, **tunables}
        model = estimators()[found.name](case.epsilon, schema, **how)
        return model.fit(_frame(schema, rows))

    return Subject(name=f"learner: {found.name}", family="learner", run=run, cases=cases(found.name), in_rho=True)


def _asking_for_gain() -> Subject:
    """The learned tree as it is trained: also the gain of the best first split is asked, in three more steps."""
    from jostle.learn.trees.learned import chosen_trees, points, shipped_text

    def run(case: Case, rows: Rows, account: TapeAccount) -> Any:
        task = Task.over(case.setting, list(case.setting)[-1])
        records = ReleaseRecords(_coded(task, rows), purse=account.purse())
        choice = points(shipped_text())
        return chosen_trees(records, task, records.grant(case.epsilon), choice, ask_gain=True)

    called = "learner: LearnedTree that asks for the gain"
    return Subject(name=called, family="learner", run=run, cases=cases("LearnedTree"), in_rho=True)


def _regressed(way: str) -> Subject:
    """A number is predicted, from a frame; by a logistic model, one of two values."""
    schema = MIXED if way == "logistic" else PAID

    def run(case: Case, rows: Rows, account: TapeAccount) -> Any:
        how: dict[str, Any] = {
            "label": list(schema)[-1],
            "neighbours": case.neighbours.relation,
            "account": account,
            **REGRESSIONS[way],
        }
        return learn.PrivateRegressor(case.epsilon, case.setting, **how).fit(_frame(case.setting, rows))

    return Subject(name=f"learner: regression, {way}", family="learner", run=run, cases=_cases([schema]), in_rho=True)


def _frame(schema: dict[str, Column], rows: Rows) -> Any:
    import pandas as pd

    return pd.DataFrame({name: pd.Series([row[at] for row in rows], dtype=object) for at, name in enumerate(schema)})


def _codes(task: Task, rows: Rows) -> dict[str, Any]:
    names = [*task.attributes, task.label]
    return task.encode_records({name: np.array([row[at] for row in rows], dtype=object) for at, name in enumerate(names)})


def _coded(task: Task, rows: Rows) -> ArrayColumns:
    return ArrayColumns.having(task.label, _codes(task, rows), task.sizes)


def _on_table(name: str, by_person: bool) -> Subject:
    """On a table that also has persons, more rows than count, and values of all kinds."""

    def run(case: Case, data: tables.TableData, account: TapeAccount) -> Any:
        table = data.opened(account).select("g", "v", "b")
        return estimators()[name](case.epsilon, label="b").fit(table)

    called = f"learner: {name} on a table{' by person' if by_person else ''}"
    return Subject(name=called, family="learner", run=run, cases=tables.cases("duckdb", by_person), in_rho=not by_person)


def _held_out() -> Subject:
    """Learn from one part and test on the other. Coins decide which rows are held out, one for each row."""
    from jostle.learn import held_out

    def run(case: Case, rows: Rows, account: TapeAccount) -> Any:
        task = Task.over(case.setting, list(case.setting)[-1])
        plain = [row[:-1] for row in rows]
        coins = np.array([row[-1] for row in rows], dtype=np.bool_)
        source = held_out.source(task, _codes(task, plain), coins)
        records = ReleaseRecords(source, purse=account.purse())
        return held_out.learn_and_test(records, task, learn.get("Majority"), case.epsilon)

    def found(pairs: int) -> Iterator[Case]:
        for number, case in enumerate(cases("Majority")(pairs)):
            rng = np.random.default_rng(number)
            rows = [(*row, bool(rng.integers(3) == 0)) for row in case.data]
            schema, relation = case.setting, case.neighbours.relation

            def new(rng: np.random.Generator = rng, schema: dict[str, Column] = schema) -> tuple[Any, ...]:
                return (*_row(schema, rng), bool(rng.integers(2)))

            others = [neighbour(rows, relation, new, rng) for _ in case.others]
            yield Case(
                name=case.name,
                data=rows,
                others=others,
                neighbours=case.neighbours,
                epsilon=case.epsilon,
                setting=schema,
            )

    return Subject(name="learner: learn_and_test", family="learner", run=run, cases=found, in_rho=True)


def _cuts() -> Subject:
    """Numbers that are cut anew: the cuts of the second count follow from the first."""
    from jostle.learn.cuts import recut

    def run(case: Case, rows: Rows, account: TapeAccount) -> Any:
        task = Task.over(case.setting, list(case.setting)[-1])
        records = ReleaseRecords(_coded(task, rows), purse=account.purse())
        return dict(recut(records, task, records.grant(case.epsilon)).tables)

    def found(pairs: int) -> Iterator[Case]:
        for case in cases("Grid")(pairs):
            yield replace(case, setting={"size": Integer(-20, 20), "sick": Boolean()})

    return Subject(name="cuts", family="learner", run=run, cases=found, in_rho=True)
