"""A figure as a small SVG picture that needs no script: for files, mail, paper and telephones.

It draws what answers consist of: bars with intervals, lines with bands, points, boxes and maps, on one pair of axes. A saved
interactive figure weighs 5 MB, because it carries Plotly along; a picture weighs a few kilobytes.
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import numpy as np

WIDTH: Final = 760
_INK, _SOFT, _GRID = "var(--ink)", "var(--soft)", "var(--grid)"
_STYLE: Final = """
svg { --ink: #1f2430; --soft: #565d6b; --grid: #e4e7ee; --ground: #fff; background: var(--ground) }
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: var(--ink) }
.title { font-size: 17px; font-weight: 600 } .small { font-size: 12px; fill: var(--soft) }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6e9ef; --soft: #aab2c0; --grid: #39404d; --ground: #161a22 }
}
@media print { svg { --ink: #000; --soft: #333; --grid: #ccc; --ground: #fff } }"""
_LETTER: Final = 7.2
"""The width of a typical letter in pixels, for room beside an axis."""

_LONGEST_LABEL: Final = 24
SLANTED: Final = 24
"""An axis has at most this many labels where they have to be slanted."""

_MOST_NUMBERS: Final = 400
"""A map with more cells than this is drawn without its numbers."""

_CIVIDIS: Final = ((0, 34, 78), (52, 69, 108), (102, 105, 112), (149, 143, 120), (200, 184, 102), (254, 232, 56))
"""Six colours of the scale Cividis, which people with any kind of colour vision read alike."""


class CannotDraw(Exception):
    """The figure has a part that only Plotly draws."""


def number(value: float) -> str:
    """A number as people write it.

    >>> [number(value) for value in (44_900, 0.05, 1e6, -2.5, 0.000012)]
    ['44,900', '0.05', '1,000,000', '−2.5', '0.000012']
    """
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers from low to high.

    >>> ticks(0, 44)
    [0.0, 10.0, 20.0, 30.0, 40.0]
    """
    raw = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = unit * next(factor for factor in (1, 2, 5, 10) if factor * unit >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [place * step for place in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 between them if there are few.

    >>> log_ticks(0.02, 1.5)
    [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    every = max(1, len(powers) // 7)
    found = [float(f"{factor}e{power}") for power in powers[::every] for factor in factors]
    return [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]


@dataclass
class _Axis:
    """Where values are on the picture."""

    kind: str
    low: float
    high: float
    labels: list[str]
    title: str
    marks: list[tuple[float, str]]
    reversed: bool = False
    start: float = 0.0
    length: float = 1.0

    def at(self, value: float) -> float:
        low, high, value = (math.log10(max(v, 1e-300)) if self.kind == "log" else v for v in (self.low, self.high, value))
        part = (value - low) / (high - low)
        return self.start + self.length * (1 - part if self.reversed else part)

    def place(self, value: Any) -> float:
        """The position on the axis as a number: of a category, its place among them."""
        if self.kind != "category":
            return float(value)
        return float(self.labels.index(str(value)))


def drawn(figure: Any, by_night: Mapping[str, str] | None = None) -> str:
    """The figure as an SVG picture. Raises `CannotDraw` if it has parts that only Plotly knows.

    `by_night` gives colours their counterparts on a dark ground.

    >>> from jostle import plots
    >>> picture = drawn(plots.bars([44_900, 12_000], [30, 30], labels=["<icu>", "er"], title="Patients by ward"))
    >>> "&lt;icu&gt;" in picture, "40,000" in picture, len(picture) < 10_000
    (True, True, True)
    """
    parts = _plain(figure.to_plotly_json())
    layout, traces = parts["layout"], parts["data"]
    notes = (layout.get("meta") or {}).get("notes", ())
    if any(name.startswith(("xaxis", "yaxis")) and name[5:] for name in layout) or not traces:
        raise CannotDraw
    if any(trace["type"] not in _DRAW for trace in traces):
        raise CannotDraw
    across, up = (_axis(name, layout.get(f"{name}axis", {}), traces) for name in "xy")
    up.reversed = not up.reversed  # pixels count downwards
    title = layout.get("title", {})
    heading = _lines(title.get("text", "")), _lines(title.get("subtitle", {}).get("text", ""))
    named = [trace for trace in traces if trace.get("name") and trace.get("showlegend", True)]
    legend = _legend(named) if len(named) > 1 and layout.get("showlegend", True) else []
    top = 26 + 22 * len(heading[0]) + 16 * len(heading[1]) + 24 * len(legend)
    left = 28 + _LETTER * max([3, *(len(words) for _, words in up.marks)]) + (16 if up.title else 0)
    width = _width([words for _, words in across.marks])
    slanted = across.kind == "category" and width > WIDTH - left - 20
    if across.kind != "category":
        across.marks = across.marks[:: math.ceil(width / (WIDTH - left - 20))]
    below = (18 + (0.6 * _LETTER * max(len(words) for _, words in across.marks) if slanted else 0)) + (
        22 if across.title else 6
    )
    plot = max(160.0, float(layout.get("height") or 440) - top - below - 20)
    across.start, across.length = left, WIDTH - left - 20
    up.start, up.length = top, plot
    height = top + plot + below + 17 * len(notes) + 8
    body = [
        *_heading(*heading),
        *(
            f'<g transform="translate(0 {top - 22 * (len(legend) - row) - 4})">{words}</g>'
            for row, words in enumerate(legend)
        ),
        *_grid(across, up, slanted),
        *(part for place, trace in enumerate(traces) for part in _DRAW[trace["type"]](trace, across, up, traces, place)),
        *_shapes(layout.get("shapes", ()), across, up),
        *(
            f'<text class="small" x="16" y="{top + plot + below + 17 * (row + 1) - 6:.0f}">{escape(note)}</text>'
            for row, note in enumerate(notes)
        ),
    ]
    spoken = escape(" ".join(heading[0]) or "chart")
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{spoken}">'
    drawing = "\n".join(body)
    return "\n".join([begin, f"<style>{_STYLE}{_by_night(drawing, by_night or {})}</style>", drawing, "</svg>\n"])


def _by_night(drawing: str, colours: Mapping[str, str]) -> str:
    """The style that gives each colour of the palette in the drawing its counterpart on a dark ground."""
    used = [(day, night) for day, night in colours.items() if f'"{day}"' in drawing]
    rules = [f'[fill="{day}"] {{ fill: {night} }} [stroke="{day}"] {{ stroke: {night} }}' for day, night in used]
    return f"\n@media screen and (prefers-color-scheme: dark) {{ {' '.join(rules)} }}" if rules else ""


def _plain(value: Any) -> Any:
    """The same with arrays where Plotly has them as encoded bytes."""
    if isinstance(value, dict) and "bdata" in value:
        array = np.frombuffer(b64decode(value["bdata"]), dtype=value["dtype"])
        return array.reshape([int(side) for side in value["shape"].split(",")]) if "shape" in value else array
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _lines(text: str | None) -> list[str]:
    """What Plotly would show of a text with line breaks, whose other characters are escaped or plain."""
    return [one for one in (text or "").split("<br>") if one]


def _words(text: str) -> str:
    """Text for the picture: escaped once, whether or not it is escaped for Plotly."""
    for entity, plain in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&")):
        text = text.replace(entity, plain)
    return escape(text)


def _heading(title: list[str], subtitle: list[str]) -> Iterator[str]:
    for row, line in enumerate(title):
        yield f'<text class="title" x="16" y="{26 + 22 * row}">{_words(line)}</text>'
    for row, line in enumerate(subtitle):
        yield f'<text class="small" x="16" y="{24 + 22 * len(title) + 16 * row}">{_words(line)}</text>'


def _legend(traces: list[Any]) -> list[str]:
    """Rows of coloured squares with names."""
    rows, x = [""], 16.0
    for trace in traces:
        name = str(trace["name"])
        wide = 30 + _LETTER * len(name)
        if x + wide > WIDTH and rows[-1]:
            rows.append("")
            x = 16.0
        colour = trace.get("fillcolor") or _colour(trace)
        rows[-1] += f'<rect x="{x:.0f}" y="-9" width="12" height="12" fill="{colour}"/>'
        rows[-1] += f'<text class="small" x="{x + 17:.0f}" y="1">{_words(name)}</text>'
        x += wide
    return rows


def _axis(name: str, layout: Mapping[str, Any], traces: Sequence[Mapping[str, Any]]) -> _Axis:
    title = (layout.get("title") or {}).get("text") or ""
    values = [value for trace in traces for value in _along(name, trace)]
    lying = [trace["x"] for trace in traces if trace.get("orientation") == "h"]
    if name == "x" and lying:
        values += np.sum([np.asarray(one, dtype=float) for one in lying], axis=0).tolist()
    kind = layout.get("type") or ("category" if any(isinstance(value, str) for value in values) else "linear")
    backwards = layout.get("autorange") == "reversed"
    if kind == "category":
        labels = list(dict.fromkeys(str(value) for value in values))
        every = math.ceil(len(labels) / (SLANTED if name == "x" and _width(labels) > WIDTH / 1.2 else 40))
        marks = [(float(at), _cut(labels[at])) for at in range(0, len(labels), every)]
        return _Axis("category", -0.6, len(labels) - 0.4, labels, title, marks, backwards)
    low, high = _reach(
        kind, values, zero=any(trace["type"] == "bar" for trace in traces) or layout.get("rangemode") == "tozero"
    )
    if layout.get("range") is not None:
        low, high = (10.0**end if kind == "log" else float(end) for end in layout["range"])
    if layout.get("tickvals") is not None:
        shown = layout.get("ticktext")
        texts = [number(float(value)) for value in layout["tickvals"]] if shown is None else shown
        marks = [(float(at), _cut(str(words))) for at, words in zip(layout["tickvals"], texts, strict=True)]
    else:
        found = log_ticks(low, high) if kind == "log" else ticks(low, high)
        percent = str(layout.get("tickformat", "")).endswith("%")
        marks = [(at, f"{number(100 * at)} %" if percent else number(at)) for at in found]
    return _Axis(kind, low, high, [], title, marks, backwards)


def _width(labels: Sequence[str]) -> float:
    """What labels beside each other take, in pixels."""
    return _LETTER * sum(len(words) + 2 for words in labels)


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"


def _along(name: str, trace: Mapping[str, Any]) -> list[Any]:
    """All values of a trace along an axis, with the ends of its intervals."""
    if trace["type"] == "heatmap":
        given = trace.get(name)
        return list(given) if given is not None else list(range(np.shape(trace["z"])[1 if name == "x" else 0]))
    if trace["type"] == "box":
        return (
            [str(trace.get("name", ""))]
            if name == "x"
            else [v for v in np.asarray(trace["y"], dtype=float) if np.isfinite(v)]
        )
    given = trace.get(name)
    if given is None:
        return []
    values = list(given)
    off = trace.get(f"error_{name}") or {}
    if off.get("array") is not None and not any(isinstance(value, str) for value in values):
        plus, minus = off["array"], off["arrayminus"] if off.get("arrayminus") is not None else off["array"]
        values += [v + p for v, p in zip(given, plus, strict=True)] + [v - m for v, m in zip(given, minus, strict=True)]
    return values


def _reach(kind: str, values: Sequence[Any], *, zero: bool) -> tuple[float, float]:
    found = [
        float(value)
        for value in values
        if value is not None and math.isfinite(float(value)) and (kind != "log" or value > 0)
    ]
    if not found:
        return (0.1, 10.0) if kind == "log" else (0.0, 1.0)
    low, high = min(found), max(found)
    if kind == "log":
        return (low / 1.15, high * 1.15)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = (high - low or abs(high) or 1.0) * 0.04
    return low - (0 if zero and low == 0 else room), high + (0 if zero and high == 0 and low < 0 else room)


def _grid(across: _Axis, up: _Axis, slanted: bool) -> Iterator[str]:
    left, right, bottom = across.start, across.start + across.length, up.start + up.length
    for at, words in up.marks:
        y = up.at(at)
        if up.kind != "category":
            yield f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_GRID}"/>'
        yield f'<text class="small" text-anchor="end" x="{left - 8:.1f}" y="{y + 4:.1f}">{_words(words)}</text>'
    for at, words in across.marks:
        x = across.at(at)
        if across.kind != "category":
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{up.start:.1f}" y2="{bottom:.1f}" stroke="{_GRID}"/>'
        turned = (
            f' transform="rotate(-35 {x:.1f} {bottom + 12:.1f})" text-anchor="end"' if slanted else ' text-anchor="middle"'
        )
        yield f'<text class="small" x="{x:.1f}" y="{bottom + 16:.1f}"{turned}>{_words(words)}</text>'
    yield f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{bottom:.1f}" y2="{bottom:.1f}" stroke="{_SOFT}"/>'
    if across.title:
        low = bottom + 36 + (0.6 * _LETTER * max(len(words) for _, words in across.marks) if slanted else 0)
        yield f'<text text-anchor="middle" x="{(left + right) / 2:.1f}" y="{low:.1f}">{_words(across.title)}</text>'
    if up.title:
        middle = up.start + up.length / 2
        turned = f'transform="rotate(-90 18 {middle:.1f})" text-anchor="middle"'
        yield f'<text {turned} x="18" y="{middle:.1f}">{_words(up.title)}</text>'


def _colour(trace: Mapping[str, Any]) -> str:
    for part in ("marker", "line"):
        colour = (trace.get(part) or {}).get("color")
        if isinstance(colour, str):
            return colour
    return "#0072b2"


def _each_colour(trace: Mapping[str, Any], size: int) -> list[str]:
    colour = (trace.get("marker") or {}).get("color")
    return [str(one) for one in colour] if isinstance(colour, (list, tuple, np.ndarray)) else [_colour(trace)] * size


def _line(x1: float, x2: float, y1: float, y2: float, colour: str, width: float = 1.3) -> str:
    return f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width:g}"/>'


def _whiskers(trace: Mapping[str, Any], across: _Axis, up: _Axis, xs: Sequence[float]) -> Iterator[str]:
    off = trace.get("error_y") or {}
    if off.get("array") is None:
        return
    minus = off["arrayminus"] if off.get("arrayminus") is not None else off["array"]
    for x, y, more, less in zip(xs, trace["y"], off["array"], minus, strict=True):
        if not all(map(math.isfinite, (y, more, less))):
            continue
        high, low = up.at(y + more), up.at(y - less)
        yield _line(x, x, low, high, _INK)
        yield from (_line(x - 4, x + 4, end, end, _INK) for end in (low, high))


def _bars(trace: Mapping[str, Any], across: _Axis, up: _Axis, traces: Sequence[Any], place: int) -> Iterator[str]:
    if trace.get("orientation") == "h":
        yield from _lying_bars(trace, across, up, traces[:place])
        return
    bars = [at for at, one in enumerate(traces) if one["type"] == "bar"]
    thick = 0.8 / len(bars)
    shift = (bars.index(place) - (len(bars) - 1) / 2) * thick
    unit = across.length / (across.high - across.low)
    xs = [across.at(across.place(value) + shift) for value in trace["x"]]
    bottom = up.at(max(up.low, 0.0) if up.kind != "log" else up.low)
    for x, label, y, colour in zip(xs, trace["x"], trace["y"], _each_colour(trace, len(xs)), strict=True):
        if y is None or not math.isfinite(y):
            continue
        top, low = sorted((up.at(y), bottom))
        half = thick * unit / 2
        box = f'x="{x - half:.1f}" y="{top:.1f}" width="{2 * half:.1f}" height="{max(low - top, 0.5):.1f}"'
        yield f'<rect {box} fill="{colour}"><title>{escape(str(label))}: {number(y)}</title></rect>'
    yield from _whiskers(trace, across, up, xs)


def _lying_bars(trace: Mapping[str, Any], across: _Axis, up: _Axis, before: Sequence[Any]) -> Iterator[str]:
    """Bars to the right, each where those of the series before it end."""
    half = 0.35 * up.length / (up.high - up.low)
    for place, (label, value, colour) in enumerate(
        zip(trace["y"], trace["x"], _each_colour(trace, len(trace["x"])), strict=True)
    ):
        begin = sum(float(one["x"][place]) for one in before)
        x, end, y = max(across.at(begin), across.start), across.at(begin + value), up.at(up.place(label))
        box = f'x="{x:.1f}" y="{y - half:.1f}" width="{max(end - x, 0):.1f}" height="{2 * half:.1f}"'
        yield f'<rect {box} fill="{colour}"><title>{escape(str(label))}: {number(value)}</title></rect>'


def _scatter(trace: Mapping[str, Any], across: _Axis, up: _Axis, traces: Sequence[Any], place: int) -> Iterator[str]:
    pairs = [(across.at(across.place(x)), up.at(up.place(y)), x, y) for x, y in zip(trace["x"], trace["y"], strict=True)
             if y is not None and x is not None and (isinstance(y, str) or math.isfinite(y))]  # fmt: skip
    line = trace.get("line") or {}
    mode = trace.get("mode") or "lines"
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, *_ in pairs)
    if trace.get("fill") == "toself":
        yield f'<path d="{path}Z" fill="{trace.get("fillcolor", "none")}" stroke="none"/>'
        return
    if "lines" in mode and line.get("width") != 0:
        dash = {"dot": "2 4", "dash": "8 5"}.get(str(line.get("dash")), "")
        stroke = f'stroke="{_colour(trace)}" stroke-width="{line.get("width", 2):g}" stroke-dasharray="{dash}"'
        yield f'<path d="{path}" fill="none" {stroke}/>'
    yield from _whiskers(trace, across, up, [x for x, *_ in pairs]) if len(pairs) == len(trace["x"]) else ()
    if "text" in mode:
        for (x, y, *_), words in zip(pairs, trace["text"], strict=False):
            yield f'<text text-anchor="middle" x="{x:.1f}" y="{y - 12:.1f}">{_words(str(words))}</text>'
    if "markers" in mode:
        for (x, y, a, b), colour in zip(pairs, _each_colour(trace, len(pairs)), strict=False):
            said = f"{a if isinstance(a, str) else number(a)}: {b if isinstance(b, str) else number(b)}"
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{escape(said)}</title></circle>'


def _map(trace: Mapping[str, Any], across: _Axis, up: _Axis, traces: Sequence[Any], place: int) -> Iterator[str]:
    z = np.asarray(trace["z"], dtype=float)
    if z.size > 20_000:
        raise CannotDraw
    low, high = float(np.nanmin(z)), float(np.nanmax(z))
    wide, tall = (axis.length / (axis.high - axis.low) for axis in (across, up))
    rows = [*map(float, range(z.shape[0]))] if trace.get("y") is None else [up.place(one) for one in trace["y"]]
    columns = [*map(float, range(z.shape[1]))] if trace.get("x") is None else [across.place(one) for one in trace["x"]]
    whole = max(abs(low), abs(high)) >= 10
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            if not math.isfinite(z[i, j]):
                continue
            shade = _shade((z[i, j] - low) / (high - low or 1.0))
            x, y = across.at(column), up.at(row)
            box = f'x="{x - wide / 2:.1f}" y="{y - tall / 2:.1f}" width="{wide + 0.3:.1f}" height="{tall + 0.3:.1f}"'
            yield f'<rect {box} fill="rgb{shade}"><title>{number(z[i, j])}</title></rect>'.replace(", ", ",")
            words = number(round(z[i, j]) + 0.0 if whole else float(f"{z[i, j]:.3g}"))
            if z.size <= _MOST_NUMBERS and wide > _LETTER * len(words):
                ink = "#000" if sum(shade) > 380 else "#fff"
                yield f'<text text-anchor="middle" x="{x:.1f}" y="{y + 4:.1f}" style="fill:{ink}">{words}</text>'


def _shade(part: float) -> tuple[int, int, int]:
    at = min(max(part, 0.0), 1.0) * (len(_CIVIDIS) - 1)
    lower = min(int(at), len(_CIVIDIS) - 2)
    a, b, c = (round(x + (y - x) * (at - lower)) for x, y in zip(_CIVIDIS[lower], _CIVIDIS[lower + 1], strict=True))
    return a, b, c


def _boxes(trace: Mapping[str, Any], across: _Axis, up: _Axis, traces: Sequence[Any], place: int) -> Iterator[str]:
    x, half = across.at(across.place(trace.get("name", ""))), 0.3 * across.length / (across.high - across.low)
    values = np.asarray(trace["y"], dtype=float)
    low, first, middle, last, high = (up.at(float(v)) for v in np.nanquantile(values, [0, 0.25, 0.5, 0.75, 1]))
    colour = _colour(trace)
    yield from (_line(x, x, a, b, colour) for a, b in ((low, first), (last, high)))
    box = f'x="{x - half:.1f}" y="{last:.1f}" width="{2 * half:.1f}" height="{max(first - last, 1):.1f}"'
    yield f'<rect {box} fill="{colour}" fill-opacity=".25" stroke="{colour}"/>'
    yield _line(x - half, x + half, middle, middle, colour, 2.5)


def _shapes(shapes: Sequence[Mapping[str, Any]], across: _Axis, up: _Axis) -> Iterator[str]:
    """Straight lines across the whole picture, such as a level."""
    for shape in shapes:
        ends = [shape[name] for name in ("x0", "x1", "y0", "y1")]
        if shape.get("type") != "line" or "domain" not in str(shape.get("xref", "")) + str(shape.get("yref", "")):
            raise CannotDraw
        colour = (shape.get("line") or {}).get("color", "#8a8f98")
        if "domain" in str(shape.get("xref", "")):
            y = up.at(float(ends[2]))
            yield _line(across.start, across.start + across.length, y, y, colour)
        else:
            x = across.at(float(ends[0]))
            yield _line(x, x, up.start, up.start + up.length, colour)


_DRAW: Final[Mapping[str, Callable[..., Iterator[str]]]] = {
    "bar": _bars,
    "scatter": _scatter,
    "heatmap": _map,
    "box": _boxes,
}
