"""Regret trees in files, read node by node, with every number checked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from jostle.choice.documents import Entries
from jostle.choice.trees import Leaf, Split, Tree

MOST_NODES: Final = 10_000
"""In a tree; one of the greatest depth that training allows has fewer."""


def read_tree(entries: Entries, name: str, options: int, features: Collection[str] | None = None) -> Tree:
    """The tree in the entry of that name, among so many options; it may split on these features alone, if they are given."""
    listed = entries.each(name)
    if not 1 <= len(listed) <= MOST_NODES or not options:
        raise entries.bad(name, f"must have from 1 to {MOST_NODES} nodes, and options")
    nodes: list[Split | Leaf] = []
    for number, node in enumerate(listed):
        nodes.append(_split(node, number, len(listed), features) if "feature" in node else _leaf(node, options))
        node.done()
    return tuple(nodes)


def _leaf(node: Entries, options: int) -> Leaf:
    choice, regrets = node.whole("choice", 0, options - 1), node.numbers("regrets", options)
    return Leaf(choice, regrets, node.whole("inputs", 0, 10**9), node.number("optimal", 0.0, 1.0))


def _split(node: Entries, number: int, nodes: int, features: Collection[str] | None) -> Split:
    feature = node.text("feature")
    if features is not None and feature not in features:
        raise node.bad("feature", f"must be one of {', '.join(features)}")
    # Ways lead to later nodes only, so every walk ends.
    low, high = (node.whole(way, number + 1, nodes - 1) for way in ("low", "high"))
    return Split(feature, node.number("at"), low, high)
