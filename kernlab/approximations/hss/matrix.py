"""The hierarchically semi-separable matrix: what it holds, and its product with vectors.

A leaf t keeps its diagonal block D_t. Every node but the root has a basis U_t that expresses its
rows through a few of them, its skeleton s_t; at an inner node the rows are the skeletons of its
two children a and b, whose coupling is B_t = K(s_a, s_b). So

    K~(I_t, I_t) = D_t at a leaf,       K~(I_a, I_b) = U_a B_t U_b^T

with U_a standing for the product of the bases from a down to its leaves. All is symmetric.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.sparse.linalg import LinearOperator

from kernlab.approximations.hss.tree import ClusterTree
from kernlab.runtime import for_each_block, single_blas_thread, thread_count

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
