"""Differential privacy that picks the right algorithm for you.

Everything that is meant to be used is reached from here. Names are loaded when they are first used, so `import jostle`
costs next to nothing, and a program pays for the noise engine, the ledger or the plots only if it uses them.

>>> import jostle
>>> jostle.Neighbours("replace").total_is_public
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from jostle._registrars import registrars
from jostle._renamed import find_old_names

if TYPE_CHECKING:
    from jostle import algorithms, choice, learn, mechanisms, simulate, workloads
    from jostle.algorithms.registry import algorithm
    from jostle.answers.release import Release, release
    from jostle.choice.choice_maker import ChoiceMaker
    from jostle.choice.epsilon import epsilon_for
    from jostle.choice.metafeatures import metafeature
    from jostle.choice.options import Option, option
    from jostle.kernel.budget import Budget
    from jostle.kernel.errors import BadInput, JostleError, Overdraft
    from jostle.kernel.ledger import Ledger
    from jostle.kernel.neighbours import Neighbours
    from jostle.schema import Boolean, Category, Date, Integer, Real, Schema
    from jostle.tables.opening import open
    from jostle.tables.unit import Unit

find_old_names()


def _register_pythia() -> None:
    from jostle.choice import pythia  # noqa: F401


registrars.append(_register_pythia)

__version__ = "0.1.0"

__all__ = [
    "BadInput",
    "Boolean",
    "Budget",
    "Category",
    "ChoiceMaker",
    "Date",
    "Integer",
    "JostleError",
    "Ledger",
    "Neighbours",
    "Option",
    "Overdraft",
    "Real",
    "Release",
    "Schema",
    "Unit",
    "__version__",
    "algorithm",
    "algorithms",
    "choice",
    "epsilon_for",
    "learn",
    "mechanisms",
    "metafeature",
    "open",
    "option",
    "release",
    "simulate",
    "workloads",
]

_HOMES = {
    "BadInput": "jostle.kernel.errors",
    "Boolean": "jostle.schema",
    "Budget": "jostle.kernel.budget",
    "Category": "jostle.schema",
    "ChoiceMaker": "jostle.choice.choice_maker",
    "Date": "jostle.schema",
    "Integer": "jostle.schema",
    "JostleError": "jostle.kernel.errors",
    "Ledger": "jostle.kernel.ledger",
    "Neighbours": "jostle.kernel.neighbours",
    "Option": "jostle.choice.options",
    "Overdraft": "jostle.kernel.errors",
    "Real": "jostle.schema",
    "Release": "jostle.answers.release",
    "Schema": "jostle.schema",
    "Unit": "jostle.tables.unit",
    "algorithm": "jostle.algorithms.registry",
    "epsilon_for": "jostle.choice.epsilon",
    "metafeature": "jostle.choice.metafeatures",
    "open": "jostle.tables.opening",
    "option": "jostle.choice.options",
    "release": "jostle.answers.release",
}
_MODULES = {
    "algorithms": "jostle.algorithms",
    "choice": "jostle.choice",
    "learn": "jostle.learn",
    "mechanisms": "jostle.mechanisms",
    "simulate": "jostle.simulate",
    "workloads": "jostle.workloads",
}


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
