"""One look for every picture: colours, fonts and margins, and how a picture becomes a file.

Figures come from `new`, or pass through `themed`. Plotly is imported when something is drawn.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jostle.kernel.budget import round_down, round_up
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger.events import Statement

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from pandas import DataFrame

    from jostle.kernel.ledger import Ledger

ACCENT: Final = "#0072b2"
"""For the release, or the choice."""

CONTRAST: Final = "#d55e00"
"""For what it is compared with, such as the truth, if public."""

MUTED: Final = "#8a8f98"
"""For everything else."""

PALETTE: Final = ("#0072b2", "#d55e00", "#00936b", "#1b1464", "#6c0000", "#7f74ff", "#d80048", "#4d2d52")
"""For things without rank, at most eight at once. Every colour has a contrast of 3 to 1 on white at least, and people with
any common kind of colour vision can tell each from all others (tests/test_plots.py measures both)."""

INK: Final = "#1f2430"
"""For letters and for the ends of intervals."""

PALE: Final = "#c9cdd6"
"""For what is left of a whole, and for bars behind others."""

DARK: Final = MappingProxyType(
    dict(zip(PALETTE, ("#5088c9", "#ffac00", "#cbffe8", "#ddccff", "#c96604", "#7e6eff", "#e34a54", "#ffe483"), strict=True))
    | {MUTED: "#8a93a3", INK: "#e6e9ef", PALE: "#4a5262"}
)
"""Each colour, as it is on a dark ground: as easy to see there, and as far from the others."""

IN_COLOUR: Final = 5
"""Of more than eight series, this many are coloured, the first ones, and the chosen one."""

BAND: Final = "rgba(0, 114, 178, 0.18)"
"""For an interval around the release."""

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_LOG: Final = {"type": "log", "nticks": 6}
"""With more ticks, the digits between powers of ten would be written, too."""

CONFIG: Final = {"showSendToCloud": False, "plotlyServerURL": "", "displaylogo": False}
"""For every page with figures: Plotly would put a button on each that uploads it to its makers."""

LONGEST_AXIS: Final = 4096
"""A line with more points than this is thinned: no screen has so many columns."""

NOTE_WIDTH, NOTE_LINES = 105, 5
"""How many letters and lines of notes have space below a picture."""

NOTE_SHIFT: Final = -58
"""How far below the axis notes begin, in pixels."""

TALL: Final = 700
"""A figure that is higher, in pixels, has its legend above: below, nobody sees it together with the first panel."""

FEW_CELLS: Final = 400
"""A map of no more cells than this shows their numbers."""


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
        font={"family": FONT, "size": 13, "color": INK},
        margin={"l": 64, "r": 16, "t": 72 if title or figure.layout.title.text else 28, "b": 56},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.01, "x": 0},
        hoverlabel={"font": {"family": FONT}},
    )
    if title:
        figure.update_layout(title={"text": title, "x": 0, "xref": "paper", "font": {"size": 16}})
    plain = {"automargin": True, "exponentformat": "none", "separatethousands": True}
    return figure.update_xaxes(**plain).update_yaxes(**plain)


def colours(names: Sequence[str], chosen: str = "") -> list[str]:
    """One colour per series. Of more than eight, the first five and the chosen one stand out, and the others are grey.

    >>> colours(["a", "b"])[1], colours([str(number) for number in range(9)], chosen="8")[5:]
    ('#d55e00', ['#8a8f98', '#8a8f98', '#8a8f98', '#7f74ff'])
    """
    if len(names) <= len(PALETTE):
        return list(PALETTE[: len(names)])
    shown = [name for place, name in enumerate(names) if place < IN_COLOUR or name == chosen]
    marked = dict(zip(shown, PALETTE, strict=False))
    return [marked.get(name, MUTED) for name in names]


def with_plain_ticks(figure: go.Figure) -> go.Figure:
    """The same figure with whole numbers along logarithmic axes, where Plotly writes single digits between powers of ten.

    >>> list(with_plain_ticks(new(log_x=True).add_scatter(x=[0.02, 1.5], y=[1, 2])).layout.xaxis.ticktext)
    ['0.02', '0.05', '0.1', '0.2', '0.5', '1']
    """
    from jostle import svg

    for key in figure.layout:
        axis = figure.layout[key] if re.fullmatch(r"[xy]axis\d*", key) else None
        if axis is None or axis.type != "log" or axis.tickvals is not None:
            continue
        name, panel = key[0], key.replace("axis", "")
        drawn = [one for one in figure.data if name in one and (one[f"{name}axis"] or name) == panel]
        values = [float(v) for one in drawn for v in ([] if one[name] is None else one[name]) if _is_positive(v)]
        if values:
            marks = svg.log_ticks(min(values) / 1.2, max(values) * 1.2)
            axis.update(tickmode="array", tickvals=marks, ticktext=[svg.number(mark) for mark in marks])
    return figure


def series_coloured(figure: go.Figure, chosen: str = "") -> go.Figure:
    """The same figure with one colour per series, in all panels; of more than eight, most are grey (see `colours`).

    >>> many = new()
    >>> for name in "abcdefghi":
    ...     many = many.add_scatter(x=[1, 2], y=[1, 2], name=name)
    >>> coloured = series_coloured(many, chosen="i").data
    >>> [one.line.color for one in coloured if one.name == "i"], sum(bool(one.showlegend) for one in coloured)
    (['#7f74ff'], 7)
    """
    names = list(dict.fromkeys(one.name for one in figure.data if one.name))
    marked = dict(zip(names, colours(names, chosen), strict=True))
    others, seen = [name for name in names if marked[name] == MUTED], set[str]()
    for one in figure.data:
        if not one.name:
            continue
        grey, fill = one.name in others, one.type in ("bar", "box")
        colour = PALE if grey else marked[one.name]
        one.update({"marker": {"color": colour}} | ({} if fill else {"line": {"color": colour}}))
        group = "others" if grey else one.name
        one.update(legendgroup=group, showlegend=group not in seen, hovertext=one.name if grey else None)
        seen.add(group)
        if grey:
            one.update(name=f"{len(others)} others" if len(others) > 1 else one.name, legendrank=2000)
            if not fill:
                one.update(error_y=None, line={"width": 1})
    if all(one.type == "scatter" for one in figure.data):  # what is drawn first lies behind
        figure.data = sorted(figure.data, key=lambda one: one.legendgroup != "others")
    return figure


def _is_positive(value: Any) -> bool:
    return not isinstance(value, str) and value is not None and math.isfinite(value) and value > 0


def without_title(figure: go.Figure) -> tuple[str, go.Figure]:
    """The words of a figure's title, and the figure for a page that writes them above it: there, titles wrap.

    Its legend has space of its own, however many lines it needs: below, or above where the figure is tall.

    >>> title, rest = without_title(new("How far off?").add_scatter(x=[1], y=[2], name="a"))
    >>> title, rest.layout.title.text, rest.layout.legend.yanchor
    ('How far off?', None, 'bottom')
    """
    title, tall = str(figure.layout.title.text or ""), (figure.layout.height or 0) > TALL
    place = {"y": 1, "yanchor": "top"} if tall else {"y": 0, "yanchor": "bottom"}
    legend = {"orientation": "h", "yref": "container", "xref": "container", "x": 0.02} | place
    return title, figure.update_layout(title=None, margin={"t": 40, "b": 16}, legend=legend)


def heading(words: str) -> str:
    """The words as a title: with a capital letter, and safe for Plotly.

    >>> heading("mean of cost by ward")
    'Mean of cost by ward'
    """
    return escape(words[:1].upper() + words[1:])


def captioned(figure: go.Figure, terms: str, notes: Sequence[str] = ()) -> go.Figure:
    """The same figure with a line below its title, and sentences below everything.

    >>> figure = captioned(new("Costs"), "ε = 1", ["cost is clipped to 0 – 50,000."])
    >>> figure.layout.title.subtitle.text, figure.layout.meta["notes"]
    ('ε = 1', ['cost is clipped to 0 – 50,000.'])
    """
    if all(trace.type == "heatmap" for trace in figure.data):  # which has no place for them
        terms = terms.removesuffix("; 95 % intervals")
    lines = [part for note in notes for part in wrap(note, NOTE_WIDTH)]
    if len(lines) > NOTE_LINES:
        lines = [*lines[: NOTE_LINES - 1], "…"]
    named = [trace for trace in figure.data if trace.name and trace.showlegend is not False]
    title = {"subtitle": {"text": escape(terms), "font": {"size": 12}}, "yref": "container", "y": 1, "yanchor": "top"}
    figure.update_layout(title=title | {"pad": {"t": 18}}, margin={"t": 118 if len(named) > 1 else 84})
    if not lines:
        return figure
    figure.update_layout(meta={"notes": lines}, margin={"b": 76 + 16 * len(lines)})
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "xanchor": "left", "yanchor": "top", "yshift": NOTE_SHIFT}
    words = {"text": "<br>".join(map(escape, lines)), "font": {"size": 12}, "align": "left", "showarrow": False}
    return figure.add_annotation(**place, **words)


def save(figure: go.Figure, path: str | Path) -> Path:
    """Write a figure to a file by its ending: `.svg`, `.html`, or `.png`.

    An SVG and an HTML file are small and need nothing else. (A figure that only Plotly can draw, such as one of several
    parts, becomes an HTML file of 5 MB with Plotly inside.) A PNG needs the package `kaleido` and a Chrome or Chromium.

    >>> import tempfile
    >>> save(bars([3, 5], [1, 1], labels=["a", "b"]), tempfile.mkdtemp() + "/two.html").stat().st_size < 10_000
    True
    """
    target = savable(path)
    if target.suffix in (".svg", ".html"):
        target.write_text(_page(figure, target.suffix), encoding="utf-8")
        return target
    try:
        image = figure.to_image("png", scale=2)
    except Exception:  # noqa: BLE001  # a browser can fail in many ways, and the remedy is the same
        problem = "a PNG needs a Chrome or Chromium, which is missing or does not start"
        raise BadInput("path", problem, "install Chromium, or save .svg") from None
    target.write_bytes(image)  # not before there is one: until then, a picture that was there stays
    return target


def savable(path: str | Path, argument: str = "path") -> Path:
    """The path, if a figure can be saved there; refused before long work is done for it."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise BadInput(argument, f"the folder of {target} does not exist", "name one that does")
    if target.suffix not in (".svg", ".html", ".png"):
        raise BadInput(argument, f"{target.name} ends in none of .svg, .html and .png", "end its name with one of them")
    if target.suffix == ".png" and find_spec("kaleido") is None:
        raise BadInput(argument, "a PNG needs the package kaleido", "pip install 'jostle[png]', or save .svg")
    return target


