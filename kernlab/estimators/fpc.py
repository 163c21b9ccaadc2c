"""FPC: fast polynomial classification (Zeng, Wu, Lin and Zhou 2019)."""

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y

from kernlab.approximations.polynomial.approximation import check_degree
from kernlab.approximations.polynomial.monomials import space_dimension
from kernlab.estimators.fpc_degree import PolynomialFits, TrainingRows, best, largest_degree
from kernlab.estimators.machine import KernelMachine
from kernlab.rows import Rows, as_rows
from kernlab.rows.validation import validate_data
from kernlab.runtime import require_memory, row_blocks
from kernlab.solvers import summarise

ROWS_PER_BLOCK = 2**20


class FPC(KernelMachine):
    """Classification by polynomials without a margin: polynomial features, and ADMM on the hinge.

        minimise over u   1/m sum_i max(0, 1 - y_i f(x_i)),   f(x) = sum_j u_j (1 + x . eta_j)^s

    The degree s takes the place of a regularisation parameter. Rows are read in blocks, from
    arrays, sparse matrices, memory maps, or files, and the m x n features are never held: one pass
    for their Gram matrix, one for each step. More than two classes are solved one against the rest,
    all in the same passes.

    As the paper sets it, ADMM stops after a few steps, and what it then has is close to ridge
    regression on the labels (`max_iter=1` is exactly that). `to_optimum=True` goes on to the
    minimiser of the hinge loss.

    Parameters
    ----------
    degree : s, or "cv": the best of 1 ... s_max = min(ceil((m / log m)^(1/d)), max_degree) by
        `validation`: the share of rows to hold out, a number of folds, or a pair (X, y) of rows to
        validate on. After a share or folds the chosen degree is fitted again on all rows.
    n_centres, centres : n and the points eta_j; None for min(C(s + d, s), m), "first", "random",
        "uniform", or an array (see `PolynomialMap`).
    basis : "power", the paper's, or "chebyshev": the same polynomials, far better conditioned; the
        same optimum, another early stop.
    scaling : "unit" maps features to [0, 1] by the training rows; "none" takes them as they are.
    alpha, beta : of ADMM. Not used on the way to the optimum.
    tol : where |p - p_before|_H^2 stops; with `to_optimum`, the duality gap relative to the loss.
    max_iter : most steps; None for 5, the paper's tables, and 300 with `to_optimum`.
    class_weight, random_state, max_memory : as everywhere.

    Fitted
    ------
    degree_, n_centres_, approximation_ (a `PolynomialMap`), coef_, results_ and result_ (see
    `solve_hinge_admm`), validation_accuracy_ (of each degree tried), timings_, nbytes_, n_iter_,
    classes_.

    Example
    -------
    >>> from kernlab import FPC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> machine = FPC(degree=5).fit(X, y)
    >>> machine.n_centres_, machine.score(X, y) > 0.95
    (21, True)
    """

    approximation, solver, loss, intercept = "polynomial", "hinge-admm", "hinge", "none"

    def __init__(
        self,
        degree="cv",
        *,
        n_centres=None,
        centres="first",
        basis="power",
        scaling="unit",
        alpha=1.0,
        beta=1.0,
        tol=5e-4,
        max_iter=None,
        to_optimum=False,
        validation=1 / 3,
        max_degree=10,
        class_weight=None,
        random_state=None,
        max_memory=None,
    ):
        self.degree = degree
        self.n_centres = n_centres
        self.centres = centres
        self.basis = basis
        self.scaling = scaling
        self.alpha = alpha
        self.beta = beta
        self.tol = tol
        self.max_iter = max_iter
        self.to_optimum = to_optimum
        self.validation = validation
        self.max_degree = max_degree
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory

    # ------------------------------------------------------------------------ fitting
    def chooser(self):
        """It fits by itself, whatever its degree."""
        return self.fit

    def fit(self, X, y=None, sample_weight=None):
        """Learn from the rows of X: an array, a sparse matrix, a memory map, an object that gives
        rows by slices, or the path of a file."""
        began = time.perf_counter()
        rows = self._training_rows(X, y, sample_weight)
        degrees = self._degrees(*rows.source.shape)
        self._require_memory(rows, degrees)
        fits = PolynomialFits(len(self.classes_), self._map_parameters(), self._solver_parameters())
        read = time.perf_counter()
        machines, chosen = self._fit_degrees(fits, rows, degrees)
        self._store_machines(machines, chosen)
        ended = time.perf_counter()
        mapping, solving = machines.seconds["approximate"], machines.seconds["solve"]
        self.timings_ = {
            "approximate": read - began + mapping,
            "choose degree": ended - read - mapping - solving,
            "solve": solving,
            "total": ended - began,
        }
        return self

    def _fit_degrees(self, fits, rows, degrees):
        """Machines that hold the chosen degree, and that degree."""
        self.validation_accuracy_ = {}
        if len(degrees) == 1:
            return fits.run(rows, degrees), degrees[0]
        if isinstance(self.validation, tuple | list):
            machines = fits.run(rows, degrees)
            held_out = self._validation_rows(*self.validation)
            accuracies = [machines.accuracy(s, *held_out, None) for s in degrees]
            self.validation_accuracy_ = dict(zip(degrees, accuracies, strict=True))
            return machines, best(degrees, accuracies)
        chosen, self.validation_accuracy_, gram = fits.choose(
            rows, degrees, self.validation, self.random_state
        )
        return fits.run(rows, [chosen], gram), chosen

    def _degrees(self, n_rows, n_features):
        if not isinstance(self.degree, str):
            return [check_degree(self.degree)]
        if self.degree != "cv":
            raise ValueError(f"degree={self.degree!r} is neither a whole number nor 'cv'")
        return list(range(1, largest_degree(n_rows, n_features, self.max_degree) + 1))

    def _map_parameters(self):
        names = ("n_centres", "centres", "basis", "scaling", "random_state", "max_memory")
        return {name: getattr(self, name) for name in names}

    def _solver_parameters(self):
        names = ("alpha", "beta", "tol", "max_iter", "to_optimum")
        return {name: getattr(self, name) for name in names}

    def _store_machines(self, machines, degree):
        self.degree_ = degree
        self.approximation_ = machines.maps[degree]
        self.n_centres_ = self.approximation_.n_centres_
        self.results_ = machines.results[degree]
        self.result_ = summarise(self.results_)
        self.n_iter_ = self.result_.n_iter
        self.coef_ = np.array([result.coefficients for result in self.results_])
        self.intercept_ = np.zeros(len(self.coef_))
        self.nbytes_ = self.approximation_.nbytes + self.coef_.nbytes

    # ---------------------------------------------------------------------- what comes in
    def _training_rows(self, X, y, sample_weight):
        if is_streamed(X):
            source = as_rows(X, y)
            y = _check_y(source.labels)
            self.n_features_in_ = source.shape[1]
            if len(y) != source.shape[0]:
                raise ValueError(f"{source.shape[0]} rows, but {len(y)} labels")
        else:
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32),
                ensure_min_samples=2,
            )  # fmt: skip
            source = as_rows(X)
        check_classification_targets(y)
        weights = self.row_weights(y, sample_weight)
        if weights is not None and not np.all(weights):
            counted = np.flatnonzero(weights)
            source, y, weights = source.select(counted), y[counted], weights[counted]
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                "a classifier needs rows of at least 2 classes; those that count hold "
                f"{len(self.classes_)} class only: {self.classes_[:1]}"
            )
        return TrainingRows(source, self._codes(y), weights, source.bounds())

    def _codes(self, y):
        """The place of each label among the classes, in as few bytes as it needs."""
        codes = np.empty(len(y), dtype=np.int16 if len(self.classes_) < 2**15 else np.int32)
        for rows in row_blocks(len(y), ROWS_PER_BLOCK):
            codes[rows] = np.searchsorted(self.classes_, y[rows])
        return codes

    def _validation_rows(self, X, y):
        source = self._source(X)
        y = np.asarray(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"the validation rows have labels not trained on: {unknown[:5]}")
        return source, self._codes(y)

    def _require_memory(self, rows, degrees):
        """Refuse before the first pass, with the arithmetic, what would not fit."""
        m, d = rows.source.shape
        problems = len(degrees) * (1 if len(self.classes_) == 2 else len(self.classes_))
        per_row = 6 if self.to_optimum else problems
        n = space_dimension(d, degrees[-1])
        if self.basis != "chebyshev":
            n = min(n, m) if self.n_centres is None else self.n_centres
        require_memory(
            8 * (m * per_row + 6 * n * n),
            self.max_memory,
            what=f"FPC on {m:,} rows with {n:,} features of degree {degrees[-1]}",
            arithmetic=f"8 bytes x ({m:,} rows x {per_row} + 6 x {n:,}^2)",
            way_out="Take a lower degree or fewer centres, name the degree instead of 'cv', or "
            "allow more with max_memory.",
        )

    def _source(self, X):
        return self.rows_of(X)


def is_streamed(X):
    """Whether X is read in blocks from where it is, rather than checked as an array in memory."""
    if isinstance(X, str | Path | Rows):
        return True
    gives_rows = hasattr(X, "shape") and hasattr(X, "dtype") and hasattr(X, "__getitem__")
    return gives_rows and not isinstance(X, np.ndarray) and not sp.issparse(X)
