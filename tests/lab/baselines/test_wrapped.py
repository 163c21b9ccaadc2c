"""Models and pipelines of scikit-learn, wrapped, against the same put together by hand."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from kernlab.kernels import Polynomial
from kernlab.lab.baselines import BASELINES, LibSVM, Wrapped
from kernlab.lab.baselines.base import DegreeTwo
from kernlab.solvers import solve_dcd


def rows(n_classes=2, n=200):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=1
    )


@pytest.mark.parametrize("intercept", ["penalised", "none"])
@pytest.mark.parametrize(
    ("loss", "dual"), [("hinge", True), ("squared_hinge", True), ("squared_hinge", False)]
)
def test_linear_machines_are_those_of_our_own_solver_and_certified(loss, dual, intercept):
    X, y = rows(3)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 5.0], len(y))
    settings = {"loss": loss, "dual": dual, "fit_intercept": intercept == "penalised"}
    machine = BASELINES["linear"].make(C=0.5, tol=1e-8, max_iter=10**6, **settings)
    worst = machine.fit(X, y, weights).certify(X, y, weights)
    assert worst.relative_gap == max(c.relative_gap for c in machine.certificates_.values())
    scores = machine.decision_function(X)
    for label, certificate in machine.certificates_.items():
        signs = np.where(y == label, 1.0, -1.0)
        own = {"sample_weight": weights, "max_iter": 10**5, "tol": 1e-8}
        best = solve_dcd(X, signs, C=0.5, loss=loss, intercept=intercept, **own)
        assert certificate.primal == pytest.approx(best.objective, rel=1e-6)
        assert -1e-12 < certificate.relative_gap < 3e-5
        expected = X @ best.coefficients + best.intercept
        np.testing.assert_allclose(scores[:, label], expected, atol=1e-3)
    assert machine.certify(X, y).relative_gap > 1e-3  # another problem


@pytest.mark.parametrize("coef0", [0.0, 0.7])
def test_the_degree_two_map_is_the_kernels(coef0):
    X = np.random.default_rng(0).normal(size=(40, 7))
    X[np.abs(X) < 0.4] = 0.0
    F = DegreeTwo(0.3, coef0).fit_transform(X)
    np.testing.assert_allclose(F @ F.T, Polynomial(0.3, 2, coef0)(X), rtol=1e-9, atol=1e-12)
    sparse = DegreeTwo(0.3, coef0).fit_transform(sp.csr_matrix(X))
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), F, rtol=1e-12)
    assert DegreeTwo("variance").fit(X).gamma_ == pytest.approx(1.0 / X.var(axis=0).sum())
    with pytest.raises(ValueError, match="coef0 must not be negative"):
        DegreeTwo(0.3, -1.0).fit(X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_wrapped_parts_are_the_parts_put_together_by_hand(n_classes):
    X, y = rows(n_classes)
    features = Nystroem(n_components=20, gamma=0.1, random_state=3).fit(X)
    by_hand = LinearSVC(C=2.0, dual=False, random_state=3).fit(features.transform(X), y)
    ours = BASELINES["nystroem"].make(n_components=20, gamma=0.1, C=2.0, random_state=3).fit(X, y)
    expected = by_hand.decision_function(features.transform(X))
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-8)
    assert ours.certify(X, y).relative_gap < 1e-3
    assert ours.timings_["approximate"] > 0.0
    fourier = BASELINES["fourier"].make(n_components=2000, gamma=0.1, random_state=0).fit(X, y)
    exact = LibSVM(gamma=0.1, loss="squared_hinge").fit(X, y)
    assert np.mean(fourier.predict(X) == exact.predict(X)) > 0.95
    forest = BASELINES["random-forest"].make(n_estimators=7, random_state=0).fit(X, y)
    reference = RandomForestClassifier(7, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), reference.predict(X))
    many = BASELINES["random-forest"].make(n_estimators=70, random_state=0).fit(X, y)
    assert many.nbytes_ > 5 * forest.nbytes_


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_ridge_solves_the_normal_equations_on_any_features(form):
    """(F^T W F + alpha I)^-1 F^T W Y: with alpha = 1 and no weights FPC's first step."""
    X, y = rows(3)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    F = DegreeTwo(0.2).fit_transform(X)
    targets = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    normal = F.T @ (weights[:, None] * F) + 3.0 * np.eye(F.shape[1])
    expected = F @ np.linalg.solve(normal, F.T @ (weights[:, None] * targets))
    ridge = BASELINES["ridge"].make(alpha=3.0, features=DegreeTwo(0.2)).fit(form(X), y, weights)
    np.testing.assert_allclose(ridge.decision_function(form(X)), expected, atol=1e-9)


def test_majority_follows_the_weights_and_what_takes_none_is_not_taken():
    X, y = rows(3, n=90)
    assert np.all(BASELINES["majority"].make().fit(X, y).predict(X) == np.bincount(y).argmax())
    heavy = BASELINES["majority"].make().fit(X, y, np.where(y == 1, 100.0, 1.0))
    assert np.all(heavy.predict(X) == 1)
    with pytest.raises(TypeError, match="sample_weight"):
        Wrapped(KNeighborsClassifier()).fit(X, y)
