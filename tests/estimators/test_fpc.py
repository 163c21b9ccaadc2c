"""FPC: the paper's method as an estimator, streamed, weighted, with its degree chosen."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from kernlab import FPC, sweep
from kernlab.approximations import PolynomialMap
from kernlab.datasets.generators import fpc_toy
from kernlab.estimators.fpc import largest_degree
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_hinge_admm
from kernlab.solvers.hinge import passes

X, Y = fpc_toy(600, seed=0)
NEW, _ = fpc_toy(500, noise=0.0, seed=1)
CODES = (Y > 0).astype(int)


# ------------------------------------------------------------------------- what it computes
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize("n_centres", [None, 4])
def test_it_is_admm_on_the_papers_features(degree, n_centres):
    """Whether the powers are read directly or by way of Chebyshev's basis."""
    machine = FPC(degree, n_centres=n_centres, tol=0, max_iter=4).fit(X, Y)
    scaled = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    n = (degree + 1) * (degree + 2) // 2 if n_centres is None else n_centres
    features = (1 + scaled @ scaled[:n].T) ** degree  # eq. 4 to 6
    by_hand = solve_hinge_admm(features, Y, tol=0, max_iter=4)
    assert (machine.degree_, machine.n_centres_) == (degree, n)
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


# ------------------------------------------------------------------------------ weights
@pytest.mark.parametrize("settings", [{}, {"max_iter": 1}, {"basis": "chebyshev"}])
def test_weights_are_repetitions_and_rows_of_weight_zero_are_not_there(settings):
    weights = np.random.default_rng(2).integers(0, 4, 600)
    again = np.repeat(np.arange(600), weights)
    spoilt = X.copy()
    spoilt[weights == 0] = 1e6
    weighted = FPC(3, **settings).fit(spoilt, Y, sample_weight=weights)
    repeated = FPC(3, **settings).fit(X[again], Y[again])
    np.testing.assert_allclose(
        weighted.decision_function(NEW), repeated.decision_function(NEW), rtol=1e-7, atol=1e-9
    )
    with pytest.raises(ValueError, match="1 class only"):
        FPC(2).fit(X, Y, sample_weight=(Y > 0).astype(float))


# ------------------------------------------------------------------------------ streaming
@pytest.mark.parametrize("settings", [{}, {"n_centres": 50}, {"to_optimum": True, "max_iter": 9}])
# Nine steps take the memory of all.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_memory_grows_with_the_rows_not_with_rows_times_features(settings, monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "1")

    def peak(m):
        rows, labels = np.random.default_rng(0).random((m, 3)), np.arange(m) % 2
        tracemalloc.start()
        FPC(6, **settings).fit(rows, labels)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    rows, features = 30_000, 84
    peak(2 * rows)  # loops are compiled at their first call, which takes megabytes
    growth = peak(2 * rows) - peak(rows)
    assert growth < 8 * rows * 8, "at most a few numbers per row, of 84 features"
    assert growth < 8 * rows * features / 8


def test_memory_is_predicted_before_it_is_taken():
    wide = np.random.default_rng(0).random((200, 300))
    with pytest.raises(MemoryLimitError, match="polynomial features of degree 3 in 300 variables"):
        FPC(3, basis="chebyshev").fit(wide, np.arange(200) % 2)
    with pytest.raises(MemoryLimitError, match="a lower degree or fewer centres"):
        FPC(max_memory="10kB").fit(X, Y)
    with pytest.raises(MemoryLimitError, match=r"with 10 features .*600 rows x 1 \+ 6 x 10"):
        FPC(3, n_centres=10, max_memory="6kB").fit(X, Y)


# --------------------------------------------------------------------- choosing the degree
@pytest.mark.parametrize(
    "settings",
    [{"basis": "power"}, {"basis": "chebyshev"}, {"basis": "chebyshev", "to_optimum": True}],
)
def test_degrees_tried_on_given_rows_are_those_tried_alone(settings, monkeypatch):
    valid, truth = fpc_toy(300, noise=0.1, seed=5)
    degrees = range(1, min(6, largest_degree(600, 2)) + 1)
    alone = {s: FPC(s, **settings).fit(X, Y) for s in degrees}
    counted, gram_sum = [], passes.Data.gram_sum
    monkeypatch.setattr(passes.Data, "gram_sum", lambda d: counted.append(d.n) or gram_sum(d))
    machine = FPC(validation=(valid, truth), max_degree=6, **settings).fit(X, Y)
    if "to_optimum" not in settings:  # whose Newton matrices are Gram matrices as well
        assert counted == [28], "that of the largest degree serves all others"
    accuracies = {s: one.score(valid, truth) for s, one in alone.items()}
    assert machine.validation_accuracy_ == pytest.approx(accuracies)
    assert machine.degree_ == max(accuracies, key=accuracies.get)
    np.testing.assert_allclose(
        machine.decision_function(NEW), alone[machine.degree_].decision_function(NEW),
        rtol=1e-6, atol=1e-8,
    )  # fmt: skip
    assert machine.timings_["choose degree"] > 0
    grid = sweep(FPC(**settings), X, Y, {"degree": list(degrees)}, validation=(valid, truth))
    assert grid["validation_accuracy"].tolist() == pytest.approx(list(accuracies.values()))


