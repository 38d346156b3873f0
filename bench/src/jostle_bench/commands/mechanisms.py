"""`jostle bench mechanisms`: how fast the large choices and the local model are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from jostle.cli.terminal import Working
from jostle_bench.reports.terminal import Row, seconds, show_rows

MILLION = 10**6


def mechanisms(as_json: Annotated[bool, typer.Option("--json", help="Print numbers for a script.")] = False) -> None:
    """What choosing among a million candidates or pieces costs, as a simulation and as a release; randomized response."""
    from jostle.kernel.ledger import Ledger
    from jostle.mechanisms import simulation

    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger, Working() as working:
        working.on("Measuring")
        released = ledger.account("bench", cap=10**6).grant
        rows = [
            *_choices("as a simulation", simulation(seed=0).grant, "under 200"),
            *_choices("as a release", released, "under 2,000"),
            _responses(),
        ]
    show_rows("The mechanisms on this machine", rows, as_json=as_json)


def _choices(how: str, grant: Callable[[Any], Any], goal: str) -> list[Row]:
    """Flat scores, and scores of which one stands out: the slower of the two counts."""
    import numpy as np

    from jostle.mechanisms import exponential, exponential_line

    cuts, candidates = np.arange(1, MILLION) / MILLION, range(MILLION)
    rough = np.random.default_rng(0).integers(0, 1000, MILLION)
    peaked = np.where(np.arange(MILLION) == 77, 10**6, 0)

    def choose(scores: Any) -> None:
        exponential(candidates, scores, sensitivity=1, budget=grant(1))

    def choose_on_the_line(scores: Any) -> None:
        exponential_line(cuts, scores, bounds=(0, 1), sensitivity=1, budget=grant(1))

    candidate_times, piece_times = (
        [_milliseconds(partial(work, scores)) for scores in (rough, peaked)] for work in (choose, choose_on_the_line)
    )
    return [
        (f"exponential mechanism, 10⁶ candidates, {how}", max(candidate_times), "ms", goal),
        (f"exponential mechanism, 10⁶ pieces, {how}", max(piece_times), "ms", goal),
    ]


def _responses() -> Row:
    import numpy as np

    from jostle.mechanisms import RandomizedResponse

    values, response = np.arange(MILLION) % 10, RandomizedResponse(10, epsilon=1)
    taken = _milliseconds(lambda: response.simulate(values, seed=0))
    return ("randomized response, 10⁶ values of 10 categories, as a simulation", taken, "ms", "under 100")


def _milliseconds(work: Callable[[], Any]) -> float:
    return 1000 * median(seconds(work, repeat=5))
