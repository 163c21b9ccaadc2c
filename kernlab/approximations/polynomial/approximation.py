"""Polynomial features on centres: the map of the fast polynomial classifier (FPC).

A_ij = (1 + x_i . eta_j)^s,   j = 1 ... n,   n = min(C(s + d, s), rows)     (FPC eq. 4 to 6)
"""

import math
import warnings
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.linalg as la
from sklearn.utils.validation import check_random_state

from kernlab.approximations.base import FeatureMap, checked_points
from kernlab.approximations.polynomial.chebyshev import (
    ChebyshevBasis,
    MomentGram,
    fewer_operations,
    space_dimension,
    varies,
)
from kernlab.features import Features
from kernlab.kernels import Polynomial
from kernlab.parameters import one_of
from kernlab.rows import as_dense, as_rows, merged_rows
from kernlab.runtime import levels_to_the_user, require_memory, row_blocks

CENTRES = ("first", "random", "uniform")
LARGEST_DEGREE = 100
DIGITS = 150.0  # of features, so that sums of their squares are finite
BLOCK_BYTES = 2**21
SMALLEST_BLOCK = 16
MAX_ROWS = 20_000  # up to so many, equal rows are looked for among those that may be centres


@dataclass(frozen=True)
class CentreCheck:
    """Whether the functions (1 + x . eta_j)^s span all polynomials of degree s: the `rank` of their
    coefficients in Chebyshev's basis against the `dimension` of the space. `condition` is the ratio
    of the largest to the smallest singular value that counts for the rank."""

    n_centres: int
    dimension: int
    rank: int
    condition: float

    @property
    def is_fundamental(self):
        return self.rank == self.dimension


