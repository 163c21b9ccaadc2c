"""A few steps of k-means, fast enough to be a small part of training.

Landmarks need no converged clustering: both Nystrom papers stop after a few of Lloyd's steps. The
distances are one matrix product in single precision, taken in blocks that stay in the cache; what
is asked of them is only which centre is nearest.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.rows.products import inner_products, prepare_right
from kernlab.runtime import for_each_block, row_blocks

DENSE_VALUES = 2**25  # matrices up to this size (128 MB in single precision) are filled in


def kmeans_centres(X, n_centres, n_steps, generator):
    """Centres of `n_centres` clusters of the rows of X after `n_steps` of Lloyd's steps.

    The start is distinct rows, chosen at random. A cluster that has lost all its rows starts again
    at the row that is worst served. Where X has fewer distinct rows than clusters, centres repeat.
    """
    rows, shift, scale = _comparable(X)
    start = generator.choice(rows.shape[0], n_centres, replace=False)
    centres = rows[np.sort(start)]
    for _ in range(n_steps):
        nearest, distances = _nearest(rows, centres)
        moved = _means(rows, nearest, n_centres)
        moved = _reseed_empty(moved, rows, nearest, distances)
        if _equal(moved, centres):
            break
        centres = moved
    centres = centres.astype(X.dtype) * X.dtype.type(scale)
    return centres + shift.astype(X.dtype) if shift is not None else sp.csr_matrix(centres)


def _comparable(X):
    """The rows in single precision, about zero and of size one, so that nothing overflows."""
    largest = float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0))
    scale = largest if largest > 0 else 1.0
    if sp.issparse(X):
        rows = sp.csr_matrix((X.data / scale, X.indices, X.indptr), shape=X.shape)
        rows = rows.astype(np.float32)
        if X.shape[0] * X.shape[1] > DENSE_VALUES:
            return rows, None, scale
        return rows.toarray(), np.zeros(X.shape[1]), scale
    mean = (X / scale).mean(axis=0)
    return (X / scale - mean).astype(np.float32), mean * scale, scale


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


def _means(rows, nearest, n_centres):
    """The mean of each cluster; zero for a cluster without rows."""
    sizes = np.bincount(nearest, minlength=n_centres)
    order = np.argsort(nearest, kind="stable")
    members = sp.csr_matrix(
        (np.ones(len(order), np.float32), order, np.concatenate([[0], np.cumsum(sizes)])),
        shape=(n_centres, rows.shape[0]),
    )
    per_cluster = 1.0 / np.maximum(sizes, 1).astype(np.float32)
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
    centres[empty] = rows[worst]
    return centres


def _equal(A, B):
    return (A != B).nnz == 0 if sp.issparse(A) else np.array_equal(A, B)
