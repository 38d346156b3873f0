"""What audits consist of: how many samples of what, at which ε, and that a stopped one goes on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from jostle.audit import Audited, Pair, campaign, catalogue
from jostle.audit.campaign import RUNGS, AuditJob
from jostle.audit.examine import Verdict
from jostle.kernel.errors import BadInput
from tests.audit.helpers import ENTRIES, leaky

EVERY = catalogue.every()
"""With what is paid for in ρ."""


def unseen(pilot: list[AuditJob], place: int = 0) -> dict[AuditJob, Verdict]:
    """A pilot that proved nothing, in a second a job."""
    shown = {"bound": 0.0, "pair": "", "event": "", "place": place, "seconds": 1.0}
    return {
        job: Verdict(
            name=job.name,
            family=EVERY[job.name].family if job.name in EVERY else "mechanism",
            neighbours=job.neighbours,
            engine=job.engine,
            claimed=float(Fraction(job.epsilon)),
            confidence=job.confidence,
            samples=job.samples,
            **shown,
        )
        for job in pilot
    }


def test_all_verdicts_hold_together():
    quick, pilot = (campaign.jobs(list(EVERY.values()), full=full) for full in (False, True))
    assert sum(1 - job.confidence for job in quick) == pytest.approx(0.001)
    for planned in (quick, [*pilot, *campaign.deeper(pilot, unseen(pilot))]):
        assert sum(1 - job.confidence for job in planned) <= 0.001 * (1 + 1e-9)
        assert len(set(planned)) == len(planned)
        assert {job.neighbours for job in planned} == {"add_remove", "replace"}
    known = campaign.primitives(list(EVERY.values()))
    assert len(RUNGS) * sum(1 - job.confidence for job in known) == pytest.approx(0.001)


def test_a_full_audit_may_be_taken_in_pieces():
    """Of families and of entries: the pieces are those of the whole, so what was kept of them is found again."""
    whole = campaign.jobs(list(EVERY.values()), full=True)
    pieces = [["mechanism", "operator"], ["algorithm", "choice"], ["classifier: Majority"], ["classifier", "table"]]
    found = {job for piece in pieces for job in campaign.jobs(catalogue.select(piece), full=True)}
    assert found == set(whole)


def test_more_bounds_than_there_are_shares_share_the_chance_of_failure_too(monkeypatch):
    monkeypatch.setattr(campaign, "SHARES", 1)
    pilot = campaign.jobs(list(EVERY.values()), full=True)
    planned = [*pilot, *campaign.deeper(pilot, unseen(pilot))]
    assert sum(1 - job.confidence for job in planned) == pytest.approx(0.001)
    assert {job.confidence for job in campaign.jobs(catalogue.select(["table"]), full=True)} == {pilot[0].confidence}


def test_a_full_audit_has_as_many_samples_as_it_says_of_every_entry_under_both_neighbours():
    pilot = campaign.jobs(list(ENTRIES.values()), full=True)
    rest = campaign.deeper(pilot, unseen(pilot))
    for entry in ENTRIES.values():
        for relation in entry.relations:
            found = [job for job in rest if (job.name, job.neighbours) == (entry.name, relation)]
            engine = "exact" if entry.run is None else "simulated"
            least = {"mechanism": 10**6, "operator": 10**6, "table": 50_000}.get(entry.family, 10**5)
            assert max(job.samples for job in found if job.engine == engine) >= least
            assert {job.engine for job in found} >= ({"exact"} if entry.exact else set())


def test_everything_is_audited_at_several_epsilons():
    for planned in (campaign.jobs(list(ENTRIES.values())), campaign.jobs(list(ENTRIES.values()), full=True)):
        seen = {}
        for job in planned:
            seen.setdefault((job.name, job.neighbours), set()).add(Fraction(job.epsilon))
        assert set(seen) == {(entry.name, relation) for entry in ENTRIES.values() for relation in entry.relations}
        assert min(map(len, seen.values())) >= 2


def two_bits(side, epsilon, neighbours, samples, seed):
    """Shows a bit in full where it is 2 or 3, and nothing of it elsewhere."""
    told = np.random.default_rng(seed).integers(0, 2, (samples, 1))
    return np.full((samples, 1), side).astype(float) if side > 1 else told.astype(float)


def test_a_full_audit_goes_on_with_the_pair_that_shows_most_and_with_fresh_samples(monkeypatch):
    pairs = [Pair("nothing", 0, 1), Pair("all", 2, 3), Pair("nothing, too", 1, 0)]
    entry = Audited(name="mine", family="mechanism", run=two_bits, pairs=lambda neighbours: pairs)
    monkeypatch.setattr(catalogue, "_added", {"mine": entry})
    pilot = [job for job in campaign.jobs([entry], full=True) if job.epsilon == "1" and job.neighbours == "replace"]
    kept = campaign.Kept(None)
    (tried,) = [verdict for _, verdict in campaign.run(pilot, workers=1, kept=kept)]
    assert tried.place == 1
    ((job, seconds),) = campaign.deeper(pilot, kept.verdicts).items()
    assert (job.first, job.pairs, job.samples) == (1, 1, 10**6)
    assert job.seed != pilot[0].seed
    # Half of the pilot's four inputs, and a hundred times as many samples.
    assert seconds == pytest.approx(tried.seconds * 100 / 2)
    deep = campaign.do(replace(job, samples=1_000))
    assert deep.pair.startswith("all: 2 and 3")


def test_more_samples_are_drawn_until_enough_is_found(monkeypatch):
    drawn = []

    def run(side, epsilon, neighbours, samples, seed):
        drawn.append((side, samples, seed))
        return leaky(1.0).run(side % 2, epsilon, neighbours, samples, seed)

    pairs = [Pair("a bit and itself", 0, 2), Pair("a bit", 0, 1)]
    entry = Audited(name="mine", family="mechanism", run=run, pairs=lambda neighbours: pairs, tight=("replace",))
    monkeypatch.setattr(catalogue, "_added", {"mine": entry})
    (job,) = [replace(job, epsilon="1", until=0.9) for job in campaign.primitives([entry])]
    found = campaign.do(job)
    assert found.tightness >= 0.9
    assert [samples for side, samples, _ in drawn if side == 1] == [one for one in RUNGS if one <= found.samples]
    assert [samples for side, samples, _ in drawn if side == 2] == [RUNGS[0]]  # the other pair is left where it was


def test_a_stopped_audit_goes_on_where_it_was(tmp_path, monkeypatch):
    file = tmp_path / "audit.jsonl"
    planned = [job for job in campaign.jobs(catalogue.select(["laplace: total"])) if job.engine == "simulated"]
    first = list(campaign.run(planned[:2], workers=1, kept=campaign.Kept(file)))
    with file.open("a") as lines:
        lines.write('{"job": {"name": "lap')  # a killed run
    everything = list(campaign.run(planned, workers=1, kept=campaign.Kept(file)))
    assert everything[:2] == first
    monkeypatch.setattr(campaign, "do", lambda job: pytest.fail("it was done already"))
    assert list(campaign.run(planned, workers=1, kept=campaign.Kept(file))) == everything


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "other").write_text('{"a": 1}\n')
    with pytest.raises(BadInput, match="something else"):
        campaign.Kept(tmp_path / "other")
