"""Polynomial features on centres: the map of the fast polynomial classifier (FPC).

    A_ij = (1 + x_i . eta_j)^s,   j = 1 ... n,   n = min(C(s + d, s), rows)

(FPC eq. 4 to 6). With n = C(s + d, s) centres the span is almost surely the space of all
polynomials of degree s (Proposition 1): the centres are then called fundamental. These features
are nearly dependent, the more the higher the degree; Chebyshev's basis of the same space stays
well conditioned. What a linear machine without regularisation can reach is the same with both; what
an early stop or a ridge makes of it is not.

Features are scaled to [0, 1] by the fitted rows, as the paper's theory supposes.
"""

import time
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as la
from sklearn.utils.validation import check_random_state

from kernlab.approximations.base import FeatureMap
from kernlab.approximations.polynomial.chebyshev import ChebyshevBasis
from kernlab.approximations.polynomial.monomials import space_dimension
from kernlab.approximations.polynomial.rows import chebyshev_features, power_features
from kernlab.kernels import Polynomial
from kernlab.rows import as_dense, as_rows
from kernlab.rows.validation import validate_data
from kernlab.runtime import for_each_block, require_memory, row_blocks, thread_count

BASES = ("power", "chebyshev")
CENTRES = ("first", "random", "uniform")
SCALINGS = ("unit", "none")
LARGEST_DEGREE = 100
BLOCK_BYTES = 2**21


@dataclass(frozen=True)
class CentreCheck:
    """Whether the functions (1 + x . eta_j)^s span all polynomials of degree s.

    `rank` of their coefficients in Chebyshev's basis against the `dimension` of the space;
    `condition` is the ratio of the largest to the smallest singular value that counts for the
    rank: how much is lost on the way from one basis to the other.
    """

    n_centres: int
    dimension: int
    rank: int
    condition: float

    @property
    def is_fundamental(self):
        return self.rank == self.dimension


