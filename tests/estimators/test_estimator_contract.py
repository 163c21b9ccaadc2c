"""What every estimator of the registry promises, and scikit-learn's own checks of each."""

import doctest
import gc
import pickle
import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import dump_svmlight_file, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import kernlab
from kernlab import FPC, HSSSVC, LASN, LLSVM, KernelMachine, LASNRegressor, SparseCholeskySVC
from kernlab.estimators import ESTIMATORS
from kernlab.rows import as_rows
from kernlab.runtime import MemoryLimitError

X, Y = make_moons(300, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(200, noise=0.2, random_state=1)
Y3 = Y + (X[:, 0] > 1.0)
# One of each, to the optimum of what it approximates, from landmarks that rows of any form have.
CASES = {
    "KernelMachine": KernelMachine("exact", "newton", gamma=1.0, tol=1e-9),
    "LASN": LASN(20, gamma=1.0, landmarks="first", tol=1e-9),
    "LASNRegressor": LASNRegressor(20, gamma=1.0, landmarks="first", tol=1e-9),
    "LLSVM": LLSVM(20, gamma=1.0, landmarks="first", tol=1e-6, max_iter=3000),
    "SparseCholeskySVC": SparseCholeskySVC(sigma=0.2, l=3, tol=1e-6, max_iter=100_000),
    "SparseCholeskySVC-newton": SparseCholeskySVC(sigma=0.2, solver="newton", tol=1e-9),
    "SparseCholeskySVC-merge": SparseCholeskySVC(sigma=0.2, merge=True, solver="newton", tol=1e-9),
    "HSSSVC": HSSSVC(h=0.3, leaf_size=64, random_state=0),
    "HSSSVC-structure": HSSSVC(h=0.3, leaf_size=64, random_state=0, prediction="structure"),
    "FPC": FPC(4),
    "FPC-optimum": FPC(2, basis="chebyshev", to_optimum=True),
}
assert {name.partition("-")[0] for name in CASES} == set(ESTIMATORS)
EACH = pytest.mark.parametrize("name", CASES)
EACH_CLASSIFIER = pytest.mark.parametrize("name", [n for n in CASES if n != "LASNRegressor"])

WEIGHTS_ARE_REPETITIONS = [
    f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")
]


def fitted(name, rows=X, labels=Y, **changes):
    return clone(CASES[name]).set_params(**changes).fit(rows, labels)


def scores(machine, rows=NEW):
    return machine.decision_function(rows) if is_classifier(machine) else machine.predict(rows)


# The optimum alone is the same whether a row has weight two or stands there twice.
TO_THE_OPTIMUM = [
    KernelMachine("exact", "dcd", gamma=0.1, intercept="penalised", tol=0, max_iter=20_000),
    LASN(),
    LASNRegressor(random_state=0),
    LLSVM(tol=1e-12, max_iter=3000, random_state=0),
    SparseCholeskySVC(sigma=1.0, shift=0.0, solver="newton", intercept="free"),
    HSSSVC(h=1.0, tol=1e-10, max_iter=5000, beta="adaptive"),
    FPC(),
]
EXPECTED = "the shift is added for each row: twice the same row is not a row of weight two"


def checks_of(estimators, of_weights, *marks):
    """Estimators with scikit-learn's checks: of weights as repetitions, or all others."""
    for one in estimators:
        for estimator, check in estimator_checks_generator(one):
            if (check.func.__name__ in WEIGHTS_ARE_REPETITIONS) == of_weights:
                id = f"{type(one).__name__}-{check.func.__name__}"
                yield pytest.param(estimator, check, id=id, marks=marks)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        *checks_of([cls() for cls in ESTIMATORS.values()], False),
        *checks_of([SparseCholeskySVC()], True, pytest.mark.xfail(reason=EXPECTED, strict=True)),
        *checks_of(TO_THE_OPTIMUM, True),
    ],
)
# The checks fit rows of noise and random labels, on which few steps do not converge, and say so.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", [*ESTIMATORS, "sweep"])
def test_the_examples_in_docstrings_hold(name):
    found = doctest.DocTestFinder().find(getattr(kernlab, name), name, globs={})
    examples = [test for test in found if test.examples]
    assert examples
    assert all(doctest.DocTestRunner().run(test).failed == 0 for test in examples)


