"""Explains what a choice maker has learned: which metafeatures matter, where options cross over, and a map."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import plots
from jostle.choice.public_databases import Outcomes
from jostle.choice.traces import Seen, Trace
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector

if TYPE_CHECKING:
    from jostle.choice.choice_maker import ChoiceMaker

COLUMNS = ("task", "selector", "choice", "epsilon", "for features", "path", "notes")
"""Of every table of traces."""

STEPS = 64
"""The number of values of a feature that are tried to find where options cross over."""


def trace_table(traces: Iterable[Trace]) -> Any:
    """Traces as a pandas frame, one row per choice: what was chosen, what was seen, what it cost.

    >>> from fractions import Fraction
    >>> one = Trace(task="counts", selector="a regret tree", choice="HB", epsilon=Fraction(1), remainder=Fraction(1, 2))
    >>> trace_table([one])["for features"].tolist()
    [0.5]

    A metafeature that is itself called `choice` is `choice (column)`.
    """
    import pandas as pd

    from jostle.schema.rows import distinct_names

    kept = list(traces)
    names = list(dict.fromkeys(seen.name for trace in kept for seen in trace.features if not _is_budget(seen, trace)))
    columns = dict(zip(names, distinct_names(names, COLUMNS), strict=True))
    rows = []
    for trace in kept:
        paid = {"epsilon": float(trace.epsilon), "for features": float(trace.epsilon - trace.remainder)}
        rows.append(
            {"task": trace.task, "selector": trace.selector, "choice": trace.choice, **paid}
            | {columns[seen.name]: seen.value for seen in trace.features if not _is_budget(seen, trace)}
            | {"path": " → ".join(trace.path), "notes": "; ".join(trace.notes)}
        )
    return pd.DataFrame(rows)


def _is_budget(seen: Seen, trace: Trace) -> bool:
    """Whether it is the budget, which has a column anyway."""
    return seen.name == "epsilon" and seen.value == float(trace.epsilon)


def importances(maker: ChoiceMaker) -> dict[str, float]:
    """How much the mean regret on the training databases rises if a metafeature is shuffled among them, largest first."""
    found = _known(maker)
    names = found.questions
    base = _regret(maker, found, found.features)
    rng = np.random.default_rng(0)
    risen = {}
    for column, name in enumerate(names):
        if name not in maker.rule.needs:
            continue
        shuffled = found.features.copy()
        for copy in shuffled:
            copy[:, column] = rng.permutation(copy[:, column])
        risen[name] = max(_regret(maker, found, shuffled) - base, 0.0)
    return dict(sorted(risen.items(), key=lambda one: -one[1]))


def crossings(maker: ChoiceMaker, name: str) -> list[tuple[float, str, str]]:
    """Where the choice changes as one metafeature grows and the others stay at their medians: value, before, after."""
    found = _known(maker)
    line = _span(found, name)
    picked = [_choice(maker, found, {name: float(value)}) for value in line]
    places = []
    for at in range(1, len(line)):
        if picked[at] != picked[at - 1]:
            low, high = float(line[at - 1]), float(line[at])
            for _ in range(20):
                middle = (low + high) / 2
                low, high = (middle, high) if _choice(maker, found, {name: middle}) == picked[at - 1] else (low, middle)
            places.append(((low + high) / 2, picked[at - 1], picked[at]))
    return places


def explained(maker: ChoiceMaker) -> str:
    """What a choice maker has learned, in words and numbers."""
    if maker.outcomes is None:
        return "\n".join([f"{maker.name} follows {maker.rule.kind}:", *maker.rule.lines()])
    found = maker.outcomes
    means = dict(zip(found.options, found.regrets.mean(axis=0), strict=True))
    learned = f"learned from {len(found.databases)} public databases in {len(set(found.groups))} groups"
    alone = ", ".join(f"{name} {regret:.3g}" for name, regret in sorted(means.items(), key=lambda one: one[1]))
    chosen = f"{_regret(maker, found, found.features):.3g} (on the same databases, without what it pays)"
    lines = [
        f"{maker.name}: {maker.rule.kind} among {', '.join(found.options)}, {learned}.",
        f"Mean regret of each option by itself: {alone}; of the choice {chosen}.",
    ]
    risen = importances(maker)
    if not risen:
        lines.append(f"No metafeature is asked: it always takes {_choice(maker, found, {})}.")
    for name, rise in risen.items():
        lines.append(f"{name}: without it the mean regret would be {rise:.3g} higher.")
        for value, before, after in crossings(maker, name):
            lines.append(f"  up to {value:.4g} {before}, above it {after} (the other metafeatures at their medians).")
    lines += [f"Left out: {name}, which failed ({story})." for name, story in found.failed.items()]
    return "\n".join([*lines, "How it decides:", *(f"  {line}" for line in maker.rule.lines())])


def choice_map(maker: ChoiceMaker) -> Any:
    """Which option is taken over the two metafeatures that matter most, and which was best on each public database."""
    import plotly.graph_objects as go

    found = _known(maker)
    names = [*importances(maker), *(name for name in found.questions if name not in maker.rule.needs)][:2]
    if not names:
        raise BadInput("choice", "has no metafeature to draw a map over", "pass some to informed_by")
    axes = [_span(found, name) for name in names]
    across, up = axes[0], axes[1] if len(names) > 1 else np.zeros(1)
    grid = [[_choice(maker, found, dict(zip(names, map(float, (x, y)), strict=False))) for x in across] for y in up]
    numbers = [[found.options.index(option) for option in row] for row in grid]
    colours = [plots.PALETTE[at % len(plots.PALETTE)] for at in range(len(found.options))]
    steps = [[(at + end) / len(colours), colour] for at, colour in enumerate(colours) for end in (0, 1)]
    ground = {"colorscale": steps, "zmin": -0.5, "zmax": len(colours) - 0.5, "showscale": False, "opacity": 0.35}
    figure = go.Figure(go.Heatmap(x=across, y=up, z=numbers, text=grid, hoverinfo="text", **ground))
    seen = found.features.mean(axis=0)
    best = found.losses.argmin(axis=1)
    for at, option in enumerate(found.options):
        rows = best == at
        columns = [seen[rows, found.questions.index(name)] for name in names]
        y = columns[1] if len(names) > 1 else np.zeros(int(rows.sum()))
        texts = [one.name for one, kept in zip(found.databases, rows, strict=True) if kept]
        marks = {"mode": "markers", "marker_color": colours[at], "name": f"{option} was best", "text": texts}
        figure.add_trace(go.Scatter(x=columns[0], y=y, **marks))
    figure.update_xaxes(title=names[0]).update_yaxes(title=names[1] if len(names) > 1 else "")
    return plots.themed(figure, f"{maker.name}: which option is taken where")


def _known(maker: ChoiceMaker) -> Outcomes:
    if maker.outcomes is None:
        raise BadInput("choice", "was not trained here: there are no outcomes to look at", "see `explain()`")
    return maker.outcomes


def _span(found: Outcomes, name: str) -> Vector:
    """Values of a feature from the least to the largest in training; in equal ratios where it spans orders of magnitude."""
    values = found.features[..., found.questions.index(name)]
    low, high = float(values.min()), float(values.max())
    if low > 0 and high / low > 100:
        return np.asarray(np.geomspace(low, high, STEPS))
    return np.asarray(np.linspace(low, high, STEPS))


def _choice(maker: ChoiceMaker, found: Outcomes, given: dict[str, float]) -> str:
    medians = {name: float(np.median(found.features[..., at])) for at, name in enumerate(found.questions)}
    return maker.rule.decide((medians | given).__getitem__).choice


def _regret(maker: ChoiceMaker, found: Outcomes, features: Vector) -> float:
    return float(np.mean([found.regret_of(maker.rule, row, values) for copy in features for row, values in enumerate(copy)]))
