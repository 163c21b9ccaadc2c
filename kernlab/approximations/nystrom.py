"""The Nystrom approximation: features from the kernel between the data and k landmarks.

    K~ = K_rl K_ll^+ K_lr = F F^T,     F = K_rl M,     M M^T = K_ll^+

(LLSVM eq. 13 and 14, LASN eq. 16). Any such M gives the same K~, so the same classifier; they
differ in what they cost and in what becomes of directions in which the landmarks repeat each
other:

- "cholesky": M = L^-T from a Cholesky factor with pivoting, K_ll = L L^T. The cheapest, and
  nested: the first j features are those of the first j landmarks. It stops when the landmarks left
  add less than `floor`, and leaves them out.
- "eigen-drop": M = V S^-1/2 from the spectral decomposition without eigenvalues below `floor`
  (LASN).
- "eigen-replace": the same with those eigenvalues replaced by `floor` (LLSVM).
"""

from copy import copy

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.approximations.base import ROWS_PER_BLOCK, FeatureMap, held_bytes
from kernlab.approximations.landmarkmap import cholesky_map, spectral_map
from kernlab.approximations.landmarks import choose_landmarks
from kernlab.features import Features
from kernlab.kernels import RBF
from kernlab.runtime import for_each_block, memory_limit, on_single_blas_thread, require_memory

FACTORS = ("cholesky", "eigen-drop", "eigen-replace")
MANY_VALUES = 2**21
MANY_FEATURES = 64  # from here on products cost more than exponentials


