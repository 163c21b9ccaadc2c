"""Which points the Nystrom method is built on: chosen rows, or centres of a few steps of k-means.

A row of weight 2 is the row twice: of up to `max_rows` rows equal ones are taken together, with the
sum of their weights, in an order of their values, so that the same landmarks are found; more rows
are drawn with chances in proportion to their weights.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.approximations.base import checked_points
from kernlab.parameters import one_of, whole
from kernlab.rows import as_rows, merged_rows
from kernlab.rows.products import inner_products, prepare_right, unit_rows
from kernlab.runtime import (
    for_each_block,
    memory_limit,
    require_memory,
    row_blocks,
    solve_triangle,
)

LANDMARKS = ("kmeans", "uniform", "first", "rpcholesky")
MAX_ROWS = 20_000
LLOYD_STEPS = 3
BLOCK_ROWS = 2000
DENSE_BYTES = 2**27  # of sparse rows up to this size in single precision, centres are dense


def choose_landmarks(
    X,
    n_landmarks="sqrt",
    how="kmeans",
    *,
    kernel,
    random_state=None,
    sample_weight=None,
    max_memory=None,
    max_rows=MAX_ROWS,
    candidates="uniform",
):
    """The landmarks, by a rule or as given.

    Parameters
    ----------
    X : array, CSR matrix or Rows
    n_landmarks : int or "sqrt"
    how : "kmeans": centres of a few of Lloyd's steps, as both papers; "uniform": rows at random;
        "first": the first rows; "rpcholesky": rows chosen with a probability that follows what the
        rows chosen before leave unexplained (Chen, Epperly, Tropp and Webber 2022); or the
        landmarks themselves.
    kernel : Kernel, for "rpcholesky"
    sample_weight : how often each row counts.
    random_state, max_memory : as everywhere.
    max_rows : how many rows are looked at, but for "first" and "uniform".
    candidates : "uniform" or "first", which rows are looked at where there are more.

    Returns
    -------
    array or CSR matrix
        Fewer points than asked for where fewer rows are distinct and some are repeated, and where
        "rpcholesky" finds that fewer explain all.
    """
    rows, weights = as_rows(X), sample_weight
    if not isinstance(how, str):
        return checked_points(how, rows.n_features, rows.dtype, "landmarks")
    if how not in LANDMARKS:
        names = ", ".join(map(repr, LANDMARKS))
        raise ValueError(f"landmarks={how!r} is not one of {names}, nor an array of points")
    n = len(rows) if weights is None else round(max(weights.sum(), np.count_nonzero(weights)))
    k, limit = resolve_n_landmarks(n_landmarks, n), max_rows
    if how == "first":
        return rows.take(np.arange(k) if weights is None else np.flatnonzero(weights)[:k])
    generator = np.random.default_rng(random_state)
    if how == "uniform" and len(rows) > max(limit, k):
        return rows.take(draw(len(rows), k, generator, weights))
    pool, weights = _candidates(rows, weights, max(limit, k), candidates, generator, max_memory)
    k = min(k, pool.shape[0])
    if how == "uniform":
        return pool[draw(pool.shape[0], k, generator, weights)]
    if how == "kmeans":
        return kmeans_centres(pool, k, LLOYD_STEPS, generator, weights, max_memory)
    m, wide = pool.shape[0], max(k, 100)
    require_memory(
        8 * (m * wide + 4 * k * k),
        max_memory,
        what=f"choosing {k:,} of {m:,} rows by landmarks={how!r}",
        arithmetic=f"({m:,} x {wide:,} + 4 x {k:,}^2) x 8 bytes",
        way_out="Allow more with max_memory, look at fewer rows (max_rows of landmark_params), or "
        "take landmarks='kmeans'.",
    )
    # What is left unexplained is a small difference: single precision would not resolve it.
    return pool[_rpcholesky(pool.astype(np.float64, copy=False), k, generator, kernel, weights)]


def resolve_n_landmarks(n_landmarks, n_rows):
    """The number of landmarks: "sqrt" is the rounded square root of the number of rows."""
    if isinstance(n_landmarks, str) and n_landmarks == "sqrt":
        return max(1, round(n_rows**0.5))
    if whole(n_landmarks, "n_landmarks") > n_rows:
        raise ValueError(
            f"n_landmarks={n_landmarks} is more than the {n_rows} rows: ask for at most {n_rows}, "
            "or take the exact kernel"
        )
    return int(n_landmarks)


def _candidates(rows, weights, limit, which, generator, max_memory):
    """At most `limit` rows to choose from, and how often each counts (None: all alike)."""
    one_of("uniform", "first")(which, "candidates")
    if len(rows) > limit:
        if which == "uniform":
            return rows.take(draw(len(rows), limit, generator, weights)), None
        chosen = np.arange(limit) if weights is None else np.flatnonzero(weights)[:limit]
        return rows.take(chosen), None if weights is None else weights[chosen]
    merged = merged_rows(rows, weights)
    if merged is None:
        return rows.whole(max_memory), None
    first, counts = merged
    return rows.take(first), counts


# ------------------------------------------------------------------- rules that choose rows
def _rpcholesky(X, k, generator, kernel, weights=None):
    """Randomly pivoted Cholesky, with proposals in blocks and rejection (Epperly et al. 2024).

    A row is proposed with a probability proportional to what it left unexplained at the start of
    the round, and accepted with the fraction that the rows accepted since have left of it.
    """
    weights = 1.0 if weights is None else weights
    unexplained = np.maximum(np.asarray(kernel.diag(X), np.float64), 0.0)
    negligible = 1e-12 * unexplained.max(initial=0.0)
    factor = np.empty((X.shape[0], k))
    chosen = []
    proposals = max(1, min(k // 4, 256))
    while len(chosen) < k and unexplained.max() > negligible:
        chances = weights * unexplained
        proposed = generator.choice(len(chances), proposals, p=chances / chances.sum())
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
        columns[rows] = solve_triangle(np.asfortranarray(corner, left.dtype), left.T).T

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


# ------------------------------------------------------------------- k-means
# scikit-learn's KMeans finds the same centres with one pass more over the distances (1.3 to 1.8
# times the seconds from 200 centres on), adds up the parts of its threads in the order in which
# they end, and has dense centres of sparse rows; its MiniBatchKMeans takes twice the seconds.
def kmeans_centres(X, n_centres, n_steps, generator, weights=None, max_memory=None):
    """Centres of clusters of the rows of X, after a few of Lloyd's steps.

    Landmarks need no converged clustering: both Nystrom papers stop early. Distances are products
    in single precision, for they only say which centre is nearest.

    Parameters
    ----------
    X : array or CSR matrix
    n_centres : at most the number of rows. Where fewer rows are distinct, centres repeat.
    generator : draws the rows to start from, by their weights. A cluster that has lost all its rows
        starts again at the row that is worst served.
    weights : how often each row counts.

    Returns
    -------
    array or, where sparse rows are too large to be filled in, CSR matrix
    """
    if sp.issparse(X) and X.shape[1] > max(1, X.nnz):  # most columns are empty: work without them
        used, indices = np.unique(X.indices, return_inverse=True)
        part = sp.csr_matrix((X.data, indices, X.indptr), shape=(X.shape[0], max(1, len(used))))
        found = sp.csr_matrix(
            kmeans_centres(part, n_centres, n_steps, generator, weights, max_memory)
        )
        parts = found.data, used[found.indices], found.indptr
        return sp.csr_matrix(parts, shape=(n_centres, X.shape[1]))
    (n, p), held = X.shape, X.nnz if sp.issparse(X) else X.shape[0] * X.shape[1]
    wide = held if _stays_sparse(X, max_memory) else n_centres * p
    require_memory(
        4 * held + 12 * wide,
        max_memory,
        what=f"{n_centres:,} centres of {n:,} rows of {p:,} features",
        arithmetic=f"4 x {held:,} + 3 x {wide:,} x 4 bytes",
        way_out="Allow more with max_memory, or take landmarks='uniform'.",
    )
    rows, shift, scale = unit_rows(X)
    centres = rows[draw(rows.shape[0], n_centres, generator, weights)]
    if sp.issparse(X) and not _stays_sparse(X, max_memory):  # centres are filled in, rows are not
        centres, shift = centres.toarray(), np.zeros(p)
    for _ in range(n_steps):
        nearest, distances = _nearest(rows, centres)
        moved = _means(rows, nearest, n_centres, weights)
        if sp.issparse(moved) and not sp.issparse(centres):
            moved = moved.toarray()
        moved = _reseed_empty(moved, rows, nearest, distances)
        if (moved != centres).sum() == 0:
            break
        centres = moved
    centres = centres.astype(X.dtype) * X.dtype.type(scale)
    return centres + shift.astype(X.dtype) if shift is not None else sp.csr_matrix(centres)


def draw(n, k, generator, weights=None):
    """k of n positions in order, drawn without replacement with chances in proportion to weights;
    all of positive weight where there are no more than k."""
    if weights is None:
        return np.sort(generator.choice(n, k, replace=False))
    positive = np.flatnonzero(weights)
    if len(positive) <= k:
        return positive
    return np.sort(generator.choice(n, k, replace=False, p=weights / weights.sum()))


def _stays_sparse(X, max_memory):
    room = min(DENSE_BYTES, memory_limit(max_memory) // 4)
    return sp.issparse(X) and 4 * X.shape[0] * X.shape[1] > room


def _nearest(rows, centres):
    """For each row the nearest centre, and its squared distance."""
    right = prepare_right(rows, centres)
    half_norms = 0.5 * right.norms
    nearest = np.empty(rows.shape[0], dtype=np.int32)
    distances = row_norms(rows, squared=True)

    def assign(block):
        closeness = np.empty((block.stop - block.start, centres.shape[0]), dtype=np.float32)
        inner_products(rows[block], right, closeness)
        closeness -= half_norms
        nearest[block] = closeness.argmax(axis=1)
        best = np.take_along_axis(closeness, nearest[block, None].astype(np.intp), axis=1)
        distances[block] = np.maximum(distances[block] - 2.0 * best[:, 0], 0.0)

    in_cache = 2**18 // centres.shape[0]
    for_each_block(assign, row_blocks(rows.shape[0], min(max(in_cache, 64), 2048)))
    return nearest, distances


def _means(rows, nearest, n_centres, weights):
    """The mean of each cluster; zero for a cluster without rows."""
    weights = np.ones(len(nearest)) if weights is None else weights
    sizes = np.bincount(nearest, weights, minlength=n_centres)
    sizes, exponents = np.frexp(sizes)  # in single precision tiny weights would be none
    weights = np.ldexp(weights, -exponents[nearest])
    order = np.argsort(nearest, kind="stable")
    counts = np.bincount(nearest, minlength=n_centres)
    members = sp.csr_matrix(
        (weights[order].astype(np.float32), order, np.concatenate([[0], np.cumsum(counts)])),
        shape=(n_centres, rows.shape[0]),
    )
    per_cluster = 1.0 / np.where(sizes > 0, sizes, 1.0).astype(np.float32)
    return sp.diags_array(per_cluster).tocsr() @ (members @ rows)


def _reseed_empty(centres, rows, nearest, distances):
    empty = np.setdiff1d(np.arange(centres.shape[0]), nearest)
    if empty.size == 0:
        return centres
    worst = np.argpartition(distances, -empty.size)[-empty.size :]
    if sp.issparse(centres):
        centres = centres.tolil()
        centres[empty] = rows[worst]
        return centres.tocsr()
    centres[empty] = rows[worst].toarray() if sp.issparse(rows) else rows[worst]
    return centres
