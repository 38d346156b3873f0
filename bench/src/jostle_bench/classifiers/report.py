"""The experiments with private classifiers: what is tried on which tables, and the tables and pictures of what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from jostle import plots
from jostle.datasets.labelled import EXPERIMENTS
from jostle.learn import names
from jostle.learn.chooser import OPTIONS
from jostle.learn.registry import CHOSEN
from jostle.simulate.results import Results
from jostle_bench.classifiers.experiments import CALIBRATION, ERRORS, Trial, found, variant
from jostle_bench.classifiers.unseen import NAMES, PREFIX
from jostle_bench.reports.pages import markdown_table

HISTOGRAMS: Final = ("none", "informed", "Laplace", "DAWA", "Pythia", "Bayes", "Adaptive")
"""What naive Bayes' histograms are made by in its experiment: the first two are not private."""

ABOUT: Final = (
    "Mean misclassification of held-out records, with standard errors over the splits. Simulations on public tables, with "
    "declared domains and classes; all that a learner looks at is paid for. `PrivateClassifier` is called Chosen. Its "
    "chooser was grown on made-up tables and on tables that others collected, none of which is among these; the rules of "
    "LearnedTree were learned only on made-up tables. How made-up tables are made up, that Stacked is taken only where "
    "every other learner is expected to lose a tenth more, and the constants of Joint, Grid and Tree, were fixed with "
    "results on some of these splits in view. So for these tables the figures are not those of untouched test data."
)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """An experiment: learners on tables over some values of ε."""

    title: str
    """What it shows."""

    tables: tuple[str, ...]
    """The tables, split by seed."""

    epsilons: tuple[float, ...]
    """The budgets."""

    learners: tuple[str, ...] | None = None
    """Those that are compared; None: all that there are."""

    splits: int = 10
    """So many splits of each table."""

    draws: int = 3
    """So many draws of the noise a split."""

    neighbours: str = "add_remove"
    """What one person may change."""

    of: str = ERRORS
    """What is measured of each model."""

    def trials(self, learners: Sequence[str] | None = None) -> list[Trial]:
        """All of them, table by table."""
        wanted = [name for name in self.learners or names() if name.partition(" ")[0] in names()]
        for name in learners or ():
            variant(name)  # refuses what is unknown
        return [
            Trial(
                learner=name,
                table=table,
                split=split,
                epsilon=epsilon,
                draws=self.draws,
                neighbours=self.neighbours,
                of=self.of,
            )
            for table in self.tables
            for name in (learners or wanted)
            for epsilon in self.epsilons
            for split in range(self.splits)
        ]

    def quick(self) -> Figure:
        """Small enough for a test."""
        return replace(self, tables=self.tables[:1], epsilons=self.epsilons[-1:], splits=1, draws=1)


FIGURES: Final = MappingProxyType(
    {
        "classifiers": Figure(
            title="Misclassified records, all learners",
            tables=tuple(EXPERIMENTS),
            epsilons=(0.1, 0.5, 1.0, 2.0),
        ),
        "trees": Figure(
            title="Five algorithms for decision trees, the learned program, and the classifier that chooses",
            tables=("hiv", "nursery", "contraceptive"),
            epsilons=(0.01, 0.05, 0.1, 0.5, 1.0, 2.0),
            learners=(
                "FriedmanSchuster",
                "Mohammed",
                "Jagannathan",
                "PatilSingh",
                "FletcherIslam",
                "LearnedTree",
                "Tree",
                CHOSEN,
                "Majority",
            ),
        ),
        "bayes": Figure(
            title="Naive Bayes on histograms",
            tables=("skin-1k", "skin-10k", "skin-100k", "credit-1k", "credit-10k"),
            epsilons=(0.01, 0.1, 0.5, 1.0),
            learners=(
                "Majority",
                *(f"{model} histograms={how}" for model in ("GaussianBayes", "MultinomialBayes") for how in HISTOGRAMS),
            ),
        ),
        "course": Figure(
            title="The census' own test records, one record replaced",
            tables=("adult-test",),
            epsilons=(0.1, 0.5, 1.0),
            splits=1,
            draws=10,
            neighbours="replace",
        ),
        "unseen": Figure(
            title="Misclassified records on tables that nothing was tuned on",
            tables=tuple(f"{PREFIX}{name}" for name in NAMES),
            epsilons=(0.1, 0.5, 1.0, 2.0),
            learners=(CHOSEN, *OPTIONS),
            splits=3,
            draws=1,
        ),
        "calibration": Figure(
            title="Expected calibration error of probabilities on these tables",
            tables=tuple(f"{PREFIX}{name}" for name in NAMES),
            epsilons=(0.1, 0.5, 2.0),
            learners=(CHOSEN, *OPTIONS),
            splits=2,
            draws=1,
            of=CALIBRATION,
        ),
    }
)
"""The experiments by name."""