class Nystrom(FeatureMap):
    """Features F with F F^T near K, from k landmarks.

    Parameters: the kernel's (see `make_kernel`); `n_landmarks` (a number, or "sqrt" of the rows)
    and `landmarks` (a rule of `LANDMARKS`, or an array of points); `factor` (see the module);
    `floor`, what counts as nothing, relative to the mean diagonal of K_ll (for the Gaussian kernel
    that is 1, as in the papers); `dtype` of the features (None: that of X; float32 halves time and
    memory); `landmark_params`, further arguments of `choose_landmarks`.

    Fitted: `landmarks_`, `map_` (M), `rank_` (the number of features), `effective_rank_`
    (directions of K_ll above `floor`), `kernel_`, `nbytes`, `timings_`.
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1.0,
        n_landmarks="sqrt",
        landmarks="kmeans",
        factor="cholesky",
        floor=1e-6,
        dtype=None,
        landmark_params=None,
        random_state=None,
        max_memory=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.factor = factor
        self.floor = floor
        self.dtype = dtype
        self.landmark_params = landmark_params
        self.random_state = random_state
        self.max_memory = max_memory

    @on_single_blas_thread
    def _fit(self, rows, sample_weight=None):
        self._check_parameters()
        with self._timed("landmarks"):
            chosen = choose_landmarks(
                rows,
                self.n_landmarks,
                self.landmarks,
                kernel=self.kernel_,
                random_state=self.random_state,
                sample_weight=sample_weight,
                max_memory=self.max_memory,
                **dict(self.landmark_params or {}),
            )
        with self._timed("map"):
            self._fit_map(chosen)

    def _check_parameters(self):
        if self.factor not in FACTORS:
            raise ValueError(f"factor={self.factor!r} is not one of {', '.join(FACTORS)}")
        if not 0.0 < self.floor < 1.0:
            raise ValueError(f"floor={self.floor!r} must lie between 0 and 1")
        if self.dtype is not None and np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype={self.dtype!r} must be float32, float64 or None")

    def _fit_map(self, landmarks):
        k = landmarks.shape[0]
        require_memory(
            3 * 8 * k * k,
            self.max_memory,
            what=f"the map of {k:,} landmarks",
            arithmetic=f"3 x {k:,}^2 x 8 bytes",
            way_out="Allow more with max_memory, or take fewer landmarks.",
        )
        K = self.kernel_(landmarks.astype(np.float64, copy=False))
        if not np.all(np.isfinite(K)):
            raise ValueError("the kernel of the landmarks holds values that are not finite")
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
        smallest, largest = la.eigvalsh(K)[[0, -1]]
        if smallest == largest == 0.0:
            raise ValueError(
                f"the {type(self.kernel_).__name__} kernel is zero on all landmarks, so that no "
                "features can be made of it: are the rows all zero?"
            )
        raise ValueError(
            f"the {type(self.kernel_).__name__} kernel matrix of the landmarks is not positive "
            f"semidefinite (eigenvalues from {smallest:.3g} to {largest:.3g}), so no features give "
            "it: choose other kernel parameters, a positive definite kernel, or "
            "approximation='reduced', which needs none"
        )

    @property
    def rank_(self):
        return self.map_.n_features

    @property
    def nbytes(self):
        return held_bytes(self.landmarks_) + self.map_.nbytes + self._bytes_of_solves

    # ------------------------------------------------------------------------- features
    def _block(self, X):
        dtype = self._precision(X)
        return self.map_.apply(self._values(X, self._landmarks_for(X, dtype), dtype))

    def features(self, X):
        """The features of rows X as a solver takes them: kernel values, and the map M.

        Weights w of the features are weights M w of the kernel values at the landmarks, so that a
        solver which needs few features at a time can do without the others. Where the kernel values
        are so many that time matters, they are computed in single precision.
        """
        rows = self._validated_rows(X)
        n, k, dtype = len(rows), self.map_.n_landmarks, self._precision(rows)
        if self.dtype is None and n * k >= MANY_VALUES:
            dtype = np.dtype(np.float32)
        if n * k * dtype.itemsize > memory_limit(self.max_memory):
            return super().features(rows)
        return self._mapped(rows, dtype, self._diagonal(rows))

    def _diagonal(self, rows):
        """k(x, x) of all rows; where distances alone are seen, that of one."""
        if self.kernel_.sees_distances:
            return np.broadcast_to(self.kernel_.diag(rows.block(slice(0, 1))), len(rows))
        return np.concatenate([self.kernel_.diag(rows.block(part)) for part in rows.slices()])

    def _mapped(self, rows, dtype, squared_norms):
        return Features.mapped(
            lambda: self.kernel_values(rows, dtype),
            self.map_,
            lambda part, room: self._block(rows.block(part)),
            self._precision(rows),
            squared_norms=squared_norms,  # |phi(x)|^2, of which the features show a part
            error=self.value_error(rows, dtype),
            in_double=lambda: self._mapped(rows, np.dtype(np.float64), squared_norms),
            whole=(lambda: self.transform(rows)) if rows.in_memory else None,
        )

    def kernel_values(self, X, dtype=None):
        """K(X, landmarks), to which `map_` belongs: the features are `map_.apply` of its rows."""
        rows = self._validated_rows(X)
        dtype = np.dtype(dtype or self._precision(rows))
        values = self._room_for(len(rows), self.map_.n_landmarks, dtype, "kernel values")

        def compute(part):
            block = rows.block(part)
            values[part] = self._values(block, self._landmarks_for(block, dtype), dtype)

        with self._timed("features"):
            for_each_block(compute, self._slices(*values.shape))
        return values

    def _values(self, X, landmarks, dtype):
        X = X.astype(landmarks.dtype, copy=False)
        return self.kernel_(X, landmarks).astype(dtype, copy=False)

    def _landmarks_for(self, X, dtype):
        """The landmarks in the precision in which kernel values are computed.

        Single precision pays where there are many features, and costs about 4 gamma |x|^2 roundings
        of the value: too much for rows that are many bandwidths long.
        """
        points = self.landmarks_
        if dtype == np.float64 or X.dtype == np.float32 or points.shape[1] < MANY_FEATURES:
            return points
        if not isinstance(self.kernel_, RBF):
            return points
        centred = points if sp.issparse(points) else points - points.mean(axis=0)
        longest = float(row_norms(centred, squared=True).max())
        return points.astype(np.float32) if 4.0 * self.kernel_.gamma * longest <= 32.0 else points

    def value_error(self, X, dtype):
        """About how far kernel values in this precision are off, relative to their size."""
        if dtype == np.float64:
            return np.finfo(np.float64).eps
        computed_in_single = self._landmarks_for(X, dtype).dtype == np.float32
        return np.finfo(np.float32).eps * (8.0 if computed_in_single else 0.5)

    def expansion(self, coefficients):
        return self.landmarks_, self.map_.fold(np.asarray(coefficients, dtype=np.float64))

    # ------------------------------------------------------------------- how good it is
    def point_errors(self, X):
        """How far each point's image is from the span of the landmarks, relative to its length.

        sqrt(1 - |phi(x)|^2 / k(x, x)): 0 where the landmarks explain a point, 1 where they do not.
        """
        left, diagonal = self._unexplained(X)
        return np.sqrt(np.clip(left / np.maximum(diagonal, np.finfo(float).tiny), 0.0, 1.0))

    def trace_error(self, X):
        """trace(K - F F^T) / trace(K) on the rows of X.

        The trace bounds the spectral and the Frobenius norm of K - F F^T, which has no negative
        eigenvalues.
        """
        left, diagonal = self._unexplained(X)
        return float(left.sum() / max(diagonal.sum(), np.finfo(float).tiny))

    def _unexplained(self, X):
        """k(x, x) - |phi(x)|^2 and k(x, x)."""
        rows = self._validated_rows(X)
        left, diagonal = np.empty(len(rows)), np.empty(len(rows))
        for part, block in rows.blocks(ROWS_PER_BLOCK):
            F, diagonal[part] = self.transform(block), self.kernel_.diag(block)
            left[part] = diagonal[part] - np.einsum("ij,ij->i", F, F, dtype=np.float64)
        return np.maximum(left, 0.0), diagonal

    def leading(self, n_landmarks):
        """The approximation on the first landmarks only, which needs no new factor.

        Its features are the first columns of these. Only the Cholesky factor is nested so.
        """
        if self.factor != "cholesky":
            raise ValueError(f"factor={self.factor!r} is not nested; factor='cholesky' is")
        if not 1 <= n_landmarks <= self.rank_:
            raise ValueError(f"n_landmarks must lie in 1..{self.rank_}, not {n_landmarks}")
        part = copy(self)
        part._features = part._gram = part._shifted = None
        part.landmarks_ = self.landmarks_[:n_landmarks]
        part.map_ = self.map_.leading(n_landmarks)
        part.effective_rank_ = n_landmarks
        return part
