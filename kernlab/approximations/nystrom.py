"""The Nystrom approximation: features from the kernel between the data and k landmarks.

    K~ = K_rl K_ll^+ K_lr = F F^T,     F = K_rl M,     M M^T = K_ll^+

(LLSVM eq. 13 and 14, LASN eq. 16). Any such M gives the same K~, so the same classifier; they
differ in cost, and in directions in which the landmarks repeat each other. Weights w of the
features are weights M w of the kernel values, so that solvers need not form the features.
"""

from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from typing import ClassVar

import numpy as np
import scipy.linalg as la

from kernlab.approximations.base import ROWS_PER_BLOCK, FeatureMap, KernelParameters
from kernlab.approximations.landmarks import choose_landmarks
from kernlab.features import Features
from kernlab.parameters import one_of
from kernlab.rows.arrays import held_bytes
from kernlab.runtime import (
    blas_threads_for,
    eigenvalues,
    for_each_block,
    memory_limit,
    on_single_blas_thread,
    pivoted_cholesky,
    require_memory,
    solve_triangle,
)

FACTORS = ("cholesky", "eigen-drop", "eigen-replace")
MANY_VALUES = 2**21
MANY_FEATURES = 64  # from here on products cost more than exponentials
MOST_ROUNDINGS = 32.0  # of single precision, that kernel values may be off


@dataclass(eq=False, repr=False)
class LandmarkMap(KernelParameters, FeatureMap):
    """Base of maps made of kernel values at landmarks."""

    _: KW_ONLY
    n_landmarks: object = "sqrt"
    landmarks: object = "kmeans"
    landmark_params: dict | None = None
    random_state: object = None
    max_memory: object = None

    def _fit(self, rows, sample_weight=None):
        with self._timed("landmarks"):
            self.landmarks_ = choose_landmarks(
                rows,
                self.n_landmarks,
                self.landmarks,
                kernel=self.kernel_,
                random_state=self.random_state,
                sample_weight=sample_weight,
                max_memory=self.max_memory,
                **dict(self.landmark_params or {}),
            )


@dataclass(eq=False, repr=False)
class ReducedMap(LandmarkMap):
    """The kernel values themselves as features, F = K(X, landmarks). Any kernel will do.

    A linear machine on them, the reduced machine of Lee and Mangasarian, penalises the coefficients
    |mu|^2 where the kernel machine penalises mu^T K_zz mu: F F^T is not near K. With the right
    penalty the problem is the one that Nystrom features solve exactly (LLSVM, Proposition 2).

    Parameters
    ----------
    kernel, gamma, degree, coef0 : the kernel's (see `make_kernel`).
    n_landmarks, landmarks, landmark_params : as of `Nystrom`; rows at random by default.
    random_state, max_memory : as everywhere.

    Attributes
    ----------
    landmarks_ : array or CSR matrix

    Examples
    --------
    >>> import numpy as np
    >>> from kernlab.approximations import ReducedMap
    >>> X = np.eye(3)
    >>> ReducedMap(gamma=0.5, landmarks=X[:1]).fit_transform(X).round(3).ravel().tolist()
    [1.0, 0.368, 0.368]
    """

    is_kernel_map = False

    _: KW_ONLY
    landmarks: object = "uniform"

    @property
    def rank_(self):
        return self.landmarks_.shape[0]

    @property
    def nbytes(self):
        return held_bytes(self.landmarks_)

    def _block(self, X):
        return self.kernel_(X, self.landmarks_)

    def expansion(self, coefficients):
        return self.landmarks_, np.asarray(coefficients, dtype=np.float64)


