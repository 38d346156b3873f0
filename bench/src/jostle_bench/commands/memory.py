"""`jostle bench memory`: how much ε a memory of released answers saves, and what it does to errors."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from jostle_bench.reports.terminal import new_table


def memory(
    seeds: Annotated[int, typer.Option(min=1, help="How many workloads of each kind are drawn.")] = 2,
    questions: Annotated[
        int, typer.Option(min=4, help="How many statements; a dashboard has a quarter, and at most 40.")
    ] = 150,
) -> None:
    """Ask a dashboard's questions and statements with and without memory: ε, errors, and how often intervals hold.

    The table is Adult in the folder that JOSTLE_DATA names, or a made-up one.
    """
    from jostle_bench import memory as measuring

    data, schema = measuring.adult(measuring.data_folder())
    columns = ("workload", "memory", "ε", "questions", "free", "dearer", "in interval", "error", "±")
    shown = new_table("What a memory saves", columns, left=("workload", "memory"))
    for kind, asked in (
        ("dashboard", [measuring.dashboard(data, seed, min(40, questions)) for seed in range(seeds)]),
        ("statements", [measuring.statements(data, seed, questions) for seed in range(seeds)]),
    ):
        for number, workload in enumerate(map(list, asked)):
            for remembers in (False, True):
                found = measuring.run(workload, data, schema, memory=remembers)
                errors = sum(found.errors) / max(len(found.errors), 1)
                widths = sum(found.widths) / max(len(found.widths), 1)
                shown.add_row(
                    f"{kind} {number + 1}",
                    "yes" if remembers else "no",
                    f"{float(found.epsilon):.2f}",
                    str(found.asked),
                    str(found.free),
                    str(found.dearer),
                    f"{100 * sum(found.held) / len(found.held):.1f} %",
                    f"{errors:.1f}",
                    f"{widths:.1f}",
                )
    seconds, size = measuring.lookup()
    console = Console()
    console.print(shown)
    console.print(
        f"A lookup beside 10,000 measurements takes {1000 * seconds:.1f} ms; a measured number takes {size:.2f} bytes."
    )
