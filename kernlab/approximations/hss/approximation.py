"""The hierarchically semi-separable approximation of a kernel matrix, fitted on rows: an operator,
shifted solves, decisions, a file."""

import json
from dataclasses import KW_ONLY, asdict, dataclass, fields
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from kernlab.approximations.base import (
    Approximation,
    KernelParameters,
    largest_eigenvalue,
    symmetric_operator,
)
from kernlab.approximations.hss.compression import compress, find_geometry
from kernlab.approximations.hss.geometry import SPLITS, ClusterTree
from kernlab.approximations.hss.matrix import Basis, HSSMatrix, NotPositiveDefiniteError, ShiftedHSS
from kernlab.kernels import KERNELS
from kernlab.parameters import not_negative, one_of
from kernlab.rows import as_rows
from kernlab.runtime import for_each_block, row_blocks

LEAF_SIZES = {"fast": 256, "paper": 512}
ROWS_AT_ONCE = 4096
FORMAT, VERSION = "kernlab-hss", 2
OF_BASES, OF_ROWS = ("skeleton", "rest", "E", "points"), ("data", "indices", "indptr")


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
class HSSKernel(KernelParameters, Approximation):
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

    _: KW_ONLY
    rel_tol: float = 1e-2
    abs_tol: float = 1e-8
    max_rank: int = 50_000
    leaf_size: int | None = None
    clustering: str = "2means"
    approximate_neighbors: int = 64
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
        "clustering": one_of(*SPLITS),
        "approximate_neighbors": not_negative,
        "mode": one_of(*LEAF_SIZES),
    }

    def _fit(self, rows, sample_weight=None):
        X, entropy = rows.whole(self.max_memory), self.random_state
        if isinstance(entropy, np.random.RandomState):
            entropy = int(entropy.randint(2**31))
        seeds = np.random.SeedSequence(entropy).spawn(3)
        names = ("clustering", "approximate_neighbors", "mode", "max_memory")
        settings = {name: getattr(self, name) for name in names} | {
            "leaf_size": self.leaf_size or LEAF_SIZES[self.mode],
            "dtype": np.dtype(X.dtype if self.dtype is None else self.dtype),
            "centred": self.kernel_.sees_distances,
            "random_state": self.random_state if isinstance(self.random_state, int) else None,
        }
        found, self._found = {} if self._found is None else self._found, None
        geometry = found.get("geometry")
        if geometry is None or not geometry.serves(settings, X):
            geometry = find_geometry(X, settings, seeds[:2], self._timed)
        found["geometry"] = geometry
        self.neighbour_recall_ = geometry.columns.recall
        until = {name: getattr(self, name) for name in ("rel_tol", "abs_tol", "max_rank")}
        with self._timed("compress"):
            self.matrix_ = compress(
                geometry, self.kernel_, **until, seed=seeds[2], max_memory=self.max_memory
            )
        self.X_, self._factor = X, None

    def share(self, found):
        """Tree and neighbours serve approximations of the same rows with another width."""
        self._found = found
        return self

    @property
    def rank_(self):
        return self.matrix_.rank

    @property
    def nbytes(self):
        return self.matrix_.nbytes + (self._factor.nbytes if self._factor is not None else 0)

    def quality(self, n_sampled=64, random_state=0):
        """How close K~ is to K, and its spectrum's ends (`HSSQuality`)."""
        n, dtype = self.X_.shape[0], self.matrix_.dtype
        generator = np.random.default_rng(random_state)
        chosen = np.sort(generator.choice(n, min(n_sampled, n), replace=False))
        units = np.zeros((n, len(chosen)), dtype=dtype)
        units[chosen, np.arange(len(chosen))] = 1.0
        true = self.kernel_(self.X_, self.X_[chosen])
        missed = np.linalg.norm(true - self.operator() @ units)
        smallest, largest = self._ends_of_spectrum(random_state)
        error = float(missed / max(np.linalg.norm(true), np.finfo(float).tiny))
        return HSSQuality(error, len(chosen), smallest, largest, self.matrix_.level_table())

    def _ends_of_spectrum(self, random_state):
        """(smallest, largest) eigenvalue of K~. The smallest, lost among thousands of tiny ones, is
        found on (K~ + s I)^-1 for an s so large that Cholesky factors exist."""
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

    def operator(self):
        matrix = self.matrix_
        n, order = matrix.shape[0], matrix.tree.order
        return symmetric_operator(matrix.product, n, matrix.dtype, order)

    def shifted(self, beta):
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
        return self.dual_decision(self.X_, V, np.arange(len(V)))

    def dual_decision(self, X, coefficients, rows):
        X, coefficients = self._validated_rows(X), np.asarray(coefficients)
        used = (coefficients != 0).any(axis=tuple(range(1, coefficients.ndim)))
        return self._kernel_scores(X, self.X_[np.asarray(rows)[used]], coefficients[used])

    def structured_decision(self, X, coefficients, rows):
        """The scores through K~'s own structure: fewer kernel values, about as exact as K~.

        A new point belongs to the leaf with the nearest centre, whose points contribute exactly.
        All else lies in the siblings t of its ancestors: K(x, I_t) c_t ~ K(x, s_t) U_t^T c_t, so
        that the coefficients, gathered once up the tree, meet a few skeletons.
        """
        X, matrix, tree = self._validated(X), self.matrix_, self.matrix_.tree
        coefficients = np.asarray(coefficients, dtype=np.float64)
        everywhere = np.zeros((self.X_.shape[0], int(np.prod(coefficients.shape[1:]))))
        everywhere[rows] = coefficients.reshape(len(coefficients), everywhere.shape[1])
        ordered, gathered = everywhere[tree.order], [None] * tree.n_nodes
        for t in range(tree.n_nodes - 1, 0, -1):
            gathered[t] = matrix.bases[t].gather(matrix.rows_of(t, ordered, gathered))
        members = [self.X_[tree.order[tree.positions(t)]] for t in tree.leaves]
        centres = np.stack([np.asarray(points.mean(axis=0)).ravel() for points in members])
        leaf_of = tree.leaves[pairwise_distances_argmin(X, centres)]
        scores = np.empty((X.shape[0], everywhere.shape[1]))

        def decide(leaf):
            mine, others = tree.positions(leaf), tree.siblings_of_ancestors(leaf)
            skeletons = [matrix.bases[k].points for k in others]
            positions = np.concatenate([np.arange(mine.start, mine.stop), *skeletons])
            weights = np.concatenate([ordered[mine], *(gathered[k] for k in others)])
            used = weights.any(axis=1)
            points, weights = self.X_[tree.order[positions[used]]], weights[used]
            new = np.flatnonzero(leaf_of == leaf)
            for some in row_blocks(len(new), ROWS_AT_ONCE):
                scores[new[some]] = self.kernel_(X[new[some]], points) @ weights

        for_each_block(decide, np.unique(leaf_of))
        return scores.reshape(X.shape[0], *coefficients.shape[1:])

    def save(self, path):
        """Write the fitted approximation to a file: plain arrays and a JSON header in NumPy's .npz
        format. Nothing is pickled, so that a file from elsewhere cannot run code."""
        check_is_fitted(self)
        kernel, matrix, X = self.kernel_, self.matrix_, self.X_
        names = {kind: name for name, kind in KERNELS.items()}
        if type(kernel) not in names:
            known = ", ".join(kind.__name__ for kind in names)
            raise ValueError(
                f"a kernel of type {type(kernel).__name__} cannot be stored: a file names its "
                f"kernel, which must be of a type that it knows ({known})"
            )
        header = {
            "format": FORMAT,
            "version": VERSION,
            "kernel": names[type(kernel)],
            "kernel parameters": _plain(asdict(kernel)),
            "parameters": _plain(self.get_params(deep=False)),
            "recall": self.neighbour_recall_,
            "timings": self.timings_,
            "columns": [int(basis.columns) for basis in matrix.bases[1:]],
            "rows": list(X.shape),
        }
        arrays = {
            "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            **{field.name: getattr(matrix.tree, field.name) for field in fields(ClusterTree)},
            **_of_nodes("block", matrix.blocks),
            **_of_nodes("coupling", matrix.couplings),
        }
        for name in OF_BASES:
            arrays |= _of_nodes(name, [basis and getattr(basis, name) for basis in matrix.bases])
        for name in OF_ROWS if sp.issparse(X) else ():
            arrays[f"X_{name}"] = getattr(X, name)
        if not sp.issparse(X):
            arrays["X"] = X
        with Path(path).open("wb") as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path):
        """Read what `save` has written."""
        with Path(path).open("rb") as file:
            try:
                with np.load(file, allow_pickle=False) as stored:
                    header = json.loads(bytes(stored["header"]))
                    refusal = _refusal(header)
                    if not refusal:
                        return cls(**header["parameters"])._restored(stored, header)
            except Exception as error:  # a damaged file may fail in any way NumPy's readers have
                refusal = f"is not a whole file of an HSS approximation: {error}"
        raise ValueError(f"{path} {refusal}")

    def _restored(self, stored, header):
        self.kernel_ = KERNELS[header["kernel"]](**header["kernel parameters"])
        if not isinstance(self.kernel, str):
            self.kernel = self.kernel_
        self.X_ = stored.get("X")
        if self.X_ is None:
            parts = tuple(stored[f"X_{name}"] for name in OF_ROWS)
            self.X_ = sp.csr_matrix(parts, shape=tuple(header["rows"]))
        self.matrix_ = _matrix(stored, header["columns"])
        zeros = np.zeros(self.X_.shape[0], self.matrix_.dtype)
        self.matrix_.product(zeros)  # which meets every part, and so sees that they fit together
        self._rows, self._factor, self.n_features_in_ = as_rows(self.X_), None, self.X_.shape[1]
        self.neighbour_recall_, self.timings_ = header["recall"], header["timings"]
        return self


