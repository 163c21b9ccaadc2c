"""Sparse Cholesky factors: every library that is available against dense ones.

scikit-sparse 0.4 and 0.5 cannot be installed side by side: the interface of 0.5 is tested through
a substitute with its documented form, in front of SciPy's dense factor.
"""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import types

import numpy as np
import psutil
import pytest
import scipy.linalg as la
import scipy.sparse as sp

from kernlab.approximations.compact import Analysis, cholmod, factor, factorise
from kernlab.approximations.compact.factor import NotPositiveDefinite, available_backends
from kernlab.lab.papers.sparse.matrix import arrowhead_matrix
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
DENSE = MATRIX.toarray()
FULL = sp.csr_matrix(np.full((144, 144), 0.5) + np.eye(144))


class Factor05:
    """`CholeskyFactor` of scikit-sparse 0.5: arguments, methods and results as documented."""

    def __init__(self, A, *, lower=True, order=None, supernodal_mode="auto"):
        if not isinstance(A, sp.csc_array):
            raise TypeError("0.5 wants a csc_array")
        if order == "metis":
            raise scikit_sparse_05.CholmodNotInstalledError("CHOLMOD library is not installed")
        assert lower
        self._perm = np.arange(A.shape[0])
        if order not in (None, "natural"):
            self._perm = np.argsort(np.diff(A.indptr), kind="stable").astype(A.indices.dtype)

    def get_perm(self):
        return self._perm.copy()

    def factorize(self, A):
        try:
            self._lower = la.cholesky(A.toarray()[np.ix_(self._perm, self._perm)], lower=True)
        except la.LinAlgError:
            raise scikit_sparse_05.CholmodNotPositiveDefiniteError("not definite") from None

    def get_factor(self, kind=None, lower=None):
        assert (kind, lower) == ("LL", True)
        return sp.csc_array(self._lower)


ERRORS = (
    "CholmodNotPositiveDefiniteError", "CholmodNotInstalledError", "CholmodInvalidInputError",
    "CholmodOverflowError",
)  # fmt: skip
scikit_sparse_05 = types.SimpleNamespace(
    CholeskyFactor=Factor05,
    cho_factor=None,
    **{name: type(name, (Exception,), {}) for name in ERRORS},
)


def importing(module):
    """An importlib that finds this module, whatever is looked for, or none."""

    def import_module(name):
        if module is None:
            raise ImportError(name)
        return module

    return types.SimpleNamespace(import_module=import_module)


@pytest.fixture(params=[*available_backends(), "scikit-sparse 0.5"])
def backend(request, monkeypatch):
    if request.param != "scikit-sparse 0.5":
        return request.param
    monkeypatch.setattr(factor, "importlib", importing(scikit_sparse_05))
    return "cholmod"


# ----------------------------------------------------------------------------- the factor
@pytest.mark.parametrize("ordering", ["amd", "natural", "metis", "nesdis"])
def test_the_factor_is_the_dense_one_in_its_order_and_counted_before(backend, ordering):
    try:
        analysis = Analysis(MATRIX, ordering=ordering, backend=backend)
    except ValueError as error:
        pytest.skip(str(error))
    factor = analysis.factorise()
    p = factor.permutation
    assert sorted(p) == list(range(144))
    np.testing.assert_array_equal(analysis.permutation, p)
    expected = la.cholesky(DENSE[np.ix_(p, p)], lower=True)
    np.testing.assert_allclose(factor.lower.toarray(), expected, atol=1e-12)
    assert analysis.is_complete
    assert analysis.nonzeros == factor.nonzeros
    assert analysis.operations == np.sum(np.diff(factor.lower.indptr).astype(float) ** 2)
    F = factor.rows()
    np.testing.assert_allclose((F @ F.T).toarray(), DENSE, atol=1e-12)


