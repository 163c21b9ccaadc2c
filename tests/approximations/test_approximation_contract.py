"""What every approximation of the registry promises, against kernel matrices computed by hand."""

import math
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab.approximations import APPROXIMATIONS, NEEDS
from kernlab.features import Features
from kernlab.parameters import entry_of
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)
X = RNG.random((240, 3))
NEW = RNG.random((60, 3))
GAMMAS = (0.5, 6.0)
FULL = {"landmarks": "first", "n_landmarks": len(X), "floor": 1e-12}
# What is tried of each: its name in the registry, its settings.
CASES = {
    "exact": ("exact", {}),
    "exact-root": ("exact", {"factor": "root"}),
    "exact-eigenvectors": ("exact", {"factor": "eigenvectors"}),
    "nystrom-all-rows": ("nystrom", FULL),
    "nystrom": ("nystrom", {"landmarks": X[:25]}),
    "nystrom-eigen": ("nystrom", {"landmarks": X[:25], "factor": "eigen-drop", "floor": 1e-10}),
    "reduced": ("reduced", {"landmarks": X[:25]}),
    "fourier": ("fourier", {"n_components": 3000, "random_state": 0}),
    "fourier-laplacian": ("fourier", {"n_components": 3000, "random_state": 0}),
    "compact": ("compact", {"shift": 0.0, "drop": 0.0, "l": 3}),
    "hss": ("hss", {"rel_tol": 1e-10, "leaf_size": 32, "random_state": 0}),
    "polynomial": ("polynomial", {"degree": 3, "scaling": "none"}),
    "polynomial-chebyshev": ("polynomial", {"degree": 3, "basis": "chebyshev"}),
}
assert {name for name, _ in CASES.values()} == set(APPROXIMATIONS)
MAPS = [case for case, (name, _) in CASES.items() if APPROXIMATIONS[name].offers("features")]
OPERATORS = [case for case, (name, _) in CASES.items() if APPROXIMATIONS[name].offers("operator")]
# In double precision whatever the rows: a factor of K is definite, and powers are exact there only.
DOUBLE = ("exact", "polynomial")


def made(case, gamma=0.5, **changes):
    name, settings = CASES[case]
    kernel = {} if name == "polynomial" else {"gamma": gamma}
    if case == "fourier-laplacian":
        kernel["kernel"] = "laplacian"
    return APPROXIMATIONS[name](**settings | kernel | changes)


def kernel_by_hand(case, gamma, A, B):
    if case == "compact":
        d = np.sqrt(((A[:, None] - B) ** 2).sum(axis=2))
        alpha = np.sqrt(2 * gamma) / 3
        return np.maximum(0, 1 - alpha * d) ** 3 * np.exp(-gamma * d**2)
    return (laplacian_kernel if case == "fourier-laplacian" else rbf_kernel)(A, B, gamma=gamma)


def products_by_hand(case, gamma):
    """What features of NEW times features of X must be, and how near."""
    K = kernel_by_hand(case, gamma, NEW, X)
    if case.startswith("polynomial"):
        raise AssertionError("a polynomial map is no kernel map")
    if case in ("nystrom", "nystrom-eigen", "reduced"):
        new, old = (kernel_by_hand(case, gamma, rows, X[:25]) for rows in (NEW, X))
        if case == "reduced":
            return new @ old.T, 1e-10
        inner = kernel_by_hand(case, gamma, X[:25], X[:25])
        return new @ np.linalg.pinv(inner, rcond=1e-10, hermitian=True) @ old.T, 1e-5
    if case.startswith("fourier"):
        return K, 5 / np.sqrt(3000)
    return K, 1e-5 if case == "nystrom-all-rows" else 1e-6


def dense(F):
    F = F.stored() if isinstance(F, Features) else F
    return F.toarray() if sp.issparse(F) else F


# --------------------------------------------------------------------------- scikit-learn's checks
# Factors depend on the order of the rows, and matrices have all of them: weights are for solvers.
UNWEIGHTED = ("exact", "compact", "hss")