GOALS: Final[Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "adult": (0.167, 0.149, 0.145, 0.143),
        "nursery": (0.111, 0.091, 0.080, 0.068),
        "contraceptive": (0.570, 0.534, 0.512, 0.493),
        "hiv": (0.222, 0.122, 0.091, 0.077),
        "skin-1k": (0.101, 0.042, 0.035, 0.029),
        "skin-10k": (0.032, 0.016, 0.015, 0.013),
        "skin-100k": (0.0147, 0.0076, 0.0042, 0.0041),
        "credit-1k": (0.221, 0.200, 0.190, 0.183),
        "credit-10k": (0.191, 0.182, 0.181, 0.181),
    }
)
"""What `PrivateClassifier` is to reach at ε = 0.1, 0.5, 1 and 2: the best that was found for each table by hand."""

COURSE: Final[Mapping[str, float]] = MappingProxyType({"adult-test": 0.153})
"""What it is to reach there on average over ε: what cells that were picked by hand reach."""


@dataclass(frozen=True)
class Line:
    """A learner on a table."""

    table: str
    """The table."""

    learner: str
    """The learner."""

    means: Mapping[float, float]
    """The mean error for each ε."""

    errors: Mapping[float, float]
    """Its standard error over the splits; over the draws where there is one split."""

    splits: int = 1
    """On how many splits of the table it was tried."""

    draws: int = 1
    """With how many draws of the noise on each."""

    def shown(self, epsilon: float) -> str:
        """A mean and its standard error.

        >>> Line("t", "l", {1.0: 0.1234}, {1.0: 0.0021}).shown(1.0)
        '.1234 ±.0021'
        """
        if epsilon not in self.means:
            return "–"
        return f"{self.means[epsilon]:.4f} ±{self.errors[epsilon]:.4f}".replace("0.", ".")


def lines(figure: Figure, results: Results, learners: Sequence[str] | None = None) -> list[Line]:
    """What came out: one line for each learner on each table, the best first."""
    seen: dict[tuple[str, str], dict[float, list[tuple[float, float]]]] = {}
    for trial, one in found(figure.trials(learners), results):
        seen.setdefault((trial.table, trial.learner), {}).setdefault(trial.epsilon, []).append((one.mean, one.stderr))
    made = [
        Line(
            table,
            name,
            {epsilon: float(np.mean([mean for mean, _ in ones])) for epsilon, ones in by.items()},
            {epsilon: _stderr(ones) for epsilon, ones in by.items()},
            min(map(len, by.values())),
            figure.draws,
        )
        for (table, name), by in seen.items()
    ]
    return sorted(made, key=lambda line: (figure.tables.index(line.table), np.mean(list(line.means.values()))))


def _stderr(ones: Sequence[tuple[float, float]]) -> float:
    means = [mean for mean, _ in ones]
    return float(np.std(means, ddof=1) / sqrt(len(means))) if len(means) > 1 else ones[0][1]


def reached(line: Line) -> dict[float, bool]:
    """For each ε whether the goal is within two standard errors."""
    goals = dict(zip(FIGURES["classifiers"].epsilons, GOALS.get(line.table, ()), strict=False))
    return {
        epsilon: line.means[epsilon] <= goal + 2 * max(line.errors[epsilon], 0.0)
        for epsilon, goal in goals.items()
        if epsilon in line.means
    }


UNSEEN: Final = (
    "No constant was fitted to these tables. But they are no longer untouched: that PrivateStacked takes Joint's place "
    "where many attributes tell a little each, and that additive models of few attributes give way earlier, was prompted "
    "by two of them (ring, twonorm), and then decided on collected ones."
)

LEAST: Final = 0.005
"""Added to shares of errors before they are divided: two records in a thousand are not twice as bad as one."""


def regrets(shown: Sequence[Line]) -> dict[tuple[str, float], float]:
    """Per table and ε: errors of the choice over those of the best learner that it chooses among, known afterwards.

    >>> made = [Line("t", name, {1.0: share}, {1.0: 0.0}) for name, share in (("Chosen", 0.205), ("Joint", 0.195))]
    >>> {cell: round(regret, 3) for cell, regret in regrets(made).items()}
    {('t', 1.0): 1.05}
    """
    chosen = {line.table: line.means for line in shown if line.learner == CHOSEN}
    found = {}
    for table, means in chosen.items():
        others = [line.means for line in shown if line.table == table and line.learner in OPTIONS]
        for epsilon, share in means.items():
            known = [other[epsilon] for other in others if epsilon in other]
            if known:
                found[table, epsilon] = (share + LEAST) / (min(known) + LEAST)
    return found


