"""Compare: every algorithm on the same public input, by simulation."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from jostle import algorithms, plots
from jostle.choice.selectors import Selector
from jostle.choice.traces import collect_traces
from jostle.explorer import inputs
from jostle.explorer.forms import Form
from jostle.explorer.inputs import PublicInput
from jostle.explorer.jobs import BackgroundJob, PageFragment
from jostle.explorer.pages import drawn, render
from jostle.explorer.why import SHIPPED
from jostle.kernel.errors import BadInput, JostleError
from jostle.kernel.partition import Vector
from jostle.simulate import estimates

PYTHIA: Final = "Pythia"
MOST_TRIALS: Final = 200
SECONDS: Final = 12.0
"""After this many seconds, an algorithm makes no further trials."""

LEAST_FOR_BIAS, SURE = 3, 3.0
"""Fewer trials say nothing about a bias, and a squared bias within this many standard errors of 0 does not count as one."""

SPREAD: Final = (0.05, 0.95)
WIDEST: Final = 1024
"""More cells than this are added up before they are drawn."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmErrors:
    """The errors of one algorithm on the input."""

    name: str
    errors: Vector
    """The root mean squared error per answer, one per trial."""

    bias: float | None
    """The error of the mean over the trials, root mean squared over the answers; None if chance may explain it."""

    bias_error: float
    """The standard error of that, over the trials."""

    deviation: float
    """The standard deviation over the trials, root mean squared over the answers."""

    first: Vector
    """The estimate of the first trial, in the data's shape."""

    seconds: float
    choices: tuple[tuple[str, int], ...] = ()
    """How often each option was chosen, by an algorithm that chooses."""

    @cached_property
    def mean(self) -> float:
        return float(np.sqrt((self.errors**2).mean()))

    @property
    def low(self) -> float:
        """One trial in twenty is better than this."""
        return float(np.quantile(self.errors, SPREAD[0]))

    @property
    def high(self) -> float:
        """One trial in twenty is worse than this."""
        return float(np.quantile(self.errors, SPREAD[1]))


def page_facts(known: Mapping[str, Selector]) -> dict[str, Any]:
    """What the page's form offers."""
    return {
        "selectors": [name for name in known if not name.startswith(SHIPPED)],
        "sources": list(inputs.sources().values()),
        "workloads": inputs.WORKLOADS,
        "algorithms": sorted({n for task in algorithms.TASKS for n in algorithms.names(task)}),
        "most_trials": MOST_TRIALS,
    }


async def prepare(form: Form, selectors: Mapping[str, Selector]) -> Callable[[BackgroundJob], PageFragment]:
    """Check the form, and return the work."""
    given = await inputs.read(form)
    trials = form.whole("trials", 2, MOST_TRIALS, default=10)
    wanted = form.choices("algorithm", algorithms.names(given.task))
    # Those that run all trials at once are quick: a page that is stopped early has them already.
    ordered = sorted(wanted, key=lambda name: (name == PYTHIA, not algorithms.get(name).batched))
    named = form.text("selector")
    if named and (named not in selectors or selectors[named].about.task != given.task):
        raise BadInput("selector", f"is not for {given.task}", "choose another, or the default")
    selector = selectors.get(named)

    def work(job: BackgroundJob) -> PageFragment:
        tried: list[AlgorithmErrors] = []
        failed: list[tuple[str, str]] = []
        for number, name in enumerate(ordered):
            job.step(number, len(ordered), name)
            try:
                tried.append(attempt(name, given, trials, job, selector))
            except JostleError as refused:
                failed.append((name, str(refused)))
        job.step(len(ordered), len(ordered), "drawing")
        return shown(given, sorted(tried, key=lambda one: one.mean), failed)

    return work


def systematic(errors: Vector) -> tuple[float | None, float]:
    """The bias of an answer, root mean squared over the answers, and its standard error; None if chance may explain it.

    The products of different trials' errors are its square in the mean. How much that varies with the trials is found by
    leaving out each of them (the jackknife). One row per trial.

    >>> noise = np.random.default_rng(0).normal(size=(10, 50))
    >>> systematic(noise)[0] is None, round(systematic(noise + 9)[0])
    (True, 9)
    """
    many, answers = errors.shape
    if many < LEAST_FOR_BIAS:
        return None, math.nan
    total, squares = errors.sum(axis=0), (errors**2).sum(axis=1)
    square = ((total**2).sum() - squares.sum()) / (many * (many - 1) * answers)
    without = ((total - errors) ** 2).sum(axis=1) - (squares.sum() - squares)
    without /= (many - 1) * (many - 2) * answers
    off = float(np.sqrt((many - 1) / many * ((without - without.mean()) ** 2).sum()))
    if square <= SURE * off:
        return None, math.nan
    return float(np.sqrt(square)), off / (2 * float(np.sqrt(square)))


