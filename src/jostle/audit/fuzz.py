"""Odd arguments for the public functions: each call must end in an answer or in a refusal that names what to do.

To have a function tried, add it to the targets below with arguments that work.
"""

from __future__ import annotations

import logging
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from jostle import mechanisms, schema, simulate, workloads
from jostle.answers.release import release
from jostle.audit import hostile
from jostle.audit.entries.algorithms import SELECTOR
from jostle.audit.hostile import Odd, mutated
from jostle.choice.economics import affordable_epsilon
from jostle.kernel.budget import exact
from jostle.kernel.errors import JostleError
from jostle.kernel.ledger import Ledger
from jostle.kernel.ledger.events import spender
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import simulation
from jostle.mechanisms.distance import DistanceResponse
from jostle.mechanisms.odometer import spent_so_far

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, -1, 7, 2**31, 2**63, -(2**63), 10**400, 0.0, -0.0, 0.5, 1e-300, 1e300, 1e-9, math.nan,
    math.inf, -math.inf, "", "1", "1/2", "nan", "x" * 1_000, "\x00", "é", b"1", Fraction(1, 3), Fraction(-1), Decimal("NaN"),
    Decimal("1e-999999"), 1j, [], [1], [1, 2, 3], [[1, 2], [3, 4]], [[1], [2, 3]], [math.nan], [-1], [0.5], ["a"], [None],
    (), (1, 2), (0, 10), (10, 0), {}, {"a": 1}, {1, 2}, range(4), np.arange(4), np.zeros((2, 2), dtype=int), np.array([]),
    np.array(3), np.array(["x"]), np.array([1, None], dtype=object), np.float32(0.25), np.int8(3),
    np.datetime64("2020-01-01"), object(), int, len, "add_remove", "replace", "HB", "Laplace", "identity", "prefix",
)  # fmt: skip
"""Values of every kind, sensible ones among them, so that calls get past the first check."""

BUDGET = 10**9


def _any_kind(generator: np.random.Generator, usual: Any) -> Any:
    return ODD[int(generator.integers(len(ODD)))]


@dataclass(frozen=True)
class Target:
    """A function to be tried."""

    name: str

    call: Callable[..., Any]
    """The function; it takes its arguments by name."""

    usual: dict[str, Any]
    """Arguments that work; some of them are replaced in each case."""

    odd: Odd = _any_kind
    """How an argument is replaced: by a value of any kind, or a text by a hostile one."""


@dataclass(frozen=True)
class Crash:
    """A call that ended in neither an answer nor a refusal."""

    target: str
    arguments: str
    error: str

    replaced: tuple[str, ...] = ()
    """The names of the arguments that were odd."""

    def __str__(self) -> str:
        return f"{self.target}({self.arguments}) raised {self.error}"


def targets(ledger: Ledger, folder: Path) -> list[Target]:
    """Everything that is tried, on a ledger whose data are public, and in a folder of its own."""
    return [*_functions(ledger), *_readers(folder), *_columns(), *_tables(ledger), _classifier()]


def _readers(folder: Path) -> list[Target]:
    """Everything that reads a text, with hostile ones."""
    json = mutated(hostile.JSON_WORDS)
    chooser = (resources.files("jostle.learn") / "shipped" / "classifier.json").read_text("utf-8")
    return [
        Target("schema file", hostile.read_schema(folder), {"text": hostile.SCHEMA}, mutated(hostile.SCHEMA_WORDS)),
        *(Target("sql", hostile.read_sql, {"text": text}, mutated(hostile.SQL_WORDS)) for text in hostile.SQL),
        Target("program", hostile.read_program, {"text": hostile.PROGRAM}, mutated(hostile.PROGRAM_WORDS)),
        Target("selector", hostile.read_selector, {"text": SELECTOR.dumps()}, json),
        Target("chooser", hostile.read_chooser(folder), {"text": chooser}, json),
    ]


