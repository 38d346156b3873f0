"""Decision trees and forests as they are released: public splits, and measured shares of the classes in the leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from jostle import plots
from jostle.kernel.partition import Counts
from jostle.kernel.records import Split
from jostle.learn.registry import FloatArray, IntArray
from jostle.learn.task import Task
from jostle.schema import Category

if TYPE_CHECKING:
    import plotly.graph_objects as go

LONGEST_TEXT = 60
"""The most lines that a tree is printed in."""

MOST_LEAVES = 64
"""With more leaves a picture is illegible: the tree is then drawn only as deep as it can be."""

_NAMED = 4  # values of a branch that are named before "…"


@dataclass(frozen=True, eq=False)
class Node:
    """A place in a tree: a leaf, or a split and where its branches lead."""

    depth: int
    """The number of splits above it."""

    split: Split | None = None
    """How records are sorted, over the codes of the task; None in a leaf."""

    children: tuple[int, ...] = ()
    """The numbers of the nodes that the branches lead to."""


@final
@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes from the root on, and the shares of the classes in each."""

    task: Task

    nodes: tuple[Node, ...]
    """The root first; children after their parents."""

    shares: FloatArray
    """One row per node, each adding up to 1: the prediction for records that end there."""

    def leaf(self, codes: Mapping[str, IntArray]) -> Counts:
        """The number of the leaf that each record ends in."""
        rows = len(next(iter(codes.values())))
        place = np.zeros(rows, dtype=np.int64)
        here: dict[int, IntArray] = {0: np.arange(rows)}
        for number, node in enumerate(self.nodes):
            mine = here.pop(number, None)
            if mine is None or not mine.size:
                continue
            if node.split is None:
                place[mine] = number
                continue
            branch = node.split.branches[codes[node.split.attribute][mine]]
            for number_of_branch, child in enumerate(node.children):
                here[child] = mine[branch == number_of_branch]
        return place

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        return self.shares[self.leaf(codes)]

    @property
    def leaves(self) -> int:
        return sum(1 for number in self.reachable() if self.nodes[number].split is None)

    @property
    def depth(self) -> int:
        """The number of splits from the root to the deepest leaf."""
        return max(self.nodes[number].depth for number in self.reachable())

    def reachable(self) -> Iterator[int]:
        """The nodes' numbers, parents before children, each branch to its end before the next."""
        stack = [0]
        while stack:
            number = stack.pop()
            yield number
            stack.extend(reversed(self.nodes[number].children))

    def branch_names(self, node: Node) -> list[str]:
        """The names of a split's branches, such as "age < 40"."""
        if node.split is None:
            return []
        return [branch_name(self.task, node.split, branch) for branch in range(node.split.arity)]

    def verdict(self, number: int) -> str:
        """The likeliest class in a node, and its share."""
        best = int(np.argmax(self.shares[number]))
        return f"{self.task.classes[best]} ({self.shares[number, best]:.0%})"

    def describe(self) -> str:
        """The tree as text, one line per branch."""
        lines = [f"A tree of {self.leaves} leaves, at most {self.depth} splits deep."]
        if self.nodes[0].split is None:
            return f"{lines[0]}\n→ {self.verdict(0)}"
        lines += self._lines(0)
        left = len(lines) - LONGEST_TEXT
        return "\n".join([*lines[:LONGEST_TEXT], f"… and {left} lines more"] if left > 0 else lines)

    def _lines(self, number: int) -> list[str]:
        node, lines = self.nodes[number], []
        for name, child in zip(self.branch_names(node), node.children, strict=True):
            leaf = self.nodes[child].split is None
            lines.append(f"{'  ' * node.depth}{name}{' → ' + self.verdict(child) if leaf else ''}")
            lines += [] if leaf else self._lines(child)
        return lines

    def plot(self, **options: Any) -> go.Figure:
        """The tree as a Plotly figure, see `plot_tree`."""
        return plot_tree(self, **options)

    def _repr_html_(self) -> str:
        return plots.in_words(self.describe())


