"""`rows(together=True)`: intervals that hold all at once, of groups, sums, means and marginals."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jostle.kernel.errors import BadInput
from jostle.kernel.measures import Concentrated
from jostle.schema import Category, Integer, Schema
from jostle.tables.aggregates import count, mean, quantiles, sum
from jostle.tables.opening import open as open_table

SCHEMA = Schema(age=Integer(0, 99), sex=Category(["F", "M"], null="drop", outside="drop"))
FRAME = pd.DataFrame({"age": np.arange(500) % 100, "sex": ["F", "M"] * 250})


def opened(folder: Path, cap: Any) -> Any:
    return open_table(FRAME, schema=SCHEMA, ledger=folder / "ledger.db", budget=cap, name="people")


def widths(rows: Any, low: str = "low", high: str = "high") -> np.ndarray:
    by_name = rows.by_name()
    return np.asarray(by_name[high], dtype=np.float64) - np.asarray(by_name[low], dtype=np.float64)


def test_each_interval_of_groups_misses_with_its_part_of_five_percent(tmp_path: Path) -> None:
    found = opened(tmp_path, 10).group_by("sex").aggregate(n=count(), m=mean("age"), epsilon=1)
    alone, together = found.rows(), found.rows(together=True)
    for name in ("n", "m"):
        assert np.all(widths(together, f"{name}: low", f"{name}: high") > widths(alone, f"{name}: low", f"{name}: high"))


@pytest.mark.parametrize(("price", "cap"), [({"epsilon": 1}, 10), ({"rho": "1/100"}, Concentrated(1))])
def test_marginals_are_wider_by_the_law_of_their_noise(tmp_path: Path, price: dict[str, Any], cap: Any) -> None:
    found = opened(tmp_path, cap).marginals(("age",), ("sex",), **price)
    factor = math.log(20 * 102) / math.log(20)
    if "rho" in price:
        factor = NormalDist().inv_cdf(1 - 0.025 / 102) / NormalDist().inv_cdf(0.975)
    assert widths(found.rows(together=True)) == pytest.approx(factor * widths(found.rows()))
    with pytest.raises(BadInput, match="^together: "):
        found.refined().rows(together=True)


def test_of_counts_they_are_whole_and_of_one_number_they_are_the_same(tmp_path: Path) -> None:
    people = opened(tmp_path, 10)
    total = people.sum("age", epsilon=1)
    assert total.rows(together=True).columns == total.rows().columns
    by_sex = people.sum("age", by="sex", epsilon="1/10")
    assert np.all(widths(by_sex.rows(together=True)) > 1.1 * widths(by_sex.rows()))


def test_what_has_no_law_is_refused_beforehand(tmp_path: Path) -> None:
    people = opened(tmp_path, 10)
    assert people.ask("age").holds_together
    assert people.ask_groups(["sex"], {"n": count(), "s": sum("age")}).holds_together
    assert not people.ask_groups(["sex"], {"p": quantiles("age", 0.5)}).holds_together
    found = people.group_by("sex").aggregate(n=count(), p=quantiles("age", 0.5), epsilon=1)
    with pytest.raises(BadInput, match="^together: is for counts, sums, means and variances, and 'p' is another"):
        found.rows(together=True)
