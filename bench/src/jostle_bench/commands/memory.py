"""`jostle bench memory`: how much ε a memory of released answers saves, and what it does to errors."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from jostle_bench.reports.terminal import new_table


def memory(
    seeds: Annotated[
        int, typer.Option(min=1, help="How many random orders of the statements, and how many dashboards.")
    ] = 2,
    only: Annotated[str, typer.Option(help="dashboards, statements or lookup; all of them by default.")] = "",
    show: Annotated[bool, typer.Option("--show", help="Say what each statement cost in the first order.")] = False,
) -> None:
    """Ask dashboards and statements about two public tables, with and without memory: ε, errors, and coverage.

    The tables are Adult and Default of Credit Card Clients in the folder that JOSTLE_DATA names, or made-up ones.
    """
    from jostle_bench import memory as measuring

    console, folder = Console(), measuring.data_folder()
    columns = ("workload", "questions", "ε without", "ε with", "times less", "free", "dearer", "in interval", "error", "±")
    shown = new_table("What a memory saves", columns, left=("workload",))
    for kind in ("dashboards", "statements"):
        for table in (measuring.people(folder), measuring.clients(folder)) if only in ("", kind) else ():
            for number in range(seeds):
                draw = measuring.dashboard if kind == "dashboards" else measuring.statements
                asked = list(draw(table, number))
                without = measuring.without_memory(asked, table)
                found = measuring.replay(asked, table, memory=True, without=without)
                row = (f"{kind} {number + 1}, {table.name}", *measuring.in_words(found, without))
                shown.add_row(*row)
                console.print(" ".join(row), highlight=False)
                if show and not number:
                    for text, spent in sorted(found.each, key=lambda one: -one[1]):
                        console.print(f"{float(spent / measuring.EPSILON):.2f}  {text}", highlight=False)
    if shown.row_count:
        console.print(shown)
    if only in ("", "lookup"):
        seconds, size = measuring.lookup()
        said = f"takes {1000 * seconds:.1f} ms; a measured number takes {size:.2f} bytes."
        console.print(f"A lookup beside 10,000 measurements {said}")
