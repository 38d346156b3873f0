"""Every planted bug is noticed, and nothing is noticed without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.audit.list_mutants import page
from tests.audit.mutants import MUTANTS
from tests.audit.planted import Detector, Mutant

DETECTORS = {mutant.detector.name: mutant.detector for mutant in MUTANTS}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_noticed(mutant: Mutant, tmp_path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        mutant.plant(patch)
        with pytest.raises((Exception, pytest.fail.Exception)) as noticed:
            mutant.detector.look(patch, tmp_path)
    assert not isinstance(noticed.value, (NameError, ImportError, SyntaxError)), "that is a fault of the mutant itself"


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=list(DETECTORS))
def test_without_a_bug_nothing_is_noticed(detector: Detector, tmp_path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        detector.calm(patch, tmp_path)


def test_there_are_enough_and_each_has_its_own_name() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 40


def test_the_page_about_them_is_current() -> None:
    written = (Path(__file__).resolve().parents[2] / "docs" / "mutants.md").read_text("utf-8")
    assert written == page(), "python -m tests.audit.list_mutants > docs/mutants.md"
