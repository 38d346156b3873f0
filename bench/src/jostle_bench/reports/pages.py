"""A report as Markdown, and as one HTML page with its pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from jostle import plots
from jostle_bench.reports.sections import Grid, Section


def markdown(parts: Sequence[Section], *, command: str, about: str = "") -> str:
    """A page; its first section is the head. Where a picture belongs, a comment names it, after what it is `about`.

    >>> print(markdown([Section(title="Regret", grids=[Grid(headings=["", "all"], rows=[["HB", "1.2"]])])], command="do"))
    # Regret
    <BLANKLINE>
    Made by `do`.
    <BLANKLINE>
    |  | all |
    | --- | ---: |
    | HB | 1.2 |
    <BLANKLINE>
    """
    blocks: list[str] = []
    for number, part in enumerate(parts):
        blocks.append(f"{'#' if number == 0 else '##'} {part.title}")
        blocks += [*part.texts, *([f"Made by `{command}`."] if number == 0 else [])]
        blocks += [f"<!-- picture: {about}{part.figure} -->"] if part.figure else []
        blocks += [block for grid in part.grids for block in _markdown_table(grid)]
        if part.drawing:
            blocks.append(f"```text\n{part.drawing}\n```")
    return "\n\n".join(blocks) + "\n"


def _markdown_table(grid: Grid) -> list[str]:
    rule = ["---", *("---:" for _ in grid.headings[1:])]
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in (grid.headings, rule, *grid.rows))
    return [f"**{grid.title}**", table] if grid.title else [table]


_STYLE = """body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem }
.wide { overflow-x: auto } table { border-collapse: collapse } pre { background: #f6f6f6; padding: 1rem }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left }"""


def page(parts: Sequence[Section], pictures: Mapping[str, Any], *, command: str) -> str:
    """An HTML page that needs nothing else: tables, and Plotly figures by name."""
    body: list[str] = []
    script: str | bool = True  # Plotly's own script comes with the first figure
    for number, part in enumerate(parts):
        tag = "h1" if number == 0 else "h2"
        body.append(f"<{tag}>{escape(part.title)}</{tag}>")
        body += [f"<p>{_inline(text)}</p>" for text in (*part.texts, *([f"Made by `{command}`."] if number == 0 else []))]
        if part.figure in pictures:
            told: Any = {"include_plotlyjs": script, "div_id": part.figure, "config": plots.CONFIG}
            figure = pictures[part.figure].to_html(full_html=False, **told)
            body.append(f'<div class="wide">{figure}</div>')
            script = False
        body += [_html_table(grid) for grid in part.grids]
        if part.drawing:
            body.append(f'<pre class="wide">{escape(part.drawing)}</pre>')
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(parts[0].title)}</title>'
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head><body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _html_table(grid: Grid) -> str:
    rows = [
        "<tr>" + "".join(f"<{tag}>{_inline(cell)}</{tag}>" for cell in cells) + "</tr>"
        for tag, cells in (("th", grid.headings), *(("td", row) for row in grid.rows))
    ]
    heading = f"<h3>{escape(grid.title)}</h3>" if grid.title else ""
    return f'{heading}<div class="wide"><table>{"".join(rows)}</table></div>'


def _inline(text: str) -> str:
    """The little Markdown that texts use.

    >>> _inline("**a** < `b`, *goal*")
    '<strong>a</strong> &lt; <code>b</code>, <em>goal</em>'
    """
    shown = escape(text)
    for mark, tag in ((r"\*\*", "strong"), ("`", "code"), (r"\*", "em")):
        shown = re.sub(f"{mark}(.+?){mark}", rf"<{tag}>\1</{tag}>", shown)
    return shown


def plain(figure: Any) -> dict[str, Any]:
    """A figure as plain values, without the theme, which whoever draws it adds again."""
    import json

    import plotly.graph_objects as go

    found: dict[str, Any] = json.loads(go.Figure(figure).update_layout(template="none").to_json(engine="json"))
    found["layout"].pop("template")
    return found