def rising(shown: Sequence[Line]) -> list[tuple[str, float, float]]:
    """Tables and two neighbouring ε where the choice errs more at the larger one, by over two standard errors.

    >>> rising([Line("t", "Chosen", {0.1: 0.2, 1.0: 0.3, 2.0: 0.2}, {0.1: 0.01, 1.0: 0.01, 2.0: 0.01})])
    [('t', 0.1, 1.0)]
    """
    found = []
    for line in shown:
        for less, more in pairwise(sorted(line.means) if line.learner == CHOSEN else ()):
            apart = 2 * float(np.hypot(line.errors[less], line.errors[more]))
            if line.means[more] - line.means[less] > apart:
                found.append((line.table, less, more))
    return found


def regret_words(shown: Sequence[Line]) -> str:
    """What the choice costs, and where it errs more at a larger ε."""
    cells = regrets(shown)
    if not cells:
        return ""
    every = np.array(list(cells.values()))
    worst = sorted(cells, key=lambda cell: -cells[cell])[:5]
    named = ", ".join(f"{table} at {epsilon:g} ({cells[table, epsilon]:.2f})" for table, epsilon in worst)
    more = [f"{table} from {less:g} to {most:g}" for table, less, most in rising(shown)]
    return (
        f"Against the best learner of each cell, which nobody knows beforehand, {CHOSEN} errs "
        f"{np.exp(np.log(every).mean()):.3f} times as much (geometric mean of {every.size} cells, {LEAST:g} added to each "
        f"share); more than 1.25 times in {(every > 1.25).sum()}. Worst: {named}. "
        f"Errors rise with ε by over two standard errors: {', '.join(more) or 'nowhere'}."
    )


def markdown(figures: Mapping[str, Sequence[Line]], *, command: str) -> str:
    """A page with a table for every experiment."""
    parts = ["# Classifiers on public tables"]
    main = figures.get("classifiers", ())
    if compared(main):
        parts += [story(main), "<!-- picture: overview -->", "## How it was measured"]
    parts += [ABOUT, f"Made by `{command}`."]
    for name, shown in figures.items():
        if shown:
            parts += [
                f"## {FIGURES[name].title}",
                _measured(shown) + _reached(shown),
                *_said(name, shown),
                f"<!-- picture: {name} -->",
            ]
            parts += _tables(FIGURES[name], shown)
    return "\n\n".join(parts) + "\n"


def _said(name: str, shown: Sequence[Line]) -> list[str]:
    return [UNSEEN, regret_words(shown)] if name == "unseen" else []


OVERVIEW: Final = 1.0
"""The ε of the first picture, and of the first sentence."""

GUESS: Final = "Majority"
"""The learner that always predicts the most frequent class."""


def compared(shown: Sequence[Line]) -> dict[str, dict[str, float]]:
    """Per table with a guess and a choice, what each learner misclassifies at ε = 1."""
    tables: dict[str, dict[str, float]] = {}
    for line in shown:
        if OVERVIEW in line.means:
            tables.setdefault(line.table, {})[line.learner] = line.means[OVERVIEW]
    return {table: by for table, by in tables.items() if {CHOSEN, GUESS} <= set(by) and len(by) > 2}


def story(shown: Sequence[Line]) -> str:
    """What the tables say, in a few sentences."""
    tables = compared(shown)
    cut = sorted(by[CHOSEN] / by[GUESS] for by in tables.values())
    near = {name: 0 for by in tables.values() for name in by}
    for by in tables.values():
        best = min(by.values())
        for name, share in by.items():
            near[name] += share <= 1.1 * best
    rivals = {name: count for name, count in near.items() if name != CHOSEN}
    rival = max(rivals, key=rivals.__getitem__)
    others = [np.log(by[CHOSEN] / min(share for name, share in by.items() if name != CHOSEN)) for by in tables.values()]
    worst = max(tables, key=lambda table: tables[table][CHOSEN] / min(tables[table].values()))
    lost = tables[worst][CHOSEN] / min(tables[worst].values())
    geometric = float(np.exp(np.mean(others)))
    return (
        f"`PrivateClassifier` picks a learner by itself. At ε = {OVERVIEW:g} it makes {100 * cut[0]:.0f} % to "
        f"{100 * cut[-1]:.0f} % of the errors that guessing the most frequent class makes, depending on the table. "
        f"On {near[CHOSEN]} of {len(tables)} tables its errors are at most a tenth above those of the best learner, "
        f"which nobody knows beforehand; the best fixed choice, {rival}, achieves that on {rivals[rival]}. "
        f"**Where it is behind:** compared with the best other learner of each table, it errs {geometric:.2f} times as "
        f"much in the geometric mean, and {lost:.2f} times on {worst}."
    )


