"""The tree learners of the literature as scikit-learn estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from jostle.learn.estimator import PrivateEstimator
from jostle.learn.trees import learners as _registered  # noqa: F401 (the learners that the estimators name)

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from jostle.kernel.ledger import Account


class TreeEstimator(PrivateEstimator):
    """What estimators of trees and forests share: a picture."""

    def plot(self, **options: Any) -> go.Figure:
        """The fitted tree, or the forest's first, as a Plotly figure."""
        check_is_fitted(self, "model_")
        figure: go.Figure = self.model_.plot(**options)  # type: ignore[attr-defined]
        return figure


class FriedmanSchuster(TreeEstimator):
    """Friedman & Schuster's private C4.5: stops at nodes whose noisy size is below the noise, and prunes.

    `criterion` is "gini", "entropy" or "max".

    >>> from jostle.schema import Boolean, Category, Schema
    >>> schema = Schema({"sweet": Boolean(), "class": Category(["lemon", "plum"])})
    >>> model = FriedmanSchuster(epsilon=5, schema=schema, depth=1, random_state=0)
    >>> model.fit([[True], [False]] * 200, ["plum", "lemon"] * 200).predict([[False], [True]]).tolist()
    ['lemon', 'plum']
    """

    learner = "FriedmanSchuster"

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
        depth: int = 5,
        criterion: str = "gini",
        prune: bool = True,
    ) -> None:
        super().__init__(epsilon, schema, label=label, neighbours=neighbours, account=account, random_state=random_state)
        self.depth, self.criterion, self.prune = depth, criterion, prune


class Mohammed(TreeEstimator):
    """Mohammed et al.'s tree of fixed depth: no budget for stopping.

    >>> Mohammed(epsilon=1, depth=3).depth
    3
    """

    learner = "Mohammed"

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
        depth: int = 4,
        criterion: str = "entropy",
    ) -> None:
        super().__init__(epsilon, schema, label=label, neighbours=neighbours, account=account, random_state=random_state)
        self.depth, self.criterion = depth, criterion


class SulqTree(TreeEstimator):
    """ID3 on noisy counts of every attribute: the naive baseline.

    >>> SulqTree(epsilon=1).depth
    3
    """

    learner = "SuLQ-ID3"

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
        depth: int = 3,
    ) -> None:
        super().__init__(epsilon, schema, label=label, neighbours=neighbours, account=account, random_state=random_state)
        self.depth = depth


class Jagannathan(TreeEstimator):
    """Jagannathan et al.'s forest of random trees: all of the budget goes to the leaves.

    `shape_seed` draws the trees' shapes, which are public and have nothing to do with the records.

    >>> Jagannathan(epsilon=1).trees
    10
    """

    learner = "Jagannathan"
    poor = True

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
        trees: int = 10,
        shape_seed: int = 0,
    ) -> None:
        super().__init__(epsilon, schema, label=label, neighbours=neighbours, account=account, random_state=random_state)
        self.trees, self.shape_seed = trees, shape_seed


class PatilSingh(TreeEstimator):
    """Patil & Singh's forest: Friedman & Schuster's tree with entropy, several times.

    >>> PatilSingh(epsilon=1).trees
    10
    """

    learner = "PatilSingh"

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
        depth: int = 5,
        trees: int = 10,
    ) -> None:
        super().__init__(epsilon, schema, label=label, neighbours=neighbours, account=account, random_state=random_state)
        self.depth, self.trees = depth, trees


class FletcherIslam(TreeEstimator):
    """Fletcher & Islam's forest of random trees, as deep as the noise lets their leaves be told.

    Without `trees`, there are as many as attributes. `shape_seed` draws the trees' shapes, which are public.

    >>> FletcherIslam(epsilon=1).trees is None
    True
    """

    learner = "FletcherIslam"
    poor = True

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
        trees: int | None = None,
        shape_seed: int = 0,
    ) -> None:
        super().__init__(epsilon, schema, label=label, neighbours=neighbours, account=account, random_state=random_state)
        self.trees, self.shape_seed = trees, shape_seed
