"""Tables and the picture of the classifiers' part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jostle import plots
from jostle_bench.peers.classifiers import SPLITS, Errors
from jostle_bench.peers.environments import OURSELVES
from jostle_bench.reports.sections import Grid, Section

_HOW = (
    "The share of held-out records that are misclassified, as a mean over up to {splits} random splits, each with noise of "
    "its own. All learn from the same records and know the same: declared bounds and categories, numbers scaled to [0, 1] "
    "by them. Ours is `PrivateClassifier` with its defaults, a simulation on public data. Peers' models have their "
    "defaults; diffprivlib's trees also a second depth, and interpret's boosting a second learning rate, "
    "the best of seven on the first split of Adult, where it is flattered. A model that has used five seconds of the "
    "processor begins no further split, and is compared with ours on the splits that it has done."
)
_PRIVATREE = (
    "interpret's boosting is (ε, δ)-private; all others have δ = 0. It is compared with ours at δ = 0, which is "
    "(ε, δ)-private, too; ours with noise for that δ is shown beside it. "
    "PrivaTree is our reading of its paper; as published, it counts the histograms of all attributes as one, which is "
    "not ε-private: that is shown, and compared with nothing."
)
_ECE = (
    "The expected calibration error: the distance of a prediction's probability from the share of right predictions, "
    "in 15 bins of probabilities, as a mean over the held-out records and over the tables. 0 is best."
)
_SEEN = (
    "Our chooser was trained on other tables, made-up and collected, but how the former are made up, and constants of its "
    "learners, were fixed with results on some of these splits in view: our figures are not those of untouched test data."
)


def sections(found: Sequence[Errors]) -> list[Section]:
    """A table for each data set, and what each model protects."""
    if not found:
        return []
    grids = [
        _grid(table, [one for one in found if one.table == table]) for table in dict.fromkeys(one.table for one in found)
    ]
    how = Section(
        title="Classifiers at equal ε",
        texts=[_HOW.format(splits=SPLITS), _PRIVATREE, _SEEN],
        grids=grids,
        figure="classifiers",
    )
    return [how, _calibration(found), _protected(found)]


def _calibration(found: Sequence[Errors]) -> Section:
    """How far probabilities are from shares of right predictions, as means over all tables."""
    epsilons = list(dict.fromkeys(one.epsilon for one in found))
    rows = []
    for who, neighbours, delta in dict.fromkeys(map(_terms, found)):
        mine = [one for one in found if _terms(one) == (who, neighbours, delta) and np.isfinite(one.calibration).all()]
        cells = [[float(one.calibration.mean()) for one in mine if one.epsilon == epsilon] for epsilon in epsilons]
        if mine:
            numbers = [f"{np.mean(each):.3f}" if each else "" for each in cells]
            rows.append([_named(who, neighbours, delta), *numbers, str(max(map(len, cells)))])
    headings = ["", *(f"ε = {epsilon:g}" for epsilon in epsilons), "tables"]
    return Section(title="Probabilities that come true", texts=[_ECE], grids=[Grid(headings=headings, rows=rows)])


def _named(who: str, neighbours: str, delta: float) -> str:
    return f"{who} ({neighbours}{f', δ = {delta:g}' if delta else ''})"


def _grid(table: str, here: Sequence[Errors]) -> Grid:
    epsilons = list(dict.fromkeys(one.epsilon for one in here))
    rows = []
    for who, neighbours, delta in dict.fromkeys(map(_terms, here)):
        mine = {one.epsilon: one for one in here if _terms(one) == (who, neighbours, delta)}
        cells = [f"{mine[epsilon].shares.mean():.4f}" if epsilon in mine else "" for epsilon in epsilons]
        some = next(iter(mine.values()))
        rows.append([_named(who, neighbours, delta), *cells, str(some.shares.size), f"{some.seconds:.2g}"])
    headings = [table, *(f"ε = {epsilon:g}" for epsilon in epsilons), "splits", "processor seconds a fit"]
    return Grid(title=table, headings=headings, rows=rows)


def _protected(found: Sequence[Errors]) -> Section:
    rows = [[who, neighbours, f"{delta:g}"] for who, neighbours, delta in dict.fromkeys(map(_terms, found))]
    text = (
        "Each of a peer's models is compared with ours under its own definition of neighbours: one record more or less "
        "(add_remove), or one record changed (replace), for which ours needs about twice the noise."
    )
    return Section(
        title="What the classifiers protect", texts=[text], grids=[Grid(headings=["", "neighbours", "δ"], rows=rows)]
    )


def _terms(one: Errors) -> tuple[str, str, float]:
    return one.who, one.neighbours, one.delta


def pictures(found: Sequence[Errors]) -> dict[str, Any]:
    """Every error by table, at the largest ε: ours, and every peer's."""
    largest = max((one.epsilon for one in found), default=0.0)
    figure = plots.new(f"How many records are misclassified at ε = {largest:g}?", y="share")
    here = [
        one
        for one in found
        if one.epsilon == largest and (one.peer.name != OURSELVES or (one.neighbours == "add_remove" and not one.delta))
    ]
    for who in dict.fromkeys(one.who for one in here):
        mine = [one for one in here if one.who == who]
        figure.add_bar(
            x=[one.table for one in mine],
            y=[float(one.shares.mean()) for one in mine],
            name=who,
        )
    return {"classifiers": plots.series_coloured(figure, OURSELVES).update_layout(barmode="group", height=520)}
