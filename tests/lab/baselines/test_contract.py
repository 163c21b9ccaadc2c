"""What every baseline promises, run over the registry."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab.lab.baselines import BASELINES, LibSVM
from kernlab.runtime import MemoryLimitError

# Competitors are stopped early, as the papers stop them.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
PRESENT = [name for name, spec in BASELINES.items() if not spec.missing()]
every = pytest.mark.parametrize("name", PRESENT)


def rows(n_classes=2, n=240):
    X, y = make_classification(
        n, 8, n_informative=6, n_redundant=0, n_classes=n_classes, class_sep=1.5, random_state=0
    )
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def build(name, **parameters):
    return BASELINES[name].make(random_state=0, **parameters)


@every
@pytest.mark.parametrize("n_classes", [2, 4])
def test_fits_reports_and_predicts(name, n_classes):
    X, y = rows(n_classes)
    before, weights = X.copy(), np.ones(len(y))
    baseline = build(name)
    assert baseline.fit(X, y, weights) is baseline
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(baseline.classes_, np.unique(y))
    times = baseline.timings_
    assert 0.0 < times["approximate"] + times["solve"] <= times["total"]
    assert baseline.nbytes_ > 0
    assert baseline.n_iter_ >= 1
    decision = baseline.decision_function(X)
    assert decision.shape == ((len(y),) if n_classes == 2 else (len(y), n_classes))
    best = (decision > 0).astype(int) if n_classes == 2 else decision.argmax(axis=1)
    agree = np.mean(baseline.classes_[best] == baseline.predict(X))
    assert agree == 1.0 or (n_classes > 2 and type(baseline) is LibSVM and agree > 0.97)  # votes
    if name != "majority":
        assert baseline.score(X, y) > np.mean(y == "ant") + 0.2
    copy = pickle.loads(pickle.dumps(baseline))
    np.testing.assert_array_equal(copy.predict(X), baseline.predict(X))
    again = clone(baseline).fit(X, y).decision_function(X)
    np.testing.assert_array_equal(again, decision)  # the same seed


@every
def test_sparse_rows_decide_as_dense_rows_do(name):
    X, y = rows(3)
    X[np.abs(X) < 0.7] = 0.0
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    dense = build(name).fit(X, y).decision_function(X)
    if name == "sgd":
        pytest.skip("scikit-learn's takes smaller steps of the intercept for sparse rows")
    random = name in ("random-forest", "libsvm", "libsvm-subsample")  # order of rows; of votes
    for form in (sp.csc_matrix(X), sp.csr_array(X), wide):
        sparse = build(name).fit(form, y).decision_function(form)
        np.testing.assert_allclose(sparse, dense, atol=5e-2 if random else 1e-3)


@every
def test_rows_of_weight_zero_are_absent_and_classes_have_weights(name):
    """Even where such rows would have changed gamma, the landmarks or the bootstrap."""
    X, y = rows(3)
    weights = np.random.default_rng(0).choice([0.0, 1.0], len(y))
    kept = weights > 0
    spoilt = np.where(kept[:, None], X, 1e3)
    absent = build(name).fit(X[kept], y[kept]).decision_function(X)
    weighted = build(name).fit(spoilt, y, weights).decision_function(X)
    np.testing.assert_array_equal(weighted, absent)
    by_class = build(name, class_weight={"ant": 5.0, "bee": 1.0, "cat": 1.0}).fit(X, y)
    by_hand = build(name).fit(X, y, np.where(y == "ant", 5.0, 1.0))
    np.testing.assert_array_equal(by_class.decision_function(X), by_hand.decision_function(X))


@every
@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda X, y: (X, np.full(len(X), "ant"), None), "only one class, 'ant'"),
        (lambda X, y: (X, y, (y != "bee").astype(float)), "of positive weight must be of"),
        (lambda X, y: (X, y, -np.ones(len(y))), "[Nn]egative"),
        (lambda X, y: (np.where(X > 2, np.nan, X), y, None), "NaN"),
    ],
)
def test_bad_input_is_refused(name, spoil, text):
    X, y, weights = spoil(*rows(3))
    with pytest.raises(ValueError, match=text):
        build(name).fit(X, y, weights)


DIALS = {  # what trades time for error, and its ends
    "libsvm": ("tol", 1.0, 1e-3), "libsvm-subsample": ("n_samples", 250, 4000),
    "cvm": ("eps", 1e-3, 1e-6), "lasvm": ("epochs", 1, 3), "racqp": ("max_iter", 5, 100),
    "amm": ("epochs", 1, 30), "amm-batch": ("epochs", 1, 30), "linear": ("tol", 1.0, 1e-3),
    "poly2": ("tol", 1.0, 1e-3), "nystroem": ("n_components", 50, 2000),
    "fourier": ("n_components", 50, 2000), "sklearnex": ("tol", 1.0, 1e-3),
    "thundersvm": ("tol", 1.0, 1e-3), "random-forest": ("n_estimators", 10, 300),
    "boosting": ("n_estimators", 10, 300), "hist-boosting": ("max_iter", 10, 300),
    "lightgbm": ("n_estimators", 10, 300), "sgd": ("max_iter", 1, 30),
    "ridge": ("alpha", 1e-2, 1e2),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in DIALS if name in PRESENT])
def test_the_dial_turns(name):
    """Further along the dial a fit takes other decisions."""
    (dial, *ends), (X, y) = DIALS[name], rows(n=400)
    fits = [build(name, **{dial: value}).fit(X, y).decision_function(X) for value in ends]
    assert not np.array_equal(*fits)
    turned = build(name).set_params(**{dial: ends[0]}).fit(X, y)
    np.testing.assert_array_equal(turned.decision_function(X), fits[0])


def test_titles_differ_and_what_is_absent_is_said_in_one_sentence(monkeypatch):
    assert len({spec.title for spec in BASELINES.values()}) == len(BASELINES)
    for package, name in (("sklearnex", "sklearnex"), ("lightgbm", "lightgbm")):
        monkeypatch.setitem(__import__("sys").modules, package, None)
        monkeypatch.setitem(__import__("sys").modules, f"{package}.svm", None)
        said = BASELINES[name].missing()
        assert said.endswith(f"pip install {BASELINES[name].package}")
    assert not BASELINES["libsvm"].missing()


def test_features_that_would_be_too_large_are_refused_before_they_are_made():
    X, y = np.random.default_rng(0).normal(size=(500, 100)), np.arange(500) % 2
    for name, each, copies in (("nystroem", 800, 3), ("poly2", 8 * 5151, 3)):
        with pytest.raises(MemoryLimitError, match=f"500 x {each:,} bytes, {copies} times"):
            build(name, max_memory="1MB").fit(X, y)
    few = sp.random(500, 100, density=0.01, random_state=0, format="csr")
    build("poly2", max_memory="1MB").fit(few, y)  # few are stored
    with pytest.raises(MemoryLimitError, match="500 x 800 bytes, 1 times"):
        build("hist-boosting", max_memory="100kB").fit(few, y)
    with pytest.raises(MemoryLimitError, match="2 times"):  # LIBLINEAR's own copy
        build("linear", max_memory="100kB").fit(X, y)


def test_new_rows_are_mapped_in_blocks(monkeypatch):
    X, y = rows(3)
    poly2 = build("poly2").fit(X, y)
    whole = poly2.decision_function(X)
    monkeypatch.setattr("kernlab.lab.baselines.base.BLOCK_BYTES", 8 * 45 * 7)
    np.testing.assert_allclose(poly2.decision_function(X), whole, rtol=1e-12)


LOOSE = "the default tolerance, or gamma by a rule that counts repeated rows, blurs the identity"
EQUIVALENCE = {
    f"check_sample_weight_equivalence_on_{form}_data": LOOSE for form in ("dense", "sparse")
}
NO_SHIFT = {"check_class_weight_classifiers": "no weight moves its boundary as far as is asked"}
# Models of scikit-learn in one wrapper differ in scikit-learn's part alone: one, and a pipeline.
CHECKED = ("libsvm", "cvm", "lasvm", "racqp", "amm", "parzen", "linear", "nystroem")
# Each class of a Parzen window has one mean, whatever the weights.
EXPECTED = dict.fromkeys(CHECKED, EQUIVALENCE) | {"nystroem": {}, "parzen": EQUIVALENCE | NO_SHIFT}
ESTIMATORS = {name: build(name) for name in CHECKED}
assert {type(one) for one in ESTIMATORS.values()} == {type(build(name)) for name in PRESENT}


def expected_failures(estimator):
    return next(EXPECTED[name] for name, one in ESTIMATORS.items() if repr(one) == repr(estimator))


@parametrize_with_checks(
    list(ESTIMATORS.values()), expected_failed_checks=expected_failures, xfail_strict=True
)
def test_follows_scikit_learn(estimator, check):
    check(estimator)