# ------------------------------------------------------------------------------ fitted attributes
@EACH
def test_fitted_attributes(name):
    machine = fitted(name)
    parts = {k: s for k, s in machine.timings_.items() if k.startswith("approximate: ")}
    assert parts
    assert sum(parts.values()) <= machine.timings_["approximate"] * 1.001
    whole = machine.timings_["approximate"] + machine.timings_["solve"]
    assert machine.timings_["total"] == pytest.approx(whole)
    assert machine.n_features_in_ == 2
    assert len(machine.results_) == len(machine.intercept_) == 1
    assert machine.result_ is machine.results_[0]
    assert machine.n_iter_ == machine.result_.n_iter
    assert machine.nbytes_ > machine.approximation_.nbytes > 0
    if hasattr(machine, "coef_"):
        assert not hasattr(machine, "dual_coef_")
        assert machine.coef_.shape == (1, machine.approximation_.rank_)
        by_hand = machine.approximation_.transform(NEW) @ machine.coef_[0] + machine.intercept_
        np.testing.assert_allclose(scores(machine) if is_classifier(machine) else
                                   machine.predict(NEW), by_hand, rtol=1e-6, atol=1e-9)  # fmt: skip
    else:
        assert machine.dual_coef_.shape == (1, len(machine.support_))
        assert np.all(np.diff(machine.support_) > 0)
        assert np.all(machine.dual_coef_ != 0)
    if is_classifier(machine):
        assert list(machine.classes_) == [0, 1]
        np.testing.assert_array_equal(machine.predict(NEW), scores(machine) > 0)
        assert machine.score(NEW, NEW_Y) == np.mean(machine.predict(NEW) == NEW_Y)


@EACH
def test_clones_pickles_and_repeated_fits_are_the_same_machine(name):
    machine = fitted(name)
    expected = scores(machine)
    np.testing.assert_array_equal(scores(fitted(name)), expected)
    np.testing.assert_array_equal(scores(pickle.loads(pickle.dumps(machine))), expected)
    assert clone(machine).get_params() == CASES[name].get_params()


@pytest.mark.filterwarnings("ignore::UserWarning")
@EACH
def test_a_fit_leaves_nothing_behind_but_the_fitted_machine(name):
    """Of the size of features, without waiting for garbage collection: tracemalloc counts."""
    rows, labels = make_moons(2500, noise=0.2, random_state=0)
    sizes, known = {"n_landmarks": 150, "sigma": 0.03, "tol": 1e-3}, CASES[name].get_params()
    sizes = {key: value for key, value in sizes.items() if known.get(key) is not None}
    fitted(name, rows, labels, **sizes)  # compiles
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        machine = fitted(name, rows, labels, **sizes)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert held < machine.nbytes_ + 8 * len(rows) * 150 / 4


@EACH
def test_another_fit_forgets_and_a_failed_one_leaves_what_there_was(name):
    table = pd.DataFrame(X, columns=["across", "up"])
    machine = fitted(name, table)
    assert list(machine.feature_names_in_) == ["across", "up"]
    before = scores(machine, table)
    rows, labels = np.random.default_rng(0).random((500, 9)), np.arange(500) % 2
    with pytest.raises(MemoryLimitError):
        machine.set_params(max_memory="1kB").fit(rows, labels)
    np.testing.assert_array_equal(scores(machine.set_params(max_memory=None), table), before)
    machine.fit(X, Y)
    assert not hasattr(machine, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(scores(machine, X), before, rtol=1e-9)


# ------------------------------------------------------------------- what is said beside the fit
@EACH
def test_verbose_tells_stages_and_steps_and_nothing_else_does(name, capsys):
    machine = fitted(name)
    assert capsys.readouterr() == ("", "")
    fitted(name, verbose=True)
    told = capsys.readouterr().out.splitlines()
    kind = f"{type(machine).__name__}: "
    assert all(line.startswith(kind) for line in told)
    stages = [line[len(kind) : -len(" ...")] for line in told if line.endswith(" ...")]
    assert {f"approximate: {stage}" for stage in stages} & set(machine.timings_)
    for stage in stages:
        assert any(re.fullmatch(rf"{kind}{stage}: \d+\.\d\d s", line) for line in told)
    steps = [line for line in told if f"{kind}{machine.result_.solver}, step " in line]
    assert steps
    assert all(re.search(r"objective \S+, residual or gap \S+, \d+\.\d s$", line) for line in steps)


UNTUNED = {name: ESTIMATORS[name]() for name in ("KernelMachine", "LASN", "LLSVM", "HSSSVC")}
CHOOSING = {  # with parameters that are chosen by rows held out, or that nobody chose
    "FPC": FPC(random_state=0),
    "SparseCholeskySVC": SparseCholeskySVC(sigma="cv", solver="newton", random_state=0),
} | {name: machine.set_params(random_state=0) for name, machine in UNTUNED.items()}


@pytest.mark.parametrize("name", UNTUNED)
def test_defaults_are_held_against_a_linear_machine_and_choices_are_not(name):
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(600, 100))
    labels = rows[:, 0] > 0.0
    told = rf"{name} is right on \d\d\.\d % of held-out .* linear machine 9\d\.\d %.*recommend"
    with pytest.warns(UserWarning, match=told):
        machine = clone(UNTUNED[name]).fit(rows, labels)
    assert 0.0 < machine.timings_["hold out"] < machine.timings_["total"]
    for choice in ({"C": 2.0}, {"max_memory": "1GB"}):
        assert "hold out" not in clone(machine).set_params(**choice).fit(rows, labels).timings_


