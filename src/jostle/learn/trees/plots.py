"""Pictures of decision trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jostle import plots
from jostle.learn.trees.model import Tree

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_LEAVES = 64
"""More leaves than this cannot be told apart in a picture: the tree is then drawn as deep as it can be."""


def plot_tree(tree: Tree, *, most_leaves: int = MOST_LEAVES) -> go.Figure:
    """A tree from left to right: a point a node, what leads to it and what is predicted there under the pointer.

    The figure is complete in itself: `write_html` makes one file that needs nothing else.
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
    """Leaves one below the other, every other node in the middle of its children."""
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
    rest = "" if deepest == tree.depth else f", drawn to the {deepest}. of {tree.depth} splits"
    return f"{tree.task.label}: {tree.leaves} leaves{rest}"
