"""One look for every picture: colours, fonts and margins, and how a picture becomes a file.

Figures come from `new`, or pass through `themed`. Plotly is imported when something is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jostle.kernel.budget import round_down, round_up
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger.events import Statement

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from pandas import DataFrame

    from jostle.kernel.ledger import Ledger

ACCENT: Final = "#3349a6"
"""For the release, or the choice."""

CONTRAST: Final = "#b3261e"
"""For what it is compared with, such as the truth, if public."""

MUTED: Final = "#8a8f98"
"""For everything else."""

PALETTE: Final = (
    *("#3349a6", "#b3261e", "#1b7f5c", "#a35c00", "#7b3fa0"),
    *("#0b7285", "#8a8f98", "#5c6f00", "#c2417c", "#3d3d3d"),
)
"""For things without rank. Every colour has a contrast of 3 to 1 on white at least, which lines and points need."""

BAND: Final = "rgba(51, 73, 166, 0.18)"
"""For an interval around the release."""

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_LOG: Final = {"type": "log", "nticks": 6}
"""With more ticks, the digits between powers of ten would be written, too."""

CONFIG: Final = {"showSendToCloud": False, "plotlyServerURL": "", "displaylogo": False}
"""For every page with figures: Plotly would put a button on each that uploads it to its makers."""

LONGEST_AXIS: Final = 4096
"""A line with more points than this is thinned: no screen has so many columns."""

NOTE_WIDTH, NOTE_LINES = 100, 5
"""How many letters and lines of notes have space below a title."""


def new(title: str = "", *, x: str = "", y: str = "", log_x: bool = False, log_y: bool = False) -> go.Figure:
    """An empty figure with the look of all others.

    >>> new("Ages", x="age").layout.xaxis.title.text
    'age'
    """
    import plotly.graph_objects as go

    figure = themed(go.Figure(), title)
    figure.update_xaxes(title_text=x, **(_LOG if log_x else {}))
    return figure.update_yaxes(title_text=y, **(_LOG if log_y else {}))


def themed(figure: go.Figure, title: str = "") -> go.Figure:
    """The same figure with the look of all others, and perhaps a new title."""
    figure.update_layout(
        template="plotly_white",
        colorway=list(PALETTE),
        font={"family": FONT, "size": 13, "color": "#1f2430"},
        margin={"l": 64, "r": 16, "t": 72 if title or figure.layout.title.text else 28, "b": 56},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0},
        hoverlabel={"font": {"family": FONT}},
    )
    if title:
        figure.update_layout(title={"text": title, "x": 0, "xref": "paper", "font": {"size": 16}})
    return figure.update_xaxes(automargin=True).update_yaxes(automargin=True)


def noted(figure: go.Figure, notes: Sequence[str]) -> go.Figure:
    """The same figure with some sentences below its title.

    >>> noted(new("Costs"), ["cost is clipped to 0 – 50,000."]).layout.title.subtitle.text
    'cost is clipped to 0 – 50,000.'
    """
    if not notes:
        return figure
    lines = [part for note in notes for part in wrap(note, NOTE_WIDTH)]
    if len(lines) > NOTE_LINES:
        lines = [*lines[: NOTE_LINES - 1], "…"]
    subtitle = {"text": "<br>".join(map(escape, lines)), "font": {"size": 12}}
    return figure.update_layout(title={"subtitle": subtitle}, margin={"t": 84 + 16 * len(lines)})


def save(figure: go.Figure, path: str | Path) -> Path:
    """Write a figure to a file by its ending: `.html`, which needs nothing else to be looked at, or `.png`.

    A PNG needs the package `kaleido` and a Chrome or Chromium on this machine.

    >>> import tempfile
    >>> save(new("Nothing"), tempfile.mkdtemp() + "/nothing.html").stat().st_size > 10**6
    True
    """
    target = savable(path)
    if target.suffix == ".html":
        figure.write_html(target, include_plotlyjs=True, config=CONFIG)
        return target
    try:
        image = figure.to_image("png", scale=2)
    except Exception:  # noqa: BLE001  # a browser can fail in many ways, and the remedy is the same
        problem = "a PNG needs a Chrome or Chromium, which is missing or does not start"
        raise BadInput("path", problem, "install Chromium, or save .html") from None
    target.write_bytes(image)  # not before there is one: until then, a picture that was there stays
    return target


def savable(path: str | Path, argument: str = "path") -> Path:
    """The path, if a figure can be saved there; refused before long work is done for it."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise BadInput(argument, f"the folder of {target} does not exist", "name one that does")
    if target.suffix not in (".html", ".png"):
        raise BadInput(argument, f"{target.name} is neither .html nor .png", "end its name with one of them")
    if target.suffix == ".png" and find_spec("kaleido") is None:
        raise BadInput(argument, "a PNG needs the package kaleido", "pip install 'jostle[png]', or save .html")
    return target


def in_words(text: str, rows: DataFrame | None = None) -> str:
    """What a notebook shows of a result: its explanation, line by line, and its first rows.

    >>> in_words("3 < 4")
    '<p>3 &lt; 4</p>'
    """
    lines = escape(text).replace("\n", "<br>").replace("  ", "&nbsp; ")
    return f"<p>{lines}</p>" + ("" if rows is None else str(rows.to_html(index=False, max_rows=10)))


