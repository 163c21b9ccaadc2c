"""Interpolative decomposition: a few rows of a block from which the others follow.

    A  ~  U A[skeleton],     U = I on the skeleton's rows, E on the others

so the same U serves every column that behaves like those of A. The skeleton is found by a QR
factorisation of A^T with column pivoting; the diagonal of R says how well a rank does.

The Cholesky factor of A A^T with pivoting is that R, as exactly as the square root of the
arithmetic's precision allows, and costs matrix products instead of reflections. Where a tolerance
asks for more, A is compressed to a few random combinations of its columns, and these are
factorised by Householder reflections.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

GRAM_TOLERANCE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-6}
FIRST_COMBINATIONS = 96
OVERSAMPLING = 1.25  # combinations per rank, at least


@dataclass(frozen=True)
class Interpolation:
    """`skeleton` and `rest` are rows of A; A[rest] ~ E @ A[skeleton].

    `pivot` is the largest row length that is left unexplained, and `first` the largest of A.
    """

    skeleton: np.ndarray
    rest: np.ndarray
    E: np.ndarray
    pivot: float = 0.0
    first: float = 0.0

    @property
    def rank(self):
        return len(self.skeleton)


def interpolate_rows(A, *, rel_tol, abs_tol, max_rank, generator):
    """The decomposition that ends where the next pivot is at most rel_tol times the first, or
    at most abs_tol, or where `max_rank` rows have been taken."""
    squares = np.einsum("ij,ij->i", A, A)
    first = float(np.sqrt(squares.max(initial=0.0)))
    if not np.isfinite(first):
        raise ValueError("the kernel has values that are not finite on these rows")
    limit = min(max_rank, *A.shape)
    tolerance = max(rel_tol, abs_tol / first if first > 0.0 else 1.0, 8 * np.finfo(A.dtype).eps)
    if limit == 0 or tolerance >= 1.0:
        rows = np.arange(A.shape[0])
        return Interpolation(rows[:0], rows, np.zeros((len(rows), 0), A.dtype), first, first)
    if tolerance < GRAM_TOLERANCE[np.dtype(np.float64)]:
        return _by_reflections(A, first, tolerance, limit, generator)
    if tolerance < GRAM_TOLERANCE[A.dtype]:
        return _by_gram(A.astype(np.float64), A.dtype, tolerance, limit)
    return _by_gram(A, A.dtype, tolerance, limit)


def _by_gram(A, dtype, tolerance, limit):
    gram = A @ A.T
    squares = gram.diagonal().copy()
    largest = float(squares.max())
    (pstrf,) = la.get_lapack_funcs(("pstrf",), (gram,))
    lower, pivots, rank, _ = pstrf(gram.T, lower=1, tol=tolerance**2 * largest, overwrite_a=1)
    rank, order = min(int(rank), limit), pivots.astype(np.intp) - 1
    below = np.asfortranarray(lower[rank:, :rank])
    explained = np.einsum("ij,ij->i", below, below)
    left = float((squares[order[rank:]] - explained).max(initial=0.0))
    (trsm,) = la.get_blas_funcs(("trsm",), (gram,))
    E = trsm(1.0, lower[:rank, :rank], below, side=1, lower=1, overwrite_b=1)
    E = np.ascontiguousarray(E, dtype=dtype)
    return Interpolation(order[:rank], order[rank:], E, np.sqrt(max(left, 0.0)), np.sqrt(largest))


def _by_reflections(A, first, tolerance, limit, generator):
    mixed, wanted = np.empty((A.shape[0], 0), A.dtype), FIRST_COMBINATIONS
    while True:
        if wanted >= A.shape[1]:
            mixed, spare = A, 1.0
        else:
            mix = generator.normal(size=(A.shape[1], wanted - mixed.shape[1])).astype(A.dtype)
            mixed = np.hstack([mixed, A @ mix])
            # Of `wanted` random directions the rows taken so far have used up one each: what is
            # left of a row is seen in the others only.
            used = np.arange(min(mixed.shape))
            spare = np.sqrt((wanted - used) / wanted)
        (geqp3,) = la.get_lapack_funcs(("geqp3",), (mixed,))
        R, pivots, *_ = geqp3(np.array(mixed.T, order="F"), overwrite_a=1)
        lengths = np.abs(np.diagonal(R)) / spare
        rank = int(np.argmax(np.append(lengths, 0.0) <= tolerance * lengths[0]))
        if OVERSAMPLING * rank <= wanted or wanted >= min(A.shape[1], OVERSAMPLING * limit):
            break
        wanted *= 2
    rank, order = min(rank, limit), pivots.astype(np.intp) - 1
    (trsm,) = la.get_blas_funcs(("trsm",), (R,))
    E = trsm(1.0, R[:rank, :rank], np.asfortranarray(R[:rank, rank:])).T
    left = first * (lengths[rank] / lengths[0]) if rank < len(lengths) else 0.0
    E = np.ascontiguousarray(E, dtype=A.dtype)
    return Interpolation(order[:rank], order[rank:], E, float(left), first)