@dataclass(eq=False, repr=False)
class Nystrom(LandmarkMap):
    """Features F with F F^T near K, from k landmarks.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : the kernel's (see `make_kernel`).
    n_landmarks : k, or "sqrt" for the square root of the number of rows.
    landmarks : a rule of `LANDMARKS`, or the points themselves.
    factor : how M comes from K_ll. "cholesky": M = L^-T from a factor with pivoting, K_ll = L L^T,
        that leaves out landmarks which add less than `floor`: the cheapest, and nested, as the
        first j features are those of the first j landmarks. "eigen-drop": V S^-1/2 without
        eigenvalues below `floor` (LASN); "eigen-replace": with these replaced by `floor` (LLSVM).
    floor : what counts as nothing, relative to the mean diagonal of K_ll (1 for a Gaussian kernel).
    dtype : of the features (None: that of the rows). float32 halves time and memory.
    landmark_params : dict, further arguments of `choose_landmarks`.
    random_state, max_memory : as everywhere.

    Attributes
    ----------
    landmarks_ (array or CSR matrix), map_ (M), rank_ (the number of features), effective_rank_
    (directions of K_ll above `floor`).

    Examples
    --------
    >>> from kernlab.approximations import Nystrom
    >>> from sklearn.datasets import make_moons
    >>> X, _ = make_moons(300, random_state=0)
    >>> nystrom = Nystrom(gamma=1.0, n_landmarks=40, random_state=0)
    >>> nystrom.fit_transform(X).shape, nystrom.error(X) < 1e-3
    ((300, 26), True)
    """

    _: KW_ONLY
    factor: str = "cholesky"
    floor: float = 1e-6
    dtype: object = None

    checks: ClassVar[dict] = FeatureMap.checks | {"factor": one_of(*FACTORS)}

    @on_single_blas_thread
    def _fit(self, rows, sample_weight=None):
        super()._fit(rows, sample_weight)
        with self._timed("map"):
            self._fit_map(self.landmarks_)

    def _fit_map(self, landmarks):
        k, values = landmarks.shape[0], held_bytes(landmarks) // landmarks.dtype.itemsize
        require_memory(
            3 * 8 * (k * k + values),
            self.max_memory,
            what=f"the map of {k:,} landmarks",
            arithmetic=f"3 x ({k:,}^2 + {values:,} values of landmarks) x 8 bytes",
            way_out="Allow more with max_memory, or take fewer landmarks.",
        )
        K = self.kernel_(landmarks.astype(np.float64, copy=False))
        if not np.all(np.isfinite(K)):
            raise ValueError("the kernel of the landmarks holds values that are not finite")
        precision, largest = self._precision(landmarks), float(K.diagonal().max(initial=0.0))
        if 0.0 < largest < float(np.finfo(precision).tiny):
            raise ValueError(
                f"the kernel's values, at most {largest:.2g}, vanish in features of {precision}: "
                "scale the features"
            )
        floor = self.floor * max(float(np.mean(np.diag(K))), np.finfo(float).tiny)
        if self.factor == "cholesky":
            found = cholesky_map(K, floor)
        else:
            found = spectral_map(K, floor, replace=self.factor == "eigen-replace")
        if found is None:
            self._refuse(K)
        kept, self.map_ = found
        if self.factor == "cholesky":
            landmarks, kept = landmarks[kept], len(kept)
        self.landmarks_, self.effective_rank_ = landmarks, kept

    def _refuse(self, K):
        smallest, largest = eigenvalues(K, vectors=False)[[0, -1]]
        name = type(self.kernel_).__name__
        if smallest == largest == 0.0:
            raise ValueError(
                f"the {name} kernel is zero on all landmarks, so that no features can be made of "
                "it: are the rows all zero?"
            )
        raise ValueError(
            f"the {name} kernel matrix of the landmarks is not positive semidefinite (eigenvalues "
            f"from {smallest:.3g} to {largest:.3g}), so no features give it: choose other kernel "
            "parameters, a positive definite kernel, or approximation='reduced', which needs none"
        )

    @property
    def rank_(self):
        return self.map_.n_features

    @property
    def nbytes(self):
        return held_bytes(self.landmarks_) + self.map_.nbytes + self._bytes_of_solves

    def _block(self, X):
        return self.map_.apply(self._values(X, self._precision(X)))

    def bytes_per_row(self, rows):
        return self.map_.n_landmarks * self._value_precision(rows, len(rows)).itemsize

    def _value_precision(self, rows, n_rows):
        many = self.dtype is None and n_rows * self.map_.n_landmarks >= MANY_VALUES
        return np.dtype(np.float32) if many else self._precision(rows)

    def features(self, X, n_rows=None):
        """The features of rows X as a solver takes them: kernel values, and the map M.

        Where the values are so many that time matters, they are in single precision; where
        max_memory does not hold them, they are computed again in every pass.
        """
        rows = self._validated_rows(X)
        n, k = len(rows), self.map_.n_landmarks
        dtype = self._value_precision(rows, n_rows or n)
        kept = n * k * dtype.itemsize <= memory_limit(self.max_memory)
        return self._mapped(rows, dtype, self._diagonal(rows), kept)

    def _diagonal(self, rows):
        """k(x, x) of all rows; where distances alone are seen, that of one."""
        if self.kernel_.sees_distances:
            return np.broadcast_to(self.kernel_.diag(rows.block(slice(0, 1))), len(rows))
        return np.concatenate([self.kernel_.diag(block) for _, block in rows.blocks()])

    def _mapped(self, rows, dtype, squared_norms, kept):
        precision = self._precision(rows)
        # Of the landmarks what all blocks need is computed once, when the first one is formed.
        fillers = cache(lambda *asked: self._filler(_first_block(rows), *asked))

        def again(part, n_landmarks):
            return fillers(dtype, n_landmarks)(rows.block(part))

        def exactly(positions):
            return self._values(rows.take(positions), np.dtype(np.float64))

        return Features.mapped(
            lambda: self._kernel_values(rows, dtype),
            self.map_,
            lambda part, room: self.map_.apply(fillers(precision)(rows.block(part))),
            precision,
            squared_norms=squared_norms,  # |phi(x)|^2, of which the features show a part
            error=self._value_error(rows, dtype),
            in_double=lambda: self._in_double(rows, dtype, squared_norms, kept),
            exactly=None if dtype == np.float64 else exactly,
            whole=(lambda: self.transform(rows)) if rows.in_memory and kept else None,
            again=None if kept else again,
        )

    def _in_double(self, rows, dtype, squared_norms, kept):
        """`_mapped` in double precision; kept if there is room beside the values that there are."""
        double = np.dtype(np.float64)
        held = len(rows) * self.map_.n_landmarks * (dtype.itemsize + double.itemsize)
        return self._mapped(
            rows, double, squared_norms, kept and held <= memory_limit(self.max_memory)
        )

    def _kernel_values(self, rows, dtype):
        """K(rows, landmarks), to which `map_` belongs."""
        values = self._room_for(len(rows), self.map_.n_landmarks, dtype, "kernel values")
        fill = self._filler(_first_block(rows), dtype)
        with self._timed("features"):
            for_each_block(
                lambda part: fill(rows.block(part), values[part]), self._slices(*values.shape)
            )
        return values

    def _values(self, X, dtype):
        return self._filler(X, dtype)(X)

    def _filler(self, some, dtype, n_landmarks=None):
        """A function of rows like these that gives their values at the (first) landmarks, in an
        array handed over or a new one; what the landmarks alone decide is computed here."""
        landmarks = self._landmarks_for(some, dtype)[:n_landmarks]
        fill = self.kernel_.against(some.astype(landmarks.dtype, copy=False), landmarks)

        def filled(X, out=None):
            X = X.astype(landmarks.dtype, copy=False)
            out = np.empty((X.shape[0], landmarks.shape[0]), dtype) if out is None else out
            fill(X, out)
            return out

        return filled

    def _landmarks_for(self, X, dtype):
        """The landmarks in the precision in which kernel values are computed: single pays where
        there are many features, where few roundings of the value are the price."""
        points = self.landmarks_
        if points.shape[1] < MANY_FEATURES or dtype == np.float64 or X.dtype == np.float32:
            return points
        bears_single = self.kernel_.single_roundings(points) <= MOST_ROUNDINGS
        return points.astype(np.float32) if bears_single else points

    def _value_error(self, rows, dtype):
        """About how far kernel values in this precision are off, relative to their size."""
        if dtype == np.float64:
            return np.finfo(np.float64).eps
        computed_in_single = self._landmarks_for(rows, dtype).dtype == np.float32
        return np.finfo(np.float32).eps * (8.0 if computed_in_single else 0.5)

    def expansion(self, coefficients):
        return self.landmarks_, self.map_.fold(np.asarray(coefficients, dtype=np.float64))

    def trace_error(self, X):
        """trace(K - F F^T) / trace(K) on the rows of X: it bounds spectral and Frobenius norm."""
        left = total = 0.0
        for _, block in self._validated_rows(X).blocks(ROWS_PER_BLOCK):
            F, diagonal = self.transform(block), self.kernel_.diag(block).astype(np.float64)
            explained = np.einsum("ij,ij->i", F, F, dtype=np.float64)
            left += float(np.maximum(diagonal - explained, 0.0).sum())
            total += float(diagonal.sum())
        return left / max(total, np.finfo(float).tiny)

    def leading(self, rank):
        """The approximation on the first landmarks only: its features are the first of these."""
        if self.factor != "cholesky":
            raise ValueError(f"factor={self.factor!r} is not nested; factor='cholesky' is")
        if not 1 <= rank <= self.rank_:
            raise ValueError(f"the number of landmarks must lie in 1..{self.rank_}, not {rank}")
        part = copy(self)
        part._features = part._gram = part._shifted = None
        part.landmarks_ = self.landmarks_[:rank]
        part.map_ = self.map_.leading(rank)
        part.effective_rank_ = rank
        return part


