"""The experiments as plain numbers, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jostle.simulate.grid import SUITE
from jostle_bench.pythia.beside_authors import Beside
from jostle_bench.pythia.deployed import Deployed
from jostle_bench.pythia.experiments import Experiment, Judged
from jostle_bench.pythia.report import LARGEST, compared


def numbers(
    found: Experiment,
    *,
    deployed: Sequence[Deployed] = (),
    beside: Sequence[Beside] = (),
    variants: Sequence[Judged] = (),
) -> dict[str, Any]:
    """Everything that the report says, and every run of Pythia."""
    return {
        "task": found.task,
        "inputs": len(found.table.inputs),
        "grid": found.whole,
        "inputs_of_the_suite": len(found.suite.inputs),
        "options": found.table.options,
        "left_out": dict(found.left_out),
        "luck": found.luck,
        "seed": found.seed,
        "compared": [_judged(one) for one in compared(found)],
        "criteria": [_judged(one) for one in found.criteria],
        "thetas": [{"theta": theta} | _judged(one) for theta, one in found.thetas.items()],
        "prices": [{"rho": rho} | _judged(one) for rho, one in found.prices.items()],
        "deployed": [_checked(found, one) for one in deployed],
        "beside_authors": [
            {"input": one.cell.key, "error": one.mean, "authors_private": one.private, "authors": one.every}
            for one in beside
        ],
        "variants": [_judged(one) for one in variants],
    }


def _judged(one: Judged) -> dict[str, Any]:
    return {
        "name": one.name,
        "against_suite": one.by("queries") | {"all": float(one.to_suite.mean()), "worst": float(one.to_suite.max())},
        "against_all": one.by("queries", of_all=True) | {"all": float(one.to_all.mean()), "worst": float(one.to_all.max())},
        "above": int((one.to_all > LARGEST).sum()),
        "spent": one.spent,
    }


def _checked(found: Experiment, one: Deployed) -> dict[str, Any]:
    regrets, projected = one.regrets(found, SUITE[found.task])
    return {
        "name": one.way.name,
        "inputs": len(one.runs),
        "trials": one.trials,
        "error_over_projected": float(one.ratios.mean()),
        "against_suite": float(regrets.mean()),
        "projected_against_suite": float(projected.mean()),
        "spent": one.spent,
        "runs": [
            {"input": run.cell.key, "error": run.mean, "stderr": run.stderr, "projected": run.predicted} for run in one.runs
        ],
    }
