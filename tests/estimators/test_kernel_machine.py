"""The general pair: against LIBSVM and LIBLINEAR, and through scikit-learn's own checks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab import KernelMachine
from kernlab.approximations import APPROXIMATIONS
from kernlab.solvers import SOLVERS

X, Y = make_moons(300, noise=0.25, random_state=0)
NEW = make_moons(200, noise=0.25, random_state=1)[0]


def exact_machine(**changes):
    defaults = {"gamma": 2.0, "loss": "hinge", "intercept": "none", "tol": 1e-8, "C": 1.0}
    return KernelMachine("exact", "dcd", **defaults | {"max_iter": 100_000} | changes)


# A fixed gamma: the rules look at the rows, not at their weights, as scikit-learn's "scale" does.
@parametrize_with_checks(
    [KernelMachine("exact", "dcd", gamma=0.1, intercept="penalised", tol=0, max_iter=20_000)]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_exact_pair_is_libsvm():
    """With the data doubled by mirrored labels LIBSVM's free intercept is zero, as ours."""
    mirrored = np.vstack([X, -X])
    labels = np.concatenate([2 * Y - 1, 1 - 2 * Y])
    ours = exact_machine(C=1.0).fit(mirrored, labels)
    libsvm = SVC(gamma=2.0, C=1.0, tol=1e-8).fit(mirrored, labels)
    assert abs(libsvm.intercept_[0]) < 1e-6
    np.testing.assert_allclose(
        ours.decision_function(NEW), libsvm.decision_function(NEW), atol=2e-3
    )


def test_the_linear_kernel_is_liblinear():
    ours = KernelMachine(
        "exact", "dcd", kernel="linear", intercept="penalised", tol=1e-10, max_iter=10_000
    ).fit(X, Y)
    reference = LinearSVC(dual=False, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(
        ours.decision_function(NEW), reference.decision_function(NEW), atol=1e-4
    )


# The norm of weights of the paper's powers, which nearly depend on each other, penalises too much.
PARAMETERS = {"polynomial": {"basis": "chebyshev"}}


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_pair_either_works_or_says_what_is_missing(approximation, solver):
    spec = SOLVERS[solver]
    machine = KernelMachine(
        approximation,
        solver,
        gamma="scale" if approximation == "polynomial" else 2.0,
        loss=spec.losses[-1],
        intercept=spec.intercepts[0],
        random_state=0,
        approximation_params=PARAMETERS.get(approximation),
    )
    if APPROXIMATIONS[approximation].offers(spec.needs):
        assert machine.fit(X, Y).score(X, Y) > 0.85
        assert machine.result_.converged
        assert machine.timings_["total"] > 0
        assert machine.nbytes_ > 0
    else:
        with pytest.raises(ValueError, match=f"{solver}.*needs {spec.needs}.*{approximation}"):
            machine.fit(X, Y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_losses_and_intercepts_that_a_solver_lacks_are_refused(solver):
    spec = SOLVERS[solver]
    accepted = {"loss": spec.losses, "intercept": spec.intercepts}
    for what, offered in accepted.items():
        for value in {"hinge", "squared_hinge", "free", "penalised", "none"} - set(offered):
            parameters = {name: values[0] for name, values in accepted.items()} | {what: value}
            with pytest.raises(ValueError, match=f"{what}="):
                KernelMachine("exact", solver, **parameters).fit(X, Y)


def test_many_classes_are_one_against_the_rest():
    digits, labels = load_digits(return_X_y=True)
    machine = exact_machine(gamma="scale", tol=1e-4).fit(digits[:600], labels[:600])
    assert machine.coef_.shape[0] == machine.intercept_.shape[0] == 10
    assert len(machine.results_) == 10
    third = exact_machine(gamma="scale", tol=1e-4).fit(digits[:600], labels[:600] == 3)
    np.testing.assert_allclose(
        machine.decision_function(digits[600:700])[:, 3],
        third.decision_function(digits[600:700]),
        atol=1e-6,
    )
    assert machine.score(digits[600:], labels[600:]) > 0.9


def test_sparse_rows_give_the_same_machine():
    dense = exact_machine().fit(X, Y).decision_function(NEW)
    sparse = exact_machine().fit(sp.csr_matrix(X), Y).decision_function(sp.csr_matrix(NEW))
    np.testing.assert_allclose(sparse, dense, atol=1e-4)


def test_weight_two_is_the_row_twice():
    weights = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(300), weights.astype(int))
    weighted = exact_machine().fit(X, Y, sample_weight=weights)
    repeated = exact_machine().fit(X[twice], Y[twice])
    np.testing.assert_allclose(
        weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-3
    )


def test_class_weights_are_row_weights():
    by_class = exact_machine(class_weight={0: 1.0, 1: 3.0}).fit(X, Y).decision_function(NEW)
    by_row = exact_machine().fit(X, Y, sample_weight=1.0 + 2.0 * Y).decision_function(NEW)
    np.testing.assert_array_equal(by_class, by_row)


def test_labels_of_any_kind_come_back():
    names = np.where(Y == 1, "up", "down")
    machine = exact_machine().fit(X, names)
    assert list(machine.classes_) == ["down", "up"]
    assert (
        machine.predict(NEW) == np.where(machine.decision_function(NEW) > 0, "up", "down")
    ).all()


def test_the_same_seed_gives_the_same_machine():
    first, second = (exact_machine(random_state=5).fit(X, Y).coef_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"approximation": "magic"}, "approximation='magic' is not one of"),
        ({"solver": "magic"}, "solver='magic' is not one of"),
        ({"C": 0.0}, "C must be a positive number"),
        ({"C": np.nan}, "C must be a positive number"),
        ({"kernel": "magic"}, "kernel='magic'"),
        ({"gamma": -1.0}, "gamma must be a positive number"),
        ({"max_memory": "1kB"}, "may be used"),
        ({"class_weight": {7: 1.0}}, "class"),
    ],
)
def test_bad_parameters_say_what_is_wrong(changes, message):
    with pytest.raises((ValueError, MemoryError), match=message):
        exact_machine().set_params(**changes).fit(X, Y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="1 class only"):
        exact_machine().fit(X, np.zeros(300))


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_costs_are_certified_or_warned_about(C, recwarn):
    result = exact_machine(C=C, max_iter=500, tol=1e-3).fit(X, Y).result_
    assert result.converged or any("dcd stopped after" in str(w.message) for w in recwarn)
    assert result.gap >= -1e-9 * abs(result.objective)