class PolynomialMap(FeatureMap):
    """Polynomial features of degree s: powers on centres, or Chebyshev's basis.

    Parameters
    ----------
    degree : s, a positive integer.
    n_centres : n; None for min(C(s + d, s), rows).
    centres : "first" (the first rows), "random" (rows drawn without replacement), "uniform" (drawn
        from the box that the rows fill), or an array of points in the units of X.
    basis : "power", the paper's, or "chebyshev", which has all C(s + d, s) features.
    scaling : "unit" maps each feature's range in the fitted rows to [0, 1]; "none" leaves it.
    random_state, max_memory : as everywhere.

    Fitted: `centres_` (scaled), `n_centres_` and `rank_` (the number of features), `low_` and
    `high_` (the range of each feature in the fitted rows), `dimension_` (C(s + d, s)), `kernel_`
    (of scaled rows), `nbytes`, `timings_`, and, computed when first asked for, `centre_check_`.
    """

    is_kernel_map = False

    def __init__(
        self,
        degree=3,
        *,
        n_centres=None,
        centres="first",
        basis="power",
        scaling="unit",
        random_state=None,
        max_memory=None,
    ):
        self.degree = degree
        self.n_centres = n_centres
        self.centres = centres
        self.basis = basis
        self.scaling = scaling
        self.random_state = random_state
        self.max_memory = max_memory

    # -------------------------------------------------------------------------- fitting
    def fit(self, X, y=None):
        """Learn scaling and centres from the rows of X; labels are not looked at."""
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        self.fit_source(as_rows(X))
        self._rows = X
        return self

    def fit_source(self, source, bounds=None):
        """The same for rows that are read in blocks; `bounds` where they are known already."""
        began = time.perf_counter()
        self._check_parameters()
        self._rows = None
        for derived in ("chebyshev_", "change_of_basis_", "centre_check_"):
            self.__dict__.pop(derived, None)
        self.n_features_in_ = source.shape[1]
        low, high = source.bounds() if bounds is None else bounds
        self.low_, self.high_ = low, high
        self._low, self._width = self._scale_of(low, high)
        self.timings_ = {"scaling": time.perf_counter() - began}
        self._choose_centres(source)
        self.kernel_ = Polynomial(1.0, self.degree, 1.0)
        self.timings_["centres"] = time.perf_counter() - began - self.timings_["scaling"]
        return self

    def _check_parameters(self):
        check_degree(self.degree)
        for name, offered in (("basis", BASES), ("scaling", SCALINGS)):
            if getattr(self, name) not in offered:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {offered}")
        if self.basis == "chebyshev" and self.n_centres is not None:
            raise ValueError(
                "basis='chebyshev' spans all polynomials of the degree and takes no n_centres; "
                "basis='power' does"
            )

    def _scale_of(self, low, high):
        if self.scaling == "unit":
            return low, np.where(high > low, high - low, 1.0)
        if low.min() < -1.0 - 1e-9 or high.max() > 1.0 + 1e-9:
            warnings.warn(
                f"the features range from {low.min():.3g} to {high.max():.3g}; powers of degree "
                f"{self.degree} of such numbers drown each other. Use scaling='unit'.",
                UserWarning,
                stacklevel=4,
            )
        return np.zeros_like(low), np.ones_like(low)

    def _choose_centres(self, source):
        m, d = source.shape
        self.dimension_ = space_dimension(d, self.degree)
        if self.basis == "chebyshev":
            self._require_memory(self.dimension_)
            self.centres_ = np.empty((0, d))
            self.n_centres_ = len(self.chebyshev_)
            return
        given = not isinstance(self.centres, str)
        n = self.n_centres
        if n is None:
            n = len(self.centres) if given else min(self.dimension_, m)
        self._require_memory(n)
        self.centres_ = self._given_centres(n) if given else self._drawn_centres(source, n)
        self.n_centres_ = n

    def _require_memory(self, n):
        require_memory(
            2 * 8 * n * n,
            self.max_memory,
            what=f"the Gram matrix of {n:,} polynomial features of degree {self.degree} in "
            f"{self.n_features_in_:,} variables and its factor",
            arithmetic=f"2 x {n:,}^2 x 8 bytes",
            way_out="Take a lower degree or fewer centres (n_centres), or allow more with "
            "max_memory.",
        )

    def _drawn_centres(self, source, n):
        m, d = source.shape
        if self.centres not in CENTRES:
            raise ValueError(
                f"centres={self.centres!r} is not an array nor one of {', '.join(CENTRES)}"
            )
        if not (isinstance(n, int | np.integer) and n >= 1):
            raise ValueError(f"n_centres must be a positive whole number, not {n!r}")
        random = check_random_state(self.random_state)
        if self.centres == "uniform":
            return self._scaled(random.uniform(self.low_, self.high_, size=(n, d)))
        if n > m:
            raise ValueError(
                f"n_centres={n:,} exceeds the {m:,} rows: take fewer, or centres='uniform'"
            )
        chosen = np.arange(n) if self.centres == "first" else random.choice(m, n, replace=False)
        return self._scaled(as_dense(source.take(chosen)))

    def _given_centres(self, n):
        centres = np.asarray(self.centres, dtype=np.float64)
        if centres.ndim != 2 or centres.shape[1] != self.n_features_in_ or len(centres) < 1:
            raise ValueError(
                f"centres is an array of shape {centres.shape}; it must be points of "
                f"{self.n_features_in_} features, one per row"
            )
        if len(centres) != n:
            raise ValueError(f"n_centres={n} but {len(centres)} centres were given")
        if not np.all(np.isfinite(centres)):
            raise ValueError("the centres given hold values that are not finite")
        return self._scaled(centres)

    def _scaled(self, X):
        return (X - self._low) / self._width

    # ------------------------------------------------------------------------- what it is
    @property
    def rank_(self):
        return self.n_centres_

    @property
    def nbytes(self):
        """Bytes held: the centres, and the tables of Chebyshev's basis where it is in use."""
        held = self.centres_.nbytes + self.low_.nbytes + self.high_.nbytes
        if self.basis == "chebyshev":
            tables = self.chebyshev_.monomials
            held += tables.exponents.nbytes + 3 * tables.parent.nbytes
        return held

    @cached_property
    def chebyshev_(self):
        """Chebyshev's basis of the same polynomials, on the box of the fitted rows."""
        return ChebyshevBasis(self.low_, self.high_, self.degree)

    @cached_property
    def change_of_basis_(self):
        """S with A = Q S: the powers' coefficients in Chebyshev's basis Q, one column each."""
        slopes = self.centres_ / self._width
        return self.chebyshev_.powers_of_affine(1.0 - slopes @ self._low, slopes)

    @cached_property
    def centre_check_(self):
        """Whether the centres are fundamental (`CentreCheck`)."""
        if self.basis == "chebyshev":
            return CentreCheck(self.n_centres_, self.dimension_, self.n_centres_, 1.0)
        require_memory(
            4 * 8 * self.dimension_ * self.n_centres_,
            self.max_memory,
            what="the rank of the centres",
            arithmetic=f"4 x {self.dimension_:,} x {self.n_centres_:,} x 8 bytes",
            way_out="Allow more with max_memory, or take a lower degree.",
        )
        values = la.svdvals(self.change_of_basis_)
        floor = max(self.change_of_basis_.shape) * np.finfo(float).eps * values[0]
        rank = int(np.count_nonzero(values > floor))
        condition = float(values[0] / values[rank - 1])
        return CentreCheck(self.n_centres_, self.dimension_, rank, condition)

    # ------------------------------------------------------------------------- features
    def rows(self, source):
        """The features of a source's rows, to be read in blocks: `Features`."""
        if self.basis == "chebyshev":
            return chebyshev_features(source, self.chebyshev_)
        return power_features(source, self._low, self._width, self.centres_, self.degree)

    def transform(self, X):
        """The features of X, computed in blocks of rows."""
        X = self._validated(X)
        require_memory(
            8 * X.shape[0] * self.rank_,
            self.max_memory,
            what=f"the {self.rank_:,} features of {X.shape[0]:,} rows",
            arithmetic=f"{X.shape[0]:,} x {self.rank_:,} x 8 bytes",
            way_out="Allow more with max_memory, take a lower degree or fewer centres, or use FPC, "
            "which reads the features in blocks.",
        )
        features = np.empty((X.shape[0], self.rank_))

        def fill(rows, block):
            features[rows] = block

        self._for_each_block(as_rows(X), fill)
        return features

    def decision(self, X, coefficients):
        """Scores of new points from weights of the features, in blocks."""
        return self.decide(as_rows(self._validated(X)), coefficients)

    def decide(self, source, coefficients):
        """The same for rows that are read in blocks."""
        weights = np.asarray(coefficients, dtype=np.float64)
        scores = np.empty((source.shape[0], *weights.shape[1:]))

        def score(rows, block):
            scores[rows] = block @ weights

        self._for_each_block(source, score)
        return scores

    def _for_each_block(self, source, use):
        features, m = self.rows(source), source.shape[0]
        n_rows = max(64, BLOCK_BYTES // (8 * self.rank_))

        def work(part):
            room = features.room(min(n_rows, m))
            for start in range(part.start, part.stop, n_rows):
                rows = slice(start, min(start + n_rows, part.stop))
                use(rows, features.block(rows, room))

        for_each_block(work, row_blocks(m, -(-m // thread_count())))


def check_degree(degree):
    """The degree as a plain number, if it can be one."""
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 1:
        raise ValueError(f"degree must be a positive whole number, not {degree!r}")
    if degree > LARGEST_DEGREE:
        raise ValueError(f"degree={degree} is beyond {LARGEST_DEGREE}, where powers overflow")
    return int(degree)
