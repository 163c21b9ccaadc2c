"""Ridge, Parzen window, majority and forest against formulas written out."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier

from kernlab.kernels import make_kernel
from kernlab.lab.baselines import (
    FPC_TREE_COUNTS,
    Majority,
    Parzen,
    RandomForest,
    RidgeOnFeatures,
)
from kernlab.runtime import MemoryLimitError


def rows(n_classes=2, n=150):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=1
    )


# ----------------------------------------------------------------------------------- ridge
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_ridge_solves_the_normal_equations(n_classes, form):
    """(F^T W F + alpha I)^-1 F^T W Y: with alpha = 1 and no weights FPC's first step."""
    X, y = rows(n_classes)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    targets = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
    targets = targets[:, 1:] if n_classes == 2 else targets
    normal = X.T @ (weights[:, None] * X) + 3.0 * np.eye(6)
    expected = X @ np.linalg.solve(normal, X.T @ (weights[:, None] * targets))
    ridge = RidgeOnFeatures(alpha=3.0).fit(form(X), y, weights)
    np.testing.assert_allclose(
        ridge.decision_function(form(X)).reshape(len(y), -1), expected, atol=1e-9
    )
    assert np.all(ridge.intercept_ == 0.0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_ridge_with_a_free_intercept_is_scikit_learns(form):
    X, y = rows(3)
    ridge = RidgeOnFeatures(intercept="free").fit(form(X), y)
    reference = RidgeClassifier().fit(X, y)
    np.testing.assert_allclose(
        ridge.decision_function(form(X)), reference.decision_function(X), atol=1e-8
    )


def test_ridge_takes_any_transformer_and_leaves_it_unfitted():
    X, y = rows()
    features = Nystroem(n_components=30, gamma=0.1, random_state=0)
    ridge = RidgeOnFeatures(features).fit(X, y)
    by_hand = RidgeOnFeatures().fit(features.fit_transform(X), y)
    np.testing.assert_allclose(
        ridge.decision_function(X), by_hand.decision_function(features.transform(X))
    )
    assert ridge.timings_["approximate"] > 0.0
    untouched = Nystroem()
    RidgeOnFeatures(untouched).fit(X, y)
    assert not hasattr(untouched, "components_")
    assert (
        RidgeOnFeatures(untouched, alpha=2.0).set_params(features__gamma=0.5).features.gamma == 0.5
    )


def test_ridge_refusals():
    X, y = rows()
    with pytest.raises(ValueError, match="intercept='penalised' is not one of 'none', 'free'"):
        RidgeOnFeatures(intercept="penalised").fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        RidgeOnFeatures(alpha=-1.0).fit(X, y)
    with pytest.raises(MemoryLimitError, match=r"\(6\^2 \+ 900\) x 8 bytes"):
        RidgeOnFeatures(max_memory="1 kB").fit(X, y)


# ---------------------------------------------------------------------------------- parzen
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_parzen_is_the_nearest_mean_in_feature_space(kernel, n_classes):
    X, y = rows(n_classes)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    parzen = Parzen(kernel, gamma=0.2).fit(X[:100], y[:100], weights[:100])
    K = make_kernel(kernel, gamma=0.2)(X)
    distances = []
    for label in range(n_classes):
        share = np.where((y == label) & (np.arange(len(y)) < 100), weights, 0.0)
        share /= share.sum()
        distances.append(np.diag(K) - 2.0 * K @ share + share @ K @ share)
    nearest = np.argmin(distances, axis=0)
    np.testing.assert_array_equal(parzen.predict(X), nearest)
    if n_classes == 2:
        np.testing.assert_allclose(
            parzen.decision_function(X), 0.5 * (distances[0] - distances[1]), atol=1e-10
        )


def test_parzen_streams_and_keeps_single_precision():
    X, y = rows()
    whole = Parzen(gamma=0.2).fit(X, y)
    blocks = Parzen(gamma=0.2, max_memory=4 * 8 * len(y) * 5).fit(X, y)
    np.testing.assert_allclose(blocks.decision_function(X), whole.decision_function(X), atol=1e-14)
    single = Parzen(gamma=0.2).fit(X.astype(np.float32), y)
    assert single.decision_function(X.astype(np.float32)).dtype == np.float32
    assert single.nbytes_ < whole.nbytes_


# ------------------------------------------------------------------------ majority, forest
def test_majority_follows_the_weights():
    X, y = rows(3, n=90)
    counts = np.bincount(y)
    assert np.all(Majority().fit(X, y).predict(X) == counts.argmax())
    weights = np.where(y == 1, 100.0, 1.0)
    heavy = Majority().fit(X, y, weights)
    assert np.all(heavy.predict(X[:5]) == 1)
    np.testing.assert_allclose(heavy.decision_function(X[:1])[0], heavy.class_prior_)


@pytest.mark.parametrize("trees", [FPC_TREE_COUNTS[0], FPC_TREE_COUNTS[-1]])
def test_the_forest_is_scikit_learns(trees):
    X, y = rows(3)
    ours = RandomForest(trees, random_state=0).fit(X, y)
    reference = RandomForestClassifier(trees, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X))
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))
    assert len(ours.forest_.estimators_) == trees


def test_the_papers_tree_counts():
    assert FPC_TREE_COUNTS == (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)
    X, y = rows()
    few, many = (RandomForest(trees, random_state=0).fit(X, y).nbytes_ for trees in (2, 20))
    assert many > 5 * few