class CholeskyMap:
    """M = L^-T, K_ll = L L^T: triangular, so the first features need the first landmarks only.

    `fold` gives weights of the kernel values from those of the features, M w; gradients come back
    by `unfold`, M^T g.
    """

    is_nested = True

    def __init__(self, lower):
        self.lower = np.asfortranarray(lower)
        self.n_landmarks = self.n_features = len(lower)
        self.nbytes = self.lower.nbytes

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_in_single"}

    @cached_property
    def _in_single(self):
        return self.lower.astype(np.float32)

    def _factor(self, dtype):
        return self._in_single if dtype == np.float32 else self.lower

    def apply(self, values):
        """The features of rows of kernel values, which are overwritten."""
        # L F^T = K_lr; a row-ordered array is its transpose's column-ordered one, as BLAS wants it.
        columns = np.ascontiguousarray(values).T
        return solve_triangle(self._factor(values.dtype), columns).T

    def fold(self, weights):
        return self._solved(weights, 1)

    def unfold(self, gradient):
        return self._solved(gradient, 0)

    def _solved(self, right, trans):
        """L^-1 or L^-T times one column or several, in the precision of these."""
        lower = self._factor(right.dtype)
        if right.ndim > 1:
            return la.solve_triangular(lower, right, lower=True, trans=trans, check_finite=False)
        return la.blas.get_blas_funcs("trsv", (lower,))(lower, right, lower=1, trans=trans)

    def leading(self, n_features):
        return CholeskyMap(self.lower[:n_features, :n_features])