def test_solves_are_dense_ones(backend):
    factor = factorise(MATRIX, backend=backend)
    for B in (RNG.normal(size=144), RNG.normal(size=(144, 3)), np.arange(144)):
        kept = B.copy()
        np.testing.assert_allclose(factor.solve(B), la.solve(DENSE, B), atol=1e-10)
        np.testing.assert_array_equal(B, kept)
        F = factor.rows().toarray()
        np.testing.assert_allclose(factor.combination(B), la.solve(F.T, B), atol=1e-10)


@pytest.mark.parametrize("matrix", [MATRIX, FULL], ids=["lattice", "full"])
def test_features_of_sparse_rows_are_exact_but_for_entries_left_out(backend, matrix):
    """Of a full matrix they have many more entries than the rows themselves."""
    factor = factorise(matrix, backend=backend)
    rows = sp.random(30, 144, 0.02, format="csr", random_state=0)
    features = factor.features(rows)
    expected = la.solve(factor.rows().toarray(), rows.T.toarray()).T
    np.testing.assert_allclose(features.toarray(), expected, atol=1e-10)
    assert not factor.features(sp.csr_matrix((4, 144))).nnz
    for full, dropped in (
        (factor.rows(), factor.rows(drop=1e-3)),
        (features, factor.features(rows, drop=1e-3)),
    ):
        assert 0 < dropped.nnz <= full.nnz
        assert abs(full - dropped).max() <= 1e-3 < np.abs(dropped.data).min()


# ------------------------------------------------------------------------- ordering, counting
def test_a_good_order_does_not_fill_the_arrowhead(backend):
    """Figure 3 of the thesis: all entries without AMD, 2 n - 1 with it."""
    A = arrowhead_matrix(50)
    assert Analysis(A, ordering="natural", backend=backend).nonzeros == 50 * 51 // 2
    assert Analysis(A, ordering="amd", backend=backend).nonzeros == 99


def test_indices_of_64_bits_are_taken_where_cholmod_finds_32_too_few(monkeypatch):
    factorised, kinds = cholmod._factorised, []

    def overflowing(module, half):
        kinds.append(half.indices.dtype.itemsize)
        if kinds[-1] < 8:
            raise scikit_sparse_05.CholmodOverflowError("problem too large")
        return factorised(module, half)

    monkeypatch.setattr(cholmod, "_factorised", overflowing)
    lower, p = cholmod.lower_factor(scikit_sparse_05, sp.tril(MATRIX, format="csc"))
    assert kinds == [4, 8]
    np.testing.assert_allclose((lower @ lower.T).toarray(), DENSE[p][:, p], atol=1e-12)


# -------------------------------------------------------------------------------- refusals
def test_what_has_no_factor_or_does_not_fit_is_refused(backend):
    with pytest.raises(NotPositiveDefinite, match=r"144 rows has no Cholesky factor"):
        factorise(lattice(12, strength=0.9), backend=backend)
    with pytest.raises(MemoryLimitError, match=r"at least .*3\d\d entries in the order.*32 bytes"):
        factorise(MATRIX, backend=backend, max_memory="10kB")


def test_without_scikit_sparse_scipy_takes_over(monkeypatch):
    monkeypatch.setattr(factor, "importlib", importing(None))
    assert available_backends() == ["superlu"]
    assert factorise(MATRIX).backend == "superlu"
    with pytest.raises(ValueError, match="needs scikit-sparse, which is not installed"):
        factorise(MATRIX, backend="cholmod")
    for arguments in ({"ordering": "best"}, {"backend": "mumps"}):
        with pytest.raises(ValueError, match=r"='(best|mumps)' is not one of"):
            factorise(MATRIX, **arguments)
    for module in (None, scikit_sparse_05):
        monkeypatch.setattr(factor, "importlib", importing(module))
        with pytest.raises(ValueError, match="ordering='metis' is not built into"):
            factorise(MATRIX, ordering="metis")


