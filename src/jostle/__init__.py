"""Differential privacy that picks the right algorithm for you.

Everything that is meant to be used is reached from here. Names are loaded when they are first used, so `import jostle`
costs next to nothing, and a program pays for the noise engine, the ledger or the plots only if it uses them.

>>> import jostle
>>> jostle.Neighbours("replace").total_is_public
True
"""

from __future__ import annotations

from importlib import import_module

from jostle._registrars import registrars
from jostle._renamed import find_old_names

find_old_names()


def _register_pythia() -> None:
    from jostle.choice import pythia  # noqa: F401


registrars.append(_register_pythia)

__version__ = "0.1.0"

_MODULES = {name: f"jostle.{name}" for name in ("algorithms", "choice", "learn", "mechanisms", "simulate", "workloads")}
_HOMES = {
    "Approximate": "jostle.kernel.measures",
    "BadInput": "jostle.kernel.errors",
    "Boolean": "jostle.schema",
    "Budget": "jostle.kernel.budget",
    "Category": "jostle.schema",
    "Text": "jostle.schema",
    "ChoiceMaker": "jostle.choice.choice_maker",
    "Concentrated": "jostle.kernel.measures",
    "Date": "jostle.schema",
    "Integer": "jostle.schema",
    "JostleError": "jostle.kernel.errors",
    "Ledger": "jostle.kernel.ledger",
    "Neighbours": "jostle.kernel.neighbours",
    "Option": "jostle.choice.options",
    "Overdraft": "jostle.kernel.errors",
    "Pure": "jostle.kernel.measures",
    "Real": "jostle.schema",
    "Release": "jostle.answers.release",
    "Schema": "jostle.schema",
    "Unit": "jostle.tables.unit",
    "algorithm": "jostle.algorithms.registry",
    "check_bounds": "jostle.tables.check_bounds",
    "epsilon_for": "jostle.choice.epsilon",
    "metafeature": "jostle.choice.metafeatures",
    "open": "jostle.tables.opening",
    "option": "jostle.choice.options",
    "release": "jostle.answers.release",
}
"""Where each public name is. `__init__.pyi` has the same for type checkers, and a test compares the two."""

__all__ = sorted([*_HOMES, *_MODULES, "__version__"])


def __getattr__(name: str) -> object:
    """Load a public name when it is first used (PEP 562)."""
    if name in _MODULES:
        value: object = import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'jostle' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
