"""`jostle bench pythia`: the Pythia paper's figures from a store of measurements, ours beside the paper's."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from jostle.cli.terminal import words
from jostle_bench.reports.terminal import gather, save_report, show

if TYPE_CHECKING:
    from jostle.choice.delphi import ErrorTable
    from jostle_bench.pythia.beside_authors import Beside
    from jostle_bench.pythia.deployed import Deployed
    from jostle_bench.pythia.experiments import Experiment
    from jostle_bench.reports.sections import Section

QUICK_TRIALS = 3
QUICK_DEPLOYED = 6


def pythia(
    task: Annotated[str | None, typer.Option(help="range-1d or range-2d; by default both.")] = None,
    options: Annotated[
        str | None, typer.Option(help="Our own options to choose among beside the suite, for instance OPT,Bayes.")
    ] = None,
    store: Annotated[Path, typer.Option(help="The folder of measurements that `jostle train` fills.")] = Path(
        "jostle-training"
    ),
    collect: Annotated[bool, typer.Option(help="Measure what the store does not have.")] = True,
    out: Annotated[Path, typer.Option(help="The folder of pages with pictures, one per task.")] = Path("jostle-pythia"),
    report: Annotated[
        Path | None, typer.Option(help="Write the numbers to this Markdown file, and the figures to a .json file beside it.")
    ] = None,
    deployed: Annotated[int, typer.Option(help="Number of inputs per task on which Pythia itself is run; 0 skips it.")] = 60,
    reference: Annotated[
        Path | None,
        typer.Option(help="A folder of errors of the authors' code to stand beside; else JOSTLE_REFERENCE may name it."),
    ] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Compare other settings of training, too.")] = False,
    trials: Annotated[int | None, typer.Option(help="Runs per option and input; by default 20.")] = None,
    seed: Annotated[int, typer.Option(help="Of all noise, and of the training.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core.")] = None,
    data: Annotated[Path | None, typer.Option(help="The folder of public shapes; else JOSTLE_DATA names it.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small part of the grid: to see it work, not to judge by.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """What choosing costs on the Pythia paper's grid, trained without the data set that it is judged on.

    Stop it whenever you like: the same command goes on where it was stopped. With --no-collect it reports on what there is.
    """
    from jostle.kernel.errors import BadInput
    from jostle.simulate.grid import WORKLOADS
    from jostle_bench.pythia.pictures import pictures
    from jostle_bench.reference import reference_folder
    from jostle_bench.reports.pages import markdown, page, plain

    if task is not None and task not in WORKLOADS:
        raise BadInput("task", f"{task!r} is unknown", f"use one of {', '.join(WORKLOADS)}")
    if deployed < 0:
        raise BadInput("deployed", f"must be at least 0, got {deployed}", "pass for instance 60")
    if not collect and not store.is_dir():
        raise BadInput("store", f"{store} is no folder of measurements", "name one, or leave --no-collect out")
    theirs = reference_folder(reference) if reference is not None or os.environ.get("JOSTLE_REFERENCE") else None
    for file in (out, report):
        if file is not None and not file.absolute().parent.is_dir():
            raise BadInput("out, report", f"the folder of {file} does not exist", "name one that does")
    asked = _Asked(
        own=words(options) if options is not None else None,
        store=store,
        collect=collect,
        data=data,
        trials=trials or (QUICK_TRIALS if quick else 20),
        seed=seed,
        workers=workers,
        deployed=min(deployed, QUICK_DEPLOYED) if quick else deployed,
        reference=None if quick else theirs,
        settings=settings,
        quick=quick,
    )
    command = _command(task, options, trials, seed, deployed, settings=settings, collect=collect, quick=quick)
    console = Console(highlight=False)
    pages, said = [], []
    figures: dict[str, Any] = {}
    for name in [task] if task is not None else WORKLOADS:
        found, checked, parts, numbers = _experiment(name, asked)
        if as_json:
            said.append(numbers | {"trials": asked.trials})
        else:
            show(parts, console)
        drawn = pictures(found, checked)
        pages.append(markdown(parts, command=command, about=f"{name}-"))
        figures |= {f"{name}-{figure}": plain(drawn[figure]) for figure in drawn}
        out.mkdir(exist_ok=True)
        file = out / f"pythia-{name}.html"
        file.write_text(page(parts, drawn, command=command), encoding="utf-8")
        if not as_json:
            console.print(f"With pictures: open {file}\n")
    if as_json:
        typer.echo(json.dumps(said, ensure_ascii=False))
    if report is not None:
        save_report(report, "\n".join(pages), figures)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The command's options."""

    own: list[str] | None
    store: Path
    collect: bool
    data: Path | None
    trials: int
    seed: int
    workers: int | None
    deployed: int
    reference: Path | None
    settings: bool
    quick: bool


