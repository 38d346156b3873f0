"""Decision rules: from answers to questions about a database to the option to run. All are learned on public data, and free.

A regret tree asks for features one at a time, as Pythia does; a `Selector` of Pythia is a decision rule, too. Predictions
ask for all features that their formulas use, and take the option with the least predicted loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from jostle.choice.options import Option
from jostle.choice.public_databases import Outcomes
from jostle.choice.regret_tree import Ask, Decision, Growth, Step, Tree, features_of, grow, tree_lines, walk
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector

GUARD = 0.02
"""How much of an option's worst regret in a leaf counts in addition to its mean, as for Pythia."""


class DecisionRule(Protocol):
    """How a choice is made from the answers to questions."""

    @property
    def kind(self) -> str:
        """What traces call it."""
        ...

    @property
    def options(self) -> tuple[str, ...]:
        """The names of all options that it may take."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Every question that some choice may ask."""
        ...

    def decide(self, ask: Ask) -> Decision:
        """Ask until the option is clear."""
        ...

    def lines(self) -> list[str]:
        """How it decides, in words."""
        ...


@dataclass(frozen=True)
class RegretTree:
    """Walks from the root to a leaf, and takes the leaf's option; a question that the walk does not reach is not asked."""

    options: tuple[str, ...]
    tree: Tree
    kind: str = "a regret tree"

    @property
    def needs(self) -> tuple[str, ...]:
        return features_of(self.tree)

    def decide(self, ask: Ask) -> Decision:
        leaf, path = walk(self.tree, ask)
        regrets = dict(zip(self.options, map(float, leaf.regrets), strict=True))
        return Decision(self.options[leaf.choice], regrets, tuple(path))

    def lines(self) -> list[str]:
        return tree_lines(self.tree, self.options)


class LossModel(Protocol):
    """Predicts the logarithm of an option's loss from features."""

    @property
    def needs(self) -> tuple[str, ...]: ...

    @property
    def text(self) -> str: ...

    def log_losses(self, names: Sequence[str], features: Vector) -> Vector:
        """One per input; features are inputs × names."""
        ...

    def refitted(self, names: Sequence[str], features: Vector, log_losses: Vector) -> LossModel:
        """A model of the same kind, fitted only to these rows."""
        ...


@dataclass(frozen=True)
class Predictions:
    """Takes the option whose predicted loss is least."""

    options: tuple[str, ...]
    models: Mapping[str, LossModel]
    kind: str = "predictions"

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for option in self.options for name in self.models[option].needs))

    def decide(self, ask: Ask) -> Decision:
        """Ask all questions: the least loss is known only if every formula is."""
        names = self.needs
        row = np.array([[ask(name) for name in names]])
        logs = {option: float(self.models[option].log_losses(names, row)[0]) for option in self.options}
        least = min(logs.values())
        regrets = {option: float(np.exp(min(log - least, 50.0))) for option, log in logs.items()}
        path = tuple(Step(name, float(value), f"= {value:.4g}") for name, value in zip(names, row[0], strict=True))
        return Decision(min(logs, key=logs.__getitem__), regrets, path)

    def lines(self) -> list[str]:
        return [f"log loss of {option} ≈ {self.models[option].text}" for option in self.options]


@dataclass(frozen=True)
class Smooth:
    """Log loss as a sum of a line and a logarithm of every feature, by ridge regression."""

    needs: tuple[str, ...]
    units: tuple[float, ...]
    """Where each feature's logarithm bends to a line."""

    centre: tuple[float, ...]
    width: tuple[float, ...]
    weights: tuple[float, ...]
    constant: float

    @property
    def text(self) -> str:
        terms = sorted(zip(self._columns(), self.weights, strict=True), key=lambda term: -abs(term[1]))
        shown = [f"{weight:+.3g}·{name}" for name, weight in terms[:4] if abs(weight) > 1e-3]
        return " ".join([f"{self.constant:.3g}", *shown]) + (" (features standardised)" if shown else "")

    def _columns(self) -> list[str]:
        return [*self.needs, *(f"log {name}" for name in self.needs)]

    def log_losses(self, names: Sequence[str], features: Vector) -> Vector:
        picked = features[:, [list(names).index(name) for name in self.needs]]
        basis = (_bent(picked, np.array(self.units)) - np.array(self.centre)) / np.array(self.width)
        return np.asarray(basis @ np.array(self.weights) + self.constant)

    def refitted(self, names: Sequence[str], features: Vector, log_losses: Vector) -> Smooth:
        return smooth_model(names, features, log_losses)


def _bent(features: Vector, units: Vector) -> Vector:
    return np.concatenate([features, np.arcsinh(features / units)], axis=1)


def smooth_model(names: Sequence[str], features: Vector, log_losses: Vector) -> Smooth:
    """Fit a smooth model by ridge regression; the penalty is the one that predicts best with each row left out."""
    scale = np.quantile(np.abs(features), 0.1, axis=0) if len(features) else np.zeros(len(names))
    units = np.maximum(scale, 1e-3 * np.abs(features).max(axis=0, initial=1e-9))
    basis = _bent(features, units)
    centre, width = basis.mean(axis=0), np.maximum(basis.std(axis=0), 1e-9)
    design, constant = (basis - centre) / width, float(log_losses.mean())
    wanted = log_losses - constant
    errors = {}
    for penalty in (0.1, 1.0, 10.0, 100.0):
        inverse = np.linalg.inv(design.T @ design + penalty * np.eye(design.shape[1]))
        hat = np.einsum("ij,jk,ik->i", design, inverse, design)
        weights = inverse @ design.T @ wanted
        errors[penalty] = (float(np.mean(((wanted - design @ weights) / (1 - np.minimum(hat, 0.99))) ** 2)), weights)
    _, weights = min(errors.values(), key=lambda one: one[0])
    columns = [tuple(map(float, part)) for part in (units, centre, width, weights)]
    return Smooth(tuple(names), columns[0], columns[1], columns[2], columns[3], constant)


