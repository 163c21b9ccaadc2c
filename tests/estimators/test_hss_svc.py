"""HSSSVC: against LIBSVM, what it shares, what it says, and through scikit-learn's own checks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab import HSSSVC, sweep
from kernlab.approximations import HSSKernel
from kernlab.approximations.hss import approximation as hss_approximation
from kernlab.estimators.machine import fit_together
from kernlab.kernels import gamma_from_sigma
from kernlab.solvers import solve_dual_admm

X, Y = make_moons(1500, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(700, noise=0.2, random_state=1)
H = 0.3


def fit_path(machine, X, y, costs, n_landmarks=None):
    """Machines for several C, and for several numbers of landmarks, fitted together."""
    if n_landmarks is None:
        machines = [machine.with_params(C=C) for C in costs]
        fit_together(machines, X, y)
        return machines
    name = "n_landmarks"
    if name not in machine.get_params():
        name = "approximation_params__n_landmarks"
    grid = [[machine.with_params(C=C, **{name: k}) for C in costs] for k in n_landmarks]
    fit_together([one for row in grid for one in row], X, y, nested=True)
    return grid


def machine(**changes):
    defaults = {"h": H, "leaf_size": 128, "random_state": 0}
    return HSSSVC(**defaults | changes)


def converged(**changes):
    defaults = {"tol": 1e-6, "max_iter": 20_000, "beta": "adaptive", "rel_tol": 1e-6}
    return machine(**defaults | changes)


NOT_AT_THE_OPTIMUM = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "ten steps of ADMM do not reach the optimum, which alone is the same for both",
)


@parametrize_with_checks([HSSSVC(h=1.0)], expected_failed_checks=lambda _: NOT_AT_THE_OPTIMUM)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------- right answers
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_at_convergence_it_is_libsvm(C):
    ours = converged(C=C).fit(X, Y)
    libsvm = SVC(C=C, gamma=gamma_from_sigma(H), tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(
        ours.decision_function(NEW), libsvm.decision_function(NEW), atol=1e-2
    )
    assert ours.intercept_[0] == pytest.approx(libsvm.intercept_[0], abs=5e-3)
    assert ours.score(NEW, NEW_Y) == pytest.approx(libsvm.score(NEW, NEW_Y), abs=0.003)


def test_at_the_optimum_weight_two_is_the_row_twice():
    """On few rows, which are one leaf and so the exact kernel."""
    few, labels = X[:100], Y[:100]
    weights = np.where(np.arange(100) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(100), weights.astype(int))
    weighted = converged(tol=1e-9).fit(few, labels, sample_weight=weights)
    repeated = converged(tol=1e-9).fit(few[twice], labels[twice])
    np.testing.assert_allclose(
        weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-3
    )


def test_ten_steps_are_the_papers():
    ours = machine(C=1.0).fit(X, Y)
    assert (ours.n_iter_, ours.beta_) == (10, 100.0)
    by_hand = solve_dual_admm(ours.approximation_, 2.0 * Y - 1.0, C=1.0, beta=100.0, steps=10)
    dual = np.zeros(len(X))
    dual[ours.support_] = ours.dual_coef_[0]
    np.testing.assert_array_equal(dual, by_hand.coefficients)
    assert not ours.result_.converged
    assert "10 steps as prescribed" in ours.result_.message


def test_many_classes_share_everything(monkeypatch):
    digits, labels = load_digits(return_X_y=True)
    fits, factors = _counted(monkeypatch)
    ours = HSSSVC(h="scale", random_state=0, leaf_size=128).fit(digits[:1200], labels[:1200])
    assert (len(fits), len(set(factors))) == (1, 2)  # one to prove that beta will do
    assert len(ours.results_) == 10
    assert ours.score(digits[1200:], labels[1200:]) > 0.85
    third = HSSSVC(h="scale", random_state=0, leaf_size=128)
    third.fit(digits[:1200], labels[:1200] == 3)
    np.testing.assert_allclose(
        ours.decision_function(digits[1200:])[:, 3],
        third.decision_function(digits[1200:]),
        atol=1e-8,
    )


def test_sparse_rows_give_the_same_machine():
    dense = machine().fit(X, Y).decision_function(NEW)
    sparse = machine().fit(sp.csr_matrix(X), Y).decision_function(sp.csr_matrix(NEW))
    np.testing.assert_allclose(sparse, dense, atol=1e-6)


def test_single_precision_is_near_double():
    double = machine().fit(X, Y).decision_function(NEW)
    single = machine(dtype="float32").fit(X, Y)
    assert single.approximation_.matrix_.dtype == np.float32
    np.testing.assert_allclose(single.decision_function(NEW), double, atol=0.05)


# ------------------------------------------------------------------------- what is shared
def _counted(monkeypatch):
    """Lists that grow with each compression, and with each factor by its beta."""
    compressed, factors = [], []
    compress, factor = hss_approximation.compress, hss_approximation.ShiftedHSS

    def counting_compress(*arguments, **named):
        compressed.append(1)
        return compress(*arguments, **named)

    def counting_factor(matrix, beta, *memory):
        factors.append(beta)
        return factor(matrix, beta, *memory)

    monkeypatch.setattr(hss_approximation, "compress", counting_compress)
    monkeypatch.setattr(hss_approximation, "ShiftedHSS", counting_factor)
    return compressed, factors


def test_a_grid_over_C_is_one_compression_and_one_factor(monkeypatch):
    compressed, factors = _counted(monkeypatch)
    table = sweep(machine(), X, Y, {"C": np.geomspace(0.01, 100, 9)}, validation=(NEW, NEW_Y))
    assert len(compressed) == 1
    assert factors.count(100.0) == 1
    assert len(factors) == 2
    assert list(table["status"]) == ["ok"] * 9
    for C in (0.01, 100.0):
        row = table[np.isclose(table["C"], C)].iloc[0]
        alone = machine(C=C).fit(X, Y)
        assert row["validation_accuracy"] == alone.score(NEW, NEW_Y)
        assert row["objective"] == pytest.approx(alone.result_.objective, rel=1e-9)
    assert (table["approximate_seconds"] > 0).sum() == 1  # the first bears what is shared


def test_a_grid_over_h_shares_tree_and_neighbours(monkeypatch):
    trees = []
    find = hss_approximation.find_geometry
    monkeypatch.setattr(hss_approximation, "find_geometry", lambda *a: trees.append(1) or find(*a))
    for mode in ("fast", "paper"):
        trees.clear()
        table = sweep(
            machine(mode=mode), X, Y, {"h": [0.1, 0.3, 1.0], "C": [1.0, 10.0]},
            validation=(NEW, NEW_Y),
        )  # fmt: skip
        assert len(trees) == 1
        for row in table.itertuples():
            alone = machine(mode=mode, h=row.h, C=row.C).fit(X, Y)
            assert row.validation_accuracy == alone.score(NEW, NEW_Y)
            assert row.objective == pytest.approx(alone.result_.objective, rel=1e-9)


def test_other_rows_or_settings_share_nothing():
    shared = {}
    first = HSSKernel(gamma=1.0, leaf_size=128, random_state=0).share(shared).fit(X)
    geometry = shared["geometry"]
    again = HSSKernel(gamma=5.0, leaf_size=128, random_state=0).share(shared).fit(X.copy())
    assert shared["geometry"] is geometry
    assert again.matrix_.tree is first.matrix_.tree
    for rows, settings in (
        (X[::-1], {}),
        (X[:900], {}),
        (X, {"leaf_size": 64}),
        (X, {"mode": "paper"}),
        (X, {"approximate_neighbors": 8}),
        (X, {"dtype": "float32"}),
    ):
        other = HSSKernel(**{"leaf_size": 128, "random_state": 0, "gamma": 1.0} | settings)
        alone = HSSKernel(**other.get_params()).fit(rows)
        other.share({"geometry": geometry}).fit(rows)
        np.testing.assert_array_equal(other.operator() @ Y[: len(rows)],
                                      alone.operator() @ Y[: len(rows)])  # fmt: skip


def test_searching_for_more_neighbours_leaves_the_shared_lists_as_they_were():
    """In paper mode a node that has too few columns has twice as many neighbours searched for."""
    shared = {}
    settings = {"mode": "paper", "approximate_neighbors": 2, "leaf_size": 64, "random_state": 0}
    HSSKernel(gamma=1.0, rel_tol=1e-6, **settings).share(shared).fit(X[:400])
    columns = shared["geometry"].columns
    assert set(columns._k) == {2}
    again = HSSKernel(gamma=9.0, **settings).share(shared).fit(X[:400])
    alone = HSSKernel(gamma=9.0, **settings).fit(X[:400])
    np.testing.assert_array_equal(again.operator() @ Y[:400], alone.operator() @ Y[:400])


def test_machines_of_a_path_decide_together():
    machines = fit_path(machine(), X, Y, [0.1, 1.0, 10.0])
    for one in machines:
        alone = machine(C=one.C).fit(X, Y)
        np.testing.assert_allclose(
            one.decision_function(NEW), alone.decision_function(NEW), atol=1e-9
        )


def test_a_stored_approximation_serves_other_labels(tmp_path):
    first = machine().fit(X, Y)
    first.approximation_.save(tmp_path / "moons.npz")
    stored = HSSKernel.load(tmp_path / "moons.npz")
    again = machine(h=99.0).fit_on(stored, Y)
    np.testing.assert_allclose(
        again.decision_function(NEW), first.decision_function(NEW), atol=1e-12
    )
    assert again.h_ == pytest.approx(H)
    left = X[:, 0] < 0.5
    other = machine().fit_on(first.approximation_, np.where(left, "left", "right"))
    assert np.mean(other.predict(X) == np.where(left, "left", "right")) > 0.9
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        machine().fit_on(stored, Y[1:])


# ------------------------------------------------------------------------- what is said
def test_seconds_and_bytes_are_told_apart():
    fitted = machine(C=1.0).fit(X, Y)
    timings = fitted.timings_
    parts = [timings[f"approximate: {part}"] for part in
             ("tree", "neighbours", "compress", "definite", "factor")]  # fmt: skip
    assert all(seconds > 0 for seconds in parts)
    assert sum(parts) <= timings["approximate"] * 1.001
    assert timings["approximate"] + timings["solve"] == pytest.approx(timings["total"], rel=0.05)
    assert fitted.nbytes_ > fitted.approximation_.matrix_.nbytes


def test_an_exact_certificate_is_of_the_exact_problem():
    fitted = converged(certificate="exact", rel_tol=1e-2, tol=1e-4).fit(X, Y)
    result = fitted.result_
    libsvm = SVC(C=1.0, gamma=gamma_from_sigma(H), tol=1e-8).fit(X, Y)
    dual = np.zeros(len(X))
    dual[libsvm.support_] = libsvm.dual_coef_[0]
    K = np.exp(-gamma_from_sigma(H) * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    best = np.abs(dual).sum() - 0.5 * dual @ K @ dual
    assert result.dual_objective <= best * (1 + 1e-6)
    assert result.objective >= best * (1 - 1e-6)
    assert result.gap >= 0


def test_a_beta_too_small_is_refused_and_rules_raise_it():
    """A rank that is too low leaves K~ with eigenvalues far below zero."""
    wide = {"h": 1.0, "max_rank": 2, "rel_tol": 0.0, "leaf_size": 64}
    smallest = machine(**wide).fit(X, Y).approximation_.quality().smallest_eigenvalue
    assert smallest < -1.0
    with pytest.raises(ValueError, match="ADMM does not converge at beta="):
        machine(beta=-1.5 * smallest, **wide).fit(X, Y)
    adaptive = machine(beta="adaptive", tol=1e-2, max_iter=1000, **wide).fit(X, Y)
    assert adaptive.result_.trace_table()["beta"].min() >= -2.0 * smallest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"h": -1.0}, "h must be a positive number"),
        ({"h": 1e300}, r"h=1e\+300 is no width"),
        ({"h": "magic"}, "magic"),
        ({"C": 0.0}, "C must be a positive number"),
        ({"beta": "magic"}, "beta='magic'"),
        ({"mode": "magic"}, "mode='magic'"),
        ({"loss": "magic"}, "loss"),
        ({"intercept": "magic"}, "intercept"),
        ({"prediction": "magic"}, "prediction='magic'"),
        ({"max_rank": -1}, "max_rank"),
        ({"max_memory": "1kB"}, "may be used"),
    ],
)
def test_bad_parameters_say_what_is_wrong(changes, message):
    with pytest.raises((ValueError, MemoryError), match=message):
        machine(**changes).fit(X, Y)


# ---------------------------------------------------------------- deciding by structure
@pytest.mark.parametrize("rel_tol", [1e-2, 1e-5])
def test_decisions_by_structure_are_about_as_exact_as_the_matrix(rel_tol):
    by_kernel = machine(rel_tol=rel_tol, C=1.0).fit(X, Y)
    by_structure = machine(rel_tol=rel_tol, C=1.0, prediction="structure").fit(X, Y)
    exact, near = (one.decision_function(NEW) for one in (by_kernel, by_structure))
    error = np.linalg.norm(near - exact) / np.linalg.norm(exact)
    of_matrix = by_kernel.approximation_.quality().sampled_error
    assert 0 < error < 30 * of_matrix
    assert np.mean((near > 0) == (exact > 0)) > 0.99


def test_decisions_by_structure_take_sparse_rows_and_many_classes():
    digits, labels = load_digits(return_X_y=True)
    fitted = HSSSVC(h="scale", random_state=0, leaf_size=128, rel_tol=1e-4)
    fitted.fit(sp.csr_matrix(digits[:900]), labels[:900])
    exact = fitted.decision_function(sp.csr_matrix(digits[900:]))
    near = fitted.set_params(prediction="structure").decision_function(sp.csr_matrix(digits[900:]))
    assert near.shape == exact.shape
    assert np.linalg.norm(near - exact) < 0.02 * np.linalg.norm(exact)


def test_one_leaf_decides_exactly():
    fitted = machine(prediction="structure").fit(X[:100], Y[:100])
    near = fitted.decision_function(NEW)
    exact = fitted.set_params(prediction="exact").decision_function(NEW)
    np.testing.assert_allclose(near, exact, atol=1e-10)


# ------------------------------------------------------------------------- hostile input
RNG = np.random.default_rng(0)
HOSTILE = {
    "all equal": np.ones((300, 2)),
    "fewer than a leaf": RNG.normal(size=(20, 3)),
    "repeated": np.repeat(RNG.normal(size=(30, 3)), 10, axis=0),
    "one dimension": RNG.normal(size=(300, 1)),
    "500 dimensions": RNG.normal(size=(300, 500)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_rank", [1, 50_000])
@pytest.mark.parametrize("h", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_rows_get_a_certified_answer(name, h, max_rank):
    """The bounds by the exact kernel enclose the optimum that LIBSVM finds."""
    rows = HOSTILE[name]
    labels = np.arange(len(rows)) % 3 == 0
    ours = HSSSVC(h=h, max_rank=max_rank, leaf_size=32, random_state=0, certificate="exact").fit(
        rows, labels
    )
    libsvm = SVC(C=1.0, gamma=gamma_from_sigma(h), tol=1e-6).fit(rows, labels)
    dual = np.zeros(len(rows))
    dual[libsvm.support_] = libsvm.dual_coef_[0]
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    best = np.abs(dual).sum() - 0.5 * dual @ np.exp(-gamma_from_sigma(h) * squares) @ dual
    result = ours.result_
    slack = 1e-5 * (1.0 + abs(best))
    assert result.dual_objective - slack <= best <= result.objective + slack
    assert np.all(np.isfinite(ours.decision_function(rows)))


def test_an_interrupted_fit_can_be_repeated(monkeypatch):
    whole = machine().fit(X, Y)
    interrupted = machine()

    def interrupt(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(hss_approximation, "ShiftedHSS", interrupt)
        with pytest.raises(KeyboardInterrupt):
            interrupted.fit(X, Y)
    again = interrupted.fit(X, Y)
    np.testing.assert_array_equal(again.decision_function(NEW), whole.decision_function(NEW))
