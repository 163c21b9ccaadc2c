"""What preconditions Newton's steps on features, and the conjugate gradients that are taken.

Conjugate gradients with V = I + 2 C G, G the Gram matrix of the active rows [F_i; 1] with their
costs, are preconditioned by factors of a matrix near V, which need not be exact:

`ActiveGram` is G, changed from one Newton step to the next by the few rows that come and go. Its
factor gives the step, which one product confirms. Where there is much to multiply both are taken in
single precision, twice as fast: rounding shows as one or two products more, and where it costs
many, G is taken again in double. G costs n k^2 operations for n rows and k features.

`GroupedGram` is what G were if all active rows of a group stood at their mean: k groups, those rows
whose largest kernel value is at the same landmark, cost a pass over the rows and k^3 operations.
What it leaves out, the spread within groups, is positive semidefinite: no eigenvalue of V relative
to it is below 1, few are large, and conjugate gradients take five to ten products.

Where factors cost hundreds of products, as they do of about as many features as rows, so many are
taken without a factor first.
"""

from contextlib import suppress

import numpy as np
import scipy.linalg as la

from kernlab.runtime import (
    blas_threads_for,
    cholesky_factor,
    memory_limit,
    require_memory,
    thread_count,
)

BY_GROUPS = "conjugate gradients preconditioned by means of groups of rows"
WITHOUT_FACTORS = "conjugate gradients without a factor, as long as they cost less"
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
MANY_VALUES = 2**21
LARGEST = 1e30  # squared lengths of features that products in single precision can hold

# A pass over a value, with sums in double or in single precision, takes as long as so many
# operations of matrix products; and this is what the methods took on covtype, a9a, w8a and ijcnn1.
VALUE, SINGLE_VALUE = 66, 50
DIRECT = {"rows": 1.1, "factors": 5 * 2 / 3, "products": 9}
GROUPED = {"factors": 2 + 2 / 3, "times": 2, "products": 50}
OVERDUE = 1.5  # means are taken again when staleness has cost so many times as much
MOST_FEATURES = {"direct": 6000, "grouped": 16_000}  # whose factors are worth their time
FEW_OPERATIONS = 2e12  # for a Gram matrix of more features, where nothing else helps


def newton_direction(point, gradient, C, mu, preconditioner=None):
    """d with |V d + gradient| <= mu |gradient|, by conjugate gradients; and the products it took.

    Lengths are those of the preconditioner's inner product; None goes without.
    """
    solve, most, dtype = np.copy, 10 * len(gradient), np.float64
    if preconditioner is not None:
        solve, most = preconditioner.solver(point.problem, C), preconditioner.most_products
        dtype = preconditioner.precision_of_products
    left, chosen = -gradient, np.flatnonzero(point.active)
    towards = solve(left)
    d, products = np.zeros_like(gradient), 0
    squared = first = float(left @ towards)
    while products < most and squared > 0.0:
        image = point.problem.hessian_product(towards, C, chosen, dtype)
        products += 1
        curvature = float(towards @ image)
        if curvature <= 0.0:
            break
        length = squared / curvature
        d += length * towards
        left -= length * image
        steepest = solve(left)
        squared, before = float(left @ steepest), squared
        if squared <= mu * mu * first:
            break
        towards = steepest + (squared / before) * towards
    return d, products


# ------------------------------------------------------------------------------ preconditioners
def bytes_of_factors(k):
    """What the Gram matrix of k features, the matrix of a step and its factor take, and the sums
    of further threads."""
    return 8 * (k + 1) ** 2 * (2 + thread_count())


def require_room(k, max_memory):
    """Refuse Gram matrices that exceed max_memory."""
    require_memory(
        bytes_of_factors(k),
        max_memory,
        what=f"Newton's method with a factor for {k:,} features",
        arithmetic=f"{2 + thread_count()} x {k + 1:,}^2 x 8 bytes",
        way_out="Allow more with max_memory, take fewer features, or method='cg' without a factor.",
    )


def operations_of_factors(n_active, k):
    """What Gram matrices of so many rows of k features, and their factors, cost a solver."""
    return 2 * DIRECT["rows"] * n_active * k**2 + DIRECT["factors"] * k**3


def cheapest(rows, n_active, max_memory=None):
    """The method likely to take the least time, where so many of the rows are active: "direct",
    "grouped" or, for features of which both need too large factors, "cg"."""
    k, value = rows.shape[1], VALUE * rows.value_cost
    products = DIRECT["products"] * value * n_active * k
    costs = {"direct": operations_of_factors(n_active, k) + products}
    if rows.map_ is not None:
        costs["grouped"] = (
            GROUPED["times"] * GROUPED["factors"] * k**3
            + GROUPED["products"] * SINGLE_VALUE * rows.value_cost * n_active * k
        )
    has_room = bytes_of_factors(k) <= memory_limit(max_memory)
    possible = [name for name in costs if has_room and k <= MOST_FEATURES[name]]
    return min(possible, key=costs.get, default="cg")