def overview(shown: Sequence[Line]) -> Any:
    """Per table: guessing, the best learner and the one that was chosen."""
    tables = compared(shown)
    names = list(tables)
    figure = plots.new(f"How many records are misclassified at ε = {OVERVIEW:g}?", x="misclassified records", log_x=True)
    for title, colour, symbol, shares in (
        ("guessing the most frequent class", plots.MUTED, "line-ns-open", [by[GUESS] for by in tables.values()]),
        ("the best learner, known afterwards", plots.CONTRAST, "diamond-open", [min(by.values()) for by in tables.values()]),
        ("PrivateClassifier", plots.ACCENT, "circle", [by[CHOSEN] for by in tables.values()]),
    ):
        marker = {"color": colour, "symbol": symbol, "size": 12, "line": {"width": 2}}
        figure.add_scatter(x=shares, y=names, name=title, mode="markers", marker=marker)
    marks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
    figure.update_xaxes(tickmode="array", tickvals=marks, ticktext=[f"{100 * mark:g} %" for mark in marks])
    figure.update_yaxes(autorange="reversed", type="category", title="")
    return figure.update_layout(height=180 + 32 * len(names), legend={"y": -0.25, "yanchor": "top"})


def _measured(shown: Sequence[Line]) -> str:
    """On what the lines rest: not all on as many splits, where a run was cut short."""
    draws = max(line.draws for line in shown)
    return f"{draws} draws of the noise on each split; the last column says on how many splits, at least, a line rests."


def _reached(shown: Sequence[Line]) -> str:
    """How many of the goals were reached, and which were not."""
    found = {
        f"{line.table} at {epsilon:g}": fine
        for line in shown
        if line.learner == CHOSEN and line.table in GOALS
        for epsilon, fine in reached(line).items()
    }
    if not found:
        return ""
    missed = [cell for cell, fine in found.items() if not fine]
    named = f" Missed: {', '.join(missed)}." if missed else ""
    return f" {CHOSEN} reaches {len(found) - len(missed)} of {len(found)} goals within two standard errors.{named}"


def _tables(figure: Figure, shown: Sequence[Line]) -> Iterable[str]:
    headings = ["learner", *(f"ε = {epsilon:g}" for epsilon in figure.epsilons), "mean", "splits"]
    for table in dict.fromkeys(line.table for line in shown):
        rows: list[list[str]] = []
        for line in (line for line in shown if line.table == table):
            name = f"**{line.learner}**" if line.learner == CHOSEN else line.learner
            cells = [line.shown(epsilon) for epsilon in figure.epsilons]
            mean = _short(float(np.mean(list(line.means.values())))) if len(line.means) == len(cells) else "–"
            rows.append([name, *cells, mean, str(line.splits)])
        if table in GOALS and figure.epsilons == FIGURES["classifiers"].epsilons:
            rows.append(["*goal*", *map(_short, GOALS[table]), "", ""])
        if table in COURSE:
            rows.append(["*goal*", *("" for _ in figure.epsilons), _short(COURSE[table]), ""])
        yield f"### {table}" + _about(table)
        yield markdown_table(headings, rows)


def _short(share: float) -> str:
    return f"{share:.4f}".removeprefix("0")


def _about(table: str) -> str:
    how = EXPERIMENTS.get(table)
    return f" ({how.training:.0%} to learn from)" if how else ""


def picture(figure: Figure, shown: Sequence[Line]) -> Any:
    """Error over ε, one panel per table."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    tables = list(dict.fromkeys(line.table for line in shown))
    made = make_subplots(rows=len(tables), cols=1, subplot_titles=tables)
    for line in shown:
        x = sorted(line.means)
        made.add_trace(
            go.Scatter(
                x=x,
                y=[line.means[epsilon] for epsilon in x],
                error_y={"array": [line.errors[epsilon] for epsilon in x]},
                name=line.learner,
                line_width=4 if line.learner == CHOSEN else 1.5,
            ),
            row=tables.index(line.table) + 1,
            col=1,
        )
    made.update_xaxes(type="log", title="ε").update_yaxes(title="misclassified", rangemode="tozero")
    made = plots.themed(made, "How often is each learner wrong?")
    return plots.series_coloured(made, CHOSEN).update_layout(height=380 * len(tables))
