"""The pictures of the experiments: Plotly figures in one theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from jostle import plots
from jostle_bench.pythia.deployed import Deployed
from jostle_bench.pythia.experiments import OURS, Experiment, Judged
from jostle_bench.pythia.report import SHOWN, compared

FAR: Final = 10.0
"""Options with a larger mean regret are left to the table, as in the paper (Fig. 4)."""

AXES: Final = {
    "dataset": ("data set", "How does regret differ between data sets?"),
    "side": ("cells per axis", "How does regret grow with the domain?"),
    "exponent": ("records, as a power of two", "How does regret change with the number of records?"),
}
"""What inputs are grouped by, and the question that this answers."""


def pictures(found: Experiment, deployed: Sequence[Deployed] = ()) -> dict[str, Any]:
    """Every figure by the name that its section has."""
    near = [one for one in compared(found) if one.to_suite.mean() <= FAR]
    drawn = {
        "workloads": bars("How far is each choice from the best published algorithm?", _by_workload(near), found.kinds),
        "criteria": bars("Which splitting criterion chooses best?", _by_workload(found.criteria), found.kinds),
        "trees": found.selector(OURS).plot(),
        "prices": _prices(found),
    }
    drawn |= {what: lines(found, what) for what in AXES}
    if deployed:
        drawn["deployed"] = _deployed(deployed)
    return drawn


def bars(title: str, means: Mapping[str, Mapping[str, float]], kinds: Sequence[str]) -> Any:
    """A group of bars for all inputs, and one for each workload."""
    figure = plots.new(title, y="mean regret", log_y=True)
    for name, of_kind in means.items():
        heights = [of_kind[kind] for kind in ("all", *kinds)]
        figure.add_bar(x=["all", *kinds], y=heights, name=name)
    return plots.series_coloured(figure, OURS.name).add_hline(y=1, line_dash="dot")


def lines(found: Experiment, what: str) -> Any:
    """Mean regrets over shapes, domains or scales, one panel per workload."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=len(found.kinds), cols=1, subplot_titles=found.kinds)
    for row, kind in enumerate(found.kinds, start=1):
        for one in (found.ours, found.published, *found.best_single(kind, SHOWN)):
            by = one.by(what, kind)
            keys = sorted(by)
            trace = go.Scatter(
                x=keys,
                y=[by[key] for key in keys],
                name=one.name,
                mode="markers" if what == "dataset" else "lines+markers",
                line_width=4 if one is found.ours else 1.5,
            )
            figure.add_trace(trace, row=row, col=1)
    title, question = AXES[what]
    figure.update_xaxes(title=title, type="log" if what == "side" else None).update_yaxes(type="log", title="mean regret")
    for row in range(1, len(found.kinds) + 1):
        figure.add_hline(y=1, line_dash="dot", row=row, col=1)
    made = plots.series_coloured(plots.themed(figure, question), found.ours.name)
    return made.update_layout(height=340 * len(found.kinds))


def _prices(found: Experiment) -> Any:
    figure = plots.new("What does looking at the data cost?", x="ρ (dotted: without looking)", y="mean regret", log_x=True)
    for colour, (name, what) in zip(plots.PALETTE, (("the suite", "to_suite"), ("all options", "to_all")), strict=False):
        means = [float(getattr(one, what).mean()) for one in found.prices.values()]
        blind = float(getattr(found.constant, what).mean())
        figure.add_scatter(x=list(found.prices), y=means, name=f"against {name}", line_color=colour)
        figure.add_hline(y=blind, line={"dash": "dot", "color": colour})
    return figure


def _deployed(deployed: Sequence[Deployed]) -> Any:
    title = "Are Pythia's errors those that the table predicts?"
    figure = plots.new(title, x="error projected from the table", y="error (± 2 standard errors)", log_x=True, log_y=True)
    for colour, one in zip(plots.PALETTE, deployed, strict=False):
        figure.add_scatter(
            x=[run.predicted for run in one.runs],
            y=[run.mean for run in one.runs],
            error_y={"array": [2 * run.stderr for run in one.runs]},
            text=[run.cell.key for run in one.runs],
            mode="markers",
            name=one.way.name,
            marker_color=colour,
        )
    spans = [value for one in deployed for run in one.runs for value in (run.predicted, run.mean)]
    ends = [float(np.min(spans)), float(np.max(spans))]
    line = {"dash": "dot", "color": plots.MUTED}
    return figure.add_scatter(x=ends, y=ends, mode="lines", line=line, name="as projected")


def _by_workload(judged: Sequence[Judged]) -> dict[str, dict[str, float]]:
    return {one.name: {"all": float(one.to_suite.mean()), **one.by("queries")} for one in judged}