@dataclass(frozen=True)
class Calibrated:
    """A programmer's `predict`, turned from performance into log loss by a line that was fitted."""

    needs: tuple[str, ...]
    predict: Callable[[Any], float]
    slope: float
    constant: float
    medians: Mapping[str, float]
    """The median of every feature in training: `predict` sees it for features that it did not use there."""

    @property
    def text(self) -> str:
        """The line; a slope above 0 says that the prediction is the wrong way round."""
        doubt = " (more performance was predicted where the loss was larger)" if self.slope > 0 else ""
        return f"{self.constant:.3g} {self.slope:+.3g}·predict({', '.join(self.needs)}){doubt}"

    def log_losses(self, names: Sequence[str], features: Vector) -> Vector:
        rows = [dict(self.medians) | dict(zip(names, map(float, row), strict=True)) for row in features]
        return np.asarray(self.constant + self.slope * np.array([_predicted(self.predict, Features(row)) for row in rows]))

    def refitted(self, names: Sequence[str], features: Vector, log_losses: Vector) -> Calibrated:
        return calibrated(self.predict, names, features, log_losses, "the option")


class Features:
    """Metafeatures by their names, as `predict` sees them, such as F.records.

    >>> Features({"records": 7.0}).records
    7.0
    """

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values, self._looked_at = values, dict[str, None]()

    def __getattr__(self, name: str) -> float:
        if name.startswith("__") or name not in self._values:
            raise AttributeError(f"there is no metafeature {name}; there are {', '.join(self._values) or 'none'}")
        self._looked_at[name] = None
        return self._values[name]

    def looked_at(self) -> tuple[str, ...]:
        return tuple(self._looked_at)


def _predicted(predict: Callable[[Any], float], seen: Features) -> float:
    """What a programmer's function predicts; 0 where noise leads it to no finite number."""
    try:
        with np.errstate(all="ignore"):
            value = predict(seen)
        number = 0.0 if isinstance(value, complex) else float(value)
    except (ArithmeticError, ValueError):
        return 0.0
    return number if np.isfinite(number) else 0.0


def learn_tree(found: Outcomes, *, rho: float, depth: int, least: float, worth: float = 0.005) -> RegretTree:
    """A tree as for Pythia: grown on features with the noise that they will have, and cut back where it does not pay."""
    copies, inputs = found.features.shape[:2]
    share = rho / max(sum(found.paid), 1)
    stacked = found.features.reshape(copies * inputs, -1)
    regrets = np.tile(np.minimum(found.regrets, 1e3), (copies, 1))
    groups = np.unique(found.groups, return_inverse=True)[1]
    tree = grow(
        list(found.questions),
        stacked,
        regrets,
        np.full(len(stacked), 1 / copies),
        Growth(depth=depth if found.questions else 0, least=least, guard=GUARD, worth=worth),
        groups=np.tile(groups, copies),
        prices=[share / (1 - share) if paid else 0.0 for paid in found.paid],
    )
    return RegretTree(found.options, tree)


def learn_predictions(found: Outcomes, options: Sequence[Option]) -> Predictions:
    """One model per option: its own `predict`, calibrated, if it has one, else a smooth one."""
    copies = len(found.features)
    rows = found.features.reshape(copies * len(found.databases), -1)
    models: dict[str, LossModel] = {}
    for at, name in enumerate(found.options):
        logs = np.tile(np.log(np.maximum(found.losses[:, at], 1e-12)), copies)
        predict = next(one.predict for one in options if one.name == name)
        models[name] = (
            smooth_model(found.questions, rows, logs)
            if predict is None
            else calibrated(predict, found.questions, rows, logs, name)
        )
    return Predictions(found.options, models)


def calibrated(
    predict: Callable[[Any], float], names: Sequence[str], features: Vector, log_losses: Vector, option: str
) -> Calibrated:
    """The line from what is predicted to log loss that fits best.

    >>> model = calibrated(lambda F: -F.size, ["size"], np.array([[1.0], [2.0]]), np.array([0.0, 3.0]), "HB")
    >>> model.text
    '-3 -3·predict(size)'
    """
    rows = [Features(dict(zip(names, map(float, row), strict=True))) for row in features]
    try:
        predicted = np.array([_predicted(predict, row) for row in rows])
    except Exception as error:
        problem = f"the predict of {option} raised {type(error).__name__}: {error}"
        raise BadInput("options", problem, f"let it use some of {', '.join(names) or 'no feature'}") from error
    used = tuple(dict.fromkeys(name for row in rows for name in row.looked_at()))
    medians = {name: float(np.median(features[:, at])) for at, name in enumerate(names)}
    return Calibrated(used, predict, *fitted_line(predicted, log_losses), medians)


def fitted_line(x: Vector, y: Vector) -> tuple[float, float]:
    """The slope and the constant of the line that fits best; flat where `x` does not vary."""
    spread = x - x.mean()
    slope = float(spread @ y / max(float(spread @ spread), 1e-12))
    return slope, float(y.mean() - slope * x.mean())
