"""`jostle bench reference`: how accurate the algorithms are, beside a reference or on the paper's grid."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli.terminal import words
from jostle_bench.reports.terminal import new_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jostle.simulate.measure import Cell, FailedJob
    from jostle.simulate.results import MeasuredError, Results
    from jostle_bench.grid_report import GridReport, Line
    from jostle_bench.reference import Comparison

TASKS = ("range-1d", "range-2d")


def reference(
    folder: Annotated[
        Path | None, typer.Option("--reference", help="The folder of the reference; else JOSTLE_REFERENCE names it.")
    ] = None,
    algorithms: Annotated[str | None, typer.Option(help="Only these, for instance HB,AHP.")] = None,
    task: Annotated[str | None, typer.Option(help="Only range-1d or range-2d.")] = None,
    trials: Annotated[int | None, typer.Option(help="Runs an input: 40, or 20 on the paper's grid.")] = None,
    neighbours: Annotated[str, typer.Option(help="add_remove or replace.")] = "add_remove",
    sample: Annotated[int | None, typer.Option(help="Number of inputs per task, taken at random.")] = None,
    grid: Annotated[str | None, typer.Option(help="'paper': the Pythia paper's grid instead, from JOSTLE_DATA.")] = None,
    drawn: Annotated[bool, typer.Option(help="On the grid, draw records from a shape in place of scaling it up.")] = False,
    seed: Annotated[int, typer.Option(help="Of the sample and of all noise.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Processes; by default one per core.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="A Dask cluster in place of this machine's cores: tcp://host:8786, or local:2.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The folder of results; the picture goes beside it as .html.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin again: forget all results in the folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False,
) -> None:
    """How accurate: ours beside errors of the original authors' code, or beside the paper's suite (--grid paper).

    Stop it whenever you like: the same command goes on where it was stopped.
    """
    from jostle.kernel.errors import BadInput
    from jostle.simulate.results import Results

    if grid not in (None, "paper"):
        raise BadInput("grid", f"{grid!r} is unknown", "leave it out, or use paper")
    if task not in (None, *TASKS):
        raise BadInput("task", f"{task!r} is unknown", f"use one of {', '.join(TASKS)}")
    kept = out or Path("jostle-grid" if grid else "jostle-reference")
    if fresh and kept.exists():
        Results(kept).remove()  # refuses anything but results
    names = words(algorithms) if algorithms else None
    tasks = (task,) if task else TASKS
    with Results(kept) as results:
        bench = _Bench(results, trials or (20 if grid else 40), seed, neighbours, workers, cluster, sample, names, as_json)
        if grid:
            bench.on_the_grid(tasks, drawn)
        else:
            bench.beside(folder, tasks)


class _Bench:
    """One call of the command."""

    def __init__(
        self,
        results: Results,
        trials: int,
        seed: int,
        neighbours: str,
        workers: int | None,
        cluster: str | None,
        sample: int | None,
        names: list[str] | None,
        as_json: bool,
    ) -> None:
        self.results, self.trials, self.seed, self.neighbours = results, trials, seed, neighbours
        self.workers, self.cluster, self.sample, self.names, self.as_json = workers, cluster, sample, names, as_json
        self.console = Console(highlight=False)

    def beside(self, folder: Path | None, tasks: Sequence[str]) -> None:
        """Ours beside the reference."""
        from jostle.kernel.errors import BadInput
        from jostle_bench import reference as ref

        rows = [row for row in ref.read(ref.reference_folder(folder)) if row.cell.task in tasks]
        names = ref.comparable(rows)
        for name in self.names or []:
            if name not in names:
                raise BadInput(
                    "algorithms", f"the reference has no {name}, or we have not", f"use some of {', '.join(names)}"
                )
        cells = [cell for task in tasks for cell in ref.sample(ref.inputs(rows, task=task), self.sample, seed=self.seed)]
        found, failed = self._measure(cells, self.names or names)
        compared = ref.compare(rows, found)
        if self.as_json:
            self._say({"comparisons": [_comparison(one) for one in compared]}, failed, not_here=ref.missing(rows))
            return
        self.console.print(_ratios(compared, len(cells), self.trials, self.neighbours), "", _worst(compared))
        if ref.missing(rows):
            self.console.print(f"\nIn the reference and not here: {', '.join(ref.missing(rows))}.")
        self._end(failed)
        self._picture(
            "Error beside the original authors' code (1: the same)",
            {f"{c.algorithm} {c.task[-2:]}": _by_group(c) for c in compared},
        )

    def on_the_grid(self, tasks: Sequence[str], drawn: bool) -> None:
        """Our options beside the suite, on the paper's grid."""
        from jostle.datasets.shapes import data_folder
        from jostle.simulate import grid
        from jostle_bench import reference as ref
        from jostle_bench.grid_report import report

        folder = data_folder().resolve()
        cells: list[grid.GridCell] = []
        for task in tasks:
            cells += ref.sample(grid.cells(task, folder, sampled=drawn), self.sample, seed=self.seed)
        names = {task: grid.suite(task) + self._own(grid.options(task)) for task in tasks}
        found, failed = self._measure(cells, list(dict.fromkeys(name for task in tasks for name in names[task])))
        broken = {one.algorithm for one in failed}
        reports = [
            made
            for task in tasks
            if (made := report(task, cells, [name for name in names[task] if name not in broken], found)) is not None
        ]
        missing = sorted(
            {name for task in tasks for name in grid.SUITE[task]} - {name for task in tasks for name in names[task]}
        )
        if self.as_json:
            self._say({"grid": [_report(one) for one in reports]}, failed, not_here=missing)
            return
        for one in reports:
            self.console.print(_grid_table(one, self.trials), "")
        if missing:
            self.console.print(f"Of the suite and not here: {', '.join(missing)}.")
        self._end(failed)
        self._picture(
            "Error over the best of the suite (below 1: better than any of it)",
            {f"{name} {one.task[-2:]}": kinds for one in reports for name, kinds in one.ratios.items()},
        )

    def _own(self, options: list[str]) -> list[str]:
        from jostle import algorithms

        for name in self.names or []:
            algorithms.get(name)
        return [name for name in options if self.names is None or name in self.names]

    def _measure(self, cells: Sequence[Cell], names: Sequence[str]) -> tuple[list[MeasuredError], list[FailedJob]]:
        from jostle.cli import running
        from jostle.simulate import measure

        todo = measure.jobs(cells, names, trials=self.trials, seed=self.seed, neighbours=self.neighbours)
        failed = running.run(todo, self.results, workers=self.workers, cluster=self.cluster).failed
        return [one for job in todo if (one := self.results.get(job.key)) is not None], failed

    def _say(self, found: dict[str, Any], failed: list[FailedJob], *, not_here: list[str]) -> None:
        about = {
            "trials": self.trials,
            "seed": self.seed,
            "neighbours": self.neighbours,
            "results": str(self.results.folder),
        }
        problems = [{"algorithm": one.algorithm, "cell": one.cell, "reason": one.reason} for one in failed]
        typer.echo(json.dumps(about | found | {"not_here": not_here, "failed": problems}, ensure_ascii=False))

    def _end(self, failed: list[FailedJob]) -> None:
        from jostle.cli import running

        running.say_failures(failed, self.console)

    def _picture(self, title: str, ratios: dict[str, dict[str, list[float]]]) -> None:
        if self.results.folder is None or not ratios:
            return
        from jostle import plots

        figure = plots.new(title, y="ratio", log_y=True)
        for kind in dict.fromkeys(kind for kinds in ratios.values() for kind in kinds):
            shown = [(name, value) for name, kinds in ratios.items() for value in kinds.get(kind, [])]
            figure.add_box(
                x=[name for name, _ in shown], y=[value for _, value in shown], name=kind, boxpoints="all", jitter=0.4
            )
        figure.add_hline(y=1, line_dash="dot")
        file = self.results.folder.with_name(f"{self.results.folder.name}.html")
        plots.save(figure.update_layout(boxmode="group"), file)
        self.console.print(f"\nEvery result: {self.results.folder}. The picture: open {file}")


