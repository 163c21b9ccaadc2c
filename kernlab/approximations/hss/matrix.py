"""The hierarchically semi-separable matrix: bases, products with vectors, and solves.

A leaf t keeps its diagonal block D_t. Every node but the root has a basis U_t that expresses its
rows through a few of them, its skeleton s_t; at an inner node the rows are the skeletons of its
two children a and b, whose coupling is B_t = K(s_a, s_b). So, U_a being the product of the bases
from a down to its leaves, K~(I_t, I_t) = D_t at a leaf and K~(I_a, I_b) = U_a B_t U_b^T.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import scipy.linalg as la

from kernlab.approximations.hss.geometry import ClusterTree
from kernlab.runtime import (
    for_each_block,
    format_bytes,
    pivoted_cholesky,
    require_memory,
    single_blas_thread,
    solve_triangle,
    thread_count,
)

SERIAL_POINTS = 4096  # fewer are not worth waking threads for
LARGE_ROOT = 1024  # rows from which the last Cholesky factor is worth several threads
GRAM_TOLERANCE = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-6}
FIRST_COMBINATIONS = 96
OVERSAMPLING = 2.0  # combinations per rank, at least: what is left is then 1.4 times the least


@dataclass(frozen=True)
class Basis:
    """U = I on the rows `skeleton` of a node, E on the `rest`; `points` are the skeleton's
    positions in the tree's order, and `columns` the number of columns it was found from."""

    skeleton: np.ndarray
    rest: np.ndarray
    E: np.ndarray
    points: np.ndarray
    columns: int = 0

    @property
    def rank(self):
        return len(self.skeleton)

    def gather(self, x):
        """U^T x"""
        return x[self.skeleton] + self.E.T @ x[self.rest]

    def spread(self, g):
        """U g"""
        out = np.empty((len(self.skeleton) + len(self.rest), *g.shape[1:]), dtype=g.dtype)
        out[self.skeleton] = g
        out[self.rest] = self.E @ g
        return out

    @property
    def nbytes(self):
        return self.E.nbytes + self.skeleton.nbytes + self.rest.nbytes + self.points.nbytes


@dataclass(frozen=True, eq=False)
class HSSMatrix:
    """K~, by node of `tree`: `blocks` at leaves, `couplings` at inner nodes, `bases` at all but
    the root; None elsewhere."""

    tree: ClusterTree
    blocks: list
    couplings: list
    bases: list

    @property
    def shape(self):
        n = len(self.tree.order)
        return n, n

    @property
    def dtype(self):
        return next(block.dtype for block in self.blocks if block is not None)

    @property
    def rank(self):
        """The largest rank of all bases."""
        return max((basis.rank for basis in self.bases if basis is not None), default=0)

    @property
    def root_size(self):
        """Rows of the root: all points where it is the only node, else its children's skeletons."""
        return self.shape[0] if self.tree.n_nodes == 1 else sum(self.couplings[0].shape)

    @property
    def nbytes(self):
        return _bytes_of([*self.blocks, *self.couplings, *self.bases])

    def level_table(self):
        """One row per level, the root's first: nodes, ranks, sampled columns, bytes."""
        held = [self.blocks, self.couplings, self.bases]
        nodes = pd.DataFrame(
            {
                "level": self.tree.depth,
                "leaves": self.tree.children[:, 0] < 0,
                "rank": [0 if basis is None else basis.rank for basis in self.bases],
                "columns": [0 if basis is None else basis.columns for basis in self.bases],
                "bytes": [_bytes_of(parts) for parts in zip(*held, strict=True)],
            }
        )
        levels = nodes.groupby("level", as_index=False)
        return levels.agg(
            **{
                "nodes": ("rank", "size"),
                "leaves": ("leaves", "sum"),
                "smallest rank": ("rank", "min"),
                "mean rank": ("rank", "mean"),
                "largest rank": ("rank", "max"),
                "mean columns": ("columns", "mean"),
                "bytes": ("bytes", "sum"),
            }
        )

    def product(self, x):
        """K~ x for a vector or a block of vectors, in the tree's order."""
        tree = self.tree
        gathered, pieces = [None] * tree.n_nodes, [None] * tree.n_nodes
        y = np.empty_like(x)

        def up(nodes):
            for t in nodes[::-1]:
                if t > 0:
                    gathered[t] = self.bases[t].gather(self.rows_of(t, x, gathered))

        def down(nodes):
            for t in nodes:
                spread = None if t == 0 else self.bases[t].spread(pieces[t])
                if tree.is_leaf(t):
                    mine = tree.positions(t)
                    np.matmul(self.blocks[t], x[mine], out=y[mine])
                    if spread is not None:
                        y[mine] += spread
                    continue
                a, b = tree.children[t]
                pieces[a] = self.couplings[t] @ gathered[b]
                pieces[b] = self.couplings[t].T @ gathered[a]
                if spread is not None:
                    cut = self.bases[a].rank
                    pieces[a] += spread[:cut]
                    pieces[b] += spread[cut:]

        sweep(self.forest, up, down)
        return y

    def rows_of(self, t, x, gathered):
        """What stands at node t's rows: the vector itself, or what its children have gathered."""
        if self.tree.is_leaf(t):
            return x[self.tree.positions(t)]
        return np.concatenate([gathered[child] for child in self.tree.children[t]])

    @cached_property
    def forest(self):
        """Subtrees for the threads to work on, and the nodes above them."""
        threads = thread_count() if self.shape[0] > SERIAL_POINTS else 1
        return self.tree.forest(8 * threads if threads > 1 else 1)


