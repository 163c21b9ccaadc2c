"""The LIBSVM baseline against SVC itself, general optimisers and the numbers that are printed."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from kernlab.datasets import load_dataset
from kernlab.kernels import GAMMA_RULES, make_kernel, resolve_gamma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.baselines.libsvm import out_of_reach
from kernlab.lab.baselines.pairs import pair_machines
from kernlab.lab.published import published
from kernlab.runtime import MemoryLimitError

BOTH_LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def rows(n_classes=2, n=150):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=1
    )


# ----------------------------------------------------------------------- hinge: SVC itself
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("kernel", "svc_kernel"),
    [("rbf", "rbf"), ("linear", "linear"), ("polynomial", "poly"), ("sigmoid", "sigmoid")],
)
def test_the_hinge_is_svc(kernel, svc_kernel, n_classes):
    X, y = rows(n_classes)
    ours = LibSVM(2.0, kernel=kernel, gamma=0.2, degree=2, coef0=0.5).fit(X, y)
    svc = SVC(C=2.0, kernel=svc_kernel, gamma=0.2, degree=2, coef0=0.5).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), svc.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    np.testing.assert_array_equal(ours.support_, svc.support_)
    np.testing.assert_allclose(ours.intercept_, svc.intercept_)


@pytest.mark.parametrize("rule", GAMMA_RULES)
def test_gamma_rules_are_resolved_once(rule):
    X, y = rows()
    by_rule = LibSVM(gamma=rule).fit(X, y)
    by_number = LibSVM(gamma=resolve_gamma(rule, X)).fit(X, y)
    np.testing.assert_array_equal(by_rule.decision_function(X), by_number.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_kernel_that_libsvm_does_not_know_is_computed_beforehand(n_classes):
    X, y = rows(n_classes)
    svc = SVC(kernel=lambda A, B: laplacian_kernel(A, B, gamma=0.3)).fit(X, y)
    expected = svc.decision_function(X)
    for kernel in ("laplacian", lambda A, B: laplacian_kernel(A, B, gamma=0.3)):
        ours = LibSVM(kernel=kernel, gamma=0.3).fit(X, y)
        np.testing.assert_allclose(ours.decision_function(X), expected, atol=1e-9)
        np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    assert ours.timings_["approximate"] > 0.0
    compact = make_kernel("compact", gamma=0.2, X=X)
    assert LibSVM(kernel=compact).fit(X, y).score(X, y) > 0.8


@BOTH_LOSSES
def test_new_points_are_decided_in_blocks(loss):
    """A limit that holds the matrix of the training rows, and a few of its rows for new points."""
    X, y = rows()
    ours = LibSVM(kernel="laplacian", loss=loss).fit(X, y)
    many = np.vstack([X] * 5)
    expected = ours.decision_function(many)
    np.testing.assert_array_equal(
        ours.set_params(max_memory=4 * 8 * len(y) * 7).decision_function(many), expected
    )
    labels = ours.classes_[(expected > 0).astype(int)]
    np.testing.assert_array_equal(ours.predict(many), labels)


# -------------------------------------------------------------------------- squared hinge
def squared_hinge_optimum(F, y, costs):
    """Weights and a free intercept by a general optimiser, on the rows of a factor of K."""

    def objective(v):
        slack = np.maximum(0.0, 1.0 - y * (F @ v[:-1] + v[-1]))
        pull = -2.0 * costs * slack * y
        value = 0.5 * v[:-1] @ v[:-1] + costs @ slack**2
        return value, np.append(v[:-1] + F.T @ pull, pull.sum())

    found = minimize(
        objective,
        np.zeros(F.shape[1] + 1),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 50_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-11},
    )
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


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_the_bound_that_stands_for_no_bound_is_never_reached(C):
    """Rows given the wrong label want large dual variables."""
    X, y = rows()
    y = np.where(np.random.default_rng(0).uniform(size=len(y)) < 0.2, 1 - y, y)
    weights = np.random.default_rng(1).choice([0.1, 1.0, 10.0], len(y))
    ours = LibSVM(C, loss="squared_hinge", max_iter=200_000).fit(X, y, weights)
    assert np.abs(ours.dual_coef_).max() < 0.6 * out_of_reach(C * weights)
    assert np.all(np.isfinite(ours.decision_function(X)))


def test_a_matrix_that_does_not_fit_is_refused_with_the_arithmetic():
    X, y = rows()
    with pytest.raises(
        MemoryLimitError, match=r"needs 180 kB .*150\^2 x 8 bytes.*100 kB may be used.*subsample"
    ):
        LibSVM(loss="squared_hinge", max_memory="100 kB").fit(X, y)
    with pytest.raises(MemoryLimitError, match="Laplacian kernel"):
        LibSVM(kernel="laplacian", max_memory="100 kB").fit(X, y)
    LibSVM(max_memory="100 kB").fit(X, y)  # LIBSVM's own kernels need no matrix


# ---------------------------------------------------------------------------- certificates
@BOTH_LOSSES
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_every_machine_is_certified(loss, n_classes, kernel, form):
    X, y = rows(n_classes)
    ours = LibSVM(loss=loss, kernel=kernel, gamma=0.2, tol=1e-5).fit(form(X), y)
    assert not hasattr(ours, "certificate_")  # on demand only
    worst = ours.certify(form(X), y)
    assert worst is ours.certificate_
    assert len(ours.certificates_) == n_classes * (n_classes - 1) // 2
    assert worst.relative_gap == max(c.relative_gap for c in ours.certificates_.values())
    for (positive, negative), certificate in ours.certificates_.items():
        assert positive != negative
        assert -1e-12 <= certificate.relative_gap < 1e-4
        assert certificate.kkt_residual < 2e-5
        assert certificate.infeasibility < 1e-9


def test_a_loose_machine_has_a_large_gap():
    data = load_breast_cancer()
    X, y = scale(data.data), data.target
    gaps = [LibSVM(C=10.0, tol=tol).fit(X, y).certify(X, y).relative_gap for tol in (1.0, 1e-6)]
    assert gaps[0] > 1e-3 > 1e-6 > gaps[1] >= 0.0


@BOTH_LOSSES
def test_certificates_count_weights_and_only_live_rows(loss):
    X, y = rows(3)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 4.0], len(y))
    ours = LibSVM(loss=loss, tol=1e-6).fit(X, y, weights)
    assert weights[ours.support_].min() > 0.0
    np.testing.assert_array_equal(X[ours.support_], ours.support_vectors_)
    assert ours.certify(X, y, weights).relative_gap < 1e-5
    assert ours.certify(X, y, 10.0 * weights).relative_gap > 1e-2  # that is another problem


def test_certificates_hold_little_memory_at_a_time():
    X, y = rows()
    ours = LibSVM().fit(X, y)
    expected = ours.certify(X, y)
    small = ours.set_params(max_memory=4 * 8 * len(y) * 3).certify(X, y)
    assert small.relative_gap == pytest.approx(expected.relative_gap, abs=1e-12)


def test_other_rows_cannot_be_certified():
    X, y = rows()
    ours = LibSVM().fit(X, y)
    for wrong in ((X[:100], y[:100]), (X[::-1], y[::-1]), (X + 1e-9, y)):
        with pytest.raises(ValueError, match="the rows that the machine was trained on"):
            ours.certify(*wrong)
    with pytest.raises(ValueError, match="labels that this classifier was not trained on"):
        ours.certify(X, y + 5)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_pairs_score_as_libsvm_does(n_classes, form):
    X, y = (part[:400] for part in load_digits(n_class=n_classes, return_X_y=True))
    svc = SVC(gamma=1e-3, decision_function_shape="ovo").fit(form(X), y)
    K = make_kernel("rbf", gamma=1e-3)(X)
    scores = np.column_stack(
        [K[:, m.support] @ m.signed_dual + m.intercept for m in pair_machines(svc)]
    )
    np.testing.assert_allclose(
        scores, svc.decision_function(form(X)).reshape(len(y), -1), atol=1e-9
    )
    for machine, column in zip(pair_machines(svc), scores.T, strict=True):
        assert np.mean(column[y == machine.positive] > 0) > 0.9
        assert np.mean(column[y == machine.negative] < 0) > 0.9


# -------------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"C": 0.0}, "C must be a positive number"),
        ({"loss": "logistic"}, "loss='logistic' is not one of 'hinge', 'squared_hinge'"),
        ({"kernel": "gaussian"}, "kernel='gaussian' is not callable nor one of linear, rbf"),
        ({"gamma": "wide"}, "gamma='wide' is not a number"),
        ({"gamma": -1.0}, "gamma must be a positive number"),
    ],
)
def test_refusals_say_what_is_wrong(parameters, text):
    X, y = rows()
    with pytest.raises(ValueError, match=text):
        LibSVM(**parameters).fit(X, y)


# ----------------------------------------------------------------------- the printed column
@pytest.mark.parametrize("name", ["a1a", "w1a", "liver-disorders", "madelon"])
def test_the_lasn_paper_ran_libsvm_with_gamma_one(real_data, name):
    """Its Table 4, LIBSVM's accuracy: squared hinge, C = 10, and gamma = 1 whatever the data."""
    table = published("lasn-t4")
    printed = table[(table.row == name) & (table.column == "LIBSVM accuracy")].value.item()
    data = load_dataset(name)
    machine = LibSVM(10.0, loss="squared_hinge", gamma=1.0).fit(data.X_train, data.y_train)
    assert round(100 * machine.score(data.X_test, data.y_test), 2) == printed
    assert machine.certify(data.X_train, data.y_train).relative_gap < 1e-4
