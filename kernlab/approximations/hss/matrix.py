"""The hierarchically semi-separable matrix: what it holds, and its product with vectors.

A leaf t keeps its diagonal block D_t. Every node but the root has a basis U_t that expresses its
rows through a few of them, its skeleton s_t; at an inner node the rows are the skeletons of its
two children a and b, whose coupling is B_t = K(s_a, s_b). So

    K~(I_t, I_t) = D_t at a leaf,       K~(I_a, I_b) = U_a B_t U_b^T

with U_a standing for the product of the bases from a down to its leaves. All is symmetric.

Solves with K~ + beta I by a factorisation that walks up the tree.

In a node's rows, ordered as skeleton s and rest r, subtracting E times the skeleton's rows from
the rest's removes the rest from everything outside the node:

    T D T^T = [ D_ss        X^T ]          T = [ I  0 ]
              [ X     D_rr^     ],             [-E  I ]

so the rest is eliminated at once, D_rr^ = L L^T, and what is left of the node is the Schur
complement G = D_ss - (L^-1 X)^T (L^-1 X) on its skeleton. A parent's D is [G_a, B; B^T, G_b]: of
the same form, one level up; at the root a Cholesky factor ends it. The cost is n r^2, a solve n r.

T is a congruence: all Cholesky factors exist exactly if K~ + beta I is positive definite. So the
factorisation is also the proof that beta exceeds minus the smallest eigenvalue.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator

from kernlab.approximations.hss.tree import ClusterTree
from kernlab.runtime import (
    for_each_block,
    format_bytes,
    require_memory,
    single_blas_thread,
    thread_count,
)

SERIAL_POINTS = 4096  # fewer are not worth waking threads for


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
    def nbytes(self):
        parts = [*self.blocks, *self.couplings, *self.bases]
        return sum(part.nbytes for part in parts if part is not None)

    def level_table(self):
        """One row per level, the root's first: nodes, ranks, sampled columns, bytes."""
        nodes = pd.DataFrame(
            {
                "level": self.tree.depth,
                "is leaf": self.tree.children[:, 0] < 0,
                "rank": [0 if basis is None else basis.rank for basis in self.bases],
                "columns": [0 if basis is None else basis.columns for basis in self.bases],
                "bytes": [
                    sum(part.nbytes for part in parts if part is not None)
                    for parts in zip(self.blocks, self.couplings, self.bases, strict=True)
                ],
            }
        )
        return nodes.groupby("level", as_index=False).agg(
            **{
                "nodes": ("rank", "size"),
                "leaves": ("is leaf", "sum"),
                "smallest rank": ("rank", "min"),
                "mean rank": ("rank", "mean"),
                "largest rank": ("rank", "max"),
                "mean columns": ("columns", "mean"),
                "bytes": ("bytes", "sum"),
            }
        )

    # -------------------------------------------------------------------------- product
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
                pieces[a], pieces[b] = (
                    self.couplings[t] @ gathered[b],
                    self.couplings[t].T @ gathered[a],
                )
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


class HSSOperator(LinearOperator):
    """Products with K~ in the order of the data, for vectors and blocks of vectors."""

    def __init__(self, matrix):
        super().__init__(matrix.dtype, matrix.shape)
        self.matrix = matrix

    def _matmat(self, x):
        order = self.matrix.tree.order
        y = np.empty(x.shape, dtype=np.result_type(x.dtype, self.dtype))
        y[order] = self.matrix.product(x[order].astype(self.dtype, copy=False))
        return y

    def _matvec(self, x):
        return self._matmat(x.reshape(-1))

    def _adjoint(self):
        return self

    _transpose = _adjoint


def sweep(forest, up, down):
    """Call `up` and then `down` on lists of nodes, parents before children in each, so that `up`
    (which goes through a list backwards) meets children first and `down` meets parents first."""
    subtrees, above = forest
    with single_blas_thread():
        for_each_block(up, subtrees)
        up(above)
        down(above)
        for_each_block(down, subtrees)


LARGE_ROOT = 1024  # rows from which the last Cholesky factor is worth several threads


class NotPositiveDefiniteError(ValueError):
    """K~ + beta I has an eigenvalue that is not positive."""


@dataclass(frozen=True)
class Eliminated:
    """A node after its elimination: L, and L^-1 X."""

    lower: np.ndarray
    coupled: np.ndarray

    @property
    def nbytes(self):
        return self.lower.nbytes + self.coupled.nbytes