@pytest.mark.parametrize("basis", ["power", "chebyshev"])
@pytest.mark.parametrize("validation", [0.3, 4])
def test_the_chosen_degree_is_validated_by_rows_of_its_own_and_fitted_on_all(basis, validation):
    weights = np.random.default_rng(3).random(600) ** 4
    machine = FPC(validation=validation, basis=basis, random_state=3, max_degree=4)
    machine.fit(X, CODES, sample_weight=weights)
    seed = np.random.RandomState(3).randint(2**31 - 1)
    splitter = (
        StratifiedKFold(4, shuffle=True, random_state=seed)
        if validation == 4
        else StratifiedShuffleSplit(1, test_size=0.3, random_state=seed)
    )
    expected = {
        s: np.mean([
            FPC(s, basis=basis).fit(X[train], CODES[train], weights[train])
            .score(X[held_out], CODES[held_out], weights[held_out])
            for train, held_out in (map(np.sort, split) for split in splitter.split(X, CODES))
        ])
        for s in (1, 2, 3, 4)
    }  # fmt: skip
    assert machine.validation_accuracy_ == pytest.approx(expected)
    assert expected[machine.degree_] == pytest.approx(max(expected.values()))
    alone = FPC(machine.degree_, basis=basis).fit(X, CODES, sample_weight=weights)
    np.testing.assert_allclose(machine.decision_function(NEW), alone.decision_function(NEW))


def test_few_rows_and_rare_classes_can_still_be_validated():
    """Where n is the number of rows the powers cannot be had from Chebyshev's basis."""
    wide = np.random.default_rng(0).random((60, 12))
    machine = FPC(random_state=0).fit(wide, wide[:, 0] * wide[:, 1] > 0.25)
    assert set(machine.validation_accuracy_) == {1, 2}
    labels = np.where(X[:, 0] > 0.5, "right", "left").astype(object)
    labels[0] = "lonely"
    machine = FPC(validation=0.3, random_state=0, max_degree=3).fit(X, labels)
    assert machine.score(X, labels) > 0.9
    flowers, species = load_iris(return_X_y=True)
    assert FPC(random_state=0).fit(flowers, species).score(flowers, species) > 0.85


def test_weights_of_powers_are_those_of_the_scores_found_in_another_basis():
    """Powers depend on each other: the nearest weights to those of Chebyshev's basis have scores of
    their own, and would be taken back for none at all."""
    rows, codes = make_classification(1500, 9, weights=[0.95], random_state=2)
    rows /= np.abs(rows).max(axis=0)
    early = FPC(3).fit(rows, codes)
    machine = FPC(3, to_optimum=True).fit(rows, codes)
    lost = np.maximum(0.0, 1.0 - np.where(codes, 1, -1) * machine.decision_function(rows)).mean()
    assert machine.result_.objective == pytest.approx(lost, rel=1e-6, abs=1e-9)
    assert lost < 0.1 * early.result_.objective
    assert machine.score(rows, codes) > early.score(rows, codes)


@pytest.mark.parametrize("validation", [[1.0], (0.2, 0.3, 0.5), "half", True, 1.0, 1])
def test_what_is_no_way_to_validate_is_refused_in_words(validation):
    with pytest.raises(ValueError, match=r"validation=.* (is not a share|cannot be made)"):
        FPC(validation=validation).fit(X, Y)


def test_a_search_to_the_optimum_ends_in_time():
    with pytest.warns(ConvergenceWarning, match=r"time \(max_seconds\) is over"):
        machine = FPC(5, to_optimum=True, max_seconds=1e-9).fit(X, Y)
    assert machine.result_.objective == 1.0
    with pytest.raises(ValueError, match="takes no max_seconds: leave out"):
        FPC(5, max_seconds=1.0).fit(X, Y)