def _page(figure: go.Figure, kind: str) -> str:
    from jostle import svg

    try:
        picture = svg.drawn(figure, DARK)
    except svg.CannotDraw:
        if kind == ".svg":
            raise BadInput("path", "this figure has several parts, which an SVG file cannot hold", "save .html") from None
        return str(figure.to_html(include_plotlyjs=True, config=CONFIG))
    if kind == ".svg":
        return picture
    title = escape(str(figure.layout.title.text or "chart").replace("<br>", " "))
    look = "body { margin: 0 auto; max-width: 60rem; color-scheme: light dark } svg { width: 100%; height: auto }"
    fits = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{fits}<title>{title}</title><style>{look}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{picture}</body></html>\n'


def in_words(text: str, rows: DataFrame | None = None) -> str:
    """What a notebook shows of a result: its explanation, line by line, and its first rows.

    >>> in_words("3 < 4")
    '<p>3 &lt; 4</p>'
    """
    lines = escape(text).replace("\n", "<br>").replace("  ", "&nbsp; ")
    return f"<p>{lines}</p>" + ("" if rows is None else str(rows.to_html(index=False, max_rows=10)))


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


def bars(
    values: Any,
    margins: Any = None,
    *,
    labels: Sequence[str],
    title: str = "",
    x: str = "",
    between: tuple[float, float] = (-math.inf, math.inf),
) -> go.Figure:
    """A few answers as bars, with their 95 % intervals, which end where the true number's bounds are.

    >>> bars([3.0], [5.0], labels=["a"], between=(0, 100)).data[0].error_y.arrayminus
    array([3.])
    """
    figure, y = new(title, x=x, y="count"), np.asarray(values, dtype=np.float64)
    off: dict[str, Any] | None = None
    if margins is not None:
        low, high = (np.clip(y + sign * np.asarray(margins, dtype=np.float64), *between) for sign in (-1, 1))
        off = {"array": np.maximum(high - y, 0), "arrayminus": np.maximum(y - low, 0), "color": INK, "thickness": 1.2}
    figure.add_bar(x=list(map(str, labels)), y=y, error_y=off, marker_color=ACCENT)
    return figure.update_xaxes(type="category")


