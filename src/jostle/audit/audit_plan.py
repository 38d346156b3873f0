"""How closely each kind of entry is looked at: by a quick audit, by the pilot of a full one, and by the full one itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jostle.audit.entries import Audited, Engine

Kind = Literal["batched", "single", "slow", "exact", "exact plan", "table"]
"""How an entry is run: many at once, one by one, one by one and slowly; with exact noise as a primitive or as a plan; or as
a question to a table, which has no other noise."""


@dataclass(frozen=True)
class Share:
    """What is spent on an entry at one ε."""

    epsilon: str
    """Which ε, exactly."""

    samples: int
    """How often it is run on each side of a pair."""

    first: int = 0
    """The first of the entry's pairs that is tried."""

    pairs: int | None = None
    """How many of them are; all the rest unless said."""


Depth = dict[Kind, tuple[Share, ...]]


QUICK: Depth = {
    "batched": (Share("1/2", 40_000), Share("2", 40_000)),
    "single": (Share("3", 1_200), Share("1", 1_200, pairs=1)),
    "slow": (Share("1/2", 100, pairs=1), Share("1/4", 100, first=1, pairs=1)),
    "exact": (Share("1", 300, pairs=1), Share("1/4", 100, pairs=1)),
    "exact plan": (),
    "table": (Share("1", 300, pairs=1), Share("1/4", 100, pairs=1)),
}
"""Minutes in all. Where samples are very few, ε is small: not even a mechanism that hides nothing could be told from a
larger one. Where they are few, most is seen at a larger ε."""

PILOT: Depth = {
    "batched": (Share("1/10", 40_000), Share("1", 40_000), Share("3", 40_000)),
    "single": (Share("1/2", 10_000), Share("1", 10_000), Share("4", 10_000)),
    "slow": (Share("1/2", 1_000), Share("1", 2_000)),
    "exact": (Share("1/2", 1_000), Share("1", 1_000)),
    "exact plan": (Share("1/2", 100), Share("1", 100)),
    "table": (Share("1/2", 1_000), Share("1", 1_000)),
}
"""All pairs, at several ε: which pair promises most, and how long a run takes."""

FULL: Depth = {
    "batched": (Share("1/10", 1_000_000), Share("1", 1_000_000), Share("3", 1_000_000)),
    "single": (Share("1", 1_000_000),),
    "slow": (Share("1", 100_000),),
    "exact": (Share("1", 20_000),),
    "exact plan": (Share("1", 1_000),),
    "table": (Share("1", 50_000),),
}
"""A night: fresh samples of the pair that promised most in the pilot at that ε. Each ε is one of the pilot's."""

RUNGS = (20_000, 100_000, 1_000_000)
"""Samples for a primitive whose worst case is known: more, until enough of ε is found."""

RUNGS_EPSILON = "2"
"""And the ε that it is looked for at: at a small one, most of it is lost to the bounds' width, and at a large one the worst
event is rare."""

PLANS = ("algorithm", "choice", "classifier")
"""Families of what is made of primitives."""


def kind(entry: Audited, engine: Engine) -> Kind:
    """How it is run with that noise.

    >>> from jostle.audit import catalogue
    >>> kind(catalogue.get("median"), "simulated"), kind(catalogue.get("HB"), "exact")
    ('single', 'exact plan')
    """
    if engine == "simulated":
        return entry.pace
    if entry.run is None:
        return "table"
    return "exact plan" if entry.family in PLANS else "exact"