class Preconditioner:
    """A matrix for G, in double precision, and solves with I + 2 C G."""

    is_exact = False
    most_products = 30  # after which a factor is no help
    precision_of_products = factored_in = dtype = DOUBLE
    note = None  # what a result says of it
    products = 0  # that it took last

    def __init__(self, rows, costs):
        self.rows, self.costs = rows, costs
        self.active = np.zeros(rows.shape[0], dtype=bool)
        self.matrix = np.zeros((rows.shape[1] + 1, rows.shape[1] + 1))
        self._factor = None  # the last C, and the factor of I + 2 C G

    def _moves(self, active):
        came, went = np.flatnonzero(active & ~self.active), np.flatnonzero(self.active & ~active)
        self.active = active
        return came, went

    def finer(self):
        """What to take instead where this is no help; None if there is nothing better."""

    def solver(self, problem, C):
        """Solves with I + 2 C G; an intercept that is left out of V stays where it is."""
        size = len(problem.ridge) - (problem.intercept == "none")
        if self._factor is None or self._factor[0] != C:
            hessian = 2.0 * C * self.matrix[:size, :size]
            hessian[np.diag_indices(size)] += problem.ridge[:size]
            if hessian[-1, -1] == 0.0:  # a free intercept that no row pulls at
                hessian[-1, -1] = 1.0
            with blas_threads_for(size):
                self._factor = C, self._factored(hessian)
        factor = self._factor[1]

        def solve(right):
            solution = np.zeros_like(right)
            some = right[:size].astype(factor[0].dtype, copy=False)
            solution[:size] = la.cho_solve(factor, some, check_finite=False)
            return solution

        return solve

    def _factored(self, hessian):
        if self.factored_in == SINGLE:
            with suppress(la.LinAlgError), np.errstate(over="ignore"):
                return cholesky_factor(hessian.astype(SINGLE).T, overwrite=True)
        hessian = hessian.astype(DOUBLE, copy=False)
        try:
            return cholesky_factor(hessian.T)  # ordered by columns, as it is copied
        except la.LinAlgError:
            if self.dtype == SINGLE:
                raise
        hessian[np.diag_indices(len(hessian))] += np.finfo(float).eps * np.trace(hessian)
        return cholesky_factor(hessian.T)


class Unpreconditioned(Preconditioner):
    """None, up to as many products in all as factors would cost."""

    note = WITHOUT_FACTORS

    def __init__(self, rows, costs, most_products):
        super().__init__(rows, costs)
        self.most_products = most_products

    def update(self, active):
        """Count what has been spent."""
        self.most_products = max(1, self.most_products - self.products)
        return 0

    def solver(self, problem, C):
        return np.copy

    def finer(self):
        return ActiveGram(self.rows, self.costs)


class ActiveGram(Preconditioner):
    """G itself."""

    is_exact = True

    def __init__(self, rows, costs, dtype=None):
        super().__init__(rows, costs)
        much = rows.precision == SINGLE or rows.shape[0] * rows.shape[1] >= MANY_VALUES
        fits = rows.squared_norms.max(initial=0.0) < LARGEST
        self.dtype = self.factored_in = dtype or (SINGLE if much and fits else DOUBLE)

    def update(self, active):
        """Make G that of the rows `active`; returns the number of rows that were multiplied."""
        came, went = self._moves(active)
        if len(came) + len(went) > np.count_nonzero(active):
            came, went = np.flatnonzero(active), np.empty(0, dtype=int)
            self.matrix[...] = 0.0
        for rows, sign in ((came, 1.0), (went, -1.0)):
            if len(rows):
                self.rows.add_gram(self.matrix, rows, self.costs, self.dtype, sign)
                self._factor = None
        return len(came) + len(went)

    def finer(self):
        return ActiveGram(self.rows, self.costs, DOUBLE) if self.dtype == SINGLE else None


class GroupedGram(Preconditioner):
    """The Gram matrix of the means of groups of active rows, each with the costs of its rows.

    Taking it again costs k^3 operations, going on with an old one some more products: it is taken
    again when the products lost since have cost more.
    """

    most_products, note = 40, BY_GROUPS
    precision_of_products = factored_in = SINGLE

    def __init__(self, rows, costs):
        super().__init__(rows, costs)
        n_groups = n_values = rows.map_.n_landmarks
        self.sums, self.totals = np.zeros((n_groups, n_values), SINGLE), np.zeros(n_groups)
        self.matrix = self.matrix.astype(SINGLE)
        self.fewest, self.lost = None, 0  # products for a step, and what staleness has added

    def finer(self):
        """G itself, where the means of groups stand badly for their rows."""
        k, n_active = self.rows.shape[1], np.count_nonzero(self.active)
        is_worth_it = k <= MOST_FEATURES["direct"] or n_active * k**2 <= FEW_OPERATIONS
        return ActiveGram(self.rows, self.costs) if is_worth_it else None

    def update(self, active):
        """Take the means again where that pays; returns the number that were multiplied."""
        moved = self.fewest is None or not np.array_equal(active, self.active)
        if self.fewest is not None:
            self.fewest = min(self.fewest, self.products)
            self.lost += self.products - self.fewest
        k = self.rows.shape[1]
        dear = OVERDUE * GROUPED["factors"] * k**3 > self.lost * (
            SINGLE_VALUE * k * (self.rows.value_cost * np.count_nonzero(active) + 2 * k)
        )
        if self.fewest is not None and (dear or not moved):
            return 0
        came, went = self._moves(active)
        for rows, sign in ((came, 1.0), (went, -1.0)):
            self.rows.add_group_sums(self.sums, self.totals, rows, sign * self.costs)
        self.fewest, self.lost, self._factor = self.most_products, 0, None
        live = self.totals > 1e-9 * self.totals.max(initial=0.0)
        roots = np.sqrt(self.totals[live])
        means = self.rows.map_.apply(self.sums[live] / roots[:, None].astype(SINGLE))
        with blas_threads_for(k):
            self.matrix[:k, :k] = means.T @ means
        self.matrix[k, :k] = self.matrix[:k, k] = means.T @ roots.astype(SINGLE)
        self.matrix[k, k] = self.totals[live].sum()
        return len(roots)


PRECONDITIONERS = {"direct": ActiveGram, "grouped": GroupedGram, "cg": None}
