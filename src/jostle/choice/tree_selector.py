"""Selectors made of regret trees: one a class of workloads (Section 6.2), or several whose regrets are averaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from jostle import plots
from jostle.choice.features import FEATURES
from jostle.choice.regret_tree import Leaf, Split, Tree
from jostle.choice.selectors import About, Decision, Measure, Selector, Step
from jostle.choice.strict_json import Entries
from jostle.choice.tree_files import read_tree

MOST_TREES = 100


@dataclass(frozen=True, repr=False)
class TreeSelector(Selector):
    """Walks the trees for the workload's class; several vote with the regrets that they expect."""

    about: About
    """What it is for."""

    trees: Mapping[str, tuple[Tree, ...]]
    """The trees for each class of workloads."""

    kind: ClassVar[str] = "tree"

    @property
    def features_needed(self) -> tuple[str, ...]:
        """The class of the workload, and what the trees split on."""
        nodes = [node for trees in self.trees.values() for tree in trees for node in tree]
        used = {node.feature for node in nodes if isinstance(node, Split)}
        return ("workload", *(name for name in FEATURES if name in used and name != "workload"))

    def walk(self, measure: Measure) -> Decision:
        """From the root of each tree to a leaf."""
        number = measure(FEATURES["workload"])
        named = self.about.classes[int(number)]
        path = [Step("workload", number, named)]
        known: dict[str, float] = {}

        def ask(name: str) -> float:
            if name not in known:
                known[name] = measure(FEATURES[name])
            return known[name]

        leaves = []
        for tree in self.trees[named]:
            node = tree[0]
            while isinstance(node, Split):
                low = ask(node.feature) <= node.at
                path.append(Step(node.feature, known[node.feature], f"{'≤' if low else '>'} {node.at:.6g}"))
                node = tree[node.low if low else node.high]
            leaves.append(node)
        regrets = np.mean([leaf.regrets for leaf in leaves], axis=0)
        choice = leaves[0].choice if len(leaves) == 1 else int(regrets.argmin())
        named_regrets = dict(zip(self.about.options, map(float, regrets), strict=True))
        return Decision(self.about.options[choice], named_regrets, tuple(path))

    def body(self) -> dict[str, Any]:
        """The nodes of every tree."""
        return {"trees": {name: [[_shown(node) for node in tree] for tree in trees] for name, trees in self.trees.items()}}

    @classmethod
    def read(cls, about: About, entries: Entries) -> TreeSelector:
        """From a file's entries, each checked."""
        trees = entries.table("trees")
        found = {}
        measured = [name for name in FEATURES if name != "workload"]
        for name in about.classes:
            listed = trees.items(name)
            if not 1 <= len(listed) <= MOST_TREES or any(not isinstance(tree, list) for tree in listed):
                raise trees.bad(name, f"must be a list of 1 to {MOST_TREES} trees")
            wrapped = Entries({str(at): tree for at, tree in enumerate(listed)}, "selector", f"trees.{name}.")
            found[name] = tuple(read_tree(wrapped, str(at), len(about.options), measured) for at in range(len(listed)))
        trees.done()
        return cls(about, found)

    def details(self) -> list[str]:
        """The trees, indented; of several, the first of each class."""
        lines = []
        for name, trees in self.trees.items():
            lines.append(f"{name}: {len(trees)} tree{'s' if len(trees) > 1 else ''}")
            lines += _drawn(trees[0], 0, self.about.options, "  ")
        return lines

    def plot(self) -> Any:
        """The first tree of each class, drawn from the root down, with the leaves' choices and how often they were best."""
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots

        figure = make_subplots(rows=len(self.trees), cols=1, subplot_titles=list(self.trees))
        for row, trees in enumerate(self.trees.values(), start=1):
            tree = trees[0]
            where = _places(tree)
            for number, node in enumerate(tree):
                for child in (node.low, node.high) if isinstance(node, Split) else ():
                    ends = {"x": [where[number][0], where[child][0]], "y": [where[number][1], where[child][1]]}
                    figure.add_trace(
                        go.Scatter(**ends, mode="lines", line_color=plots.MUTED, hoverinfo="skip"), row=row, col=1
                    )
            texts = [
                f"{node.feature} ≤ {node.at:.4g}"
                if isinstance(node, Split)
                else f"{self.about.options[node.choice]}<br>{node.optimal:.0%} of {node.inputs}"
                for node in tree
            ]
            x, y = zip(*(where[number] for number in range(len(tree))), strict=True)
            figure.add_trace(
                go.Scatter(x=x, y=y, text=texts, mode="markers+text", textposition="top center"), row=row, col=1
            )
        figure.update_xaxes(visible=False).update_yaxes(visible=False)
        plots.themed(figure, f"Selector for {self.about.task}")
        return figure.update_layout(showlegend=False, height=420 * len(self.trees))


def _shown(node: Split | Leaf) -> dict[str, Any]:
    if isinstance(node, Split):
        return asdict(node)
    regrets = [float(f"{regret:.4g}") for regret in node.regrets]
    return asdict(node) | {"regrets": regrets, "optimal": round(node.optimal, 4)}


def _drawn(tree: Tree, number: int, options: tuple[str, ...], indent: str) -> list[str]:
    node = tree[number]
    if isinstance(node, Leaf):
        found = f"best on {node.optimal:.0%} of {node.inputs}, regret {node.regrets[node.choice]:.3g}"
        return [f"{indent}{options[node.choice]} ({found})"]
    low, high = (_drawn(tree, way, options, indent + "  ") for way in (node.low, node.high))
    return [f"{indent}{node.feature} ≤ {node.at:.6g}:", *low, f"{indent}else:", *high]


def _places(tree: Tree) -> dict[int, tuple[float, float]]:
    """Leaves side by side, each inner node above the middle of what it leads to."""
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
