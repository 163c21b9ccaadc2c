"""How a cluster of points is cut in two: the rules a cluster tree is built by.

Each rule gives every row a score, and a threshold up to which rows go left; without one the lower
half does. `cut` turns that into two parts that are never empty, whatever the points.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

LLOYD_STEPS = 30  # of 2-means in the fast mode; the paper's mode goes on until labels stand still
LLOYD_ROWS = 8192  # rows that 2-means looks at in the fast mode


def cut(rows, rule, generator, smallest_share=0.0, thorough=False):
    """The rows of the two parts, as two arrays of indices, each in its old order.

    `smallest_share` is what the smaller part gets at least: a cut that is more lopsided moves
    along its score. With `thorough`, 2-means sees all rows and runs until it has converged.
    """
    scores, threshold = SPLITS[rule](rows, generator, thorough)
    n = len(scores)
    on_left = n // 2 if threshold is None else int(np.count_nonzero(scores <= threshold))
    if on_left in (0, n):
        on_left = n // 2  # rows that are all alike are dealt out by their order
    fewest = max(1, int(smallest_share * n))
    on_left = min(max(on_left, fewest), n - fewest)
    left = np.zeros(n, dtype=bool)
    left[np.argsort(scores, kind="stable")[:on_left]] = True
    return np.flatnonzero(left), np.flatnonzero(~left)


def two_means(rows, generator, thorough=False):
    """Clusters around two centres: k-means++ seeding, then Lloyd's steps until labels stand still.

    With two centres the nearer one is on a side of a hyperplane, so a step is two products of the
    rows with one vector.
    """
    sample = rows
    if not thorough and rows.shape[0] > LLOYD_ROWS:
        sample = rows[np.sort(generator.choice(rows.shape[0], LLOYD_ROWS, replace=False))]
    normal, threshold = _seeds(sample, generator)
    total, before = _sum(sample), None
    for _ in range(10_000 if thorough else LLOYD_STEPS):
        left = sample @ normal <= threshold
        size = np.count_nonzero(left)
        if size in (0, len(left)) or (before is not None and np.array_equal(left, before)):
            break
        before = left
        of_left = sample.T @ left.astype(sample.dtype)
        a, b = of_left / size, (total - of_left) / (len(left) - size)
        normal, threshold = _bisector(a, b)
    return rows @ normal, threshold


def _seeds(rows, generator):
    """Two rows: one at random, the other with a chance that grows with its squared distance."""
    first = _row(rows, generator.integers(rows.shape[0]))
    distances = row_norms(rows, squared=True).astype(np.float64) - 2.0 * (rows @ first)
    distances = np.maximum(distances + first @ first, 0.0)
    if distances.sum() == 0.0:
        return _bisector(first, first)
    second = generator.choice(len(distances), p=distances / distances.sum())
    return _bisector(first, _row(rows, second))


def _bisector(a, b):
    """(normal, threshold): points x with normal . x <= threshold are nearer to a."""
    return b - a, 0.5 * ((b - a) @ (a + b))


def widest_coordinate(rows, generator, thorough=False):
    """The median of the coordinate with the largest range (a k-d tree)."""
    span = _dense(rows.max(axis=0)) - _dense(rows.min(axis=0))
    return _dense(rows[:, [int(np.argmax(span))]]).ravel(), None


def leading_direction(rows, generator, thorough=False):
    """The median along the direction of largest variance."""
    mean = _sum(rows) / rows.shape[0]
    direction = generator.normal(size=rows.shape[1]).astype(rows.dtype)
    direction /= np.linalg.norm(direction)
    for _ in range(200):
        scores = rows @ direction - mean @ direction
        image = rows.T @ scores - mean * scores.sum()
        length = np.linalg.norm(image)
        if length == 0.0:
            break
        image /= length
        still = abs(image @ direction) > 1.0 - 1e-8
        direction = image
        if still:
            break
    return rows @ direction, None


def distance_to_farthest(rows, generator, thorough=False):
    """The median of the distance to the row that is farthest from the mean ("cobble")."""
    norms = row_norms(rows, squared=True)
    from_mean = norms - 2.0 * (rows @ (_sum(rows) / rows.shape[0]))
    farthest = _row(rows, int(np.argmax(from_mean)))
    return norms - 2.0 * (rows @ farthest), None


def as_they_come(rows, generator, thorough=False):
    """The first half and the second half, in the order of the data."""
    return np.arange(rows.shape[0]), None


SPLITS = {
    "2means": two_means,
    "kdtree": widest_coordinate,
    "pca": leading_direction,
    "cobble": distance_to_farthest,
    "natural": as_they_come,
}


def _sum(rows):
    return _dense(rows.sum(axis=0)).ravel().astype(rows.dtype, copy=False)


def _row(rows, i):
    return _dense(rows[[i]]).ravel()


def _dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)
