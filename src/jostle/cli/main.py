"""`jostle`: the commands, and how their errors reach a person or a script."""

from __future__ import annotations

import codecs
import gc
import io
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

import jostle
from jostle.cli.audit import audit
from jostle.cli.bench import bench
from jostle.cli.budget import budget
from jostle.cli.classify import classify
from jostle.cli.demo import demo
from jostle.cli.explore import explore
from jostle.cli.release import release
from jostle.cli.schema import schema
from jostle.cli.terminal import exit_code
from jostle.cli.train import train
from jostle.kernel.errors import BadInput, JostleError

app = typer.Typer(
    name="jostle",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # paragraphs of a docstring are set anew for the terminal
    pretty_exceptions_enable=False,  # a traceback with local variables would show private data
    add_completion=False,
)
app.command()(demo)
app.command()(schema)
app.command()(release)
app.add_typer(budget, name="budget")
app.command()(classify)
app.command()(audit)
app.command()(train)
app.command()(explore)
app.add_typer(bench, name="bench")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"jostle {jostle.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress on the terminal: results and errors alone.")
    ] = False,
    use: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that registers algorithms of your own; can be repeated.", show_default=False),
    ] = None,
) -> None:
    """Differential privacy that picks the right algorithm for you.

    Progress goes to standard error, and only where that is a terminal. For scripts, most commands have --json.
    """
    if quiet:
        os.environ["TTY_INTERACTIVE"] = "0"  # Rich, which draws all bars, then draws none
    for file in use or []:
        _import(file)


def _import(file: Path) -> None:
    """Import a file as a script beside it would: under its own name, so that worker processes find it too."""
    if file.suffix != ".py" or not file.is_file():
        raise BadInput("use", f"{file} is no Python file that can be read", "name a file that registers algorithms")
    sys.path.append(str(file.resolve().parent))
    found = import_module(file.stem)
    if found.__file__ is None or Path(found.__file__).resolve() != file.resolve():
        raise BadInput("use", f"another module is called {file.stem}", "give the file a name of its own")


def main() -> None:
    """Run the command; what jostle refuses ends with a status and one message on standard error, without a traceback."""
    # Loading packages makes a million objects and no garbage. To look for some after every 700 of them, as Python does by
    # itself, is a good part of the way to a first answer; and the process is ours, so that we may tell it otherwise.
    gc.set_threshold(100_000)
    _print_anything()
    try:
        app()
    except JostleError as refused:
        Console(stderr=True, highlight=False).print(f"[red]jostle:[/] {escape(str(refused))}", soft_wrap=True)
        sys.exit(exit_code(refused))


def _print_anything() -> None:
    """Write letters that a terminal or a pipe lacks as JSON does: an answer that was paid for is not lost for an ε."""
    codecs.register_error("as in JSON", _as_in_json)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="as in JSON")


def _as_in_json(error: UnicodeError) -> tuple[str, int]:
    """What to write in place of letters that cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
