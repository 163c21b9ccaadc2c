"""Random forests, as the FPC paper compares with."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from kernlab.lab.baselines.base import Baseline

FPC_TREE_COUNTS = tuple(range(2, 21, 2))  # the grid of the FPC paper's Tables II to IV


class RandomForest(Baseline):
    """scikit-learn's random forest.

    Parameters: n_estimators (the FPC paper chooses it from `FPC_TREE_COUNTS`), max_depth,
    class_weight, n_jobs, random_state.
    """

    title = "Random forest"
    compares = "what a method of another family reaches"

    def __init__(
        self, n_estimators=20, *, max_depth=None, class_weight=None, n_jobs=None, random_state=None
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, rows):
        # Weights of one would still change how scikit-learn draws the bootstrap.
        weights = None if np.all(rows.weights == 1.0) else rows.weights
        with self._clock("solve"):
            self.forest_ = RandomForestClassifier(
                self.n_estimators,
                max_depth=self.max_depth,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
            ).fit(rows.X, rows.labels, sample_weight=weights)

    def predict_proba(self, X):
        """The share of each class in the leaves that a row falls into, averaged over the trees."""
        X = self._validated(X)
        return self.forest_.predict_proba(X)

    def _decision(self, X):
        shares = self.forest_.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares

    def _held(self):
        for tree in self.forest_.estimators_:
            state = tree.tree_.__getstate__()
            yield from (state["nodes"], state["values"])
