"""Polynomial features on centres: values, centres, scaling, rank, and refusals."""

import warnings

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler

from kernlab.approximations import PolynomialMap
from kernlab.runtime import MemoryLimitError

X = np.random.default_rng(0).standard_normal((80, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
NEW = np.random.default_rng(1).standard_normal((30, 3)) * [1.0, 10.0, 0.1]
SCALED = MinMaxScaler().fit_transform(X)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_both_bases_span_the_same_functions(degree):
    powers = PolynomialMap(degree).fit(X)
    chebyshev = PolynomialMap(degree, basis="chebyshev").fit(X)
    change = powers.change_of_basis_
    assert change.shape == (chebyshev.rank_, powers.rank_)
    np.testing.assert_allclose(
        chebyshev.transform(NEW) @ change, powers.transform(NEW), rtol=1e-9, atol=1e-9
    )
    assert np.linalg.matrix_rank(change) == powers.dimension_


@pytest.mark.parametrize("constant", [False, True])
def test_scores_of_many_rows_and_of_few_are_of_the_same_polynomial(constant):
    """Many rows are decided in Chebyshev's basis; not where a column told nothing when fitted."""
    X = np.random.default_rng(0).normal(size=(400, 3))
    new = np.random.default_rng(1).normal(size=(400, 3))  # some outside of the fitted box
    X[:, 2] = 1.0 if constant else X[:, 2]
    fitted = PolynomialMap(4, centres=new[:40]).fit(X)
    weights = np.random.default_rng(2).normal(size=(40, 2))
    scores = (1.0 + fitted._scaled(new) @ fitted.centres_.T) ** 4 @ weights
    assert np.allclose(fitted.decision(new, weights), scores, rtol=1e-9)
    assert np.allclose(fitted.decision(new[:5], weights), scores[:5], rtol=1e-9)


# ------------------------------------------------------------------------------- centres
def test_centres_are_first_random_uniform_or_given():
    n = 10
    first = PolynomialMap(2).fit(X)
    np.testing.assert_allclose(first.centres_, SCALED[:n])
    drawn = PolynomialMap(2, centres="random", random_state=3).fit(X).centres_
    rows = [np.flatnonzero(np.all(np.isclose(SCALED, c), axis=1)) for c in drawn]
    assert all(len(r) == 1 for r in rows)
    assert len(set(np.concatenate(rows))) == n
    again = PolynomialMap(2, centres="random", random_state=3).fit(X).centres_
    np.testing.assert_array_equal(drawn, again)
    uniform = PolynomialMap(2, centres="uniform", n_centres=500, random_state=0).fit(X).centres_
    assert uniform.shape == (500, 3)
    assert uniform.min() >= 0
    assert uniform.max() <= 1
    np.testing.assert_allclose(uniform.mean(axis=0), 0.5, atol=0.05)
    given = PolynomialMap(2, centres=X[5:12]).fit(X)
    np.testing.assert_allclose(given.centres_, SCALED[5:12])
    assert given.n_centres_ == 7


@pytest.mark.parametrize("centres", ["first", "random", "uniform"])
def test_almost_every_set_of_centres_is_fundamental(centres):
    check = PolynomialMap(3, centres=centres, random_state=0).fit(X).centre_check_
    assert check.is_fundamental
    assert check.rank == check.dimension == check.n_centres == 20
    assert check.condition > 100


def test_degenerate_centres_are_found_out():
    line = np.outer(np.linspace(0, 1, 20), np.ones(3))
    on_a_line = PolynomialMap(3, centres=line, scaling="none").fit(SCALED).centre_check_
    assert not on_a_line.is_fundamental
    assert on_a_line.rank == 4  # polynomials of degree 3 in the one direction
    twice = np.vstack([X[:10], X[:10]])
    assert PolynomialMap(3, centres=twice).fit(X).centre_check_.rank == 10
    few = PolynomialMap(3, n_centres=7).fit(X).centre_check_
    assert few.rank == 7
    assert not few.is_fundamental


def test_a_constant_column_adds_no_dimension():
    constant = X.copy()
    constant[:, 1] = 3.0
    fitted = PolynomialMap(2).fit(constant)
    assert fitted.n_centres_ == 10
    assert fitted.centre_check_.rank == 6
    assert np.all(np.isfinite(fitted.transform(constant)))
    assert PolynomialMap(2, basis="chebyshev").fit(constant).rank_ == 6


# --------------------------------------------------------------------------- as elsewhere
def test_unscaled_features_are_warned_about_and_scaled_ones_are_not():
    with pytest.warns(UserWarning, match=r"features range from .* Use scaling='unit'"):
        PolynomialMap(5, scaling="none").fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PolynomialMap(5, scaling="none").fit(SCALED)
        PolynomialMap(5).fit(X)


def test_memory_is_predicted_before_it_is_taken():
    with pytest.raises(ValueError, match="beyond 100"):
        PolynomialMap(101).fit(X)
    with pytest.raises(MemoryLimitError, match=r"5,843,355,957 polynomial features .*lower degree"):
        PolynomialMap(7, basis="chebyshev").fit(np.random.default_rng(0).random((20, 80)))
