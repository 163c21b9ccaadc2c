"""Linear support vector machines by LIBLINEAR, on the rows or on features of them.

    minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i loss(y_i (w . f(x_i) + b))

one class against the rest; the intercept is penalised as LIBLINEAR does it, or absent.
"""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC
from sklearn.utils.sparsefuncs import inplace_csr_column_scale

from kernlab.kernels import resolve_gamma
from kernlab.lab.baselines.base import OnFeatures
from kernlab.solvers import certify_primal
from kernlab.solvers.linear.liblinear import dual_near
from kernlab.solvers.losses import row_costs


@dataclass(eq=False, repr=False)
class LinearSVM(OnFeatures):
    """A linear support vector machine on the rows, or on features of them.

    Parameters
    ----------
    C : float
    loss : "squared_hinge" or "hinge"
    intercept : "penalised" or "none"
    dual : bool
        Coordinate descent on the dual; or the trust-region Newton method, for the squared hinge.
    tol : float
        LIBLINEAR's own measure.
    max_iter : int
    features : transformer or None
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "squared_hinge"
    intercept: str = "penalised"
    dual: bool = True
    tol: float = 1e-4
    max_iter: int = 1000

    copies = 2  # LIBLINEAR keeps 16 bytes for each value of 8

    def _fit(self, rows):
        if self.intercept not in ("penalised", "none"):
            raise ValueError(f"intercept={self.intercept!r} is not one of 'penalised', 'none'")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # ours says how far it is
            super()._fit(rows)
        if self.n_iter_ >= self.max_iter:
            self.timings_["total"] = sum(self.timings_.values())  # without the certificate's
            gap = max(one.relative_gap for one in self._certificates(rows).values())
            warnings.warn(
                f"LIBLINEAR stopped at its limit of {self.max_iter} iterations with a relative "
                f"duality gap of {gap:.2e} (its tolerance tol={self.tol:g} is a measure of its "
                "own). Raise max_iter, lower C, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _make_model(self):
        return LinearSVC(
            loss=self.loss,
            dual=self.dual or self.loss == "hinge",
            C=self.C,
            tol=self.tol,
            max_iter=self.max_iter,
            fit_intercept=self.intercept == "penalised",
        )

    def _certificates(self, rows):
        F = self._transform(rows.X)
        costs = row_costs(self.C, len(rows.labels), rows.weights)
        problem = {"loss": self.loss, "intercept": self.intercept}
        coef = self.model_.coef_
        machines = zip(coef, np.broadcast_to(self.model_.intercept_, len(coef)), strict=True)
        certificates = {}
        for positive, (w, b) in zip(self._positives(), machines, strict=True):
            y = rows.signs(positive)
            dual = dual_near(F, y, w, b, costs, **problem)
            certificates[self.classes_[positive]] = certify_primal(
                F, y, w, b, C=1.0, sample_weight=costs, dual=dual, **problem
            )
        return certificates


class DegreeTwo(TransformerMixin, BaseEstimator):
    """All products of two features: phi(x) . phi(z) = (gamma x . z + coef0)^2.

    phi(x) = (coef0, sqrt(2 gamma coef0) x_i, gamma x_i^2, sqrt(2) gamma x_i x_j for i < j): on it
    LIBLINEAR trains that kernel machine without a kernel (Chang et al. 2010), but for its
    intercept, which is not free. Sparse rows have sparse features.

    Parameters
    ----------
    gamma : float or a rule of kernlab
    coef0 : float, not negative
    """

    def __init__(self, gamma="scale", coef0=1.0):
        self.gamma = gamma
        self.coef0 = coef0

    def fit(self, X, y=None):
        """Take gamma from the rows where it is a rule."""
        if not self.coef0 >= 0:
            raise ValueError(f"coef0 must not be negative, not {self.coef0!r}")
        self.gamma_ = resolve_gamma(self.gamma, X)
        return self

    def transform(self, X):
        """The features of these rows."""
        F = PolynomialFeatures(degree=2).fit_transform(X)
        first, second = np.triu_indices(X.shape[1])  # the order of the products
        single = np.full(X.shape[1], np.sqrt(2.0 * self.gamma_ * self.coef0))
        double = np.where(first == second, self.gamma_, np.sqrt(2.0) * self.gamma_)
        scale = np.concatenate([[self.coef0], single, double])
        if sp.issparse(F):
            F = sp.csr_matrix(F)
            inplace_csr_column_scale(F, scale)
            return F
        return np.multiply(F, scale, out=F)
