"""`jostle bench`, where its package is installed: it is found by its entry point when one of its commands is called."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import entry_points
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

from jostle.kernel.errors import BadInput

ENTRY_POINTS: Final = "jostle.commands"
"""The group of entry points under which other packages add a command."""


class Installed(TyperGroup):
    """The commands that the package of benchmarks has. To look for it takes long, so `jostle --help` does not."""

    @cached_property
    def _found(self) -> TyperGroup:
        found = next(iter(entry_points(group=ENTRY_POINTS, name="bench")), None)
        if found is None:
            remedy = "pip install jostle-bench; in a checkout of jostle, make setup"
            raise BadInput("bench", "benchmarks are a package of their own, which is not installed", remedy)
        return get_group(found.load())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words after `bench`. Where the package is missing, nothing is printed before that is said."""
        _ = self._found
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return self._found.list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._found.get_command(ctx, cmd_name)


bench = typer.Typer(cls=Installed, help="Measure jostle on this machine.", no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure jostle on this machine."""
