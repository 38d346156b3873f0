"""`jostle bench`: how fast and how accurate, on the machine at hand. jostle's command line finds it by its entry point."""

from __future__ import annotations

import typer

from jostle.cli.options import Command, Group
from jostle_bench.commands.coverage import coverage
from jostle_bench.commands.documents import documents
from jostle_bench.commands.kernel import kernel
from jostle_bench.commands.learn import learn
from jostle_bench.commands.mechanisms import mechanisms
from jostle_bench.commands.memory import memory
from jostle_bench.commands.peers import peers
from jostle_bench.commands.pythia import pythia
from jostle_bench.commands.reference import reference
from jostle_bench.commands.small import small
from jostle_bench.commands.speed import speed
from jostle_bench.commands.synthetic import synthetic
from jostle_bench.commands.tables import tables

bench = typer.Typer(cls=Group, help="Measure jostle on this machine.", no_args_is_help=True)
for _command in (
    coverage,
    documents,
    learn,
    mechanisms,
    memory,
    peers,
    pythia,
    reference,
    small,
    speed,
    synthetic,
    tables,
    kernel,
):
    bench.command(cls=Command)(_command)


@bench.callback()
def _group() -> None:
    """Measure jostle on this machine."""
