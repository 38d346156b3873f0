"""Classify: every private learner on a public labelled table, against ε, by simulation."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from starlette.concurrency import run_in_threadpool

from jostle import learn, plots
from jostle.datasets.artificial import SIGNALS
from jostle.datasets.labelled import EXPERIMENTS, Labelled
from jostle.explorer import uploads
from jostle.explorer.forms import Form
from jostle.explorer.jobs import BackgroundJob, PageFragment
from jostle.explorer.pages import drawn, render
from jostle.kernel.errors import BadInput, JostleError
from jostle.learn.public_tables import Encoded, encoded, error, parts
from jostle.learn.registry import CHOSEN
from jostle.learn.task import Task

SECONDS: Final = 15.0
"""After this many seconds at one ε, a learner makes no further draws there."""

MOST_TESTED: Final = 4_000
TRAINING: Final = 0.7
MADE_UP: Final = {f"artificial-{seed}": f"made up: {signal}" for seed, signal in list(enumerate(SIGNALS))[:7]}


@dataclass
class LearnerErrors:
    """One learner over the values of ε."""

    name: str
    means: dict[float, float] = field(default_factory=dict)
    spreads: dict[float, float] = field(default_factory=dict)
    """The standard deviation over the draws of the noise; one draw has none."""

    draws: dict[float, int] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Over all ε, to rank by."""
        return float(np.mean(list(self.means.values())))


def page_facts() -> dict[str, Any]:
    """What the page's form offers."""
    return {"tables": tables(), "learners": learn.names()}


def tables() -> dict[str, str]:
    """The available tables, with a description."""
    folder = os.environ.get("JOSTLE_DATA", "")
    real = {name: f"public: {name}" for name in EXPERIMENTS} if folder and Path(folder, "adult.data").is_file() else {}
    return real | MADE_UP


async def prepare(form: Form) -> Callable[[BackgroundJob], PageFragment]:
    """Check the form, and return the work."""
    epsilons = form.numbers("epsilons", 1e-3, 100, 8)
    draws, most = form.whole("draws", 1, 20, default=3), form.whole("records", 50, 50_000, default=2_000)
    wanted = form.choices("learner", learn.names())
    file = await form.file("upload", uploads.LARGEST_TABLE)
    known = tables()
    name = form.choice("labelled", [*known, "upload"])
    if file is None and name == "upload":
        raise BadInput("upload", "no file was chosen", "choose a CSV file, or another table")
    table = None
    if file is not None:
        written = await form.file("schema_file", uploads.LARGEST_FILE)
        schema = form.text("schema") if written is None else uploads.text_of(written[1], "schema_file")
        table = await run_in_threadpool(uploads.labelled, *file, schema, form.needed("label", "name the column to predict"))

    def work(job: BackgroundJob) -> PageFragment:
        job.step(0, len(wanted), "reading")
        task, train, test = parts(name, 0) if table is None else divided(table)
        few = {column: codes[:most] for column, codes in train.items()}
        tested = {column: codes[:MOST_TESTED] for column, codes in test.items()}
        found, refused = [], []
        for number, learner in enumerate(wanted):
            job.step(number, len(wanted), learner)
            try:
                found.append(attempt(learner, task, few, tested, epsilons, draws, job))
            except JostleError as problem:
                refused.append((learner, str(problem)))
        return shown(table.name if table else known[name], task, few, found, refused, epsilons, draws)

    return work


def divided(table: Labelled) -> tuple[Task, Encoded, Encoded]:
    """The task of an uploaded table, the records to learn from, and those to test with."""
    order = np.random.default_rng(0).permutation(len(table))
    cut = round(TRAINING * len(table))
    task = Task(table.attributes, table.label, table.schema)
    train, test = (encoded(task, table.take(rows)) for rows in (order[:cut], order[cut:]))
    if not len(train[table.label]) or not len(test[table.label]):
        raise BadInput("label", "has no value that the schema declares", "list the classes as they are in the file")
    return task, train, test


