"""A few steps of k-means, fast enough to be a small part of training.

Landmarks need no converged clustering: both Nystrom papers stop after a few of Lloyd's steps. The
distances are one matrix product in single precision, taken in blocks that stay in the cache; what
is asked of them is only which centre is nearest.

scikit-learn's KMeans finds the same centres with one pass more over the distances (1.3 to 1.8 times
the seconds from 200 centres on); it adds up the parts of its threads in the order in which they
end, so that rounding differs from run to run, and its centres of sparse rows are dense. Its
MiniBatchKMeans takes twice the seconds at no smaller error of the kernel matrix. So the steps are
taken here.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.rows.products import inner_products, prepare_right, unit_rows
from kernlab.runtime import for_each_block, memory_limit, require_memory, row_blocks

DENSE_BYTES = 2**27  # of sparse rows up to this size in single precision, centres are dense


def kmeans_centres(X, n_centres, n_steps, generator, weights=None, max_memory=None):
    """Centres of clusters of the rows of X, after a few of Lloyd's steps.

    Parameters
    ----------
    X : array or CSR matrix
    n_centres : int
        At most the number of rows. Where fewer rows are distinct, centres repeat.
    n_steps : int
    generator : numpy.random.Generator
        Draws the rows to start from, by their weights. A cluster that has lost all its rows starts
        again at the row that is worst served.
    weights : array, default None
        How often each row counts.
    max_memory : int or str, default None

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
        if _equal(moved, centres):
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


def _equal(A, B):
    return (A != B).nnz == 0 if sp.issparse(A) else np.array_equal(A, B)
