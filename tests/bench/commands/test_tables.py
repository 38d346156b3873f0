"""`jostle bench tables`, on files that are small."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from jostle.cli.main import app
from jostle.kernel.errors import BadInput
from jostle_bench import table_speed as speed


def test_it_measures_both_units_and_keeps_its_file(tmp_path):
    done = CliRunner().invoke(
        app, ["bench", "tables", "--rows", "1000", "--only", "keys", "--repeat", "1", "--folder", str(tmp_path), "--json"]
    )
    assert done.exit_code == 0, done.output
    runs = json.loads(done.stdout)
    asked = [(run["question"], run["rows"], run["bounded"]) for run in runs]
    assert asked == [("private keys among 100,000", 1000, bounded) for bounded in (False, True)]
    assert all(run["again"] > 0 and run["first"] > 0 and 10 < run["megabytes"] < 10_000 for run in runs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["visits-1000.parquet"]


def test_a_disk_without_room_is_told_before_anything_is_written(tmp_path):
    with pytest.raises(BadInput, match="fewer rows"):
        speed.make(10**15, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("question", speed.QUESTIONS)
def test_every_question_is_answered(question, tmp_path, monkeypatch, capsys):
    path = speed.make(1000, tmp_path, speed.QUESTIONS[question].file)
    monkeypatch.setattr("sys.argv", ["child", str(path), "", question])
    speed.child()
    assert json.loads(capsys.readouterr().out)["first"] > 0
