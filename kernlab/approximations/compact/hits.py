"""Pairs of rows that are near each other: how they are handed on, and their exact distances."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kernlab.runtime import REORDERED_SUMS, njit

CHUNK = 16  # features between two looks at whether a pair is too far already


class Hits(NamedTuple):
    """The near fitted rows of some rows, one after the other.

    Row q has the next `counts[q]` entries of `columns` (ascending) and `squares` (of distances).
    """

    counts: np.ndarray
    columns: np.ndarray
    squares: np.ndarray


def settle(hits, queries, points, radius):
    """The hits that are nearer than `radius` in truth, with their exact squared distances.

    `hits` come from a screen that lets pairs pass in doubt. Differences are taken before they are
    squared: equal rows are at distance zero, which |x|^2 + |z|^2 - 2 x . z would not give.
    """
    counts, columns, squares = hits
    if sp.issparse(points):
        kept = _settle_sparse(
            *(queries.indptr, queries.indices, queries.data),
            *(points.indptr, points.indices, points.data),
            *(counts, columns, squares, radius * radius),
        )
    else:
        kept = _settle_dense(queries, points, counts, columns, squares, radius * radius)
    return Hits(counts, columns[:kept], squares[:kept])


@njit(fastmath=REORDERED_SUMS)
def _settle_dense(queries, points, counts, columns, squares, limit):
    n_features = points.shape[1]
    read, kept = 0, 0
    for q in range(len(counts)):
        query = queries[q]
        before = kept
        for _ in range(counts[q]):
            column = columns[read]
            read += 1
            point = points[column]
            total = 0.0
            for start in range(0, n_features, CHUNK):
                for f in range(start, min(start + CHUNK, n_features)):
                    difference = query[f] - point[f]
                    total += difference * difference
                if total >= limit:
                    break
            if total < limit:
                columns[kept] = column
                squares[kept] = total
                kept += 1
        counts[q] = kept - before
    return kept


@njit
def _settle_sparse(
    q_starts, q_features, q_values, starts, features, values, counts, columns, squares, limit
):
    read, kept = 0, 0
    for q in range(len(counts)):
        before = kept
        for _ in range(counts[q]):
            column = columns[read]
            read += 1
            a, a_end = q_starts[q], q_starts[q + 1]
            b, b_end = starts[column], starts[column + 1]
            total = 0.0
            while a < a_end or b < b_end:
                # Two sorted lists of features: take the smaller one, or both where they agree.
                if b == b_end or (a < a_end and q_features[a] < features[b]):
                    difference = q_values[a]
                    a += 1
                elif a == a_end or features[b] < q_features[a]:
                    difference = values[b]
                    b += 1
                else:
                    difference = q_values[a] - values[b]
                    a += 1
                    b += 1
                total += difference * difference
            if total < limit:
                columns[kept] = column
                squares[kept] = total
                kept += 1
        counts[q] = kept - before
    return kept