def _experiment(task: str, asked: _Asked) -> tuple[Experiment, list[Deployed], list[Section], dict[str, Any]]:
    from jostle_bench.pythia import experiments, report
    from jostle_bench.pythia.numbers import numbers as in_numbers

    found = experiments.experiment(_table(task, asked), named=asked.own, seed=asked.seed)
    checked = _deployed(found, asked) if asked.deployed else []
    beside = _beside_authors(found, asked)
    variants = list(found.variants()) if asked.settings else []
    parts = report.sections(found, deployed=checked, beside=beside, variants=variants, trials=asked.trials)
    numbers = in_numbers(found, deployed=checked, beside=beside, variants=variants)
    return found, checked, parts, numbers


def _table(task: str, asked: _Asked) -> ErrorTable:
    """The table of the task, from the store; what is missing is measured first, if that is wanted."""
    from jostle.choice import delphi
    from jostle.cli import running
    from jostle.simulate import grid, measure
    from jostle.simulate.results import Results

    own = asked.own if asked.own is not None else (["OPT-nonnegative"] if asked.quick else grid.options(task))
    names = delphi.candidates(task, [*grid.suite(task), *own])
    sides, exponents = (grid.SIDES[task][1:3], (6, 12, 18)) if asked.quick else (None, None)
    cells = delphi.inputs(task, asked.data, sides=sides, exponents=exponents)
    todo = measure.jobs(cells, names, trials=asked.trials, seed=asked.seed)
    if not asked.collect:  # not closed: what was only read is left as it is
        return delphi.table_of(task, cells, names, todo, Results(asked.store))
    with Results(asked.store) as results:
        failed = running.run(todo, results, workers=asked.workers).failed
        running.say_failures(failed, Console(stderr=True, highlight=False))
        broken = {one.algorithm for one in failed}
        return delphi.table_of(task, cells, names, todo, results).only(*(name for name in names if name not in broken))


def _deployed(found: Experiment, asked: _Asked) -> list[Deployed]:
    """Run Pythia, ours and the paper's, under a bar."""
    from jostle.cli import running
    from jostle_bench.pythia import deployed
    from jostle_bench.pythia.experiments import OURS

    checked = []
    for way in (OURS, found.as_published):
        todo = deployed.works(found, way, inputs=asked.deployed, trials=asked.trials)
        done = deployed.runs(todo, workers=running.processes(asked.workers))
        ran = gather(done, len(todo), f"running {way.name}")
        checked.append(deployed.Deployed(way=way, runs=sorted(ran, key=lambda one: one.row), trials=asked.trials))
    return checked


def _beside_authors(found: Experiment, asked: _Asked) -> list[Beside]:
    """Run Pythia on the inputs of the reference, if there is one, under a bar."""
    if asked.reference is None:
        return []
    from jostle.cli import running
    from jostle_bench import reference
    from jostle_bench.pythia import beside_authors

    todo = beside_authors.works(found, reference.read(asked.reference), trials=asked.trials)
    done = beside_authors.runs(todo, workers=running.processes(asked.workers))
    return sorted(gather(done, len(todo), "beside the authors"), key=lambda one: one.cell.key)


def _command(task: str | None, options: str | None, trials: int | None, seed: int, deployed: int, **flags: bool) -> str:
    """The command that makes the same report.

    >>> _command("range-1d", None, None, 3, 60, settings=False, collect=False, quick=True)
    'jostle bench pythia --task range-1d --seed 3 --no-collect --quick'
    """
    words = ["jostle bench pythia"]
    words += [f"--task {task}"] if task else []
    words += [f"--options {options}"] if options is not None else []
    words += [f"--trials {trials}"] if trials is not None else []
    words += [f"--seed {seed}"] if seed else []
    words += [f"--deployed {deployed}"] if deployed != 60 else []
    words += ["--no-collect"] if not flags["collect"] else []
    return " ".join([*words, *(f"--{name}" for name in ("settings", "quick") if flags[name])])
