"""Compression: from a kernel and a cluster tree to the hierarchically semi-separable matrix.

Level by level from the bottom, and within a level on all cores. A leaf's rows are its points, an
inner node's rows the skeletons of its children; each node but the root finds a basis for its rows
of the kernel matrix from a sample of the columns outside it. No entry of the kernel matrix is
looked at beyond the leaves' blocks, the couplings and these samples.

A basis is an interpolative decomposition: a few rows of a block from which the others follow.

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
import scipy.sparse as sp
from tqdm.auto import tqdm

from kernlab.approximations.hss.matrix import Basis, HSSMatrix
from kernlab.approximations.hss.neighbours import outside
from kernlab.runtime import (
    bar_options,
    for_each_block,
    format_bytes,
    memory_limit,
    require_memory,
    thread_count,
)

LEAST_TEST = 64  # columns held out to test a basis on
TEST_SLACK = 10.0  # how much more may be left on them than on the columns it was found from
MOST_COLUMNS = 32  # per row

GRAM_TOLERANCE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-6}
FIRST_COMBINATIONS = 96
OVERSAMPLING = 2.0  # combinations per rank, at least: what is left is then 1.4 times the least


def compress(geometry, kernel, *, rel_tol, abs_tol, max_rank, seed, max_memory=None):
    """The HSS matrix of `kernel` on the points of a `Geometry`.

    A node at depth l ends its basis where the next pivot is at most rel_tol / l times the first, or
    at most abs_tol / l, or at rank max_rank. `seed` is a `numpy.random.SeedSequence`.
    """
    tree, limit = geometry.tree, memory_limit(max_memory)
    work = _Compression(geometry, kernel, (rel_tol, abs_tol, max_rank), seed, limit)
    with tqdm(total=tree.n_nodes, desc="compressing", unit="node", **bar_options()) as bar:
        for nodes in reversed(tree.levels):
            work.begin_level(nodes)
            for_each_block(work.node, nodes)
            work.columns.level_done(nodes, work.skeletons)
            bar.update(len(nodes))
    return HSSMatrix(tree, work.blocks, work.couplings, work.bases)


class _Compression:
    def __init__(self, geometry, kernel, tolerances, seed, limit):
        self.rows, self.kernel, self.tree = geometry.rows, kernel, geometry.tree
        self.columns = geometry.columns.begin(tolerances[0], tolerances[2])
        self.tolerances, self.limit, self.held = tolerances, limit, geometry.nbytes
        tree = geometry.tree
        self.seeds = seed.spawn(tree.n_nodes)
        self.blocks, self.couplings, self.bases, self.skeletons, self.neighbours = (
            [None] * tree.n_nodes for _ in range(5)
        )

    def node(self, t):
        points, neighbours = self._leaf(t) if self.tree.is_leaf(t) else self._inner(t)
        if t == 0:
            self.skeletons[t] = points
            return
        generator = np.random.default_rng(self.seeds[t])
        found, columns = self._basis(t, points, neighbours, generator)
        if self.columns.too_few(t, columns, found.rank):
            for below in self.tree.subtree(t)[::-1]:
                self.node(below)
            return
        self.skeletons[t] = points[found.skeleton]
        self.bases[t] = Basis(found.skeleton, found.rest, found.E, self.skeletons[t], columns)
        self.neighbours[t] = self.columns.passed_on(len(points), neighbours, generator)

    def _basis(self, t, points, neighbours, generator):
        """A basis that holds on columns it was not found from, and how many it was found from."""
        rel_tol, abs_tol, max_rank = self.tolerances
        within = {"rel_tol": rel_tol / self.tree.depth[t], "abs_tol": abs_tol / self.tree.depth[t]}
        used = self.columns.first(t, len(points), neighbours, generator)
        test = max(LEAST_TEST, len(used) // 8)
        self._require_room(t, len(points), len(used), test)
        block = self._kernel_block(points, used)
        while True:
            found = interpolate_rows(block, **within, max_rank=max_rank, generator=generator)
            further = self.columns.further(t, test, used, neighbours, generator)
            if not len(further) or not len(found.rest) or len(used) > MOST_COLUMNS * len(points):
                return found, len(used)
            unseen = self._kernel_block(points, further)
            missed = unseen[found.rest] - found.E @ unseen[found.skeleton]
            allowed = max(within["rel_tol"] * found.first, within["abs_tol"], found.pivot)
            allowed *= TEST_SLACK * np.sqrt(len(further) / len(used))
            if np.einsum("ij,ij->i", missed, missed).max() <= allowed**2:
                return found, len(used)
            misses = np.einsum("ij,ij->j", missed, missed)
            worst = np.argsort(misses)[-max(LEAST_TEST // 4, len(further) // 4) :]
            used = np.concatenate([used, further[worst]])
            test = len(used)
            self._require_room(t, len(points), len(used), test)
            block = np.hstack([block, unseen[:, worst]])

    def _leaf(self, t):
        points = np.arange(self.tree.start[t], self.tree.stop[t])
        if self.blocks[t] is None:
            self.blocks[t] = self.kernel(self.rows[points[0] : points[-1] + 1])
            if not np.isfinite(self.blocks[t].sum()):
                raise ValueError("the kernel has values that are not finite on these rows")
        return points, self.columns.at_leaf(t)

    def _inner(self, t):
        a, b = self.tree.children[t]
        self.couplings[t] = self._kernel_block(self.skeletons[a], self.skeletons[b])
        neighbours = np.concatenate([self.neighbours[a], self.neighbours[b]])
        self.neighbours[a] = self.neighbours[b] = None
        points = np.concatenate([self.skeletons[a], self.skeletons[b]])
        return points, outside(self.tree, t, neighbours)

    def _kernel_block(self, points, others):
        if len(points) == 0 or len(others) == 0:
            return np.zeros((len(points), len(others)), self.rows.dtype)
        return self.kernel(self.rows[points], self.rows[others])

    # --------------------------------------------------------------------------- memory
    def begin_level(self, nodes):
        """Note what is held when the nodes of a level are begun, and what they will keep: a block
        or coupling, and a basis, which of rank r on m rows has (m - r) r entries."""
        item, tree = self.rows.dtype.itemsize, self.tree
        done = np.flatnonzero(tree.depth > tree.depth[nodes[0]])
        kept = sum(
            part.nbytes
            for t in done
            for part in (self.blocks[t], self.couplings[t], self.bases[t])
            if part is not None
        )
        for t in nodes:
            if tree.is_leaf(t):
                sizes = (int(tree.sizes[t]), int(tree.sizes[t]))
                rows = sizes[0]
            else:
                sizes = [len(self.skeletons[child]) for child in tree.children[t]]
                rows = sum(sizes)
            rank = min(self.tolerances[2], rows // 2)
            kept += item * (sizes[0] * sizes[1] + (rows - rank) * rank)
        self.at_work, self.kept = min(thread_count(), len(nodes)), self.held + kept
        self._require_room(nodes[0], 0, 0, 0)

    def _require_room(self, t, n_rows, n_columns, n_test):
        """Refuse a block that, with one like it on each thread, is too large to find a basis of."""
        item, p = self.rows.dtype.itemsize, self.rows.shape[1]
        if sp.issparse(self.rows):
            p = min(p, 2 * self.rows.nnz // self.rows.shape[0] + 1)
        values = n_rows * (2 * n_columns + 3 * n_test + 5 * n_rows) + 4 * n_columns * p
        require_memory(
            self.kept + self.at_work * item * values,
            self.limit,
            what=f"the HSS matrix of {len(self.tree.order):,} points",
            arithmetic=f"{format_bytes(self.kept)} of rows, blocks and bases up to level "
            f"{self.tree.depth[t]}, and on {self.at_work} threads nodes with up to {n_rows:,} rows "
            f"and {n_columns:,} sampled columns, {item} bytes an entry",
            way_out="Allow more with max_memory, take a smaller leaf_size or max_rank, looser "
            "tolerances, or dtype='float32'.",
        )


# ------------------------------------------------------------------- interpolative decomposition
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
