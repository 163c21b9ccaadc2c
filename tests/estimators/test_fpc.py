"""FPC: the paper's method as an estimator, streamed, weighted, with its degree chosen."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab import FPC, load_dataset
from kernlab.approximations import PolynomialMap
from kernlab.datasets.generators import fpc_toy
from kernlab.estimators.fpc import largest_degree
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_hinge_admm

X, Y = fpc_toy(600, seed=0)
NEW, TRUE = fpc_toy(500, noise=0.0, seed=1)

WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def expected_failures(estimator):
    if estimator.to_optimum:
        return dict.fromkeys(
            WEIGHT_CHECKS, "the tolerance blurs the identity; the early stop has it tightly"
        ) | {
            "check_class_weight_classifiers": "weights from 1 to 10^7 need more than the 1000 "
            "steps that the check allows"
        }
    return {}


@parametrize_with_checks(
    [
        FPC(),
        FPC(degree=2),
        FPC(degree=2, basis="chebyshev"),
        FPC(degree=2, basis="chebyshev", to_optimum=True, tol=0.02),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("settings", [{}, {"max_iter": 1}, {"basis": "chebyshev"}])
def test_weights_are_repetitions(settings):
    weights = np.random.default_rng(2).integers(0, 4, 600)
    again = np.repeat(np.arange(600), weights)
    centres = "first" if "basis" in settings else X[:10]
    weighted = FPC(3, centres=centres, **settings).fit(X, Y, sample_weight=weights)
    repeated = FPC(3, centres=centres, **settings).fit(X[again], Y[again])
    np.testing.assert_allclose(
        weighted.decision_function(NEW), repeated.decision_function(NEW), rtol=1e-7, atol=1e-9
    )


# ------------------------------------------------------------------------- what it computes
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("n_centres", [None, 4])
def test_it_is_admm_on_the_papers_features(degree, n_centres):
    """Whether the powers are read directly or by way of Chebyshev's basis."""
    machine = FPC(degree, n_centres=n_centres, tol=0, max_iter=4).fit(X, Y)
    features = PolynomialMap(degree, n_centres=n_centres).fit(X).transform(X)
    by_hand = solve_hinge_admm(features, Y, tol=0, max_iter=4)
    np.testing.assert_allclose(
        machine.decision_function(X), features @ by_hand.coefficients, rtol=1e-6, atol=1e-8
    )
    for ours, theirs in zip(machine.result_.trace, by_hand.trace, strict=True):
        assert ours["objective"] == pytest.approx(theirs["objective"], rel=1e-8)
        assert ours["change"] == pytest.approx(theirs["change"], rel=1e-6, abs=1e-10)


def test_it_decides_as_ridge_regression_at_its_usual_stop():
    """Erratum 31, and where the two part: at the optimum."""
    early = FPC(9).fit(X, Y)
    ridge = RidgeClassifier(alpha=1.0, fit_intercept=False, solver="cholesky")
    features = PolynomialMap(9).fit(X)
    ridge.fit(features.transform(X), Y)
    agreement = np.mean(ridge.predict(features.transform(NEW)) == early.predict(NEW))
    assert agreement > 0.995
    np.testing.assert_array_equal(FPC(9, max_iter=1).fit(X, Y).predict(NEW), early.predict(NEW))
    optimum = FPC(9, basis="chebyshev", to_optimum=True).fit(X, Y)
    assert optimum.result_.objective < 0.75 * early.result_.objective
    assert np.mean(optimum.predict(NEW) != early.predict(NEW)) > 0.005


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_to_optimum_is_the_linear_programme(degree):
    machine = FPC(degree, to_optimum=True).fit(X, Y)
    features = PolynomialMap(degree, basis="chebyshev").fit(X).transform(X)
    m, n = features.shape
    best = linprog(
        np.concatenate([np.zeros(n), np.full(m, 1 / m)]),
        A_ub=np.hstack([-Y[:, None] * features, -np.eye(m)]),
        b_ub=-np.ones(m),
        bounds=[(None, None)] * n + [(0, None)] * m,
    ).fun
    reached = np.maximum(0, 1 - Y * machine.decision_function(X)).mean()
    assert best * (1 - 1e-6) <= reached <= best * (1 + 1e-3)
    assert machine.result_.converged
    chebyshev = FPC(degree, to_optimum=True, basis="chebyshev").fit(X, Y)
    assert chebyshev.result_.objective == pytest.approx(reached, rel=1e-6)


