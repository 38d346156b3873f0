"""Modules of version 0.1 under their old names, for one release: importing one warns, and gives the new module."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

RENAMED = {
    "jostle.audit.bits": "jostle.audit.examine",
    "jostle.audit.choices": "jostle.audit.entries.selection_law",
    "jostle.audit.choosers": "jostle.audit.entries.choices",
    "jostle.audit.depths": "jostle.audit.campaign",
    "jostle.audit.evidence": "jostle.audit.search",
    "jostle.audit.fuzz_tables": "jostle.audit.fuzz",
    "jostle.audit.learners": "jostle.audit.entries.classifiers",
    "jostle.audit.mechanisms": "jostle.audit.entries.mechanisms",
    "jostle.audit.operators": "jostle.audit.entries.operators",
    "jostle.audit.plans": "jostle.audit.entries.algorithms",
    "jostle.audit.records": "jostle.audit.entries.records",
    "jostle.audit.remembered": "jostle.audit.entries.table_cache",
    "jostle.audit.tables": "jostle.audit.entries.tables",
    "jostle.choice.databases": "jostle.choice.public_databases",
    "jostle.choice.documents": "jostle.choice.files",
    "jostle.choice.handed": "jostle.choice.spend_only",
    "jostle.choice.impurity": "jostle.choice.regret_tree",
    "jostle.choice.inside": "jostle.choice.choice_point",
    "jostle.choice.insight": "jostle.choice.explain",
    "jostle.choice.judging": "jostle.choice.held_out",
    "jostle.choice.language": "jostle.choice.choice_maker",
    "jostle.choice.other_ways": "jostle.choice.alternatives",
    "jostle.choice.rules": "jostle.choice.default_algorithm",
    "jostle.choice.saved": "jostle.choice.files",
    "jostle.choice.tree_files": "jostle.choice.files",
    "jostle.choice.tree_selector": "jostle.choice.selectors",
    "jostle.choice.trees": "jostle.choice.regret_tree",
    "jostle.choice.ways": "jostle.choice.decision_rules",
    "jostle.explorer.ending": "jostle.explorer.shutdown",
    "jostle.kernel.arrays": "jostle.kernel.arguments",
    "jostle.kernel.columns": "jostle.kernel.records",
    "jostle.kernel.criteria": "jostle.kernel.functions.criteria",
    "jostle.kernel.domain": "jostle.kernel.arguments",
    "jostle.kernel.events": "jostle.kernel.ledger.events",
    "jostle.kernel.expressions": "jostle.kernel.functions.expressions",
    "jostle.kernel.intervals": "jostle.kernel.functions.intervals",
    "jostle.kernel.losses": "jostle.kernel.functions.losses",
    "jostle.kernel.objective": "jostle.kernel.functions.objective",
    "jostle.kernel.queries": "jostle.kernel.strategies",
    "jostle.kernel.scores": "jostle.kernel.functions.scores",
    "jostle.kernel.statistics": "jostle.kernel.functions.statistics",
    "jostle.kernel.store": "jostle.kernel.ledger.store",
    "jostle.kernel.strategy": "jostle.kernel.strategies",
    "jostle.kernel.trees": "jostle.kernel.strategies",
    "jostle.kernel.twofold": "jostle.kernel.functions.twofold",
    "jostle.kernel.who": "jostle.kernel.ledger.events",
    "jostle.learn._cells": "jostle.learn.cells",
    "jostle.learn._smoothing": "jostle.learn.smoothing",
    "jostle.learn.adaptive_tree": "jostle.learn.trees.adaptive",
    "jostle.learn.base": "jostle.learn.estimator",
    "jostle.learn.choosing": "jostle.learn.chooser",
    "jostle.learn.joint": "jostle.learn.histograms",
    "jostle.learn.learned_tree": "jostle.learn.trees.learned",
    "jostle.learn.majority": "jostle.learn.histograms",
    "jostle.learn.pipeline": "jostle.learn.synthetic",
    "jostle.learn.rehearsal": "jostle.learn.registry",
    "jostle.learn.single": "jostle.learn.histograms",
    "jostle.learn.told": "jostle.learn.stacked",
    "jostle.learn.tree_candidates": "jostle.learn.trees.choice_points",
    "jostle.learn.tree_estimators": "jostle.learn.trees.literature",
    "jostle.learn.tree_leaves": "jostle.learn.trees.program",
    "jostle.learn.tree_model": "jostle.learn.trees.model",
    "jostle.learn.tree_plots": "jostle.learn.trees.model",
    "jostle.learn.tree_program": "jostle.learn.trees.program",
    "jostle.learn.tree_rules": "jostle.learn.trees.choice_points",
    "jostle.linear.bayes": "jostle.linear.shrinkage.bayes",
    "jostle.linear.cuts": "jostle.linear.shrinkage.cuts",
    "jostle.linear.few": "jostle.linear.shrinkage.small_problems",
    "jostle.linear.fusion": "jostle.linear.shrinkage.fusion",
    "jostle.linear.gram": "jostle.linear.design.gram",
    "jostle.linear.isotonic": "jostle.linear.fitting.isotonic",
    "jostle.linear.leaf_rows": "jostle.linear.design.leaf_rows",
    "jostle.linear.least_squares": "jostle.linear.fitting.least_squares",
    "jostle.linear.leaves": "jostle.linear.shrinkage.leaves",
    "jostle.linear.levels": "jostle.linear.design.levels",
    "jostle.linear.marginals": "jostle.linear.fitting.marginals",
    "jostle.linear.nested": "jostle.linear.fitting.trees",
    "jostle.linear.p_identity": "jostle.linear.design.p_identity",
    "jostle.linear.plateaus": "jostle.linear.shrinkage.plateaus",
    "jostle.linear.prefix_rows": "jostle.linear.design.prefix_rows",
    "jostle.linear.projections": "jostle.linear.fitting.projections",
    "jostle.linear.ranks": "jostle.workloads",
    "jostle.linear.smoothing": "jostle.linear.shrinkage.bayes",
    "jostle.linear.tents": "jostle.linear.design.tents",
    "jostle.linear.trees": "jostle.linear.fitting.trees",
    "jostle.linear.workloads": "jostle.workloads",
    "jostle.mechanisms.claims": "jostle.mechanisms.sensitivity",
    "jostle.mechanisms.tails": "jostle.mechanisms.utility",
    "jostle.releases": "jostle.answers.release",
    "jostle.schema.arguments": "jostle.kernel.arguments",
    "jostle.schema.categories": "jostle.schema.columns",
    "jostle.schema.column": "jostle.schema.columns",
    "jostle.schema.dates": "jostle.schema.columns",
    "jostle.schema.names": "jostle.schema.rows",
    "jostle.schema.numbers": "jostle.schema.columns",
    "jostle.tables.accounts": "jostle.tables.budget_source",
    "jostle.tables.asking": "jostle.tables.run_in_engine",
    "jostle.tables.catalogs": "jostle.tables.engines.catalogs",
    "jostle.tables.databases": "jostle.tables.engines.databases",
    "jostle.tables.dialects": "jostle.tables.engines.dialects",
    "jostle.tables.digests": "jostle.answers.quantiles_and_top",
    "jostle.tables.drafts": "jostle.tables.guess_schema",
    "jostle.tables.figures": "jostle.answers.released_numbers",
    "jostle.tables.files": "jostle.tables.engines.files",
    "jostle.tables.frames": "jostle.tables.engines.frames",
    "jostle.tables.lines": "jostle.tables.engines.lines",
    "jostle.tables.lists": "jostle.tables.cells.cells",
    "jostle.tables.lookups": "jostle.tables.conditions",
    "jostle.tables.measure": "jostle.tables.table",
    "jostle.tables.parquet": "jostle.tables.engines.parquet",
    "jostle.tables.payers": "jostle.tables.budget_source",
    "jostle.tables.plain": "jostle.answers.answer",
    "jostle.tables.previews": "jostle.answers.previews",
    "jostle.tables.questions": "jostle.tables.question",
    "jostle.tables.readings": "jostle.tables.cells.readings",
    "jostle.tables.select": "jostle.tables.sql",
    "jostle.tables.sessions": "jostle.tables.engines.sessions",
    "jostle.tables.shares": "jostle.tables.sums_and_means",
    "jostle.tables.spark_plans": "jostle.tables.engines.spark_plans",
    "jostle.tables.sparks": "jostle.tables.engines.spark",
    "jostle.tables.stages": "jostle.tables.cells.staged_columns",
    "jostle.tables.together": "jostle.answers.answer",
    "jostle.tables.totals": "jostle.tables.sums_and_means",
    "jostle.tables.types": "jostle.tables.engines.types",
}


class OldNames(MetaPathFinder, Loader):
    """Finds a module by its old name."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in RENAMED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = RENAMED[spec.name]
        warnings.warn(f"{spec.name} is now {new}; the old name goes with the next release", DeprecationWarning, stacklevel=2)
        module = import_module(new)
        self._specs[new] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._specs[module.__name__]  # Python has put that of the old name in its place


def find_old_names() -> None:
    """Have old names found from now on, after all that exists."""
    if not any(isinstance(finder, OldNames) for finder in sys.meta_path):
        sys.meta_path.append(OldNames())
