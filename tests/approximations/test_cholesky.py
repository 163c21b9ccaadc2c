"""Sparse Cholesky factors: every library at hand against dense ones, and scikit-sparse 0.5's form.

scikit-sparse 0.4 and 0.5 cannot be installed side by side. Whichever is not here is tested through
a stand-in with its documented interface, in front of SciPy's dense factor.
"""

import types

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

from kernlab.approximations.compact.cholesky import (
    Analysis,
    NotPositiveDefinite,
    available_backends,
    backends,
    factorise,
)
from kernlab.approximations.compact.cholesky.symbolic import analyse_pattern
from kernlab.approximations.compact.cholesky.triangular import (
    solve_lower,
    solve_lower_sparse,
    solve_upper,
)
from kernlab.datasets.generators import arrowhead_matrix
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)


def lattice(side, strength=0.2):
    """A positive definite matrix on a square lattice, its rows in random order."""
    line = sp.diags([np.ones(side - 1)] * 2, [-1, 1])
    A = sp.identity(side**2) + strength * (
        sp.kron(line, sp.identity(side)) + sp.kron(sp.identity(side), line)
    )
    order = np.random.default_rng(1).permutation(side**2)
    return A.tocsr()[order][:, order].tocsr()


MATRIX = lattice(12)


# ------------------------------------------------------ scikit-sparse 0.5, as documented
class StandInFactor:
    """`CholeskyFactor` of scikit-sparse 0.5: arguments, methods and results as documented."""

    def __init__(self, A, *, lower=True, order=None, sym_kind=None, supernodal_mode=None):
        if not isinstance(A, sp.csc_array):
            raise TypeError("0.5 wants a csc_array")
        if order == "metis":
            raise stand_in.CholmodNotInstalledError("CHOLMOD library is not installed")
        assert lower
        self._n = A.shape[0]
        self._perm = np.arange(self._n)
        if order not in (None, "natural"):
            self._perm = np.argsort(np.diff(A.indptr), kind="stable").astype(A.indices.dtype)
        self._lower = None

    def get_perm(self):
        return self._perm.copy()

    def factorize(self, A, ldl=None, beta=0.0):
        dense = A.toarray()[np.ix_(self._perm, self._perm)] + beta * np.eye(self._n)
        try:
            self._lower = la.cholesky(dense, lower=True)
        except la.LinAlgError:
            raise stand_in.CholmodNotPositiveDefiniteError(
                "Input matrix is not positive definite."
            ) from None
        return self

    def get_factor(self, kind=None, lower=None):
        assert (kind, lower) == ("LL", True)
        return sp.csc_array(self._lower)

    def solve(self, b):
        raise AssertionError("solves are our own, the same for every library")


class _Errors:
    class CholmodError(Exception):
        pass

    class CholmodNotPositiveDefiniteError(CholmodError):
        pass

    class CholmodNotInstalledError(CholmodError):
        pass

    class CholmodInvalidInputError(CholmodError):
        pass


stand_in = types.SimpleNamespace(
    CholeskyFactor=StandInFactor,
    cho_factor=lambda A, *, lower=True, order=None: StandInFactor(
        A, lower=lower, order=order
    ).factorize(A),
    **{name: error for name, error in vars(_Errors).items() if name.startswith("Cholmod")},
)


def importing(module):
    """An importlib that finds this module, whatever is asked for, or none."""

    def import_module(name):
        if module is None:
            raise ImportError(name)
        return module

    return types.SimpleNamespace(import_module=import_module)


@pytest.fixture(params=[*available_backends(), "stand-in"])
def backend(request, monkeypatch):
    """The name of each backend in turn; the stand-in takes the place of scikit-sparse."""
    if request.param != "stand-in":
        return request.param
    monkeypatch.setattr(backends, "importlib", importing(stand_in))
    return "cholmod"


def test_the_interface_is_told_by_what_it_offers(monkeypatch):
    for module, kind in (
        (stand_in, backends.Cholmod05),
        (types.SimpleNamespace(cholesky=None), backends.Cholmod04),
    ):
        monkeypatch.setattr(backends, "importlib", importing(module))
        assert isinstance(backends.get_backend("cholmod"), kind)


