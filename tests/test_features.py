"""Features in all their forms against dense algebra, and what products of them cost."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from kernlab.features import Features, as_features
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_newton

N, K = 700, 5
VALUES = np.random.default_rng(0).normal(size=(N, 6))
MATRIX = np.random.default_rng(1).normal(size=(6, K))
F = VALUES @ MATRIX


class Map:
    """M, whose first features need all values."""

    def __init__(self, matrix):
        self.matrix, (self.n_landmarks, self.n_features) = matrix, matrix.shape

    def apply(self, values):
        return values @ self.matrix.astype(values.dtype)

    def fold(self, w):
        return self.matrix @ w

    def unfold(self, gradient):
        return self.matrix.T @ gradient

    def leading(self, k):
        return Map(self.matrix[:, :k])


def mapped(values=VALUES):
    return Features.mapped(
        lambda: values, Map(MATRIX), lambda rows, room: F[rows], np.float64,
        squared_norms=(F**2).sum(axis=1),
    )  # fmt: skip


FORMS = {
    "dense": lambda: as_features(F),
    "sparse": lambda: as_features(sp.csr_matrix(F)),
    "single": lambda: as_features(F.astype(np.float32)),
    "mapped": mapped,
    "formed": lambda: Features.formed(F.shape, lambda rows, room: F[rows]),
    "formed sparse": lambda: Features.formed(F.shape, lambda rows, room: sp.csr_matrix(F[rows])),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_products_are_those_of_the_matrix(form, threads, monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", threads)
    monkeypatch.setattr("kernlab.features.VALUES_PER_THREAD", 500)
    monkeypatch.setattr("kernlab.features.BLOCK_BYTES", 256 * 8 * K)  # three blocks
    features, generator = FORMS[form](), np.random.default_rng(2)
    near = {"rtol": 1e-5, "atol": 1e-3} if form == "single" else {"rtol": 1e-9, "atol": 1e-9}
    rows = np.flatnonzero(generator.random(N) < 0.3)
    w, W, a = generator.normal(size=K), generator.normal(size=(K, 3)), generator.normal(size=N)
    np.testing.assert_allclose(features.dot(w), F @ w, **near)
    np.testing.assert_allclose(features.dot(W), F @ W, **near)
    np.testing.assert_allclose(features.rdot(a), F.T @ a, **near)
    np.testing.assert_allclose(features.rdot(np.outer(a, w)), F.T @ np.outer(a, w), **near)
    np.testing.assert_allclose(features.rdot(a[rows], rows), F[rows].T @ a[rows], **near)
    weights = generator.uniform(0.0, 2.0, N)
    np.testing.assert_allclose(features.gram(weights), F.T * weights @ F, **near)
    np.testing.assert_allclose(features.gram(rows=rows), F[rows].T @ F[rows], **near)
    product, total = features.normal_product(w, 0.7, weights, rows)
    steps = weights[rows] * (F[rows] @ w + 0.7)
    np.testing.assert_allclose(product, F[rows].T @ steps, **near)
    assert total == pytest.approx(steps.sum(), rel=1e-5)

    low, high = -1.0 + 0.0 * a, np.where(a > 0, np.inf, 0.5)
    scores, value, by_w, by_b = features.evaluate(w, 0.2, low, high, weights)
    np.testing.assert_allclose(scores, F @ w + 0.2, **near)
    residuals = scores - np.clip(scores, low, high)
    assert value == pytest.approx(weights @ residuals**2, rel=1e-5)
    np.testing.assert_allclose(by_w, 2.0 * F.T @ (weights * residuals), **near)
    assert by_b == pytest.approx(2.0 * weights @ residuals, rel=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_parts_are_those_of_the_matrix(form):
    def dense(part):
        return part.toarray() if sp.issparse(part) else np.asarray(part)

    features, rows = FORMS[form](), np.array([3, 500, 699])
    near = {"rtol": 1e-5, "atol": 1e-4} if form == "single" else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(dense(features.stored()), F, **near)
    np.testing.assert_allclose(dense(features.block(slice(5, 9))), F[5:9], **near)
    np.testing.assert_allclose(dense(features.take(rows).stored()), F[rows], **near)
    np.testing.assert_allclose(features.squared_norms, (F**2).sum(axis=1), **near)
    first = features.leading(2)
    assert first.shape == (N, 2)
    np.testing.assert_allclose(dense(first.stored()), F[:, :2], **near)
    np.testing.assert_allclose(first.dot(np.ones(2)), F[:, :2].sum(axis=1), **near)


def test_what_would_not_fit_is_refused_with_the_arithmetic():
    for features in (mapped(), FORMS["formed"]()):
        with pytest.raises(MemoryLimitError, match=r"700 x 5 x 8 bytes"):
            features.stored("20kB")
        assert features.nbytes == 8 * N * K
        features.stored("30kB")


def test_other_kinds_of_numbers_are_taken_as_double_precision(tmp_path):
    whole = np.arange(12).reshape(4, 3)
    for given in (whole, whole.tolist(), sp.csr_matrix(whole), whole.astype(np.float16)):
        assert as_features(given).dtype == np.float64
        np.testing.assert_array_equal(as_features(given).dot([1.0, 0.0, 0.0]), whole[:, 0])
    np.save(tmp_path / "whole.npy", whole)
    on_disk = as_features(np.load(tmp_path / "whole.npy", mmap_mode="r"))
    assert on_disk.A is None  # converted a block at a time
    np.testing.assert_array_equal(on_disk.stored(), whole)
    with pytest.raises(ValueError, match="must be a matrix"):
        as_features(np.ones(3))


def test_values_computed_in_every_pass_give_the_same_products():
    """What memory does not hold is formed by blocks, of all rows and of some."""
    asked = []

    def again(rows, n_columns):
        asked.append(rows)
        return VALUES[rows, :n_columns]

    streamed = Features.mapped(
        None, Map(MATRIX), lambda rows, room: F[rows], np.float64,
        squared_norms=(F**2).sum(axis=1), again=again,
    )  # fmt: skip
    generator = np.random.default_rng(0)
    w, a, rows = generator.normal(size=K), generator.normal(size=N), np.arange(0, N, 3)
    for kept in (mapped(), streamed):
        np.testing.assert_allclose(kept.dot(w), F @ w, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(kept.rdot(a), F.T @ a, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(kept.gram(None, rows), F[rows].T @ F[rows], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(kept.take(rows).dot(w), F[rows] @ w, rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(kept.groups, VALUES.argmax(axis=1))
        sums, totals = np.zeros((VALUES.shape[1],) * 2, np.float32), np.zeros(VALUES.shape[1])
        kept.add_group_sums(sums, totals, rows, np.ones(N))
        groups = np.eye(VALUES.shape[1])[VALUES[rows].argmax(axis=1)]
        np.testing.assert_allclose(sums, groups.T @ VALUES[rows], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(totals, groups.sum(axis=0))
    assert asked
    assert streamed.A is None


def test_features_without_room_say_what_a_pass_costs(monkeypatch):
    F = np.random.default_rng(0).normal(size=(400, 30))
    formed = Features.formed(F.shape, lambda rows, room: F[rows])
    y = np.sign(F[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve_newton(formed, y, C=1.0)  # quick passes are nobody's concern
        monkeypatch.setattr("kernlab.features.SLOW_PASS", 0.0)
        solve_newton(F, y, C=1.0)
        with pytest.raises(UserWarning, match=r"96 kB, more .* again .* about \S+ s"):
            solve_newton(formed, y, C=1.0, max_memory="50kB")