def test_high_degrees_in_powers_say_that_they_cannot_hold_the_optimum():
    with pytest.warns(UserWarning, match="cannot hold the minimiser in double precision"):
        FPC(9, to_optimum=True).fit(X, Y)


def test_the_toy_takes_few_steps_at_the_usual_stop_and_very_many_beyond():
    toy, labels = fpc_toy(1000, seed=0)
    assert 3 <= FPC(9, tol=10**-3.2, max_iter=5000).fit(toy, labels).n_iter_ <= 5
    assert FPC(9, tol=1e-5, max_iter=5000).fit(toy, labels).n_iter_ > 1000


def test_classes_share_passes_and_are_those_of_binary_machines():
    digits, labels = load_digits(return_X_y=True)
    digits = digits[:, 20:44]
    machine = FPC(2).fit(digits[:1000], labels[:1000])
    assert machine.coef_.shape == (10, machine.n_centres_)
    assert len(machine.results_) == 10
    alone = FPC(2).fit(digits[:1000], labels[:1000] == 3)
    np.testing.assert_allclose(
        machine.decision_function(digits[1000:])[:, 3],
        alone.decision_function(digits[1000:]),
        rtol=1e-5,
        atol=1e-7,
    )
    assert machine.score(digits[1000:], labels[1000:]) > 0.85


# ------------------------------------------------------------------------------ streaming
def test_arrays_maps_files_and_sparse_rows_give_one_machine(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    expected = FPC(4).fit(X, Y).decision_function(NEW)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.save(tmp_path / "new.npy", NEW)
    for kept, new in (
        (mapped, NEW),
        (tmp_path / "rows.npy", tmp_path / "new.npy"),
        (str(tmp_path / "rows.npy"), NEW),
        (sp.csr_matrix(X), sp.csr_matrix(NEW)),
        (np.asfortranarray(X), NEW),
    ):
        machine = FPC(4).fit(kept, Y)
        assert machine.n_features_in_ == 2
        np.testing.assert_allclose(machine.decision_function(new), expected, rtol=1e-10)


def test_blocks_and_threads_do_not_change_the_machine(monkeypatch):
    expected = FPC(4).fit(X, Y)
    monkeypatch.setattr("kernlab.solvers.hinge.passes.PASS_BYTES", 1)
    monkeypatch.setattr("kernlab.solvers.hinge.passes.GRAM_BYTES", 1)
    monkeypatch.setattr("kernlab.solvers.hinge.passes.VALUES_PER_THREAD", 100)
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "3")
    streamed = FPC(4).fit(X, Y)
    np.testing.assert_allclose(
        streamed.decision_function(NEW), expected.decision_function(NEW), rtol=1e-8
    )


