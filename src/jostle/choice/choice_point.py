"""Choice inside a program: points in a loop or a recursion where a branch is taken, learned from whole runs.

This is the NoisyConditional of the Jostle thesis. A point is called with the database at hand, which may be a part of a
part, and with the budget that the program has for what follows. It asks its questions about that database, takes a branch,
and gives the rest of the budget back.

>>> import numpy as np
>>> from jostle.choice.metafeatures import metafeature
>>> from jostle.kernel.source import SimulatedSource
>>> from jostle.kernel.strategy import identity
>>> size = metafeature("select sum(values) from db", name="size")
>>> worth = ChoicePoint("worth measuring", ["zeros", "measure"], informed_by=[size], share=0.2)
>>> def counts(db, query, budget):
...     branch, rest = worth(db, budget)
...     return np.zeros(db.size) if branch == "zeros" else db.laplace(identity(db.shape), rest)
>>> public = [[0] * 15 + [n] for n in (1, 2, 3, 90, 300, 500)]
>>> lessons = learn(counts, [worth], trained_on=public, loss=lambda answer, x, _: np.abs(answer - x).mean(), runs=6)
>>> worth.way.needs
('size',)

Privacy: a point's questions are measured by the kernel with a share of the token that it is handed, and the branch follows
from what they gave, so everything after it is adaptive composition. Parts of a split come from the kernel with a token each:
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
from jostle.choice.public_databases import Loss, Public, public_databases
from jostle.choice.questions import Question, as_questions
from jostle.choice.regret_tree import Growth, Leaf, grow
from jostle.choice.spend_only import handed
from jostle.choice.traces import Seen, Trace
from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours

Program = Callable[[Any, Any, Budget], Any]
"""From a database, a query and a budget to an answer; it calls choice points on its way."""

_steering: ContextVar[_Run | None] = ContextVar("jostle_program_run", default=None)


class Taken(NamedTuple):
    """What a choice point gives back."""

    branch: str
    """The branch to follow."""

    budget: Budget
    """What is left for it."""


class ChoicePoint:
    """A place in a program where one of several branches is taken. Before it has learned anything, the first one.

    - `informed_by`: metafeatures of the database at hand; of records, as `of(feature, "class")`.
    - `facts`: the names of public numbers that the program tells it when it calls it, such as its depth.
    - `share`: how much of the budget at hand all private questions together may use.
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
        self.way = RegretTree(self.branches, (Leaf(0, (0.0,) * len(self.branches), 0, 0.0),))

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that it may depend on."""
        return (*self.facts, *(question.name for question in self.questions))

    def __call__(self, db: Any, budget: Budget, **facts: float) -> Taken:
        """Ask what is needed, and take a branch."""
        if type(budget) is not Budget:
            raise BadInput("budget", "must be a token", "pass the one of the database at hand")
        if set(facts) != set(self.facts):
            raise BadInput("facts", f"{self.name} wants {', '.join(self.facts) or 'none'}", "tell it these, by name")
        run = _steering.get()
        way = self.way if run is None else run.ways.get(self.name, self.way)
        needed = self.names if run is not None and run.learning else way.needs
        asked = _Looked(self, handed(db), budget, {name: float(value) for name, value in facts.items()}, needed)
        if run is not None and run.learning:
            branch = run.steer(self, way, [asked(name) for name in self.names])
        else:
            decision = way.decide(asked)
            branch = decision.choice
            self._record(asked, branch, decision.regrets)
        return Taken(branch, asked.rest)

    def _record(self, asked: _Looked, branch: str, regrets: dict[str, float]) -> None:
        if traces.collecting():
            traces.record(
                Trace(
                    task=self.name,
                    selector=self.way.kind,
                    choice=branch,
                    epsilon=asked.epsilon,
                    remainder=asked.rest.epsilon,
                    features=tuple(asked.seen.values()),
                    regrets=regrets,
                )
            )

    def explain(self) -> str:
        """The rule that it learned."""
        return "\n".join([f"{self.name}:", *(f"  {line}" for line in self.way.lines())])

    def __repr__(self) -> str:
        return f"<ChoicePoint {self.name}: {', '.join(self.branches)}>"


class _Looked:
    """What a point knows about the database at hand; private questions are paid for when they are asked, once."""

    def __init__(
        self, point: ChoicePoint, db: Any, budget: Budget, facts: Mapping[str, float], needed: Sequence[str]
    ) -> None:
        self.rest, self.epsilon, self._db = budget, budget.epsilon, db
        self.seen = {name: Seen(name=name, value=value) for name, value in facts.items()}
        self._questions: dict[str, Question] = {one.name: one for one in point.questions if one.name in needed}
        self._known = {name: one.known(db, None, budget.epsilon) for name, one in self._questions.items()}
        paid = [name for name, value in self._known.items() if value is None]
        self._share = budget.epsilon * point.share / max(len(paid), 1)
        for one in self._questions.values():
            one.check(db, None, budget.epsilon, self._share)

    def __call__(self, name: str) -> float:
        if name not in self.seen:
            self.seen[name] = self._ask(name)
        return self.seen[name].value

    def _ask(self, name: str) -> Seen:
        known = self._known[name]
        if known is not None:
            return Seen(name=name, value=known)
        token, self.rest = self.rest.split(self._share, self.rest.epsilon - self._share)
        value = self._questions[name].measure(self._db, None, self.epsilon, token)
        noise = self._questions[name].noise(self._db, None, self.epsilon, token.epsilon)
        return Seen(name=name, value=value, epsilon=token.epsilon, noise=noise)


@dataclass
class _Run:
    """One run of a program: which ways its points follow, and in training what to do otherwise, and where."""

    ways: Mapping[str, RegretTree]
    learning: bool = False
    rng: np.random.Generator | None = None
    """Draws branches at random, where nothing was learned yet."""

    deviate: tuple[int, str] | None = None
    """At which visit another branch is taken."""

    visits: list[tuple[ChoicePoint, list[float]]] = field(default_factory=list)

    def steer(self, point: ChoicePoint, way: RegretTree, values: list[float]) -> str:
        """The branch to take at this visit."""
        number = len(self.visits)
        self.visits.append((point, values))
        drawn = None if self.rng is None else str(self.rng.choice(point.branches))  # drawn also where it is not followed
        if self.deviate is not None and self.deviate[0] == number:
            return self.deviate[1]
        return drawn or way.decide(dict(zip(point.names, values, strict=True)).__getitem__).choice


@contextmanager
def _following(run: _Run) -> Iterator[_Run]:
    token = _steering.set(run)
    try:
        yield run
    finally:
        _steering.reset(token)


@dataclass(frozen=True)
class Lessons:
    """What was learned from whole runs: visits with what the run cost for each branch that was tried there."""

    points: tuple[ChoicePoint, ...]
    values: dict[str, list[list[float]]]
    losses: dict[str, list[list[float]]]
    """Of the whole run, for each branch of the point."""

    groups: dict[str, list[str]]
    depth: int
    """Of the rules."""

    def ways(self, *, without: str | None = None) -> dict[str, RegretTree]:
        """The rules that follow from these lessons, or from those of all groups but one."""
        return {point.name: self._way(point, without) for point in self.points}

    def _way(self, point: ChoicePoint, without: str | None) -> RegretTree:
        kept = [at for at, group in enumerate(self.groups[point.name]) if group != without]
        if not kept:
            return point.way
        losses = np.array([self.losses[point.name][at] for at in kept])
        values = np.array([self.values[point.name][at] for at in kept]).reshape(len(kept), -1)
        groups = np.unique([self.groups[point.name][at] for at in kept], return_inverse=True)[1]
        growth = Growth(depth=self.depth if point.names else 0, least=max(4.0, 0.04 * len(kept)), worth=0.02)
        regrets = losses - losses.min(axis=1, keepdims=True)
        tree = grow(list(point.names), values, regrets, np.ones(len(kept)), growth, groups=groups)
        return RegretTree(point.branches, tree)


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
) -> Lessons:
    """Teach a program's choice points from the outcomes of whole runs on public databases.

    In a run, one visit to a point is picked; the run is then repeated with every branch of that point taken there, all else
    being equal up to it, and what each cost in the end is the lesson. In the first round the other visits go at random, in
    later ones by what was learned so far; then the lessons of the first round are forgotten, as they are about a program
    that nobody would run.
    """
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise BadInput("rounds", f"must be a whole number of at least 1, got {rounds!r}", "pass for instance 3")
    epsilons = epsilon if isinstance(epsilon, (list, tuple)) else [epsilon]
    databases = public_databases(trained_on, queries, epsilons)
    names = [point.name for point in points]
    if not points or len(set(names)) < len(names):
        raise BadInput("points", "must be choice points with different names", "pass those that the program calls")
    ways, lessons = dict[str, RegretTree](), _no_lessons(points, depth)
    for number in range(rounds):
        lessons = lessons if number > 1 else _no_lessons(points, depth)
        teacher = _Teacher(program, loss, Neighbours.of(neighbours), lessons)
        for row, one in enumerate(databases):
            for repeat in range(runs):
                teacher.teach(one, ways, [seed, number, row, repeat], at_random=number == 0)
        ways |= {name: way for name, way in lessons.ways().items() if lessons.groups[name]}
    for point in points:
        point.way = ways.get(point.name, point.way)
    return lessons


def _no_lessons(points: Sequence[ChoicePoint], depth: int) -> Lessons:
    names = [point.name for point in points]
    return Lessons(tuple(points), {n: [] for n in names}, {n: [] for n in names}, {n: [] for n in names}, depth)


@dataclass(frozen=True)
class _Teacher:
    program: Program
    loss: Loss
    neighbours: Neighbours
    lessons: Lessons

    def teach(self, one: Public, ways: Mapping[str, RegretTree], seed: list[int], *, at_random: bool) -> None:
        """One lesson from one database; none if the program passes no choice point there."""
        visits, _ = self.run(one, ways, seed, at_random, None)
        if not visits:
            return
        place = int(np.random.default_rng([*seed, 5]).integers(len(visits)))
        point, values = visits[place]
        costs = [self.run(one, ways, seed, at_random, (place, branch))[1] for branch in point.branches]
        self.lessons.values[point.name].append(values)
        self.lessons.losses[point.name].append(costs)
        self.lessons.groups[point.name].append(one.group)

    def run(
        self,
        one: Public,
        ways: Mapping[str, RegretTree],
        seed: list[int],
        at_random: bool,
        deviate: tuple[int, str] | None,
    ) -> tuple[list[tuple[ChoicePoint, list[float]]], float]:
        """The visits of a whole run, and what it cost."""
        rng = np.random.default_rng([*seed, 7]) if at_random else None
        with _following(_Run(ways, learning=True, rng=rng, deviate=deviate)) as run:
            cost = run_once(self.program, one, self.loss, seed, self.neighbours)
        return run.visits, cost


def run_once(program: Program, one: Public, loss: Loss, seed: list[int], neighbours: Neighbours) -> float:
    """The loss of one run of a program on a public database."""
    source = one.source(np.random.SeedSequence(seed), neighbours)
    answer = program(handed(source), one.query, source.grant(one.epsilon))
    return float(loss(answer, one.data if one.truth is None else one.truth, one.query))


@contextmanager
def always(branches: Mapping[str, str]) -> Iterator[None]:
    """Inside, the points that are named take one branch whatever the data: what a learned program is compared with."""
    ways = {name: RegretTree((branch,), (Leaf(0, (0.0,), 0, 0.0),)) for name, branch in branches.items()}
    with _following(_Run(ways)):
        yield


def held_out_runs(
    program: Program, lessons: Lessons, databases: Sequence[Public], loss: Loss, *, runs: int = 4, seed: int = 1
) -> list[float]:
    """The mean loss on each database of the program whose points learned from the lessons of all other groups."""
    found = []
    for row, one in enumerate(databases):
        with _following(_Run(lessons.ways(without=one.group))):
            found.append(_mean_loss(program, one, loss, runs, [seed, row]))
    return found


def fixed_runs(
    program: Program, branches: Mapping[str, str], databases: Sequence[Public], loss: Loss, *, runs: int = 4, seed: int = 1
) -> list[float]:
    """The same with points that take one branch whatever the data."""
    with always(branches):
        return [_mean_loss(program, one, loss, runs, [seed, row]) for row, one in enumerate(databases)]


def _mean_loss(program: Program, one: Public, loss: Loss, runs: int, seed: list[int]) -> float:
    return float(np.mean([run_once(program, one, loss, [*seed, repeat], Neighbours()) for repeat in range(runs)]))
