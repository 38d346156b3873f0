"""Choice points: places in a program, also in a loop or a recursion, where a branch is taken; they learn from whole runs.

This is the NoisyConditional of the Jostle thesis. A point is called with a database, which may be a part of a part, and with
the budget that the program has for what follows. It asks its questions about that database, picks a branch, and returns the
rest of the budget.

>>> import numpy as np
>>> from jostle.choice.metafeatures import metafeature
>>> from jostle.kernel.source import SimulatedSource
>>> from jostle.kernel.strategies import identity
>>> size = metafeature("select sum(values) from db", name="size")
>>> worth = ChoicePoint("worth measuring", ["zeros", "measure"], informed_by=[size], share=0.2)
>>> def counts(db, query, budget):
...     branch, rest = worth(db, budget)
...     return np.zeros(db.size) if branch == "zeros" else db.measure(identity(db.shape), rest)
>>> public = [[0] * 15 + [n] for n in (1, 2, 3, 90, 300, 500)]
>>> runs = learn(counts, [worth], trained_on=public, loss=lambda answer, x, _: np.abs(answer - x).mean(), runs=6)
>>> worth.rule.needs
('size',)

Privacy: a point's questions are measured by the kernel with a share of the token that it is given, and the branch follows
from the answers, so everything after it is adaptive composition. Parts of a split come from the kernel with a token each:
what they spend side by side is charged once (parallel composition), and the kernel refuses a token on another part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jostle.choice import traces
from jostle.choice.decision_rules import RegretTree
from jostle.choice.measurements import LazyMeasurements
from jostle.choice.public_databases import Loss, PublicDatabase, public_databases
from jostle.choice.questions import as_questions, trainable
from jostle.choice.regret_tree import Growth, Leaf, grow
from jostle.choice.spend_only import spend_only
from jostle.kernel.arguments import check_whole
from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours

Program = Callable[[Any, Any, Budget], Any]
"""From a database, a query and a budget to an answer; it calls choice points on its way."""

_current_run: ContextVar[_Run | None] = ContextVar("jostle_program_run", default=None)


class BranchTaken(NamedTuple):
    """The branch to follow, and the budget that is left for it."""

    branch: str
    budget: Budget


class ChoicePoint:
    """A place in a program where one of several branches is taken; before training, the first one.

    - `informed_by`: metafeatures of the database; of records, as `of(feature, "class")`.
    - `facts`: the names of public numbers that the program passes with each call, such as its depth.
    - `share`: how much of the budget all private questions together may use.
    """

    def __init__(
        self, name: str, branches: Sequence[str], *, informed_by: Any = (), facts: Sequence[str] = (), share: Any = 0.1
    ) -> None:
        if isinstance(branches, str) or len(branches) < 2 or len(set(branches)) < len(branches):
            raise BadInput("branches", "must be two names at least, each once", 'pass for instance ["stop", "split"]')
        self.name, self.branches, self.facts = name, tuple(branches), tuple(facts)
        self.questions = as_questions(informed_by)
        self.share = exact(share, "share")
        if self.share >= 1:
            raise BadInput("share", f"must lie between 0 and 1, got {share!r}", "pass for instance 0.1")
        self.rule = _always_first(self.branches)

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that it may depend on."""
        return (*self.facts, *(question.name for question in self.questions))

    def __call__(self, db: Any, budget: Budget, **facts: float) -> BranchTaken:
        """Ask the questions that the rule needs, and pick a branch."""
        if type(budget) is not Budget:
            raise BadInput("budget", "must be a token", "pass the one of the database")
        if set(facts) != set(self.facts):
            raise BadInput("facts", f"{self.name} wants {', '.join(self.facts) or 'none'}", "pass these by name")
        run = _current_run.get()
        rule = self.rule if run is None else run.rules.get(self.name, self.rule)
        training = run is not None and run.training
        needed = [trainable(one) if training else one for one in self.questions if training or one.name in rule.needs]
        known = {name: float(value) for name, value in facts.items()}
        measured = LazyMeasurements(needed, spend_only(db), None, budget, self.share, known)
        if run is not None and run.training:
            branch = run.pick_branch(self, rule, [measured(name) for name in self.names])
        else:
            decision = rule.decide(measured)
            branch = decision.choice
            traces.record(measured.trace(self.name, rule.kind, decision))
        return BranchTaken(branch, measured.rest)

    def explain(self) -> str:
        """The rule that it learned."""
        return "\n".join([f"{self.name}:", *(f"  {line}" for line in self.rule.lines())])

    def __repr__(self) -> str:
        return f"<ChoicePoint {self.name}: {', '.join(self.branches)}>"


