"""What commands share at the terminal: lists with commas, checks of files, exit codes, and a spinner."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jostle.kernel.errors import BadInput, InternalError, JostleError, LedgerError, Overdraft, PlanError

if TYPE_CHECKING:
    from rich.progress import Progress

Format = Literal["text", "csv", "json"]
"""What is printed."""

FAULT, REFUSED, OVERDRAFT, FAILED, UNWRITTEN, STOPPED = 1, 2, 3, 4, 5, 130
"""Exit codes: a fault in a program, a refused request, not enough budget, something cannot be reached, a release was charged
but could not be shown or written completely, the command was stopped."""


def words(text: str) -> list[str]:
    """The parts of a list with commas.

    >>> words("HB, DAWA,")
    ['HB', 'DAWA']
    """
    return [word.strip() for word in text.split(",") if word.strip()]


def all_words(text: str) -> list[str]:
    """The parts of a list with commas, empty ones included: each stands for a column.

    >>> all_words("age,, sex")
    ['age', '', 'sex']
    """
    return [word.strip() for word in text.split(",")]


def tab_or(delimiter: str | None) -> str | None:
    r"""A delimiter as it was typed: a tab is hard to type, and is also written as backslash and t.

    >>> tab_or(r"\t"), tab_or(";")
    ('\t', ';')
    """
    return "\t" if delimiter == r"\t" else delimiter


def say(text: str, *, err: bool = False) -> None:
    """Print for people: on a terminal, sentences are broken between words. Tables and pipes get lines as they are."""
    import typer

    typer.echo(broken(text, _width(sys.stderr if err else sys.stdout)), err=err)


def broken(text: str, width: int | None) -> str:
    r"""Sentences in lines of at most this width; lines of tables, which have two blanks in them, stay whole.

    >>> print(broken("A sentence of six words.\n\nward  a long count", 10))
    A sentence
    of six
    words.
    <BLANKLINE>
    ward  a long count
    """
    if width is None:
        return text
    lines = (textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join(
        whole if "  " in whole else "\n".join(parts) for whole, parts in zip(text.split("\n"), lines, strict=True)
    )


def _width(stream: Any) -> int | None:
    """The width of a terminal; None for a file or a pipe."""
    try:
        return shutil.get_terminal_size().columns if stream.isatty() else None
    except (AttributeError, ValueError):  # there is no such stream, or it was closed
        return None


def check_writable(option: str, path: Path) -> None:
    """Raise, before anything is charged, unless a file can be written there."""
    folder = path.absolute().parent
    if not folder.is_dir() or path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise BadInput(option, f"{path} cannot be written", "name a file in a folder that exists and that you may write to")


def check_apart(option: str, path: Path, others: Mapping[str, str | Path | None]) -> None:
    """Raise, before anything is charged, if a file to be written is also what another option names.

    >>> check_apart("out", Path("people.csv"), {"schema": None, "data": "../" + Path.cwd().name + "/people.csv"})
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: out: people.csv is the data as well, and would be written over. Remedy: name another file.
    """
    for what, other in others.items():
        if other is not None and _same_file(path, other):
            named = f"the {what}" if what == "data" else f"--{what}"
            raise BadInput(option, f"{path} is {named} as well, and would be written over", "name another file")


def _same_file(one: str | Path, other: str | Path) -> bool:
    """Whether both lead to the same file, also through a link. Never raises."""
    with suppress(OSError):
        return os.path.samefile(one, other)  # noqa: PTH121  # the same for texts, which may be URLs
    return os.path.realpath(one) == os.path.realpath(other)


def exit_code(failure: JostleError) -> int:
    """The exit code for a failure, so that a script can act on its kind."""
    from jostle.tables.run_in_engine import EngineError  # loaded only when something failed

    if isinstance(failure, Overdraft):
        return OVERDRAFT
    if isinstance(failure, (InternalError, PlanError)):
        return FAULT
    return FAILED if isinstance(failure, (EngineError, LedgerError)) else REFUSED


class Working:
    """A spinner that says what is being done, and for how long. Without a terminal, it says nothing."""

    def __init__(self) -> None:
        self._bar = _spinner() if _may_be_watched() else None
        self._task: Any = None

    def __enter__(self) -> Working:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self._bar is not None:  # stopping what was not started prints an empty line
            self._bar.stop()

    def on(self, what: str) -> None:
        if self._bar is None:
            return
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(f"{what} …")


def _may_be_watched() -> bool:
    """Whether standard error may be a terminal. If not, Rich need not be loaded to find that out."""
    forced = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")  # Rich reads these too
    return sys.stderr is not None and (sys.stderr.isatty() or any(name in os.environ for name in forced))


def _spinner() -> Progress | None:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True) if console.is_terminal else None
