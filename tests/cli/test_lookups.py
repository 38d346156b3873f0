"""Public tables on the command line: joined in a statement, and nothing else."""

from __future__ import annotations

import pandas as pd
import pytest

from jostle.cli.lookups import lookups_of
from jostle.kernel.errors import BadInput


def test_public_tables_are_read_by_name_and_refused_otherwise(tmp_path):
    frame = pd.DataFrame({"ward": ["a", "b"], "house": ["north", "south"]})
    frame.to_csv(tmp_path / "regions.csv", index=False)
    frame.to_parquet(tmp_path / "regions.parquet")
    data = str(tmp_path / "visits.csv")
    found = lookups_of([f"one={tmp_path}/regions.csv", f"two={tmp_path}/regions.parquet"], data)
    assert {name: list(table["house"]) for name, table in found.items()} == {
        "one": ["north", "south"],
        "two": ["north", "south"],
    }
    for bad in ("regions.csv", "=regions.csv", "a=regions.txt", f"a={tmp_path}/nothing.csv", f"a={data}"):
        with pytest.raises(BadInput) as refused:
            lookups_of([bad], data)
        assert refused.value.argument == "lookup"
