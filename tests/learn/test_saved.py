"""Models in files: what is read is what was written, and nothing else is accepted or run."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from jostle import learn
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.learn.saved import load
from jostle.schema import Boolean, Category, Integer, Real

SCHEMA = {
    "age": Integer(0, 99),
    "pay": Real(0, 1e6, bins=300, null="own"),
    "sex": Category(["F", "M"]),
    "sick": Category(["no", "a bit", "yes"]),
}
WITHOUT = ("PrivateEstimator", "PrivateGrid", "PrivateRegressor")  # a grid has a test of its own; a regressor has no file
SAVED = [name for name in learn.__all__ if name.startswith("Private") and name not in WITHOUT]


def frame(rows: int = 400) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    age = draw.integers(0, 100, rows)
    sick = np.array(["no", "a bit", "yes"])[np.minimum(age // 34, 2)]
    return pd.DataFrame(
        {"age": age, "pay": draw.exponential(9_000, rows), "sex": draw.choice(["F", "M"], rows), "sick": sick}
    )


def fitted(name: str, **more: Any) -> Any:
    return getattr(learn, name)(epsilon=5, schema=SCHEMA, label="sick", random_state=0, **more).fit(frame())


@pytest.mark.parametrize("name", [*SAVED, "LearnedTree", "Jagannathan"])
def test_a_saved_model_says_the_same_of_every_value(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    model.save(tmp_path / "model.json")
    read = load(tmp_path / "model.json")
    odd = pd.DataFrame({"age": [0, 99, 200, None], "pay": [None, 1e9, 5, "?"], "sex": ["F", "?", None, "M"]})
    for rows in (frame().drop(columns="sick"), odd):
        assert np.allclose(read.predict_proba(rows), model.predict_proba(rows), atol=1e-12, rtol=0)
        assert read.predict(rows).tolist() == model.predict(rows).tolist()
    assert read.classes_.tolist() == model.classes_.tolist()
    assert read.explain() == model.explain()


def test_a_saved_grid_says_the_same(tmp_path: Path) -> None:
    schema = {"age": Integer(0, 99), "sick": Boolean()}
    people = pd.DataFrame({"age": np.arange(200) % 100, "sick": np.arange(200) % 100 > 50})
    model = learn.PrivateGrid(epsilon=5, schema=schema, label="sick", random_state=0).fit(people)
    model.save(tmp_path / "model.json")
    assert (load(tmp_path / "model.json").predict_proba(people) == model.predict_proba(people)).all()


def test_a_file_from_before_a_field_came_in_is_read(tmp_path: Path) -> None:
    people = pd.DataFrame({"age": np.arange(200) % 100, "sick": np.arange(200) % 100 > 50})
    schema = {"age": Integer(0, 99), "sick": Boolean()}
    model = learn.PrivateGrid(epsilon=5, schema=schema, label="sick", random_state=0).fit(people)
    file = tmp_path / "model.json"
    model.save(file)
    document = json.loads(file.read_text("utf-8"))
    del document["model"]["beyond"]
    file.write_text(json.dumps(document), "utf-8")
    assert (load(file).predict(people) == model.predict(people)).mean() > 0.9
    del document["model"]["levels"]
    file.write_text(json.dumps(document), "utf-8")
    with pytest.raises(BadInput, match="no model"):
        load(file)


def test_a_file_holds_neither_records_nor_accounts(tmp_path: Path) -> None:
    fitted("PrivateClassifier").save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text("utf-8"))
    assert set(document) == {"format", "version", "about", "task", "model"}
    assert set(document["about"]) == {"learner", "explain"}


def test_a_file_of_a_release_does_not_say_who_paid(tmp_path: Path) -> None:
    people = frame().assign(age=777)  # outside of the schema: its number is nowhere but in the records
    with Ledger(tmp_path / "budget.db") as ledger:
        model = learn.PrivateMajority(epsilon=5, schema=SCHEMA, label="sick", account=ledger.account("ward 13", cap=5))
        model.fit(people).save(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text("utf-8")
    assert model.charges_
    for said in ("ward 13", "777", *(charge.key for charge in model.charges_), *(c.at[:10] for c in model.charges_)):
        assert said not in text, said
    assert load(tmp_path / "model.json").explain() in model.explain()


def spoiled(document: dict[str, Any], how: str) -> str:
    model = document["model"]
    if how == "a class of the reader's own language":
        model["is a"] = "os.system"
    if how == "a field more":
        model["more"] = 1
    if how == "numbers that are none":
        model["table"]["data"] = base64.b64encode(np.full(9, np.nan).tobytes()).decode()
    if how == "no probabilities":
        model["table"] = {"array of": "float64", "shape": [1, 3], "data": base64.b64encode(np.ones(3).tobytes()).decode()}
    if how == "another shape":
        model["table"]["shape"] = [10**9, 10**9]
    if how == "a list for a table":
        model["bins"] = 3
    if how == "another version":
        document["version"] = 2
    if how == "columns of no kind":
        document["task"]["columns"]["table"]["age"] = {"column": {"kind": "eval"}}
    if how == "nested":
        return "[" * 100_000
    if how == "constants":
        return '{"format": NaN}'
    return json.dumps(document)


@pytest.mark.parametrize(
    "how",
    [
        *("a class of the reader's own language", "a field more", "numbers that are none", "no probabilities"),
        *("another shape", "a list for a table", "another version", "columns of no kind", "nested", "constants"),
    ],
)
def test_a_damaged_or_hostile_file_is_refused(how: str, tmp_path: Path) -> None:
    fitted("PrivateJoint").save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text("utf-8"))
    (tmp_path / "model.json").write_text(spoiled(document, how), "utf-8")
    with pytest.raises(BadInput, match="is no model, or a damaged one"):
        load(tmp_path / "model.json")


def test_a_tree_that_leads_back_is_refused(tmp_path: Path) -> None:
    fitted("PrivateTree", depth=2, bins=4).save(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text("utf-8"))
    document["model"]["nodes"][0]["children"][0] = 0
    (tmp_path / "model.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(BadInput, match="is no model"):
        load(tmp_path / "model.json")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        load(tmp_path / "none.json")