def html(figure: go.Figure) -> str:
    """A figure as a part of a page that needs nothing from elsewhere, for notebooks."""
    return str(figure.to_html(full_html=False, include_plotlyjs=True, config=CONFIG))


def line(
    values: Any, margins: Any = None, *, labels: Sequence[str] | None = None, title: str = "", x: str = ""
) -> go.Figure:
    """Answers in a line, with a band for their 95 % intervals.

    >>> len(line([3.0, 5.0], [1.0, 1.0]).data)
    2
    """
    middle = np.asarray(values, dtype=np.float64).reshape(-1)
    along = np.arange(middle.size)
    figure = new(title, x=x, y="count")
    kept = along[:: math.ceil(middle.size / LONGEST_AXIS)]
    if margins is not None:
        off = np.asarray(margins, dtype=np.float64).reshape(-1)
        figure.add_scatter(
            x=np.concatenate([kept, kept[::-1]]),
            y=np.concatenate([(middle + off)[kept], (middle - off)[kept][::-1]]),
            fill="toself",
            fillcolor=BAND,
            line={"width": 0},
            hoverinfo="skip",
            name="95 % interval",
        )
    words = None if labels is None else [str(labels[place]) for place in kept]
    figure.add_scatter(x=kept, y=middle[kept], text=words, line={"color": ACCENT, "width": 2}, name="released")
    if words is not None:
        _name_ticks(figure, kept, words)
    return figure


def bars(values: Any, margins: Any = None, *, labels: Sequence[str], title: str = "", x: str = "") -> go.Figure:
    """A few answers as bars, with their 95 % intervals."""
    figure = new(title, x=x, y="count")
    off = None if margins is None else {"array": np.asarray(margins, dtype=np.float64), "color": "#1f2430", "thickness": 1.2}
    figure.add_bar(x=list(map(str, labels)), y=np.asarray(values, dtype=np.float64), error_y=off, marker_color=ACCENT)
    return figure.update_xaxes(type="category")


def heat(
    values: Any, *, title: str = "", x: str = "", y: str = "", labels: Sequence[Sequence[str]] | None = None
) -> go.Figure:
    """Counts over a grid: the first axis runs upwards, the second to the right.

    >>> heat([[1, 2], [3, 4]]).data[0].type
    'heatmap'
    """
    figure = new(title, x=x, y=y)
    names = {} if labels is None else {"y": list(map(str, labels[0])), "x": list(map(str, labels[1]))}
    figure.add_heatmap(z=np.asarray(values, dtype=np.float64), colorscale="Cividis", colorbar={"thickness": 12}, **names)
    if labels is not None:
        figure.update_xaxes(type="category").update_yaxes(type="category")
    return figure


def spending(of: Ledger | Statement) -> go.Figure:
    """What is spent and what is left, one bar per account of a ledger or of its statement."""
    statement = of if isinstance(of, Statement) else of.statement()
    figure = new("Budget of each data set", x="ε")
    names = [balance.dataset for balance in statement.balances]
    spent = [round_up(balance.spent) for balance in statement.balances]
    left = [round_down(balance.remaining) for balance in statement.balances]
    figure.add_bar(y=names, x=spent, orientation="h", name="spent", marker_color=ACCENT)
    figure.add_bar(y=names, x=left, orientation="h", name="left", marker_color="#c9cdd6")
    height = 140 + 34 * len(names)
    return figure.update_layout(barmode="stack", height=height).update_yaxes(type="category", autorange="reversed")


def shares(names: Sequence[str], values: Any, *, title: str, y: str) -> go.Figure:
    """One box per name on a log scale, for a column of positive numbers each; the smallest median first.

    >>> [box.name for box in shares(["a", "b"], np.array([[3.0, 1.0], [9.0, 2.0]]), title="Regrets", y="regret").data]
    ['b', 'a']
    """
    table = np.asarray(values, dtype=np.float64)
    figure = new(title, y=y, log_y=True)
    for column in np.argsort(np.nanmedian(table, axis=0)):
        figure.add_box(y=table[:, column], name=names[column], marker_color=ACCENT, line={"width": 1.2}, showlegend=False)
    return figure


def audited(verdicts: Sequence[Any]) -> go.Figure:
    """What an audit proved about each entry, and what is claimed: a bound above its claim refutes it."""
    figure = new("Audit: privacy loss that was found, and claimed", x="ε")
    names = [f"{one.name}, {one.neighbours}" for one in verdicts]
    colours = [CONTRAST if one.finding else ACCENT for one in verdicts]
    found = {"x": [one.bound for one in verdicts], "marker": {"color": colours, "size": 9}}
    figure.add_scatter(y=names, mode="markers", name="at least (proved by samples)", **found)
    claims = {"x": [one.claimed for one in verdicts], "marker": {"symbol": "line-ns-open", "size": 16, "color": "#1f2430"}}
    figure.add_scatter(y=names, mode="markers", name="at most (claimed)", **claims)
    return figure.update_layout(height=160 + 22 * len(names)).update_yaxes(type="category", autorange="reversed")


def _name_ticks(figure: go.Figure, places: Any, words: Sequence[str]) -> None:
    step = math.ceil(len(words) / 12)
    figure.update_xaxes(tickmode="array", tickvals=[int(place) for place in places[::step]], ticktext=list(words[::step]))
