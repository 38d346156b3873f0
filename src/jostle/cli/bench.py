"""`jostle bench`, if its package is installed. Its entry point is looked up when one of its commands is called."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import entry_points
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

from jostle.kernel.errors import BadInput

ENTRY_POINTS: Final = "jostle.commands"
"""The group of entry points for commands of other packages."""


class InstalledCommands(TyperGroup):
    """The commands of the package of benchmarks. The look-up is slow, so `jostle --help` does without."""

    @cached_property
    def _found(self) -> TyperGroup:
        found = next(iter(entry_points(group=ENTRY_POINTS, name="bench")), None)
        if found is None:
            remedy = "pip install jostle-bench; in a checkout of jostle, make setup"
            raise BadInput("bench", "the package of benchmarks is not installed", remedy)
        return get_group(found.load())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse first, before any help is printed, if the package is missing."""
        _ = self._found
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return self._found.list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._found.get_command(ctx, cmd_name)


bench = typer.Typer(cls=InstalledCommands, help="Measure jostle on this machine.", no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure jostle on this machine."""