def test_without_scikit_sparse_scipy_takes_over(monkeypatch):
    monkeypatch.setattr(backends, "importlib", importing(None))
    assert available_backends() == ["superlu"]
    assert factorise(MATRIX).backend == "superlu"
    with pytest.raises(ValueError, match="needs scikit-sparse, which is not installed"):
        factorise(MATRIX, backend="cholmod")


# ----------------------------------------------------------------------------- the factor
@pytest.mark.parametrize("ordering", ["amd", "natural"])
def test_the_factor_reproduces_the_matrix(backend, ordering):
    factor = factorise(MATRIX, ordering=ordering, backend=backend)
    L, p = factor.lower.toarray(), factor.permutation
    dense = MATRIX.toarray()
    np.testing.assert_allclose(L @ L.T, dense[np.ix_(p, p)], atol=1e-12)
    assert np.all(np.diag(L) > 0)
    assert not np.triu(L, 1).any()
    F = factor.rows()
    np.testing.assert_allclose((F @ F.T).toarray(), dense, atol=1e-12)
    assert sorted(p) == list(range(144))
    if ordering == "natural":
        np.testing.assert_allclose(L, la.cholesky(dense[np.ix_(p, p)], lower=True), atol=1e-12)


def test_solves(backend):
    factor = factorise(MATRIX, backend=backend)
    dense = MATRIX.toarray()
    for B in (RNG.normal(size=144), RNG.normal(size=(144, 3))):
        kept = B.copy()
        np.testing.assert_allclose(factor.solve(B), la.solve(dense, B), atol=1e-10)
        np.testing.assert_array_equal(B, kept)
    w = RNG.normal(size=(144, 2))
    np.testing.assert_allclose(factor.rows().T @ factor.combination(w), w, atol=1e-10)


def test_features_of_sparse_rows_stay_sparse_and_exact(backend):
    factor = factorise(MATRIX, backend=backend)
    rows = sp.random(30, 144, 0.02, format="csr", random_state=0)
    features = factor.features(rows)
    np.testing.assert_allclose((factor.rows() @ features.T).toarray(), rows.T.toarray(), atol=1e-10)
    assert features.nnz < 0.6 * 30 * 144
    assert not factor.features(sp.csr_matrix((4, 144))).nnz


def test_small_entries_can_be_left_out(backend):
    factor = factorise(MATRIX, backend=backend)
    full, dropped = factor.rows(), factor.rows(drop=1e-3)
    assert 0 < dropped.nnz < 0.9 * full.nnz
    assert abs(full - dropped).max() <= 1e-3
    assert np.abs(dropped.data).min() > 1e-3
    rows = sp.random(30, 144, 0.02, format="csr", random_state=0)
    few = factor.features(rows, drop=1e-3)
    assert abs(factor.features(rows) - few).max() <= 1e-3
    assert np.abs(few.data).min() > 1e-3


# ----------------------------------------------------------------------------- ordering
def test_a_good_order_does_not_fill_the_arrowhead(backend):
    """Figure 3 of the thesis: all entries without AMD, 2 n - 1 with it."""
    A = arrowhead_matrix(50)
    assert Analysis(A, ordering="natural", backend=backend).nonzeros == 50 * 51 // 2
    assert Analysis(A, ordering="amd", backend=backend).nonzeros == 99
    assert factorise(A, ordering="amd", backend=backend).nonzeros == 99


@pytest.mark.parametrize("name", available_backends())
@pytest.mark.parametrize("ordering", ["amd", "natural", "metis", "nesdis"])
def test_entries_are_counted_before_they_are_computed(name, ordering):
    try:
        analysis = Analysis(MATRIX, ordering=ordering, backend=name)
    except ValueError as error:
        pytest.skip(str(error))
    factor = analysis.factorise()
    assert analysis.nonzeros == factor.nonzeros
    assert analysis.is_complete
    np.testing.assert_array_equal(analysis.permutation, factor.permutation)


