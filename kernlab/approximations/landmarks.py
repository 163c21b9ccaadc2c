"""Which points the Nystrom method is built on.

"kmeans": centres of a few of Lloyd's steps, as both papers; "uniform": rows at random; "first":
the first rows; "rpcholesky": rows chosen with a probability that follows what the rows chosen
before leave unexplained (Chen, Epperly, Tropp and Webber 2022); "leverage": rows chosen by their
ridge leverage score in a pilot approximation. Everything but "first" looks at no more than
`max_rows` rows, taken at random (the papers take the first, which for a sorted file is no sample).
"""

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from kernlab.approximations.kmeans import kmeans_centres
from kernlab.runtime import blas_threads_for, for_each_block, row_blocks

LANDMARKS = ("kmeans", "uniform", "first", "rpcholesky", "leverage")
MAX_ROWS = 20_000
BLOCK_ROWS = 2000


def choose_landmarks(
    X,
    n_landmarks="sqrt",
    how="kmeans",
    *,
    kernel,
    random_state=None,
    max_rows=MAX_ROWS,
    candidates="uniform",
    n_steps=3,
):
    """The landmarks: `n_landmarks` points by the rule `how`, or `how` itself if it is an array.

    `candidates`: "uniform" or "first", the rows looked at where there are more than `max_rows`.
    `n_steps`: Lloyd's steps for "kmeans". "rpcholesky" returns fewer where fewer rows explain all.
    """
    if not isinstance(how, str):
        return _checked_points(how, X)
    if how not in LANDMARKS:
        names = ", ".join(map(repr, LANDMARKS))
        raise ValueError(f"landmarks={how!r} is not one of {names}, nor an array of points")
    k = resolve_n_landmarks(n_landmarks, X.shape[0])
    generator = np.random.default_rng(random_state)
    if how == "first":
        return X[:k]
    if how == "uniform":
        return X[_uniform(X.shape[0], k, generator)]
    pool = _candidates(X, max(max_rows, k), candidates, generator)
    if how == "kmeans":
        return kmeans_centres(pool, k, n_steps, generator)
    # What is left unexplained is a small difference: single precision would not resolve it.
    choose = _rpcholesky if how == "rpcholesky" else _leverage
    return pool[choose(pool.astype(np.float64, copy=False), k, generator, kernel)]


def resolve_n_landmarks(n_landmarks, n_rows):
    """The number of landmarks: "sqrt" is the rounded square root of the number of rows."""
    if isinstance(n_landmarks, str):
        if n_landmarks != "sqrt":
            raise ValueError(f"n_landmarks={n_landmarks!r} is not a whole number nor 'sqrt'")
        return max(1, round(n_rows**0.5))
    is_whole = isinstance(n_landmarks, (int, np.integer)) and not isinstance(n_landmarks, bool)
    if not is_whole or n_landmarks < 1:
        raise ValueError(
            f"n_landmarks={n_landmarks!r} must be a whole number of at least 1, or 'sqrt'"
        )
    if n_landmarks > n_rows:
        raise ValueError(
            f"n_landmarks={n_landmarks} is more than the {n_rows} rows: ask for at most {n_rows}, "
            "or take the exact kernel"
        )
    return int(n_landmarks)


def _checked_points(points, X):
    points = sp.csr_matrix(points) if sp.issparse(points) else np.asarray(points)
    if points.ndim != 2 or points.shape[0] < 1 or points.shape[1] != X.shape[1]:
        raise ValueError(
            f"landmarks is an array of shape {points.shape}; it must be points of {X.shape[1]} "
            "features, one per row"
        )
    points = points.astype(X.dtype)
    if not np.all(np.isfinite(points.data if sp.issparse(points) else points)):
        raise ValueError("the landmarks given hold values that are not finite")
    return points


def _candidates(X, max_rows, which, generator):
    if which not in ("uniform", "first"):
        raise ValueError(f"candidates={which!r} is not 'uniform' nor 'first'")
    if X.shape[0] <= max_rows:
        return X
    if which == "first":
        return X[:max_rows]
    return X[_uniform(X.shape[0], max_rows, generator)]


# ------------------------------------------------------------------- rules that choose rows
def _uniform(n_rows, k, generator):
    return np.sort(generator.choice(n_rows, k, replace=False))