def attempt(
    name: str, given: PublicInput, trials: int, job: BackgroundJob, selector: Selector | None = None
) -> AlgorithmErrors:
    """Trials of one algorithm; fewer than requested if they take too long."""
    tunables: dict[str, Any] = {"selector": selector} if name == PYTHIA and selector is not None else {}
    truth, began = given.workload @ given.data, time.monotonic()
    off: list[Vector] = []
    kept: list[Vector] = []
    with collect_traces() as traces:
        for batch in estimates(name, given.data, given.workload, given.epsilon, trials=trials, seed=0, **tunables):
            job.check()
            kept = kept or [batch[0]]
            off.extend((given.workload @ batch) - truth)
            if time.monotonic() - began > SECONDS:
                break
    errors, many = np.asarray(off), len(off)
    variance = float(errors.var(axis=0, ddof=1).mean()) if many > 1 else float("nan")
    bias, bias_error = systematic(errors)
    return AlgorithmErrors(
        name=name,
        errors=np.sqrt((errors**2).mean(axis=1)),
        bias=bias,
        bias_error=bias_error,
        deviation=float(np.sqrt(variance)),
        first=kept[0].reshape(given.data.shape),
        seconds=(time.monotonic() - began) / many,
        choices=tuple(Counter(trace.choice for trace in traces).most_common()) if name == PYTHIA else (),
    )


def shown(given: PublicInput, tried: list[AlgorithmErrors], failed: list[tuple[str, str]]) -> PageFragment:
    """The piece of the page with the results."""
    figures = {"errors": error_figure(tried), "parts": parts_figure(tried)} if tried else {}
    noisy = {f"noisy-{place}": one.name for place, one in enumerate(tried)}
    figures |= {key: noisy_figure(given, tried[place]) for place, key in enumerate(noisy)}
    pythia = next((one for one in tried if one.name == PYTHIA), None)
    html = render(
        "compare_result.html",
        given=given,
        tried=tried,
        failed=failed,
        noisy=noisy,
        pythia=pythia,
        best=next((one for one in tried if one.name != PYTHIA), None),
    )
    return PageFragment(html, drawn(figures))


def error_figure(tried: list[AlgorithmErrors]) -> Any:
    """Errors with their spread, the least above."""
    figure = plots.new(
        "How far off is each algorithm?", x="error per answer (root mean square); bars: 90 % of the trials", log_x=True
    )
    for chooses, colour in ((False, plots.ACCENT), (True, plots.CONTRAST)):
        mine = [one for one in tried if (one.name == PYTHIA) is chooses]
        figure.add_scatter(
            x=[one.mean for one in mine],
            y=[one.name for one in mine],
            error_x={
                "array": [max(one.high - one.mean, 0) for one in mine],
                "arrayminus": [max(one.mean - one.low, 0) for one in mine],
                "thickness": 1.5,
            },
            mode="markers",
            marker={"size": 10, "color": colour, "symbol": "diamond" if chooses else "circle"},
            name=PYTHIA if chooses else "algorithms",
            showlegend=False,
        )
    order = [one.name for one in tried]
    figure.update_yaxes(categoryorder="array", categoryarray=order[::-1], type="category")
    return figure.update_layout(height=120 + 24 * len(tried))


def parts_figure(tried: list[AlgorithmErrors]) -> Any:
    """Systematic errors, and errors by chance."""
    figure = plots.new("How much of it is bias?", x="per answer (root mean square)", log_x=True)
    names = [one.name for one in tried]
    floor = min((one.deviation for one in tried if one.deviation > 0), default=1.0) / 100
    bias = [one.bias if one.bias is not None and one.bias > floor else None for one in tried]
    figure.add_scatter(
        x=[one.deviation for one in tried], y=names, mode="markers", name="standard deviation", marker={"size": 9}
    )
    marker = {"size": 9, "symbol": "x", "color": plots.PALETTE[3]}
    figure.add_scatter(x=bias, y=names, mode="markers", name="bias", marker=marker)
    figure.update_yaxes(categoryorder="array", categoryarray=names[::-1], type="category")
    return figure.update_layout(height=140 + 24 * len(tried))


def noisy_figure(given: PublicInput, one: AlgorithmErrors) -> Any:
    """The true histogram and an estimate of it: lines, or two maps in the same colours."""
    if given.data.ndim == 1:
        return _lines(given, one)
    from plotly.subplots import make_subplots

    figure = make_subplots(cols=2, subplot_titles=["true", one.name], horizontal_spacing=0.08)
    top = float(max(given.data.max(), 1))
    for column, values in ((1, given.data), (2, one.first)):
        figure.add_heatmap(z=values, zmin=0, zmax=top, coloraxis="coloraxis", row=1, col=column)
    plots.themed(figure)
    figure.update_layout(coloraxis={"colorscale": "Cividis", "cmin": 0, "cmax": top, "colorbar": {"thickness": 10}})
    figure.update_xaxes(showticklabels=False).update_yaxes(showticklabels=False)
    return figure.update_layout(height=380)


def _lines(given: PublicInput, one: AlgorithmErrors) -> Any:
    step = -(-given.data.size // WIDEST)
    along = np.arange(0, given.data.size, step)
    figure = plots.new(x="cell" if step == 1 else f"cell, {step} added up", y="count")
    noisy = np.add.reduceat(one.first, along)
    figure.add_scatter(x=along, y=noisy, name=f"{one.name}, one run", line={"color": plots.ACCENT, "width": 1.5})
    true = np.add.reduceat(given.data, along)
    figure.add_scatter(x=along, y=true, name="true", line={"color": plots.CONTRAST, "width": 1.5, "dash": "dot"})
    return figure.update_layout(height=380)
