"""`jostle demo`: one private release, from beginning to end, on public data."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from jostle import simulate, workloads
from jostle.kernel.ledger import Ledger
from jostle.kernel.partition import Counts
from jostle.releases import Release, release

WIDTH = 10
CELLS = 512


def demo(
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("jostle-demo.html"),
    epsilon: Annotated[float, typer.Option(help="The privacy budget of the release.")] = 0.1,
) -> None:
    """Release the distribution of 29,501 people's weekly income, privately, and look at it."""
    from jostle.datasets import weekly_income

    console = Console(highlight=False)
    income = weekly_income(cells=CELLS, width=WIDTH)
    console.print(
        f"\n[bold]The data[/]: {income.sum():,} people of the census of 2000 and their weekly income, "
        f"{CELLS} cells of ${WIDTH}.\n"
        f"[bold]The question[/]: how many people earn up to so much? That is a prefix workload, asked at ε = {epsilon:g}.\n"
    )
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "budget.db") as ledger:
        account = ledger.account("census", cap=max(1.0, epsilon))
        released = release(income, workloads.prefix(CELLS), epsilon=epsilon, account=account, note="demo")
        _answers(console, income, released)
        _comparison(console, income, released)
        console.print(f"[bold]The ledger[/], written before any noise was drawn (ε = {float(account.remaining):g} is left):")
        for event in ledger.events():
            console.print(f"  {event.at[:19]}  {event.dataset}  {event.kind:<6} ε = {float(event.amount):<5g} {event.note}")
    _picture(income, released, out)
    console.print(f"\n[bold]The picture[/]: open {out}\n")


def _answers(console: Console, income: Counts, released: Release) -> None:
    table = Table(title=released.explain(), title_justify="left", title_style="", box=None, pad_edge=False)
    for heading in ("weekly income", "released", "±95 %", "true (public here)"):
        table.add_column(heading, justify="right" if heading != "weekly income" else "left")
    table.add_column("share of all people")
    truth = np.cumsum(income)
    for cell in (24, 49, 74, 99, 149, 199, 299, 399):
        share = np.clip(released.answers[cell] / truth[-1], 0, 1)
        table.add_row(
            f"up to ${(cell + 1) * WIDTH:,}",
            f"{released.answers[cell]:,.0f}",
            f"{released.margins[cell]:,.0f}",
            f"{truth[cell]:,}",
            "█" * round(30 * share) + f" {share:.0%}",
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
    import plotly.graph_objects as go

    upto = (np.arange(CELLS) + 1) * WIDTH
    high, low = released.answers + released.margins, released.answers - released.margins
    figure = go.Figure()
    figure.add_scatter(
        x=np.concatenate([upto, upto[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        line_width=0,
        name="95 % interval",
        fillcolor="rgba(31, 119, 180, 0.25)",
        hoverinfo="skip",
    )
    figure.add_scatter(x=upto, y=released.answers, name="released", line_color="#1f77b4")
    figure.add_scatter(x=upto, y=np.cumsum(income), name="true (public data)", line={"color": "#d62728", "dash": "dot"})
    figure.update_layout(
        title=f"People who earn up to so much a week: {released.algorithm.name} at ε = {float(released.spent):g}",
        xaxis_title="dollars a week",
        yaxis_title="people",
        template="plotly_white",
    )
    figure.write_html(out, include_plotlyjs=True)
