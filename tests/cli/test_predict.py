"""`jostle classify --save` and `jostle predict`: a model that can be kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SCHEMA = """
delimiter = ";"

[columns.age]
kind = "real"
low = 0
high = 99
bins = 4
decimal = ","

[columns.class]
kind = "category"
categories = ["no", "yes"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    rows = "".join(f"{age},5;{'yes' if age >= 50 else 'no'}\n" for age in range(99))
    (tmp_path / "people.csv").write_text(f"age;class\n{rows * 5}", "utf-8")
    (tmp_path / "people.toml").write_text(SCHEMA, "utf-8")
    (tmp_path / "new.csv").write_text("more;age\nx;3,5\ny;90\nz;\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LEARN = ("classify", "people.csv", "--schema", "people.toml", "--epsilon", 5, "--simulate", 0)


def test_a_model_is_saved_and_used(folder: Path, jostle) -> None:
    status, output, errors = jostle(*LEARN, "--save", "model.json")
    assert (status, errors) == (0, "")
    assert output.startswith("Accuracy on a fifth of the records, held out: ")
    assert "The model is in model.json. Use it: jostle predict model.json new.csv" in output
    status, output, _ = jostle("predict", "model.json", "new.csv", "--delimiter", ";")
    assert status == 0
    assert output.splitlines()[:3] == ["class", "no", "yes"]
    assert len(output.splitlines()) == 4
    status, _, errors = jostle("predict", "model.json", "new.csv", "--delimiter", ";", "--probabilities", "--out", "p.csv")
    assert (status, errors) == (0, "The predictions are in p.csv.\n")
    head, *rows = (folder / "p.csv").read_text("utf-8").splitlines()
    assert head == "class,P(no),P(yes)"
    assert sum(map(float, rows[0].split(",")[1:])) == pytest.approx(1, abs=1e-3)


def test_the_saved_file_is_named_for_a_script(folder: Path, jostle) -> None:
    status, output, _ = jostle(*LEARN, "--save", "model.json", "--json")
    assert status == 0
    assert json.loads(output)["model file"] == "model.json"
    assert jostle("predict", "model.json", "new.csv", "--delimiter", ";", "--explain")[2].startswith("Learner: ")


def test_a_model_that_cannot_be_written_is_printed(folder: Path, jostle, monkeypatch) -> None:
    monkeypatch.setattr("jostle.cli.model_files._writes", lambda *_: False)
    status, output, errors = jostle(*LEARN, "--save", "model.json")
    assert status == 5
    assert '"format": "jostle model"' in output
    assert "model.json could not be written. Its model was charged, and is on standard output: keep it." in errors


def test_files_are_not_written_over_each_other(folder: Path, jostle) -> None:
    status, _, errors = jostle(*LEARN, "--save", "people.csv")
    assert status == 2
    assert "save" in errors
    assert jostle("predict", "people.toml", "new.csv")[0] == 2
    status, _, errors = jostle("predict", "model.json", "new.csv")
    assert status == 2
    assert "cannot be read" in errors


def test_another_delimiter_is_named_in_the_refusal(folder: Path, jostle) -> None:
    jostle(*LEARN, "--save", "model.json")
    status, _, errors = jostle("predict", "model.json", "new.csv")
    assert status == 2
    assert "check the delimiter" in errors
