"""One timed wrapper around the classifiers that kernlab's methods are compared with."""

import pickle
from dataclasses import KW_ONLY, dataclass
from importlib import import_module

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import inplace_csr_column_scale
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernlab.kernels import resolve_gamma
from kernlab.rows import validate_rows
from kernlab.runtime import Stopwatch, require_memory, row_blocks
from kernlab.solvers import certify_primal
from kernlab.solvers.linear.liblinear import dual_near, liblinear_rows
from kernlab.solvers.problems import row_costs

BLOCK_BYTES = 2**26  # features of new rows at a time


@dataclass(frozen=True)
class TrainingRows:
    """Rows that count: those of weight zero are gone, so that they cannot change anything."""

    X: object  # dense, or CSR
    labels: np.ndarray  # positions in classes_
    weights: np.ndarray  # sample weight times class weight
    index: np.ndarray  # positions in what the caller gave

    def signs(self, positive):
        """1 for rows of this class, -1 for all others."""
        return np.where(self.labels == positive, 1.0, -1.0)

    def take(self, chosen):
        """Some of the rows, by their positions here."""
        parts = (self.X, self.labels, self.weights, self.index)
        return TrainingRows(*(part[chosen] for part in parts))


@dataclass(eq=False, repr=False)
class Baseline(ClassifierMixin, BaseEstimator):
    """A classifier that kernlab's methods are compared with: rows checked, stages timed.

    A subclass has `_fit(rows)` and `_scores(X)`, and `_certificates(rows)` where a dual exists.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Multiplies `sample_weight`.
    random_state : int, RandomState instance or None
    max_memory : int, str or None
        Bytes, or a text such as "4GB", that large arrays may take; half of what is free if None.

    Attributes
    ----------
    timings_ : dict of seconds
        "approximate" (features or a kernel matrix), "solve" and "total" of `fit`.
    nbytes_ : int
        Of what prediction needs, as it would be stored.
    """

    _: KW_ONLY
    class_weight: object = None
    random_state: object = None
    max_memory: object = None

    def fit(self, X, y, sample_weight=None):
        """Train on the rows of X, weighted by `sample_weight`."""
        watch = Stopwatch()
        self.timings_, self.n_iter_ = {"approximate": 0.0, "solve": 0.0}, 1
        self._fit(self._training_rows(X, y, sample_weight, reset=True))
        self.timings_.setdefault("total", watch.total)
        return self

    def decision_function(self, X):
        """Scores: one per class, or for two classes one that is positive for the second."""
        check_is_fitted(self)
        X = self._whole(validate_rows(self, X, reset=False))
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1:] == (2,) else scores

    def predict(self, X):
        """The label of each row."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(1) if scores.ndim > 1 else (scores > 0).astype(int)]

    def certify(self, X, y, sample_weight=None):
        """How far the machine is from its optimum, given the rows that it was trained on.

        Returns
        -------
        Certificate
            That with the largest relative gap; kept as `certificate_`. All are in `certificates_`,
            by class (of two classes the second), or by pair of classes for LIBSVM.
        """
        rows = self._training_rows(X, y, sample_weight, reset=False)
        self.certificates_ = self._certificates(rows)
        self.certificate_ = max(self.certificates_.values(), key=lambda one: one.relative_gap)
        return self.certificate_

    def _certificates(self, rows):
        raise TypeError(f"{type(self).__name__} solves no problem with a dual that certifies it")

    @property
    def nbytes_(self):
        """Bytes of what prediction needs, as it would be stored."""
        check_is_fitted(self)
        fitted = [value for name, value in vars(self).items() if name.endswith("_")]
        return len(pickle.dumps(fitted, protocol=5))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _training_rows(self, X, y, sample_weight, *, reset):
        given = validate_rows(self, X, y, reset=reset, supervised=True)
        X, y = self._whole(given), given.labels
        check_classification_targets(y)
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
        )
        self.classes_ = np.unique(y) if reset else self.classes_
        index = np.flatnonzero(weights)
        X, y, weights = X[index], y[index], weights[index]
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"y holds only one class, {only!r}: a classifier needs two")
        if not np.array_equal(np.unique(y), self.classes_):
            raise ValueError(f"rows of positive weight must be of the classes {self.classes_}")
        by_class = compute_class_weight(
            self.class_weight, classes=self.classes_, y=y, sample_weight=weights
        )
        labels = np.searchsorted(self.classes_, y)
        return TrainingRows(X, labels, weights * by_class[labels], index)

    def _whole(self, rows):
        """All rows in memory, in double precision; files are read."""
        return liblinear_rows(rows.whole(self.max_memory).astype(np.float64, copy=False))

    def _positives(self):
        """The classes that are told from the rest: of two, the second."""
        return [1] if len(self.classes_) == 2 else range(len(self.classes_))

    def _clock(self, stage):
        """A context whose seconds are added to those of a stage."""
        return Stopwatch(self.timings_).stage(stage)


@dataclass(eq=False, repr=False)
class Wrapped(Baseline):
    """Any classifier of scikit-learn's kind, on the rows or on features of them.

    Parameters
    ----------
    model : classifier
        Cloned, given `random_state`, and fitted on labels 0, 1, ... LinearSVC can be certified.
    features : transformer or None
        The same. Features that would be too large are refused: a hundred rows foretell their size.
    """

    model: object = None
    features: object = None

    def set_params(self, **parameters):
        """Set parameters of the wrapper, the model or the features, by their names alone."""
        known, given = self.get_params(), {}
        for name, value in parameters.items():
            places = (name, f"model__{name}", f"features__{name}")
            given[next((place for place in places if place in known), name)] = value
        return super().set_params(**given)

    def _fit(self, rows):
        with self._clock("approximate"):
            self.features_ = self.features and self._seeded(self.features).fit(rows.X)
            self._refuse(rows.X)
            F = self._transform(rows.X)
        # Weights of one would still change how a forest draws its bootstrap.
        weights = None if np.all(rows.weights == 1.0) else rows.weights
        with self._clock("solve"):
            model = self._seeded(self.model)
            self.model_ = model.fit(F, rows.labels, sample_weight=weights)
        steps = getattr(model, "n_iter_", None)
        self.n_iter_ = 1 if steps is None else max(1, int(np.max(steps)))

    def _refuse(self, X):
        # LIBLINEAR keeps 16 bytes for each value of 8.
        times = 2 * isinstance(self.model, LinearSVC) + (self.features is not None)
        n = X.shape[0]
        few = np.unique(np.linspace(0, n - 1, 100).astype(int))
        each = stored_bytes(self._transform(X[few])) / len(few)
        require_memory(
            times * each * n,
            self.max_memory,
            what=f"the features of {n:,} rows",
            arithmetic=f"{n:,} x {each:,.0f} bytes, {times} times",
            way_out="Allow more with max_memory, or take fewer rows or features.",
        )

    def _transform(self, X):
        return self.features_.transform(X) if self.features_ else X

    def _seeded(self, part):
        part = clone(part)
        seeds = [name for name in part.get_params() if name.endswith("random_state")]
        return part.set_params(**dict.fromkeys(seeds, self.random_state))

    def _scores(self, X):
        ask = getattr(self.model_, "decision_function", None) or self.model_.predict_proba
        per_row = stored_bytes(self._transform(X[:1]))
        blocks = row_blocks(X.shape[0], BLOCK_BYTES / max(8, per_row))
        return np.concatenate([ask(self._transform(X[rows])) for rows in blocks])

    def _certificates(self, rows):
        if not isinstance(self.model_, LinearSVC):  # of other models no problem is known
            return super()._certificates(rows)
        F, model = self._transform(rows.X), self.model_
        costs = row_costs(model.C, len(rows.labels), rows.weights)
        intercepts = np.broadcast_to(model.intercept_, len(model.coef_))
        problem = {"loss": model.loss, "intercept": ("none", "penalised")[model.fit_intercept]}
        certificates = {}
        for positive, w, b in zip(self._positives(), model.coef_, intercepts, strict=True):
            y = rows.signs(positive)
            dual = dual_near(F, y, w, b, costs, **problem)
            certificates[self.classes_[positive]] = certify_primal(
                F, y, w, b, C=1.0, sample_weight=costs, dual=dual, **problem
            )
        return certificates


class DegreeTwo(TransformerMixin, BaseEstimator):
    """All products of two features: phi(x) . phi(z) = (gamma x . z + coef0)^2.

    phi(x) = (coef0, sqrt(2 gamma coef0) x_i, gamma x_i^2, sqrt(2) gamma x_i x_j for i < j): on it
    LIBLINEAR trains that kernel machine without a kernel (Chang et al. 2010), but for its
    intercept, which is not free. Sparse rows have sparse features.

    Parameters
    ----------
    gamma : float or a rule of kernlab
    coef0 : float, not negative
    """

    def __init__(self, gamma="scale", coef0=1.0):
        self.gamma = gamma
        self.coef0 = coef0

    def fit(self, X, y=None):
        """Take gamma from the rows where it is a rule."""
        if not self.coef0 >= 0:
            raise ValueError(f"coef0 must not be negative, not {self.coef0!r}")
        self.gamma_ = resolve_gamma(self.gamma, X)
        return self

    def transform(self, X):
        """The features of these rows."""
        F = PolynomialFeatures(degree=2).fit_transform(X)
        first, second = np.triu_indices(X.shape[1])  # the order of the products
        single = np.full(X.shape[1], np.sqrt(2.0 * self.gamma_ * self.coef0))
        double = np.where(first == second, self.gamma_, np.sqrt(2.0) * self.gamma_)
        scale = np.concatenate([[self.coef0], single, double])
        if not sp.issparse(F):
            return np.multiply(F, scale, out=F)
        F = sp.csr_matrix(F)
        inplace_csr_column_scale(F, scale)
        return F


def filled():
    """A transformer that fills sparse rows in, for models that take no others."""
    return FunctionTransformer(_dense, accept_sparse=True)


def _dense(X):
    return X.toarray() if sp.issparse(X) else X


def stored_bytes(array):
    """Bytes of a dense or sparse matrix."""
    parts = (array.data, array.indices, array.indptr) if sp.issparse(array) else (array,)
    return sum(part.nbytes for part in parts)


def imported(path):
    """The class named "package.module.Class"."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
