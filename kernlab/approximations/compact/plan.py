"""How to find the near pairs: by cells, or by blocked products, whichever looks at less.

A few rows are compared with a part of all rows, along the directions that cells would cut. The
work of each way is counted in nanoseconds that were measured once on one core; only their ratios
matter.
"""

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.compact.cells import CellGrid, Front
from kernlab.approximations.compact.products import ProductSearch
from kernlab.rows.products import BLAS, SPARSE_SPARSE
from kernlab.runtime import memory_limit

SEARCHES = ("auto", "cells", "products")
MAX_CELL_AXES = 4
SAMPLED_QUERIES, SAMPLED_CANDIDATES = 64, 8192

# Nanoseconds of one core.
AXIS = 0.3  # a candidate's distance along one direction
CANDIDATE = 1.0  # keeping or dropping it
RUN = 10.0  # visiting one run of rows
SETTLED, SETTLED_FEATURE = 8.0, 0.15  # fetching a pair that passed the screen; for each feature
PAIR = 2.5  # a pair in a block of products, beside the products themselves


def find_search(X, radius, search="auto", random_state=None, max_memory=None):
    """The search for pairs of rows of X nearer than `radius`, built: CellGrid or ProductSearch."""
    if search not in SEARCHES:
        raise ValueError(f"search={search!r} is not one of {', '.join(SEARCHES)}")
    fits = not sp.issparse(X) or 8 * X.shape[0] * X.shape[1] < memory_limit(max_memory) // 8
    if search == "products" or (search == "auto" and not fits):
        return ProductSearch(X, radius)
    filled = X.toarray() if sp.issparse(X) else X
    front = Front(filled, random_state)
    costs = costs_of_cells(filled, radius, front, random_state)
    n_axes = 1 + int(np.argmin(costs))
    if search == "auto" and cost_of_products(X) < costs[n_axes - 1]:
        return ProductSearch(X, radius)
    return CellGrid(filled, radius, front, n_axes)


def cost_of_products(X):
    """Nanoseconds for each row when all pairs are computed."""
    n, p = X.shape
    density = X.nnz / max(1, n * p) if sp.issparse(X) else 1.0
    multiplication = min(BLAS, SPARSE_SPARSE * density**2) if sp.issparse(X) else BLAS
    return n / 2 * (p * multiplication + PAIR)


def costs_of_cells(X, radius, front, random_state=None):
    """Nanoseconds for each row when 1, 2, ... axes are cut into cells."""
    n = X.shape[0]
    generator = np.random.default_rng(random_state)
    some = X if n <= SAMPLED_CANDIDATES else X[generator.choice(n, SAMPLED_CANDIDATES)]
    there = front(some)
    here = there[:SAMPLED_QUERIES]
    apart = np.abs(there[None, :, :] - here[:, None, :])
    n_axes = min(there.shape[1], MAX_CELL_AXES)
    # A cell and its neighbours reach 1.5 radii to either side, on average over places in a cell.
    inside = np.logical_and.accumulate(apart[:, :, :n_axes] < 1.5 * radius, axis=2)
    candidates = n * inside.mean(axis=(0, 1))
    passed = 0.0
    if not front.is_plain:
        passed = n * np.mean(np.einsum("qck,qck->qc", apart, apart) < radius * radius)
    work = candidates * (CANDIDATE + AXIS * there.shape[1])
    work += passed * (SETTLED + SETTLED_FEATURE * X.shape[1])
    return (work + RUN * 3.0 ** np.arange(n_axes)) / 2
