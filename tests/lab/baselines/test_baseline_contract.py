"""What every baseline promises, run over the registry."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from kernlab.lab.baselines import BASELINES, Baseline, get_baseline

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(params=BASELINES)
def name(request):
    if request.param == "sklearnex-svc":
        pytest.importorskip("sklearnex", reason="scikit-learn-intelex is not installed")
    return request.param


def rows(n_classes=2, n=240):
    X, y = make_classification(
        n, 8, n_informative=6, n_redundant=0, n_classes=n_classes, class_sep=1.5, random_state=0
    )
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def build(name, **parameters):
    baseline = BASELINES[name]()
    seed = {"random_state": 0} if "random_state" in baseline.get_params() else {}
    return baseline.set_params(**seed, **parameters)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_fits_reports_and_predicts(name, n_classes):
    X, y = rows(n_classes)
    baseline = build(name)
    assert baseline.fit(X, y) is baseline
    np.testing.assert_array_equal(baseline.classes_, np.unique(y))
    assert {"approximate", "solve", "total"} <= set(baseline.timings_)
    parts = baseline.timings_["approximate"] + baseline.timings_["solve"]
    assert 0.0 <= parts <= baseline.timings_["total"]
    assert baseline.nbytes_ > 0
    assert baseline.n_iter_ >= 1
    decision = baseline.decision_function(X)
    assert decision.shape == ((len(y),) if n_classes == 2 else (len(y), n_classes))
    best = (decision > 0).astype(int) if n_classes == 2 else decision.argmax(axis=1)
    agree = np.mean(baseline.classes_[best] == baseline.predict(X))
    assert agree == 1.0 or (n_classes > 2 and "svm" in name and agree > 0.97)  # LIBSVM votes
    chance = np.mean(y == "ant")
    if name != "majority":
        assert baseline.score(X, y) > chance + 0.2


def test_sparse_rows_decide_as_dense_rows_do(name):
    X, y = rows(3)
    X[np.abs(X) < 0.7] = 0.0
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    dense = build(name).fit(X, y)
    tolerance = 5e-2 if name == "random-forest" or "svm" in name else 1e-3
    for form in (sp.csr_matrix(X), sp.csc_matrix(X), sp.csr_array(X), wide):
        sparse = build(name).fit(form, y)
        np.testing.assert_allclose(
            sparse.decision_function(form), dense.decision_function(X), atol=tolerance
        )


def test_the_same_seed_gives_the_same_decisions(name):
    X, y = rows(3)
    first, second = (build(name).fit(X, y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_survives_clone_and_pickle(name):
    X, y = rows()
    baseline = build(name).fit(X, y)
    copy = pickle.loads(pickle.dumps(baseline))
    np.testing.assert_array_equal(copy.predict(X), baseline.predict(X))
    assert clone(baseline).get_params() == baseline.get_params()


def test_rows_of_weight_zero_are_absent(name):
    """Even where they would have changed gamma, the landmarks or the bootstrap."""
    X, y = rows(3)
    weights = np.random.default_rng(0).choice([0.0, 1.0], len(y))
    spoilt = np.where(weights[:, None] > 0, X, 1e3)
    kept = np.flatnonzero(weights)
    weighted = build(name).fit(spoilt, y, weights)
    absent = build(name).fit(X[kept], y[kept])
    np.testing.assert_array_equal(weighted.decision_function(X), absent.decision_function(X))


def test_class_weights_multiply_sample_weights(name):
    if "class_weight" not in BASELINES[name]().get_params():
        pytest.skip(f"{name} has no class weights")
    X, y = rows(3)
    by_hand = np.where(y == "ant", 5.0, 1.0)
    direct = build(name, class_weight={"ant": 5.0, "bee": 1.0, "cat": 1.0}).fit(X, y)
    same = build(name).fit(X, y, by_hand)
    np.testing.assert_allclose(direct.decision_function(X), same.decision_function(X), atol=1e-6)


def test_the_input_is_left_as_it_was(name):
    X, y = rows()
    before = X.copy()
    weights = np.ones(len(y))
    build(name).fit(X, y, weights).predict(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(weights, 1.0)
    sparse = sp.csr_matrix(X)
    build(name).fit(sparse, y)
    np.testing.assert_array_equal(sparse.toarray(), before)


def test_one_class_is_refused(name):
    X, _ = rows()
    with pytest.raises(ValueError, match="only one class, 'ant'"):
        build(name).fit(X, np.full(len(X), "ant"))


def test_a_class_without_weight_is_refused(name):
    X, y = rows(3)
    with pytest.raises(ValueError, match="no row of class bee has a sample_weight above zero"):
        build(name).fit(X, y, (y != "bee").astype(float))


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda X, y: (np.where(X > 2, np.nan, X), y, None), "NaN"),
        (lambda X, y: (X, y[:-1], None), "inconsistent numbers of samples"),
        (lambda X, y: (X, np.linspace(0, 1, len(y)), None), "[Uu]nknown label type"),
        (lambda X, y: (X, y, -np.ones(len(y))), "[Nn]egative"),
        (lambda X, y: (X, y, np.ones(3)), "sample_weight"),
    ],
    ids=["nan", "short", "continuous", "negative weight", "short weight"],
)
def test_bad_input_is_refused(name, spoil, text):
    X, y, weights = spoil(*rows())
    with pytest.raises(ValueError, match=text):
        build(name).fit(X, y, weights)


def test_other_features_are_refused(name):
    X, y = rows()
    baseline = build(name).fit(X, y)
    with pytest.raises(ValueError, match="8 features"):
        baseline.predict(X[:, :5])


def test_every_class_says_what_it_is_for():
    assert len({cls.title for cls in BASELINES.values()}) == len(BASELINES)
    for cls in BASELINES.values():
        assert issubclass(cls, Baseline)
        assert cls.title
        assert cls.compares
        assert cls.__doc__


def test_an_unknown_name_lists_those_there_are():
    assert get_baseline("libsvm") is BASELINES["libsvm"]
    with pytest.raises(ValueError, match="'svmlight' is not one of libsvm, libsvm-subsample"):
        get_baseline("svmlight")


def test_falling_short_is_said_once_with_the_gap():
    X, y = rows(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        baseline = build("liblinear-dcd", max_iter=2, C=100.0).fit(X, y)
    assert [warning.category for warning in caught] == [ConvergenceWarning]
    text = str(caught[0].message)
    assert "stopped at its limit of 2 iterations with a relative duality gap of" in text
    assert f"{baseline.certify(X, y).relative_gap:.2e}" in text
    assert caught[0].filename == __file__
    assert baseline.timings_["certify"] > 0.0
