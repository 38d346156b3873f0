"""The pictures of the documentation, drawn from the library itself whenever the pages are built.

`mkdocs build` runs this as a hook: each figure becomes a small page of its own, which a document shows in a frame. None is
stored in the repository, but the data of those that rest on long measurements: a report beside which there is a .json file
of figures shows each in place of the comment that names it.

To look at one alone: `python docs/plots.py laplace` writes `laplace.html`.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from jostle import mechanisms, plots
from jostle.mechanisms import RandomizedResponse, utility
from jostle.mechanisms.distance import DistanceResponse
from jostle.mechanisms.gradual import chain

FOLDER = "mechanisms/plots"
REPORTS = "results"
LIBRARY = "plotly.min.js"
HEIGHT = 440
"""In pixels, as the frames in the documents leave room for: they are 460 high. Titles have at most 35 characters a line, so
that a telephone shows them whole."""

TITLE = 60
"""What a title of two lines takes above a report's figure."""

BLUE, RED, GREEN, GREY = plots.ACCENT, plots.CONTRAST, plots.PALETTE[2], plots.MUTED
EPSILONS = np.geomspace(0.05, 5, 60)


def randomized_response() -> go.Figure:
    """The variance of the estimate, and what the slide says."""
    chances = np.linspace(0.51, 0.99, 97)
    right = [RandomizedResponse(2, p=float(p)).variance(0.5, 1) for p in chances]
    slide = 1 / (16 * (chances - 0.5) ** 2 - 0.25 + 1e-12)  # it has a pole at 5/8
    figure = figure_of(
        "Variance of randomized response,<br>times N people", "p: how often the truth is told", "variance · N"
    )
    figure.add_scatter(x=chances, y=right, name="1/(16(p − ½)²) − ¼", line_color=BLUE)
    figure.add_scatter(
        x=chances, y=np.where(np.abs(slide) < 60, slide, np.nan), name="the slide", line={"color": RED, "dash": "dot"}
    )
    return figure.update_yaxes(range=[-20, 60])


def laplace() -> go.Figure:
    """Continuous and discrete noise."""
    x, whole = np.linspace(-12, 12, 481), np.arange(-12, 13)
    figure = figure_of("Laplace noise, sensitivity 1", "noise", "density, or probability")
    for epsilon, colour in ((1.0, BLUE), (0.3, RED)):
        figure.add_scatter(
            x=x, y=epsilon / 2 * np.exp(-epsilon * np.abs(x)), name=f"laplace, ε = {epsilon:g}", line_color=colour
        )
        a = math.exp(-epsilon)
        discrete = (1 - a) / (1 + a) * a ** np.abs(whole)
        figure.add_scatter(
            x=whole, y=discrete, mode="markers", name=f"discrete_laplace, ε = {epsilon:g}", marker_color=colour
        )
    return figure


def exponential() -> go.Figure:
    """Seven ranges, under both neighbours."""
    edges, scores = np.array([0, 2, 3, 5, 7, 10, 11, 12]), [3, 4, 5, 4, 3, 4, 3]
    names = [f"{a}–{b}" for a, b in pairwise(edges)]
    figure = figure_of("Where to split: the exponential<br>mechanism, ε = 1", "range of the attribute", "probability")
    for neighbours, colour in (("add_remove", BLUE), ("replace", RED)):
        chances = utility.exponential_probabilities(
            scores, epsilon=1, monotone=True, neighbours=neighbours, lengths=np.diff(edges)
        )
        figure.add_bar(x=names, y=chances, name=neighbours, marker_color=colour)
    return figure