class SpectralMap:
    """M = V S^-1/2, from the spectral decomposition K_ll = V S V^T."""

    is_nested = False

    def __init__(self, matrix):
        self.matrix = np.ascontiguousarray(matrix)
        self.n_landmarks, self.n_features = matrix.shape
        self.nbytes = self.matrix.nbytes

    def apply(self, values):
        return values @ self.matrix.astype(values.dtype, copy=False)

    def fold(self, weights):
        return self.matrix @ weights

    def unfold(self, gradient):
        return self.matrix.T @ gradient


def _first_block(rows):
    return rows.block(slice(0, min(len(rows), ROWS_PER_BLOCK)))


def cholesky_map(K, floor):
    """The landmarks that add more than `floor` to those before them, in order, and their map; None
    where K has negative eigenvalues."""
    with blas_threads_for(len(K)):
        lower, pivots, rank = pivoted_cholesky(K, floor)
    order = pivots - 1
    lower = np.tril(lower)[:, :rank]
    left = K[np.ix_(order[rank:], order[rank:])] - lower[rank:] @ lower[rank:].T
    # What is left of a definite matrix has entries no larger than its diagonal.
    if rank == 0 or np.abs(left).max(initial=0.0) > 10 * floor:
        return None
    return order[:rank], CholeskyMap(lower[:rank])


def spectral_map(K, floor, *, replace):
    """The number of eigenvalues above `floor`, and the map with the others replaced by it (LLSVM)
    or left out (LASN); None where K has negative eigenvalues."""
    with blas_threads_for(len(K)):
        values, vectors = eigenvalues(K)
    above = int(np.sum(values >= floor))
    if above == 0 or values[0] < -10 * floor:
        return None
    values, vectors = values[::-1], vectors[:, ::-1]
    if replace:
        return above, SpectralMap(vectors / np.sqrt(np.maximum(values, floor)))
    return above, SpectralMap(vectors[:, :above] / np.sqrt(values[:above]))