def heat(
    values: Any, *, title: str = "", x: str = "", y: str = "", labels: Sequence[Sequence[str]] | None = None
) -> go.Figure:
    """Counts over a grid: the second axis runs to the right, the first upwards (with labels: downwards, as in a table).

    >>> heat([[1, 2], [3, 4]]).data[0].type
    'heatmap'
    """
    figure = new(title, x=x, y=y)
    names = {} if labels is None else {"y": list(map(str, labels[0])), "x": list(map(str, labels[1]))}
    z = np.asarray(values, dtype=np.float64)
    digits = ",.0f" if np.nanmax(np.abs(z), initial=0) >= 10 else ",.3~r"
    numbers = {"texttemplate": f"%{{z:{digits}}}"} if z.size <= FEW_CELLS else {}
    figure.add_heatmap(z=z, colorscale="Cividis", colorbar={"thickness": 12}, **numbers, **names)
    if labels is not None:
        figure.update_xaxes(type="category").update_yaxes(type="category", autorange="reversed")
    return figure


def quantile_box(levels: Sequence[float], values: Any, low: Any, high: Any, *, title: str = "", x: str = "") -> go.Figure:
    """Quantiles on the axis of their column: a box between the first and the last, and a band per interval.

    >>> quantile_box([0.25, 0.5], [30, 41], [29, 40], [31, 42]).data[-1].text
    ('25 %', 'median')
    """
    figure = new(title, x=x)
    hidden = {"hoverinfo": "skip", "showlegend": False, "mode": "lines", "fill": "toself"}
    for left, right in zip(low, high, strict=True):
        figure.add_scatter(x=[left, right, right, left], y=[-1, -1, 1, 1], fillcolor=BAND, line={"width": 0}, **hidden)
    first, last = values[0], values[-1]
    edge = {"color": ACCENT, "width": 2}
    box = {"x": [first, last, last, first, first], "y": [-0.5, -0.5, 0.5, 0.5, -0.5]}
    figure.add_scatter(**box, mode="lines", line=edge, hoverinfo="skip", showlegend=False)
    for value in values:
        figure.add_scatter(x=[value, value], y=[-0.5, 0.5], mode="lines", line=edge, hoverinfo="skip", showlegend=False)
    names = ["median" if level == 0.5 else f"{100 * level:g} %" for level in levels]
    marks = {"x": list(map(float, values)), "y": [1.0] * len(names), "text": names, "textposition": "top center"}
    figure.add_scatter(**marks, mode="markers+text", marker={"color": ACCENT, "size": 5}, showlegend=False)
    return figure.update_yaxes(visible=False, range=[-2, 2], tickvals=[]).update_layout(height=300)


def spending(of: Ledger | Statement) -> go.Figure:
    """What is spent and what is left, one bar per account of a ledger or of its statement."""
    statement = of if isinstance(of, Statement) else of.statement()
    figure = new("Budget of each data set", x="ε")
    names = [balance.dataset for balance in statement.balances]
    spent = [round_up(balance.spent) for balance in statement.balances]
    left = [round_down(balance.remaining) for balance in statement.balances]
    figure.add_bar(y=names, x=spent, orientation="h", name="spent", marker_color=ACCENT)
    figure.add_bar(y=names, x=left, orientation="h", name="left", marker_color=PALE)
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
    claims = {"x": [one.claimed for one in verdicts], "marker": {"symbol": "line-ns-open", "size": 16, "color": INK}}
    figure.add_scatter(y=names, mode="markers", name="at most (claimed)", **claims)
    return figure.update_layout(height=160 + 22 * len(names)).update_yaxes(type="category", autorange="reversed")


def _name_ticks(figure: go.Figure, places: Any, words: Sequence[str]) -> None:
    step = math.ceil(len(words) / 12)
    figure.update_xaxes(tickmode="array", tickvals=[int(place) for place in places[::step]], ticktext=list(words[::step]))