def noisy_max() -> go.Figure:
    """Three ways to choose, by what they lose on average."""
    scores = np.array([30, 27, 25, 24, 20, 12, 9, 4, 1, 0], dtype=float)
    figure = figure_of("Choosing among ten: how far<br>below the best, on average", "ε", "score lost", log_x=True)
    loss = scores.max() - scores
    generator = np.random.default_rng(0)
    laplace_noise = generator.laplace(size=(20_000, scores.size))
    one_sided = generator.exponential(size=(20_000, scores.size))
    ways: dict[str, Callable[[float], float]] = {
        "exponential": lambda epsilon: float(utility.exponential_probabilities(scores, epsilon=epsilon) @ loss),
        "report_noisy_max": lambda epsilon: float(loss[(scores + 2 / epsilon * laplace_noise).argmax(axis=1)].mean()),
        "permute_and_flip": lambda epsilon: float(loss[(scores + 2 / epsilon * one_sided).argmax(axis=1)].mean()),
    }
    for (name, lost), colour in zip(ways.items(), (RED, GREY, BLUE), strict=True):
        figure.add_scatter(x=EPSILONS, y=[lost(epsilon) for epsilon in EPSILONS], name=name, line_color=colour)
    return figure


def above_threshold() -> go.Figure:
    """The price of several answers of yes."""
    positives = np.arange(1, 31)
    figure = figure_of("Above threshold: error on<br>1,000 queries at ε = 1, 95 %", "answers of yes", "error")
    together = [utility.above_threshold_error(1, queries=1000, positives=int(c)) for c in positives]
    counts = [utility.above_threshold_error(1, queries=1000, positives=int(c), monotone=True) for c in positives]
    everything = utility.laplace_error(1, sensitivity=1000, numbers=1000)
    figure.add_scatter(x=positives, y=together, name="AboveThreshold", line_color=BLUE)
    figure.add_scatter(x=positives, y=counts, name="AboveThreshold, monotone", line_color=GREEN)
    figure.add_scatter(
        x=positives, y=np.full(30, everything), name="all 1,000 by laplace", line={"color": RED, "dash": "dot"}
    )
    return figure.update_yaxes(type="log")


def median_mechanism() -> go.Figure:
    """What more questions cost."""
    questions = np.unique(np.logspace(1, 4, 30).astype(int))
    figure = figure_of("Counting questions at ε = 1, 95 %,<br>with 256 candidates", "questions", "error", log_x=True)
    search = [utility.above_threshold_error(0.5, queries=int(k), positives=8) for k in questions]
    each = [utility.laplace_error(1, sensitivity=float(k), numbers=int(k)) for k in questions]
    figure.add_scatter(x=questions, y=search, name="MedianMechanism, free answers: beyond `error`", line_color=BLUE)
    figure.add_scatter(x=questions, y=each, name="all by laplace", line={"color": RED, "dash": "dot"})
    return figure.update_yaxes(type="log")


def best_of() -> go.Figure:
    """What one of several runs may spend."""
    runs = np.arange(2, 51)
    figure = figure_of("What one run may spend, of ε = 1 in all", "runs", "ε of one run")
    figure.add_scatter(x=runs, y=np.full(runs.size, 1 / 2), name="best_of, logarithmic law", line_color=BLUE)
    figure.add_scatter(x=runs, y=np.full(runs.size, 1 / 3), name="best_of, geometric law", line_color=GREEN)
    figure.add_scatter(x=runs, y=1 / runs, name="each run paid for by itself", line={"color": RED, "dash": "dot"})
    return figure.update_yaxes(rangemode="tozero")


def large_margin() -> go.Figure:
    """What the number of candidates costs."""
    candidates = np.geomspace(2, 1e120, 60)
    figure = figure_of("By how much must the best lead?<br>ε = 1, 95 %", "candidates", "lead", log_x=True)
    needed = [utility.exponential_error(1, candidates=float(k)) for k in candidates]
    figure.add_scatter(x=candidates, y=needed, name="exponential: ε-private", line_color=BLUE)
    for delta, dash in ((1e-3, "solid"), (1e-6, "dash")):
        gap = np.full(60, utility.large_margin_gap(1, delta))
        figure.add_scatter(
            x=candidates, y=gap, name=f"large_margin: (ε, {delta:g})-private", line={"color": RED, "dash": dash}
        )
    return figure


