"""Formulas for an option's loss: short, readable, found by symbolic regression, and kept as data, so that they can be saved.

The search is the package gplearn's, in the extra `synthesis`. Using or reading a formula does not need it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final

import numpy as np

from jostle.choice.decision_rules import fitted_line
from jostle.choice.files import Entries
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector

LONGEST: Final = 60
"""The most parts of a formula that a person can still read."""

Part = str | float | tuple["Part", ...]
"""The name of a feature, a number, or a function followed by its arguments."""


def _divided(one: Vector, other: Vector) -> Vector:
    safe = np.abs(other) > 0.001
    return np.where(safe, one / np.where(safe, other, 1.0), 1.0)


def _logarithm(x: Vector) -> Vector:
    safe = np.abs(x) > 0.001
    return np.where(safe, np.log(np.abs(np.where(safe, x, 1.0))), 0.0)


def _power(x: Vector) -> Vector:
    """|x| to the power of 1.5."""
    return np.asarray(np.abs(x) ** 1.5)


FUNCTIONS: Final[Mapping[str, tuple[int, Callable[..., Any]]]] = {
    "add": (2, np.add),
    "sub": (2, np.subtract),
    "mul": (2, np.multiply),
    "div": (2, _divided),
    "log": (1, _logarithm),
    "sqrt": (1, lambda x: np.sqrt(np.abs(x))),
    "power": (1, _power),
}
"""What formulas are made of: defined for all numbers, as the search needs them, since noise leads anywhere."""


@dataclass(frozen=True)
class Formula:
    """A formula that was found, with the line from it to log loss."""

    part: Part
    slope: float = 1.0
    constant: float = 0.0

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_names(self.part)))

    @property
    def formula(self) -> str:
        return _text(self.part)

    @property
    def text(self) -> str:
        return f"{self.constant:.3g} {self.slope:+.3g}·{self.formula}"

    def log_losses(self, names: Sequence[str], features: Vector) -> Vector:
        columns = {name: features[:, list(names).index(name)] for name in self.needs}
        with np.errstate(all="ignore"):
            found = np.broadcast_to(_value(self.part, columns), (len(features),))
        return np.asarray(self.constant + self.slope * np.nan_to_num(found, nan=0.0, posinf=1e9, neginf=-1e9))

    def refitted(self, names: Sequence[str], features: Vector, log_losses: Vector) -> Formula:
        plain = replace(self, slope=1.0, constant=0.0).log_losses(names, features)
        slope, constant = fitted_line(plain, log_losses)
        return replace(self, slope=slope, constant=constant)

    def entries(self) -> dict[str, Any]:
        """The formula as files show it."""
        return {"formula": [self.part], "slope": self.slope, "constant": self.constant}


def read_formula(entries: Entries) -> Formula:
    """A formula from a file."""
    parts = entries.items("formula")
    if len(parts) != 1:
        raise entries.bad("formula", "must be a list of one formula")
    return Formula(_checked(parts[0], entries, [0]), entries.number("slope"), entries.number("constant"))


def _checked(part: Any, entries: Entries, count: list[int]) -> Part:
    count[0] += 1
    if count[0] > LONGEST:
        raise entries.bad("formula", f"has more than {LONGEST} parts")
    if isinstance(part, str):
        return part[:4_000]
    if isinstance(part, (int, float)) and not isinstance(part, bool):
        return float(part)
    if not isinstance(part, list) or not part or not isinstance(part[0], str) or part[0] not in FUNCTIONS:
        raise entries.bad("formula", "must be made of features, numbers and known functions")
    if len(part) != FUNCTIONS[part[0]][0] + 1:
        raise entries.bad("formula", f"gives {part[0]} another number of arguments than it takes")
    return (part[0], *(_checked(one, entries, count) for one in part[1:]))


def _names(part: Part) -> list[str]:
    if isinstance(part, tuple):
        return [name for one in part[1:] for name in _names(one)]
    return [part] if isinstance(part, str) else []


def _value(part: Part, columns: Mapping[str, Vector]) -> Any:
    if isinstance(part, tuple):
        return FUNCTIONS[str(part[0])][1](*(_value(one, columns) for one in part[1:]))
    return columns[part] if isinstance(part, str) else np.float64(part)


def _text(part: Part) -> str:
    if isinstance(part, tuple):
        return f"{part[0]}({', '.join(map(_text, part[1:]))})"
    return part if isinstance(part, str) else f"{part:.3f}"


def symbolic(
    names: Sequence[str], features: Vector, logs: Vector, *, population: int = 300, generations: int = 8, seed: int = 0
) -> Formula:
    """A short formula over features that goes along with log loss, by genetic programming.

    >>> x = np.linspace(1, 50, 40)[:, None]
    >>> found = symbolic(["size"], x, 3 - np.log(x[:, 0]), population=200, generations=5)
    >>> float(np.abs(found.log_losses(["size"], x) - 3 + np.log(x[:, 0])).max()) < 0.1
    True
    """
    try:
        functions, genetic = import_module("gplearn.functions"), import_module("gplearn.genetic")
    except ImportError:
        raise BadInput("synthesis", "needs the package gplearn", "install jostle[synthesis]") from None
    power = functions.make_function(function=_power, name="power", arity=1)
    search = genetic.SymbolicRegressor(
        population_size=population,
        generations=generations,
        function_set=("add", "sub", "mul", "div", "log", "sqrt", power),
        metric="pearson",  # the line to log loss is fitted afterwards
        parsimony_coefficient=0.003,
        init_depth=(1, 3),
        const_range=(-2.0, 2.0),
        random_state=seed,
        n_jobs=1,
    )
    # Formulas that the search tries may overflow or be constant; they lose, and their warnings say nothing to a user.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        search.fit(features, logs)
    program = search._program
    if program.length_ > LONGEST:
        raise BadInput("synthesis", "found no short formula", "train on more databases, or let it run for fewer generations")
    nodes = iter(program.program)
    return Formula(_part(nodes, names)).refitted(names, features, logs)


def _part(nodes: Any, names: Sequence[str]) -> Part:
    """The next part of a program, which lists each function before its arguments."""
    node = next(nodes)
    if isinstance(node, (int, np.integer)):
        return str(names[int(node)])
    if isinstance(node, (float, np.floating)):
        return float(node)
    return (str(node.name), *(_part(nodes, names) for _ in range(node.arity)))
