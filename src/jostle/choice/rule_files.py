"""Decision rules in files: regret trees, and the models of predictions. A `predict` is code, and comes from its option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jostle.choice.decision_rules import Calibrated, DecisionRule, LossModel, Predictions, RegretTree, Smooth
from jostle.choice.files import Entries, read_tree, tree_entries
from jostle.choice.formulas import Formula, read_formula
from jostle.choice.options import Option
from jostle.kernel.errors import BadInput

_SMOOTH: Final = ("units", "centre", "width", "weights")


def rule_entries(rule: DecisionRule) -> dict[str, Any]:
    """A rule as its file shows it."""
    if isinstance(rule, RegretTree):
        return {"tree": tree_entries(rule.tree)}
    if isinstance(rule, Predictions):
        return {"models": {option: _model_entries(rule.models[option], option) for option in rule.options}}
    raise BadInput("maker", f"decides by {rule.kind}, which has a file format of its own", "save that instead")


def _model_entries(model: LossModel, option: str) -> dict[str, Any]:
    if isinstance(model, Formula):
        return {"kind": "formula"} | model.entries()
    if isinstance(model, Smooth):
        numbers = {name: list(getattr(model, name)) for name in _SMOOTH}
        return {"kind": "smooth", "needs": list(model.needs)} | numbers | {"constant": model.constant}
    if isinstance(model, Calibrated):
        medians = {"medians": list(model.medians.values()), "features": list(model.medians)}
        return {"kind": "predict", "needs": list(model.needs), "slope": model.slope, "constant": model.constant} | medians
    raise BadInput("maker", f"predicts {option} by {type(model).__name__}, which cannot be saved", "use a formula")


def read_rule(entries: Entries, names: tuple[str, ...], options: Sequence[Option]) -> DecisionRule:
    """The rule of a file, for options of these names."""
    if "models" not in entries:
        return RegretTree(names, read_tree(entries, "tree", len(names)))
    listed, by_name = entries.table("models"), {option.name: option for option in options}
    models = {name: _read_model(listed.table(name), by_name[name]) for name in names}
    listed.done()
    return Predictions(names, models)


_Column = tuple[float, ...]


def _four(columns: Mapping[str, _Column]) -> tuple[_Column, _Column, _Column, _Column]:
    return columns["units"], columns["centre"], columns["width"], columns["weights"]


def _read_model(entries: Entries, option: Option) -> LossModel:
    kind = entries.text("kind")
    model: LossModel
    if kind == "formula":
        model = read_formula(entries)
    elif kind == "smooth":
        needs = entries.texts("needs")
        columns: Mapping[str, tuple[float, ...]] = {name: entries.numbers(name) for name in _SMOOTH}
        if len(columns["units"]) != len(needs) or any(len(columns[name]) != 2 * len(needs) for name in _SMOOTH[1:]):
            raise entries.bad("weights", "must have two numbers for each feature")
        model = Smooth(needs, *_four(columns), entries.number("constant"))
    elif kind == "predict" and option.predict is not None:
        features = entries.texts("features")
        medians = dict(zip(features, entries.numbers("medians", len(features)), strict=True))
        slope, constant = entries.number("slope"), entries.number("constant")
        model = Calibrated(entries.texts("needs"), option.predict, slope, constant, medians)
    else:
        raise entries.bad("kind", f"does not go with the option {option.name[:50]}", "pass the options it was trained with")
    entries.done()
    return model
