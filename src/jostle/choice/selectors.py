"""Selectors: from features of an input to the option that is expected to err least, as a small JSON file.

A selector asks for features one at a time, and only for those on its way; `Pythia` pays for each when it is needed. It holds
regret trees for each class of workloads (Section 6.2): one, or several whose expected regrets are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from jostle import algorithms, plots
from jostle.choice import files
from jostle.choice.features import CLASSES, FEATURES
from jostle.choice.files import Entries
from jostle.choice.regret_tree import Ask, Decision, InnerNode, Leaf, Step, Tree, features_of, tree_lines, walk
from jostle.kernel.budget import PURE
from jostle.kernel.errors import BadInput

FORMAT: Final = "jostle selector"
KIND: Final = "tree"
IN_RHO: Final = "in-rho"
"""Shipped selectors that were trained with Gaussian noise are named so."""

SCHEMA: Final = 1
"""Raised when the meaning of a selector's file changes; files of another schema are refused."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What a selector is for and where it comes from."""

    task: str
    """The task, "range-1d" or "range-2d"."""

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
    """The data, the grid, the settings, the seed and the version of jostle that it was trained with."""

    @property
    def classes(self) -> tuple[str, ...]:
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


@dataclass(frozen=True, repr=False)
class Selector:
    """Chooses an option for an input by the trees of the workload's class; several vote with the regrets they expect."""

    about: About
    trees: Mapping[str, tuple[Tree, ...]]
    """The trees for each class of workloads."""

    kind: ClassVar[str] = "a tree"
    """What traces call it."""

    @property
    def options(self) -> tuple[str, ...]:
        return self.about.options

    @property
    def needs(self) -> tuple[str, ...]:
        """Every feature that some walk may ask for: the workload's class, and what the trees split on."""
        used = features_of(*(tree for trees in self.trees.values() for tree in trees))
        return ("workload", *(name for name in FEATURES if name in used and name != "workload"))

    @property
    def features(self) -> tuple[str, ...]:
        """Every feature that it was trained with, asked for or not; what it needs, where this is unknown."""
        listed = self.about.provenance.get("features", ())
        trained = {name for name in listed if isinstance(name, str)} if isinstance(listed, (list, tuple)) else set[str]()
        return tuple(name for name in FEATURES if name in trained or name in self.needs)

    @property
    def private_features(self) -> tuple[str, ...]:
        """Those of its features that have to be paid for."""
        return tuple(name for name in self.needs if FEATURES[name].private)

    def decide(self, ask: Ask) -> Decision:
        """Walk each tree of the workload's class to a leaf. No feature is asked for twice."""
        known = cache(ask)
        number = known("workload")
        workload_class = self.about.classes[int(number)]
        path, leaves = [Step("workload", number, workload_class)], list[Leaf]()
        for tree in self.trees[workload_class]:
            leaf, steps = walk(tree, known)
            leaves.append(leaf)
            path += steps
        regrets = np.mean([leaf.regrets for leaf in leaves], axis=0)
        choice = leaves[0].choice if len(leaves) == 1 else int(regrets.argmin())
        return Decision(self.options[choice], dict(zip(self.options, map(float, regrets), strict=True)), tuple(path))

    def lines(self) -> list[str]:
        """How it decides, in words; of several trees, the first of each class."""
        lines = []
        for name, trees in self.trees.items():
            lines += [f"{name}: {len(trees)} tree{'s' if len(trees) > 1 else ''}", *tree_lines(trees[0], self.options, "  ")]
        return lines

    def summary(self) -> str:
        """What it is for, where it comes from, what it asks and how it decides."""
        data = self.about.provenance.get("data", [])
        lines = [
            f"{KIND} for {self.about.task}, among {', '.join(self.options)}",
            f"asks for: {', '.join(self.needs)}",
            f"trained on: {', '.join(map(str, data)) if isinstance(data, list) else data}",
        ]
        return "\n".join(lines + self.lines())

    def dumps(self) -> str:
        """The selector as JSON."""
        about = self.about
        head = {
            "format": FORMAT,
            "schema": SCHEMA,
            "kind": KIND,
            "task": about.task,
            "options": files.option_entries(about.options, about.versions),
            "rho": about.rho,
            "cells": list(about.cells),
            "scales": list(about.scales),
            "provenance": about.provenance,
        }
        shown = {name: [files.tree_entries(tree, digits=4) for tree in trees] for name, trees in self.trees.items()}
        return files.written(head | {"trees": shown})

    def save(self, file: str | Path) -> None:
        """Write it to a file."""
        Path(file).write_text(self.dumps(), encoding="utf-8")

    @staticmethod
    def load(file: str | Path, *, task: str | None = None) -> Selector:
        """Read a saved selector; refused if it is for another task or for options that are not registered."""
        return _read(files.read(Path(file), "selector"), task)

    @staticmethod
    def loads(text: str, *, task: str | None = None) -> Selector:
        """Read one from JSON."""
        return _read(files.parse(text, "selector"), task)

    def plot(self) -> Any:
        """The first tree of each class, drawn from the root down, with the leaves' choices and how often they were best."""
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots

        figure = make_subplots(rows=len(self.trees), cols=1, subplot_titles=list(self.trees))
        for row, trees in enumerate(self.trees.values(), start=1):
            tree = trees[0]
            where = _places(tree)
            for number, node in enumerate(tree):
                for child in (node.low, node.high) if isinstance(node, InnerNode) else ():
                    x, y = zip(where[number], where[child], strict=True)
                    edge = go.Scatter(x=x, y=y, mode="lines", line_color=plots.MUTED, hoverinfo="skip")
                    figure.add_trace(edge, row=row, col=1)
            texts = [
                f"{node.feature} ≤ {node.at:.4g}"
                if isinstance(node, InnerNode)
                else f"{self.options[node.choice]}<br>{node.optimal:.0%} of {node.inputs}"
                for node in tree
            ]
            x, y = zip(*(where[number] for number in range(len(tree))), strict=True)
            nodes = go.Scatter(x=x, y=y, text=texts, mode="markers+text", textposition="top center")
            figure.add_trace(nodes, row=row, col=1)
        figure.update_xaxes(visible=False).update_yaxes(visible=False)
        plots.themed(figure, f"Selector for {self.about.task}")
        return figure.update_layout(showlegend=False, height=420 * len(self.trees))

    def _repr_html_(self) -> str:
        return plots.in_words(self.summary())

    def __repr__(self) -> str:
        return f"<Selector for {self.about.task} among {len(self.options)} options>"