@pytest.mark.parametrize("name", CHOOSING)
def test_a_choice_that_is_no_better_than_the_majority_is_told(name):
    rows, labels = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 10 == 0
    told = r"right on \d\d\.\d % of held-out rows, where the most frequent .* 90\.0 %"
    with pytest.warns(UserWarning, match=rf"{name} is {told}"):
        clone(CHOOSING[name]).fit(rows, labels)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*held-out")
        assert clone(CHOOSING[name]).fit(X, Y).score(NEW, NEW_Y) > 0.85


# --------------------------------------------------------------------------- rows from anywhere
@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Rows and labels as files; numbers are written so that they come back exactly."""
    folder = tmp_path_factory.mktemp("rows")
    dump_svmlight_file(X, Y, str(folder / "rows.svm"), zero_based=False)
    table = pd.DataFrame(np.column_stack([X, Y]), columns=["across", "up", "label"])
    table.to_csv(folder / "rows.csv", index=False, float_format="%.17g")
    np.save(folder / "rows.npy", X)
    np.save(folder / "half.npy", np.round(X, 2).astype(np.float16))
    return folder


@EACH
def test_rows_may_come_from_anywhere(name, files):
    expected = scores(fitted(name))
    mapped = np.load(files / "rows.npy", mmap_mode="r")
    for rows, labels in (
        (sp.csr_matrix(X), Y), (np.asfortranarray(X), Y), (mapped, Y), (as_rows(X, Y), None),
        (files / "rows.npy", Y), (str(files / "rows.svm"), None), (files / "rows.csv", None),
    ):  # fmt: skip
        machine = fitted(name, rows, labels)
        np.testing.assert_allclose(scores(machine), expected, atol=2e-3 * np.abs(expected).max())
        assert machine.n_features_in_ == 2
        np.testing.assert_allclose(scores(machine, rows), scores(machine, X), atol=1e-6)
        assert machine.score(rows, labels) == pytest.approx(machine.score(X, Y), abs=1e-9)


@EACH
def test_integers_and_half_precision_are_taken_as_double(name, files):
    half = np.load(files / "half.npy", mmap_mode="r")
    expected = scores(fitted(name, half.astype(np.float64)))
    np.testing.assert_allclose(scores(fitted(name, half, Y)), expected, atol=1e-3)
    whole = np.round(10 * X).astype(int)
    np.testing.assert_array_equal(
        scores(fitted(name, whole), whole), scores(fitted(name, whole.astype(float)), whole)
    )


@EACH
def test_rows_that_cannot_be_used_say_why(name, files, tmp_path):
    machine = clone(CASES[name])
    for bad in (np.nan, np.inf):
        spoilt = X.copy()
        spoilt[217, 1] = bad
        np.save(tmp_path / "spoilt.npy", spoilt.astype(np.float16))
        for rows in (spoilt, tmp_path / "spoilt.npy"):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                machine.fit(rows, Y)
    with pytest.raises(ValueError, match="inconsistent"):
        machine.fit(X, Y[:-1])
    for rows in (X, files / "rows.npy", as_rows(X)):
        with pytest.raises(ValueError, match=r"requires y to be passed|bring no labels"):
            machine.fit(rows)
    with pytest.raises(ValueError, match=r"3 features, but .* is expecting 2"):
        machine.fit(X, Y).predict(np.ones((4, 3)))
    if is_classifier(machine):
        with pytest.raises(ValueError, match="1 class"):
            machine.fit(X, np.ones(300))


# -------------------------------------------------------------------------- weights and classes
@EACH
def test_weights_count_and_those_of_classes_are_those_of_rows(name):
    # Ten steps do not come as far as the bound of a dual variable, but for a small C.
    changes = {"C": 1e-3} if name.startswith("HSS") else {}
    machine = fitted(name, **changes)
    by_row = clone(machine).fit(X, Y, sample_weight=1.0 + 4.0 * Y)
    if is_classifier(by_row):
        by_class = fitted(name, class_weight={0: 1.0, 1: 5.0}, **changes)
        np.testing.assert_array_equal(scores(by_class), scores(by_row))
    assert scores(by_row).mean() > scores(machine).mean()
    with pytest.raises(ValueError, match="at least one non-zero"):
        machine.fit(X, Y, sample_weight=np.zeros(300))


@EACH_CLASSIFIER
def test_each_class_is_told_from_the_rest_as_alone(name):
    machine = fitted(name, labels=np.array(["one", "two", "three"])[Y3])
    assert list(machine.classes_) == ["one", "three", "two"]
    assert len(machine.results_) == 3
    assert scores(machine).shape == (200, 3)
    alone = scores(fitted(name, labels=Y3 == 2))
    np.testing.assert_allclose(scores(machine)[:, 1], alone, atol=2e-3 * np.abs(alone).max())
    chosen = machine.classes_[scores(machine).argmax(axis=1)]
    np.testing.assert_array_equal(machine.predict(NEW), chosen)
    assert machine.n_iter_ == max(result.n_iter for result in machine.results_)
    assert machine.result_.converged == all(result.converged for result in machine.results_)


# -------------------------------------------------------------------------------- parameters
IMPOSSIBLE = [
    ("C", (0.0, -1.0, np.nan, np.inf, "1", [1.0], np.array([1.0]), np.array([1.0, 2.0]))),
    ("alpha", (0, -1.0, "magic")),
    ("backend", ("mumps",)),
    ("basis", ("legendre",)),
    ("beta", (0.0, -1.0, np.nan, "magic")),
    ("centres", ("magic", np.ones((3, 5)), np.full((3, 2), np.nan))),
    ("certificate", ("magic",)),
    ("clustering", ("magic",)),
    ("dtype", ("float16", "int32")),
    ("factor", ("lu",)),
    ("kernel", ("magic",)),
    ("l", ("odd", 0, -1.0)),
    ("landmarks", ("best", np.ones((3, 5)), np.full((3, 2), np.nan))),
    ("leaf_size", (1, 2.5)),
    ("loss", ("logistic",)),
    ("max_rank", (-1, "many")),
    ("mode", ("magic",)),
    ("n_centres", (0, -1, 301)),
    ("ordering", ("best",)),
    ("prediction", ("magic",)),
    ("rel_tol", (-1.0, np.nan)),
    ("scaling", ("standard",)),
    ("shift", (-1.0, np.nan, "magic")),
    ("solver", ("smo",)),
    ("tol", (-1.0, np.nan, "tight")),
    ("max_iter", (0, -1, 2.5, "many")),
    ("random_state", ("abc", -1, 1.5)),
    ("max_memory", ("much", -1, 0)),
    ("gamma", (0.0, -1.0, "magic")),
    ("h", (0.0, -1.0, "magic", 1e300, 1e-300)),
    ("sigma", (0.0, -1.0, "magic", 1e300, 1e-300)),
    ("n_landmarks", (0, 2.5, 301, "many")),
    ("degree", (0, -1, 2.5, "best")),
    ("runs", (0, -1, 2.5)),
    ("block_rows", (0, -1, 2.5)),
    ("drop", (-0.5, 1.5)),
    ("intercept", ("magic",)),
    ("epsilon", (-0.1, np.nan)),
]


@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [(name, *row) for name in CASES for row in IMPOSSIBLE if row[0] in CASES[name].get_params()],
)
def test_what_a_parameter_cannot_be_is_said_by_its_name(name, parameter, values):
    for value in values:
        with pytest.raises((ValueError, TypeError), match=parameter):
            fitted(name, **{parameter: value})


# That they warn where they fall short is what the certificates below judge.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [n for n in CASES if "C" in CASES[n].get_params()])
@pytest.mark.parametrize("C", [1e-8, 1e6])
def test_extreme_costs_end_and_are_certified(name, C):
    """At C near zero every row has about the loss of a score of zero: 1, of the hinge and its
    square alike."""
    machine = fitted(name, C=C, max_iter=10 if "HSS" in name else 300)
    assert np.all(np.isfinite(scores(machine)))
    result = machine.result_
    assert result.dual_objective is None or result.dual_objective <= result.objective * (1 + 1e-9)
    if C < 1 and is_classifier(machine):
        assert result.objective == pytest.approx(300 * C, rel=1e-2)


@pytest.mark.parametrize("name", ["LASN", "KernelMachine", "SparseCholeskySVC-newton"])
def test_grid_search_and_pipelines_take_them(name):
    machine = clone(CASES[name])
    grid = {f"{type(machine).__name__.lower()}__C": [0.1, 1.0]}
    pipeline = make_pipeline(StandardScaler(), machine)
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    expected = clone(pipeline).set_params(**search.best_params_).fit(X, Y)
    np.testing.assert_array_equal(search.decision_function(NEW), scores(expected))


def test_grid_search_reaches_into_the_parameters_of_parts():
    machine = KernelMachine(random_state=0, gamma=1.0, solver_params={"warm_up": False})
    grid = {"approximation_params__n_landmarks": [1, 40]}
    search = GridSearchCV(machine, grid, cv=3).fit(X, Y)
    assert search.best_estimator_.approximation_.rank_ == 40
    assert machine.approximation_params is None
    assert search.best_estimator_.get_params()["solver_params__warm_up"] is False
