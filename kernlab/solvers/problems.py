"""One call, several problems: columns of labels, and values of C, for every solver alike.

    solve_NAME(data, y, *, C, loss, intercept, tol=None, max_iter=None, sample_weight=None,
               start=None, callback=None, random_state=None, max_memory=None, ...)

gives a `SolverResult` for one column of labels y and one C; a list along C where C is an array (of
one entry, too); a list over the columns, of results or of such lists, where y is a matrix. None
stands for a solver's own default. `start` is where to begin: a `SolverResult` of a problem nearby
(another C, say), which a solver that always begins afresh may ignore, or what the solver's
docstring says; for a matrix y a list with one entry for each column, None allowed.
"""

from functools import wraps
from numbers import Integral, Real

import numpy as np

from kernlab.cluster import Targets
from kernlab.solvers.losses import row_costs
from kernlab.solvers.result import SolverResult

OPTIONAL = ("tol", "max_iter", "random_state", "max_memory")


class Call:
    """The columns of y, the values of C in ascending order, and a start for each column.

    Labels on a cluster come here, unless the solver works there (`on_cluster`).
    """

    def __init__(self, y, C, start=None, on_cluster=False):
        self._is_matrix, self._is_path = True, np.ndim(C) > 0
        if isinstance(y, Targets) and on_cluster:
            self.columns = y.columns
        else:
            y = np.asarray(y)
            self._is_matrix = y.ndim == 2
            if y.ndim > 2 or y.shape[-1:] == (0,):
                raise ValueError(f"labels must be one column or several, not of shape {y.shape}")
            self.columns = list(np.ascontiguousarray(y.T)) if self._is_matrix else [y]
        costs = [C]
        if self._is_path:
            if np.ndim(C) > 1 or len(C) == 0:
                raise ValueError(f"C must be a number or an array of some, not {C!r}")
            costs = [value.item() if isinstance(value, np.generic) else value for value in C]
        for value in costs:
            if value is not None or self._is_path:
                row_costs(value, 1)
        self._ascending = np.argsort(costs, kind="stable") if self._is_path else np.array([0])
        self.costs = [costs[place] for place in self._ascending]
        if not self._is_matrix:
            start = [start]
        self.starts = [None] * len(self.columns) if start is None else list(start)
        if len(self.starts) != len(self.columns):
            raise ValueError(
                f"start must be a list with an entry for each of {len(self.columns)} columns of y"
            )

    def dual_starts(self):
        """Dual variables to begin from, for each column those of every C; None for none at all."""
        if all(start is None for start in self.starts):
            return None
        blocks = []
        for column, start in zip(self.columns, self.starts, strict=True):
            dual = start.dual_variables if isinstance(start, SolverResult) else start
            dual = np.zeros(len(column)) if dual is None else np.asarray(dual, dtype=np.float64)
            blocks.append(dual if dual.ndim == 2 else np.tile(dual[:, None], len(self.costs)))
        return np.hstack(blocks)

    def arranged(self, families):
        """What the call returns, from the results of each column along `costs`."""
        if not self._is_path:
            families = [family[0] for family in families]
        else:
            place = np.argsort(self._ascending)
            families = [[family[i] for i in place] for family in families]
        return families if self._is_matrix else families[0]


def each_problem(start_from=None):
    """Give a solver of one column and one C, `solve(data, y, *, C, ...)`, the call of all solvers.

    Along ascending C each solution is where the next begins, if `start_from(result)` says what
    the solver starts from; None: always afresh.
    """

    def decorate(solve):
        @wraps(solve)
        def solve_each(data, y, *, C=None, start=None, **parameters):
            parameters = _without_defaults(parameters)
            check_limits(parameters.get("tol", 0.0), parameters.get("max_iter", 1))
            call, families = Call(y, C, start), []
            for column, begin in zip(call.columns, call.starts, strict=True):
                family = []
                for value in call.costs:
                    if isinstance(begin, SolverResult):
                        begin = None if start_from is None else start_from(begin, parameters)
                    family.append(solve(data, column, C=value, start=begin, **parameters))
                    begin = family[-1]
                families.append(family)
            return call.arranged(families)

        return solve_each

    return decorate


def check_limits(tol, max_iter, names=("tol", "max_iter")):
    """Refuse a tolerance that is none, and a number of steps that is none; give both."""
    if not (isinstance(tol, Real) and tol >= 0.0):
        raise ValueError(f"{names[0]} must be a number that is not negative, not {tol!r}")
    if not (isinstance(max_iter, Integral) and max_iter >= 1):
        raise ValueError(f"{names[1]} must be a whole number of at least 1, not {max_iter!r}")
    return tol, max_iter


def _without_defaults(parameters):
    """The parameters without those that are None for a solver's own default."""
    return {k: v for k, v in parameters.items() if v is not None or k not in OPTIONAL}
