"""The page that `jostle demo` writes: the chapters with pictures, in one file that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import plots
from jostle.cli.demo_story import CELLS, WIDTH, Code, Listing, Part, Picture, Story

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
    look = _LOOK.replace("FONT", plots.FONT).replace("ACCENT", plots.ACCENT)
    sections = [
        f"<section><h2><b>{number}</b>{escape(title)}</h2>{''.join(_html(part, story) for part in parts)}</section>"
        for number, (title, parts) in enumerate(story.chapters().items(), start=1)
    ]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>jostle demo</title>'
        f"<style>{look}</style></head><body><main><h1>A private release, from beginning to end</h1>"
        f"<p class='small'>What <code>jostle demo</code> did. Each run draws new noise.</p>{''.join(sections)}"
        "</main></body></html>"
    )
    path.write_text(page, encoding="utf-8")


def _html(part: Part, story: Story) -> str:
    if isinstance(part, Listing):
        return _table(part)
    if isinstance(part, Picture):
        return _drawn(_released_figure(story), script=True) if part == "released" else _drawn(_algorithms_figure(story))
    return f"<pre>{escape(part)}</pre>" if isinstance(part, Code) else f"<p>{escape(part)}</p>"


def _table(listing: Listing) -> str:
    rows = [
        f"<tr{' class=ours' if mark else ''}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for row, mark in zip(listing.rows, listing.marked or [False] * len(listing.rows), strict=True)
    ]
    head = "".join(f"<th>{escape(one.rstrip('>'))}</th>" for one in listing.head)
    return f"<div class='wide'><table><tr>{head}</tr>{''.join(rows)}</table></div>"


def _drawn(figure: go.Figure, *, script: bool = False) -> str:
    """A figure as wide as its section; the first one brings the script with it."""
    config: dict[str, Any] = {"displayModeBar": False, "responsive": True}
    return str(figure.to_html(full_html=False, include_plotlyjs=script, config=config))


def _released_figure(story: Story) -> go.Figure:
    """The release and the truth above; their difference below, because it is too small to be seen above."""
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
    figure.update_xaxes(title="dollars per week, at most", row=2, col=1)
    figure.update_yaxes(title="people", row=1, col=1)
    figure.update_yaxes(title="error", row=2, col=1)
    return figure


def _algorithms_figure(story: Story) -> go.Figure:
    """One bar per algorithm, on a log scale: the worst is far away."""
    ranked = story.ranked()
    figure = plots.new(x="error in people (RMS)", log_x=True)
    figure.add_bar(
        y=[name for name, _ in ranked],
        x=[error for _, error in ranked],
        orientation="h",
        text=[
            f"{error:,.0f}" + ("" if name == story.algorithm else f" ({story.times(name):,.1f}×)") for name, error in ranked
        ],
        marker_color=[plots.ACCENT if name == story.algorithm else plots.MUTED for name, _ in ranked],
        showlegend=False,
    )
    return figure.update_layout(height=360).update_yaxes(autorange="reversed")