# ------------------------------------------------------------------------------------------------------------ tables


def _ratios(compared: list[Comparison], cells: int, trials: int, neighbours: str) -> Table:
    title = f"Ours over the reference's error, {cells} inputs, {trials} runs each, neighbours {neighbours} (geometric means)"
    headings = ("algorithm", "task", "inputs", "ratio", "least", "for", "most", "for ", "sure > 1.10", "")
    table = new_table(title, headings, left=("algorithm", "task", "for", "for ", ""))
    for one in compared:
        (low_kind, low), *_ = ranked = sorted(one.groups.items(), key=lambda pair: pair[1])
        high_kind, high = ranked[-1]
        table.add_row(
            one.algorithm,
            one.task,
            str(len(one.ratios)),
            f"{one.mean:.3f}",
            f"{low:.2f}",
            _kind(low_kind),
            f"{high:.2f}",
            _kind(high_kind),
            str(one.beyond_doubt),
            _verdict(one),
        )
    return table


def _verdict(one: Comparison) -> str:
    if not one.is_target:
        return "no target: the reference is not private"
    return "as accurate" if one.as_accurate else "[red]short of it[/]"


def _worst(compared: list[Comparison]) -> Table:
    headings = ("algorithm", "input", "ratio", "ours", "±", "theirs", "± ", "z", "surely > 1.10")
    table = new_table(
        "The worst input of each, with standard errors (z: of the gap to 1.10 times theirs)",
        headings,
        left=("algorithm", "input"),
    )
    for one in compared:
        worst = one.worst
        table.add_row(
            one.algorithm,
            worst.cell.key,
            f"{worst.value:.2f}",
            f"{worst.ours.mean:.4g}",
            f"{worst.ours.stderr:.2g}",
            f"{worst.theirs.mean:.4g}",
            f"{worst.theirs.stderr:.2g}",
            f"{worst.z:.1f}",
            "yes" if worst.beyond_doubt else "no",
        )
    return table


