"""Pictures: one look, files that need nothing else, and something to look at on every result."""

from __future__ import annotations

import os
import shutil
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle import BadInput, Ledger, plots, workloads
from jostle.answers.answer import Answer
from jostle.audit.examine import Verdict
from jostle.choice.epsilon import epsilon_for
from jostle.choice.traces import Seen, Trace
from jostle.learn import FriedmanSchuster
from jostle.schema import Boolean, Category, Integer
from tests.explorer.tiny import tiny_selector


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "budget.db") as made:
        made.account("people", cap=10)
        yield made


def released(ledger, x, workload=None):
    return jostle.release(x, workload, epsilon=1, account=ledger.account("people"), algorithm="Laplace")


def looks_alike(figure):
    assert figure.layout.font.family == plots.FONT
    assert tuple(figure.layout.colorway) == plots.PALETTE
    return figure


def test_a_release_is_drawn_by_what_was_asked(ledger):
    few = looks_alike(released(ledger, [5, 9, 1]).plot())
    assert few.data[0].type == "bar"
    assert len(few.data[0].error_y.array) == 3
    many = looks_alike(released(ledger, np.arange(100), workloads.prefix(100)).plot())
    assert [trace.name for trace in many.data] == ["95 % interval", "released"]
    grid = looks_alike(released(ledger, np.ones((3, 4), dtype=int)).plot())
    assert (grid.data[0].type, np.shape(grid.data[0].z)) == ("heatmap", (3, 4))


def test_a_long_line_is_thinned_and_keeps_its_ends_apart(ledger):
    figure = plots.line(np.arange(100_000), np.ones(100_000))
    assert len(figure.data[1].x) <= plots.LONGEST_AXIS


def test_a_notebook_shows_a_release_in_words_and_escapes_them(ledger):
    shown = released(ledger, [5, 9, 1])._repr_html_()
    assert "typically within" in shown
    assert "<table" in shown
    trace = Trace(
        task="range-1d",
        selector="<b>rule</b>",
        choice="HB",
        epsilon=Fraction(1),
        remainder=Fraction(9, 10),
        features=(Seen(name="scale", value=12.5, epsilon=Fraction(1, 10), noise=3.0),),
        regrets={"HB": 1.1, "Laplace": 3.0},
    )
    assert "<b>rule" not in trace._repr_html_()
    assert "0.9" in trace._repr_html_()
    assert list(looks_alike(trace.plot()).data[0].y) == ["HB", "Laplace"]
    assert trace.shares == "ε = 1: 10 % on scale, 90 % on HB"


def test_the_ledger_an_audit_and_a_selector_are_drawn(ledger):
    released(ledger, [5, 9, 1])
    spent, left = looks_alike(plots.spending(ledger.statement())).data
    assert (list(spent.x), list(left.x)) == ([1.0], [9.0])
    told = {"family": "plan", "neighbours": "replace", "engine": "exact", "confidence": 0.999, "samples": 9}
    verdicts = [Verdict(name=n, claimed=1.0, bound=b, pair="p", event="e", **told) for n, b in (("good", 0.9), ("bad", 1.4))]
    assert list(looks_alike(plots.audited(verdicts)).data[0].marker.color) == [plots.ACCENT, plots.CONTRAST]
    assert looks_alike(tiny_selector().plot()).data


def test_every_result_is_drawn_alike_and_shown_in_a_notebook_with_its_words_escaped(ledger, tmp_path):
    frame = pd.DataFrame({"<b>age": [31, 45, 20, 38], "sex": ["F", "M", "F", "F"]})
    schema = {"<b>age": Integer(0, 99), "sex": Category(["F", "M"])}
    people = jostle.open(frame, schema=schema, ledger=ledger, name="four", budget=100)
    fit = FriedmanSchuster(epsilon=1, random_state=0, label="sick", schema={"age": Integer(0, 9), "sick": Boolean()})
    fit.fit(pd.DataFrame({"age": [1, 2, 8, 9] * 5}), [False, False, True, True] * 5)
    told = {"family": "plan", "neighbours": "replace", "engine": "exact", "confidence": 0.999, "samples": 9}
    results = [
        people.histogram("<b>age", epsilon=1, algorithm="HB"),
        people.sum("<b>age", epsilon=1),
        people.mean("<b>age", by="sex", epsilon=1),
        people.quantiles("<b>age", [0.5], epsilon=1),
        people.top("<b>age", k=2, epsilon=1, algorithm="Laplace"),
        people.marginals(("<b>age", "sex"), ("sex",), epsilon=1),
        epsilon_for(workloads.identity(8), within=5),
        tiny_selector(),
        Verdict(name="<b>x", claimed=1.0, bound=0.5, pair="p", event="e", **told),
        fit.model_,
    ]
    for result in results:
        looks_alike(result.plot())
        assert "<b>" not in result._repr_html_(), result
        assert plots.save(result.plot(), tmp_path / "picture.html").stat().st_size < (
            300_000 if isinstance(result, Answer) else 10**7
        )
    assert looks_alike(plots.spending(ledger)).data


def test_every_colour_can_be_told_from_the_ground():
    def light(colour):
        parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        return np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722] + 0.05

    for colour in (*plots.PALETTE, plots.MUTED, plots.INK):
        assert 1.05 / light(colour) >= 3
        assert light(plots.DARK[colour]) / light("#1a1f28") >= 3


