"""Public tables with a class: what is declared fits what is there, and splits are what their seeds say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jostle.datasets.artificial import HELD_OUT, SIGNALS, artificial
from jostle.datasets.labelled import EXPERIMENTS, TABLES, load, split
from jostle.kernel.errors import BadInput

ROWS = {
    "adult": 32_561,
    "adult-test": 16_281,
    "nursery": 12_960,
    "contraceptive": 1_473,
    "hiv": 1_625,
    "skin": 245_057,
    "credit": 30_000,
}


@pytest.mark.parametrize("name", TABLES)
def test_every_record_is_read_and_its_class_is_foreseen(name: str, jostle_data: Path) -> None:
    table = load(name, jostle_data)
    assert len(table) == ROWS[name]
    label = table.schema[table.label]
    codes = label.encode(table.y)
    assert codes.min() >= 0
    assert codes.max() < label.values
    assert np.bincount(codes, minlength=label.values).min() > 0


@pytest.mark.parametrize("name", [name for name in TABLES if name != "skin"])
def test_the_declared_values_are_those_that_occur(name: str, jostle_data: Path) -> None:
    """Few records lie outside, so the documentation was read rightly."""
    table = load(name, jostle_data)
    for attribute in table.attributes:
        column = table.schema[attribute]
        _, outside, missing = column.place(table.columns[attribute])
        assert (outside & ~missing).mean() < 0.08, attribute
        assert missing.mean() < 0.06, attribute


@pytest.mark.parametrize("name", ["hiv", "credit-1k"])
def test_a_split_is_disjoint_and_repeatable(name: str, jostle_data: Path) -> None:
    first, second = split(name, 3, jostle_data), split(name, 3, jostle_data)
    assert all(np.array_equal(a.y, b.y) for a, b in zip(first, second, strict=True))
    train, test = first
    total = EXPERIMENTS[name].records or len(load(EXPERIMENTS[name].table, jostle_data))
    assert len(train) + len(test) == total
    assert len(train) == round(EXPERIMENTS[name].training * total)
    assert not np.array_equal(train.y, split(name, 4, jostle_data)[0].y)


def test_unknown_names_list_those_there_are(jostle_data: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="use one of adult, adult-test"):
        load("iris", jostle_data)
    with pytest.raises(BadInput, match="use one of adult, nursery"):
        split("iris", 0, jostle_data)
    with pytest.raises(BadInput, match="there is no adult.data"):
        load("adult", tmp_path)


@pytest.mark.parametrize("number", range(2 * len(SIGNALS)))
def test_made_up_tables_fit_their_schema(number: int) -> None:
    table = artificial(number)
    assert len(table) > HELD_OUT
    for name, column in table.schema.items():
        codes = column.encode(table.columns[name])
        assert codes.min() >= 0, name
        assert codes.max() < column.values, name


def test_a_made_up_table_is_the_same_in_every_run() -> None:
    first, second = artificial(5), artificial(5)
    assert all(np.array_equal(first.columns[name], second.columns[name]) for name in first.schema)