def _always_first(branches: tuple[str, ...]) -> RegretTree:
    return RegretTree(branches, (Leaf(0, (0.0,) * len(branches), 0, 0.0),))


@dataclass
class _Run:
    """One run of a program: the rules of its points, and in training a branch that is forced at one visit."""

    rules: Mapping[str, RegretTree]
    training: bool = False
    rng: np.random.Generator | None = None
    """Draws branches at random, where nothing was learned yet."""

    forced_branch: tuple[int, str] | None = None
    """The number of a visit, and the branch to take there."""

    visits: list[tuple[ChoicePoint, list[float]]] = field(default_factory=list)

    def pick_branch(self, point: ChoicePoint, rule: RegretTree, values: list[float]) -> str:
        """The branch to take at this visit."""
        number = len(self.visits)
        self.visits.append((point, values))
        drawn = None if self.rng is None else str(self.rng.choice(point.branches))  # drawn also where it is not followed
        if self.forced_branch is not None and self.forced_branch[0] == number:
            return self.forced_branch[1]
        return drawn or rule.decide(dict(zip(point.names, values, strict=True)).__getitem__).choice


@contextmanager
def _following(run: _Run) -> Iterator[_Run]:
    token = _current_run.set(run)
    try:
        yield run
    finally:
        _current_run.reset(token)


@dataclass(frozen=True)
class TrainingRuns:
    """What whole runs cost, for each branch that was tried at a visit to a point."""

    points: tuple[ChoicePoint, ...]
    depth: int
    """Of the rules."""

    values: dict[str, list[list[float]]] = field(init=False)
    """What each point saw, one row per visit."""

    losses: dict[str, list[list[float]]] = field(init=False)
    """Of the whole run, visits × branches."""

    groups: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        for part in ("values", "losses", "groups"):
            object.__setattr__(self, part, {point.name: [] for point in self.points})

    def rules(self, *, without: str | None = None) -> dict[str, RegretTree]:
        """The rules that follow from these runs, or from those of all groups but one."""
        return {point.name: self._rule(point, without) for point in self.points}

    def _rule(self, point: ChoicePoint, without: str | None) -> RegretTree:
        kept = [at for at, group in enumerate(self.groups[point.name]) if group != without]
        if not kept:
            return point.rule
        losses = np.array([self.losses[point.name][at] for at in kept])
        values = np.array([self.values[point.name][at] for at in kept]).reshape(len(kept), -1)
        groups = np.unique([self.groups[point.name][at] for at in kept], return_inverse=True)[1]
        growth = Growth(depth=self.depth if point.names else 0, least=max(4.0, 0.04 * len(kept)), worth=0.02)
        regrets = losses - losses.min(axis=1, keepdims=True)
        tree = grow(list(point.names), values, regrets, np.ones(len(kept)), growth, groups=groups)
        return RegretTree(point.branches, tree)


Lessons = TrainingRuns
"""Its old name."""


