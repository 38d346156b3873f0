"""What `jostle demo` does and tells: a table, a preview, a release, the errors of other algorithms, and the budget.

The terminal and the page show the same chapters; only the page has pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jostle.kernel.budget import round_down, round_up
from jostle.kernel.partition import Counts, Vector

if TYPE_CHECKING:
    from jostle.answers.previews import Preview
    from jostle.answers.release import Release
    from jostle.kernel.ledger.events import Event

NAME = "people"
WIDTH, CELLS = 10, 512
CAP = 1
"""What all runs of the demo with one ledger may spend together, as for private data."""

EPSILONS = (0.02, 0.1, 0.5)
"""Previewed in addition to the requested ε."""

SUITE = ("HB", "DAWA", "Privelet", "Laplace", "MWEM", "AHP", "Uniform")
"""The algorithms that the Pythia paper chooses among."""

TRIALS = 50
SHOWN = (24, 49, 74, 99, 149, 199, 299, 399)
"""The cells whose answers are listed."""

Say: TypeAlias = Callable[[str], None]


class Prose(str):
    """A paragraph."""


class Code(str):
    """Lines of Python, or of a shell."""


class Picture(str):
    """The name of a figure of the page."""


@dataclass(frozen=True)
class Listing:
    """A table; a heading that ends in ">" belongs to a column of numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    marked: Sequence[bool] = ()
    """Which rows stand for this release; empty for none."""


Part: TypeAlias = Prose | Code | Listing | Picture


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything that the demo found out. The people and the true answers are public here."""

    people: int
    truth: Vector
    previews: list[Preview]
    released: Release
    errors: dict[str, float]
    """The error of each algorithm, the released one included: root mean square per answer, simulated."""

    events: list[Event]
    """The ledger's events of this release."""

    ledger: Path

    @property
    def algorithm(self) -> str:
        return self.released.algorithm.name

    def ranked(self) -> list[tuple[str, float]]:
        """The algorithms with their errors, the smallest first."""
        return sorted(self.errors.items(), key=lambda pair: pair[1])

    def times(self, name: str) -> float:
        """An algorithm's error as a multiple of the released one's."""
        return self.errors[name] / self.errors[self.algorithm]

    def to_json(self) -> dict[str, Any]:
        """For a script; amounts are exact, as texts."""
        from jostle.answers.answer import charge_facts

        released = self.released
        return {
            "people": self.people,
            "previews": [{"epsilon": float(one.epsilon), "margin": one.margin} for one in self.previews],
            "algorithm": self.algorithm,
            "chose": released.trace.choice if released.trace else self.algorithm,
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
            "simulated_errors": self.errors,
            "ledger": str(self.ledger),
        }

    def chapters(self) -> dict[str, list[Part]]:
        """What stands under each title."""
        released, spent = self.released, f"{round_up(self.released.spent):g}"
        previews = [(f"{round_up(one.epsilon):g}", f"±{one.margin:,.0f}") for one in self.previews]
        errors = [(name, f"±{error:,.0f}", f"{self.times(name):,.1f} ×") for name, error in self.ranked()]
        events = [
            (event.at.replace("T", " ")[:19], event.operator or event.kind, f"{round_up(event.amount):g}", event.note)
            for event in self.events
        ]
        left = f"{round_down(released.remaining) + 0.0:g}"
        return {
            "A table, and what is publicly known about it": [
                Prose(
                    f"{self.people:,} working people from the United States census of 2000. They are public, so you can "
                    "check everything below; jostle treats them as if they were private."
                ),
                Code(
                    "import jostle\nfrom jostle.datasets import census\n\npeople = jostle.open(\n"
                    f'    census(), schema={{"income": jostle.Real(0, {CELLS * WIDTH}, bins={CELLS})}},\n'
                    f'    ledger="{self.ledger}", budget={CAP}, name="{NAME}",\n)'
                ),
            ],
            "A preview, before anything is spent": [
                Prose(
                    f"How many people earn up to ${WIDTH}, up to ${2 * WIDTH}, … per week? The error to expect at each ε "
                    "follows from the question, without looking at the data."
                ),
                Code(
                    f'question = people.ask_ranges("income", jostle.workloads.prefix({CELLS}))\n'
                    f"question.preview(epsilon={spent})"
                ),
                Listing(
                    ("ε>", "error in people, at 95 %>"), previews, [one.epsilon == released.spent for one in self.previews]
                ),
            ],
            "The release": [
                Code(f"incomes = question.release(epsilon={spent})\nprint(incomes.explain())\nincomes.plot()"),
                Prose(released.explain()),
                Prose("Pythia is the part of jostle that chooses. A prefix query counts everybody up to some point:"),
                Listing(("per week", "released>", "±95 %>", "true>", "share"), [self._answer(cell) for cell in SHOWN]),
                Picture("released"),
            ],
            "Had you picked another algorithm": [
                Prose(
                    f"The error per answer (root mean square) in {TRIALS} simulated runs of each algorithm on the same "
                    f"people, which only public data allow. {self._median()}"
                ),
                Listing(
                    ("algorithm", "error in people>", "times as large>"),
                    errors,
                    [name == self.algorithm for name, _ in self.ranked()],
                ),
                Picture("algorithms"),
            ],
            "The budget": [
                Prose(f"jostle charged ε = {spent} before it drew any noise. ε = {left} is left for all later questions:"),
                Listing(("when (UTC)", "what", "ε>", "note"), events),
                Code(f"jostle budget {self.ledger}     # everything that was ever spent"),
            ],
        }

    def _answer(self, cell: int) -> tuple[str, ...]:
        answer, margin = self.released.answers[cell], self.released.margins[cell]
        share = min(max(answer / self.people, 0.0), 1.0)
        numbers = (f"{answer:,.0f}", f"{margin:,.0f}", f"{self.truth[cell]:,.0f}")
        return (f"up to ${(cell + 1) * WIDTH:,}", *numbers, "█" * round(12 * share) + f" {share:.0%}")

    def _median(self) -> str:
        others = sorted(self.times(name) for name in self.errors if name != self.algorithm)
        return (
            f"At least half of the others have {others[len(others) // 2]:.1f} times the error of {self.algorithm}, or more. "
            "Which ones do depends on the data, and looking at those costs privacy too."
        )


def tell(epsilon: float, ledger_file: Path, say: Say) -> Story:
    """Open the public table as if it were private, preview, release, and simulate the other algorithms."""
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
        released = question.release(epsilon=epsilon)
    counts = np.bincount(income.encode(frame["income"].to_numpy()), minlength=CELLS)
    return Story(
        people=len(frame),
        truth=np.cumsum(counts).astype(np.float64),
        previews=previews,
        released=released,
        errors=_errors(counts, released, say),
        events=list(released.charges),
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
