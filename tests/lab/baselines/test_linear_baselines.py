"""LIBLINEAR and scikit-learn's Nystroem against the same parts put together by hand."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC

from kernlab.kernels import resolve_gamma
from kernlab.lab.baselines import LiblinearDCD, LiblinearTRON, NystroemLinearSVC
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_dcd


def rows(n_classes=2, n=200):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=1
    )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    ("machine", "dual"),
    [
        (LiblinearDCD(0.3, loss="hinge", tol=1e-8, max_iter=10**6), True),
        (LiblinearDCD(0.3, tol=1e-8, max_iter=10**6), True),
        (LiblinearDCD(0.3, tol=1e-8, max_iter=10**6, intercept="none"), True),
        (LiblinearTRON(0.3, tol=1e-8), False),
    ],
)
def test_it_is_linear_svc(machine, dual, n_classes):
    X, y = rows(n_classes)
    reference = LinearSVC(
        C=0.3,
        loss=machine.loss,
        dual=dual,
        tol=1e-8,
        max_iter=10**6,
        fit_intercept=machine.intercept == "penalised",
    ).fit(X, y)
    machine.fit(X, y)
    np.testing.assert_allclose(machine.coef_, reference.coef_, atol=1e-4)
    np.testing.assert_allclose(
        machine.decision_function(X), reference.decision_function(X), atol=1e-4
    )
    assert machine.intercept_.shape == (len(machine.coef_),)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["penalised", "none"])
def test_certificates_are_those_of_our_own_solver(loss, intercept):
    X, y = rows(3)
    machine = LiblinearDCD(0.5, loss=loss, intercept=intercept, tol=1e-8, max_iter=10**6)
    worst = machine.fit(X, y).certify(X, y)
    assert set(machine.certificates_) == {0, 1, 2}
    assert worst.relative_gap == max(c.relative_gap for c in machine.certificates_.values())
    for label, certificate in machine.certificates_.items():
        best = solve_dcd(
            X,
            np.where(y == label, 1.0, -1.0),
            C=0.5,
            loss=loss,
            intercept=intercept,
            tol=1e-8,
            max_iter=10**5,
        )
        assert certificate.primal == pytest.approx(best.objective, rel=1e-6)
        assert -1e-12 < certificate.relative_gap < 1e-5


def test_two_classes_have_one_certificate_and_it_counts_weights():
    X, y = rows()
    weights = np.random.default_rng(0).choice([0.0, 1.0, 5.0], len(y))
    machine = LiblinearTRON(tol=1e-8).fit(X, y, weights)
    assert machine.certify(X, y, weights).relative_gap < 1e-8
    assert list(machine.certificates_) == [1]
    assert machine.certify(X, y).relative_gap > 1e-3


def test_tron_has_no_hinge_and_memory_is_asked_for_first():
    X, y = rows()
    with pytest.raises(ValueError, match="needs a smooth loss"):
        LiblinearTRON(loss="hinge").fit(X, y)
    with pytest.raises(MemoryLimitError, match=r"LIBLINEAR's own copy .*1,200 values x 16 bytes"):
        LiblinearDCD(max_memory="10 kB").fit(X, y)


# -------------------------------------------------------------------------------- Nystroem
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nystroem_at_its_defaults_is_the_two_parts(n_classes):
    X, y = rows(n_classes)
    features = Nystroem(random_state=3).fit(X)
    reference = LinearSVC(dual=False, random_state=3).fit(features.transform(X), y)
    machine = NystroemLinearSVC(random_state=3).fit(X, y)
    np.testing.assert_allclose(
        machine.decision_function(X), reference.decision_function(features.transform(X)), atol=1e-8
    )
    assert machine.timings_["approximate"] > 0.0
    assert machine.nbytes_ > machine.nystroem_.components_.nbytes


def test_nystroem_takes_the_rules_of_kernlab_and_its_own_parameters():
    X, y = rows()
    by_rule = NystroemLinearSVC(gamma="variance", n_components=20, random_state=0).fit(X, y)
    assert by_rule.nystroem_.gamma == resolve_gamma("variance", X)
    assert by_rule.coef_.shape == (1, 20)
    poly = NystroemLinearSVC(kernel="polynomial", degree=2, coef0=1.0, loss="hinge", max_iter=10**5)
    assert poly.fit(X, y).score(X, y) > 0.8


def test_nystroem_is_certified_on_its_features():
    X, y = rows(3)
    machine = NystroemLinearSVC(tol=1e-8, random_state=0).fit(X, y)
    assert -1e-12 < machine.certify(X, y).relative_gap < 1e-6


def test_nystroem_asks_for_memory_first():
    X, y = rows()
    with pytest.raises(MemoryLimitError, match="200 x 100 x 8 bytes"):
        NystroemLinearSVC(max_memory="100 kB").fit(X, y)
