"""What every registered plan, algorithm or learner, must say about itself, and how it is found by name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, TypeVar

from jostle.algorithms.references import REFERENCES
from jostle.kernel.errors import BadInput, PlanError

T = TypeVar("T")


def tunables_of(name: str, plan: Callable[..., Any], given: str) -> MappingProxyType[str, object]:
    """The plan's own arguments with their defaults; `given` says what its first three arguments are.

    >>> def plan(x, workload, budget, *, branching=2): ...
    >>> dict(tunables_of("HB", plan, "a source, a workload and a budget"))
    {'branching': 2}
    """
    parameters = list(inspect.signature(plan).parameters.values())
    extra = parameters[3:]
    if len(parameters) < 3 or any(p.kind is not p.KEYWORD_ONLY or p.default is p.empty for p in extra):
        raise PlanError(f"{name}: a plan takes {given}, then tunables by keyword, each with a default")
    return MappingProxyType({p.name: p.default for p in extra})


def check_tunables(name: str, known: Iterable[str], given: Iterable[str]) -> None:
    """Raise if something is set that the plan does not have."""
    there = list(known)
    for one in given:
        if one not in there:
            has = ", ".join(there) or "none"
            raise BadInput(one, f"is no tunable of {name}", f"look for a typing error; it has: {has}")


def check_claims(name: str, plan: Callable[..., Any], cite: str, before: Callable[..., Any] | None) -> None:
    """Raise unless the plan says why it is private and cites a paper; `before` is the plan that has the name already."""
    if not re.search(r"^\s*Privacy: \S", plan.__doc__ or "", re.MULTILINE):
        raise PlanError(f'{name}: its docstring needs a paragraph that begins with "Privacy:" and says why it is private')
    if cite not in REFERENCES:
        raise PlanError(f"{name}: {cite!r} is no key of algorithms/references.py; add the paper there")
    if before is not None and before.__module__ != plan.__module__:
        raise PlanError(f"{name}: the name is taken by {before.__module__}")


def named(every: Mapping[str, T], name: object, argument: str) -> T:
    """The one of that name, or an error that guesses which was meant.

    >>> named({"HB": 1, "DAWA": 2}, "Dawa", "algorithm")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: algorithm: 'Dawa' is unknown. Remedy: did you mean DAWA? Use one of HB, DAWA.
    """
    if isinstance(name, str) and name in every:
        return every[name]
    alike = {known.lower(): known for known in every}
    near = get_close_matches(str(name).lower(), alike, n=1)
    hint = f"did you mean {alike[near[0]]}? " if near else ""
    raise BadInput(argument, f"{name!r} is unknown", f"{hint}Use one of {', '.join(every)}")