def propose_test_release() -> go.Figure:
    """How far from unusual data is far enough."""
    epsilons = np.geomspace(0.1, 10, 60)
    figure = figure_of("How far from unusual data<br>an answer comes with 95 %", "ε", "records", log_x=True)
    for delta, color in ((1e-4, BLUE), (1e-6, GREEN), (1e-9, RED)):
        far = [utility.propose_test_release_distance(float(epsilon), delta) for epsilon in epsilons]
        figure.add_scatter(x=epsilons, y=far, name=f"δ = {delta:g}", line_color=color)
    return figure.update_yaxes(type="log")


def stable_selection() -> go.Figure:
    """The price of more parameters."""
    parameters = np.arange(2, 101)
    figure = figure_of(
        "Noise on the validation score,<br>in units of its stability, ε = 1", "parameters to choose from", "error, 95 %"
    )
    chosen = [utility.permute_and_flip_error(1, candidates=int(k)) for k in parameters]
    every = [utility.laplace_error(1, sensitivity=float(k), numbers=int(k)) for k in parameters]
    figure.add_scatter(x=parameters, y=chosen, name="stable_selection", line_color=BLUE)
    figure.add_scatter(x=parameters, y=every, name="a noisy score for each", line={"color": RED, "dash": "dot"})
    return figure


def gradual_release() -> go.Figure:
    """Some paths of noise, from coarse to fine."""
    from fractions import Fraction

    from jostle.kernel.noise import SimulatedNoise

    epsilons = [Fraction(k, 50) for k in range(1, 51)]
    paths = np.array(chain(5, [1 / epsilon for epsilon in epsilons], SimulatedNoise(seed=3)))
    figure = figure_of("Five gradual releases:<br>their noise as ε rises", "ε paid so far", "noise")
    for path in paths.T:
        figure.add_scatter(x=[float(e) for e in epsilons], y=path, line={"shape": "hv"}, showlegend=False)
    bound = [utility.discrete_laplace_error(float(e)) for e in epsilons]
    for sign in (1, -1):
        figure.add_scatter(
            x=[float(e) for e in epsilons],
            y=sign * np.array(bound),
            line={"color": GREY, "dash": "dot"},
            name="95 % of a single release",
            showlegend=sign == 1,
        )
    return figure.update_yaxes(range=[-60, 60])


def sums_and_means() -> go.Figure:
    """The error of a mean, three ways."""
    records = np.geomspace(50, 1e5, 60)
    figure = figure_of(
        "Deviation of a mean of values<br>in the middle of [0, 100], ε = 0.5", "records", "deviation", log_x=True
    )
    two_sums, count_and_sum, public = (
        100 / (0.5 * records),
        100 * math.sqrt(2) / (0.5 * records),
        100 * math.sqrt(2) / (0.5 * records),
    )
    figure.add_scatter(x=records, y=two_sums, name="clipped_mean, add_remove: two sums", line_color=BLUE)
    figure.add_scatter(x=records, y=count_and_sum, name="a sum and a count, ε/2 each", line={"color": RED, "dash": "dot"})
    figure.add_scatter(x=records, y=public, name="clipped_mean, replace", line={"color": GREEN, "dash": "dash"})
    return figure.update_yaxes(type="log")


