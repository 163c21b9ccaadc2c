"""Linear support vector machines by LIBLINEAR, on the raw features or on mapped ones.

    minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i loss(y_i (w . f(x_i) + b))

one class against the rest. The intercept is penalised as LIBLINEAR does it, or absent.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernlab.lab.baselines.base import Baseline, check_choice, worst
from kernlab.runtime import require_memory
from kernlab.solvers import certify_primal
from kernlab.solvers.linear.liblinear import dual_near
from kernlab.solvers.losses import LOSSES, row_costs

NODE_BYTES = 16  # LIBLINEAR copies every value into a struct of its own


class LinearSVM(Baseline):
    """LIBLINEAR on features. A subclass has the parameters C, loss, intercept, tol, max_iter,
    class_weight, random_state and max_memory, and says how rows become features."""

    def _fit_features(self, rows):
        """Learn the map, and return the features of the training rows."""
        return rows.X

    def _features(self, X):
        """The features of new rows."""
        return X

    def _method(self):
        """ "dcd" or "tron"."""
        return "dcd"

    def _fit(self, rows):
        check_choice("loss", self.loss, tuple(LOSSES))
        check_choice("intercept", self.intercept, ("penalised", "none"))
        if self._method() == "tron" and self.loss == "hinge":
            raise ValueError(
                "LIBLINEAR's trust-region Newton method needs a smooth loss: "
                "loss='squared_hinge', or its dual coordinate descent for the hinge"
            )
        costs = row_costs(self.C, len(rows.labels), rows.weights)
        with self._clock("approximate"):
            F = self._fit_features(rows)
        values = F.nnz if sp.issparse(F) else F.size
        require_memory(
            NODE_BYTES * values,
            self.max_memory,
            what="LIBLINEAR's own copy of the features",
            arithmetic=f"{values:,} values x {NODE_BYTES} bytes",
            way_out="Allow more with max_memory, or take fewer rows or features.",
        )
        with self._clock("solve"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # ours says how far it is
            model = self._liblinear().fit(F, rows.labels, sample_weight=costs)
        self.coef_ = model.coef_
        self.intercept_ = np.broadcast_to(np.float64(model.intercept_), len(self.coef_)).copy()
        self.n_iter_ = int(np.max(model.n_iter_))
        if self.n_iter_ >= self.max_iter:
            with self._clock("certify"):
                gap = worst(self._certificates(F, rows)).relative_gap
            warnings.warn(
                f"LIBLINEAR stopped at its limit of {self.max_iter} iterations with a relative "
                f"duality gap of {gap:.2e} (its tolerance tol={self.tol:g} is a measure of its "
                "own). Raise max_iter, lower C, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _liblinear(self):
        return LinearSVC(
            loss=self.loss,
            dual=self._method() == "dcd",
            C=1.0,  # the costs per row hold C
            tol=self.tol,
            max_iter=self.max_iter,
            fit_intercept=self.intercept == "penalised",
            random_state=self.random_state,
        )

    def _decision(self, X):
        scores = np.asarray(self._features(X) @ self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def certify(self, X, y, sample_weight=None):
        """How far the machine is from its optimum, given the rows that it was trained on.

        The worst certificate of all classes is returned and kept as `certificate_`; all are in
        `certificates_`, by class (for two classes there is one, by the second).
        """
        rows = self._training_rows(X, y, sample_weight, reset=False)
        self.certificates_ = self._certificates(self._features(rows.X), rows)
        self.certificate_ = worst(self.certificates_)
        return self.certificate_

    def _certificates(self, F, rows):
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        costs = row_costs(self.C, len(rows.labels), rows.weights)
        problem = {"loss": self.loss, "intercept": self.intercept}
        certificates = {}
        for positive, w, b in zip(positives, self.coef_, self.intercept_, strict=True):
            y = rows.signs(positive)
            dual = dual_near(F, y, w, b, costs, **problem)
            certificates[self.classes_[positive]] = certify_primal(
                F, y, w, b, C=1.0, sample_weight=costs, dual=dual, **problem
            )
        return certificates

    def _held(self):
        return self.coef_, self.intercept_


class LiblinearDCD(LinearSVM):
    """A linear support vector machine by LIBLINEAR's dual coordinate descent.

    Parameters: C, loss ("hinge" or "squared_hinge"), intercept ("penalised" or "none"), tol
    (LIBLINEAR's own measure), max_iter, class_weight, random_state, max_memory.
    """

    title = "Linear SVM (LIBLINEAR, dual coordinate descent)"
    compares = "what the kernel adds to a linear machine"

    def __init__(
        self,
        C=1.0,
        *,
        loss="squared_hinge",
        intercept="penalised",
        tol=1e-4,
        max_iter=1000,
        class_weight=None,
        random_state=None,
        max_memory=None,
    ):
        self.C = C
        self.loss = loss
        self.intercept = intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory


class LiblinearTRON(LiblinearDCD):
    """A linear support vector machine by LIBLINEAR's trust-region Newton method.

    Parameters: as `LiblinearDCD`; the loss must be "squared_hinge".
    """

    title = "Linear SVM (LIBLINEAR, trust-region Newton)"
    compares = "what the kernel adds to a linear machine, solved by a second-order method"

    def _method(self):
        return "tron"
