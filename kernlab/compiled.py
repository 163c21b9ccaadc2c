"""Compiling with Numba: cached on disk where that is possible, in memory where it is not."""

import numba

# Sums may be taken in another order and multiplications joined to additions, so that loops use
# the processor's vectors; not-a-number and infinity keep their meaning.
REORDERED_SUMS = frozenset({"reassoc", "contract", "nsz"})


def njit(function=None, *, fastmath=False):
    """Compile without the interpreter lock; keep the machine code where a folder allows it."""
    if function is None:
        return lambda function: njit(function, fastmath=fastmath)
    options = {"nogil": True, "fastmath": set(fastmath) if fastmath else False}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return numba.njit(**options)(function)