@final
@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that vote: the mean of their shares."""

    trees: Sequence[Tree]

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        return np.asarray(np.mean([tree.scores(codes) for tree in self.trees], axis=0))

    def describe(self) -> str:
        """Its size, and its first tree."""
        leaves = [tree.leaves for tree in self.trees]
        return f"{len(self.trees)} trees of {min(leaves)} to {max(leaves)} leaves. The first:\n{self.trees[0].describe()}"

    def plot(self, number: int = 0, **options: Any) -> go.Figure:
        """One of its trees as a Plotly figure."""
        return self.trees[number].plot(**options)

    def _repr_html_(self) -> str:
        return plots.in_words(self.describe())


def branch_name(task: Task, split: Split, branch: int) -> str:
    """A branch in words.

    >>> from jostle.schema import Boolean, Integer
    >>> task = Task(("age",), "sick", {"age": Integer(0, 99, bins=10), "sick": Boolean()})
    >>> cut = Split("age", np.repeat([0, 1, 0], [4, 6, 1]))
    >>> branch_name(task, cut, 0), branch_name(task, cut, 1)
    ('age < 40', 'age ≥ 40')
    """
    column, attribute = task.columns[split.attribute], split.attribute
    known = split.branches[: column.values]
    if task.is_numeric(attribute) and split.arity == 2 and (np.diff(known) >= 0).all() and known[0] != known[-1]:
        edge = column.edges[int(np.argmax(known > 0))]  # type: ignore[attr-defined]
        return f"{attribute} {'<' if branch == 0 else '≥'} {edge:g}"
    labels = [*column.labels, *(["(left out)"] if split.branches.size > column.size else [])]
    mine = [labels[value] for value in np.flatnonzero(split.branches == branch)]
    if len(mine) == 1:
        return f"{attribute} = {mine[0]}"
    others = np.flatnonzero(split.branches != branch)
    if isinstance(column, Category) and others.size == 1 and len(mine) > 1:
        return f"{attribute} ≠ {labels[int(others[0])]}"
    return f"{attribute} in {', '.join(mine[:_NAMED])}{' …' if len(mine) > _NAMED else ''}"


# ---------------------------------------------------------------------------------------------------------- pictures


def plot_tree(tree: Tree, *, most_leaves: int = MOST_LEAVES) -> go.Figure:
    """A tree from left to right, one point per node. Hovering shows the branch that leads to it and its prediction.

    The figure is self-contained: `write_html` makes one file that needs nothing else.
    """
    shown = _shown(tree, most_leaves)
    heights = _heights(tree, shown)
    names = {0: "all records"}
    across: list[float | None] = []
    along: list[float | None] = []
    for number in shown:
        node = tree.nodes[number]
        for name, child in zip(tree.branch_names(node), node.children, strict=True):
            if child in heights:
                names[child] = name
                across += [node.depth, tree.nodes[child].depth, None]
                along += [heights[number], heights[child], None]
    best = [int(np.argmax(tree.shares[number])) for number in shown]
    colours = plots.PALETTE
    figure = plots.new(_title(tree, shown)).update_layout(showlegend=True)
    figure.add_scatter(x=across, y=along, mode="lines", line={"color": plots.MUTED}, hoverinfo="skip", showlegend=False)
    for place, name in enumerate(tree.task.classes.tolist()):
        mine = [number for number, winner in zip(shown, best, strict=True) if winner == place]
        figure.add_scatter(
            x=[tree.nodes[number].depth for number in mine],
            y=[heights[number] for number in mine],
            mode="markers+text",
            marker={"size": 10, "color": colours[place % len(colours)]},
            text=[names[number] for number in mine],
            textposition="middle right",
            hovertext=[f"{names[number]}<br>{tree.verdict(number)}" for number in mine],
            hoverinfo="text",
            name=str(name),
        )
    figure.update_xaxes(title_text="splits", dtick=1, showgrid=False, zeroline=False)
    figure.update_yaxes(visible=False)
    return figure


def _shown(tree: Tree, most_leaves: int) -> list[int]:
    """The nodes down to the deepest level at which there are not too many leaves."""
    order = list(tree.reachable())
    for depth in range(tree.depth, 0, -1):
        ends = sum(
            1 for n in order if tree.nodes[n].depth == depth or (tree.nodes[n].depth < depth and not tree.nodes[n].children)
        )
        if ends <= most_leaves:
            return [number for number in order if tree.nodes[number].depth <= depth]
    return [0]


def _heights(tree: Tree, shown: list[int]) -> dict[int, float]:
    """Leaves one below the other, and every other node in the middle of its children."""
    inside, heights, line = set(shown), dict[int, float](), 0
    for number in shown:
        if not any(child in inside for child in tree.nodes[number].children):
            heights[number] = -float(line)
            line += 1
    for number in reversed(shown):
        if number not in heights:
            heights[number] = float(np.mean([heights[child] for child in tree.nodes[number].children]))
    return heights


def _title(tree: Tree, shown: list[int]) -> str:
    deepest = max(tree.nodes[number].depth for number in shown)
    rest = "" if deepest == tree.depth else f", drawn down to split {deepest} of {tree.depth}"
    return f"{tree.task.label}: {tree.leaves} leaves{rest}"
