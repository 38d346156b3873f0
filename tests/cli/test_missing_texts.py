"""Texts that stand for no value, from a schema file through the commands."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("age,sex\n31,F\nNA,M\n-9,?\n20,-\n,\n45,NA\n38,F\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def described(folder, first: str) -> None:
    (folder / "people.toml").write_text(
        f'{first}\n[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99\nbins = 2\nnull = "own"\n'
        '[columns.sex]\nkind = "category"\ncategories = ["F", "M"]\n',
        "utf-8",
    )


@pytest.mark.parametrize(
    ("first", "ages", "sexes"),
    [
        ("", [5, 0, 2], [2, 1, 3, 1]),  # −9 is moved to 0, and what is no category is another
        ('missing = ["NA", "?", "-9", ""]', [4, 0, 3], [2, 1, 1, 3]),
    ],
)
def test_a_release_of_a_text_file(folder, jostle, first, ages, sexes):
    described(folder, first)
    for column, wanted in (("age", ages), ("sex", sexes)):
        status, output, _ = jostle(
            *("release", "people.csv", "--schema", "people.toml", "--by", column, "--epsilon", 1000, "--json"),
            *("--algorithm", "Laplace", "--ledger", "budget.db", "--budget", 10_000),
        )
        assert status == 0
        assert [round(answer["count"]) for answer in json.loads(output)["answers"]] == wanted


def test_a_classifier_of_a_text_file(folder, jostle):
    described(folder, 'missing = ["NA", "?", "-9", "-"]')
    asked = ("classify", "people.csv", "--schema", "people.toml", "--epsilon", 1000, "--learner", "Majority", "--json")
    (folder / "test.csv").write_text("age,sex\n31,F\n50,NA\n50,-\n,\n", "utf-8")
    status, output, _ = jostle(*asked, "--test", "test.csv")
    assert status == 0
    assert json.loads(output)["accuracy"] == 1.0  # three of the four have no class