def _kind(kind: tuple[str, float]) -> str:
    return f"{kind[0]} ε={kind[1]:g}"


def _by_group(one: Comparison) -> dict[str, list[float]]:
    return {
        _kind(kind): [ratio.value for ratio in one.ratios if (ratio.cell.queries, ratio.cell.epsilon) == kind]
        for kind in one.groups
    }


def _grid_table(one: GridReport, trials: int) -> Table:
    counted = ", ".join(f"{number} {kind}" for kind, number in one.inputs.items())
    title = (
        f"{one.task}: mean of error over the best of the suite, ± its standard error ({counted} inputs, {trials} runs each)"
    )
    table = new_table(title, ("", *one.inputs, "worst"), left=("",))
    sections = (("one of the suite for all inputs", one.suite), ("one of our own for all inputs", one.options))
    for heading, lines in (*sections, ("one for each workload and domain", one.chosen)):
        if lines:
            table.add_row(f"[italic]{heading}[/]")
        for line in lines if lines is one.chosen else sorted(lines, key=_average):
            shown = [_mean(line.means[kind], line.errors[kind]) if kind in line.means else "–" for kind in one.inputs]
            table.add_row(f"  {line.name}", *shown, f"{line.worst:.3g}" if line.worst < 1000 else f"{line.worst:,.0f}")
    return table


def _mean(mean: float, error: float) -> str:
    """A mean and its standard error.

    >>> _mean(0.7629, 0.0281), _mean(1348.9, 673.2), _mean(1.5, float("nan"))
    ('0.763 ±0.028', '1,349 ±673', '1.500')
    """
    shown = f"{mean:.3f}" if mean < 100 else f"{mean:,.0f}"
    if not isfinite(error):
        return shown
    return f"{shown} ±{error:.2g}" if error < 10 else f"{shown} ±{error:,.0f}"


def _average(line: Line) -> float:
    return sum(line.means.values()) / max(1, len(line.means))


# -------------------------------------------------------------------------------------------------------- for scripts


def _comparison(one: Comparison) -> dict[str, Any]:
    worst = one.worst
    return {
        "algorithm": one.algorithm,
        "task": one.task,
        "target": one.is_target,
        "as_accurate": one.as_accurate,
        "inputs": len(one.ratios),
        "ratio": one.mean,
        "groups": [{"workload": kind[0], "epsilon": kind[1], "ratio": mean} for kind, mean in one.groups.items()],
        "beyond_doubt": one.beyond_doubt,
        "worst": {
            "cell": worst.cell.key,
            "ratio": worst.value,
            "z": _finite(worst.z),
            "beyond_doubt": worst.beyond_doubt,
            "ours": {"mean": worst.ours.mean, "stderr": worst.ours.stderr, "trials": worst.ours.trials},
            "theirs": {
                "algorithm": worst.theirs.algorithm,
                "mean": worst.theirs.mean,
                "stderr": worst.theirs.stderr,
                "trials": worst.theirs.trials,
            },
        },
    }


def _report(one: GridReport) -> dict[str, Any]:
    return {
        "task": one.task,
        "inputs": one.inputs,
        "suite": [_numbers(line) for line in one.suite],
        "options": [_numbers(line) for line in one.options],
        "chosen": [_numbers(line) for line in one.chosen],
    }


def _numbers(line: Line) -> dict[str, Any]:
    return {
        "name": line.name,
        "means": line.means,
        "stderrs": {kind: _finite(value) for kind, value in line.errors.items()},
        "worst": _finite(line.worst),
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
