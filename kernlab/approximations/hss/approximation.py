"""The hierarchically semi-separable approximation of a kernel matrix, as kernlab's estimators use
it: fitted on rows, then an operator, shifted solves, decisions, a file."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from kernlab.approximations.base import Approximation
from kernlab.approximations.hss import storage
from kernlab.approximations.hss.compression import compress
from kernlab.approximations.hss.matrix import HSSOperator, NotPositiveDefiniteError, ShiftedHSS
from kernlab.approximations.hss.neighbours import find_geometry
from kernlab.approximations.hss.tree import SPLITS
from kernlab.approximations.spectrum import largest_eigenvalue
from kernlab.kernels import kernel_product
from kernlab.parameters import not_negative, one_of, whole
from kernlab.rows.products import prepare_right, squared_distances
from kernlab.runtime import for_each_block, row_blocks

LEAF_SIZES = {"fast": 256, "paper": 512}
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class HSSQuality:
    """`sampled_error`: the relative Frobenius error on `n_sampled` random columns;
    `smallest_eigenvalue` and `largest_eigenvalue` of K~; `levels`: ranks and bytes by level."""

    sampled_error: float
    n_sampled: int
    smallest_eigenvalue: float
    largest_eigenvalue: float
    levels: pd.DataFrame


@dataclass(eq=False, repr=False)
class HSSKernel(Approximation):
    """K~ with low-rank blocks off the diagonal, nested in each other: products and solves with
    K~ + beta I cost n r instead of n^2 and n^3 (Section 3.1 of the ADMM-HSS paper).

    K~ stands in the order of its cluster tree; all that is given to it and all that it gives is in
    the order of the fitted rows.

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

    Attributes
    ----------
    matrix_ (an `HSSMatrix` in the order `matrix_.tree.order`), kernel_, rank_ (the largest),
    neighbour_recall_, X_, nbytes, timings_.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> kernel = HSSKernel(gamma=0.5, rel_tol=1e-4, random_state=0).fit(X)
    >>> solution = kernel.shifted(1.0).solve(np.ones(2000))
    >>> bool(np.allclose(kernel.operator() @ solution + solution, 1.0))
    True
    """

    kernel: object = "rbf"
    _: KW_ONLY
    gamma: object = "scale"
    degree: int = 3
    coef0: float = 1.0
    rel_tol: float = 1e-2
    abs_tol: float = 1e-8
    max_rank: int = 50_000
    leaf_size: int | None = None
    clustering: str = "2means"
    approximate_neighbors: int = 64
    ann_iterations: int = 5
    mode: str = "fast"
    dtype: object = None
    random_state: object = None
    max_memory: object = None

    is_kernel_map = False
    _found = None  # where approximations of the same rows leave what others can use (see `share`)

    checks: ClassVar[dict] = Approximation.checks | {
        "rel_tol": not_negative,
        "abs_tol": not_negative,
        "max_rank": not_negative,
        "leaf_size": (whole, (None,)),
        "clustering": one_of(*SPLITS),
        "approximate_neighbors": not_negative,
        "ann_iterations": whole,
        "mode": one_of(*LEAF_SIZES),
    }

    # -------------------------------------------------------------------------- fitting
    def _fit(self, rows, sample_weight=None):
        X = rows.whole(self.max_memory)
        seeds = np.random.SeedSequence(_entropy(self.random_state)).spawn(3)
        settings = self._geometry_settings(X)
        found, self._found = {} if self._found is None else self._found, None
        geometry = found.get("geometry")
        if geometry is None or not geometry.serves(settings, X):
            geometry = find_geometry(X, settings, seeds[:2], self._timed)
        found["geometry"] = geometry
        self.neighbour_recall_ = geometry.columns.recall
        with self._timed("compress"):
            self.matrix_ = compress(
                geometry,
                self.kernel_,
                rel_tol=self.rel_tol,
                abs_tol=self.abs_tol,
                max_rank=self.max_rank,
                seed=seeds[2],
                max_memory=self.max_memory,
            )
        self.X_, self._factor = X, None

    def _geometry_settings(self, X):
        return {
            "leaf_size": self.leaf_size or LEAF_SIZES[self.mode],
            "clustering": self.clustering,
            "approximate_neighbors": self.approximate_neighbors,
            "ann_iterations": self.ann_iterations,
            "mode": self.mode,
            "dtype": np.dtype(X.dtype if self.dtype is None else self.dtype),
            "centred": self.kernel_.sees_distances,
            "random_state": self.random_state if isinstance(self.random_state, int) else None,
            "max_memory": self.max_memory,
        }

    def share(self, found):
        """Look for tree and neighbours in the dictionary `found` at the next fit, and leave them
        there for the next approximation of the same rows, with another width perhaps."""
        self._found = found
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
        """How close K~ is to K, and its spectrum's ends.

        Returns
        -------
        HSSQuality
        """
        n, dtype = self.X_.shape[0], self.matrix_.dtype
        generator = np.random.default_rng(random_state)
        chosen = np.sort(generator.choice(n, min(n_sampled, n), replace=False))
        units = np.zeros((n, len(chosen)), dtype=dtype)
        units[chosen, np.arange(len(chosen))] = 1.0
        true = self.kernel_(self.X_, self.X_[chosen])
        missed = np.linalg.norm(true - self.operator() @ units)
        smallest, largest = self._ends_of_spectrum(random_state)
        return HSSQuality(
            float(missed / max(np.linalg.norm(true), np.finfo(float).tiny)),
            len(chosen),
            smallest,
            largest,
            self.matrix_.level_table(),
        )

    def _ends_of_spectrum(self, random_state):
        """(smallest, largest) eigenvalue of K~.

        The smallest is lost among thousands of tiny ones in K~; it is found on (K~ + s I)^-1, of
        which it gives the largest eigenvalue, for an s so large that Cholesky factors exist.
        """
        matrix = self.matrix_
        n, dtype = matrix.shape[0], matrix.dtype

        def largest_of(product):
            return largest_eigenvalue(
                lambda V: product(V.astype(dtype)), n, tol=1e-4, random_state=random_state
            )

        largest = largest_of(matrix.product)
        shift, factor = max(1e-5 * abs(largest), np.finfo(dtype).tiny), None
        while factor is None:
            try:
                factor = self._new_factor(shift)
            except NotPositiveDefiniteError:
                shift *= 4.0
        return 1.0 / largest_of(factor.solve_in_order) - shift, largest

    # --------------------------------------------------------------- operator and solves
    def operator(self):
        """K~ as a SciPy LinearOperator."""
        return HSSOperator(self.matrix_)

    def shifted(self, beta):
        """Solves with K~ + beta I; the factor of the last beta is kept."""
        if self._factor is None or self._factor.beta != beta:
            self._factor = None
            with self._timed("factor"):
                self._factor = self._new_factor(beta)
        return self._factor

    def is_definite(self, beta):
        """Whether K~ + beta I is positive definite: proved by its Cholesky factors, or refuted."""
        with self._timed("definite"):
            try:
                self._new_factor(beta)
            except NotPositiveDefiniteError:
                return False
        return True

    def _new_factor(self, beta):
        return ShiftedHSS(self.matrix_, beta, self.max_memory, self.nbytes)

    def exact_product(self, V):
        """K V with the exact kernel matrix of the fitted rows, in blocks, over V's rows that are
        not zero."""
        return self.dual_decision(self.X_, V, np.arange(len(V)))

    # ---------------------------------------------------------------------- new points
    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K(X, fitted rows) @ coefficients, over the rows named only."""
        X = self._validated(X)
        coefficients = np.asarray(coefficients)
        used = (coefficients != 0).any(axis=tuple(range(1, coefficients.ndim)))
        if not used.any():
            return np.zeros((X.shape[0], *coefficients.shape[1:]))
        points = self.X_[np.asarray(rows)[used]]
        return kernel_product(self.kernel_, X, points, coefficients[used], self.max_memory)

    def structured_decision(self, X, coefficients, rows):
        """The same through K~'s own structure: fewer kernel values, about as exact as K~.

        A new point belongs to the leaf with the nearest centre. What the leaf's own points
        contribute is computed exactly. All else lies in the siblings of the leaf's ancestors, and
        the rows of K that belong to such a node t follow from those of its skeleton, for columns
        outside the node:

            K(x, I_t) c_t  ~  K(x, s_t) (U_t^T c_t)

        so that the coefficients, gathered once up the tree, meet the skeletons of a few nodes
        instead of all points.
        """
        X, matrix, tree = self._validated(X), self.matrix_, self.matrix_.tree
        coefficients = np.asarray(coefficients, dtype=np.float64)
        everywhere = np.zeros((self.X_.shape[0], int(np.prod(coefficients.shape[1:]))))
        everywhere[rows] = coefficients.reshape(len(coefficients), everywhere.shape[1])
        ordered, gathered = everywhere[tree.order], [None] * tree.n_nodes
        for t in range(tree.n_nodes - 1, 0, -1):
            gathered[t] = matrix.bases[t].gather(matrix.rows_of(t, ordered, gathered))
        leaf_of = self._nearest_leaf(X)
        scores = np.empty((X.shape[0], everywhere.shape[1]))

        def decide(leaf):
            mine, others = tree.positions(leaf), tree.siblings_of_ancestors(leaf)
            positions = [
                np.arange(mine.start, mine.stop),
                *(matrix.bases[k].points for k in others),
            ]
            weights = np.concatenate([ordered[mine], *(gathered[k] for k in others)])
            used = weights.any(axis=1)
            points, weights = self.X_[tree.order[np.concatenate(positions)[used]]], weights[used]
            new = np.flatnonzero(leaf_of == leaf)
            for some in row_blocks(len(new), ROWS_AT_ONCE):
                scores[new[some]] = self.kernel_(X[new[some]], points) @ weights

        for_each_block(decide, np.unique(leaf_of))
        return scores.reshape(X.shape[0], *coefficients.shape[1:])

    def _nearest_leaf(self, X):
        """The leaf whose centre is nearest, for each new point."""
        tree = self.matrix_.tree
        members = [tree.order[tree.positions(t)] for t in tree.leaves]
        centres = np.stack([np.asarray(self.X_[rows].mean(axis=0)).ravel() for rows in members])
        right = prepare_right(X, centres, distances=True)
        nearest = np.empty(X.shape[0], dtype=int)

        def find(rows):
            apart = np.empty((rows.stop - rows.start, len(centres)), dtype=centres.dtype)
            squared_distances(X[rows], right, apart)
            nearest[rows] = tree.leaves[np.argmin(apart, axis=1)]

        for_each_block(find, row_blocks(X.shape[0], ROWS_AT_ONCE))
        return nearest

    # ---------------------------------------------------------------------------- storage
    def save(self, path):
        """Write the fitted approximation to a file (.npz, nothing pickled)."""
        check_is_fitted(self)
        storage.write(path, self)

    @classmethod
    def load(cls, path):
        """Read what `save` has written."""
        return storage.read(path, cls)


def _entropy(random_state):
    """A seed from None, a number or NumPy's RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return random_state