def check_degree(value, name="degree"):
    """The degree as a plain number, if it can be one."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, not {value!r}")
    if value > LARGEST_DEGREE:
        raise ValueError(f"{name}={value} is beyond {LARGEST_DEGREE}, where powers overflow")
    return int(value)


@dataclass(eq=False, repr=False)
class PolynomialMap(FeatureMap):
    """Polynomial features of degree s: powers on centres, or Chebyshev's basis.

    With C(s + d, s) centres the span of the powers is almost surely the space of all polynomials of
    degree s (Proposition 1): the centres are then called fundamental. These features are nearly
    dependent, the more the higher the degree; Chebyshev's of the same space stay well conditioned.
    What a linear machine without regularisation can reach is the same with both; what an early stop
    or a ridge makes of it is not.

    Parameters
    ----------
    degree : s.
    n_centres : n; None for min(C(s + d, s), distinct rows).
    centres : "first" (the first rows), "random" (rows drawn without replacement), "uniform" (drawn
        from the box that the rows fill), or points in the units of X. Of up to 20,000 rows those
        that are equal count as one.
    basis : "power" (the paper's), or "chebyshev", all C(s + d, s) features.
    scaling : "unit" or "none", whether each feature's range in the fitted rows becomes [0, 1].
    random_state, max_memory : as everywhere.

    Attributes
    ----------
    centres_ (scaled), low_, high_ (the range of each feature in the fitted rows), dimension_
    (C(s + d, s)), centre_check_ (`CentreCheck`, computed when first asked for).

    Examples
    --------
    >>> import numpy as np
    >>> from kernlab.approximations import PolynomialMap
    >>> PolynomialMap(2).fit_transform(np.array([[0.0], [0.5], [1.0]])).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.5625, 2.25], [1.0, 2.25, 4.0]]
    """

    is_kernel_map = False

    degree: int = 3
    _: KW_ONLY
    n_centres: int | None = None
    centres: object = "first"
    basis: str = "power"
    scaling: str = "unit"
    random_state: object = None
    max_memory: object = None

    checks: ClassVar[dict] = {
        "degree": check_degree,
        "basis": one_of("power", "chebyshev"),
        "scaling": one_of("unit", "none"),
    }

    def share(self, found):
        """The Gram matrix of Chebyshev's basis serves all lower degrees on the same rows."""
        self._shared = found
        return self

    def _make_kernel(self, X, sample_weight=None):
        """The kernel of scaled rows."""
        return Polynomial(1.0, self.degree, 1.0)

    def _fit(self, rows, sample_weight=None):
        by_default = isinstance(self.centres, str) and self.centres == "first"
        if self.basis == "chebyshev" and not (self.n_centres is None and by_default):
            raise ValueError(
                "basis='chebyshev' spans all polynomials of the degree and takes neither n_centres "
                "nor centres; basis='power' does"
            )
        if sample_weight is not None and not np.all(sample_weight):
            counted = np.flatnonzero(sample_weight)
            rows, sample_weight = rows.select(counted), sample_weight[counted]
        for derived in ("chebyshev_", "change_of_basis_", "centre_check_"):
            self.__dict__.pop(derived, None)
        with self._timed("scaling"):
            self.low_, self.high_ = low, high = rows.bounds()
            self._low, self._width = np.zeros_like(low), np.ones_like(low)
        if self.scaling == "unit":
            self._low, self._width = low, np.where(varies(low, high), high - low, 1.0)
        elif low.min() < -1.0 - 1e-9 or high.max() > 1.0 + 1e-9:
            warnings.warn(
                f"the features range from {low.min():.3g} to {high.max():.3g}; powers of degree "
                f"{self.degree} of such numbers drown each other. Use scaling='unit'.",
                UserWarning,
                stacklevel=levels_to_the_user(),
            )
        with self._timed("centres"):
            self._choose_centres(rows, sample_weight)

    def _choose_centres(self, rows, sample_weight):
        d = rows.n_features
        self.dimension_ = space_dimension(d, self.degree)
        if self.basis == "chebyshev":
            self._require_memory(self.dimension_)
            self.centres_ = np.empty((0, d))
            self.n_centres_ = len(self.chebyshev_)
            return
        n = self.n_centres
        if isinstance(self.centres, str):
            # Equal rows would be equal features: of rows that are not too many, one of each.
            merged = merged_rows(rows, sample_weight) if len(rows) <= MAX_ROWS else None
            n = min(self.dimension_, len(rows if merged is None else merged[0])) if n is None else n
            self._require_memory(n)
            self.centres_ = self._drawn_centres(rows, n, merged, sample_weight)
        else:
            centres = as_dense(checked_points(self.centres, d, np.float64, "centres"))
            if n not in (None, len(centres)):
                raise ValueError(f"n_centres={n} but {len(centres)} centres were given")
            self._require_memory(len(centres))
            self.centres_ = self._scaled(centres)
        self.n_centres_ = len(self.centres_)
        self._require_range()

    def _require_range(self):
        """Refuse powers whose squares, which the Gram matrix sums, are beyond double precision."""
        box = np.abs([self._scaled(self.low_), self._scaled(self.high_)]).max(axis=0)
        with np.errstate(over="ignore"):
            parts = row_blocks(len(self.centres_), BLOCK_BYTES // (8 * len(box)))
            largest = 1.0 + max(
                (float((np.abs(self.centres_[part]) @ box).max()) for part in parts), default=0.0
            )
        if self.degree * math.log10(largest) > DIGITS:
            raise ValueError(
                f"degree={self.degree} makes features of up to {largest:.3g}^{self.degree}, whose "
                "squares are beyond double precision: take a degree of at most "
                f"{int(DIGITS / math.log10(largest))}"
            )

    def _require_memory(self, n):
        many = f"{n:,}" if n < 10**15 else f"about 10^{len(str(n)) - 1}"
        d = 0 if self.basis == "chebyshev" else self.n_features_in_
        centres = f", and {many} x {d:,} x 8 for the centres" if d else ""
        require_memory(
            min(8 * n * (2 * n + d), 10**24),
            self.max_memory,
            at_least=n > 10**11,
            what=f"the Gram matrix of {many} polynomial features of degree {self.degree} in "
            f"{self.n_features_in_:,} variables and its factor",
            arithmetic=f"2 x {many}^2 x 8 bytes{centres}",
            way_out="Take a lower degree or fewer centres (n_centres), or allow more with "
            "max_memory.",
        )

    def _drawn_centres(self, rows, n, merged, weights):
        (m, d), names = rows.shape, ", ".join(CENTRES)
        if self.centres not in CENTRES:
            raise ValueError(f"centres={self.centres!r} is not an array nor one of {names}")
        if not (isinstance(n, int | np.integer) and n >= 1):
            raise ValueError(f"n_centres must be a positive whole number, not {n!r}")
        random = check_random_state(self.random_state)
        if self.centres == "uniform":
            return self._scaled(random.uniform(self.low_, self.high_, size=(n, d)))
        if n > m:
            raise ValueError(
                f"n_centres={n:,} exceeds the {m:,} rows: take fewer, or centres='uniform'"
            )
        if merged is None:
            positions = np.arange(n if self.centres == "first" else m)
        else:
            positions, weights = merged
        n = min(n, len(positions))
        if self.centres == "first":
            chosen = np.sort(positions)[:n]
        else:
            chances = None if weights is None else weights / weights.sum()
            chosen = positions[random.choice(len(positions), n, replace=False, p=chances)]
        centres = as_dense(rows.take(chosen)).astype(np.float64, copy=False)
        return self._scaled(centres, out=centres)

    def _scaled(self, X, out=None):
        scaled = np.subtract(X, self._low, out=out)
        return np.divide(scaled, self._width, out=scaled)

    @property
    def rank_(self):
        return self.n_centres_

    @property
    def nbytes(self):
        held = self.centres_.nbytes + self.low_.nbytes + self.high_.nbytes
        if "change_of_basis_" in vars(self):
            held += self.change_of_basis_.nbytes
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

    def features(self, X, n_rows=None):
        """The features of rows X, formed a block at a time whenever they are read. Powers on at
        least as many centres as the space has dimensions are combinations of Chebyshev's basis."""
        rows, shared = self._validated_rows(X), self.__dict__.pop("_shared", None)
        whole = (lambda: self.transform(rows)) if rows.in_memory else None
        if self.basis == "chebyshev":
            return chebyshev_features(rows, self.chebyshev_, shared, whole)
        varying = int(np.count_nonzero(varies(self.low_, self.high_)))
        if space_dimension(varying, self.degree) > self.n_centres_:
            return self._powers(rows, whole)
        given = chebyshev_features(rows, self.chebyshev_, shared)
        return given.combined(self.change_of_basis_, whole=whole)

    def decision(self, X, coefficients):
        """Scores of new points from weights of the features; of many rows through Chebyshev's
        basis, where a feature is one multiplication instead of d and a power."""
        rows, weights = self._validated_rows(X), np.asarray(coefficients, dtype=np.float64)
        enough = space_dimension(rows.n_features, self.degree) <= self.n_centres_ < len(rows)
        if self.basis == "power" and enough and np.all(varies(self.low_, self.high_)):
            weights, other = self.change_of_basis_ @ weights, copy(self)
            other.basis = "chebyshev"
            return FeatureMap.decision(other, rows, weights)
        return super().decision(rows, weights)

    def _powers(self, source, whole=None):
        """(1 + x . eta_j)^s: a matrix product and a few multiplications each."""
        centres = self.centres_

        def room(n_rows):
            return np.empty((2, len(centres) * n_rows))

        def form(rows, given):
            start, stop, _ = rows.indices(source.shape[0])
            n, d = stop - start, source.shape[1]
            given, size = room(n) if given is None else given, len(centres) * n
            base, values = (part[:size].reshape(len(centres), n) for part in given)
            for part in row_blocks(n, BLOCK_BYTES // (8 * d)):
                block = as_dense(source.block(slice(start + part.start, start + part.stop)))
                np.matmul(centres, self._scaled(block).T, out=base[:, part])
            base += 1.0
            return integer_power(base, self.degree, values).T

        return Features.formed((source.shape[0], len(centres)), form, room=room, whole=whole)

    def _precision(self, rows):
        return np.dtype(np.float64)

    def _slices(self, n_rows):
        """Blocks whose rows may be filled in."""
        width = max(self.rank_, self.n_features_in_)
        return row_blocks(n_rows, max(SMALLEST_BLOCK, BLOCK_BYTES // (8 * width)))

    def _block(self, X):
        rows = as_rows(X)
        is_chebyshev = self.basis == "chebyshev"
        made = chebyshev_features(rows, self.chebyshev_) if is_chebyshev else self._powers(rows)
        return made.block(slice(0, len(rows)))


# ---------------------------------------------------------------------------- features of blocks
def chebyshev_features(source, basis, shared=None, whole=None):
    """The features of a `ChebyshevBasis`; those of lower degrees are the first of them, and so is
    their Gram matrix, which a solver leaves in `shared`."""

    def form(rows, room):
        X = as_dense(source.block(rows))
        return basis.fill(X, basis.room(len(X)) if room is None else room).T

    def gram_sum():
        return MomentGram(basis)

    # Moments where they are faster; else a solver multiplies the features.
    worthwhile = fewer_operations(basis.monomials.n_variables, basis.degree)
    return Features.formed(
        (source.shape[0], len(basis)), form, room=basis.room,
        gram_sum=gram_sum if worthwhile else None, shared=shared, whole=whole,
    )  # fmt: skip


def integer_power(base, exponent, out):
    """base ** exponent by repeated squaring, in `out`; `base` is overwritten."""
    if exponent % 2:
        np.copyto(out, base)
    else:
        out.fill(1.0)
    exponent //= 2
    while exponent:
        base *= base
        if exponent % 2:
            out *= base
        exponent //= 2
    return out