def _rpcholesky(X, k, generator, kernel, proposals=None):
    """Randomly pivoted Cholesky, with proposals in blocks and rejection (Epperly et al. 2024).

    A row is proposed with a probability proportional to what it left unexplained at the start of
    the round, and accepted with the fraction that the rows accepted since have left of it: the
    rows come out as if drawn one by one, at the speed of matrix products.
    """
    unexplained = np.maximum(np.asarray(kernel.diag(X), np.float64), 0.0)
    negligible = 1e-12 * unexplained.max(initial=0.0)
    factor = np.empty((X.shape[0], k))
    chosen = []
    proposals = proposals or max(1, min(k // 4, 256))
    while len(chosen) < k and unexplained.max() > negligible:
        proposed = generator.choice(
            len(unexplained), proposals, p=unexplained / unexplained.sum(), replace=True
        )
        done = factor[:, : len(chosen)]
        block = kernel(X[proposed]) - done[proposed] @ done[proposed].T
        accepted, corner = _accept(block, unexplained[proposed], generator)
        if accepted.size == 0:
            break  # what is left is rounding
        accepted = accepted[: k - len(chosen)]
        corner = corner[: len(accepted), : len(accepted)]
        pivots = proposed[accepted]
        columns = factor[:, len(chosen) : len(chosen) + len(pivots)]
        _fill_columns(columns, X, pivots, done, corner, kernel)
        unexplained = np.maximum(unexplained - np.einsum("ij,ij->i", columns, columns), 0.0)
        unexplained[pivots] = 0.0
        chosen.extend(pivots.tolist())
    # Where the kernel is zero on all rows, any one explains them.
    return np.array(chosen or [0], dtype=np.intp)


def _fill_columns(columns, X, pivots, done, corner, kernel):
    """The pivots' columns of the Cholesky factor, from the columns done before."""
    points, before = X[pivots], done[pivots].T

    def fill(rows):
        left = kernel(X[rows], points) - done[rows] @ before
        columns[rows] = la.solve_triangular(corner, left.T, lower=True, check_finite=False).T

    for_each_block(fill, row_blocks(X.shape[0], BLOCK_ROWS))


def _accept(block, before, generator):
    """Which proposals are accepted, in order, and the Cholesky factor of their block."""
    accepted, rows = [], []
    block = block.copy()
    for i in range(len(block)):
        left = block[i, i]
        if left > 1e-12 * before[i] and generator.random() * before[i] < left:
            row = block[:, i] / np.sqrt(left)
            accepted.append(i)
            rows.append(row)
            block -= np.outer(row, row)
    corner = np.array([row[accepted] for row in rows]).T if rows else np.empty((0, 0))
    return np.array(accepted, dtype=int), np.tril(corner)


def _leverage(X, k, generator, kernel):
    """Rows drawn by their ridge leverage score, [K (K + ridge I)^-1]_ii.

    The scores are estimated from a uniform sample S that stands for all rows (Musco and Musco 2017)
    as (k_ii - k_iS (K_SS + share ridge I)^-1 k_Si) / ridge: what S leaves unexplained counts in
    full. The ridge is where they add up to k.
    """
    n = X.shape[0]
    diagonal = np.asarray(kernel.diag(X), dtype=np.float64)
    size = diagonal.mean()  # scores are ratios of kernel values; squares of large ones overflow
    if not size > 0.0:
        return _uniform(n, k, generator)
    diagonal = diagonal / size
    S = X[_uniform(n, min(n, max(k, 100)), generator)]
    K = kernel(S) / size
    with blas_threads_for(len(K)):
        spectrum, directions = la.eigh(K)
    spectrum = np.maximum(spectrum, 0.0)
    explained = np.empty((n, len(K)))

    def explain(rows):
        explained[rows] = (kernel(X[rows], S) / size @ directions) ** 2

    for_each_block(explain, row_blocks(n, BLOCK_ROWS))
    share = S.shape[0] / n

    def scores(ridge):
        left = diagonal - explained @ (1.0 / (spectrum + share * ridge))
        return np.clip(left / ridge, 0.0, 1.0)

    low, high = 1e-12 * diagonal.sum(), diagonal.sum()
    for _ in range(30):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if scores(middle).sum() > k else (low, middle)
    weights = scores(high) + 1e-12  # rows without any score are drawn last
    return np.sort(generator.choice(n, k, replace=False, p=weights / weights.sum()))