def test_counting_ends_at_the_limit():
    everything = Analysis(MATRIX)
    part = Analysis(MATRIX, count_to=300)
    assert not part.is_complete
    assert 300 < part.nonzeros < everything.nonzeros


def test_the_elimination_tree_is_that_of_elimination():
    permutation = RNG.permutation(144)
    symbolic = analyse_pattern(MATRIX, permutation)
    pattern = MATRIX.toarray()[np.ix_(permutation, permutation)] != 0
    parents = []
    for column in range(144):
        below = np.flatnonzero(pattern[column + 1 :, column]) + column + 1
        pattern[np.ix_(below, below)] = True  # eliminating a column joins all that it touches
        parents.append(below[0] if len(below) else -1)
    np.testing.assert_array_equal(symbolic.parent, parents)
    assert symbolic.nonzeros == np.count_nonzero(np.tril(pattern))


def test_an_ordering_that_is_not_built_in_is_named(backend, monkeypatch):
    if "metis" in backends.ORDERINGS and backend == "cholmod":
        module = backends.get_backend("cholmod")._module
        if module is not stand_in:
            monkeypatch.setattr(module, "analyze", _without_metis(module))
    with pytest.raises(ValueError, match=r"ordering='metis' is not built into"):
        factorise(MATRIX, ordering="metis", backend=backend)


def _without_metis(module):
    def analyze(A, **arguments):
        raise module.CholmodNotInstalledError("no METIS")

    return analyze


def test_indices_of_64_bits_are_asked_for_where_entries_are_many(monkeypatch, backend):
    analysis = Analysis(MATRIX, backend=backend)
    expected = analysis.factorise().rows()
    monkeypatch.setattr(Analysis, "nonzeros", 2**31)
    asked = []
    order = type(analysis._backend).order

    def spied(self, matrix, ordering, long=False):
        asked.append(long)
        return order(self, matrix, ordering, long)

    monkeypatch.setattr(type(analysis._backend), "order", spied)
    rows = Analysis(MATRIX, backend=backend).factorise().rows()
    assert asked == [False, True]
    np.testing.assert_allclose(rows.toarray(), expected.toarray(), atol=1e-12)


# -------------------------------------------------------------------------------- refusals
def test_a_matrix_that_is_not_positive_definite_is_named(backend):
    with pytest.raises(NotPositiveDefinite, match=r"144 rows has no Cholesky factor"):
        factorise(lattice(12, strength=0.9), backend=backend)


def test_a_factor_that_does_not_fit_is_refused_with_the_arithmetic(backend):
    with pytest.raises(MemoryLimitError, match=r"at least .*3\d\d entries in the order.*32 bytes"):
        factorise(MATRIX, backend=backend, max_memory="10kB")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"ordering": "best"}, "ordering='best'"), ({"backend": "mumps"}, "backend='mumps'")],
)
def test_unknown_names_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        factorise(MATRIX, **arguments)


# --------------------------------------------------------------------------------- triangles
def test_triangular_solves_are_scipys():
    L = la.cholesky(MATRIX.toarray(), lower=True)
    sparse = sp.csc_matrix(np.where(np.abs(L) > 1e-15, L, 0.0))
    for B in (RNG.normal(size=144), RNG.normal(size=(144, 4))):
        np.testing.assert_allclose(
            solve_lower(sparse, B), la.solve_triangular(L, B, lower=True), atol=1e-10
        )
        np.testing.assert_allclose(
            solve_upper(sparse, B), la.solve_triangular(L, B, lower=True, trans="T"), atol=1e-10
        )


def test_a_sparse_solve_grows_as_it_must():
    """Rows whose solutions are full, many more entries than they have themselves."""
    n = 200
    L = sp.csc_matrix(np.tril(np.full((n, n), 0.01)) + np.eye(n))
    rows = sp.csr_matrix((np.ones(40), (np.arange(40), np.zeros(40, int))), shape=(40, n))
    parent = np.append(np.arange(1, n), -1)
    solved = solve_lower_sparse(L, parent, rows).toarray()
    np.testing.assert_allclose(solved @ L.T.toarray(), rows.toarray(), atol=1e-12)
