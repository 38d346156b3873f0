"""Times against the domain's size: the fit, the stop, memory, and the reference beside."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.kernel.errors import BadInput
from jostle_bench import speed
from tests.bench.folders import reference_folder


def told(*arguments, **options) -> dict[str, list]:
    found: dict[str, list] = {"timing": [], "beside": [], "stopped": []}
    for kind, what in speed.clock(*arguments, **{"limit": 2.0} | options):
        found[kind].append(what)
    return found


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_the_exponent_is_that_of_the_larger_domains(power):
    large = [(4**k, 1e-7 * 4 ** (k * power)) for k in range(6, 10)]
    overhead = [(4**k, 5.0) for k in range(1, 5)]
    assert speed.fitted(large + overhead) == pytest.approx(power)
    assert speed.fitted(large[:2]) is None


def test_an_algorithm_is_timed_on_growing_domains():
    found = told("Laplace", "range-1d", largest=4096)
    assert [timing["domain"] for timing in found["timing"]] == [(256,), (1024,), (4096,)]
    assert all(0 < timing["seconds"] < 1 for timing in found["timing"])
    assert found["timing"][0]["memory"] in (0, None)
    assert found["stopped"] == []


def test_larger_domains_are_left_out_once_a_run_takes_too_long(monkeypatch):
    clock = {"now": 0.0, "per_cell": 1e-3}

    def errors(algorithm, x, workload, epsilon, *, trials, seed):
        clock["now"] += x.size * clock["per_cell"] * trials
        return np.zeros(trials)

    monkeypatch.setattr(speed, "errors", errors)
    monkeypatch.setattr(speed.time, "process_time", lambda: clock["now"])
    found = told("Laplace", "range-1d")
    assert [timing["domain"] for timing in found["timing"]] == [(256,), (1024,), (4096,)]
    assert found["timing"][-1]["seconds"] == pytest.approx(4.096)
    assert found["stopped"] == ["a run takes 4.1 s at 4096 cells"]


def test_a_run_that_wants_too_much_memory_ends_the_climb(monkeypatch):
    def errors(algorithm, x, workload, epsilon, *, trials, seed):
        if x.size > 1024:
            raise MemoryError
        return np.zeros(trials)

    monkeypatch.setattr(speed, "errors", errors)
    found = told("Laplace", "range-2d")
    assert [timing["domain"] for timing in found["timing"]] == [(32, 32)]
    assert found["stopped"] == ["out of memory at 64×64 cells"]


def test_a_fresh_process_tells_times_and_compiling_and_the_reference_s(tmp_path):
    folder = reference_folder(tmp_path / "reference")
    (found,) = speed.speeds(["Laplace"], ["range-1d"], tmp_path / "cache", largest=256, folder=folder)
    assert (found.algorithm, found.task, found.stopped) == ("Laplace", "range-1d", "")
    assert [timing.domain for timing in found.timings] == [(256,)]
    assert found.compiling >= 0
    assert found.exponent is None
    (beside,) = found.beside
    assert (beside.domain, beside.theirs, beside.goal) == ((16,), 1000.0, 10)
    assert beside.faster == beside.theirs / beside.ours > 1000


def test_a_process_that_fails_is_told(tmp_path):
    order = {"algorithm": "Nobody's", "task": "range-1d", "limit": 1.0, "largest": 256, "folder": None}
    found = speed._in_a_fresh_process(order, tmp_path)
    assert found.stopped.startswith("failed: ")
    assert "Nobody's" in found.stopped
    assert found.timings == []
    assert found.compiling is None


def test_what_cannot_be_timed_is_refused(tmp_path):
    with pytest.raises(BadInput, match="limit"):
        list(speed.speeds(["Laplace"], ["range-1d"], tmp_path, limit=0))
    with pytest.raises(BadInput, match="algorithm"):
        list(speed.speeds(["Nobody's"], ["range-1d"], tmp_path))


def test_the_made_up_data_are_the_same_every_time():
    for domain in ((256,), (32, 32)):
        x = speed.lumpy(domain)
        assert x.shape == domain
        assert x.sum() == 100_000
        assert (x == speed.lumpy(domain)).all()
        assert (x == 0).any()


def test_the_machine_is_described():
    assert speed.machine()["cores"] >= 1
    assert speed.machine()["processor"]