# How people without one kind of cone see colours (Machado, Oliveira, Fernandes 2009, severity 1), on linear RGB.
SEEN = {
    "all cones": np.eye(3),
    "no L cones": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no M cones": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eyes", SEEN)
def test_no_two_colours_look_alike(eyes, dark):
    seen = []
    for colour in ((plots.DARK[one] if dark else one) for one in (*plots.PALETTE, plots.MUTED)):
        parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        linear = np.clip(SEEN[eyes] @ np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4), 0, 1)
        xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
        f = np.cbrt(xyz / [0.9505, 1, 1.089]).clip(0.138)  # CIE Lab
        seen.append([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
    apart = [np.hypot.reduce(np.subtract(a, b)) for place, a in enumerate(seen) for b in seen[:place]]
    assert min(apart) > 10, "a difference below about 2.3 is not seen at all, one of 10 at a glance"


def test_html_needs_nothing_from_elsewhere(tmp_path):
    page = plots.save(plots.bars([1], labels=["a"]), tmp_path / "picture.html").read_text("utf-8")
    assert "<svg" in page
    assert "<script" not in page
    assert "src=" not in page
    parts = plots.new("Two parts").add_bar(x=[1], y=[1], xaxis="x2")
    page = plots.save(parts.update_layout(xaxis2={"title": {"text": "other"}}), tmp_path / "parts.html").read_text("utf-8")
    assert "Plotly.newPlot" in page
    assert 'src="http' not in page


def test_a_picture_is_saved_as_png_where_there_is_a_browser(tmp_path):
    missing = [name for name in ("chromium",) if shutil.which(name) is None]
    try:
        import kaleido  # noqa: F401
    except ImportError:
        missing.append("kaleido")
    if missing:
        if os.environ.get("JOSTLE_REQUIRE_ALL") == "1":
            pytest.fail(f"JOSTLE_REQUIRE_ALL=1, but {' and '.join(missing)} is not installed")
        pytest.skip(f"{' and '.join(missing)} is not installed")
    file = plots.save(plots.bars([1, 2], labels=["a", "b"]), tmp_path / "picture.png")
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "problem"), [("picture.gif", "ends in none of"), ("nowhere/picture.html", "folder")])
def test_what_cannot_be_saved_is_refused(tmp_path, name, problem):
    with pytest.raises(BadInput, match=problem):
        plots.save(plots.new(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_png_without_its_package_is_refused_and_one_that_fails_leaves_the_older_one(tmp_path, monkeypatch):
    def no_browser(*_, **__):
        raise RuntimeError("no browser")

    older = tmp_path / "picture.png"
    older.write_bytes(b"an older one")
    monkeypatch.setattr("plotly.graph_objects.Figure.to_image", no_browser)
    monkeypatch.setattr(plots, "find_spec", lambda _: object())
    with pytest.raises(BadInput, match="a Chrome or Chromium"):
        plots.save(plots.new(), older)
    monkeypatch.setattr(plots, "find_spec", lambda _: None)
    with pytest.raises(BadInput, match=r"^plot: a PNG needs the package kaleido"):
        plots.savable(older, "plot")
    assert older.read_bytes() == b"an older one"


def test_figures_without_axes_keep_their_ticks():
    import plotly.graph_objects as go

    assert plots.with_plain_ticks(go.Figure(go.Pie(values=[1, 2]))).layout.xaxis.tickvals is None


def test_a_picture_has_other_colours_by_night():
    picture = plots._page(plots.bars([3.0, 5.0], [1.0, 1.0], labels=["a", "b"]), ".svg")
    assert f'[fill="{plots.ACCENT}"] {{ fill: {plots.DARK[plots.ACCENT]} }}' in picture
    assert plots.DARK[plots.CONTRAST] not in picture  # a colour that is not used


def test_more_than_eight_series_are_grey_in_every_panel_and_log_axes_have_plain_numbers():
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1)
    for row in (1, 2):
        for name in "abcdefghij":
            figure.add_scatter(x=[0.1, 2], y=[1, 2], name=name, row=row, col=1)
    figure.update_xaxes(type="log")
    drawn = plots.with_plain_ticks(plots.series_coloured(figure, chosen="j"))
    colours = {}
    for one in drawn.data:
        colours.setdefault(one.name, set()).add(one.line.color)
    assert {name: len(found) for name, found in colours.items()} == dict.fromkeys([*"abcdej", "4 others"], 1)
    assert len({colour for found in colours.values() for colour in found}) == 7
    assert sum(bool(one.showlegend) for one in drawn.data) == 7
    assert list(drawn.layout.xaxis2.ticktext) == list(drawn.layout.xaxis.ticktext) == ["0.1", "0.2", "0.5", "1", "2"]


def test_in_svg_lying_bars_on_a_log_axis_leave_their_names_alone_and_counts_are_whole(tmp_path):
    lying = plots.new(log_x=True).add_bar(y=["one", "two"], x=[1.2, 300], orientation="h").update_yaxes(type="category")
    picture = plots.save(lying, tmp_path / "a.svg").read_text()
    starts = [float(part.split('"')[0]) for part in picture.split('<rect x="')[1:]]
    names = [float(part.split('"')[0]) for part in picture.split('text-anchor="end" x="')[1:]]
    assert min(starts) > max(names)
    cells = plots.save(plots.heat([[410.4, 0.0063]], labels=[["A"], ["F", "M"]]), tmp_path / "b.svg").read_text()
    assert ">410</text>" in cells
    assert ">0</text>" in cells
