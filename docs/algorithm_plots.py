"""Every algorithm on the same public data: a picture, its paper, and its errors, made when the pages are built.

A hook of mkdocs, like `plots.py`. It puts a section for each algorithm into `algorithms.md`, in place of a comment there;
what an algorithm suits is taken from the table of that page, which is written by hand, and its paper from the registry.
To look at one picture alone: `python docs/algorithm_plots.py HB` writes `HB.html`.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from plots import BLUE, GREY, LIBRARY, RED, figure_of, paged

from jostle import algorithms, plots, simulate, workloads
from jostle.datasets import census
from jostle.workloads import Workload

PAGE, PLACE = "algorithms.md", "<!-- a section for every algorithm -->"
FOLDER = "algorithms"
SHARED = f"../mechanisms/plots/{LIBRARY}"
OVERVIEW = "overview"

EPSILON = 0.02
"""Small enough for errors to be seen."""

TRIALS = 10
CELLS, WIDTH = 128, 20
GRID, YEARS, DOLLARS = (16, 16), 4, 120
HEIGHT = 330


@cache
def line() -> Any:
    """Weekly income, in cells of $20; the last has all who earn more."""
    return np.bincount(np.minimum(census()["income"].to_numpy() / WIDTH, CELLS - 1).astype(int), minlength=CELLS)


@cache
def grid() -> Any:
    """Experience by weekly income."""
    people = census()
    down = np.minimum(people["experience"].to_numpy() / YEARS, GRID[0] - 1).astype(int)
    right = np.minimum(people["income"].to_numpy() / DOLLARS, GRID[1] - 1).astype(int)
    return np.bincount(down * GRID[1] + right, minlength=GRID[0] * GRID[1]).reshape(GRID)


@cache
def questions() -> dict[str, tuple[str, Any, Workload]]:
    """What is asked of what: the task, the data and the workload, by a name for people."""
    boxes = workloads.random_rectangles(GRID, 100, seed=0)
    return {
        "cells of the line": ("range-1d", line(), workloads.identity(CELLS)),
        "running totals": ("range-1d", line(), workloads.prefix(CELLS)),
        "cells of the grid": ("range-2d", grid(), workloads.identity(GRID)),
        "rectangles": ("range-2d", grid(), boxes),
    }


@cache
def errors(question: str) -> dict[str, float]:
    """How far off an answer is, root mean square, by every algorithm that can answer; the least first."""
    task, x, asked = questions()[question]
    found = {}
    for name in algorithms.names(task=task):
        squares = simulate.errors(name, x, asked, EPSILON, trials=TRIALS, seed=0) ** 2
        found[name] = float(np.sqrt(squares.mean() / asked.shape[0]))
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def picture(name: str) -> go.Figure:
    """What one run makes of the data: a line, or a map where the algorithm is for grids alone."""
    found = algorithms.get(name)
    return _on_the_line(name) if "range-1d" in found.tasks else _on_the_grid(name)


def _on_the_line(name: str) -> go.Figure:
    (run,) = np.concatenate(
        list(simulate.estimates(algorithms.get(name), line(), workloads.prefix(CELLS), EPSILON, trials=1, seed=0))
    ).reshape(1, CELLS)
    figure = figure_of(f"{name}, ε = {EPSILON:g}", "dollars a week", "people")
    dollars = np.arange(CELLS) * WIDTH
    figure.add_scatter(x=dollars, y=line(), name="true", line={"color": RED, "shape": "hv", "width": 1.2})
    figure.add_scatter(x=dollars, y=run, name="released (simulated)", line={"color": BLUE, "shape": "hv", "width": 1.6})
    return figure.update_layout(height=HEIGHT)


def _on_the_grid(name: str) -> go.Figure:
    asked = questions()["rectangles"][2]
    runs = simulate.estimates(algorithms.get(name), grid(), asked, EPSILON, trials=1, seed=0)
    run = np.concatenate(list(runs)).reshape(GRID)
    figure = make_subplots(cols=2, shared_yaxes=True, subplot_titles=["true", "released (simulated)"])
    for column, shown in enumerate((grid(), run), start=1):
        colours = {"colorscale": "Cividis", "zmin": 0, "zmax": float(grid().max()), "showscale": column == 2}
        x, y = np.arange(GRID[1]) * DOLLARS, np.arange(GRID[0]) * YEARS
        figure.add_heatmap(z=shown, x=x, y=y, colorbar={"thickness": 10}, row=1, col=column, **colours)
    plots.themed(figure, f"{name}, ε = {EPSILON:g}").update_xaxes(title="dollars a week")
    figure.update_yaxes(title="years of experience", col=1)
    return figure.update_layout(height=HEIGHT, margin={"l": 10, "r": 10, "t": 80, "b": 10})


def overview() -> go.Figure:
    """All of them side by side: how many times the least error each has, question by question."""
    figure = figure_of(f"Times the least error,<br>ε = {EPSILON:g}", "times the least error", "", log_x=True)
    names = sorted({name for question in questions() for name in errors(question)}, key=str.lower)
    marks = ("circle", "diamond", "circle-open", "diamond-open")
    for (question, mark), colour in zip(zip(questions(), marks, strict=True), (BLUE, RED, GREY, "#1f2430"), strict=True):
        found = errors(question)
        best = min(found.values())
        marker = {"symbol": mark, "size": 9, "color": colour, "line": {"width": 1.5}}
        figure.add_scatter(
            y=list(found), x=[error / best for error in found.values()], mode="markers", name=question, marker=marker
        )
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=names[::-1], dtick=1)
    figure.update_xaxes(tickvals=[1, 2, 5, 10, 20])
    return figure.update_layout(height=700)


def page(name: str, library: str | bool = SHARED) -> str:
    """A figure as a page of its own."""
    return paged(overview() if name == OVERVIEW else picture(name), name, library)


def own() -> list[str]:
    """What comes with jostle, by name."""
    found = algorithms.every().items()
    return sorted((name for name, one in found if one.plan.__module__.startswith("jostle.")), key=str.lower)


def on_files(files: Any, *, config: Any) -> Any:
    """For mkdocs: add the figures to what it publishes."""
    from mkdocs.structure.files import File

    for name in (OVERVIEW, *own()):
        files.append(File.generated(config, f"{FOLDER}/{name}.html", content=page(name)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """For mkdocs: the sections, in place of the comment."""
    if page.file.src_uri != PAGE:
        return markdown
    return markdown.replace(PLACE, "\n\n".join(section(name, suits(markdown, name)) for name in own()))


def suits(markdown: str, name: str) -> str:
    """The last cell of an algorithm's row in the page's table."""
    row = next(text for text in markdown.splitlines() if text.startswith(f"| {name} |"))
    return row.strip("| ").rsplit("|", 1)[1].strip()


def section(name: str, suited: str) -> str:
    """An algorithm's heading, what it suits, its picture, its errors and its paper."""
    told = []
    for question in questions():
        found = errors(question)
        if name in found:
            place, least = list(found).index(name) + 1, min(found.values())
            told.append(f"| {question} | ±{_number(found[name])} | {place} of {len(found)} | ±{_number(least)} |")
    size = f'loading="lazy" width="100%" height="{HEIGHT + 20}" style="border:0"'
    frame = f'<iframe src="{FOLDER}/{name}.html" title="{name}" {size}></iframe>'
    table = "\n".join(["| asked | off by | place | the least |", "| --- | ---: | ---: | ---: |", *told])
    return f"### {name}\n\n{suited}\n\n{frame}\n\n{table}\n\n{algorithms.get(name).reference}"


def _number(error: float) -> str:
    return f"{error:,.0f}" if error >= 10 else f"{error:.1f}"


if __name__ == "__main__":
    for wanted in sys.argv[1:] or (OVERVIEW, *own()):
        Path(f"{wanted}.html").write_text(page(wanted, library=True), encoding="utf-8")
