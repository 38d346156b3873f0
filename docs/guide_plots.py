"""The pictures of the guides (how to read a release, choosing ε), drawn from public data whenever the pages are built.

A hook of mkdocs, like `plots.py`. To look at one alone: `python docs/guide_plots.py odds` writes `odds.html`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plots import BLUE, EPSILONS, GREEN, GREY, LIBRARY, RED, figure_of, paged

from jostle import algorithms, plots, simulate, workloads
from jostle.datasets import census, weekly_income
from jostle.kernel.measures import largest_rho
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.mechanisms import utility
from jostle.schema import Integer, Schema
from jostle.synthetic.synthesizer import synthesize

FOLDER = "guide/plots"
SHARED = f"../../mechanisms/plots/{LIBRARY}"


def release() -> go.Figure:
    """One release of a histogram, with intervals, and the truth, which is public here."""
    x, epsilon = weekly_income(cells=30, width=100), 0.02
    noisy = simulate.estimates(algorithms.get("Laplace"), x, workloads.identity(30), epsilon, trials=1, seed=1)
    answers = np.concatenate(list(noisy))[0]
    margin = utility.discrete_laplace_error(epsilon)
    missed = np.abs(answers - x) > margin
    dollars = 100 * np.arange(30)
    figure = figure_of(f"Weekly income of 29,501 people,<br>every $100, ε = {epsilon:g}", "dollars a week, from", "people")
    bars = {"array": np.full(30, margin), "color": "#1f2430", "thickness": 1.2, "width": 2}
    figure.add_bar(x=dollars, y=answers, error_y=bars, name="released, ± margin", marker_color=BLUE, opacity=0.6)
    for name, which, colour in (("true, inside", ~missed, GREEN), ("true, outside", missed, RED)):
        marker = {"color": colour, "size": 8, "line": {"color": "white", "width": 1}}
        figure.add_scatter(x=dollars[which], y=x[which], mode="markers", name=name, marker=marker)
    return figure.update_xaxes(dtick=500)


def coverage() -> go.Figure:
    """What 95 % means: a hundred releases of one count."""
    epsilon, truth = 0.1, 1429
    margin = utility.discrete_laplace_error(epsilon)
    noise = np.random.default_rng(8).geometric(1 - np.exp(-epsilon), size=(2, 100))
    answers = truth + noise[0] - noise[1]
    missed = np.abs(answers - truth) > margin
    figure = figure_of(f"One count, released 100 times: {missed.sum()} of<br>100 intervals miss it", "release", "people")
    for name, which, colour in (("covers the truth", ~missed, BLUE), ("misses it", missed, RED)):
        bars = {"array": np.full(int(which.sum()), margin), "thickness": 1.2, "width": 0, "color": colour}
        marker = {"color": colour, "size": 5}
        at = np.flatnonzero(which) + 1
        figure.add_scatter(x=at, y=answers[which], error_y=bars, mode="markers", name=name, marker=marker)
    figure.add_scatter(x=[0, 101], y=[truth, truth], mode="lines", name="the truth", line={"color": GREY, "dash": "dot"})
    return figure


def odds() -> go.Figure:
    """What somebody may believe afterwards, at most, by what they believed before."""
    prior = np.linspace(0.001, 0.999, 400)
    figure = figure_of("What a release can do to a belief<br>about one person, at most", "believed before", "believed after")
    for epsilon, colour in ((0.1, GREEN), (0.5, BLUE), (1, plots.PALETTE[3]), (3, RED), (10, GREY)):
        sure = prior / (1 - prior) * np.exp(epsilon)
        figure.add_scatter(x=prior, y=sure / (1 + sure), name=f"ε = {epsilon:g}", line_color=colour)
    diagonal = {"color": "#1f2430", "dash": "dot", "width": 1}
    figure.add_scatter(x=[0, 1], y=[0, 1], name="unchanged", line=diagonal, mode="lines")
    return figure.update_xaxes(tickformat=".0%").update_yaxes(tickformat=".0%")


def price() -> go.Figure:
    """How far off answers are, by ε, for one count, for all cells and for all running totals."""
    figure = figure_of("How close an answer is, at 95 %,<br>by what is paid for it", "ε", "people", log_x=True)
    one = [utility.discrete_laplace_error(float(epsilon)) for epsilon in EPSILONS]
    figure.add_scatter(x=EPSILONS, y=one, name="a count, or all cells of a histogram", line_color=BLUE)
    nothing, asked = np.zeros(512, dtype=np.int64), workloads.prefix(512)
    runs = np.concatenate(list(simulate.estimates(algorithms.get("HB"), nothing, asked, 1, trials=100, seed=0)))
    off = float(np.median(np.quantile(np.abs(asked @ runs), 0.95, axis=0)))  # in proportion to 1/ε
    figure.add_scatter(x=EPSILONS, y=off / EPSILONS, name="512 running totals by HB", line={"color": RED, "dash": "dash"})
    figure.update_xaxes(tickvals=[0.05, 0.1, 0.2, 0.5, 1, 2, 5])
    return figure.update_yaxes(type="log", tickvals=[1, 3, 10, 30, 100, 300])


def many_releases() -> go.Figure:
    """One budget, shared by more and more releases."""
    releases = np.arange(1, 53)
    figure = figure_of("A count every week from a budget<br>of ε = 1: how close each is, at 95 %", "weeks", "people")
    shared = [utility.discrete_laplace_error(1 / int(k)) for k in releases]
    figure.add_scatter(x=releases, y=shared, name="the budget, shared evenly", line_color=BLUE)
    halves = [utility.discrete_laplace_error(0.5 ** float(k)) for k in releases[:10]]
    figure.add_scatter(x=releases[:10], y=halves, name="half of what is left, each time", line={"color": RED, "dash": "dot"})
    return figure.update_yaxes(type="log", tickvals=[3, 10, 30, 100, 300, 1000, 3000])


def two_measures() -> go.Figure:
    """How far off each of several answers is, by how many of them one person touches."""
    touched = np.unique(np.geomspace(1, 100, 25).round())
    figure = figure_of(
        "One person touches k answers:<br>how far off each is (standard deviation)", "k", "people", log_x=True
    )
    figure.add_scatter(x=touched, y=np.sqrt(2) * touched, name="pure, ε = 1", line_color=BLUE)
    for delta, dash in ((1e-6, "solid"), (1e-9, "dash")):
        sigma = float(1 / (2 * largest_rho(1, delta))) ** 0.5
        line = {"color": RED, "dash": dash}
        figure.add_scatter(x=touched, y=sigma * np.sqrt(touched), name=f"Gaussian, ε = 1, δ = {delta:g}", line=line)
    return figure.update_yaxes(type="log", tickvals=[1, 3, 10, 30, 100])


def marginals() -> go.Figure:
    """The error of many histograms of a census, at ε = 1 and δ = 1e-6."""
    named = ["91 pairs of columns", "210 triples"]
    figure = figure_of("Adult, ε = 1 and δ = 10⁻⁶:<br>root mean square error of a cell", "", "people")
    for name, errors, colour in (
        ("Laplace noise, ε = 1", [78, 196], BLUE),
        ("Gaussian noise, as released", [28.8, 44.2], RED),
        ("refined", [9.5, 11.0], GREEN),
    ):
        figure.add_bar(x=named, y=errors, name=name, marker_color=colour, text=[f"{one:g}" for one in errors])
    return figure.update_xaxes(type="category")


def synthetic_strategies() -> go.Figure:
    """How far pairs of columns of synthetic records are from those of a census, by ε and strategy."""
    columns, codes = _census()
    figure = figure_of(
        "Synthetic records of a census: how far<br>pairs of columns are off", "ε", "share of the people", log_x=True
    )
    spent = (0.003, 0.01, 0.03, 0.1, 0.3, 1)
    for name, colour in (("single columns", GREY), ("tree", GREEN), ("adaptive", BLUE), (None, RED)):
        off = [_pairs_off(columns, codes, _made(columns, codes, epsilon, name)) for epsilon in spent]
        line = {"color": colour, "dash": "solid" if name else "dot"}
        figure.add_scatter(x=spent, y=off, name=name or "as chosen", line=line)
    return figure.update_yaxes(type="log", tickvals=[0.02, 0.05, 0.1, 0.2, 0.5, 1])


def synthetic_means() -> go.Figure:
    """A question to synthetic records, and the truth, which is public here."""
    columns, codes = _census()
    figure = figure_of("Mean weekly income, from records<br>that belong to nobody", "years of schooling", "dollars")
    for name, rows, colour in (("the people", codes, GREY), ("synthetic, ε = 1", _made(columns, codes, 1), BLUE)):
        people = np.bincount(rows["schooling"], minlength=8)
        some = np.flatnonzero(people)  # nobody has 15 years
        means = np.bincount(rows["schooling"], 100.0 * rows["income"] + 50, minlength=8)[some] / people[some]
        figure.add_scatter(x=9 + some, y=means, name=name, line_color=colour)
    return figure


def _census() -> tuple[Schema, dict[str, Any]]:
    """Three columns of a public census, in cells."""
    people = census()
    columns = Schema(
        {"schooling": Integer(9, 16), "experience": Integer(0, 49, bins=25), "income": Integer(0, 3999, bins=40)}
    )
    return columns, {name: column.encode(people[name].to_numpy()) for name, column in columns.items()}


def _made(columns: Schema, codes: dict[str, Any], epsilon: float, strategy: str | None = None) -> dict[str, Any]:
    """Synthetic records: a simulation on public data."""
    sizes = {name: column.size for name, column in columns.items()}
    records = SimulatedRecords(ArrayColumns(codes, sizes), seed=0)
    found = synthesize(records, columns, records.grant(epsilon), strategy=strategy)
    return found.draw(len(codes["income"]), np.random.default_rng(0))


def _pairs_off(columns: Schema, truth: dict[str, Any], made: dict[str, Any]) -> float:
    """The mean L1 distance of two columns' histograms, as shares."""
    off = []
    for one, other in combinations(columns, 2):
        size = columns[other].size
        counts = [np.bincount(rows[one] * size + rows[other], minlength=columns[one].size * size) for rows in (truth, made)]
        off.append(np.abs(counts[0] - counts[1]).sum() / counts[0].sum())
    return float(np.mean(off))


FIGURES: dict[str, Callable[[], go.Figure]] = {
    drawn.__name__.replace("_", "-"): drawn
    for drawn in (
        release,
        coverage,
        odds,
        price,
        many_releases,
        two_measures,
        marginals,
        synthetic_strategies,
        synthetic_means,
    )
}


def page(name: str, library: str | bool = SHARED) -> str:
    """A figure as a page of its own."""
    return paged(FIGURES[name](), name, library)


def on_files(files: Any, *, config: Any) -> Any:
    """For mkdocs: add the figures to what it publishes."""
    from mkdocs.structure.files import File

    for name in FIGURES:
        files.append(File.generated(config, f"{FOLDER}/{name}.html", content=page(name)))
    return files


if __name__ == "__main__":
    for wanted in sys.argv[1:] or FIGURES:
        Path(f"{wanted}.html").write_text(page(wanted, library=True), encoding="utf-8")
