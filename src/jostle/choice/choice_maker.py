"""Choice makers take the best of several private programs for a database; which that is they learn on public data.

>>> from jostle import workloads
>>> from jostle.choice.metafeatures import metafeature
>>> from jostle.kernel.source import SimulatedSource
>>> size = metafeature("select sum(values) from db", name="size")
>>> public = {f"{n} each": [n] * 32 for n in (0, 1, 30, 100)} | {f"a peak of {n}": [0] * 31 + [n] for n in (5, 900, 9000)}
>>> counts = ChoiceMaker(options=["Laplace", "Uniform"], informed_by=[size], trained_on=public, queries=workloads.identity)
>>> private = SimulatedSource([0] * 31 + [4], seed=1)
>>> answers = counts(private, workloads.identity(32), private.grant(1))
>>> counts.trace.choice
'Uniform'
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from jostle import plots
from jostle.choice import traces
from jostle.choice.decision_rules import DecisionRule, learn_predictions, learn_tree
from jostle.choice.measurements import ChoiceQuestion, LazyMeasurements
from jostle.choice.options import Option, OptionFailed, answered, as_options
from jostle.choice.public_databases import Loss, Outcomes, outcomes, public_databases, root_mean_square
from jostle.choice.questions import EPSILON, as_questions
from jostle.choice.regret_tree import Decision
from jostle.choice.spend_only import is_records, spend_only
from jostle.choice.traces import Trace
from jostle.kernel.arguments import check_whole
from jostle.kernel.budget import SYMBOLS, Budget, exact
from jostle.kernel.errors import BadInput, show
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import ReleaseSource

if TYPE_CHECKING:
    from jostle.choice.selectors import Selector
    from jostle.kernel.ledger import Account

KEPT_TRACES = 10_000
"""The number of traces that a choice maker remembers."""


class ChoiceMaker:
    """Chooses among options, privately, by what it learned from their losses on public databases (MkChoiceMaker).

    Call it with a source, a query and a budget: it asks what it needs to know, each question with its share of the budget,
    takes the option that is expected to lose least, runs it with the rest, and keeps a trace.

    - `options`: functions decorated with `option`, subclasses of `Option`, or names of registered algorithms.
    - `informed_by`: metafeatures, public facts, or features of Pythia.
    - `trained_on`: public databases by name or in a list: counts, `ArrayColumns`, or `Public(data=…, query=…, group=…)`.
    - `loss`: of an answer, given the public data and the query; the default for workloads is the root mean square error.
    - `queries`: the query for databases that come without one, or a function of the domain such as `workloads.prefix`.
    - `epsilon`: the budget to train for, or several; with several, the budget is one more question, which is free.
    - `rho`: the share of the budget for all private questions together.
    - `by`: "regret tree", or "predictions", which is the default where an option has a `predict`.

    Privacy: each private question is a measurement of the kernel with a fixed share of the budget, rho over the number of
    private questions that the decision rule may ask. Which is asked next, which option is run and with how much depends only
    on released values and public facts, and the shares and the rest add up to the budget on every path: adaptive
    sequential composition. The option is private by construction, as it sees only the source and its token.
    """

    def __init__(
        self,
        *,
        options: Any,
        trained_on: Any,
        informed_by: Any = (),
        loss: Loss = root_mean_square,
        queries: Any = None,
        epsilon: Any = 1,
        rho: float = 0.05,
        by: Literal["regret tree", "predictions"] | None = None,
        neighbours: Neighbours | str = "add_remove",
        name: str = "choice",
        trials: int = 8,
        copies: int = 8,
        depth: int = 4,
        least: float = 2.0,
        seed: int = 0,
    ) -> None:
        questions = as_questions(informed_by)
        epsilons = epsilon if isinstance(epsilon, (list, tuple)) else [epsilon]
        if len(epsilons) > 1 and "epsilon" not in (question.name for question in questions):
            questions = (*questions, EPSILON)
        self._set_up(name, options, questions, rho, neighbours)
        self._depth, self._least, self.by = depth, least, learned_by(by, self.options)
        databases = public_databases(trained_on, queries, epsilons)
        for argument, number in (("trials", trials), ("copies", copies)):
            check_whole(number, argument, "leave it out", least=1, most=10_000)
        self.loss, self.seed = loss, seed
        self.outcomes: Outcomes | None = outcomes(
            databases,
            self.options,
            self._questions,
            loss,
            rho=self.rho,
            trials=trials,
            copies=copies,
            seed=seed,
            neighbours=self.neighbours,
        )
        self.rule: DecisionRule = self.learned(self.outcomes)
        self._for_records: bool | None = is_records(databases[0].source(0, self.neighbours))

    def _set_up(self, name: str, options: Any, informed_by: Any, rho: Any, neighbours: Neighbours | str) -> None:
        self.name = name
        self.options: tuple[Option, ...] = as_options(options)
        self._questions: tuple[ChoiceQuestion, ...] = as_questions(informed_by)
        self.rho: Fraction = check_share(rho)
        self.neighbours: Neighbours = Neighbours.of(neighbours)
        self._kept: deque[Trace] = deque(maxlen=KEPT_TRACES)
        self._learner: Callable[[Outcomes], DecisionRule] | None = None

    @classmethod
    def following(cls, rule: DecisionRule, *, options: Any, informed_by: Any, rho: Any, name: str = "choice") -> ChoiceMaker:
        """A choice maker that was not trained here but follows a given rule, such as a `Selector` of Pythia."""
        made = cls.__new__(cls)
        made._set_up(name, options, informed_by, rho, Neighbours())
        made.rule, made.outcomes, made._for_records = rule, None, None
        made._depth, made._least, made.by = 0, 0.0, "regret tree"
        made.loss, made.seed = root_mean_square, 0
        missing = [need for need in rule.needs if need not in made.question_names]
        if missing:
            raise BadInput("informed_by", f"the rule asks for {missing[0]}", "add it")
        known = {option.name for option in made.options}
        unknown = [name for name in rule.options if name not in known]
        if unknown:  # found out later, its questions would have been charged for nothing
            raise BadInput("options", f"the rule may take {unknown[0]!r}, which is not among them", "add it")
        return made

    # ------------------------------------------------------------------------------------------------ choosing

    def __call__(self, db: Any, query: Any = None, budget: Budget | None = None) -> Any:
        """The answer of the option that is expected to lose least. Everything is checked before anything is charged."""
        if type(budget) is not Budget:
            raise BadInput("budget", "must be a token that was granted for the source", "pass for instance db.grant(0.5)")
        if getattr(db, "trials", None) is not None:
            raise BadInput("db", "runs several trials at once", "run one at a time: paths differ")
        measured = self._prepared(spend_only(db), query, budget)
        decision = self.rule.decide(measured)
        chosen = next(option for option in self.options if option.name == decision.choice)
        before, given = db.unspent, measured.rest.amount
        try:
            answer = answered(chosen, db, query, measured.rest)
        except OptionFailed as failed:
            self._keep(measured, decision, str(failed))
            raise
        left = given - (before - db.unspent)
        unspent = [f"{chosen.name} left {SYMBOLS[budget.measure]} = {show(left)} unspent"] if left > 0 else []
        self._keep(measured, decision, *unspent)
        return answer

    def _prepared(self, db: Any, query: Any, budget: Budget) -> LazyMeasurements:
        """The measurements to choose by; raises, before anything is charged, if it cannot choose here."""
        if self._for_records is not None and is_records(db) != self._for_records:
            kinds = ("records", "counts") if self._for_records else ("counts", "records")
            raise BadInput("db", f"holds {kinds[1]}, and {self.name} was trained on {kinds[0]}", "train one for this kind")
        for option in self.options:
            if option.name in self.rule.options:  # others are never taken, such as those that failed in training
                option.check(db, query)
        return LazyMeasurements([self.question(name) for name in self.rule.needs], db, query, budget, self.rho)

    def release(self, x: Any, query: Any = None, *, epsilon: Any, account: Account, filtered: bool = False) -> Any:
        """The answer on private counts, charged to an account of a ledger.

        Under `replace`, say `filtered=True` where some records are in no cell: their number is private then.
        """
        if not hasattr(account, "purse"):
            raise BadInput("account", "must be an account of a ledger", "pass for instance ledger.account('people', cap=1)")
        source = ReleaseSource(x, purse=account.purse(), note=self.name, filtered=bool(filtered))
        return self(source, query, source.grant(epsilon))

    @property
    def question_names(self) -> tuple[str, ...]:
        return tuple(question.name for question in self._questions)

    def question(self, name: str) -> ChoiceQuestion:
        return next(question for question in self._questions if question.name == name)

    def learned(self, found: Outcomes) -> DecisionRule:
        """The decision rule that follows from these outcomes, in the way in which the present rule was learned."""
        if self._learner is not None:
            return self._learner(found)
        if self.by == "predictions":
            return learn_predictions(found, self.options)
        return learn_tree(found, rho=float(self.rho), depth=self._depth, least=self._least)

    def learn_by(self, learner: Callable[[Outcomes], DecisionRule], rule: DecisionRule) -> None:
        """Use a rule that was learned in another way; `held_out` then learns in that way, too."""
        self._learner, self.rule = learner, rule

    def with_rule(self, rule: DecisionRule) -> ChoiceMaker:
        """The same choice maker with another rule, and no traces yet."""
        twin = copy(self)
        twin.rule, twin._kept = rule, deque(maxlen=KEPT_TRACES)
        return twin

    # ----------------------------------------------------------------------------------------------- explaining

    @property
    def way(self) -> DecisionRule:
        """The old name of `rule`."""
        return self.rule

    @property
    def failed(self) -> dict[str, str]:
        """Options that failed in training, and are never taken, with the reasons."""
        return {} if self.outcomes is None else dict(self.outcomes.failed)

    @property
    def trace(self) -> Trace:
        """The trace of the last choice."""
        if not self._kept:
            raise BadInput("trace", "is empty: no choice was made yet", "call the choice maker first")
        return self._kept[-1]

    @property
    def traces(self) -> list[Trace]:
        """The traces of the last choices, the oldest first."""
        return list(self._kept)

    def table(self) -> Any:
        """The traces as a pandas frame: one row per choice."""
        from jostle.choice.explain import trace_table

        return trace_table(self._kept)

    def explain(self) -> str:
        """Which metafeatures drive the choice, by how much, and where options cross over."""
        from jostle.choice.explain import explained

        return explained(self)

    def plot(self) -> Any:
        """A Plotly figure: the map of choices over the two metafeatures that matter most."""
        from jostle.choice.explain import choice_map

        return choice_map(self)

    def _repr_html_(self) -> str:
        return plots.in_words(self.explain() if self.outcomes is not None else repr(self))

    def held_out(self, *, trials: int = 4, seed: int = 1) -> Any:
        """How good its choices are on public databases that it did not learn from, against every single option."""
        from jostle.choice.held_out import held_out

        return held_out(self, trials=trials, seed=seed)

    def _keep(self, measured: LazyMeasurements, decision: Decision, *notes: str) -> None:
        trace = measured.trace(self.name, self.rule.kind, decision, notes=[*self._outside(measured), *notes])
        self._kept.append(trace)
        traces.record(trace)

    def _outside(self, measured: LazyMeasurements) -> list[str]:
        """Notes about values outside of what training saw."""
        found, notes = self.outcomes, list[str]()
        if found is None:
            return notes
        for name, seen in measured.seen.items():
            values = found.features[..., found.questions.index(name)]
            low, high = float(values.min()), float(values.max())
            if not low <= seen.value <= high:
                notes.append(f"{name} {seen.value:.6g} is outside of the training range, {low:.6g} to {high:.6g}")
        return notes

    def __repr__(self) -> str:
        return f"<ChoiceMaker {self.name} among {', '.join(option.name for option in self.options)}>"


MkChoiceMaker = ChoiceMaker
"""The thesis' name for making a choice maker."""


def pythia_program(selector: Selector) -> ChoiceMaker:
    """Pythia as a choice maker: registered algorithms, its features, and a selector as the decision rule."""
    from jostle.choice.features import FEATURES

    return ChoiceMaker.following(
        selector,
        options=list(selector.options),
        informed_by=[FEATURES[name] for name in selector.needs],
        rho=selector.about.rho,
        name="Pythia",
    )


def check_share(rho: object) -> Fraction:
    """The share of the budget for questions, exactly."""
    share = exact(rho, "rho")
    if share >= 1:
        raise BadInput("rho", f"must lie between 0 and 1, got {rho!r}", "leave it out, or pass for instance 0.05")
    return share


def learned_by(by: str | None, options: Sequence[Option]) -> str:
    """The kind of decision rule that is learned."""
    if by is None:
        return "predictions" if any(option.predict is not None for option in options) else "regret tree"
    if by not in ("regret tree", "predictions"):
        raise BadInput("by", f"{by!r} is unknown", "use 'regret tree' or 'predictions'")
    return by
