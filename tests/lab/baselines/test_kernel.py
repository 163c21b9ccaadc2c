"""The LIBSVM baseline and the Parzen window against SVC itself, optimisers, and printed numbers."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data

from kernlab.datasets import load_dataset
from kernlab.kernels import make_kernel
from kernlab.lab.baselines import BASELINES, LibSVM, Parzen
from kernlab.lab.baselines.kernel import out_of_reach
from kernlab.lab.published import published
from kernlab.runtime import MemoryLimitError

BOTH_LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def rows(n_classes=2, n=150):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=1
    )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("kernel", "svc_kernel"),
    [("rbf", "rbf"), ("linear", "linear"), ("polynomial", "poly"), ("sigmoid", "sigmoid"),
     ("laplacian", lambda A, B: laplacian_kernel(A, B, gamma=0.2))],
)  # fmt: skip
def test_the_hinge_is_svc(kernel, svc_kernel, n_classes):
    """Kernels that LIBSVM does not know are computed beforehand; new points in blocks."""
    X, y = rows(n_classes)
    ours = LibSVM(2.0, kernel=kernel, gamma=0.2, degree=2, coef0=0.5).fit(X, y)
    svc = SVC(C=2.0, kernel=svc_kernel, gamma=0.2, degree=2, coef0=0.5).fit(X, y)
    expected = svc.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    np.testing.assert_array_equal(ours.support_, svc.support_)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    np.testing.assert_allclose(ours.intercept_, svc.intercept_)
    ours.set_params(max_memory=4 * 8 * len(y) * 7)  # seven rows at a time
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-9)


def squared_hinge_optimum(F, y, costs):
    """The objective and the decisions at its optimum by a general optimiser; F F^T = K."""

    def objective(v):
        slack = np.maximum(0.0, 1.0 - y * (F @ v[:-1] + v[-1]))
        pull = -2.0 * costs * slack * y
        value = 0.5 * v[:-1] @ v[:-1] + costs @ slack**2
        return value, np.append(v[:-1] + F.T @ pull, pull.sum())

    options = {"maxiter": 50_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-11}
    start = np.zeros(F.shape[1] + 1)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return found.fun, F @ found.x[:-1] + found.x[-1]


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_hinge_reaches_the_optimum_of_a_general_solver(C, weighted):
    X, labels = rows(n=80)
    weights = np.random.default_rng(0).uniform(0.5, 3.0, len(labels)) if weighted else None
    ours = LibSVM(C, loss="squared_hinge", gamma=0.3, tol=1e-8).fit(X, labels, weights)
    values, vectors = np.linalg.eigh(make_kernel("rbf", gamma=0.3)(X))
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    costs = C * (np.ones(len(labels)) if weights is None else weights)
    best, scores = squared_hinge_optimum(F, np.where(labels > 0, 1.0, -1.0), costs)
    np.testing.assert_allclose(ours.decision_function(X), scores, atol=2e-4)
    certificate = ours.certify(X, labels, weights)
    assert certificate.primal == pytest.approx(best, rel=1e-6)
    assert certificate.dual == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("C", [1e-8, 1.0, 1e8])
def test_the_bound_that_stands_for_no_bound_is_never_reached(C):
    """Rows given the wrong label want large dual variables."""
    X, y = rows()
    y = np.where(np.random.default_rng(0).uniform(size=len(y)) < 0.2, 1 - y, y)
    weights = np.random.default_rng(1).choice([0.1, 1.0, 10.0], len(y))
    ours = LibSVM(C, loss="squared_hinge", max_iter=200_000).fit(X, y, weights)
    assert np.abs(ours.dual_coef_).max() < 0.6 * out_of_reach(C * weights)


def test_a_matrix_that_does_not_fit_is_refused_with_the_arithmetic():
    X, y = rows()
    with pytest.raises(MemoryLimitError, match=r"needs 180 kB .*150\^2 x 8 bytes.*100 kB may be"):
        LibSVM(loss="squared_hinge", max_memory="100 kB").fit(X, y)
    with pytest.raises(MemoryLimitError, match="Laplacian kernel"):
        LibSVM(kernel="laplacian", max_memory="100 kB").fit(X, y)
    LibSVM(max_memory="100 kB").fit(X, y)  # LIBSVM's own kernels need no matrix


@BOTH_LOSSES
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_every_machine_is_certified(loss, n_classes, kernel, form):
    X, y = rows(n_classes)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 4.0], len(y))
    ours = LibSVM(loss=loss, kernel=kernel, gamma=0.2, tol=1e-5).fit(form(X), y, weights)
    assert weights[ours.support_].min() > 0.0
    worst = ours.certify(form(X), y, weights)
    assert worst is ours.certificate_
    assert len(ours.certificates_) == n_classes * (n_classes - 1) // 2
    assert worst.relative_gap == max(c.relative_gap for c in ours.certificates_.values())
    for (positive, negative), certificate in ours.certificates_.items():
        assert positive != negative
        assert -1e-12 <= certificate.relative_gap < 1e-4
        assert certificate.kkt_residual < 5e-5
        assert certificate.infeasibility < 1e-9
    assert ours.certify(form(X), y, 10.0 * weights).relative_gap > 1e-2  # another problem


def test_a_loose_machine_has_a_large_gap_and_other_rows_cannot_be_certified():
    data = load_breast_cancer()
    X, y = scale(data.data), data.target
    gaps = [LibSVM(C=10.0, tol=tol).fit(X, y).certify(X, y).relative_gap for tol in (1.0, 1e-6)]
    assert gaps[0] > 1e-3 > 1e-6 > gaps[1] >= 0.0
    ours = LibSVM().fit(X, y)
    for wrong in ((X[:100], y[:100]), (X[::-1], y[::-1]), (X + 1e-9, y)):
        with pytest.raises(ValueError, match="the rows that the machine was trained on"):
            ours.certify(*wrong)
    with pytest.raises(ValueError, match="must be of the classes"):
        ours.certify(X, y + 5)


def test_weights_are_repetitions():
    for settings in ({}, {"loss": "squared_hinge"}, {"kernel": "laplacian"}):
        ours = LibSVM(gamma=0.1, tol=1e-10, **settings)
        check_sample_weight_equivalence_on_dense_data("LibSVM", ours)
    check_sample_weight_equivalence_on_dense_data("Parzen", Parzen(gamma=0.1))


# ------------------------------------------------------------------------- on a subsample
def test_a_subsample_is_libsvm_on_those_rows():
    X, y = rows(3, n=600)
    weights = np.random.default_rng(0).choice([0.0, 2.0], len(y))
    ours = LibSVM(2.0, n_samples=150, gamma=0.2, tol=1e-5, random_state=0).fit(X, y, weights)
    chosen = ours.indices_
    assert len(set(chosen)) == 150
    assert weights[chosen].min() > 0
    np.testing.assert_allclose(
        np.bincount(y[chosen]), 0.25 * np.bincount(y, weights) * 0.99, atol=4
    )
    alone = LibSVM(4.0, gamma=0.2, tol=1e-5).fit(X[chosen], y[chosen])
    np.testing.assert_allclose(ours.decision_function(X), alone.decision_function(X), atol=1e-9)
    assert ours.certify(X, y, weights).relative_gap < 1e-3


def test_another_engine_is_given_rows_weights_and_kernel(monkeypatch):
    """A stand-in with the interface of scikit-learn-intelex's SVC, where that is not installed."""
    package, module = types.ModuleType("sklearnex"), types.ModuleType("sklearnex.svm")
    module.SVC = type("SVC", (SVC,), {})
    monkeypatch.setitem(sys.modules, "sklearnex", package)
    monkeypatch.setitem(sys.modules, "sklearnex.svm", module)
    X, y = rows(3)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    settings = {"kernel": "polynomial", "gamma": 0.1, "tol": 1e-6}
    ours = BASELINES["sklearnex"].make(**settings).fit(X, y, weights)
    libsvm = LibSVM(**settings).fit(X, y, weights)
    assert type(ours.model_) is module.SVC
    np.testing.assert_allclose(ours.decision_function(X), libsvm.decision_function(X), atol=1e-6)
    assert ours.certify(X, y, weights).relative_gap < 1e-5


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_parzen_is_the_nearest_class_mean(kernel, n_classes):
    """By distances in the feature space, expanded in kernel values; half of them with weights."""
    X, y = rows(n_classes)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    parzen = Parzen(kernel=kernel, gamma=0.2).fit(X[:100], y[:100], weights[:100])
    K = make_kernel(kernel, gamma=0.2)(X)
    distances = []
    for label in range(n_classes):
        share = np.where((y == label) & (np.arange(len(y)) < 100), weights, 0.0)
        share /= share.sum()
        distances.append(np.diag(K) - 2.0 * K @ share + share @ K @ share)
    np.testing.assert_array_equal(parzen.predict(X), np.argmin(distances, axis=0))
    if n_classes == 2:
        half = 0.5 * (distances[0] - distances[1])
        np.testing.assert_allclose(parzen.decision_function(X), half, atol=1e-10)


@pytest.mark.parametrize("name", ["a1a", "w1a", "liver-disorders", "madelon"])
def test_the_lasn_paper_ran_libsvm_with_gamma_one(real_data, name):
    """Its Table 4, LIBSVM's accuracy: squared hinge, C = 10, and gamma = 1 whatever the data."""
    table = published("lasn-t4")
    printed = table[(table.row == name) & (table.column == "LIBSVM accuracy")].value.item()
    data = load_dataset(name)
    machine = LibSVM(10.0, loss="squared_hinge", gamma=1.0).fit(data.X_train, data.y_train)
    assert round(100 * machine.score(data.X_test, data.y_test), 2) == printed
    assert machine.certify(data.X_train, data.y_train).relative_gap < 1e-4
