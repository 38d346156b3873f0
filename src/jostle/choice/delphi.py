"""Delphi: the errors of many options on many public inputs, from which selectors are trained (Sections 5.2 and 6).

Privacy: nothing here is private. Training looks only at public data, and refuses what might be private: it takes histograms
as plain numbers, never a table, a source or a release, and none under a name that a ledger keeps an account for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from jostle import algorithms, plots
from jostle.datasets.shapes import data_folder
from jostle.kernel.arguments import whole
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.partition import Counts, Vector
from jostle.simulate import grid, measure
from jostle.simulate.grid import GridCell
from jostle.simulate.parallel import cores
from jostle.simulate.results import MeasuredError, Results

TRIALS: Final = 20
"""The paper's number of runs of an option on an input."""

_LEAST: Final = 1e-12
"""Added to every error, so that an error of 0 has multiples."""

Shapes = Mapping[str, Any] | str | Path | None


@dataclass(kw_only=True, eq=False)
class ErrorTable:
    """What every option costs on every input of a task.

    >>> toy = {"flat": np.ones(64, dtype=int), "steep": np.arange(64) ** 3}
    >>> table = collect("range-1d", ["Laplace", "Uniform"], shapes=toy, sides=[32], exponents=[6, 12], trials=2, workers=1)
    >>> table
    <range-1d: 8 inputs × 2 options, all measured>
    >>> table.regrets().min(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    task: str
    """The task, "range-1d" or "range-2d"."""

    inputs: list[GridCell]
    """The inputs, each with its data set, domain, scale and workload."""

    options: list[str]
    errors: Vector
    """Mean L2 errors: inputs × options; NaN where there is no measurement."""

    stderrs: Vector
    """The standard error of each mean."""

    seconds: Vector
    """Processor time per run."""

    @classmethod
    def of(cls, task: str, inputs: Sequence[GridCell], options: Sequence[str], measured: Iterable[MeasuredError]) -> Self:
        """Put measurements in their places; those of other inputs or options are left out."""
        rows = {cell.key: row for row, cell in enumerate(inputs)}
        columns = {name: column for column, name in enumerate(options)}
        tables = np.full((3, len(inputs), len(options)), np.nan)
        for one in measured:
            if one.cell in rows and one.algorithm in columns:
                tables[:, rows[one.cell], columns[one.algorithm]] = one.mean, one.stderr, one.seconds
        errors, stderrs, seconds = tables
        return cls(task=task, inputs=list(inputs), options=list(options), errors=errors, stderrs=stderrs, seconds=seconds)

    def __repr__(self) -> str:
        missing = int(np.isnan(self.errors).sum())
        return (
            f"<{self.task}: {len(self.inputs):,} inputs × {len(self.options)} options, "
            f"{f'{missing:,} not measured' if missing else 'all measured'}>"
        )

    def plot(self) -> Any:
        """A Plotly figure: each option's regrets over the inputs on which all were measured."""
        return plots.shares(self.options, self.complete().regrets(), title=f"Regret for {self.task}", y="regret")

    def _repr_html_(self) -> str:
        means = np.nanmean(self.complete().regrets(), axis=0)
        ranked = sorted(zip(means, self.options, strict=True))
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{mean:.3g}</td></tr>" for mean, name in ranked)
        return f"<p>{escape(repr(self))}</p><table><tr><th>option</th><th>mean regret</th></tr>{rows}</table>"

    @property
    def datasets(self) -> list[str]:
        """The data sets, each once."""
        return list(dict.fromkeys(cell.dataset for cell in self.inputs))

    def regrets(self, against: Sequence[str] | None = None) -> Vector:
        """Every error over the least error of these options, by default of all, on the same input.

        NaN where the option, or one of those that it is compared with, was not measured.
        """
        best = self._columns(self.options if against is None else against, self.errors).min(axis=1, initial=np.inf)
        return np.asarray((self.errors + _LEAST) / (best + _LEAST)[:, None])

    def features(self, *names: str) -> Vector:
        """True features of the inputs, in the order of the names: inputs × features. They are public, as the inputs are."""
        from jostle.choice.training import exact_features

        return exact_features(self.inputs, names)

    def where(self, chosen: Any) -> Self:
        """The table of some inputs: a truth value for each."""
        rows = np.asarray(chosen, dtype=bool)
        parts: dict[str, Any] = {name: getattr(self, name)[rows] for name in ("errors", "stderrs", "seconds")}
        return replace(self, inputs=[cell for cell, kept in zip(self.inputs, rows, strict=True) if kept], **parts)

    def complete(self) -> Self:
        """The table of the inputs on which every option was measured."""
        return self.where(np.isfinite(self.errors).all(axis=1))

    def only(self, *options: str) -> Self:
        """The table of some options."""
        parts: dict[str, Any] = {
            name: self._columns(options, getattr(self, name)) for name in ("errors", "stderrs", "seconds")
        }
        return replace(self, options=list(options), **parts)

    def leave_one_out(self) -> Iterator[tuple[str, Self, Self]]:
        """For each data set its name, the table of all others to train on, and its own to be judged by (Section 8.2)."""
        for dataset in self.datasets:
            held = np.array([cell.dataset == dataset for cell in self.inputs])
            yield dataset, self.where(~held), self.where(held)

    def _columns(self, names: Sequence[str], values: Vector) -> Vector:
        for name in names:
            if name not in self.options:
                raise BadInput("options", f"{name!r} is not in the table", f"use some of {', '.join(self.options)}")
        return values[:, [self.options.index(name) for name in names]]