def _functions(ledger: Ledger) -> list[Target]:
    """The public functions, with arguments of every kind."""
    account = ledger.account("fuzz", cap=BUDGET)

    def budgeted(name: str, **usual: Any) -> Target:
        mechanism = getattr(mechanisms, name)
        return Target(name, lambda **given: mechanism(**given, budget=simulation(seed=0).grant(1)), usual)

    scores = {"candidates": ["a", "b"], "scores": [1, 2], "sensitivity": 1, "monotone": False}
    column = {"values": [1.0, 2.0], "bounds": (0, 10)}
    errors = {"workload": workloads.identity(3), "epsilon": 1, "trials": 2, "seed": 0, "neighbours": "replace"}
    charge = {"amount": Fraction(1), "operator": "laplace", "neighbours": "add_remove"}
    return [
        Target(
            "release",
            lambda **given: release(account=account, **given),
            {"x": [1, 2], "epsilon": 1, "algorithm": "Laplace", "note": ""},
        ),
        Target("simulate.errors", simulate.errors, {"algorithm": "Laplace", "x": [1, 2, 3], **errors}),
        Target("workloads.identity", workloads.identity, {"shape": 4}),
        Target("workloads.prefix", workloads.prefix, {"n": 4}),
        Target("workloads.ranks", workloads.ranks, {"n": 4}),
        Target("workloads.ranges", workloads.ranges, {"n": 4, "starts": [0, 1], "stops": [2, 4]}),
        Target("workloads.rectangles", workloads.rectangles, {"shape": (2, 2), "lows": [[0, 0]], "highs": [[1, 2]]}),
        budgeted("laplace", value=1.0, sensitivity=1),
        budgeted("discrete_laplace", value=1, sensitivity=1),
        *(budgeted(name, **scores) for name in ("exponential", "report_noisy_max", "permute_and_flip")),
        budgeted("exponential_line", cuts=[3, 5], scores=[1, 2, 3], bounds=(0, 10), sensitivity=1),
        *(budgeted(name, **column) for name in ("clipped_sum", "clipped_mean", "median")),
        budgeted("quantiles", **column, probabilities=(0.25, 0.5), step=1),
        budgeted("AboveThreshold", threshold=3, sensitivity=1, positives=1),
        budgeted("MedianMechanism", candidates=4, error=2, sensitivity=1, answers=2),
        budgeted("propose_test_release", value=1.0, sensitivity=1, distance=50),
        budgeted("GradualRelease", value=1, sensitivity=1, epsilons=(0.5, 1)),
        Target(
            "RandomizedResponse",
            lambda categories, epsilon: mechanisms.RandomizedResponse(categories, epsilon=epsilon),
            {"categories": 3, "epsilon": 1},
        ),
        Target("RandomizedResponse.respond", mechanisms.RandomizedResponse(3, epsilon=1).respond, {"value": 1}),
        Target("DistanceResponse", lambda side, epsilon: DistanceResponse(side, epsilon=epsilon), {"side": 3, "epsilon": 1}),
        Target("DistanceResponse.respond", DistanceResponse(3, epsilon=1).respond, {"value": 1}),
        Target(
            "affordable_epsilon",
            affordable_epsilon,
            {"people": 100, "money": 10, "harm": 1, "within": 0.1, "confidence": 0.9},
        ),
        Target("spent_so_far", spent_so_far, {"account": ledger.account("fuzz", cap=BUDGET), "delta": 1e-6}),
        Target("exact", exact, {"value": 1}),
        Target("Neighbours", Neighbours, {"relation": "replace", "rows": 1}),
        Target("Ledger.account", ledger.account, {"name": "fuzz", "cap": BUDGET, "neighbours": "add_remove"}),
        Target("Ledger.set_cap", ledger.set_cap, {"name": "fuzz", "cap": BUDGET, "note": "", "was": BUDGET}),
        Target("spender", spender, {"who": "anna"}),
        Target("Ledger.charge", ledger.charge, {"name": "fuzz", **charge}),
        Target("Ledger.balance", ledger.balance, {"name": "fuzz"}),
    ]


def _columns() -> list[Target]:
    """Descriptions of columns, which encode values."""

    def encoded(kind: type[schema.Column], **usual: Any) -> Target:
        return Target(f"schema.{kind.__name__}", lambda values, **given: kind(**given).encode([values, values]), usual)

    return [
        encoded(schema.Integer, values=1, low=0, high=9, bins=5, missing=["-1"]),
        encoded(schema.Real, values=1.5, low=0.0, high=9.0, bins=5),
        encoded(schema.Category, values="a", categories=["a", "b"], missing=["?"]),
        encoded(schema.Date, values="2024-05-01", low="2024-01-01", high="2024-12-31"),
        Target("schema.Schema", schema.Schema, {"columns": {"v": schema.Integer(0, 9)}}),
    ]


