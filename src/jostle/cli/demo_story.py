"""What `jostle demo` does, apart from how it is shown: a table, a preview, a release, and what others would have done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.kernel.partition import Counts, Vector

if TYPE_CHECKING:
    from jostle.answers.previews import Preview
    from jostle.answers.release import Release
    from jostle.kernel.events import Event

NAME = "people"
WIDTH, CELLS = 10, 512
CAP = 1
"""What all runs of the demo with one ledger may spend together, as for data that are private."""

EPSILONS = (0.02, 0.1, 0.5)
"""Beside the one that was asked for."""

SUITE = ("HB", "DAWA", "Privelet", "Laplace", "MWEM", "AHP", "Uniform")
"""What the Pythia paper chooses among."""

TRIALS = 50
SHOWN = (24, 49, 74, 99, 149, 199, 299, 399)
"""Some answers, by their cells."""

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything that the demo has to tell."""

    rows: int
    """How many people there are, which is public here."""

    truth: Vector
    """The true answers, which are public here too."""

    previews: list[Preview]
    """What was to be expected, for several ε."""

    released: Release
    """What was released."""

    others: dict[str, float]
    """The error of each algorithm, the chosen one's among them: root mean square of an answer, simulated."""

    events: list[Event]
    """What the ledger has about the release."""

    ledger: Path
    """Where it is kept."""

    @property
    def name(self) -> str:
        """The algorithm that answered."""
        return self.released.algorithm.name

    def ranked(self) -> list[tuple[str, float]]:
        """The algorithms, the least error first."""
        return sorted(self.others.items(), key=lambda pair: pair[1])

    def times(self, name: str) -> float:
        """How many times the released one's error another's is."""
        return self.others[name] / self.others[self.name]

    def to_json(self) -> dict[str, Any]:
        """For a script: amounts are exact, as texts."""
        from jostle.answers.answer import charge_facts

        released = self.released
        return {
            "people": self.rows,
            "previews": [{"epsilon": float(one.epsilon), "margin": one.margin} for one in self.previews],
            "algorithm": released.algorithm.name,
            "chose": released.trace.choice if released.trace else released.algorithm.name,
            "explanation": released.explain(),
            "spent": str(released.spent),
            "remaining": str(released.remaining),
            "charge": charge_facts(released.charges),
            "answers": [
                {
                    "up_to": (cell + 1) * WIDTH,
                    "released": float(released.answers[cell]),
                    "margin": float(released.margins[cell]),
                    "true": int(self.truth[cell]),
                }
                for cell in SHOWN
            ],
            "simulated_errors": self.others,
            "ledger": str(self.ledger),
        }


def tell(epsilon: float, ledger_file: Path, say: Say) -> Story:
    """Open the public table as if it were private, preview, release, and simulate what other algorithms would have done."""
    import jostle
    from jostle.datasets import census

    say("Opening the table")
    frame = census()
    with jostle.Ledger(ledger_file) as ledger:
        income = jostle.Real(0, CELLS * WIDTH, bins=CELLS)
        people = jostle.open(frame, schema={"income": income}, ledger=ledger, budget=CAP, name=NAME)
        question = people.ask_ranges("income", jostle.workloads.prefix(CELLS))
        say("Previewing the error")
        previews = [question.preview(epsilon=one) for one in sorted({*EPSILONS, epsilon})]
        say("Counting rows and drawing noise")
        before = len(ledger.events(NAME))
        released = question.release(epsilon=epsilon)
        events = list(ledger.events(NAME)[before:])
    counts = np.bincount(income.encode(frame["income"].to_numpy()), minlength=CELLS)
    return Story(
        rows=len(frame),
        truth=np.cumsum(counts).astype(np.float64),
        previews=previews,
        released=released,
        others=_errors(counts, released, say),
        events=events,
        ledger=ledger_file,
    )


def _errors(counts: Counts, released: Release, say: Say) -> dict[str, float]:
    from jostle import simulate, workloads

    found, queries = {}, workloads.prefix(CELLS)
    for name in (released.algorithm.name, *SUITE):
        say(f"Simulating {name} on the public data")
        errors = simulate.errors(name, counts, queries, released.spent, trials=TRIALS, seed=0)
        found[name] = float(np.sqrt((errors**2).mean() / CELLS))
    return found