@pytest.mark.parametrize("settings", [{}, {"n_centres": 50}, {"to_optimum": True, "max_iter": 9}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_memory_grows_with_the_rows_not_with_rows_times_features(settings, monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "1")

    def peak(m):
        rows, labels = np.random.default_rng(0).random((m, 3)), np.arange(m) % 2
        FPC(6, **settings).fit(rows[:2000], labels[:2000])
        tracemalloc.start()
        FPC(6, **settings).fit(rows, labels)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    rows, features = 30_000, 84
    growth = peak(2 * rows) - peak(rows)
    assert growth < 8 * rows * 8, "at most a few numbers per row, of 84 features"
    assert growth < 8 * rows * features / 8


def test_memory_is_predicted_before_it_is_taken():
    wide = np.random.default_rng(0).random((200, 300))
    labels = np.arange(200) % 2
    with pytest.raises(MemoryLimitError, match="polynomial features of degree 3 in 300 variables"):
        FPC(3, basis="chebyshev").fit(wide, labels)
    with pytest.raises(MemoryLimitError, match="a lower degree or fewer centres"):
        FPC(max_memory="10kB").fit(X, Y)
    with pytest.raises(MemoryLimitError, match=r"with 10 features .*600 rows x 1 \+ 6 x 10"):
        FPC(3, n_centres=10, max_memory="6kB").fit(X, Y)


# --------------------------------------------------------------------- choosing the degree
@pytest.mark.parametrize(
    ("rows", "features", "expected"),
    [(9510, 10, 3), (4_000_000, 8, 5), (10_000_000, 28, 2), (3299, 166, 2), (122_528, 3, 10)],
)
def test_the_papers_range_of_degrees(rows, features, expected):
    assert largest_degree(rows, features) == expected


@pytest.mark.parametrize(
    "settings",
    [{"basis": "power"}, {"basis": "chebyshev"}, {"basis": "chebyshev", "to_optimum": True}],
)
def test_degrees_tried_together_are_those_tried_alone(settings):
    valid, truth = fpc_toy(300, noise=0.1, seed=5)
    machine = FPC(validation=(valid, truth), max_degree=6, **settings).fit(X, Y)
    degrees = range(1, min(6, largest_degree(600, 2)) + 1)
    alone = {s: FPC(s, **settings).fit(X, Y) for s in degrees}
    accuracies = {s: one.score(valid, truth) for s, one in alone.items()}
    assert machine.validation_accuracy_ == pytest.approx(accuracies)
    assert machine.degree_ == max(accuracies, key=accuracies.get)
    np.testing.assert_allclose(
        machine.decision_function(NEW),
        alone[machine.degree_].decision_function(NEW),
        rtol=1e-6,
        atol=1e-8,
    )


@pytest.mark.parametrize("basis", ["power", "chebyshev"])
@pytest.mark.parametrize("validation", [0.25, 3])
def test_the_chosen_degree_is_fitted_on_all_rows(basis, validation):
    machine = FPC(validation=validation, basis=basis, random_state=0, max_degree=5).fit(X, Y)
    assert set(machine.validation_accuracy_) == {1, 2, 3, 4, 5}
    alone = FPC(machine.degree_, basis=basis).fit(X, Y)
    np.testing.assert_allclose(
        machine.decision_function(NEW), alone.decision_function(NEW), rtol=1e-5, atol=1e-7
    )
    assert machine.score(NEW, TRUE) > 0.9


def test_folds_are_averaged_over_their_own_rows():
    codes = (Y > 0).astype(int)
    machine = FPC(validation=4, random_state=3, max_degree=3, basis="chebyshev").fit(X, codes)
    seed = np.random.RandomState(3).randint(2**31 - 1)
    expected = dict.fromkeys((1, 2, 3), 0.0)
    # The box is that of all rows, as for the shared Gram matrix.
    box = np.vstack([X.min(axis=0), X.max(axis=0)])
    for train, held_out in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, codes):
        for s in expected:
            cheb = PolynomialMap(s, basis="chebyshev").fit(box)
            u = solve_hinge_admm(cheb.transform(X[train]), 2.0 * codes[train] - 1).coefficients
            decided = cheb.decision(X[held_out], u) > 0
            expected[s] += np.mean(decided == codes[held_out]) / 4
    assert machine.validation_accuracy_ == pytest.approx(expected)


def test_weights_count_where_the_degree_is_chosen():
    weights = np.random.default_rng(3).random(600) ** 4
    machine = FPC(validation=0.3, random_state=1, max_degree=3, basis="chebyshev")
    machine.fit(X, Y, sample_weight=weights)
    seed = np.random.RandomState(1).randint(2**31 - 1)
    split = StratifiedShuffleSplit(1, test_size=0.3, random_state=seed)
    train, held_out = next(split.split(X, Y))
    box = np.vstack([X.min(axis=0), X.max(axis=0)])
    expected = {}
    for s in (1, 2, 3):
        features = PolynomialMap(s, basis="chebyshev").fit(box)
        u = solve_hinge_admm(
            features.transform(X[train]), Y[train], sample_weight=weights[train]
        ).coefficients
        right = np.sign(features.decision(X[held_out], u)) == Y[held_out]
        expected[s] = np.average(right, weights=weights[held_out])
    assert machine.validation_accuracy_ == pytest.approx(expected)


def test_few_rows_in_many_dimensions_try_degrees_that_share_nothing():
    """Where n is the number of rows the powers cannot be had from Chebyshev's basis."""
    wide = np.random.default_rng(0).random((60, 12))
    labels = (wide[:, 0] * wide[:, 1] > 0.25).astype(int)
    machine = FPC(random_state=0).fit(wide, labels)
    assert set(machine.validation_accuracy_) == {1, 2}
    assert np.all(np.isfinite(machine.decision_function(wide)))


def test_classes_with_a_single_row_can_still_be_validated():
    labels = np.where(X[:, 0] > 0.5, "right", "left").astype(object)
    labels[0] = "lonely"
    machine = FPC(validation=0.3, random_state=0, max_degree=3).fit(X, labels)
    assert machine.score(X, labels) > 0.9


def test_grid_search_may_choose_as_well():
    search = GridSearchCV(FPC(basis="chebyshev"), {"degree": [1, 5]}, cv=3).fit(X, Y)
    assert search.best_params_["degree"] == 5


# ------------------------------------------------------------------------------ hard input
def test_rows_of_weight_zero_are_not_there():
    weights = np.where(np.arange(600) % 3 == 0, 0.0, 1.0)
    spoiled = X.copy()
    spoiled[weights == 0] = 1e6
    weighted = FPC(3).fit(spoiled, Y, sample_weight=weights)
    absent = FPC(3).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_allclose(
        weighted.decision_function(NEW), absent.decision_function(NEW), rtol=1e-7, atol=1e-9
    )
    with pytest.raises(ValueError, match="1 class only"):
        FPC(2).fit(X, Y, sample_weight=(Y > 0).astype(float))


def test_class_weights_are_row_weights():
    by_class = FPC(3, class_weight={-1: 1.0, 1: 5.0}).fit(X, Y).decision_function(NEW)
    by_row = FPC(3).fit(X, Y, sample_weight=np.where(Y > 0, 5.0, 1.0)).decision_function(NEW)
    np.testing.assert_array_equal(by_class, by_row)
    assert np.mean(by_class > 0) > np.mean(FPC(3).fit(X, Y).decision_function(NEW) > 0)


def test_constant_columns_change_nothing_but_the_number_of_centres():
    constant = np.column_stack([X[:, 0], np.full(600, 7.0), X[:, 1]])
    new = np.column_stack([NEW[:, 0], np.full(500, 7.0), NEW[:, 1]])
    machine = FPC(3).fit(constant, Y)
    assert machine.n_centres_ == 20
    plain = FPC(3, n_centres=20).fit(X, Y)
    np.testing.assert_allclose(
        machine.decision_function(new), plain.decision_function(NEW), rtol=1e-6, atol=1e-8
    )


def test_more_centres_than_dimensions_as_in_table_v():
    """1652 centres where the polynomials have dimension 1287: rank deficient, held by alpha."""
    machine = FPC(3, n_centres=14).fit(X, Y)
    assert machine.coef_.shape == (1, 14)
    assert machine.approximation_.centre_check_.rank == 10
    assert np.all(np.isfinite(machine.coef_))
    assert machine.score(NEW, TRUE) > 0.9


def test_labels_of_any_kind_come_back():
    names = np.where(Y > 0, "above", "below")
    machine = FPC(3).fit(X, names)
    assert list(machine.classes_) == ["above", "below"]
    assert np.mean(machine.predict(NEW) == np.where(TRUE > 0, "above", "below")) > 0.9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"degree": "best"}, "degree must be a positive whole number"),
        ({"degree": 0}, "degree must be a positive whole number"),
        ({"alpha": 0}, "alpha must be a positive number"),
        ({"validation": 1.5}, "validation=1.5 is not a share"),
        ({"validation": 1}, "validation=1 folds of 600 rows"),
        ({"validation": (NEW, np.full(500, 3))}, r"labels not trained on: \[3\]"),
        ({"n_centres": 10_000, "degree": 3}, "exceeds the 600 rows"),
    ],
)
def test_bad_parameters_say_what_is_wrong(changes, message):
    with pytest.raises(ValueError, match=message):
        FPC(**changes).fit(X, Y)