def inputs(
    task: str,
    shapes: Shapes = None,
    *,
    sides: Sequence[int] | None = None,
    exponents: Sequence[int] | None = None,
    ledger: Ledger | None = None,
    in_rho: bool = False,
) -> list[GridCell]:
    """The training inputs of a task: public shapes × domain sizes × scales × workloads, at ε = 1, or at ρ = 1/4.

    `shapes` is a folder of public data, by default the one that JOSTLE_DATA names, or counts by name. The domains and scales
    are by default those of the paper: `sides` in cells per axis, scales as `exponents` of two. With a ledger, a name that it
    has an account for is refused.
    """
    if task not in grid.WORKLOADS:
        raise BadInput("task", f"{task!r} is unknown", f"use one of {', '.join(grid.WORKLOADS)}")
    _check_numbers("sides", sides, 2, 2**20)
    _check_numbers("exponents", exponents, 0, 40)
    if shapes is None or isinstance(shapes, (str, Path)):
        found = grid.cells(task, data_folder(shapes).resolve(), sides=sides, exponents=exponents, in_rho=in_rho)
    else:
        found = grid.cells(task, public(task, shapes), sides=sides, exponents=exponents, in_rho=in_rho)
    private = {account.name for account in ledger.accounts()} if ledger is not None else set()
    for name in dict.fromkeys(cell.dataset for cell in found):
        if name in private:
            raise BadInput("shapes", f"the ledger keeps an account for {name}: it is private", "train only on public data")
    return found


def public(task: str, shapes: object) -> dict[str, Counts]:
    """The shapes as arrays, if they are public histograms for the task: plain numbers, and nothing that holds data.

    >>> public("range-1d", {"steps": [3, 3, 1, 1]})["steps"].tolist()
    [3, 3, 1, 1]
    """
    remedy = 'pass public histograms by name: {"HEPTH": counts}, or the folder of their files'
    if not isinstance(shapes, Mapping) or not shapes:
        raise BadInput("shapes", f"training takes no {type(shapes).__name__}", remedy)
    return {str(name): _public(task, str(name), shape, remedy) for name, shape in shapes.items()}


def _public(task: str, name: str, shape: object, remedy: str) -> Counts:
    # By what it is, not by what it can be turned into: many a private table would let itself be turned into an array.
    if type(shape) not in (np.ndarray, list, tuple):
        raise BadInput("shapes", f"{name} is of type {type(shape).__name__}, which may be private", remedy)
    counts = np.asarray(shape)
    if counts.size and counts.dtype.kind == "f":
        raise BadInput("shapes", f"{name} holds fractions", "pass whole counts: np.rint(counts).astype(int)")
    if counts.dtype.kind not in "iu" or counts.ndim != algorithms.TASKS[task] or counts.size == 0 or counts.min() < 0:
        raise BadInput("shapes", f"{name} is no histogram in {algorithms.TASKS[task]} dimensions", remedy)
    return counts.astype(np.int64)


def collect(
    task: str,
    options: Sequence[str] | None = None,
    *,
    shapes: Shapes = None,
    sides: Sequence[int] | None = None,
    exponents: Sequence[int] | None = None,
    trials: int = TRIALS,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    store: str | Path | None = None,
    ledger: Ledger | None = None,
) -> ErrorTable:
    """Measure the table of a task; errors that are in the store are taken from there, and new ones are kept there.

    By default, all registered algorithms for the task are measured. Runs go to worker processes, by default one per core, or
    to a Dask cluster ("tcp://host:8786", or "local:2" for a cluster of two processes on this machine).
    """
    cells = inputs(task, shapes, sides=sides, exponents=exponents, ledger=ledger)
    names = candidates(task, options)
    todo = measure.jobs(cells, names, trials=trials, seed=seed)
    processes = cores() if workers is None else workers
    with (
        Results(None if store is None else Path(store)) as results,
        closing(measure.run(todo, results, workers=processes, cluster=cluster)) as outcomes,
    ):
        for outcome in outcomes:
            if isinstance(outcome, measure.FailedJob):
                raise BadInput(
                    "options",
                    f"{outcome.algorithm} failed on {outcome.cell}: {outcome.reason}",
                    "leave it out, or repair it",
                )
        return table_of(task, cells, names, todo, results)


def table_of(
    task: str, cells: Sequence[GridCell], options: Sequence[str], todo: Iterable[measure.MeasurementJob], results: Results
) -> ErrorTable:
    """The table of what the results say about these jobs."""
    found = (one for job in todo if (one := results.get(job.key)) is not None)
    return ErrorTable.of(task, cells, options, found)


def candidates(task: str, options: Sequence[str] | None = None) -> list[str]:
    """The options to measure: those named, if they are for the task, by default all but those that choose themselves."""
    known = [name for name in algorithms.names(task) if not algorithms.get(name).choosing]
    for name in options or []:
        if name not in known:
            raise BadInput("options", f"{name!r} is no option for {task}", f"use some of {', '.join(known)}")
    return list(dict.fromkeys(options or known))


def _check_numbers(argument: str, numbers: Sequence[int] | None, least: int, most: int) -> None:
    if numbers is None:
        return
    if not numbers or any(whole(n) is None for n in numbers):
        raise BadInput(argument, "must be whole numbers, one at least", f"pass for instance {argument}=[128, 256]")
    if min(numbers) < least or max(numbers) > most or len(set(numbers)) < len(numbers):
        raise BadInput(argument, f"must be different numbers from {least} to {most}", "leave it out for the paper's")
