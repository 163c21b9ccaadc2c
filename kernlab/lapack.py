"""LAPACK's Cholesky factors, called so that other threads of Python run meanwhile.

SciPy's own wrappers of these two routines keep the interpreter lock to their end, which for
matrices of 10,000 rows is minutes away, and not even Ctrl-C is heard (`runtime.interruptible`).
"""

import ctypes
from functools import cache

import numpy as np
import scipy.linalg as la
from scipy.linalg import cython_lapack

from kernlab.runtime import interruptible


def cholesky_factor(matrix, overwrite=False):
    """What `scipy.linalg.cho_solve` takes: (L in the lower triangle, True), in the precision given.

    With `overwrite` L takes the place of a matrix that is ordered by columns.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where the matrix is not positive definite.
    """
    factor = np.asfortranarray(matrix) if overwrite else np.array(matrix, order="F")
    letter, n, info = _letter(factor), ctypes.c_int(len(factor)), ctypes.c_int()
    _call(f"{letter}potrf", b"L", n, factor, n, info)
    if info.value:
        raise la.LinAlgError(f"leading minor {info.value} is not positive definite")
    return factor, True


def pivoted_cholesky(matrix, tol):
    """P^T A P = L L^T down to pivots of at most `tol`, of a matrix in double precision.

    Returns
    -------
    lower : array with L in its lower triangle; pivots : array, from 1; rank : int
    """
    lower = np.array(matrix, dtype=np.float64, order="F")
    n, rank, info = ctypes.c_int(len(lower)), ctypes.c_int(), ctypes.c_int()
    pivots, room = np.zeros(len(lower), np.intc), np.empty(2 * len(lower))
    _call("dpstrf", b"L", n, lower, n, pivots, rank, ctypes.c_double(tol), room, info)
    return lower, pivots, rank.value


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
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = (
        ctypes.c_char_p,
        [ctypes.py_object],
    )
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None)(pointer)
