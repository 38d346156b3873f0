"""Regret trees in files, read node by node, with every number checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from jostle.choice.regret_tree import DEEPEST, Leaf, Split, Tree
from jostle.choice.strict_json import Entries

MOST_NODES: Final = 10_000
"""In a tree; one of the greatest depth that training allows has fewer."""

WORST: Final = 1e300
"""No mean regret is further from 0, so that the sum over all trees that vote is a number, too."""


def read_tree(entries: Entries, name: str, options: int, features: Collection[str] | None = None) -> Tree:
    """The tree in the entry of that name, among so many options; it may split on these features alone, if they are given."""
    listed = entries.each(name)
    if not 1 <= len(listed) <= MOST_NODES or not options:
        raise entries.bad(name, f"must have from 1 to {MOST_NODES} nodes, and options")
    nodes: list[Split | Leaf] = []
    for number, node in enumerate(listed):
        nodes.append(_split(node, number, len(listed), features) if "feature" in node else _leaf(node, options))
        node.done()
    if not _is_tree(nodes):
        raise entries.bad(name, f"must have one way to every node, of at most {DEEPEST} splits")
    return tuple(nodes)


def _is_tree(nodes: Sequence[Split | Leaf]) -> bool:
    """Whether there is one way to every node, and not too long: a picture of the tree follows all of them."""
    depths = {0: 0}
    for number, node in enumerate(nodes):  # ways lead to later nodes, so what leads here has been seen
        if depths.get(number, DEEPEST + 1) > DEEPEST:
            return False
        for way in (node.low, node.high) if isinstance(node, Split) else ():
            if way in depths:
                return False
            depths[way] = depths[number] + 1
    return True


def _leaf(node: Entries, options: int) -> Leaf:
    choice, regrets = node.whole("choice", 0, options - 1), node.numbers("regrets", options)
    if any(abs(regret) > WORST for regret in regrets):
        raise node.bad("regrets", f"must lie between {-WORST:g} and {WORST:g}")
    return Leaf(choice, regrets, node.whole("inputs", 0, 10**9), node.number("optimal", 0.0, 1.0))


def _split(node: Entries, number: int, nodes: int, features: Collection[str] | None) -> Split:
    feature = node.text("feature")
    if features is not None and feature not in features:
        raise node.bad("feature", f"must be one of {', '.join(features)}")
    # Ways lead to later nodes only, so every walk ends.
    low, high = (node.whole(way, number + 1, nodes - 1) for way in ("low", "high"))
    return Split(feature, node.number("at"), low, high)