@pytest.mark.skipif("cholmod" not in available_backends(), reason="scikit-sparse is not installed")
def test_a_long_factor_is_that_of_a_process_of_its_own(monkeypatch):
    """Which Ctrl-C can end: tests/test_interrupts.py."""
    here = factorise(MATRIX, backend="cholmod")
    monkeypatch.setattr(factor, "LONG", 0.0)
    there = factorise(MATRIX, backend="cholmod")
    np.testing.assert_array_equal(there.permutation, here.permutation)
    np.testing.assert_array_equal(there.parent, here.parent)
    np.testing.assert_allclose(there.lower.toarray(), here.lower.toarray(), atol=1e-14)
    with pytest.raises(NotPositiveDefinite, match=r"144 rows has no Cholesky factor"):
        factorise(lattice(12, strength=0.9), backend="cholmod")
    monkeypatch.setattr(sys, "executable", shutil.which("true"))  # it ends without a word
    with pytest.raises(MemoryError, match="the process that computed the Cholesky factor"):
        factorise(MATRIX, backend="cholmod")


@pytest.mark.skipif("cholmod" not in available_backends(), reason="scikit-sparse is not installed")
def test_the_process_of_a_long_factor_loads_nothing_of_the_package():
    """Which would take longer than many a factor."""
    command = [sys.executable, "-P", "-X", "importtime", cholmod.__file__]
    lower = sp.tril(MATRIX, format="csc")
    done = subprocess.run(command, input=pickle.dumps(lower), capture_output=True, check=True)
    L, p = pickle.loads(done.stdout)
    np.testing.assert_allclose(L.toarray(), la.cholesky(DENSE[p][:, p], lower=True), atol=1e-12)
    loaded = done.stderr.decode()
    assert "sksparse.cholmod" in loaded
    assert "kernlab" not in loaded
    assert "numba" not in loaded


@pytest.mark.skipif("cholmod" not in available_backends(), reason="scikit-sparse is not installed")
def test_a_long_factor_takes_what_is_promised_in_both_processes(monkeypatch):
    """That of a lattice of 150 x 150 points, line by line: 3.4 million entries, 108 MB."""
    monkeypatch.setattr(factor, "LONG", 0.0)
    line = sp.diags([np.full(149, 0.2)] * 2, [-1, 1])
    A = sp.kronsum(line, line, format="csr") + sp.identity(150**2, format="csr")
    this, most, is_done = psutil.Process(), [0], threading.Event()
    factorise(MATRIX, backend="cholmod")  # compiles
    before = _held(this)

    def watch():
        while not is_done.wait(0.001):
            most[0] = max(most[0], _held(this))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        found = factorise(A, backend="cholmod", ordering="natural")
    finally:
        is_done.set()
        watcher.join()
    assert found.nonzeros > 3e6
    assert most[0] - before < 1.1 * factor.FACTOR_BYTES * found.nonzeros + 50e6


def _held(process):
    """Bytes of a process and of those that it has started.

    Until a process that was forked runs its own program, its memory is that of its parent.
    """
    total, own = process.memory_info().rss, process.cmdline()
    for one in process.children():
        try:
            total += one.memory_info().rss if one.cmdline() != own else 0
        except psutil.Error:  # it has just ended
            continue
    return total


@pytest.mark.skipif("cholmod" not in available_backends(), reason="scikit-sparse is not installed")
def test_a_forked_process_factorises_or_says_why_not():
    """CHOLMOD's threads are not there after a fork: waiting for them would never end."""
    factorise(MATRIX, backend="cholmod")
    child = os.fork()
    if child == 0:
        try:
            factorise(MATRIX, backend="cholmod")
        except ValueError as error:
            told = "forked" in str(error)
            os._exit(0 if told and factorise(MATRIX).backend == "superlu" else 1)
        os._exit(2)
    for _ in range(300):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the forked process never came back")
    assert os.waitstatus_to_exitcode(status) == 0
    assert factorise(MATRIX).backend == "cholmod"
