"""LAPACK's factors of symmetric matrices, with other threads of Python running meanwhile, and
ARPACK's ends of a spectrum.

SciPy's own wrappers of LAPACK keep the interpreter lock to their end, which for matrices of 10,000
rows is minutes away, and not even Ctrl-C is heard (`runtime.interruptible`).
"""

import ctypes
from functools import cache

import numpy as np
import scipy.linalg as la
from scipy.linalg import cython_lapack
from scipy.sparse.linalg import LinearOperator, eigsh

from kernlab.runtime import interruptible

DENSE_ROWS = 32  # up to here a spectrum is that of the matrix, formed


def cholesky_factor(matrix, overwrite=False):
    """What `scipy.linalg.cho_solve` takes: (L in the lower triangle, True), in the precision given.

    With `overwrite` L takes the place of a matrix that is ordered by columns. LinAlgError says that
    the matrix is not positive definite.
    """
    factor = np.asfortranarray(matrix) if overwrite else np.array(matrix, order="F")
    n, info = ctypes.c_int(len(factor)), ctypes.c_int()
    _call(f"{_letter(factor)}potrf", b"L", n, factor, _leading(factor), info)
    if info.value:
        raise la.LinAlgError(f"leading minor {info.value} is not positive definite")
    return factor, True


def pivoted_cholesky(matrix, tol):
    """P^T A P = L L^T down to pivots of at most `tol`, of a matrix in double precision: an array
    with L in its lower triangle, the pivots, from 1, and the rank."""
    lower = np.array(matrix, dtype=np.float64, order="F")
    n, rank, info = ctypes.c_int(len(lower)), ctypes.c_int(), ctypes.c_int()
    pivots, room = np.zeros(len(lower), np.intc), np.empty(2 * len(lower))
    _call("dpstrf", b"L", n, lower, _leading(lower), pivots, rank, ctypes.c_double(tol), room, info)
    return lower, pivots, rank.value


def eigenvalues(matrix, vectors=True):
    """The eigenvalues, ascending, of a symmetric matrix, and its eigenvectors, in its precision.

    As `scipy.linalg.eigh`, whose routine (syevr) this is; without `vectors` the values alone.
    """
    A = np.array(matrix, order="F")
    if not np.all(np.isfinite(A)):
        raise ValueError("the matrix holds values that are not finite")
    size = len(A)
    n, zero, found, info = (ctypes.c_int(value) for value in (size, 0, 0, 0))
    letter, nothing = _letter(A), ctypes.c_double(0.0)  # of either precision
    values, V = np.zeros(size, A.dtype), np.empty((size, size) if vectors else (1, 1), A.dtype, "F")
    support = np.zeros(2 * max(1, size), np.intc)
    work, iwork = np.empty(max(1, 66 * size), A.dtype), np.empty(max(1, 10 * size), np.intc)
    _call(
        f"{letter}syevr", b"V" if vectors else b"N", b"A", b"L", n, A, _leading(A), nothing,
        nothing, zero, zero, nothing, found, values, V, _leading(V), support, work,
        ctypes.c_int(len(work)), iwork, ctypes.c_int(len(iwork)), info,
    )  # fmt: skip
    if info.value:
        raise la.LinAlgError(f"eigenvalues were not found (syevr, info={info.value})")
    return (values, V) if vectors else values


def _leading(matrix):
    """The distance of its columns, which to LAPACK is one at least, also without any."""
    return ctypes.c_int(max(1, len(matrix)))


def _letter(matrix):
    return {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}[matrix.dtype]


def _call(name, *arguments):
    places = []
    for one in arguments:
        if isinstance(one, np.ndarray):
            places.append(ctypes.c_void_p(one.ctypes.data))
        elif isinstance(one, bytes):
            places.append(ctypes.c_char_p(one))
        else:
            places.append(ctypes.byref(one))
    routine = _routine(name)

    def compute():  # holds the arrays, for it may still be at work when nobody waits for it
        routine(*places)
        return arguments

    interruptible(compute)


@cache
def _routine(name):
    capsule, api = cython_lapack.__pyx_capi__[name], ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None)(pointer)


def largest_eigenvalue(product, n_rows, *, tol=1e-5, random_state=0):
    """The largest eigenvalue of a symmetric matrix, by Lanczos' method; never above the true one
    but for rounding. `product` gives the matrix times the columns of an array of shape (n_rows, k);
    `tol` is the residual |A v - lambda v| relative to lambda."""
    if n_rows <= DENSE_ROWS:
        return float(np.linalg.eigvalsh(product(np.eye(n_rows)))[-1])

    def times(v):
        return product(np.reshape(v, (-1, 1))).ravel()

    start = np.random.default_rng(random_state).standard_normal(n_rows)
    if not times(start).any():
        return 0.0  # ARPACK has no use for a matrix of zeros
    operator = LinearOperator((n_rows, n_rows), times, dtype=np.float64)
    return float(eigsh(operator, 1, which="LA", tol=tol, v0=start, return_eigenvectors=False)[0])


def smallest_eigenvalue(product, n_rows, *, tol=1e-5, random_state=0):
    """The smallest eigenvalue, to `tol` times the largest absolute one; never below the true one.

    It is what the largest eigenvalue of s I - A lacks of s, with s the largest of A: convergence
    does not depend on how small it is.
    """
    shift = max(0.0, largest_eigenvalue(product, n_rows, tol=1e-2, random_state=random_state))
    return shift - largest_eigenvalue(
        lambda V: shift * V - product(V), n_rows, tol=tol, random_state=random_state
    )