def quantiles() -> go.Figure:
    """How far off a noisy median is, by rank and by value."""
    values = np.random.default_rng(0).lognormal(10, 0.5, 2000)
    bounds = (0.0, 1e6)
    purse = mechanisms.simulation(seed=0)
    by_rank = [mechanisms.median(values, bounds=bounds, budget=purse.grant("0.1")) for _ in range(400)]
    trials = mechanisms.simulation(seed=0, trials=400)
    by_value = mechanisms.laplace(float(np.median(values)), sensitivity=1e6, budget=trials.grant("0.1"))
    figure = figure_of(
        "A median income of 2,000 people,<br>ε = 0.1, bounds 0 and 1,000,000",
        "off by at most",
        "share of 400 runs",
        log_x=True,
    )
    shares = np.arange(1, 401) / 400
    for name, released, colour in (("median", by_rank, BLUE), ("Laplace noise of scale 10⁷", by_value, RED)):
        off = np.sort(np.abs(np.asarray(released) - np.median(values)))
        figure.add_scatter(x=off, y=shares, name=name, line={"color": colour, "shape": "hv"})
    return figure.update_yaxes(tickformat=".0%")


def composition() -> go.Figure:
    """Many counts from one ε."""
    counts = np.arange(1, 101)
    figure = figure_of("So many counts from one ε = 1:<br>the largest of their errors, 95 %", "counts", "error")
    one_by_one = [utility.laplace_error(1 / k, sensitivity=1, numbers=int(k)) for k in counts]
    disjoint = [utility.laplace_error(1, sensitivity=1, numbers=int(k)) for k in counts]
    figure.add_scatter(x=counts, y=one_by_one, name="of the same people: ε/k each", line_color=RED)
    figure.add_scatter(x=counts, y=disjoint, name="of disjoint groups: ε each", line_color=BLUE)
    return figure.update_yaxes(type="log")


def comparison() -> go.Figure:
    """The local and the central model."""
    people = np.geomspace(10, 1e6, 60)
    figure = figure_of("Standard deviation of a count of N people", "N", "deviation", log_x=True)
    for epsilon, dash in ((1.0, "solid"), (0.1, "dash")):
        response = RandomizedResponse(2, epsilon=epsilon)
        local = [n * math.sqrt(response.variance(0.5, int(n))) for n in people]
        central = np.full(people.size, math.sqrt(2) / epsilon)
        figure.add_scatter(
            x=people, y=local, name=f"randomized response, ε = {epsilon:g}", line={"color": RED, "dash": dash}
        )
        figure.add_scatter(x=people, y=central, name=f"Laplace, ε = {epsilon:g}", line={"color": BLUE, "dash": dash})
    return figure.update_yaxes(type="log")


def comparison_exponential() -> go.Figure:
    """A number by the exponential mechanism."""
    outputs = np.arange(-20, 21)
    figure = figure_of("A count of 0, released at ε = 1,<br>in whole numbers", "answer", "probability")
    a = math.exp(-1)
    figure.add_bar(x=outputs, y=(1 - a) / (1 + a) * a ** np.abs(outputs), name="discrete_laplace", marker_color=BLUE)
    chosen = utility.exponential_probabilities(-np.abs(outputs), epsilon=1)
    figure.add_bar(x=outputs, y=chosen, name="exponential, score −|answer − count|", marker_color=RED)
    return figure


def scores_by_distance() -> go.Figure:
    """How far off answers are on a grid of 10 by 10, by uniform lies and by lies nearby."""
    epsilons, truth = [0.5, 1, 2, 3, 4, 6, 8], (4, 7)
    steps = np.add.outer(np.abs(np.arange(10) - truth[0]), np.abs(np.arange(10) - truth[1]))
    near = [DistanceResponse(10, 10, epsilon=epsilon).mean_distance(truth) for epsilon in epsilons]
    told = [float(RandomizedResponse(10, 10, epsilon=epsilon).p) for epsilon in epsilons]
    uniform = [(1 - p) * steps.sum() / (steps.size - 1) for p in told]
    figure = figure_of("Steps from the true place,<br>on a grid of 10 × 10", "ε", "steps, on average")
    figure.add_scatter(x=epsilons, y=near, name="lies nearby", line_color=BLUE)
    return figure.add_scatter(x=epsilons, y=uniform, name="uniform lies", line_color=RED)


