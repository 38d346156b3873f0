"""What every registered plan, algorithm or learner, must say about itself, and how it is found by name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from jostle.algorithms.references import REFERENCES, Reference
from jostle.kernel.errors import BadInput, PlanError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A plan and what is publicly known about it: the base of algorithms and learners."""

    inputs: ClassVar[str]
    """The first three arguments of its plan, in words."""

    name: str
    """How people call it."""

    cite: str
    """The key of its paper in `algorithms/references.py`, or the citation itself: "Authors: Title. Venue, year."."""

    plan: Callable[..., Any]
    """The function that spends the budget."""

    version: int = 1
    """Raised when its results change: stored errors of older versions are then measured again."""

    @property
    def reference(self) -> Reference:
        """Where it comes from."""
        return REFERENCES[self.cite] if self.cite in REFERENCES else Reference.parse(self.cite)

    @cached_property
    def tunables(self) -> MappingProxyType[str, object]:
        """The plan's own arguments with their defaults."""
        return MappingProxyType({p.name: p.default for p in list(inspect.signature(self.plan).parameters.values())[3:]})

    def check_tunables(self, given: Iterable[str]) -> None:
        """Raise if an argument is set that the plan does not have."""
        for name in given:
            if name not in self.tunables and name == "delta":
                remedy = "leave it out: the account has one, cap=jostle.Approximate(epsilon=1, delta=1e-6)"
                raise BadInput(name, "is no part of the price of this question", remedy)
            if name not in self.tunables:
                has = ", ".join(self.tunables) or "none"
                raise BadInput(name, f"is no tunable of {self.name}", f"look for a typing error; it has: {has}")

    def check_claims(self, registered: Registered | None) -> None:
        """Raise unless the plan says why it is private, cites a paper and has a name of its own.

        `registered` is what has the name so far.
        """
        parameters = list(inspect.signature(self.plan).parameters.values())
        if len(parameters) < 3 or any(p.kind is not p.KEYWORD_ONLY or p.default is p.empty for p in parameters[3:]):
            raise PlanError(f"{self.name}: a plan takes {self.inputs}, then tunables by keyword, each with a default")
        if not re.search(r"^\s*Privacy: \S", self.plan.__doc__ or "", re.MULTILINE):
            raise PlanError(
                f'{self.name}: its docstring needs a paragraph that begins with "Privacy:" and says why it is private'
            )
        try:
            _ = self.reference
        except (ValueError, TypeError):
            problem = f"{self.name}: {self.cite!r} is neither a key of algorithms/references.py nor a citation"
            raise PlanError(f'{problem}; write cite="Authors: Title. Venue, year."') from None
        if registered is not None and registered.plan.__module__ != self.plan.__module__:
            raise PlanError(f"{self.name}: the name is taken by {registered.plan.__module__}")


def named(every: Mapping[str, T], name: object, argument: str) -> T:
    """The one of that name, or an error that guesses which was meant.

    >>> named({"HB": 1, "DAWA": 2}, "Dawa", "algorithm")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: algorithm: 'Dawa' is unknown. Remedy: did you mean DAWA? Use one of HB, DAWA.
    """
    if isinstance(name, str) and name in every:
        return every[name]
    spelled = {known.lower(): known for known in every}
    near = get_close_matches(str(name).lower(), spelled, n=1)
    hint = f"did you mean {spelled[near[0]]}? " if near else ""
    raise BadInput(argument, f"{name!r} is unknown", f"{hint}Use one of {', '.join(every)}")
