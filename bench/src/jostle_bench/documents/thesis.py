"""What the thesis of Imola and Yang (2018) leaves open: the support of nodes, and attributes that say nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.learn.public_tables import parts

TABLES = ("hiv", "nursery", "contraceptive")


@dataclass(frozen=True)
class Support:
    """The nodes of a tree whose attributes are taken in order, by depth."""

    depth: int
    nodes: int
    """All that could exist: the product of the attributes' values."""

    empty: float
    """The share of nodes without a record."""

    median: float
    """The records of a node, in the median over records: what a record's own node holds."""


def node_support(table: str, depths: Sequence[int] = (1, 2, 3, 4)) -> list[Support]:
    """How many records nodes hold, in a tree that splits on the most telling attributes first."""
    task, train, _ = parts(table, 0)
    order = [name for name, _ in information(table)]
    found = []
    for depth in depths:
        names = order[:depth]
        nodes = int(np.prod([task.known(name) for name in names]))
        key = np.zeros(len(train[task.label]), dtype=np.int64)
        for name in names:
            key = key * task.sizes[name] + train[name]
        _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
        found.append(Support(depth, nodes, 1 - min(len(counts), nodes) / nodes, float(np.median(counts[inverse]))))
    return found


def information(table: str) -> list[tuple[str, float]]:
    """The share of the class's entropy that each attribute explains, beyond what a shuffled one does; the largest first."""
    task, train, _ = parts(table, 0)
    labels, rng = train[task.label], np.random.default_rng(0)
    whole = _entropy(np.bincount(labels))
    gains = []
    for name in task.attributes:
        real, shuffled = (
            _explained(codes, labels, task.sizes[name]) for codes in (train[name], rng.permutation(train[name]))
        )
        gains.append((name, (real - shuffled) / whole))
    return sorted(gains, key=lambda one: -one[1])


def _explained(codes: Any, labels: Any, size: int) -> float:
    classes = int(labels.max()) + 1
    table = np.bincount(codes * classes + labels, minlength=size * classes).reshape(size, classes)
    weights = table.sum(axis=1) / len(labels)
    return _entropy(table.sum(axis=0)) - float(sum(w * _entropy(row) for w, row in zip(weights, table, strict=True) if w))


def _entropy(counts: Any) -> float:
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(shares * np.log(shares)).sum())


def as_markdown(tables: Mapping[str, Sequence[int]] | None = None) -> str:
    """Both open plots as tables."""
    lines = [
        "## support",
        "",
        "| table | depth | possible nodes | empty | records beside a record, median |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for table in tables or TABLES:
        lines += [
            f"| {table} | {one.depth} | {one.nodes:,} | {one.empty:.0%} | {one.median:,.0f} |" for one in node_support(table)
        ]
    lines += [
        "",
        "## attributes",
        "",
        "| table | share of the class's entropy that each attribute explains, beyond chance |",
        "| --- | --- |",
    ]
    for table in tables or TABLES:
        each = ", ".join(f"{name} {gain:.1%}" for name, gain in information(table))
        lines.append(f"| {table} | {each} |")
    return "\n".join(lines) + "\n"