def test_bad_rows_say_what_is_wrong(tmp_path):
    with pytest.raises(ValueError, match="1 class only"):
        FPC(2).fit(X, np.ones(600))
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="600 rows, but 500 labels"):
        FPC(2).fit(tmp_path / "rows.npy", TRUE)
    machine = FPC(2).fit(tmp_path / "rows.npy", Y)
    np.save(tmp_path / "wide.npy", np.ones((4, 3)))
    with pytest.raises(ValueError, match="X has 3 features, but FPC is expecting 2"):
        machine.predict(tmp_path / "wide.npy")
    with pytest.warns(UserWarning, match="Use scaling='unit'"):
        FPC(2, scaling="none").fit(1000 * X, Y)


def test_three_species_of_iris():
    flowers, species = load_iris(return_X_y=True)
    machine = FPC(random_state=0).fit(flowers, species)
    assert machine.score(flowers, species) > 0.85
    assert machine.timings_["total"] > 0
    assert machine.nbytes_ > 0
    assert {"approximate", "choose degree", "solve"} < machine.timings_.keys()


@pytest.mark.usefixtures("real_data")
def test_magic_as_in_table_ii():
    magic = load_dataset("magic", paper="fpc", seed=0)
    machine = FPC(validation=(magic.X_valid, magic.y_valid)).fit(magic.X_train, magic.y_train)
    assert machine.degree_ == 3
    assert machine.n_centres_ == 286
    assert machine.score(magic.X_test, magic.y_test) == pytest.approx(0.851, abs=0.012)
