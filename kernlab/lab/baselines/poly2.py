"""Poly2: all products of two features written out, and a linear machine on them.

The polynomial kernel of degree two is an inner product of vectors short enough to hold:

    (gamma x . z + r)^2 = phi(x) . phi(z),
    phi(x) = (r, sqrt(2 gamma r) x_i, gamma x_i^2, sqrt(2) gamma x_i x_j for i < j)

so LIBLINEAR trains that kernel machine without a kernel (Chang, Hsieh, Chang, Ringgaard and Lin
2010). It is the machine with this kernel exactly, but for the intercept: LIBLINEAR has none that
is free. A penalised one makes the kernel (gamma x . z + r)^2 + 1.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.sparsefuncs import inplace_csr_column_scale

from kernlab.kernels import resolve_gamma
from kernlab.lab.baselines.base import check_choice
from kernlab.lab.baselines.linear import NODE_BYTES, LinearSVM
from kernlab.runtime import require_memory, row_blocks

BLOCK_BYTES = 2**27  # features of new rows are computed in blocks of this size


class Poly2(LinearSVM):
    """Degree-2 polynomial features, explicitly, and LIBLINEAR.

    Parameters: C, gamma and coef0 of the kernel (gamma x . z + coef0)^2, method ("dcd" or "tron"),
    loss, intercept ("penalised" or "none"), tol, max_iter, class_weight, random_state and
    max_memory: features that would need more are refused with the arithmetic. Sparse rows have
    sparse features.
    """

    title = "Poly2 (explicit degree-2 features, LIBLINEAR)"
    compares = "what a kernel adds to products of two features"

    def __init__(
        self,
        C=1.0,
        *,
        gamma="scale",
        coef0=1.0,
        method="dcd",
        loss="squared_hinge",
        intercept="penalised",
        tol=1e-4,
        max_iter=1000,
        class_weight=None,
        random_state=None,
        max_memory=None,
    ):
        self.C = C
        self.gamma = gamma
        self.coef0 = coef0
        self.method = method
        self.loss = loss
        self.intercept = intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory

    def _method(self):
        check_choice("method", self.method, ("dcd", "tron"))
        return self.method

    def _fit_features(self, rows):
        if not (np.isscalar(self.coef0) and self.coef0 >= 0):
            raise ValueError(
                f"coef0 must not be negative, not {self.coef0!r}: sqrt(2 gamma coef0) scales x"
            )
        self.gamma_ = resolve_gamma(self.gamma, rows.X)
        self._require_memory(rows.X)
        return degree2_features(rows.X, self.gamma_, self.coef0)

    def _require_memory(self, X):
        n, p = X.shape
        width = degree2_width(p)
        values = degree2_values(X)
        per_value = NODE_BYTES + (12 if sp.issparse(X) else 8)
        machines = 1 if len(self.classes_) == 2 else len(self.classes_)
        stored = f"{values:,} non-zero values" if sp.issparse(X) else f"{n:,} x {width:,} values"
        require_memory(
            values * per_value + 8 * width * (machines + 2),
            self.max_memory,
            what=f"Poly2 on {n:,} rows of {p:,} features",
            arithmetic=f"{stored} x {per_value} bytes for the features and LIBLINEAR's copy, and "
            f"{machines + 2} vectors of {width:,} weights x 8 bytes",
            way_out="Allow more with max_memory, take fewer rows or features, or use a method "
            "whose features are few (Nystrom landmarks, polynomial centres).",
        )

    def _features(self, X):
        return degree2_features(X, self.gamma_, self.coef0)

    def _decision(self, X):
        blocks = row_blocks(X.shape[0], BLOCK_BYTES // (8 * degree2_width(X.shape[1])))
        return np.concatenate([super(Poly2, self)._decision(X[rows]) for rows in blocks])


def degree2_width(n_features):
    """1 + p + p (p + 1) / 2"""
    return 1 + n_features + n_features * (n_features + 1) // 2


def degree2_values(X):
    """How many values the features of these rows have; the stored ones for sparse rows."""
    if not sp.issparse(X):
        return X.shape[0] * degree2_width(X.shape[1])
    stored = np.diff(X.indptr).astype(np.int64)
    return int(np.sum(degree2_width(stored)))


def degree2_features(X, gamma, coef0):
    """phi(x) with phi(x) . phi(z) = (gamma x . z + coef0)^2; sparse rows stay sparse."""
    features = PolynomialFeatures(degree=2).fit_transform(X)
    p = X.shape[1]
    first, second = np.triu_indices(p)  # the order of the products
    scale = np.concatenate(
        [
            [coef0],
            np.full(p, np.sqrt(2.0 * gamma * coef0)),
            np.where(first == second, gamma, np.sqrt(2.0) * gamma),
        ]
    )
    if sp.issparse(features):
        features = sp.csr_matrix(features)
        inplace_csr_column_scale(features, scale)
    else:
        features *= scale
    return features