def test_a_fit_leaves_nothing_of_the_fit_before():
    X, y = make_moons(120, noise=0.2, random_state=0)
    machine = KernelMachine("exact", "dcd", gamma=1.0, C=1e-3, intercept="none")
    machine.fit(X, y).set_params(solver="newton-cg", C=100.0).fit(X, y)
    fresh = clone(machine).fit(X, y)
    assert not hasattr(machine, "coef_")
    np.testing.assert_array_equal(machine.decision_function(X), fresh.decision_function(X))
    machine.set_params(solver="dcd").fit(X, y)
    assert not hasattr(machine, "dual_coef_")


@pytest.mark.parametrize("solver", ["newton-cg", "dual-admm"])
def test_an_indefinite_kernel_has_no_bound(solver):
    rows = np.random.default_rng(0).normal(size=(30, 5))
    labels = np.where(rows[:, 0] > 0, 1, -1)
    kernels = {"sigmoid": {"gamma": 0.1, "coef0": 0.5}, "rbf": {"gamma": 0.1}}
    machines = {
        name: KernelMachine("exact", solver, kernel=name, C=0.01, **params).fit(rows, labels)
        for name, params in kernels.items()
    }
    assert np.linalg.eigvalsh(machines["sigmoid"].approximation_.matrix_)[0] < -1e-3
    assert machines["sigmoid"].result_.relative_gap is None
    assert machines["rbf"].result_.relative_gap < 1e-2


def test_the_exact_certificate_asks_the_exact_kernel():
    def gap(kernel, **params):
        machine = KernelMachine(
            "hss", "dual-admm", kernel=kernel, loss="hinge", random_state=0, **params,
            solver_params={"certificate": "exact", "steps": 10, "beta": 100.0},
        )  # fmt: skip
        return machine.fit(X, Y).result_.relative_gap

    assert gap("rbf", gamma=1.0) >= 0.0
    assert gap("sigmoid", gamma=0.1, coef0=0.5) is None
