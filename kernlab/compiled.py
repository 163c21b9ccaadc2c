"""Compiling with Numba: cached on disk where that is possible, in memory where it is not."""

import numba


def njit(function):
    """Compile without the interpreter lock; keep the machine code where a folder allows it."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return numba.njit(nogil=True)(function)
