"""Metafeatures: the program of the Jostle thesis, several measurements in one, and checks before charges."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from jostle.choice.expressions import Database, db, largest, sql, stddev
from jostle.choice.expressions.public import Domain
from jostle.choice.metafeatures import MeasuredExpressions, Metafeature, measured, metafeature
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.source import ReleaseSource, SimulatedSource
from tests.kernel.helpers import recorded


@metafeature
def uniformity(db: Database) -> object:
    xgrp = math.sqrt(db.x_range)
    ygrp = math.sqrt(db.y_range)
    return sql("stddev(select sum(values) from db groupby x/xgrp, y/ygrp)", xgrp=xgrp, ygrp=ygrp)


@metafeature
def sparsity(db: Database) -> object:
    num_nonzero = sql("select count(values) from db where values > 0")
    domain_size = db.x_range * db.y_range
    return num_nonzero / domain_size


@metafeature
def concentration(db: Database) -> object:
    """The share of the largest cell."""
    return measured(largest(db.values), db.values.sum(), then=lambda most, total: most / np.maximum(total, 1))


X = np.random.default_rng(3).poisson(0.5, (16, 9))


def test_the_metafeatures_of_the_thesis_are_the_numbers_they_name() -> None:
    groups = X.reshape(4, 4, 3, 3).sum(axis=(1, 3))
    assert uniformity.value(X) == pytest.approx(groups.std(), abs=1e-5)
    assert sparsity.value(X) == np.count_nonzero(X) / 144
    assert uniformity.sensitivity((16, 9))[0] == pytest.approx(math.sqrt(11) / 12, abs=1e-5)
    assert sparsity.sensitivity((16, 9), "replace") == (Fraction(1, 144),)
    assert (uniformity.name, concentration.__doc__) == ("uniformity", "The share of the largest cell.")


def test_a_domain_is_told_apart_by_the_names_of_its_axes() -> None:
    lower = metafeature(lambda db: db.where(db.x < 1).sum(), name="lower")
    lower.sensitivity(Domain({"y": 2, "x": 2}))
    assert lower.value([[1, 1], [0, 0]]) == 2


def test_measuring_spends_the_budget_and_adds_the_noise_that_was_announced() -> None:
    for feature in (uniformity, sparsity, concentration):
        source, recorder = recorded(X)
        noisy = feature.measure(source, source.grant(0.2))
        assert noisy == feature.value(X)  # the recorder adds no noise
        assert source.unspent == 0
        announced = feature.noise_scale(X.shape, 0.2)
        assert len(announced) == len(recorder.scales) == len(feature.sensitivity(X.shape))
        for scale, drawn, sensitivity in zip(announced, recorder.scales, feature.sensitivity(X.shape), strict=True):
            assert scale == pytest.approx(float(sensitivity * len(announced) / Fraction("0.2")))
            assert float(drawn) >= scale  # in units, of which a number has one or more


def test_several_trials_are_measured_at_once() -> None:
    source = SimulatedSource(X, seed=4, trials=500)
    noisy = concentration.measure(source, source.grant(100))
    assert noisy.shape == (500,)
    assert np.median(noisy) == pytest.approx(concentration.value(X), rel=0.2)


def test_everything_is_checked_before_the_first_charge() -> None:
    source, recorder = recorded(np.arange(8))
    too_fine = metafeature(lambda db: measured(db.values.sum(), stddev(db.values) * 2**20, then=max))
    with pytest.raises(BadInput, match="beyond what 64-bit counts hold"):
        too_fine.measure(source, source.grant(Fraction(1, 2**40)))
    with pytest.raises(BadInput, match="there is no axis 'y'"):
        uniformity.measure(source, source.grant(1))
    with pytest.raises(BadInput, match="must be a token"):
        sparsity.measure(SimulatedSource(X, seed=0), 0.5)  # type: ignore[arg-type]
    assert recorder.asked == []
    assert source.unspent == 1 + Fraction(1, 2**40)


def test_a_release_is_charged_under_the_name_of_the_expression(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        source = ReleaseSource(X, purse=ledger.account("people", cap=1).purse())
        sparsity.measure(source, source.grant(0.5))
        (event,) = [event for event in ledger.events("people") if event.kind == "charge"]
    assert event.amount == Fraction(1, 2)
    assert "count()" in event.note


def test_a_metafeature_gives_private_numbers() -> None:
    with pytest.raises(BadInput, match="gives many numbers"):
        metafeature("select values from db")
    with pytest.raises(BadInput, match="must be private numbers, got float"):
        metafeature(lambda db: 0.5).value([1, 2])
    with pytest.raises(BadInput, match="must be private numbers, got Cells"):
        metafeature(lambda db: db.values).value([1, 2])
    with pytest.raises(BadInput, match="must be a function"):
        metafeature(3)  # type: ignore[call-overload]
    with pytest.raises(BadInput, match="must be 1 to 16"):
        MeasuredExpressions((db.values.sum(),) * 17, max)


def test_axes_can_be_named() -> None:
    feature = metafeature("max(select sum(values) from db group by age/2)", name="peak", axes=("age", "income"))
    assert isinstance(feature, Metafeature)
    assert repr(feature) == "<metafeature peak>"
    assert feature.value(np.ones((4, 3), int)) == 6