FIGURES: dict[str, Callable[[], go.Figure]] = {
    drawn.__name__.replace("_", "-"): drawn
    for drawn in (
        randomized_response,
        laplace,
        exponential,
        noisy_max,
        above_threshold,
        median_mechanism,
        best_of,
        large_margin,
        propose_test_release,
        stable_selection,
        gradual_release,
        sums_and_means,
        quantiles,
        composition,
        comparison,
        comparison_exponential,
        scores_by_distance,
    )
}


def on_files(files: Any, *, config: Any) -> Any:
    """For mkdocs: add the figures, and the one script that they share, to what it publishes."""
    from mkdocs.structure.files import File
    from plotly.offline import get_plotlyjs

    files.append(File.generated(config, f"{FOLDER}/{LIBRARY}", content=get_plotlyjs()))
    for name in FIGURES:
        files.append(File.generated(config, f"{FOLDER}/{name}.html", content=page(name)))
    for report in sorted((Path(__file__).parent / REPORTS).glob("*.json")):
        for name, figure in json.loads(report.read_text("utf-8")).items():
            title, rest = plots.without_title(plots.with_plain_ticks(_responsive(go.Figure(figure))))
            made = paged(rest, f"{report.stem}-{name}", f"../../{FOLDER}/{LIBRARY}", title=title)
            files.append(File.generated(config, f"{REPORTS}/plots/{report.stem}-{name}.html", content=made))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """For mkdocs: a frame in place of each comment that names a figure of the report's."""
    source = Path(page.file.src_uri)
    stored = Path(__file__).parent / source.with_suffix(".json")
    if source.parent.as_posix() != REPORTS or not stored.is_file():
        return markdown
    figures = json.loads(stored.read_text("utf-8"))

    def frame(found: re.Match[str]) -> str:
        name = found[1]
        height = figures[name]["layout"].get("height", HEIGHT) + TITLE
        link, style = f"plots/{source.stem}-{name}.html", 'style="border:0"'
        return f'<iframe src="{link}" title="{name}" width="100%" height="{height}" {style}></iframe>'

    return re.sub(r"<!-- picture: ([\w-]+) -->", frame, markdown)


def page(name: str, library: str | bool = LIBRARY) -> str:
    """A figure as a page of its own, as wide as its frame and without a margin that would make the frame scroll."""
    return paged(FIGURES[name](), name, library)


def paged(figure: go.Figure, name: str, library: str | bool, *, title: str = "") -> str:
    """A figure as a page, with the script from elsewhere in the documentation, perhaps below a title that wraps."""
    config = {"displayModeBar": False, "responsive": True}
    drawn = figure.to_html(include_plotlyjs=library, config=config, div_id=name)
    look = f"font: 16px {plots.FONT}; color: {plots.INK}; margin: 10px 10px 0"
    above = f"""<p style="{escape(look)}">{escape(title)}</p>""" if title else ""
    return str(drawn).replace("<body>", f'<body style="margin:0; overflow:hidden">{above}', 1)


def _responsive(figure: go.Figure) -> go.Figure:
    return figure.update_layout(template="plotly_white", autosize=True, height=figure.layout.height or HEIGHT)


def figure_of(title: str, x: str, y: str, *, log_x: bool = False) -> go.Figure:
    """An empty figure that is read well in a narrow frame: a title above, the legend below."""
    figure = plots.new(x=x, y=y, log_x=log_x)
    return figure.update_layout(
        title={"text": title, "font_size": 15, "x": 0.02, "y": 0.95, "yanchor": "top"},
        autosize=True,
        height=HEIGHT,
        margin={"l": 10, "r": 10, "t": 65, "b": 10},
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "xref": "container", "x": 0.02},
    )


if __name__ == "__main__":
    for wanted in sys.argv[1:] or FIGURES:
        Path(f"{wanted}.html").write_text(page(wanted, library=True), encoding="utf-8")