def sweep(forest, up, down):
    """Call `up` and then `down` on lists of nodes, parents before children in each, so that `up`
    (which goes through a list backwards) meets children first and `down` meets parents first."""
    subtrees, above = forest
    with single_blas_thread():
        for_each_block(up, subtrees)
        up(above)
        down(above)
        for_each_block(down, subtrees)


class NotPositiveDefiniteError(ValueError):
    """K~ + beta I has an eigenvalue that is not positive."""


class ShiftedHSS:
    """The factor of K~ + beta I, by elimination up the tree; `held` bytes stay beside it.

    In a node's rows, ordered as skeleton s and rest r, subtracting E times the skeleton's rows from
    the rest's removes the rest from everything outside the node:

        T D T^T = [ D_ss  X^T   ]          T = [ I  0 ]
                  [ X     D_rr^ ],             [-E  I ]

    so the rest is eliminated at once, D_rr^ = L L^T, and what is left of the node is the Schur
    complement G = D_ss - (L^-1 X)^T (L^-1 X) on its skeleton. A parent's D is [G_a, B; B^T, G_b].
    T is a congruence: all Cholesky factors exist exactly if K~ + beta I is positive definite.
    """

    def __init__(self, matrix, beta, max_memory=None, held=0):
        self.matrix, self.beta = matrix, beta
        tree, (needed, work) = matrix.tree, bytes_of_factor(matrix)
        require_memory(
            held + needed + work,
            max_memory,
            what=f"the factor of K~ + beta I for {matrix.shape[0]:,} points",
            arithmetic=f"{format_bytes(needed)} for ranks up to {matrix.rank:,} and "
            f"{matrix.dtype.itemsize} bytes an entry, {format_bytes(work)} of blocks at work, and "
            f"{format_bytes(held)} of K~",
            way_out="Allow more with max_memory, or approximate with smaller leaves or ranks.",
        )
        self._lower, self._coupled = [None] * tree.n_nodes, [None] * tree.n_nodes  # L, and L^-1 X
        left = [None] * tree.n_nodes

        def eliminate(t):
            block = self._assembled(t, left)
            if t == 0:
                self._lower[0] = _cholesky(block, beta)
            else:
                found = _eliminate(block, matrix.bases[t], beta)
                self._lower[t], self._coupled[t], left[t] = found

        for nodes in reversed(tree.levels[1:]):
            for_each_block(eliminate, nodes)
        with single_blas_thread() if matrix.root_size < LARGE_ROOT else nullcontext():
            eliminate(0)

    def _assembled(self, t, left):
        tree = self.matrix.tree
        if tree.is_leaf(t):
            block = self.matrix.blocks[t].copy()
            block[np.diag_indices_from(block)] += self.matrix.dtype.type(self.beta)
            return block
        a, b = tree.children[t]
        cut, coupling = self.matrix.bases[a].rank, self.matrix.couplings[t]
        block = np.empty((sum(coupling.shape),) * 2, dtype=coupling.dtype)
        block[:cut, :cut], block[cut:, cut:] = left[a], left[b]
        block[:cut, cut:], block[cut:, :cut] = coupling, coupling.T
        left[a] = left[b] = None
        return block

    @property
    def nbytes(self):
        return _bytes_of([*self._lower, *self._coupled])

    def solve(self, B):
        """S with (K~ + beta I) S = B, of one axis or two, in the order of the data."""
        order = self.matrix.tree.order
        B = np.asarray(B)
        if B.shape[:1] != order.shape:
            raise ValueError(f"{len(order)} rows, but a right-hand side of shape {B.shape}")
        solution = np.empty(B.shape, dtype=np.result_type(B.dtype, self.matrix.dtype))
        solution[order] = self.solve_in_order(B[order].astype(self.matrix.dtype, copy=False))
        return solution

    def solve_in_order(self, b):
        """The same in the tree's order."""
        matrix, tree = self.matrix, self.matrix.tree
        kept, skeletons = [None] * tree.n_nodes, [None] * tree.n_nodes
        x = np.empty_like(b)

        def up(nodes):
            for t in nodes[::-1]:
                if t > 0:
                    basis, mine = matrix.bases[t], matrix.rows_of(t, b, skeletons)
                    of_skeleton = mine[basis.skeleton]
                    y = solve_lower(self._lower[t], mine[basis.rest] - basis.E @ of_skeleton)
                    kept[t], skeletons[t] = y, of_skeleton - self._coupled[t].T @ y

        def down(nodes):
            for t in nodes:
                if t == 0:
                    y = solve_lower(self._lower[0], matrix.rows_of(0, b, skeletons))
                    mine = solve_lower(self._lower[0], y, transposed=True)
                else:
                    mine = self._expanded(t, kept[t], skeletons[t])
                if tree.is_leaf(t):
                    x[tree.positions(t)] = mine
                else:
                    a, b_ = tree.children[t]
                    skeletons[a], skeletons[b_] = np.split(mine, [matrix.bases[a].rank])

        sweep(matrix.forest, up, down)
        return x

    def _expanded(self, t, y, of_skeleton):
        """A node's unknowns from those of its skeleton."""
        basis = self.matrix.bases[t]
        of_rest = solve_lower(self._lower[t], y - self._coupled[t] @ of_skeleton, transposed=True)
        mine = np.empty((len(basis.skeleton) + len(basis.rest), *y.shape[1:]), dtype=y.dtype)
        mine[basis.rest] = of_rest
        mine[basis.skeleton] = of_skeleton - basis.E.T @ of_rest
        return mine