def learn(
    program: Program,
    points: Sequence[ChoicePoint],
    *,
    trained_on: Any,
    loss: Loss,
    queries: Any = None,
    epsilon: Any = 1,
    rounds: int = 3,
    runs: int = 4,
    depth: int = 3,
    neighbours: Neighbours | str = "add_remove",
    seed: int = 0,
) -> TrainingRuns:
    """Train a program's choice points on the outcomes of whole runs on public databases.

    In each run, one visit to a point is picked. The run is then repeated with every branch of that point taken there, all
    else being equal up to it, and what each repetition costs in the end is recorded. In the first round the other visits go
    at random, in later rounds by what was learned so far. The runs of the first round are then forgotten, as they are about
    a program that nobody would run. Points of the program that are not among `points` keep their rules.
    """
    check_whole(rounds, "rounds", "pass for instance 3", least=1)
    epsilons = epsilon if isinstance(epsilon, (list, tuple)) else [epsilon]
    databases = public_databases(trained_on, queries, epsilons)
    if not points or len({point.name for point in points}) < len(points):
        raise BadInput("points", "must be choice points with different names", "pass those that the program calls")
    rules, found = dict[str, RegretTree](), TrainingRuns(tuple(points), depth)
    for number in range(rounds):
        found = found if number > 1 else TrainingRuns(tuple(points), depth)
        trainer = _Trainer(program, loss, Neighbours.of(neighbours), rules, at_random=number == 0)
        for row, one in enumerate(databases):
            for repeat in range(runs):
                trainer.add_visit(found, one, [seed, number, row, repeat])
        rules |= {name: rule for name, rule in found.rules().items() if found.groups[name]}
    for point in points:
        point.rule = rules.get(point.name, point.rule)
    return found


@dataclass(frozen=True)
class _Trainer:
    program: Program
    loss: Loss
    neighbours: Neighbours
    rules: Mapping[str, RegretTree]
    at_random: bool

    def add_visit(self, found: TrainingRuns, one: PublicDatabase, seed: list[int]) -> None:
        """Add one visit on one database; none if the program passes no point there that learns."""
        visits, _ = self._run(one, seed, None)
        places = [place for place, (point, _) in enumerate(visits) if point.name in found.values]
        if not places:
            return
        place = places[int(np.random.default_rng([*seed, 5]).integers(len(places)))]
        point, values = visits[place]
        found.values[point.name].append(values)
        found.losses[point.name].append([self._run(one, seed, (place, branch))[1] for branch in point.branches])
        found.groups[point.name].append(one.group)

    def _run(
        self, one: PublicDatabase, seed: list[int], forced: tuple[int, str] | None
    ) -> tuple[list[tuple[ChoicePoint, list[float]]], float]:
        """The visits of a whole run, and what it cost."""
        rng = np.random.default_rng([*seed, 7]) if self.at_random else None
        with _following(_Run(self.rules, training=True, rng=rng, forced_branch=forced)) as run:
            cost = run_once(self.program, one, self.loss, seed, self.neighbours)
        return run.visits, cost


def run_once(program: Program, one: PublicDatabase, loss: Loss, seed: list[int], neighbours: Neighbours) -> float:
    """The loss of one run of a program on a public database."""
    source = one.source(np.random.SeedSequence(seed), neighbours)
    return one.cost(program(spend_only(source), one.query, source.grant(one.epsilon)), loss)


@contextmanager
def always(branches: Mapping[str, str]) -> Iterator[None]:
    """Inside, the named points take one branch whatever the data: for comparisons with a learned program."""
    with _following(_Run({name: _always_first((branch,)) for name, branch in branches.items()})):
        yield


def held_out_runs(
    program: Program, lessons: TrainingRuns, databases: Sequence[PublicDatabase], loss: Loss, *, runs: int = 4, seed: int = 1
) -> list[float]:
    """The mean loss on each database, with points that learned from the training runs of all other groups."""
    found = []
    for row, one in enumerate(databases):
        with _following(_Run(lessons.rules(without=one.group))):
            found.append(_mean_loss(program, one, loss, runs, [seed, row]))
    return found


def fixed_runs(
    program: Program,
    branches: Mapping[str, str],
    databases: Sequence[PublicDatabase],
    loss: Loss,
    *,
    runs: int = 4,
    seed: int = 1,
) -> list[float]:
    """The mean loss on each database, with points that take one branch whatever the data."""
    with always(branches):
        return [_mean_loss(program, one, loss, runs, [seed, row]) for row, one in enumerate(databases)]


def _mean_loss(program: Program, one: PublicDatabase, loss: Loss, runs: int, seed: list[int]) -> float:
    return float(np.mean([run_once(program, one, loss, [*seed, repeat], Neighbours()) for repeat in range(runs)]))
