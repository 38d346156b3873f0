"""Selectors: from features of an input to the option that is expected to err least, as a small JSON file.

A selector asks for features one at a time, and only for those that its way needs; `Pythia` pays for each when it is asked.
Regret trees (`TreeSelector`), one or several that vote, are the kind that there is; others fit behind the same interface.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Final

from jostle import algorithms, plots
from jostle.choice import strict_json
from jostle.choice.features import CLASSES, FEATURES, Feature
from jostle.choice.strict_json import Entries
from jostle.kernel.errors import BadInput

FORMAT: Final = "jostle selector"
SCHEMA: Final = 1
"""Raised when the meaning of a selector's file changes; files of another schema are refused."""

Measure = Callable[[Feature], float]
"""What a walk asks: the value of a feature, which may be noisy."""


@dataclass(frozen=True)
class Step:
    """One question of a walk."""

    feature: str
    """What was asked."""

    value: float
    """The answer, as the selector saw it."""

    found: str
    """What followed from it, in words."""


@dataclass(frozen=True)
class Decision:
    """Where a walk ended."""

    choice: str
    """The option to run."""

    regrets: dict[str, float]
    """The expected regret of every option, as training saw it on inputs like this one."""

    path: tuple[Step, ...]
    """The questions on the way, in order."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What a selector is for and where it comes from."""

    task: str
    """What is asked of the data: "range-1d" or "range-2d"."""

    options: tuple[str, ...]
    """The algorithms that it chooses among."""

    versions: tuple[int, ...]
    """Their versions when they were measured."""

    rho: float
    """The share of the budget for features that it was trained for."""

    cells: tuple[float, float]
    """The least and the largest domain in training."""

    scales: tuple[float, float]
    """The least and the largest scale in training, at ε = 1."""

    provenance: dict[str, Any] = field(default_factory=dict)
    """The data, the grid, the settings, the seed and the version of jostle behind it."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of workloads that it tells apart."""
        return CLASSES[algorithms.TASKS[self.task]]

    def notes(self, feature: str, value: float) -> list[str]:
        """What to say if a feature lies outside what training saw."""
        span = {"domain": self.cells, "scale": self.scales}.get(feature)
        if span is None or span[0] <= value <= span[1]:
            return []
        return [f"{feature} {value:.6g} is outside of the training range, {span[0]:g} to {span[1]:g}"]

    @property
    def outdated(self) -> list[str]:
        """Options that have changed since they were measured."""
        now = algorithms.every()
        return [n for n, v in zip(self.options, self.versions, strict=True) if n in now and now[n].version != v]


