"""`jostle demo`: one private release, from beginning to end, on public data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from jostle import plots, simulate, workloads
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.partition import Counts
from jostle.releases import Release, release

WIDTH = 10
CELLS = 512
CAP = 100
"""What the demo's account may spend in all: it is public data, and the demo may be run often."""


def demo(
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("jostle-demo.html"),
    epsilon: Annotated[float, typer.Option(help="The privacy budget of the release.")] = 0.1,
    ledger_file: Annotated[Path, typer.Option("--ledger", help="Where the budget is kept.")] = Path("jostle-demo.db"),
) -> None:
    """Release the distribution of 29,501 people's weekly income, privately, and look at it."""
    from jostle.datasets import weekly_income

    exact(epsilon)
    for target in (out, ledger_file):
        if not target.absolute().parent.is_dir():
            raise BadInput("out", f"the folder of {target} does not exist", "name one that does")
    console = Console(highlight=False)
    income = weekly_income(cells=CELLS, width=WIDTH)
    console.print(
        f"\n[bold]The data[/]: {income.sum():,} people of the census of 2000 and their weekly income, "
        f"{CELLS} cells of ${WIDTH}.\n"
        f"[bold]The question[/]: how many people earn up to so much? That is a prefix workload, asked at ε = {epsilon:g}.\n"
    )
    with Ledger(ledger_file) as ledger:
        account = ledger.account("census", cap=CAP)
        released = release(income, workloads.prefix(CELLS), epsilon=epsilon, account=account, note="demo")
        _answers(console, income, released)
        _comparison(console, income, released)
        console.print("[bold]The ledger[/], written before any noise was drawn:")
        for event in ledger.events()[-3:]:
            console.print(f"  {event.at[:19]}  {event.operator or event.kind:<8} ε = {float(event.amount):<5g} {event.note}")
    _picture(income, released, out)
    console.print(f"\n[bold]To look at[/]: open {out}, and try: jostle budget {ledger_file}\n")


def _answers(console: Console, income: Counts, released: Release) -> None:
    console.print(f"[bold]The release[/]: {released.explain()}\n")
    table = Table(box=None, pad_edge=False)
    for heading in ("weekly income", "released", "±95 %", "true (public here)"):
        table.add_column(heading, justify="right" if heading != "weekly income" else "left")
    table.add_column("share")
    truth = np.cumsum(income)
    for cell in (24, 49, 74, 99, 149, 199, 299, 399):
        share = np.clip(released.answers[cell] / truth[-1], 0, 1)
        table.add_row(
            f"up to ${(cell + 1) * WIDTH:,}",
            f"{released.answers[cell]:,.0f}",
            f"{released.margins[cell]:,.0f}",
            f"{truth[cell]:,}",
            "█" * round(12 * share) + f" {share:.0%}",
        )
    console.print(table, "")


def _comparison(console: Console, income: Counts, released: Release) -> None:
    console.print(
        "[bold]Had you picked another algorithm[/] (100 simulated runs each, root mean squared error of an answer):"
    )
    queries, ours = workloads.prefix(CELLS), released.algorithm.name
    found = {
        name: float(
            np.sqrt((simulate.errors(name, income, queries, released.spent, trials=100, seed=0) ** 2).mean() / CELLS)
        )
        for name in (released.algorithm.name, "HB", "Laplace", "Uniform")
    }
    for name, error in sorted(found.items(), key=lambda pair: pair[1]):
        console.print(f"  {name:<9} ±{error:>7,.0f} people   {error / found[ours]:.1f} times {ours}'s")
    console.print()


def _picture(income: Counts, released: Release, out: Path) -> None:
    """Above, what was released and the truth; below, how far apart they are, which is too little to be seen above."""
    from plotly.subplots import make_subplots

    upto, truth = (np.arange(CELLS) + 1) * WIDTH, np.cumsum(income)
    figure = make_subplots(rows=2, shared_xaxes=True, row_heights=[0.6, 0.4], vertical_spacing=0.06)
    figure.add_scatter(x=upto, y=released.answers, name="released", line_color=plots.ACCENT, row=1, col=1)
    figure.add_scatter(
        x=upto, y=truth, name="true (public data)", line={"color": plots.CONTRAST, "dash": "dot"}, row=1, col=1
    )
    figure.add_scatter(
        x=np.concatenate([upto, upto[::-1]]),
        y=np.concatenate([released.margins, -released.margins[::-1]]),
        fill="toself",
        line_width=0,
        name="95 % interval",
        fillcolor=plots.BAND,
        hoverinfo="skip",
        row=2,
        col=1,
    )
    figure.add_scatter(x=upto, y=released.answers - truth, name="released − true", line_color=plots.MUTED, row=2, col=1)
    plots.themed(figure, f"Weekly income, {released.algorithm.name} at ε = {float(released.spent):g}")
    figure.update_xaxes(title="earn up to so many dollars a week", row=2, col=1)
    figure.update_yaxes(title="people", row=1, col=1)
    figure.update_yaxes(title="off by", row=2, col=1)
    plots.save(figure, out)
