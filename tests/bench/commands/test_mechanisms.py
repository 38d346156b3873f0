"""`jostle bench mechanisms`, on few candidates."""

from __future__ import annotations

import json

import typer
from typer.testing import CliRunner

from jostle_bench.commands import mechanisms


def test_the_benchmark_runs(monkeypatch):
    monkeypatch.setattr(mechanisms, "MILLION", 1000)
    app = typer.Typer()
    app.command()(mechanisms.mechanisms)
    for options in ([], ["--json"]):
        result = CliRunner().invoke(app, options)
        assert result.exit_code == 0, result.output
    rows = json.loads(result.output)
    assert len(rows) == 5
    assert all(row["measured"] > 0 for row in rows)
