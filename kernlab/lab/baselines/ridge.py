"""Ridge regression on the labels: what a classifier's features do without its loss.

    minimise over w   sum_i (y_i - w . f(x_i))^2 + alpha |w|^2

with y_i = 1 for the class and -1 for all others. FPC's first step is this with alpha = 1 on its
polynomial features, and after its usual number of steps FPC decides almost as it does, so the two
belong side by side.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier

from kernlab.lab.baselines.base import Baseline, check_choice
from kernlab.runtime import require_memory


class RidgeOnFeatures(Baseline):
    """Ridge regression on the labels, on the features that any transformer makes.

    Parameters: features (a transformer, cloned and fitted on the rows; None: the rows as they
    are), alpha, intercept ("none", as FPC; "free"), class_weight, max_memory.
    """

    title = "Ridge regression on features"
    compares = "what the hinge loss and its solver add to least squares on the same features"
    _dtype = (np.float64, np.float32)

    def __init__(
        self, features=None, alpha=1.0, *, intercept="none", class_weight=None, max_memory=None
    ):
        self.features = features
        self.alpha = alpha
        self.intercept = intercept
        self.class_weight = class_weight
        self.max_memory = max_memory

    def _fit(self, rows):
        check_choice("intercept", self.intercept, ("none", "free"))
        with self._clock("approximate"):
            F = rows.X
            if self.features is not None:
                self.features_ = clone(self.features)
                F = self.features_.fit_transform(F, self.classes_[rows.labels])
        self._require_memory(F)
        with self._clock("solve"):
            free = self.intercept == "free"
            model = RidgeClassifier(
                alpha=self.alpha,
                fit_intercept=free,
                solver="sparse_cg" if sp.issparse(F) and free else "cholesky",
                tol=1e-12,  # of sparse_cg; the centred matrix would not be sparse
            ).fit(F, rows.labels, sample_weight=rows.weights)
        self.coef_ = np.atleast_2d(model.coef_)
        self.intercept_ = np.broadcast_to(model.intercept_, len(self.coef_)).copy()

    def _require_memory(self, F):
        smaller = min(F.shape)
        filled = 0 if sp.issparse(F) else F.size
        require_memory(
            8 * (smaller * smaller + filled),
            self.max_memory,
            what=f"ridge regression on {F.shape[0]:,} rows of {F.shape[1]:,} features",
            arithmetic=f"({smaller:,}^2 + {filled:,}) x 8 bytes",
            way_out="Allow more with max_memory, or take fewer rows or features.",
        )

    def _decision(self, X):
        F = X if self.features is None else self.features_.transform(X)
        scores = np.asarray(F @ self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _held(self):
        return self.coef_, self.intercept_