TreeSelector = Selector
"""Its name while there were to be other kinds."""


def _places(tree: Tree) -> dict[int, tuple[float, float]]:
    """Leaves side by side, each inner node above the middle of its children."""
    places: dict[int, tuple[float, float]] = {}
    leaves = 0

    def place(number: int, depth: int) -> float:
        nonlocal leaves
        node = tree[number]
        if isinstance(node, Leaf):
            across, leaves = float(leaves), leaves + 1
        else:
            across = (place(node.low, depth + 1) + place(node.high, depth + 1)) / 2
        places[number] = (across, -float(depth))
        return across

    place(0, 0)
    return places


def find(selector: Selector | str | Path | None, task: str, measure: str = PURE) -> Selector | None:
    """A selector, as it is, by the name of a shipped one or from a file; by default the one shipped for the task.

    Under ρ that is one trained with Gaussian noise. A shipped one may be named without its task, as in "as-published".
    """
    if isinstance(selector, Selector):
        if selector.about.task != task:
            raise _other_task(selector.about.task, task)
        return selector
    if selector is None:
        names = [task] if measure == PURE else [f"{IN_RHO}-{task}", task]
        return next((shipped(name) for name in names if name in shipped_names()), None)
    if isinstance(selector, str) and (named := {selector, f"{selector}-{task}"}.intersection(shipped_names())):
        return find(shipped(*named), task)
    if isinstance(selector, (str, Path)):
        file = Path(selector)
        if not file.is_file():
            raise BadInput("selector", f"{str(selector)[:200]} is neither shipped nor a file", f"use {_known()}")
        return _from_file(file, file.stat().st_mtime_ns, task)
    raise BadInput("selector", "must be a selector, the name of a shipped one or a file", f"use {_known()}")


@lru_cache(maxsize=16)
def _from_file(file: Path, changed: int, task: str) -> Selector:
    """A file is read again only if it has changed."""
    return Selector.load(file, task=task)


@cache
def shipped_names() -> tuple[str, ...]:
    """The selectors that come with jostle."""
    folder = resources.files("jostle.choice") / "shipped"
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
    return f"one of {', '.join(shipped_names())}, or a file that `Selector.save` wrote"


def _other_task(found: str, task: str) -> BadInput:
    return BadInput("selector", f"is for {found}, not for {task}", f"train one with `jostle train --task {task}`")


def _read(entries: Entries, task: str | None) -> Selector:
    if not entries.is_format(FORMAT):
        raise BadInput("selector", "is not a selector's file", "name a file that `Selector.save` wrote")
    schema = entries.whole("schema", 0, 10**6)
    if schema != SCHEMA:
        remedy = "train it again with `jostle train`" if schema < SCHEMA else "use a newer version of jostle"
        raise BadInput("selector", f"has schema {schema}, this version of jostle reads {SCHEMA}", remedy)
    if entries.text("kind") != KIND:
        raise entries.bad("kind", f"must be {KIND}")
    about = _read_about(entries)
    if task is not None and about.task != task:
        raise _other_task(about.task, task)
    trees, features = entries.table("trees"), [name for name in FEATURES if name != "workload"]
    found = {name: files.read_trees(trees, name, len(about.options), features) for name in about.classes}
    trees.done()
    entries.done()
    return Selector(about, found)


def _read_about(entries: Entries) -> About:
    task = entries.text("task")
    if task not in algorithms.TASKS:
        raise entries.bad("task", f"must be one of {', '.join(algorithms.TASKS)}")
    listed = files.read_options(entries)
    names = tuple(name for name, _ in listed)
    unknown = [name for name in names if name not in algorithms.names(task) or algorithms.get(name).choosing]
    if unknown or not names or len(set(names)) != len(names) or len(names) > 200:
        listing = ", ".join(name[:50] for name in unknown[:5])
        problem = f"has unknown options for {task}: {listing}" if unknown else "has no list of options"
        raise BadInput("selector", problem, "register them first, or train it again with `jostle train`")
    return About(
        task=task,
        options=names,
        versions=tuple(version for _, version in listed),
        rho=entries.number("rho", 0.0, 0.9),
        cells=_span(entries, "cells"),
        scales=_span(entries, "scales"),
        provenance=entries.plain("provenance"),
    )


def _span(entries: Entries, name: str) -> tuple[float, float]:
    low, high = entries.numbers(name, 2)
    return low, high