def bytes_of_factor(matrix):
    """Bytes of the factor, and of what is left of a level and at work at the widest moment."""
    entries, widest = matrix.root_size**2, 0
    for nodes in matrix.tree.levels[1:]:
        sizes = [(matrix.bases[t].rank, len(matrix.bases[t].rest)) for t in nodes]
        entries += sum(rest * (rest + rank) for rank, rest in sizes)
        rows, at_work = max(map(sum, sizes)), min(thread_count(), len(nodes))
        widest = max(widest, sum(rank**2 for rank, _ in sizes) + 3 * at_work * rows**2)
    return entries * matrix.dtype.itemsize, widest * matrix.dtype.itemsize


def _eliminate(D, basis, beta):
    """L and L^-1 X of a node with the block D, and what is left on its skeleton."""
    s, r, E = basis.skeleton, basis.rest, basis.E
    of_skeleton, of_both, of_rest = D[np.ix_(s, s)], D[np.ix_(r, s)], D[np.ix_(r, r)]
    half = E @ of_skeleton
    half *= -0.5
    half += of_both
    mixed = half @ E.T
    of_rest -= mixed
    of_rest -= mixed.T
    lower = _cholesky(of_rest, beta)
    coupled = solve_lower(lower, of_both - E @ of_skeleton)
    return lower, coupled, of_skeleton - coupled.T @ coupled


def _cholesky(block, beta):
    try:
        return la.cholesky(block, lower=True, overwrite_a=True, check_finite=False)
    except la.LinAlgError:
        raise NotPositiveDefiniteError(
            f"K~ + beta I is not positive definite at beta={beta:g}: raise beta above minus the "
            "smallest eigenvalue of K~, or tighten rel_tol so that K~ comes closer to K"
        ) from None


def solve_lower(lower, b, transposed=False):
    """L^-1 b, or L^-T b."""
    if b.size == 0:
        return b
    if b.ndim == 1:
        (trsv,) = la.get_blas_funcs(("trsv",), (lower,))
        return trsv(lower, b, lower=1, trans=int(transposed))
    (trsm,) = la.get_blas_funcs(("trsm",), (lower,))
    return trsm(1.0, lower, np.asfortranarray(b), lower=1, trans_a=int(transposed))


def _bytes_of(parts):
    return sum(part.nbytes for part in parts if part is not None)


# ------------------------------------------------------------------- interpolative decomposition
@dataclass(frozen=True)
class Interpolation:
    """A[rest] ~ E @ A[skeleton]; `pivot` is the largest row length that is left unexplained, and
    `first` the largest of A."""

    skeleton: np.ndarray
    rest: np.ndarray
    E: np.ndarray
    pivot: float
    first: float

    @property
    def rank(self):
        return len(self.skeleton)


def interpolate_rows(A, *, rel_tol, abs_tol, max_rank, generator):
    """The decomposition that ends where the next pivot is at most rel_tol times the first, or
    at most abs_tol, or where `max_rank` rows have been taken.

    The rows are found by QR with column pivoting of A^T. The Cholesky factor of A A^T with pivoting
    is that R, as exactly as the square root of the arithmetic's precision allows, and costs matrix
    products; where a tolerance asks for more, a few random combinations of A's columns are
    factorised by reflections.
    """
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
    lower, pivots, rank = pivoted_cholesky(gram, tolerance**2 * largest, gram.dtype)
    rank, order = min(int(rank), limit), pivots.astype(np.intp) - 1
    below = np.array(lower[rank:, :rank], order="F")  # a view of no rows would keep all of it
    explained = np.einsum("ij,ij->i", below, below)
    left = float((squares[order[rank:]] - explained).max(initial=0.0))
    solve_triangle(lower[:rank, :rank], below, from_right=True)
    E = np.ascontiguousarray(below, dtype=dtype)
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