def _tables(ledger: Ledger) -> list[Target]:
    """Opening a table, and questions to it; questions are prepared, and the cheapest one is released."""
    import pyarrow as pa

    from jostle.tables.aggregates import mean
    from jostle.tables.opening import open as open_table

    rows = pa.table({"who": [1, 1, 2], "g": ["a", "b", "a"], "v": [1, 2, 3]})  # public
    described = schema.Schema({"g": schema.Category(["a", "b"]), "v": schema.Integer(0, 9)})

    def opened(**given: Any) -> Any:
        usual = {"data": rows, "schema": described, "ledger": ledger, "budget": BUDGET, "name": "people", "unit": None}
        return open_table(**(usual | given))

    table = opened()
    usual = {"data": rows, "schema": described, "unit": None, "neighbours": "add_remove", "budget": BUDGET}
    return [
        Target("open", opened, usual),
        Target("open with a note", opened, {"note": "for the board"}),
        Target("Table.count", table.count, {"epsilon": 1, "within": None}),
        Target("Table.ask", lambda name, **given: table.ask(name, **given), {"name": "g", "algorithm": "Laplace"}),
        Target("Table.ask_ranges", table.ask_ranges, {"column": "v", "ranges": [(0, 4), (5, 9)]}),
        Target("Table.ask_quantiles", table.ask_quantiles, {"column": "v", "levels": [0.5]}),
        Target("Table.ask_batch", lambda one, **k: table.ask_batch(one, **k), {"one": table.ask_count(), "weights": [1]}),
        Target("Table.ask_marginals", lambda one, other: table.ask_marginals(one, other), {"one": ("g",), "other": ("v",)}),
        Target(
            "Table.ask_synthesis",
            lambda one, **given: table.ask_synthesis(one, "v", **given),
            {"one": "g", "rows": 10, "workload": [("g", "v")], "label": None},
        ),
        Target("Table.ask_total", table.ask_total, {"kind": "sum", "column": "v", "by": "g"}),
        Target(
            "Table.ask_groups",
            lambda **given: table.ask_groups(given["columns"], {"n": given["aggregate"]}, keys=given["keys"]),
            {"columns": ["g"], "aggregate": mean("v"), "keys": ["a"]},
        ),
        Target("Table.ask_sql", table.ask_sql, {"text": "SELECT g, COUNT(*) FROM people GROUP BY g"}),
        Target("Table.where", table.where, {"condition": "v > 3"}),
        Target("Table.select", lambda one, other: table.select(one, other), {"one": "g", "other": "v"}),
        Target("Table.derive", table.derive, {"name": "w", "value": "v * 2", "column": schema.Integer(0, 9)}),
        Target("Table.join", table.join, {"lookup": {"a": 1}, "on": "g", "name": "w", "column": schema.Integer(0, 9)}),
        Target("Table.union", table.union, {"other": table}),
        Target("Table.partition", lambda **given: [*table.partition(**given)], {"by": "g", "epsilon": 1}),
    ]


def _classifier() -> Target:
    """One classifier; the others read their arguments in the same way."""
    from jostle.learn import PrivateMajority

    described = schema.Schema({"a": schema.Integer(0, 9), "class": schema.Boolean()})

    def fitted(X: Any, y: Any, **given: Any) -> Any:
        return PrivateMajority(**given, random_state=0).fit(X, y).predict([[1]])

    usual = {"X": [[1], [2]], "y": [True, False], "epsilon": 1, "schema": described, "label": "class"}
    return Target("PrivateMajority", fitted, usual)


def fuzz(*, cases: int, seed: int, more: Sequence[Target] = ()) -> list[Crash]:
    """Make this many calls to all targets in turn, and to `more` of the caller's own; return what crashed.

    >>> fuzz(cases=8, seed=0)
    []
    """
    generator = np.random.default_rng(seed)
    crashes = []
    with _quiet(), tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "budget.db") as ledger:
        tried = [*targets(ledger, Path(folder)), *more]
        for case in range(cases):
            target = tried[case % len(tried)]
            given = dict(target.usual)
            names = [str(name) for name in generator.permutation(list(given))[: generator.integers(1, 3)]]
            given |= {name: target.odd(generator, given[name]) for name in names}
            crashes.append(attempt(target, given, names))
    return [crash for crash in crashes if crash is not None]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence parsers, which may log each text that they do not understand: here, thousands of lines."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def attempt(target: Target, given: dict[str, Any], replaced: Sequence[str] = ()) -> Crash | None:
    """Make one call: None if it ended in an answer or a refusal. A warning is neither."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            target.call(**given)
    except JostleError:
        return None
    except Exception as error:  # noqa: BLE001  # anything else is what is looked for
        shown = ", ".join(f"{name}={value!r:.60}" for name, value in given.items())
        return Crash(target.name, shown, f"{type(error).__name__}: {error!s:.200}", tuple(replaced))
    return None