def attempt(
    name: str, task: Task, train: Encoded, test: Encoded, epsilons: list[float], draws: int, job: BackgroundJob
) -> LearnerErrors:
    """Some draws of the noise at each ε."""
    learner, learned = learn.get(name), LearnerErrors(name)
    for epsilon in epsilons:
        began, wrong = time.monotonic(), list[float]()
        for draw in range(draws):
            job.check()
            seed = zlib.crc32(f"{name}/{epsilon}/{draw}".encode())
            wrong.append(error(learner, task, train, test, epsilon, seed=seed, neighbours="add_remove"))
            if time.monotonic() - began > SECONDS:
                break
        learned.means[epsilon], learned.draws[epsilon] = float(np.mean(wrong)), len(wrong)
        if len(wrong) > 1:
            learned.spreads[epsilon] = float(np.std(wrong, ddof=1))
    return learned


def fewer(found: list[LearnerErrors], wanted: int) -> list[str]:
    """Learners with fewer draws of the noise than requested, and where."""
    short = {one.name: {e: n for e, n in one.draws.items() if n < wanted} for one in found}
    return [
        f"{name} ({', '.join(f'{many} at ε = {epsilon:g}' for epsilon, many in few.items())})"
        for name, few in short.items()
        if few
    ]


def shown(
    title: str, task: Task, train: Encoded, found: list[LearnerErrors], refused: list[Any], epsilons: list[float], draws: int
) -> PageFragment:
    """The piece of the page with the results."""
    ranked = sorted(found, key=lambda one: one.mean)
    share = np.bincount(train[task.label]).max() / train[task.label].size
    html = render(
        "classify_result.html",
        title=title,
        records=train[task.label].size,
        found=ranked,
        refused=refused,
        epsilons=epsilons,
        chosen=CHOSEN,
        place=next((place for place, one in enumerate(ranked, start=1) if one.name == CHOSEN), 0),
        guess=1 - float(share),
        task=task,
        draws=draws,
        fewer=fewer(ranked, draws),
        seconds=SECONDS,
    )
    return PageFragment(html, drawn({"learners": learner_figure(ranked)} if ranked else {}))


def learner_figure(found: list[LearnerErrors]) -> Any:
    """Misclassified records over ε."""
    figure = plots.new("How often is each classifier wrong?", x="ε", y="misclassified records", log_x=True)
    marked = list(zip(found, plots.colours([one.name for one in found], CHOSEN), strict=True))
    others = [one for one, colour in marked if colour == plots.MUTED]
    for place, one in enumerate(others):  # first, so that they lie behind; without spreads, which would hide the best
        line = {"color": plots.PALE, "width": 1}
        about: dict[str, Any] = {"name": f"{len(others)} others", "showlegend": not place, "legendrank": 2000}
        about |= {"legendgroup": "others", "hovertext": one.name, "mode": "lines", "line": line}
        figure.add_scatter(x=list(one.means), y=list(one.means.values()), **about)
    for one, colour in marked:
        if colour == plots.MUTED:
            continue
        figure.add_scatter(
            x=list(one.means),
            y=list(one.means.values()),
            error_y={"array": [one.spreads.get(epsilon, 0.0) for epsilon in one.means], "thickness": 1},
            name=f"PrivateClassifier ({CHOSEN})" if one.name == CHOSEN else one.name,
            line={"color": colour, "width": 4 if one.name == CHOSEN else 1.5},
            mode="lines+markers",
        )
    asked = sorted({epsilon for one in found for epsilon in one.means})
    figure.update_xaxes(tickmode="array", tickvals=asked, ticktext=[f"{epsilon:g}" for epsilon in asked])
    figure.update_yaxes(rangemode="tozero", tickformat=".0%")
    legend = {"orientation": "h", "yanchor": "top", "y": -0.18, "x": 0}
    return figure.update_layout(height=560, legend=legend)
