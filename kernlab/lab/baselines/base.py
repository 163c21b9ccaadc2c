"""What all baselines share: validated rows, their weights, the clock, and decisions to labels."""

import time
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernlab.rows.validation import validate_data
from kernlab.solvers.linear.dcd import floating_rows


@dataclass(frozen=True)
class TrainingRows:
    """Rows that count: those of weight zero are gone, so that they cannot change anything.

    (SVC would drop them too, but number its support vectors without them.)
    """

    X: object  # dense, or CSR
    labels: np.ndarray  # positions in classes_
    weights: np.ndarray  # sample weight times class weight
    index: np.ndarray  # positions in what the caller gave

    def signs(self, positive):
        """1 for rows of this class, -1 for all others."""
        return np.where(self.labels == positive, 1.0, -1.0)


class Baseline(ClassifierMixin, BaseEstimator):
    """A classifier that kernlab's methods are compared with.

    A subclass implements `_fit(rows)` and `_decision(X)`: scores per class, or for two classes one
    score, positive for the second. Fitted: `classes_`, `n_features_in_`, `n_iter_` (1 where the
    method does not iterate), `nbytes_` (what prediction holds in memory), and `timings_` in
    seconds: "approximate" (features or a kernel matrix), "solve", and "total" of `fit` without
    "certify", which is there where a warning had to say how far the solution is.
    """

    title = ""  # what it is, in a table's row
    compares = ""  # what a comparison with it shows
    _dtype = np.float64

    def fit(self, X, y, sample_weight=None):
        """Train on the rows of X, weighted by `sample_weight`."""
        began = time.perf_counter()
        self.timings_ = {"approximate": 0.0, "solve": 0.0}
        self.n_iter_ = 1
        self._fit(self._training_rows(X, y, sample_weight, reset=True))
        spent = time.perf_counter() - began - self.timings_.get("certify", 0.0)
        self.timings_.setdefault("total", spent)
        return self

    def decision_function(self, X):
        """Scores: one per class, or for two classes one that is positive for the second."""
        return self._decision(self._validated(X))

    def predict(self, X):
        """The label of each row."""
        decision = self.decision_function(X)
        best = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _training_rows(self, X, y, sample_weight, *, reset):
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=self._dtype, reset=reset)
        X = floating_rows(X)
        check_classification_targets(y)
        if reset:
            self.classes_ = np.unique(y)
        labels = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if not np.array_equal(self.classes_[labels], y):
            raise ValueError("y holds labels that this classifier was not trained on")
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
        )
        index = np.flatnonzero(weights)
        self._require_two_classes(labels[index])
        if len(index) < len(labels):
            X, labels, weights = X[index], labels[index], weights[index]
        class_weights = compute_class_weight(
            getattr(self, "class_weight", None),
            classes=self.classes_,
            y=self.classes_[labels],
            sample_weight=weights,
        )
        return TrainingRows(X, labels, weights * class_weights[labels], index)

    def _require_two_classes(self, labels):
        found = np.bincount(labels, minlength=len(self.classes_)) > 0
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds only one class, {self.classes_.tolist()[0]!r}: a classifier needs two"
            )
        if not found.all():
            missing = ", ".join(map(str, self.classes_[~found]))
            raise ValueError(f"no row of class {missing} has a sample_weight above zero")

    def _validated(self, X):
        check_is_fitted(self)
        return floating_rows(
            validate_data(self, X, accept_sparse="csr", dtype=self._dtype, reset=False)
        )

    @contextmanager
    def _clock(self, stage):
        """Add the seconds spent inside to a stage of `timings_`."""
        began = time.perf_counter()
        yield
        self.timings_[stage] = self.timings_.get(stage, 0.0) + time.perf_counter() - began

    @property
    def nbytes_(self):
        """Bytes held by what prediction needs."""
        check_is_fitted(self)
        return sum(array_bytes(part) for part in self._held())

    def _held(self):
        """The arrays that prediction needs."""
        return ()


def array_bytes(array):
    """Bytes of a dense or sparse matrix."""
    parts = (array.data, array.indices, array.indptr) if hasattr(array, "indptr") else (array,)
    return sum(np.asarray(part).nbytes for part in parts)


def check_choice(name, value, offered):
    """Refuse a parameter's value that is not on offer."""
    if value not in offered:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, offered))}")


def worst(certificates):
    """The certificate with the largest relative gap."""
    return max(certificates.values(), key=lambda certificate: certificate.relative_gap)
