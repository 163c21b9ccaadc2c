"""HSSSVC: against LIBSVM, what a grid shares, and what it says of itself."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons
from sklearn.svm import SVC

from kernlab import HSSSVC, sweep
from kernlab.approximations import HSSKernel
from kernlab.approximations.hss import approximation as hss
from kernlab.kernels import gamma_from_sigma
from kernlab.solvers import solve_dual_admm

X, Y = make_moons(1000, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(500, noise=0.2, random_state=1)
H = 0.3


def machine(**changes):
    return HSSSVC(**{"h": H, "leaf_size": 128, "random_state": 0} | changes)


def libsvm_optimum(rows, labels, h, C=1.0):
    """The dual objective of LIBSVM's solution, with the exact kernel."""
    gamma = gamma_from_sigma(h)
    svc = SVC(C=C, gamma=gamma, tol=1e-8).fit(rows, labels)
    dual = np.zeros(len(rows))
    dual[svc.support_] = svc.dual_coef_[0]
    K = np.exp(-gamma * ((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    return svc, float(np.abs(dual).sum() - 0.5 * dual @ K @ dual)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_at_convergence_it_is_libsvm(C):
    ours = machine(C=C, tol=1e-6, max_iter=20_000, beta="adaptive", rel_tol=1e-6).fit(X, Y)
    svc, best = libsvm_optimum(X, Y, H, C)
    assert ours.result_.objective == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(ours.decision_function(NEW), svc.decision_function(NEW), atol=1e-2)
    assert ours.intercept_[0] == pytest.approx(svc.intercept_[0], abs=5e-3)


def test_ten_steps_are_the_papers():
    ours = machine().fit(X, Y)
    assert (ours.n_iter_, ours.beta_, ours.h_) == (10, 100.0, pytest.approx(H))
    by_hand = solve_dual_admm(ours.approximation_, 2.0 * Y - 1.0, C=1.0, beta=100.0, steps=10)
    dual = np.zeros(len(X))
    dual[ours.support_] = ours.dual_coef_[0]
    np.testing.assert_array_equal(dual, by_hand.coefficients)
    assert not ours.result_.converged
    assert "10 steps as prescribed" in ours.result_.message


# ------------------------------------------------------------------------- what is shared
def counted(monkeypatch):
    """Lists that grow with each tree, each compression, and each factor by its beta."""
    seen = {"find_geometry": [], "compress": [], "ShiftedHSS": []}
    for name, calls in seen.items():
        function = getattr(hss, name)

        def count(*arguments, function=function, calls=calls, **named):
            calls.append(arguments[1])
            return function(*arguments, **named)

        monkeypatch.setattr(hss, name, count)
    return seen.values()


def test_classes_and_costs_are_columns_of_one_factor(monkeypatch):
    digits, labels = load_digits(return_X_y=True)
    _, compressed, factors = counted(monkeypatch)
    ours = machine(h="scale").fit(digits[:800], labels[:800])
    assert len(ours.results_) == 10
    assert (len(compressed), len(factors)) == (1, 2)  # one to prove that beta will do
    del compressed[:], factors[:]
    table = sweep(machine(), X, Y, {"C": np.geomspace(0.01, 100, 9)}, validation=(NEW, NEW_Y))
    assert (len(compressed), factors.count(100.0), len(factors)) == (1, 1, 2)
    for row in table.iloc[[0, -1]].itertuples():
        alone = machine(C=row.C).fit(X, Y)
        assert row.validation_accuracy == alone.score(NEW, NEW_Y)
        assert row.objective == pytest.approx(alone.result_.objective, rel=1e-9)
    assert list(table["approximate_seconds"] > 0) == [True] + 8 * [False]


@pytest.mark.parametrize("mode", ["fast", "paper"])
def test_widths_share_tree_and_neighbours(mode, monkeypatch):
    trees, compressed, _ = counted(monkeypatch)
    grid = {"h": [0.1, 0.3, 1.0], "C": [1.0, 10.0]}
    table = sweep(machine(mode=mode), X, Y, grid, validation=(NEW, NEW_Y))
    assert (len(trees), len(compressed)) == (1, 3)
    for row in table.itertuples():
        alone = machine(mode=mode, h=row.h, C=row.C).fit(X, Y)
        assert row.validation_accuracy == alone.score(NEW, NEW_Y)
        assert row.objective == pytest.approx(alone.result_.objective, rel=1e-9)


def test_a_stored_approximation_serves_other_labels(tmp_path):
    first = machine().fit(X, Y)
    first.approximation_.save(tmp_path / "moons.npz")
    stored = HSSKernel.load(tmp_path / "moons.npz")
    again = machine(h=99.0).fit_on(stored, Y)
    np.testing.assert_allclose(
        again.decision_function(NEW), first.decision_function(NEW), atol=1e-12
    )
    assert again.h_ == pytest.approx(H)
    sides = np.where(X[:, 0] < 0.5, "left", "right")
    other = machine().fit_on(first.approximation_, sides)
    np.testing.assert_array_equal(other.predict(NEW), machine().fit(X, sides).predict(NEW))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        machine().fit_on(stored, Y[1:])


# ------------------------------------------------------------------------- what is said
@pytest.mark.parametrize("rel_tol", [1e-2, 1e-5])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_decisions_by_structure_are_about_as_exact_as_the_matrix(rel_tol, form):
    fitted = machine(rel_tol=rel_tol).fit(form(X), Y)
    exact = fitted.decision_function(form(NEW))
    near = fitted.set_params(prediction="structure").decision_function(form(NEW))
    error = np.linalg.norm(near - exact) / np.linalg.norm(exact)
    assert 0 < error < 30 * fitted.approximation_.quality().sampled_error
    leaf = machine().fit(X[:100], Y[:100])
    np.testing.assert_allclose(
        leaf.set_params(prediction="structure").decision_function(NEW),
        leaf.set_params(prediction="exact").decision_function(NEW), atol=1e-10,
    )  # fmt: skip


def test_an_interrupted_fit_can_be_repeated(monkeypatch):
    whole, interrupted = machine().fit(X, Y), machine()

    def interrupt(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(hss, "ShiftedHSS", interrupt)
        with pytest.raises(KeyboardInterrupt):
            interrupted.fit(X, Y)
    again = interrupted.fit(X, Y)
    np.testing.assert_array_equal(again.decision_function(NEW), whole.decision_function(NEW))
