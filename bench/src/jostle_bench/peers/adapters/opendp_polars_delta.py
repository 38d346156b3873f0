"""OpenDP's front for Polars, with a δ: `group_by` over listed keys, and over keys that a threshold lets through.

How many groups a person is in is promised (`Bound`), which takes the data as they are. Its measure for Gaussian noise is ρ,
which is bought with what (ε, δ) allows; a threshold takes half of δ then. For listed keys, the noise that is less is taken.
"""

from __future__ import annotations

from typing import Any

import asking  # type: ignore[import-not-found]  # it stands beside this file

VERSION_OF = "opendp"
LISTED = 10_000
"""The most rows of a group that are added up: public, and more than there are."""


def counts(job: dict[str, Any]) -> dict[str, Any]:
    """`dp.len` by listed keys."""
    import opendp.prelude as dp

    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        if one["form"] == "groups":
            normal = _normal(job, one)
            told = _released(one, arrays, _loss(job, one, normal=normal), [dp.len(signed=True)], known=True)  # type: ignore[attr-defined]
            values[asking.answer(one, "counts")] = asking.by_run(one, told["cell"], told["len"])
    return _answered(job, values, "Context with loss_of(epsilon) or loss_of(rho), dp.len() by with_keys")


def three(job: dict[str, Any]) -> dict[str, Any]:
    """`dp.len` and `dp.sum` of v − 50 by listed keys, which share the budget; means and sums follow."""
    import opendp.prelude as dp
    import polars as pl

    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        loss = _loss(job, one, normal=_normal(job, one))
        total: Any = pl.col("value")
        reach = round(asking.REACH)
        told = _released(one, arrays, loss, [dp.len(signed=True), total.dp.sum((-reach, reach))], known=True)  # type: ignore[attr-defined]
        values |= asking.three(one, *(asking.by_run(one, told["cell"], told[name]) for name in ("len", "value")))
    return _answered(
        job, values, "Context with loss_of(epsilon) or loss_of(rho), dp.len() and dp.sum of v − 50 by with_keys"
    )


def keys(job: dict[str, Any]) -> dict[str, Any]:
    """`dp.len` by keys that nobody listed: noise once, and a threshold on the noisy count. With either noise."""
    import opendp.prelude as dp

    values: dict[str, Any] = {}
    for one, arrays in asking.inputs(job):
        for way, normal in (("Laplace noise", False), ("Gaussian noise", True)):
            loss = _loss(job, one, normal=normal, threshold=True)
            told = _released(one, arrays, loss, [dp.len(signed=True)], known=False)  # type: ignore[attr-defined]
            values[asking.answer(one, "counts", way)] = asking.by_run(one, told["cell"], told["len"])
    return _answered(job, values, "Context with a δ, dp.len() by keys above its threshold")


def _normal(job: Any, one: Any) -> bool:
    return bool(asking.gaussian(one, (2 * asking.rho(one["epsilon"], job["delta"])) ** -0.5))


def _loss(job: Any, one: Any, *, normal: bool, threshold: bool = False) -> Any:
    import opendp.prelude as dp

    delta = job["delta"]
    if normal and threshold:
        return dp.loss_of(rho=asking.rho(one["epsilon"], delta / 2), delta=delta / 2)
    if normal:
        return dp.loss_of(rho=asking.rho(one["epsilon"], delta))
    return dp.loss_of(epsilon=one["epsilon"], delta=delta) if threshold else dp.loss_of(epsilon=one["epsilon"])


def _released(one: Any, arrays: Any, loss: Any, asked: Any, *, known: bool) -> Any:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    rows = asking.told_apart(one, arrays)
    if "value" in rows:
        rows["value"] = rows["value"] - round(asking.CENTRE)
    polars: Any = dp.polars  # type: ignore[attr-defined]
    margins = [polars.Margin(by=["cell"], max_length=LISTED)]
    context = dp.Context.compositor(
        data=pl.LazyFrame(rows),
        privacy_unit=dp.unit_of(contributions=[polars.Bound(by=["cell"], num_groups=one["touched"], per_group=1)]),
        privacy_loss=loss,
        split_evenly_over=1,
        margins=margins,
    )
    query: Any = context.query().group_by("cell").agg(*asked)
    if known:
        query = query.with_keys(pl.LazyFrame({"cell": range(one["trials"] * one["cells"])}))
    told = query.release().collect()
    return {name: told[name].to_numpy() for name in told.columns}


def _answered(job: Any, values: Any, method: str) -> dict[str, Any]:
    return {"values": values, "delta": job["delta"], "neighbours": "add_remove", "method": method}


ANSWERS = {"counts": counts, "three": three, "keys": keys}
