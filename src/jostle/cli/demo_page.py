"""The page that `jostle demo` leaves: the same story with pictures, in one file that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import plots
from jostle.cli.demo_story import CAP, CELLS, TRIALS, WIDTH, Story
from jostle.kernel.budget import round_down, round_up

if TYPE_CHECKING:
    import plotly.graph_objects as go

_LOOK = """
:root { color-scheme: light; }
body { margin: 0; background: #f4f5f8; color: #1f2430; font: 16px/1.55 FONT; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.6rem; margin: 0.5rem 0 0.25rem; }
section { background: #fff; border: 1px solid #dfe2ea; border-radius: 10px; padding: 1rem 1.25rem; margin: 1rem 0; }
h2 { font-size: 1.1rem; margin: 0 0 0.5rem; }
h2 b { color: ACCENT; margin-right: 0.4rem; }
p { margin: 0.4rem 0; }
pre { background: #f4f5f8; border-radius: 6px; padding: 0.7rem 0.9rem; overflow-x: auto; font-size: 0.85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { text-align: right; padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid #eceef3; white-space: nowrap; }
th:first-child, td:first-child, td:last-child, th:last-child { text-align: left; }
tr.ours { font-weight: 600; color: ACCENT; }
.small { color: #5a6070; font-size: 0.9rem; }
"""


def save(story: Story, path: Path) -> None:
    """Write the page."""
    path.write_text(page(story), encoding="utf-8")


def page(story: Story) -> str:
    """The whole page as text."""
    look = _LOOK.replace("FONT", plots.FONT).replace("ACCENT", plots.ACCENT)
    released = story.released
    left, spent = f"{round_down(released.remaining) + 0.0:g}", f"{round_up(released.spent):g}"
    parts = [
        _section(
            1,
            "A table, and what is publicly known of it",
            f"<p>{story.rows:,} working people of the United States census of 2000. They are public, so that everything "
            "here can be checked; the program treats them as if they were not.</p>"
            + _code(
                "import jostle",
                "from jostle.datasets import census",
                "",
                "people = jostle.open(",
                f'    census(), schema={{"income": jostle.Real(0, {CELLS * WIDTH}, bins={CELLS})}},',
                f'    ledger="{story.ledger}", budget={CAP}, name="people",',
                ")",
            ),
        ),
        _section(
            2,
            "A preview, before anything is spent",
            f"<p>How many people earn up to ${WIDTH}, up to ${2 * WIDTH}, … a week? What each ε would buy follows from the "
            "question alone.</p>"
            + _code(
                f'question = people.ask_ranges("income", jostle.workloads.prefix({CELLS}))',
                f"question.preview(epsilon={spent})",
            )
            + _table(
                ("ε", "an answer is within, at 95 %"),
                [(f"{round_up(one.epsilon):g}", f"±{one.margin:,.0f} people") for one in story.previews],
                ours=[one.epsilon == released.spent for one in story.previews],
            ),
        ),
        _section(
            3,
            "The release",
            _code(f"incomes = question.release(epsilon={spent})", "incomes.plot()")
            + f"<p>{escape(released.explain())}</p>"
            + "<p>Pythia is the part of jostle that chooses. A prefix query counts everybody up to some point.</p>"
            + _drawn(released_figure(story), script=True)
            + "<p class='small'>Below: how far the release is from the truth, which can be drawn because it is public here, "
            "and the 95 % intervals, which the release itself comes with.</p>",
        ),
        _section(
            4,
            "Had you picked another algorithm",
            f"<p>Simulated on the same people, {TRIALS} runs each: only public data allow that. {escape(_worst(story))}</p>"
            + _drawn(others_figure(story)),
        ),
        _section(
            5,
            "The budget",
            f"<p>ε = {spent} was charged before any noise was drawn, and ε = {left} is left, for whoever asks next: in this "
            "program or another.</p>"
            + _table(
                ("when (UTC)", "what", "ε", "note"),
                [
                    (one.at.replace("T", " ")[:19], one.operator or one.kind, f"{round_up(one.amount):g}", one.note)
                    for one in story.events
                ],
            )
            + _code(f"jostle budget {story.ledger}     # everything that was ever spent"),
        ),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>jostle demo</title>'
        f"<style>{look}</style></head><body><main><h1>A private release, from beginning to end</h1>"
        f"<p class='small'>What <code>jostle demo</code> did. Run it again and the noise is another.</p>{''.join(parts)}"
        "</main></body></html>"
    )


def released_figure(story: Story) -> go.Figure:
    """Above, what was released and the truth; below, how far apart they are, which is too little to be seen above."""
    from plotly.subplots import make_subplots

    released, upto = story.released, (np.arange(CELLS) + 1) * WIDTH
    figure = make_subplots(rows=2, shared_xaxes=True, row_heights=[0.55, 0.45], vertical_spacing=0.06)
    figure.add_scatter(x=upto, y=released.answers, name="released", line_color=plots.ACCENT, row=1, col=1)
    figure.add_scatter(
        x=upto, y=story.truth, name="true (public data)", line={"color": plots.CONTRAST, "dash": "dot"}, row=1, col=1
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
    off = released.answers - story.truth
    figure.add_scatter(x=upto, y=off, name="released − true", line_color=plots.PALETTE[3], row=2, col=1)
    plots.themed(figure).update_layout(height=520)
    figure.update_xaxes(title="dollars a week, at most", row=2, col=1)
    figure.update_yaxes(title="people", row=1, col=1)
    figure.update_yaxes(title="off by", row=2, col=1)
    return figure


def others_figure(story: Story) -> go.Figure:
    """A bar for every algorithm, on a log scale: the worst is far away."""
    ranked = story.ranked()
    figure = plots.new(x="off by so many people (RMS)", log_x=True)
    figure.add_bar(
        y=[name for name, _ in ranked],
        x=[error for _, error in ranked],
        orientation="h",
        text=[f"{error:,.0f}" + ("" if name == story.name else f" ({story.times(name):,.1f}×)") for name, error in ranked],
        marker_color=[plots.ACCENT if name == story.name else plots.MUTED for name, _ in ranked],
        showlegend=False,
    )
    return figure.update_layout(height=360).update_yaxes(autorange="reversed")


def _worst(story: Story) -> str:
    others = [name for name in story.others if name != story.name]
    middle = sorted(story.times(name) for name in others)[len(others) // 2]
    return (
        f"At least half of the others are off by {middle:.1f} times as much as {story.name}, or more. Which ones are, "
        "depends on the data, and to look at those costs privacy as well."
    )


def _section(number: int, title: str, body: str) -> str:
    return f"<section><h2><b>{number}</b>{escape(title)}</h2>{body}</section>"


def _code(*lines: str) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]], ours: list[bool] | None = None) -> str:
    marked = ours or [False] * len(rows)
    lines = [
        f"<tr{' class=ours' if mark else ''}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row, mark in zip(rows, marked, strict=True)
    ]
    first = "".join(f"<th>{escape(one)}</th>" for one in head)
    return f"<div class='wide'><table><tr>{first}</tr>{''.join(lines)}</table></div>"


def _drawn(figure: go.Figure, *, script: bool = False) -> str:
    """A figure as wide as its section; the first one brings the script with it."""
    config: dict[str, Any] = {"displayModeBar": False, "responsive": True}
    return str(figure.to_html(full_html=False, include_plotlyjs=script, config=config))
