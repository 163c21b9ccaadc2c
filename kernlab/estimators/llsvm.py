"""LLSVM: low-rank linearization and block minimization (Zhang, Lan, Wang and Moerchen 2012)."""

import time

import numpy as np

from kernlab.approximations.landmarks import MAX_ROWS, resolve_n_landmarks
from kernlab.estimators.kernel_machine import KernelMachine
from kernlab.estimators.lasn import LandmarkParameters
from kernlab.features import Features
from kernlab.rows import as_rows


class LLSVM(LandmarkParameters, KernelMachine):
    """Kernel classification by Nystrom features and selective block minimization.

        minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (w . f(x_i) + b))

    with f(x) = M^T k(landmarks, x) (LLSVM eq. 14). Rows come in blocks, from memory or, with
    `fit_rows`, from a memory map or an svmlight file larger than memory; the features of one block
    and of the rows kept from others are all that is held. As the paper sets it, the data are run
    over once; `runs=None` goes on to the optimum.

    Parameters
    ----------
    n_landmarks : k, or "sqrt" of the rows.
    landmarks : "kmeans" (the paper's), "uniform", "first", "rpcholesky", "leverage", or an array.
    kernel, gamma, degree, coef0 : see `make_kernel`.
    C : multiplies the sum of losses.
    loss : "hinge" (the paper's) or "squared_hinge".
    intercept : "penalised" or "none".
    factor : "cholesky", or "eigen-replace", the paper's treatment of tiny eigenvalues.
    dtype : of the features; None for that of X.
    runs : over the data; 1 is the paper's, None for as many as `tol` takes.
    block_rows, drop : rows of a block, and the share dropped after it; the paper's 20,000 and 75 %.
    tol, max_iter : of the duality gap relative to the objective, and of the runs, for runs=None.
    landmark_params : further arguments of `choose_landmarks`: max_rows, candidates, n_steps.
    class_weight, random_state, max_memory : as everywhere.

    Fitted
    ------
    landmarks_, approximation_, coef_, intercept_, results_, result_, n_iter_, timings_, nbytes_,
    classes_.

    Example
    -------
    >>> from kernlab import LLSVM
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> LLSVM(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    solver = "sbm"

    def __init__(
        self,
        n_landmarks="sqrt",
        *,
        landmarks="kmeans",
        kernel="rbf",
        gamma="variance",
        degree=3,
        coef0=1.0,
        C=1.0,
        loss="hinge",
        intercept="penalised",
        factor="cholesky",
        dtype=None,
        runs=1,
        block_rows=20_000,
        drop=0.75,
        tol=1e-3,
        max_iter=100,
        class_weight=None,
        random_state=None,
        max_memory=None,
        landmark_params=None,
    ):
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.loss = loss
        self.intercept = intercept
        self.factor = factor
        self.dtype = dtype
        self.runs = runs
        self.block_rows = block_rows
        self.drop = drop
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory
        self.landmark_params = landmark_params

    @property
    def solver_params(self):
        return {"runs": self.runs, "block_rows": self.block_rows, "drop": self.drop}

    def fit_rows(self, rows, y=None, sample_weight=None):
        """Fit on rows that need not fit in memory.

        rows: whatever `as_rows` takes: the path of a file, a memory map; whole numbers and half
        precision are taken as float64, block by block. y: their labels; a file brings its own.
        Landmarks and rules for gamma see a random sample of the rows.
        """
        began = time.perf_counter()
        rows = as_rows(rows, y)
        y = rows.labels
        if y is None:
            raise ValueError("these rows bring no labels: pass them, fit_rows(rows, y)")
        self.n_features_in_ = rows.shape[1]
        vars(self).pop("feature_names_in_", None)  # of a table that an earlier fit has seen
        signs = self._binary_problems(y)
        weights = self._row_weights(y[:, None], y, sample_weight)
        approximation, solver = self._make_pair()
        approximation.set_params(n_landmarks=resolve_n_landmarks(self.n_landmarks, len(y)))
        approximation.fit(self._sample(rows, approximation.n_landmarks))
        data = Features.formed(
            (rows.shape[0], approximation.rank_),
            lambda block, room: approximation.transform(rows.block(block)),
            np.dtype(self.dtype or rows.dtype),
        )
        self._solve_and_store(approximation, solver, data, signs, weights, began)
        return self

    def _sample(self, rows, n_landmarks):
        limit = dict(self.landmark_params or {}).get("max_rows", MAX_ROWS)
        n_rows = rows.shape[0]
        if n_rows <= max(limit, n_landmarks):
            return rows.whole(self.max_memory)
        generator = np.random.default_rng(self.random_state)
        chosen = np.sort(generator.choice(n_rows, max(limit, n_landmarks), replace=False))
        return rows.take(chosen)
