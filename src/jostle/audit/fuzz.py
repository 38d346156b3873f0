"""Odd arguments for the public functions: each call must end in an answer or in a refusal that names what to do.

`TARGETS` lists what is tried. To have a function tried, add it there with the arguments that it takes.
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

from jostle import mechanisms, simulate, workloads
from jostle.answers.release import release
from jostle.audit import fuzz_tables, hostile
from jostle.audit.hostile import Odd, mutated
from jostle.kernel.budget import exact
from jostle.kernel.errors import JostleError
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import simulation
from jostle.kernel.who import name_of

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, -1, 7, 2**31, 2**63, -(2**63), 10**400, 0.0, -0.0, 0.5, 1e-300, 1e300, 1e-9, math.nan,
    math.inf, -math.inf, "", "1", "1/2", "nan", "x" * 1_000, "\x00", "é", b"1", Fraction(1, 3), Fraction(-1), Decimal("NaN"),
    Decimal("1e-999999"), 1j, [], [1], [1, 2, 3], [[1, 2], [3, 4]], [[1], [2, 3]], [math.nan], [-1], [0.5], ["a"], [None],
    (), (1, 2), (0, 10), (10, 0), {}, {"a": 1}, {1, 2}, range(4), np.arange(4), np.zeros((2, 2), dtype=int), np.array([]),
    np.array(3), np.array(["x"]), np.array([1, None], dtype=object), np.float32(0.25), np.int8(3),
    np.datetime64("2020-01-01"), object(), int, len, "add_remove", "replace", "HB", "Laplace", "identity", "prefix",
)  # fmt: skip
"""Values of every kind, sensible ones among them, so that calls get past the first check."""


def _any_kind(generator: np.random.Generator, usual: Any) -> Any:
    return ODD[int(generator.integers(len(ODD)))]


@dataclass(frozen=True)
class Target:
    """A function to be tried."""

    name: str
    """How it is called in a report."""

    call: Callable[..., Any]
    """It takes the arguments by name."""

    usual: dict[str, Any]
    """Arguments that work; some of them are replaced in each case."""

    odd: Odd = _any_kind
    """How an argument is replaced: by a value of any kind, or a text by a hostile one."""


@dataclass(frozen=True)
class Crash:
    """A call that ended in neither an answer nor a refusal."""

    target: str
    """The function."""

    arguments: str
    """What it was handed."""

    error: str
    """What it raised."""

    replaced: tuple[str, ...] = ()
    """Which arguments were odd."""

    def __str__(self) -> str:
        return f"{self.target}({self.arguments}) raised {self.error}"


def targets(ledger: Ledger, folder: Path) -> list[Target]:
    """What is tried, on a ledger that is public, and in a folder of its own."""
    more = [*fuzz_tables.columns(), *fuzz_tables.tables(ledger), *fuzz_tables.classifiers()]
    return [*_functions(ledger), *_readers(folder), *(Target(*one) for one in more)]


def _readers(folder: Path) -> list[Target]:
    """Everything that reads a text, with hostile ones."""
    json = mutated(hostile.JSON_WORDS)
    chooser = (resources.files("jostle.learn") / "shipped" / "classifier.json").read_text("utf-8")
    return [
        Target("schema file", hostile.read_schema(folder), {"text": hostile.SCHEMA}, mutated(hostile.SCHEMA_WORDS)),
        *(Target("sql", hostile.read_sql, {"text": text}, mutated(hostile.SQL_WORDS)) for text in hostile.SQL),
        Target("selector", hostile.read_selector, {"text": hostile.selector_text()}, json),
        Target("chooser", hostile.read_chooser(folder), {"text": chooser}, json),
    ]


def _functions(ledger: Ledger) -> list[Target]:
    """The public functions, with arguments of every kind."""
    account = ledger.account("fuzz", cap=10**9)

    def budgeted(name: str) -> Callable[..., Any]:
        return lambda **given: getattr(mechanisms, name)(**given, budget=simulation(seed=0).grant(1))

    scores = {"candidates": ["a", "b"], "scores": [1, 2], "sensitivity": 1, "monotone": False}
    column = {"values": [1.0, 2.0], "bounds": (0, 10)}
    return [
        Target(
            "release",
            lambda **given: release(account=account, **given),
            {"x": [1, 2], "epsilon": 1, "algorithm": "Laplace", "note": ""},
        ),
        Target(
            "simulate.errors",
            lambda **given: simulate.errors(**given),
            {
                "algorithm": "Laplace",
                "x": [1, 2, 3],
                "workload": workloads.identity(3),
                "epsilon": 1,
                "trials": 2,
                "seed": 0,
                "neighbours": "replace",
            },
        ),
        Target("workloads.identity", workloads.identity, {"shape": 4}),
        Target("workloads.prefix", workloads.prefix, {"n": 4}),
        Target("workloads.ranks", workloads.ranks, {"n": 4}),
        Target("workloads.ranges", workloads.ranges, {"n": 4, "starts": [0, 1], "stops": [2, 4]}),
        Target("workloads.rectangles", workloads.rectangles, {"shape": (2, 2), "lows": [[0, 0]], "highs": [[1, 2]]}),
        Target("laplace", budgeted("laplace"), {"value": 1.0, "sensitivity": 1}),
        Target("discrete_laplace", budgeted("discrete_laplace"), {"value": 1, "sensitivity": 1}),
        *(Target(name, budgeted(name), scores) for name in ("exponential", "report_noisy_max", "permute_and_flip")),
        Target(
            "exponential_line",
            budgeted("exponential_line"),
            {"cuts": [3, 5], "scores": [1, 2, 3], "bounds": (0, 10), "sensitivity": 1},
        ),
        *(Target(name, budgeted(name), column) for name in ("clipped_sum", "clipped_mean", "median")),
        Target("quantiles", budgeted("quantiles"), {**column, "probabilities": (0.25, 0.5), "step": 1}),
        Target("AboveThreshold", budgeted("AboveThreshold"), {"threshold": 3, "sensitivity": 1, "positives": 1}),
        Target("GradualRelease", budgeted("GradualRelease"), {"value": 1, "sensitivity": 1, "epsilons": (0.5, 1)}),
        Target(
            "RandomizedResponse",
            lambda categories, epsilon: mechanisms.RandomizedResponse(categories, epsilon=epsilon),
            {"categories": 3, "epsilon": 1},
        ),
        Target("RandomizedResponse.respond", mechanisms.RandomizedResponse(3, epsilon=1).respond, {"value": 1}),
        Target("exact", exact, {"value": 1}),
        Target("Neighbours", Neighbours, {"relation": "replace", "rows": 1}),
        Target("Ledger.account", ledger.account, {"name": "fuzz", "cap": 10**9, "neighbours": "add_remove"}),
        Target("Ledger.set_cap", ledger.set_cap, {"name": "fuzz", "cap": 10**9, "note": "", "was": 10**9}),
        Target("name_of", name_of, {"who": "anna"}),
        Target(
            "Ledger.charge",
            ledger.charge,
            {"name": "fuzz", "amount": Fraction(1), "operator": "laplace", "neighbours": "add_remove"},
        ),
        Target("Ledger.balance", ledger.balance, {"name": "fuzz"}),
    ]


def fuzz(*, cases: int, seed: int, more: Sequence[Target] = ()) -> list[Crash]:
    """So many calls, over all targets, and more of the caller's own, in turn; what crashed.

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
            crash = attempt(target, given, names)
            if crash is not None:
                crashes.append(crash)
    return crashes


@contextmanager
def _quiet() -> Iterator[None]:
    """Parsers may log each text that they do not understand: here that would be thousands of lines."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def attempt(target: Target, given: dict[str, Any], replaced: Sequence[str] = ()) -> Crash | None:
    """One call: None if it ended well, in an answer or a refusal. A warning is neither."""
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