class Selector(ABC):
    """Chooses an option for an input from features that it asks for one by one."""

    kind: ClassVar[str]
    """What its file calls it."""

    about: About
    """What it is for."""

    @property
    @abstractmethod
    def features_needed(self) -> tuple[str, ...]:
        """Every feature that some walk may ask for."""

    @abstractmethod
    def walk(self, measure: Measure) -> Decision:
        """Ask for features until the option is clear. No feature is asked twice."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """What its file holds beside `about`."""

    @property
    def private_features(self) -> tuple[str, ...]:
        """Those of its features that have to be paid for."""
        return tuple(name for name in self.features_needed if FEATURES[name].private)

    def dumps(self) -> str:
        """The selector as JSON."""
        about = self.about
        head = {
            "format": FORMAT,
            "schema": SCHEMA,
            "kind": self.kind,
            "task": about.task,
            "options": [{"name": n, "version": v} for n, v in zip(about.options, about.versions, strict=True)],
            "rho": about.rho,
            "cells": list(about.cells),
            "scales": list(about.scales),
            "provenance": about.provenance,
        }
        return json.dumps(head | self.body(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, file: str | Path) -> None:
        """Write it to a file."""
        Path(file).write_text(self.dumps(), encoding="utf-8")

    @staticmethod
    def load(file: str | Path, *, task: str | None = None) -> Selector:
        """Read one that was saved; refused if it is for another task or for options that are not registered."""
        return _read(strict_json.read(Path(file), "selector"), task)

    @staticmethod
    def loads(text: str, *, task: str | None = None) -> Selector:
        """Read one from JSON."""
        return _read(strict_json.parse(text, "selector"), task)

    def summary(self) -> str:
        """What it is for, where it comes from and what it asks, in some lines."""
        from_data = self.about.provenance.get("data", [])
        lines = [
            f"{self.kind} for {self.about.task}, among {', '.join(self.about.options)}",
            f"asks for: {', '.join(self.features_needed)}",
            f"trained on: {', '.join(map(str, from_data)) if isinstance(from_data, list) else from_data}",
        ]
        return "\n".join(lines + self.details())

    @abstractmethod
    def details(self) -> list[str]:
        """Lines of the summary about how it decides."""

    @abstractmethod
    def plot(self) -> Any:
        """A Plotly figure of how it decides."""

    def _repr_html_(self) -> str:
        """For notebooks: its summary."""
        return plots.in_words(self.summary())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} for {self.about.task} among {len(self.about.options)} options>"


def find(selector: Selector | str | Path | None, task: str) -> Selector | None:
    """The selector that is meant: itself, a shipped one by its name, a file; without any, the one shipped for the task."""
    if isinstance(selector, Selector):
        if selector.about.task != task:
            raise _other_task(selector.about.task, task)
        return selector
    if selector is None:
        return shipped(task) if task in shipped_names() else None
    if isinstance(selector, str) and selector in shipped_names():
        found = shipped(selector)
        return find(found, task)
    if isinstance(selector, (str, Path)):
        file = Path(selector)
        if not file.is_file():
            raise BadInput("selector", f"{str(selector)[:200]} is neither shipped nor a file", f"use {_known()}")
        return _from_file(file, file.stat().st_mtime_ns, task)
    raise BadInput("selector", "must be a selector, the name of a shipped one or a file", f"use {_known()}")


@lru_cache(maxsize=16)
def _from_file(file: Path, changed: int, task: str) -> Selector:
    """A file is read once, however many runs use it, unless it changes."""
    return Selector.load(file, task=task)


@cache
def shipped_names() -> tuple[str, ...]:
    """The selectors that come with jostle."""
    folder = resources.files("jostle.choice") / "shipped"
    if not folder.is_dir():
        return ()
    return tuple(sorted(file.name.removesuffix(".json") for file in folder.iterdir() if file.name.endswith(".json")))


@lru_cache(maxsize=16)
def shipped(name: str) -> Selector:
    """A selector that comes with jostle."""
    if name not in shipped_names():
        raise BadInput("selector", f"{name!r} is not shipped", f"use {_known()}")
    text = (resources.files("jostle.choice") / "shipped" / f"{name}.json").read_text("utf-8")
    return Selector.loads(text)


def train(table: Any, *, criterion: str = "expected-regret", seed: int = 0, **settings: Any) -> Selector:
    """Learn a selector from a table of errors on public data: see `jostle.choice.training`."""
    from jostle.choice import training

    return training.train(table, criterion=criterion, seed=seed, **settings)


def _known() -> str:
    return (
        f"one of {', '.join(shipped_names())}, or a file that `Selector.save` wrote" if shipped_names() else "a saved file"
    )


def _other_task(found: str, task: str) -> BadInput:
    return BadInput("selector", f"is for {found}, not for {task}", f"train one with `jostle train --task {task}`")


def _read(entries: Entries, task: str | None) -> Selector:
    from jostle.choice.tree_selector import TreeSelector

    if "format" not in entries or entries.text("format") != FORMAT:
        raise BadInput("selector", "is not a selector's file", "name a file that `Selector.save` wrote")
    schema = entries.whole("schema", 0, 10**6)
    if schema != SCHEMA:
        remedy = "train it again with `jostle train`" if schema < SCHEMA else "use a newer version of jostle"
        raise BadInput("selector", f"has schema {schema}, this version of jostle reads {SCHEMA}", remedy)
    kinds = {known.kind: known for known in (TreeSelector,)}
    kind = entries.text("kind")
    if kind not in kinds:
        raise entries.bad("kind", f"must be one of {', '.join(kinds)}")
    about = _read_about(entries)
    if task is not None and about.task != task:
        raise _other_task(about.task, task)
    found = kinds[kind].read(about, entries)
    entries.done()
    return found


def _read_about(entries: Entries) -> About:
    task = entries.text("task")
    if task not in algorithms.TASKS:
        raise entries.bad("task", f"must be one of {', '.join(algorithms.TASKS)}")
    listed = [(one.text("name"), one.whole("version", 0, 10**6), one) for one in entries.each("options")]
    for *_, one in listed:
        one.done()
    names = tuple(name for name, *_ in listed)
    unknown = [name for name in names if name not in algorithms.names(task) or algorithms.get(name).choosing]
    if unknown or not names or len(set(names)) != len(names) or len(names) > 200:
        what = (
            f"unknown options for {task}: {', '.join(name[:50] for name in unknown[:5])}"
            if unknown
            else "no list of options"
        )
        raise BadInput("selector", f"has {what}", "register them first, or train it again with `jostle train`")
    return About(
        task=task,
        options=names,
        versions=tuple(version for _, version, _ in listed),
        rho=entries.number("rho", 0.0, 0.9),
        cells=_span(entries, "cells"),
        scales=_span(entries, "scales"),
        provenance=entries.plain("provenance"),
    )


def _span(entries: Entries, name: str) -> tuple[float, float]:
    low, high = entries.numbers(name, 2)
    return low, high
