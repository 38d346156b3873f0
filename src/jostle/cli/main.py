"""`jostle`: the commands, and how their errors reach a person or a script."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import jostle
from jostle.cli.options import Command, Group
from jostle.kernel.errors import BadInput, JostleError

if TYPE_CHECKING:
    app: typer.Typer
    """All commands."""

COMMANDS: Final = (
    *("demo", "schema", "release", "check-bounds", "synthesize", "budget", "claim"),
    *("classify", "predict", "regress", "run", "audit", "train", "explore", "bench"),
)
"""In the order of `jostle --help`. Each is in the module of its name, with _ in place of -."""


def with_commands(*names: str) -> typer.Typer:
    """The command line with only these commands: inspecting the options of all takes longer than many answers."""
    made = typer.Typer(
        name="jostle",
        cls=Group,
        no_args_is_help=True,
        rich_markup_mode="markdown",  # paragraphs of a docstring are set anew for the terminal
        pretty_exceptions_enable=False,  # a traceback with local variables would show private data
        add_completion=False,
    )
    made.callback()(_options)
    for name in names:
        module = name.replace("-", "_")
        command = getattr(import_module(f"jostle.cli.{module}"), module)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name, cls=Command)(command)
    return made


def __getattr__(name: str) -> object:
    """Make the command line with all commands when it is first used (PEP 562)."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault("app", with_commands(*COMMANDS))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"jostle {jostle.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only results and errors.")] = False,
    use: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that registers your own algorithms; may be repeated.", show_default=False),
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
    """Import a file under its own name, as a script next to it would, so that worker processes find it too."""
    if file.suffix != ".py" or not file.is_file():
        raise BadInput("use", f"{file} is not a readable Python file", "name a file that registers algorithms")
    sys.path.append(str(file.resolve().parent))
    found = import_module(file.stem)
    if found.__file__ is None or Path(found.__file__).resolve() != file.resolve():
        raise BadInput("use", f"another module has the name {file.stem}", "rename the file")


def main() -> None:
    """Run the command. A refusal ends with a status and one message on standard error, without a traceback."""
    _print_anything()
    try:
        with_commands(*_commands_to_load(sys.argv[1:]))()
    except JostleError as refused:
        from rich.console import Console
        from rich.markup import escape

        from jostle.cli.terminal import exit_code

        console = Console(stderr=True, highlight=False)
        console.print(f"[red]jostle:[/] {escape(str(refused))}", soft_wrap=not console.is_terminal)
        sys.exit(exit_code(refused))


def _commands_to_load(arguments: Sequence[str]) -> Sequence[str]:
    """The first command after --quiet; all commands if it is not plain which one is meant.

    >>> _commands_to_load(["-q", "release", "people.csv"]), _commands_to_load(["--use", "release", "demo"]) == COMMANDS
    (['release'], True)
    """
    first = next((word for word in arguments if word not in ("--quiet", "-q")), None)
    return [first] if first in COMMANDS else COMMANDS


def _print_anything() -> None:
    """Escape letters that a terminal or a pipe cannot encode, as JSON does: no paid answer is lost because of an ε."""
    codecs.register_error("as in JSON", _as_in_json)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="as in JSON")


def _as_in_json(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
