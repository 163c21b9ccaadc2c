"""The hierarchically semi-separable approximation of a kernel matrix, as kernlab's estimators use
it: fitted on rows, then an operator, shifted solves, decisions."""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernlab.approximations.base import Approximation
from kernlab.approximations.hss import storage
from kernlab.approximations.hss.compress import Tolerances, compress
from kernlab.approximations.hss.factor import NotPositiveDefiniteError, ShiftedHSS
from kernlab.approximations.hss.geometry import GeometrySettings, find_geometry
from kernlab.approximations.hss.operator import (
    HSSOperator,
    HSSQuality,
    extreme_eigenvalues,
    sampled_error,
)
from kernlab.approximations.hss.prediction import structured_scores
from kernlab.kernels import kernel_product
from kernlab.parameters import whole

MODES = ("fast", "paper")
LEAF_SIZES = {"fast": 256, "paper": 512}


class HSSKernel(Approximation):
    """K~ with low-rank blocks off the diagonal, nested in each other: products and solves with
    K~ + beta I cost n r instead of n^2 and n^3 (Section 3.1 of the ADMM-HSS paper).

    Parameters
    ----------
    kernel, gamma, degree, coef0 : the kernel's (see `make_kernel`); it need not be definite.
    rel_tol, abs_tol, max_rank : where the basis of a cluster ends: at the pivot that is at most
        rel_tol / depth times the first, or at most abs_tol / depth; at rank max_rank at the latest.
        They steer local decisions; `quality` says how good the whole is.
    leaf_size : clusters are cut in two until they are smaller (None: 256, or 512 in paper mode).
    clustering : "2means", "kdtree", "pca", "cobble" or "natural".
    approximate_neighbors : nearest points of each point whose columns a basis is found from.
    mode : "fast" samples columns, near and far, a few per row, and tests each basis on others;
        "paper" takes all neighbours and nothing else, as the reference implementation does.
    ann_iterations : projection trees of the neighbour search in paper mode.
    dtype : of K~ (None: that of X). float32 halves time and memory.
    random_state, max_memory : as everywhere.

    Fitted
    ------
    matrix_ (an `HSSMatrix` in the order `matrix_.tree.order`), kernel_, rank_ (the largest),
    neighbour_recall_, X_, nbytes, timings_.
    """

    is_kernel_map = False

    checks: ClassVar[dict] = Approximation.checks | {"leaf_size": (whole, (None,))}

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1.0,
        rel_tol=1e-2,
        abs_tol=1e-8,
        max_rank=50_000,
        leaf_size=None,
        clustering="2means",
        approximate_neighbors=64,
        ann_iterations=5,
        mode="fast",
        dtype=None,
        random_state=None,
        max_memory=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rel_tol = rel_tol
        self.abs_tol = abs_tol
        self.max_rank = max_rank
        self.leaf_size = leaf_size
        self.clustering = clustering
        self.approximate_neighbors = approximate_neighbors
        self.ann_iterations = ann_iterations
        self.mode = mode
        self.dtype = dtype
        self.random_state = random_state
        self.max_memory = max_memory

    # -------------------------------------------------------------------------- fitting
    def _fit(self, rows, sample_weight=None):
        X = rows.whole(self.max_memory)
        self._check()
        seeds = np.random.SeedSequence(_entropy(self.random_state)).spawn(3)
        clock, settings = _Clock(self.timings_), self._geometry_settings(X)
        shared = self.__dict__.pop("_shared", {})
        geometry = shared.get("geometry")
        if geometry is None or not geometry.serves(settings, X):
            geometry = find_geometry(X, settings, seeds[:2], clock)
        shared["geometry"] = geometry
        self.neighbour_recall_ = geometry.columns.recall
        self.matrix_ = compress(
            geometry.rows,
            self.kernel_,
            geometry.tree,
            geometry.columns.afresh(self.rel_tol, self.max_rank),
            Tolerances(self.rel_tol, self.abs_tol, self.max_rank),
            seed=seeds[2],
            max_memory=self.max_memory,
        )
        clock.lap("compress")
        self.X_ = X
        self._factor = None

    def _check(self):
        if self.mode not in MODES:
            raise ValueError(f"mode={self.mode!r} is not one of {', '.join(MODES)}")
        for name, least in (
            ("rel_tol", 0),
            ("abs_tol", 0),
            ("max_rank", 0),
            ("approximate_neighbors", 0),
            ("ann_iterations", 1),
        ):
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)!r}")

    def _geometry_settings(self, X):
        return GeometrySettings(
            leaf_size=self.leaf_size or LEAF_SIZES[self.mode],
            clustering=self.clustering,
            approximate_neighbors=self.approximate_neighbors,
            ann_iterations=self.ann_iterations,
            is_papers=self.mode == "paper",
            dtype=np.dtype(X.dtype if self.dtype is None else self.dtype),
            centred=self.kernel_.sees_distances,
            entropy=self.random_state if isinstance(self.random_state, int) else None,
            max_memory=self.max_memory,
        )

    def share(self, found):
        """Look for tree and neighbours in the dictionary `found` when fitting, and leave them there
        for the next approximation of the same rows, with another width perhaps."""
        self._shared = found
        return self

    # ------------------------------------------------------------------------- what it is
    @property
    def rank_(self):
        return self.matrix_.rank

    @property
    def nbytes(self):
        """Bytes of K~, and of the factor of K~ + beta I when there is one."""
        return self.matrix_.nbytes + (self._factor.nbytes if self._factor is not None else 0)

    def quality(self, n_sampled=64, random_state=0):
        """How close K~ is to K, and its spectrum's ends: an `HSSQuality`."""
        smallest, largest = extreme_eigenvalues(
            self.matrix_, random_state=random_state, max_memory=self.max_memory
        )
        return HSSQuality(
            sampled_error(
                self.matrix_, self.kernel_, self.X_, n_sampled, np.random.default_rng(random_state)
            ),
            min(n_sampled, self.X_.shape[0]),
            smallest,
            largest,
            self.matrix_.level_table(),
        )

    # --------------------------------------------------------------- operator and solves
    def operator(self):
        """K~ as a SciPy LinearOperator."""
        return HSSOperator(self.matrix_)

    def shifted(self, beta):
        """Solves with K~ + beta I; the factor of the beta asked for last is kept."""
        if self._factor is None or self._factor.beta != beta:
            self._factor = None
            clock = _Clock(self.timings_)
            self._factor = ShiftedHSS(self.matrix_, beta, self.max_memory)
            clock.lap("factor")
        return self._factor

    def is_definite(self, beta):
        """Whether K~ + beta I is positive definite: proved by its Cholesky factors, or refuted."""
        clock = _Clock(self.timings_)
        try:
            ShiftedHSS(self.matrix_, beta, self.max_memory)
        except NotPositiveDefiniteError:
            return False
        finally:
            clock.lap("definite")
        return True

    def exact_product(self, V):
        """K V with the exact kernel matrix of the fitted rows, in blocks, over V's rows that are
        not zero."""
        V = np.asarray(V)
        return self.dual_decision(self.X_, V, np.arange(len(V)))

    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K(X, fitted rows) @ coefficients, over the rows named only."""
        X = self._validated(X)
        coefficients = np.asarray(coefficients)
        used = coefficients != 0
        used = used.any(axis=tuple(range(1, used.ndim)))
        if not used.any():
            return np.zeros((X.shape[0], *coefficients.shape[1:]))
        points = self.X_[np.asarray(rows)[used]]
        return kernel_product(self.kernel_, X, points, coefficients[used], self.max_memory)

    def structured_decision(self, X, coefficients, rows):
        """The same through K~'s own structure: fewer kernel values, about as exact as K~."""
        X = self._validated(X)
        coefficients = np.asarray(coefficients, dtype=np.float64)
        everywhere = np.zeros((self.X_.shape[0], *coefficients.shape[1:]))
        everywhere[rows] = coefficients
        columns = everywhere.reshape(len(everywhere), -1)
        scores = structured_scores(self.matrix_, self.kernel_, self.X_, X, columns)
        return scores.reshape(X.shape[0], *coefficients.shape[1:])

    # ---------------------------------------------------------------------------- storage
    def save(self, path):
        """Write the fitted approximation to a file (.npz, nothing pickled)."""
        check_is_fitted(self)
        storage.write(path, self)

    @classmethod
    def load(cls, path):
        """Read what `save` has written."""
        return storage.read(path, cls)


@dataclass
class _Clock:
    """Laps of a stopwatch, added to a table of seconds."""

    seconds: dict

    def __post_init__(self):
        self._last = time.perf_counter()

    def lap(self, name):
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


def _entropy(random_state):
    """A seed from None, a number, a generator or NumPy's older RandomState."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return int(random_state.randint(2**31))
