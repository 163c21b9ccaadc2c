"""Solves with K~ + beta I by a factorisation that walks up the tree.

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

import numpy as np
import scipy.linalg as la

from kernlab.approximations.hss.matrix import sweep
from kernlab.runtime import (
    for_each_block,
    format_bytes,
    require_memory,
    single_blas_thread,
    thread_count,
)

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
