"""A report as Markdown, and as one HTML page with its pictures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

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
        blocks += [*part.texts, *([_made_by(command)] if number == 0 else [])]
        blocks += [f"<!-- picture: {about}{part.figure} -->"] if part.figure else []
        blocks += [block for grid in part.grids for block in _markdown_grid(grid)]
        if part.drawing:
            blocks.append(f"```text\n{part.drawing}\n```")
    return "\n\n".join(blocks) + "\n"


def _markdown_grid(grid: Grid) -> list[str]:
    table = markdown_table(grid.headings, grid.rows)
    return [f"**{grid.title}**", table] if grid.title else [table]


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, its first column to the left and all others to the right.

    >>> print(markdown_table(["", "all"], [["HB", "1.2"]]))
    |  | all |
    | --- | ---: |
    | HB | 1.2 |
    """
    rule = ["---", *("---:" for _ in headings[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))


def page(parts: Sequence[Section], pictures: Mapping[str, Any], *, command: str) -> str:
    """An HTML page that needs nothing else: tables, and Plotly figures by name."""
    import jinja2

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["inline"] = _inline
    shown = [part.figure for part in parts if part.figure in pictures]
    figures = {}
    for name in shown:
        # Plotly's own script comes with the first figure.
        told: Any = {"include_plotlyjs": name == shown[0], "div_id": name, "config": plots.CONFIG}
        title, figure = plots.without_title(plots.with_plain_ticks(pictures[name]))
        drawn = Markup(figure.to_html(full_html=False, **told))  # noqa: S704  # Plotly escapes it
        figures[name] = Markup("<h3>{}</h3>{}").format(title, drawn)
    return templates.get_template("page.html").render(parts=parts, figures=figures, made_by=_made_by(command))


def _made_by(command: str) -> str:
    return f"Made by `{command}`."


def _inline(text: str) -> Markup:
    """The little Markdown that texts use.

    >>> str(_inline("**a** < `b`, *goal*"))
    '<strong>a</strong> &lt; <code>b</code>, <em>goal</em>'
    """
    shown = str(escape(text))
    for mark, tag in ((r"\*\*", "strong"), ("`", "code"), (r"\*", "em")):
        shown = re.sub(f"{mark}(.+?){mark}", rf"<{tag}>\1</{tag}>", shown)
    return Markup(shown)  # noqa: S704  # escaped above


def plain(figure: Any) -> dict[str, Any]:
    """A figure as plain values, without the theme, which whoever draws it adds again."""
    import json

    import plotly.graph_objects as go

    found: dict[str, Any] = json.loads(go.Figure(figure).update_layout(template="none").to_json(engine="json"))
    found["layout"].pop("template")
    return found
