"""What ADMM keeps of each row, here or on the workers of a cluster, and its passes there.

On a cluster a pass makes the numbers of each part anew from those before, so that what dies with a
worker is computed again; what workers send is `passes.Sums`.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from kernlab.solvers.hinge.passes import Data, labels_of


@dataclass
class RowState:
    """One number for each row and problem, zeta, which holds v and w; beside the labels."""

    labels: list
    zeta: list

    @classmethod
    def of(cls, labels):
        """The start v = y, w = 0."""
        return cls(labels, [y.astype(np.float64) for y in labels])

    def copied(self):
        return RowState(self.labels, [zeta.copy() for zeta in self.zeta])


class ClusterData(Data):
    """The rows of a problem on a cluster, see `passes.Data`.

    Parameters
    ----------
    F : ClusterFeatures
    columns : list of `kernlab.cluster.Column`, each `along` times
    intercept, certified : as of `Data`
    """

    def __init__(self, F, columns, along, intercept="none", certified=False):
        # One row here tells which features are read, and how those asked for are combined of them.
        row = F.approximation.features(np.zeros((1, F.rows.n_features)))
        super().__init__(row, None, intercept, certified)
        self.m, self._parts = len(F.rows), F.row_pieces
        self._of_part = columns, intercept, certified
        self.total = self._parts.sum(_total_weight, columns[0])
        self._states = self._parts.each(_started, columns, along)

    def known_gram(self):
        return None

    def leave_gram(self, gram):
        """Nothing that is fitted together on a cluster has use for it."""

    def over(self, function, *arguments):
        given = self._of_part, function, arguments
        self._states = self._parts.each(_passed, *given, beside=self._states)
        return self._states.sum(_sums, combine=_merged)


# ---------------------------------------------------------------------------------- on the workers
def _total_weight(part, column):
    return float(column.weights(part.y, part.w).sum())


def _started(part, columns, along):
    labels = [labels_of(column.of(part.y), len(part)) for column in columns]
    return RowState.of([y for y in labels for _ in range(along)]), None


def _passed(part, before, of_part, function, arguments):
    """The next state of a part, and the sums of the pass."""
    columns, intercept, certified = of_part
    weights = None
    if part.w is not None or columns[0].factors is not None:
        weights = columns[0].weights(part.y, part.w)
    features = part.approximation.features(part.X)
    data, state = Data(features, weights, intercept, certified), before[0].copied()
    return state, function(data, state, *arguments)


def _sums(result):
    return deepcopy(result[1])  # adding up changes them


def _merged(one, other):
    one.merge(other)
    return one
