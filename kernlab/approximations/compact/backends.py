"""The libraries that compute a sparse Cholesky factor, behind one interface.

A backend orders a matrix (`order`: the permutation p, and what goes on from there), which needs
its pattern alone, and then factorises it (`factor`: L in CSC with L L^T = A[p][:, p], and p). In
between the caller can count what L will take.

- "cholmod": CHOLMOD through scikit-sparse, of which 0.4 and 0.5 have different interfaces; AMD,
  and METIS and nested dissection where they were built in;
- "superlu": SciPy's SuperLU in symmetric mode, always there, slower; minimum degree on A + A^T.

CHOLMOD starts threads that do not survive a fork, and would wait for them for ever: in a process
forked from one in which it has run it is refused, and "auto" is SuperLU.
"""

import importlib
import os

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spilu, splu

from kernlab.runtime import interruptible

ORDERINGS = ("amd", "metis", "nesdis", "natural")

_processes_of_cholmod = set()  # in which it has run; a forked one inherits those of its parents


class NotPositiveDefinite(ValueError):  # noqa: N818 - it says what the matrix is
    """The matrix has no Cholesky factor."""


class Cholmod:
    """CHOLMOD through scikit-sparse: `analyze` and `cholesky_inplace` (0.4), or a `CholeskyFactor`
    and its `factorize` (0.5)."""

    name = "cholmod"

    def __init__(self, module):
        self._module, self._is_04 = module, not hasattr(module, "cho_factor")

    def order(self, matrix, ordering, long=False):
        module = self._module
        matrix = _with_long_indices(matrix) if long else matrix
        invalid = module.CholmodInvalidError if self._is_04 else module.CholmodInvalidInputError
        try:
            if self._is_04:
                long = matrix.indices.dtype == np.int64
                analysis = interruptible(
                    module.analyze, matrix, ordering_method=ordering, use_long=long
                )
            else:
                matrix = sp.csc_array(matrix)
                analysis = interruptible(module.CholeskyFactor, matrix, lower=True, order=ordering)
        except (module.CholmodNotInstalledError, invalid) as error:
            raise _not_built_in(ordering) from error
        return self._permutation(analysis), (analysis, matrix)

    def _permutation(self, analysis):
        return np.asarray(analysis.P() if self._is_04 else analysis.get_perm(), np.int64)

    def factor(self, matrix, analysis):
        analysis, matrix = analysis
        _processes_of_cholmod.add(os.getpid())
        try:
            if self._is_04:
                interruptible(analysis.cholesky_inplace, matrix)
                # 0.4 finds out about a matrix that is not positive definite only now.
                lower = analysis.L()
                lower.eliminate_zeros()  # of columns computed together; 0.5 does so itself
            else:
                interruptible(analysis.factorize, matrix)
                lower = analysis.get_factor(kind="LL", lower=True)
        except self._module.CholmodNotPositiveDefiniteError as error:
            raise NotPositiveDefinite(str(error)) from error
        return sp.csc_matrix(lower), self._permutation(analysis)


class SuperLU:
    """SciPy's SuperLU in symmetric mode: L D L^T read off its L and U."""

    name = "superlu"

    def order(self, matrix, ordering, long=False):
        """SuperLU orders only when it factorises, so it is given nothing to factorise.

        An incomplete factor of the pattern, with next to nothing off the diagonal, drops all of it
        at once and costs no more than the ordering.
        """
        n = matrix.shape[0]
        if ordering == "natural":
            return np.arange(n), np.arange(n)
        if ordering != "amd":
            raise _not_built_in(ordering)
        pattern = sp.csc_matrix(matrix, copy=True)
        pattern.data[:] = 1e-30
        pattern.setdiag(1.0)
        incomplete = interruptible(
            spilu, pattern, drop_tol=1e-3, fill_factor=2.0, permc_spec="MMD_AT_PLUS_A", **_SYMMETRIC
        )
        permutation = np.argsort(incomplete.perm_c).astype(np.int64)
        return permutation, permutation

    def factor(self, matrix, permutation):
        permuted = sp.csc_matrix(matrix)[permutation][:, permutation]
        try:
            lu = interruptible(splu, permuted, permc_spec="NATURAL", **_SYMMETRIC)
        except RuntimeError as error:
            raise NotPositiveDefinite(str(error)) from error
        pivots = lu.U.diagonal()
        if not (np.array_equal(lu.perm_r, lu.perm_c) and np.all(pivots > 0)):
            raise NotPositiveDefinite("a pivot is not positive")
        lower = lu.L.tocsc()
        lower.data *= np.repeat(np.sqrt(pivots), np.diff(lower.indptr))
        lower.sort_indices()
        return lower, permutation[np.argsort(lu.perm_c)]


_SYMMETRIC = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


def _with_long_indices(matrix):
    """The same matrix with indices of 64 bits, for factors of more than 2^31 entries."""
    longer = matrix.copy()
    longer.indptr = matrix.indptr.astype(np.int64)
    longer.indices = matrix.indices.astype(np.int64)
    return longer


def _not_built_in(ordering):
    return ValueError(
        f"ordering={ordering!r} is not built into the Cholesky library that is installed: take "
        "'amd' or 'natural'"
    )


def _cholmod():
    """CHOLMOD where it can be loaded and used, or why not."""
    if _processes_of_cholmod and os.getpid() not in _processes_of_cholmod:
        return (
            "cannot run in a process forked from one in which it has run, for its threads are not "
            "there: start processes with 'spawn' or 'forkserver' (joblib's loky does), or take "
            "backend='superlu'"
        )
    try:
        return Cholmod(importlib.import_module("sksparse.cholmod"))
    except ImportError:
        return (
            "needs scikit-sparse, which is not installed or cannot be loaded: install it (with "
            "SuiteSparse), or take backend='superlu', which comes with SciPy"
        )


BACKENDS = {"cholmod": _cholmod, "superlu": SuperLU}


def available_backends():
    """The backends that work here, the preferred one first."""
    return [name for name, make in BACKENDS.items() if not isinstance(make(), str)]


def get_backend(name="auto"):
    """A backend by name; "auto" is the preferred one."""
    if name == "auto":
        name = available_backends()[0]
    if not isinstance(name, str) or name not in BACKENDS:
        raise ValueError(f"backend={name!r} is not one of auto, {', '.join(BACKENDS)}")
    backend = BACKENDS[name]()
    if isinstance(backend, str):
        raise ValueError(f"backend={name!r} {backend}")
    return backend
