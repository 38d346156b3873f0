"""Ours beside a reference: reading it, names, ratios and their doubt, and results that survive a stop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from jostle import simulate
from jostle.kernel.errors import BadInput
from jostle.simulate import measure
from jostle.simulate.results import MeasuredError, Results
from jostle_bench import reference
from tests.bench.folders import HEADER, reference_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return reference_folder(tmp_path_factory.mktemp("made-up") / "reference")


@pytest.fixture(scope="module")
def rows(folder):
    return reference.read(folder)


def made(algorithm: str, cell: str, mean: float, stderr: float = 0.1, **changes) -> MeasuredError:
    said = {"version": 1, "digest": "00", "trials": 10, "seed": 0, "neighbours": "add_remove", "seconds": 0.001} | changes
    return MeasuredError(algorithm=algorithm, cell=cell, mean=mean, stderr=stderr, **said)


# ------------------------------------------------------------------------------------------------------------ reading


def test_every_row_and_every_input_is_read(rows):
    assert len(rows) == 2 * 2 * 2 * (4 * 2 + 3)
    assert len(reference.inputs(rows)) == 2 * 2 * 2 * 3
    assert len(reference.inputs(rows, task="range-2d")) == 8
    assert reference.inputs(rows)[0].key == "A|n16|s100|e0.1|identity"


def test_inputs_are_what_their_names_say(rows):
    for cell in reference.inputs(rows):
        assert cell.vector().shape == cell.domain
        assert cell.vector().sum() == cell.scale
        cell.workload().check(cell.domain)


def test_corners_in_the_file_are_inclusive(rows):
    cell = reference.inputs(rows, task="range-2d")[0]
    x = cell.vector()
    assert (cell.workload() @ x).tolist() == [x.sum(), x[1, 2]]


def test_names_that_differ():
    assert reference.counterparts("MWEM-adaptive", "range-2d") == ("MWEM*",)
    assert reference.counterparts("AHP-adaptive", "range-1d") == ("AHP*",)
    assert reference.counterparts("StructureFirst", "range-1d") == ("SF",)
    assert reference.counterparts("DPCube", "range-2d") == ("DPCube", "DPCube_gz1")
    assert reference.counterparts("DAWA", "range-1d") == ("DAWA",)
    assert reference.counterparts("DAWA", "range-2d") == ("DAWA_notrunc",)
    assert reference.counterparts("HB", "range-1d") == ("HB",)


def test_what_both_have_and_what_only_the_reference_has(rows):
    assert {"Laplace", "HB"} <= set(reference.comparable(rows))
    assert "Uniform" not in reference.comparable(rows)
    assert "Unheard" in reference.missing(rows)
    assert not {"Laplace", "DAWA_notrunc"} & set(reference.missing(rows))


def test_times_are_optional(folder, tmp_path):
    assert reference.seconds(folder)[(16,), "Laplace"] == 1000.0
    assert reference.seconds(tmp_path) == {}


def test_a_folder_that_is_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("JOSTLE_REFERENCE", raising=False)
    with pytest.raises(BadInput, match="JOSTLE_REFERENCE"):
        reference.reference_folder()
    with pytest.raises(BadInput, match="neither errors_1d.csv nor"):
        reference.reference_folder(tmp_path)
    monkeypatch.setenv("JOSTLE_REFERENCE", str(tmp_path))
    with pytest.raises(BadInput, match="neither errors_1d.csv nor"):
        reference.reference_folder()


@pytest.mark.parametrize(
    "text", ["nothing,known\n1,2\n", ",".join(HEADER) + "\nA,16,10,1,identity,HB,20,0,0\n", ",".join(HEADER) + "\nA,x,1\n"]
)
def test_a_table_that_cannot_be_read_is_refused(tmp_path, text):
    (tmp_path / "errors_1d.csv").write_text(text)
    with pytest.raises(BadInput, match="its columns must be"):
        reference.read(tmp_path)


def test_an_input_that_is_missing_is_named(tmp_path, rows):
    cell = replace(reference.inputs(rows)[0], folder=tmp_path)
    with pytest.raises(BadInput, match=r"has no array 'A\|n16\|s100'"):
        cell.vector()


def test_samples_are_seeded_and_in_order():
    everything = list(range(100))
    some = reference.sample(everything, 10, seed=1)
    assert some == sorted(set(some)) == reference.sample(everything, 10, seed=1) != reference.sample(everything, 10, seed=2)
    assert reference.sample(everything, None, seed=1) == reference.sample(everything, 1000, seed=1) == everything
    with pytest.raises(BadInput, match="sample"):
        reference.sample(everything, 0, seed=1)


# ------------------------------------------------------------------------------------------------------------- ratios


def test_ratios_and_their_means(rows):
    cells = reference.inputs(rows, task="range-1d")
    theirs = {row.cell: row.mean for row in rows if row.algorithm == "Laplace"}
    ours = [made("Laplace", cell.key, theirs[cell] * (2.0 if cell.queries == "prefix" else 0.5)) for cell in cells]
    (found,) = reference.compare(rows, ours)
    assert (found.algorithm, found.task, len(found.ratios)) == ("Laplace", "range-1d", 16)
    assert found.mean == pytest.approx(1.0)
    assert found.groups[("prefix", 0.1)] == pytest.approx(2.0)
    assert found.groups[("identity", 1.0)] == pytest.approx(0.5)
    assert found.worst.value == pytest.approx(2.0)
    assert found.is_target
    assert not found.as_accurate


def test_doubt_is_about_the_gap_to_a_tenth_more(rows):
    (row,) = [r for r in rows if r.algorithm == "MWEM*" and r.cell.key == "A|n16|s100|e1|prefix"]
    theirs = reference.Theirs(row.cell, row.algorithm, 20, 100.0, 3.0)
    ratio = reference.Ratio(row.cell, made("MWEM-adaptive", row.cell.key, 130.0, 4.0), theirs)
    assert ratio.z == pytest.approx(20.0 / math.hypot(4.0, 3.3))
    assert not ratio.beyond_doubt
    assert reference.Ratio(row.cell, made("MWEM-adaptive", row.cell.key, 132.0, 4.0), theirs).beyond_doubt
    certain = reference.Theirs(row.cell, row.algorithm, 20, 100.0, 0.0)
    assert reference.Ratio(row.cell, made("MWEM-adaptive", row.cell.key, 111.0, 0.0), certain).beyond_doubt
    assert not reference.Ratio(row.cell, made("MWEM-adaptive", row.cell.key, 110.0, 0.0), certain).beyond_doubt


def test_a_doubtless_input_is_worse_than_a_larger_doubtful_one(rows):
    cells = reference.inputs(rows, task="range-1d")[:2]
    pairs = [reference.Theirs(cell, "HB", 20, 10.0, 0.1) for cell in cells]
    ratios = [
        reference.Ratio(cells[0], made("HB", cells[0].key, 13.0, 0.1), pairs[0]),
        reference.Ratio(cells[1], made("HB", cells[1].key, 20.0, 15.0), pairs[1]),
    ]
    found = reference.Comparison("HB", "range-1d", ratios)
    assert found.worst is ratios[0]
    assert found.beyond_doubt == 1


def test_the_better_of_two_variants_is_taken_in_each_cell(rows):
    cells = reference.inputs(rows, task="range-1d")[:2]
    both = [
        reference.Theirs(cells[0], "DPCube", 20, 10.0, 1.0),
        reference.Theirs(cells[0], "DPCube_gz1", 20, 5.0, 1.0),
        reference.Theirs(cells[1], "DPCube", 20, 4.0, 1.0),
        reference.Theirs(cells[1], "DPCube_gz1", 20, 8.0, 1.0),
    ]
    (found,) = reference.compare(both, [made("DPCube", cell.key, 1.0) for cell in cells])
    assert [ratio.theirs.mean for ratio in found.ratios] == [5.0, 4.0]


def test_what_is_not_private_is_no_target(rows):
    cells = reference.inputs(rows, task="range-2d")
    (found,) = reference.compare(rows, [made("DAWA", cell.key, 6.0) for cell in cells])
    assert found.mean == pytest.approx(2.0)  # beside the variant that does not round
    assert not found.is_target


def test_ours_agree_with_a_reference_that_is_right(rows):
    cells = reference.inputs(rows, task="range-1d")
    todo = measure.jobs(cells, ["Laplace", "HB"], trials=200, seed=0)
    found = list(measure.run(todo, Results(), workers=1))
    laplace, hb = sorted(reference.compare(rows, found), key=lambda one: one.algorithm, reverse=True)
    assert laplace.groups[("identity", 0.1)] == pytest.approx(1.0, rel=0.05)
    assert hb.beyond_doubt == 16


# ------------------------------------------------------------------------------------------------------------ results


def test_a_job_has_the_runner_s_errors_with_a_seed_of_its_own(rows):
    cells = reference.inputs(rows, task="range-1d")[:4]
    one, *_ = todo = measure.jobs(cells, ["Laplace"], trials=3, seed=5)
    found = [measure.measure(job) for job in todo]
    assert len({result.mean for result in found}) == 4
    assert found[0] == replace(measure.measure(one), seconds=found[0].seconds)
    assert found[0].mean != simulate.errors("Laplace", one.cell.vector(), one.cell.workload(), 1.0, trials=3, seed=5).mean()


def test_another_input_of_the_same_name_is_another_job(folder, tmp_path):
    again = reference_folder(tmp_path / "other", scales=(100,))
    old, new = (reference.inputs(reference.read(where), task="range-1d") for where in (folder, again))
    with np.load(again / "inputs_1d.npz") as arrays:
        np.savez(again / "inputs_1d.npz", **{name: arrays[name][::-1] for name in arrays.files})
    assert old[0].key == new[0].key
    assert measure.digest(old[0]) != measure.digest(new[0])


def test_a_job_that_raises_is_told_and_the_others_go_on(rows, tmp_path):
    good = reference.inputs(rows, task="range-1d")[0]
    todo = measure.jobs([good], ["Laplace"], trials=2, seed=0)
    broken = replace(todo[0], cell=replace(good, scale=77))
    with Results(tmp_path / "kept") as results:
        failed, fine = list(measure.run([broken, *todo], results, workers=1))
        assert isinstance(failed, measure.FailedJob)
        assert "has no array" in failed.reason
        assert list(results) == [fine]


@pytest.mark.parametrize("wrong", [{"trials": 1}, {"seed": -1}, {"neighbours": "strangers"}])
def test_bad_arguments_are_named(rows, wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        measure.jobs(reference.inputs(rows), ["Laplace"], **{"trials": 2, "seed": 0} | wrong)
    with pytest.raises(BadInput, match="workers"):
        next(measure.run([], Results(), workers=0))