def _refusal(header):
    """Why a whole file cannot be read."""
    if header["format"] != FORMAT:
        return "does not hold an HSS approximation"
    if header["version"] == VERSION:
        return ""
    return (
        f"was written by another kernlab (format {header['version']}, known here: {VERSION}): "
        "update kernlab, or fit again"
    )


def _plain(parameters):
    """Parameters as JSON can hold them; a generator of random numbers is left out."""
    plain = {}
    for name, value in parameters.items():
        if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
            value = value.item()
        if name == "dtype" and value is not None:
            value = np.dtype(value).name
        plain[name] = value if isinstance(value, int | float | str | None) else None
    return plain


def _of_nodes(name, parts):
    return {f"{name} {t}": part for t, part in enumerate(parts) if part is not None}


def _matrix(stored, columns):
    tree = ClusterTree(**{field.name: stored[field.name] for field in fields(ClusterTree)})
    nodes = range(tree.n_nodes)
    blocks, couplings = (
        [stored.get(f"{name} {t}") for t in nodes] for name in ("block", "coupling")
    )
    bases = [
        Basis(*(stored[f"{name} {t}"] for name in OF_BASES), columns[t - 1]) for t in nodes[1:]
    ]
    return HSSMatrix(tree, blocks, couplings, [None, *bases])
