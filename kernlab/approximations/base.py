"""What stands in for a kernel matrix, and what it must offer.

An approximation is fitted on rows X and does not change afterwards. It is a scikit-learn
transformer, so it works in a user's own pipeline, and offers one or more capabilities:

- "features": `transform(X)`, rows F with F F^T near K where `is_kernel_map` says so, and
  `iter_features(X)`, the same by blocks;
- "operator": `operator()`, a SciPy LinearOperator for K~;
- "shifted": `shifted(beta)`, an object whose `solve(B)` solves (K~ + beta I) S = B, and
  `is_definite(beta)`, whether K~ + beta I is positive definite.

New points are decided by `decision(X, coefficients)` (weights of the features) or
`dual_decision(X, coefficients, rows)` (one coefficient for each fitted row named), in blocks.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernlab.kernels import is_semidefinite, kernel_product, make_kernel
from kernlab.rows.validation import validate_data
from kernlab.runtime import row_blocks

ROWS_PER_BLOCK = 4096


class Approximation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all approximations of a kernel matrix.

    A subclass implements `_fit(X)` and those methods that its `capabilities` promise. Its first
    parameters are the kernel's; fitted are `kernel_`, `rank_`, `nbytes` and `timings_`.
    """

    capabilities = ()
    is_kernel_map = True

    def fit(self, X, y=None):
        """Fit on the rows of X; labels are not looked at."""
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        self.kernel_ = self._make_kernel(X)
        self.timings_ = {}
        self._fit(X)
        return self

    def _make_kernel(self, X):
        """The kernel with its parameters settled on the rows of X."""
        return make_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, X=X)

    def _validated(self, X):
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
        )

    def iter_features(self, X, rows_per_block=ROWS_PER_BLOCK):
        """Yield (rows, features of X[rows]): never all features at once."""
        X = self._validated(X)
        for rows in row_blocks(X.shape[0], rows_per_block):
            yield rows, self.transform(X[rows])

    def expansion(self, coefficients):
        """Points and weights such that decision(X) = K(X, points) @ weights."""
        raise TypeError(f"{type(self).__name__} does not expand its features in kernel functions")

    def decision(self, X, coefficients):
        """Scores of new points from weights of the features, in blocks."""
        X = self._validated(X)
        points, weights = self.expansion(coefficients)
        return kernel_product(self.kernel_, X, points, weights, self.max_memory)

    @property
    def kernel_is_semidefinite(self):
        """Whether the exact kernel matrix is known to be one of inner products."""
        return is_semidefinite(self.kernel_)

    def is_definite(self, beta):
        """Whether K~ + beta I is positive definite: where K~ = F F^T, for every positive beta."""
        if not self.is_kernel_map:
            raise TypeError(f"{type(self).__name__} does not say whether it is definite")
        return beta > 0

    @property
    def _n_features_out(self):
        return self.rank_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
