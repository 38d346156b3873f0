"""Tables of the part about questions under (ε, δ)."""

from __future__ import annotations

from collections.abc import Sequence

from jostle_bench.peers.delta import FOR_LARGE, LEFT_OUT, SHOWN, TRIALS, Errors
from jostle_bench.peers.environments import OURSELVES
from jostle_bench.peers.jobs import Job, Outcome
from jostle_bench.peers.questions import DELTA, KEYS_OF_A_SIZE, SIZES
from jostle_bench.reports.sections import Grid, Section

_HOW = (
    f"Everybody answers the same questions about the same rows under the same ε, with δ = {DELTA:g}, and protects one "
    "person more or less. Laplace noise, which needs no δ, is taken where it is less than Gaussian noise. Ours decides "
    "that itself; for peers, the adapter decides by the formulas of both, as a user could. Figures are root mean square "
    f"errors over all cells, as means of {TRIALS} runs ({FOR_LARGE} for marginals and the batch by PipelineDP and Tumult "
    "Analytics). Means are cut to their bounds, 0 and 100. All are runs; none is a closed form."
)
_CENTRED = (
    "Values are whole numbers from 0 to 100. PipelineDP and jostle move them to the middle of their bounds themselves. The "
    "others are given v − 50, which halves the noise on a sum; a mean is then 50 plus the sum over the count."
)
_KEYS = (
    f"There are {KEYS_OF_A_SIZE} keys of each size, the number of persons who have them. The share of those that were "
    "shown, by size; the error over all keys, in which one that is left out counts as 0; and the error of the counts that "
    "are shown, which are others for each library."
)


def sections(found: Sequence[Errors], outcomes: Sequence[tuple[Job, Outcome]]) -> list[Section]:
    """Known cells, private keys, and what each was asked for."""
    if not found:
        return []
    known = [one for one in found if one.asking.kind != "keys"]
    first = Section(title="Questions under the same (ε, δ)", texts=[_HOW, _CENTRED], grids=_known(known))
    keys = [one for one in found if one.asking.kind == "keys"]
    second = [Section(title="Groups that nobody listed", texts=[_KEYS], grids=_private(keys))] if keys else []
    return [first, *second, _used(outcomes)]


def _known(found: Sequence[Errors]) -> list[Grid]:
    grids = []
    whos = list(dict.fromkeys(one.who for one in found))
    for kind in ("counts", "three"):
        here = [one for one in found if one.asking.kind == kind]
        questions = list(dict.fromkeys((one.asking.name, one.what, one.epsilon) for one in here))
        rows = []
        for name, what, epsilon in questions:
            cells = {one.who: one for one in here if (one.asking.name, one.what, one.epsilon) == (name, what, epsilon)}
            words = f"{what}: {next(iter(cells.values())).asking.words}"
            shown = [f"{cells[who].errors.mean():.4g}" if who in cells else "" for who in whos]
            rows.append([words, f"{epsilon:g}", *shown])
        title = "Count, sum and mean at one price" if kind == "three" else "Counts"
        grids.append(Grid(title=title, headings=["", "ε", *whos], rows=rows))
    return grids


def _private(found: Sequence[Errors]) -> list[Grid]:
    grids = []
    for name, epsilon in dict.fromkeys((one.asking.name, one.epsilon) for one in found):
        here = [one for one in found if (one.asking.name, one.epsilon) == (name, epsilon)]
        rows = []
        for who in dict.fromkeys(one.who for one in here):
            mine = {one.what: one for one in here if one.who == who}
            shares = [f"{share:.0%}" for share in mine[LEFT_OUT].released]  # type: ignore[union-attr]  # these have them
            within = mine[SHOWN].errors
            rows.append(
                [
                    who,
                    *shares,
                    f"{mine['counts'].errors.mean():.1f}",
                    f"{within.mean():.3g}" if within.size else "–",
                ]
            )
        words = f"{here[0].asking.words}, ε = {epsilon:g}"
        headings = [words, *(f"{size:,}" for size in SIZES), "error over all", "error of those shown"]
        grids.append(Grid(title=words, headings=headings, rows=rows))
    return grids


def _used(outcomes: Sequence[tuple[Job, Outcome]]) -> Section:
    rows = [
        [job.peer.title, job.kind, outcome.facts["method"], f"{outcome.wall:.1f}"]
        for job, outcome in sorted(outcomes, key=lambda pair: pair[0].peer.name != OURSELVES)
        if outcome.status == "ok"
    ]
    grid = Grid(headings=["", "questions", "what was used", "seconds in all"], rows=rows)
    return Section(title="What was used under (ε, δ)", texts=["Each with the best of its public settings."], grids=[grid])