@parametrize_with_checks(
    [cls() for name, cls in APPROXIMATIONS.items() if name != "hss"],
    expected_failed_checks=lambda a: (
        {
            f"check_sample_weight_equivalence_on_{form}_data": "features are those of all rows"
            for form in ("dense", "sparse")
        }
        if isinstance(a, tuple(APPROXIMATIONS[name] for name in (*UNWEIGHTED, "polynomial")))
        else {}
    ),
    xfail_strict=True,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# -------------------------------------------------------------------------------------- features
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("case", [case for case in MAPS if not case.startswith("polynomial")])
def test_products_of_features_are_the_kernel(case, gamma):
    fitted = made(case, gamma).fit(X)
    expected, near = products_by_hand(case, gamma)
    F, new = dense(fitted.features(X)), dense(fitted.transform(NEW))
    np.testing.assert_allclose(new @ F.T, expected, atol=near)
    assert F.shape == (len(X), fitted.rank_)
    if fitted.is_kernel_map:
        K = kernel_by_hand(case, gamma, X, X)
        error = la.norm(K - F @ F.T) / la.norm(K)
        assert fitted.error(X, n_sampled=len(X)) == pytest.approx(error, rel=1e-3, abs=1e-6)
        if case not in ("nystrom", "nystrom-eigen"):
            np.testing.assert_allclose(F @ F.T, K, atol=near)


@pytest.mark.parametrize("degree", [1, 2, 5, 8])
def test_features_of_the_polynomial_map_are_the_papers(degree):
    fitted = made("polynomial", degree=degree, n_centres=20).fit(X)
    expected = (1 + NEW @ X[:20].T) ** degree
    np.testing.assert_allclose(fitted.transform(NEW), expected, rtol=1e-12)
    scaler, size = MinMaxScaler().fit(9.0 * X - 4.0), math.comb(degree + 3, 3)
    rows, new = (scaler.transform(9.0 * some - 4.0) for some in (X, NEW))
    scaled = made("polynomial", degree=degree, scaling="unit").fit(9.0 * X - 4.0)
    by_hand = (1 + new @ rows[:size].T) ** degree
    np.testing.assert_allclose(scaled.transform(9.0 * NEW - 4.0), by_hand, rtol=1e-10)
    spanned = made("polynomial-chebyshev", degree=degree).fit(X).transform(NEW)
    missed = expected - spanned @ la.lstsq(spanned, expected)[0]
    assert np.abs(missed).max() < 1e-9  # its space holds all of them


@pytest.mark.parametrize("case", MAPS)
def test_one_way_leads_to_features_and_decisions(case):
    fitted = made(case).fit(X)
    F, weights = dense(fitted.transform(NEW)), RNG.normal(size=(fitted.rank_, 2))
    near = 1e-7 * max(1.0, np.abs(F @ weights).max())
    np.testing.assert_allclose(fitted.decision(NEW, weights), F @ weights, atol=near)
    np.testing.assert_allclose(dense(fitted.features(NEW)), F, atol=1e-12)
    np.testing.assert_allclose(dense(fitted.data_for("features", X)), dense(fitted.features(X)))
    np.testing.assert_allclose(
        dense(fitted.transform(X)), dense(made(case).fit_transform(X)), atol=1e-5
    )


@pytest.mark.parametrize("case", MAPS)
def test_blocks_come_in_order_and_are_the_features(case, monkeypatch):
    fitted = made(case).fit(X)
    whole = dense(fitted.transform(NEW))
    blocks = list(fitted.iter_features(NEW, rows_per_block=7))
    assert [rows.start for rows, _ in blocks] == list(range(0, 60, 7))
    np.testing.assert_allclose(np.vstack([dense(F) for _, F in blocks]), whole, atol=1e-6)
    for name, value in (("BLOCK_BYTES", 1), ("SMALLEST_BLOCK", 13)):
        for module in ("base", "polynomial.approximation"):
            monkeypatch.setattr(f"kernlab.approximations.{module}.{name}", value)
    np.testing.assert_allclose(dense(fitted.transform(NEW)), whole, atol=1e-6)
    for rows, F in fitted.iter_features(NEW, rows_per_block=7):
        np.testing.assert_allclose(dense(F), whole[rows], atol=1e-6)


@pytest.mark.parametrize("case", MAPS)
def test_sparse_rows_and_rows_of_a_file_give_the_same(case, tmp_path):
    fitted = made(case).fit(X)
    expected = dense(fitted.transform(NEW))
    again = made(case).fit(sp.csr_matrix(X))
    for form in (sp.csr_matrix, np.asfortranarray):
        np.testing.assert_allclose(dense(fitted.transform(form(NEW))), expected, atol=1e-6)
        products = dense(again.transform(form(NEW))) @ dense(again.features(X)).T
        np.testing.assert_allclose(products, expected @ dense(fitted.features(X)).T, atol=1e-5)
    path = tmp_path / "rows.csv"
    pd.DataFrame(NEW).to_csv(path, index=False, header=False)
    np.testing.assert_allclose(dense(fitted.transform(path)), expected, atol=1e-9)


@pytest.mark.parametrize("case", MAPS)
def test_single_precision_stays(case):
    expected = dense(made(case).fit(X).transform(NEW))
    for form in (np.asarray, sp.csr_matrix):
        rows, new = form(X.astype(np.float32)), form(NEW.astype(np.float32))
        fitted = made(case).fit(rows)
        F = fitted.transform(new)
        single = CASES[case][0] not in (*DOUBLE, "compact")
        assert F.dtype == (np.float32 if single else np.float64)
        if not case.startswith("exact") and case != "nystrom-all-rows":  # nearly singular
            np.testing.assert_allclose(dense(F), expected, atol=1e-2 * np.abs(expected).max())


@pytest.mark.parametrize("case", CASES)
def test_columns_in_another_order_are_refused_or_tell(case):
    names = ["a", "b", "c"]
    skewed, new = X * [1.0, 2.0, 4.0], NEW * [1.0, 2.0, 4.0]
    fitted = made(case).fit(pd.DataFrame(skewed, columns=names))
    if not fitted.offers("features"):
        scores = fitted.dual_decision(
            pd.DataFrame(new, columns=names), np.ones(240), np.arange(240)
        )
        with pytest.raises(ValueError, match="feature names"):
            fitted.dual_decision(
                pd.DataFrame(new, columns=names)[names[::-1]], scores, np.arange(3)
            )
        return
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(pd.DataFrame(new, columns=names)[names[::-1]])
    plain = made(case).fit(skewed)
    F, permuted = dense(plain.transform(new)), dense(plain.transform(new[:, ::-1]))
    assert np.abs(F - permuted).max() > 1e-2 * np.abs(F).max()


# ------------------------------------------------------------------------------ operators, solves
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("case", OPERATORS)
def test_operator_solves_and_decisions_are_of_one_matrix(case, gamma):
    fitted = made(case, gamma).fit(X)
    V = RNG.normal(size=(len(X), 3))
    K = kernel_by_hand(case, gamma, X, X)
    if case.startswith("nystrom-"):
        K = K if case == "nystrom-all-rows" else None
    if fitted.offers("features"):
        F = dense(fitted.features(X))
        near = 1e-6 if K is None or case in ("nystrom", "fourier") else 1e-4
        K = F @ F.T
    else:
        near = 1e-6
    operator = fitted.operator()
    np.testing.assert_allclose(operator @ V, K @ V, atol=near)
    np.testing.assert_allclose(operator @ V[:, 0], K @ V[:, 0], atol=near)
    np.testing.assert_allclose(operator.T @ V[:, 0], K @ V[:, 0], atol=near)
    for beta in (0.3, 20.0):
        S = fitted.shifted(beta).solve(V)
        np.testing.assert_allclose(K @ S + beta * S, V, atol=10 * near)
        assert fitted.is_definite(beta)
    rows, coefficients = np.array([5, 17, 200]), RNG.normal(size=(3, 2))
    cross = kernel_by_hand(case, gamma, NEW, X)
    if case in ("nystrom", "nystrom-eigen") or case.startswith("fourier"):
        cross = dense(fitted.transform(NEW)) @ dense(fitted.features(X)).T
    np.testing.assert_allclose(
        fitted.dual_decision(NEW, coefficients, rows), cross[:, rows] @ coefficients, atol=1e-3
    )
    exact = kernel_by_hand(case, gamma, X, X) @ V
    if case != "compact":
        np.testing.assert_allclose(fitted.exact_product(V), exact, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_offered_is_refused_by_name(case):
    fitted = made(case).fit(X)
    for need in NEEDS:
        if fitted.offers(need):
            fitted.data_for(need, X)
        else:
            with pytest.raises(TypeError, match=f"offers .*, not {need}"):
                fitted.data_for(need, X)
    assert not fitted.offers("everything")


# ----------------------------------------------------------------------------------------- memory
@pytest.mark.parametrize("case", CASES)
def test_nbytes_are_those_of_the_arrays_held(case):
    fitted = made(case).fit(X)
    for need in filter(fitted.offers, NEEDS):
        data = fitted.data_for(need, X)
        if need == "shifted":
            data.shifted(1.0)
    held = len(pickle.dumps(fitted)) - 2 * X.nbytes  # the rows are the caller's
    # What surrounds arrays in a pickle hides small ones: each of its own counts by itself.
    own = [part.nbytes for part in vars(fitted).values() if isinstance(part, np.ndarray)]
    assert fitted.nbytes >= max(own, default=1)
    assert 0.8 * held - 30_000 <= fitted.nbytes <= 1.2 * held + 2 * X.nbytes + 30_000


def sparse_rows(n, p):
    places = np.repeat(np.arange(n), 10), RNG.integers(0, p, 10 * n)
    return sp.csr_matrix((np.ones(10 * n), places), (n, p))


WIDE, MANY = sparse_rows(300, 40_000), sparse_rows(4000, 5000)  # 96 and 160 MB if filled in
FEW = {"nystrom": {"n_landmarks": 20}, "reduced": {"n_landmarks": 20}}
FEW |= {"fourier": {"n_components": 10}, "polynomial": {"n_centres": 5, "degree": 2}}


@pytest.mark.parametrize(
    ("name", "rows"),
    [(name, WIDE) for name in APPROXIMATIONS]
    + [(name, MANY) for name in ("nystrom", "reduced", "fourier", "polynomial")],
)
def test_sparse_rows_are_never_filled_in(name, rows):
    approximation = APPROXIMATIONS[name](max_memory="40MB", **FEW.get(name, {}))

    def work(rows):
        approximation.fit(rows)
        if approximation.offers("features"):
            approximation.decision(rows, np.ones(approximation.rank_))
            approximation.features(rows)

    work(rows[:30])  # what compiles loops takes memory as well
    tracemalloc.start()
    try:
        work(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 44e6


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_what_exceeds_max_memory_is_refused_before_it_is_taken(name):
    rows = RNG.random((20_000, 4))
    settings = FEW.get(name, {}) | ({"n_components": 400} if name == "fourier" else {})
    settings |= {"n_landmarks": 300} if "n_landmarks" in settings else {}
    settings |= {"n_centres": 300} if "n_centres" in settings else {}
    approximation = APPROXIMATIONS[name](max_memory="4MB", **settings)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError, match=r"needs .* \(.*\d.*\), but only 4 MB"):
            approximation.fit(rows).transform(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6


# ------------------------------------------------------------------------------------- parameters
@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_parameters_that_are_not_taken_are_refused(name):
    with pytest.raises(TypeError, match="n_landmark"):
        APPROXIMATIONS[name](n_landmark=5)
    with pytest.raises(ValueError, match=f"did you mean {name!r}"):
        entry_of(APPROXIMATIONS, name[:-1], "approximation")
    with pytest.raises(ValueError, match="is not one of exact"):
        entry_of(APPROXIMATIONS, "laplace", "approximation")


# ------------------------------------------------ the contract notices what it is there for
def in_double(monkeypatch, kind):
    monkeypatch.setattr(kind, "_precision", lambda self, rows: np.dtype(np.float64), raising=False)


def with_blocks_in_another_order(monkeypatch, kind):
    transform = kind.transform

    def reversed_blocks(self, X):
        F, parts = transform(self, X), self._slices(X.shape[0] if hasattr(X, "shape") else 60)
        return (sp.vstack if sp.issparse(F) else np.vstack)([F[part] for part in parts[::-1]])

    monkeypatch.setattr(kind, "transform", reversed_blocks)


def with_a_column_permuted_after_the_fit(monkeypatch, kind):
    for name in ("transform", "decision", "dual_decision"):
        method = getattr(kind, name, None)

        def permuted(self, X, *others, method=method):
            return method(self, X[:, [0, 2, 1]] if X is NEW else X, *others)

        monkeypatch.setattr(kind, name, permuted, raising=False)


def without_bytes(monkeypatch, kind):
    monkeypatch.setattr(kind, "nbytes", property(lambda self: 0))


def of_the_kernel(case):
    if case.startswith("polynomial"):
        return test_features_of_the_polynomial_map_are_the_papers, 2
    if case in MAPS:
        return test_products_of_features_are_the_kernel, case, 0.5
    return test_operator_solves_and_decisions_are_of_one_matrix, case, 0.5


@pytest.mark.parametrize("case", CASES)
def test_the_contract_notices(case, monkeypatch):
    kind = APPROXIMATIONS[CASES[case][0]]
    sabotages = [
        (with_a_column_permuted_after_the_fit, of_the_kernel(case)),
        (without_bytes, (test_nbytes_are_those_of_the_arrays_held, case)),
    ]
    if case in MAPS:
        blocks = test_blocks_come_in_order_and_are_the_features, case, monkeypatch
        sabotages.append((with_blocks_in_another_order, blocks))
        if CASES[case][0] not in (*DOUBLE, "compact"):
            sabotages.append((in_double, (test_single_precision_stays, case)))
    for sabotage, (contract, *arguments) in sabotages:
        with monkeypatch.context() as patched:
            sabotage(patched, kind)
            with pytest.raises(AssertionError):
                contract(*arguments)