class ShiftedHSS:
    """The factor of K~ + beta I; `held` are the bytes that stay beside it."""

    def __init__(self, matrix, beta, max_memory=None, held=0):
        self.matrix, self.beta = matrix, beta
        tree, needed, work = matrix.tree, factor_bytes(matrix), work_bytes(matrix)
        require_memory(
            held + needed + work,
            max_memory,
            what=f"the factor of K~ + beta I for {matrix.shape[0]:,} points",
            arithmetic=f"{format_bytes(needed)} for ranks up to {matrix.rank:,} and "
            f"{matrix.dtype.itemsize} bytes an entry, {format_bytes(work)} of blocks at work, and "
            f"{format_bytes(held)} of K~",
            way_out="Allow more with max_memory, or approximate with smaller leaves or ranks.",
        )
        self._nodes, left = [None] * tree.n_nodes, [None] * tree.n_nodes

        def eliminate(t):
            block = self._assembled(t, left)
            if t == 0:
                self._root = _cholesky(block, beta)
            else:
                self._nodes[t], left[t] = _eliminate(block, matrix.bases[t], beta)

        for nodes in reversed(tree.levels[1:]):
            for_each_block(eliminate, nodes)
        with single_blas_thread() if root_size(matrix) < LARGE_ROOT else nullcontext():
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
        return self._root.nbytes + sum(node.nbytes for node in self._nodes if node is not None)

    # ---------------------------------------------------------------------------- solve
    def solve(self, B):
        """S with (K~ + beta I) S = B, for one right-hand side or a block of them, in the order of
        the data."""
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
                    basis, node = matrix.bases[t], self._nodes[t]
                    mine = matrix.rows_of(t, b, skeletons)
                    of_skeleton = mine[basis.skeleton]
                    y = solve_lower(node.lower, mine[basis.rest] - basis.E @ of_skeleton)
                    kept[t], skeletons[t] = y, of_skeleton - node.coupled.T @ y

        def down(nodes):
            for t in nodes:
                if t == 0:
                    y = solve_lower(self._root, matrix.rows_of(0, b, skeletons))
                    mine = solve_lower(self._root, y, transposed=True)
                else:
                    mine = self._expanded(t, kept[t], skeletons[t])
                if tree.is_leaf(t):
                    x[tree.positions(t)] = mine
                else:
                    cut = matrix.bases[tree.children[t, 0]].rank
                    for child, part in zip(tree.children[t], (mine[:cut], mine[cut:]), strict=True):
                        skeletons[child] = part

        sweep(matrix.forest, up, down)
        return x

    def _expanded(self, t, y, of_skeleton):
        """A node's unknowns from those of its skeleton."""
        basis, node = self.matrix.bases[t], self._nodes[t]
        of_rest = solve_lower(node.lower, y - node.coupled @ of_skeleton, transposed=True)
        mine = np.empty((len(basis.skeleton) + len(basis.rest), *y.shape[1:]), dtype=y.dtype)
        mine[basis.rest] = of_rest
        mine[basis.skeleton] = of_skeleton - basis.E.T @ of_rest
        return mine


def factor_bytes(matrix):
    """Bytes of the factor: L and L^-1 X of every node, and the root's."""
    entries = sum(len(b.rest) * (len(b.rest) + b.rank) for b in matrix.bases if b is not None)
    return (entries + root_size(matrix) ** 2) * matrix.dtype.itemsize


def work_bytes(matrix):
    """Bytes at the widest moment of the way up: what is left of a level, and blocks at work."""
    tree, widest = matrix.tree, 0
    for nodes in tree.levels[1:]:
        left = sum(matrix.bases[t].rank ** 2 for t in nodes)
        rows = max(matrix.bases[t].rank + len(matrix.bases[t].rest) for t in nodes)
        widest = max(widest, left + 3 * min(thread_count(), len(nodes)) * rows**2)
    return widest * matrix.dtype.itemsize


def root_size(matrix):
    """Rows of the root: all points where it is the only node, else its children's skeletons."""
    if matrix.tree.n_nodes == 1:
        return matrix.shape[0]
    return sum(matrix.couplings[0].shape)


def _eliminate(D, basis, beta):
    """The elimination of a node's rest from its block D, and what is left on its skeleton."""
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
    return Eliminated(lower, coupled), of_skeleton - coupled.T @ coupled


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
