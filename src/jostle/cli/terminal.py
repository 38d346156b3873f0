"""What commands share at the terminal: lists with commas, tables, a spinner, and pages of results."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from jostle.kernel.errors import BadInput, JostleError, LedgerError, Overdraft

Format = Literal["text", "csv", "json"]
"""What is printed."""

REFUSED, OVERDRAFT, FAILED, UNWRITTEN = 2, 3, 4, 5
"""Exit codes: something was asked wrongly, there is not enough budget, something cannot be reached, or a release was charged
and printed, but a file could not be written."""

Row = tuple[str, float, str, str]
"""What was measured, the number, its unit and the goal."""


def words(text: str) -> list[str]:
    """The parts of a list with commas.

    >>> words("HB, DAWA,")
    ['HB', 'DAWA']
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def new_table(title: str, headings: Sequence[str], *, left: Sequence[str]) -> Table:
    """A table without lines. Its columns hold numbers, set to the right, except for those that are named in `left`."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    return table


def show_rows(title: str, rows: Sequence[Row], *, as_json: bool) -> None:
    """Print what was measured beside its goals: as a table, or for a script."""
    if as_json:
        typer.echo(json.dumps([dict(zip(("what", "measured", "unit", "goal"), row, strict=True)) for row in rows]))
        return
    table = new_table(title, ("what", "measured", "", "goal"), left=("what", "", "goal"))
    for what, measured, unit, goal in rows:
        table.add_row(what, f"{measured:.3g}", unit, goal)
    Console().print(table)


def seconds(work: Callable[[], Any], *, repeat: int) -> list[float]:
    """Each run's time, after one that loads what is needed and fills caches."""
    work()
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return taken


def save_report(file: Path, text: str, figures: dict[str, Any]) -> None:
    """Write a page of Markdown, and its figures to a .json file beside it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.with_suffix(".json").write_text(json.dumps(figures, ensure_ascii=False) + "\n", encoding="utf-8")


def check_writable(option: str, path: Path) -> None:
    """Raise, before anything is charged, unless a file can be written there."""
    folder = path.absolute().parent
    if not folder.is_dir() or path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise BadInput(option, f"{path} cannot be written", "name a file in a folder that exists and that you may write to")


def exit_code(failure: JostleError) -> int:
    """A code for each kind of failure that a script may want to act on."""
    from jostle.tables.asking import EngineError  # of use only when something failed

    if isinstance(failure, Overdraft):
        return OVERDRAFT
    return FAILED if isinstance(failure, (EngineError, LedgerError)) else REFUSED


class Working:
    """Says on a terminal what is being done, and for how long; nothing where there is no terminal."""

    def __init__(self) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task: Any = None

    def __enter__(self) -> Working:
        if self._bar.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar.console.is_terminal:  # stopping what was not started prints an empty line
            self._bar.stop()

    def on(self, what: str) -> None:
        """What is done from now on."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(f"{what} …")
